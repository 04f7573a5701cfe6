// A native task: what must be computed, on which inputs, at which shapes (`tasks/*.toml`).
//
//   FIEL_TRY(Task task, load_task("tasks/softmax.toml"));
//   FIEL_TRY(Instance at, task.instantiate(task.shape_sets[0]));     // symbols bound
//   FIEL_TRY(auto expected, at.reference(inputs));                   // float64
//
// The format is docs/tasks.md. PyTorch tasks are another carrier (task/torch_task.h).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"
#include "tensor/tensor.h"

namespace fiel::task {

/// What values an input may legally hold; probes must respect it.
enum class Domain : uint8_t {
  real,         ///< any finite value (and special values in the special probe)
  positive,     ///< > 0: variances, scales, counts as floats
  probability,  ///< rows sum to 1 over the last dimension, all > 0
  index,        ///< integers in [0, bound)
  mask,         ///< 0 or 1
};
/// As task files spell them, in the order of Domain.
inline constexpr std::string_view kDomainNames[] = {"real", "positive", "probability", "index",
                                                    "mask"};
constexpr std::string_view name_of(Domain domain) {
  return kDomainNames[static_cast<size_t>(domain)];
}

struct InputSpec {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::string> shape;  ///< symbols, integers, or products/sums: "N", "C", "4*H", "64"
  Domain domain = Domain::real;
  std::string bound;  ///< index: exclusive upper bound, an expression over the symbols
  std::string distribution =
      "normal";            ///< the task's own: a name of tensor/random.h, with arguments
  bool parameter = false;  ///< a weight: re-randomised, changed in place
};

struct OutputSpec {
  std::string name;
  std::optional<DType> dtype;  ///< none: what the expression gives
};

struct ShapeSet {
  std::string name;  ///< "small", "irregular", "bench" …
  std::map<std::string, int64_t> symbols;
  bool benchmark = false;  ///< meant for timing; too large for the virtual GPU by default
};

struct Tolerance {                       ///< overrides of the scale-aware default; all optional
  std::optional<double> relative_rms;    ///< max rms(error)/rms(output)
  std::optional<double> max_ulp_factor;  ///< multiplies the default bound
};

/// A task at one shape set.
struct Instance {
  std::string shape_set;
  graph::Graph graph;
  std::vector<InputSpec> input_specs;
  std::vector<graph::TensorType> inputs;
  std::vector<graph::TensorType> outputs;  ///< dtype as the task declares
  std::vector<int64_t> index_bounds;       ///< per input, 0 where it is no index
  graph::Cost cost;

  Result<std::vector<Tensor>> reference(const std::vector<Tensor>& values) const;
};

struct Task {
  std::string name, description, source_file, digest;  ///< digest: SHA-256 of the file
  std::string expression;
  uint32_t expression_line = 1;
  std::vector<InputSpec> inputs;
  std::vector<OutputSpec> outputs;
  /// Symbols computed from the others ("D" = "H*64") or fixed, in the order of the file.
  std::vector<std::pair<std::string, std::string>> derived;
  std::vector<ShapeSet> shape_sets;
  Tolerance tolerance;
  std::string special_values = "propagate";  ///< rule for NaN/Inf: propagate | ignore

  Result<Instance> instantiate(const ShapeSet& shapes) const;
};

/// Reads and checks a file: every name used is declared, every shape set binds every symbol, types
/// and shapes infer, sizes are bounded. Errors carry line, column and a caret.
Result<Task> load_task(const std::string& path);
Result<Task> parse_task(std::string_view text, std::string_view file_name);

}  // namespace fiel::task
