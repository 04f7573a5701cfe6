// What a task computes, said again in steps that one kernel can carry out element by element.
//
//   FIEL_TRY(Program p, program_of(task));     // ErrorCode::unsupported names what has no template
//   p.shape_class;                             // pointwise, rows, product
//
// Composite operators are taken apart (softmax is a maximum, an exponential, a sum and a product);
// nothing depends on a task's name or on its sizes. Three classes: pointwise with broadcast; rows,
// where trailing dimensions are reduced; one matrix product with a pointwise end.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "task/task.h"

namespace fiel::forge {

enum class ShapeClass : uint8_t { pointwise, rows, product };

/// Which part of the space a value varies over. Of rows: row, column or both. Of pointwise and
/// product: `column` stands for the trailing dimensions, `row` for the leading ones.
enum class Span : uint8_t { scalar, column, row, full };

enum class Reduction : uint8_t { sum, max, max_nan, min_nan };

struct Step {
  enum class Kind : uint8_t { input, constant, count, first, product, apply, reduce };
  Kind kind = Kind::apply;
  Span span = Span::scalar;
  uint32_t input = 0;   ///< Kind::input; first: the row's first value of that input
  double constant = 0;  ///< Kind::constant
  Reduction reduction = Reduction::sum;
  std::string text = {},
              fast = {};  ///< Kind::apply: C with $0, $1 …; `fast` with coarse intrinsics
  std::vector<uint32_t> arguments = {};
  bool expensive = false;  ///< better kept than computed again
  /// Rows: after how many passes over the row the value is known.
  uint32_t pass = 0;
};

struct Operand {
  DType dtype = DType::f32;
  Span span = Span::full;
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
  bool has_variance = false, has_fast = false;
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
};

Result<Program> program_of(const task::Task& task, Variance variance = Variance::two_pass);

}  // namespace fiel::forge
