// Comparison of a result with its float64 reference, and the bound that separates honest rounding
// from a wrong answer. The derivation, with measurements, is docs/numerics.md.
//
//   ErrorModel model = {.output = DType::f32, .reduction_length = 767};  // or task/error_model.h
//   FIEL_TRY(Comparison c, compare(reference, actual, model));
//   if (!c.accepted()) … c.first_failing, c.expected_first, c.actual_first, c.reason()
//
// An element passes when |error| <= bound, an output when all do and its rms error stays under the
// rms limit. Both scale with the output, never with a bare absolute tolerance. 64-bit indices,
// all cores, memory for slices only. It does not know where a sensitivity comes from: task/ does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "tensor/tensor.h"

namespace fiel {

/// The precision that an implementation behaves like, best first. tf32 stands for every scheme
/// that rounds the operands of products to 11 bits and adds in fp32 (a single fp16 product is
/// exactly as accurate); fp16 and bf16 are the classes of outputs of those types, and bf16 also
/// that of operands rounded to 8 bits. `below` is worse than any of them.
enum class NumericsClass : uint8_t { fp64, fp32, tf32, fp16, bf16, fp8, integer, below };
std::string_view name_of(NumericsClass c);
/// The less accurate of two (integer is neutral): the class of a kernel is the worst over probes.
NumericsClass worse(NumericsClass a, NumericsClass b);

enum class SpecialRule : uint8_t {
  propagate,  ///< NaN where the reference has NaN, the same infinity where it has one
  /// As propagate, where no input is NaN: a NaN of the reference is an indeterminate form of
  /// infinities (inf - inf), and the same sums in another order may leave an infinity.
  indeterminate,
  ignore,  ///< elements whose reference is not finite are not compared
};

/// Beyond every honest sum in fp32 (u · g at 65,000 terms), a quarter of what rounding a sum to
/// fp16 once amounts to.
inline constexpr double kExactOperandsUnit = 0x1p-16;

/// What an output may differ by. With u = unit, g = 2 + sqrt(reduction_length), y the reference,
/// s the sensitivity (|y| + R where there is none) and R the rms of y over the element's row:
///   bound = factor · u · g · (8 s + 4 R) + 4 storage + rounding of the output type
///   rms limit = factor · 2 u · g · rms(s) + h · (1.5 rms(storage) + rounding of the output type),
///   h = 1 + 4 / sqrt(elements)
/// Where lowest is tf32, u · g gives way to max(u · g, tf32_unit).
struct ErrorModel {
  DType output = DType::f32;
  double unit = 0x1p-24;        ///< roundoff of the arithmetic: 2^-24, 2^-53 for f64 tasks
  double reduction_length = 1;  ///< additions behind one element (graph::Cost)
  /// f64 of the reference's shape, or no data. How far each element moves, in rms, for a relative
  /// perturbation of 1 in every operand and result: sqrt(sum over terms of squares) for a sum.
  Tensor sensitivity;
  /// f64 of the reference's shape, or no data. What rounding the intermediates to their declared
  /// low-precision types moves each element by, in rms.
  Tensor storage;
  NumericsClass lowest = NumericsClass::fp32;  ///< tf32 where the task multiplies matrices
  /// What rounding operands to TF32 amounts to; kExactOperandsUnit where they are TF32 already and
  /// only sums are left to round.
  double tf32_unit = 0x1p-11;
  double factor = 1;                   ///< the task's max_ulp_factor
  std::optional<double> relative_rms;  ///< the task's own limit on rms error / rms output
  SpecialRule special = SpecialRule::propagate;
  /// Constants and ties: every addition rounds the same way, and errors add up straight.
  bool systematic = false;
  double growth() const;  ///< g: 2 + sqrt(reduction_length), 2 + reduction_length / 4 if systematic
};

struct Comparison {
  int64_t elements = 0;
  int64_t compared = 0;  ///< finite in the reference
  // Errors over the compared elements.
  double max_abs = 0;         ///< largest |error|
  double rms_error = 0;       ///< infinite when a compared element is not finite
  double rms_output = 0;      ///< of the reference
  double relative_rms = 0;    ///< rms_error / rms_output; 0 when both are
  double worst_ratio = 0;     ///< largest |error| / bound
  double max_ulp = 0;         ///< largest distance in steps of the output type
  double exact_fraction = 0;  ///< elements that are the rounded reference
  // Limits and what they said.
  double rms_limit = 0;
  int64_t failing = 0;  ///< elements beyond their bound, special values included
  int64_t nan_mismatches = 0, infinity_mismatches = 0;
  int64_t unstable = 0;        ///< elements without a bound (their sensitivity is not finite)
  int64_t worst_index = -1;    ///< flat, row-major; of worst_ratio
  int64_t first_failing = -1;  ///< -1: none; the worst element where only the rms limit failed
  double expected_first = 0, actual_first = 0, bound_first = 0;  ///< at first_failing
  bool rms_failed = false;
  // For the void-task and degenerate-output checks.
  double min_reference = 0, max_reference = 0;
  NumericsClass numerics = NumericsClass::fp32;  ///< measured; `below` where nothing fits

  bool accepted() const { return failing == 0 && !rms_failed; }
  /// One line: what failed, where, expected and got; empty when accepted.
  std::string reason(const Shape& shape) const;
};

struct CompareOptions {
  uint32_t threads = 0;  ///< 0: all cores; the result does not depend on it
};
/// The reference is f64 for floating outputs, any type for integers. Fails on different shapes or
/// an actual type other than model.output.
Result<Comparison> compare(const Tensor& reference, const Tensor& actual, const ErrorModel& model,
                           const CompareOptions& options = {});

/// Distance in representable steps between two values of a floating type (0 for equal zeros,
/// infinite when one is NaN).
double ulp_distance(DType t, double a, double b);

/// Are two tensors the same bits (repeated runs, unchanged inputs)? First differing flat index, or
/// -1.
int64_t first_difference(const Tensor& a, const Tensor& b);

}  // namespace fiel
