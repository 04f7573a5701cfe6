// A computation over tensors as a graph of PyTorch operators: the reference of a native task, the
// forge's input, the synthesiser's vocabulary.
//
//   FIEL_TRY(Graph g, parse_expression("y = relu(matmul(x, w) + b)", {.inputs = {"x", "w", "b"}}));
//   FIEL_TRY(auto types, infer_types(g, input_types));
//   FIEL_TRY(auto outputs, evaluate(g, inputs));     // float64, all cores
//
// Operators, their arguments and defaults are PyTorch's; the catalogue is graph/operators.h.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "tensor/tensor.h"

namespace fiel::graph {

/// Attribute of a node: kernel_size=3, dim=[1,2], eps=1e-5, reduction="mean", keepdim=true.
using Attribute =
    std::variant<bool, int64_t, double, std::string, std::vector<int64_t>, std::vector<double>>;

/// Beside the catalogue's operators there are three kinds of node without inputs: "input";
/// "constant", whose attribute "value" keeps whether it was a bool, an integer or a real (it
/// decides promotion); and "none", which stands for an optional tensor left out before one that is
/// given.
struct Node {
  std::string op;                ///< catalogue name; "input", "constant" and "none" included
  std::vector<uint32_t> inputs;  ///< earlier nodes
  uint8_t result = 0;            ///< which result of a multi-output operator this node selects
  /// In the signature's order, those equal to their default left out. Where the catalogue says
  /// int[], always a vector (kernel_size=3 is [3]).
  std::vector<std::pair<std::string, Attribute>> attributes;
  std::string name;               ///< input name or assigned variable, may be empty
  double constant = 0;            ///< op == "constant"
  uint32_t line = 0, column = 0;  ///< in the expression text
};

struct Output {
  std::string name;
  uint32_t node = 0;
};

/// The text a graph was read from, so that later errors can show the line.
struct Source {
  std::string file_name, text;
  uint32_t first_line = 1;
};

struct Graph {
  std::shared_ptr<const Source> source;  ///< may be null
  std::vector<Node> nodes;               ///< topological order
  std::vector<uint32_t> inputs;          ///< node of each input, in the order declared
  std::vector<Output> outputs;
};

struct TensorType {
  DType dtype = DType::f32;
  Shape shape;
  bool operator==(const TensorType&) const = default;
};

/// Parses assignments, one a line or separated by ';'. Every name assigned but never read is an
/// output; `outputs`, where not empty, says which and in what order. `symbols` are integers usable
/// as attributes (N, C …). Errors carry line, column and a caret. Bounds: 64 KiB, 4096 nodes, depth
/// 128.
struct ExpressionContext {
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::map<std::string, int64_t> symbols;
  std::string file_name;    ///< for messages
  uint32_t first_line = 1;  ///< line of the file on which the text starts
};
Result<Graph> parse_expression(std::string_view text, const ExpressionContext& context);

/// The text form back, canonical: parsing it with the same inputs and outputs gives the same graph
/// (symbols are written as their values). Nodes used more than once and without a name get one.
std::string to_expression(const Graph& graph);

/// Equal but for source, positions and the names of intermediate values.
bool same_computation(const Graph& a, const Graph& b);

/// Type of every node. Promotion and broadcasting are PyTorch's.
Result<std::vector<TensorType>> infer_types(const Graph& graph,
                                            const std::vector<TensorType>& inputs);

/// Evaluates in float64 (integers and bools exactly, as f64/i64 by declared dtype): outputs in the
/// order of graph.outputs; floating results have dtype f64, integer and bool results their own.
/// `inputs` may have any dtype; they are widened, never rounded. max_bytes bounds live
/// intermediates.
struct EvaluateOptions {
  uint32_t threads = 0;  ///< 0 = all cores
  int64_t max_bytes = int64_t{8} << 30;
};
Result<std::vector<Tensor>> evaluate(const Graph& graph, const std::vector<Tensor>& inputs,
                                     const EvaluateOptions& options = {});

/// Floating-point operations and the longest chain of additions behind one output element (for
/// error bounds): matmul over K gives K, a sum over n gives n, compositions add up.
struct Cost {
  double flops = 0;
  double reduction_length = 1;
  double bytes_compulsory = 0;  ///< inputs + outputs at their dtypes
};
Result<Cost> cost(const Graph& graph, const std::vector<TensorType>& inputs);

}  // namespace fiel::graph
