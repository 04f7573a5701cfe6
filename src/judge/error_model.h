// How far from the float64 reference an honest kernel may be: per element, measured, not guessed.
//
//   FIEL_TRY(auto expectation, Expectation::create(instance, inputs, {.seed = seed}));
//   FIEL_TRY(auto c, expectation.compare(0, got, Numerics::fp32));
//   if (c.wrong > 0) show(c.first_wrong);
//
// The reference is evaluated again with every operator's result, and what long sums accumulate,
// perturbed by roundings of the class in question (Monte Carlo arithmetic). What moves the exact
// answer by d may move a kernel's by a small multiple of d; anything beyond is wrong. So the bound
// knows the reduction length, the condition of the problem and the scale of the data, and it is
// never a bare absolute tolerance. docs/protocol.md#error has the formula and its constants.
// Says nothing about which inputs to use: judge/probe_inputs.h.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "judge/codes.h"
#include "task/task.h"
#include "tensor/tensor.h"

namespace fiel::judge {

/// The class that a dtype's own arithmetic gives: f32 -> fp32 …
Numerics native_numerics(DType dtype);

/// True where TF32 is a class of its own: the graph multiplies and adds (matmul, convolution …).
bool has_contraction(const graph::Graph& graph);

/// How roundings in a long sum add up: like a random walk on random data, straight on data where
/// every addition rounds the same way (constants, ties).
enum class Growth : uint8_t { random_walk, systematic };

enum class SpecialValues : uint8_t {
  none,       ///< the reference is finite everywhere
  propagate,  ///< NaN and infinities of the reference must appear in the output
};

struct ElementError {
  int64_t flat_index = -1;
  double expected = 0, got = 0, error = 0, bound = 0;
};

struct Comparison {
  uint64_t elements = 0, wrong = 0;
  uint64_t undetermined = 0;  ///< integer results that a rounding of the inputs may change
  double worst_ratio = 0;     ///< max error / bound
  double worst_error = 0, worst_bound = 0;  ///< where the ratio is worst
  double relative_rms = 0;                  ///< rms(error) / rms(expected)
  bool special_lost = false;  ///< an expected NaN or infinity came out as a number
  ElementError first_wrong;
};

struct ExpectationOptions {
  uint64_t seed = 0;
  Growth growth = Growth::random_walk;
  SpecialValues special = SpecialValues::none;
  double factor = 1;  ///< the task's max_ulp_factor
  std::optional<double> relative_rms;  ///< the task's own bound on rms(error)/rms(expected)
};

class Expectation {
 public:
  static Result<Expectation> create(std::shared_ptr<const task::Instance> instance,
                                    std::vector<Tensor> inputs, const ExpectationOptions& options);

  const std::vector<Tensor>& values() const { return values_; }  ///< f64, or integers
  const std::vector<Tensor>& inputs() const { return inputs_; }
  const task::Instance& instance() const { return *instance_; }
  bool finite() const { return finite_; }  ///< no NaN or infinity in any output at its dtype

  /// One output of a kernel against the reference, under the bound of `numerics`.
  Result<Comparison> compare(size_t output, const Tensor& got, Numerics numerics) const;

  /// Best class whose bound holds for all outputs; `below` where none does.
  Result<Numerics> classify(const std::vector<Tensor>& got, Numerics best) const;

 private:
  struct Bounds {
    std::vector<std::vector<double>> movement;          ///< per output, per element
    std::vector<std::vector<uint8_t>> undetermined;     ///< integer outputs
  };
  Result<const Bounds*> bounds(Numerics numerics) const;

  std::shared_ptr<const task::Instance> instance_;
  std::vector<Tensor> inputs_, values_;
  ExpectationOptions options_;
  bool finite_ = true;
  std::shared_ptr<std::map<Numerics, Bounds>> cache_;
};

}  // namespace fiel::judge
