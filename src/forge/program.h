// What a task computes, said again in steps that one kernel can carry out element by element.
//
//   FIEL_TRY(Program p, program_of(task));     // ErrorCode::unsupported names what has no template
//   p.shape_class;                             // pointwise, rows, columns, whole, product
//
// Composite operators are taken apart (softmax is a maximum, an exponential, a sum and a product);
// nothing depends on a task's name or on its sizes. Five classes: pointwise with broadcast; rows,
// where trailing dimensions are reduced; columns, where others lie behind the reduced ones; whole,
// where all are reduced, or all but some between them; one matrix product with a pointwise end.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "task/task.h"

namespace fiel::forge {

enum class ShapeClass : uint8_t { pointwise, rows, columns, whole, product };

/// Which part of the space a value varies over. Of reductions: `row` is what is kept, `column` what
/// is reduced. Of pointwise and product: `column` stands for the trailing dimensions, `row` for the
/// leading ones.
enum class Span : uint8_t { scalar, column, row, full };

/// The last two have several parts: count, mean and squared differences from it; the largest, and
/// the sum of exponentials of what lies below it.
enum class Reduction : uint8_t { sum, max, max_nan, min_nan, moments, exp_sum };
constexpr uint32_t parts_of(Reduction r) {
  return r == Reduction::moments ? 3 : r == Reduction::exp_sum ? 2 : 1;
}

/// Columns and whole see the space as three groups of neighbouring dimensions. Columns reduce the
/// second; whole reduces the third, or the first and the third. Any but the last may be empty.
using Groups = uint8_t;  ///< a bit each, the first dimensions' lowest
constexpr Groups kAllGroups = 7;

/// What is counted: values that one result is reduced from, results, or the first extent.
enum class Count : uint8_t { reduced, kept, first };

struct Step {
  enum class Kind : uint8_t { input, constant, count, first, gather, product, apply, reduce, part };
  Kind kind = Kind::apply;
  Span span = Span::scalar;
  Groups groups = 0;   ///< columns, whole: as `span`, more exactly
  uint32_t input = 0;  ///< Kind::input; first: the row's first value of that input; gather: the
                       ///< row's value at the column that the argument names; part: which
  Count of = Count::reduced;  ///< Kind::count
  double constant = 0;        ///< Kind::constant
  Reduction reduction = Reduction::sum;
  std::string text = {},
              fast = {};  ///< Kind::apply: C with $0, $1 …; `fast` with coarse intrinsics
  std::vector<uint32_t> arguments = {};
  bool expensive = false;  ///< better kept than computed again
  /// After how many passes over what is reduced the value is known.
  uint32_t pass = 0;
  bool tail = false;  ///< rows: made of a reduction over all rows
};

/// The same for all that one result is reduced from.
inline bool is_uniform(const Step& s) { return s.span == Span::scalar || s.span == Span::row; }

struct Operand {
  DType dtype = DType::f32;
  Span span = Span::full;
  Groups groups = kAllGroups;  ///< columns, whole
};

struct Program {
  ShapeClass shape_class = ShapeClass::pointwise;
  std::vector<Step> steps;        ///< arguments before their users
  std::vector<Operand> inputs;    ///< as the kernel receives them
  std::vector<uint32_t> outputs;  ///< steps
  std::vector<Operand> output_types;
  uint32_t shape_input = 0;     ///< an input that has the whole shape
  uint32_t row_dimensions = 1;  ///< rows, pointwise: trailing dimensions that make a row
  uint32_t passes = 0;          ///< rows: over a row, before the outputs
  bool has_variance = false, has_fast = false, has_softmax = false, has_tail = false;
  Groups reduced = 0, present = kAllGroups;  ///< columns, whole; present: with dimensions
  /// Columns, whole: dimensions of each group, and their extents at the shape that is timed.
  std::array<uint32_t, 3> group_dimensions = {};
  std::array<int64_t, 3> extents = {1, 1, 1};
  /// product: its operands, and whether each lies transposed in memory ([K, M], [N, K]).
  uint32_t left = 0, right = 0;
  bool left_transposed = false, right_transposed = false;
  bool on_tensor_cores = false;
  /// Extents at the shape that is timed (else the largest): rows and columns, or M, N, K.
  int64_t rows = 0, columns = 0, depth = 0;
};

/// How a variance is computed: the judge, not we, says whether it is good enough.
enum class Variance : uint8_t {
  two_pass,  ///< mean first
  shifted,   ///< one pass over differences from the row's first value
  one_pass,  ///< of squares: cancels where the mean is large
  welford,   ///< one pass that keeps the mean; columns and whole only
};
struct Ways {
  Variance variance = Variance::two_pass;
  bool online_softmax = false;  ///< maximum and sum in one pass; columns and whole only
};

Result<Program> program_of(const task::Task& task, const Ways& ways = {});

}  // namespace fiel::forge
