#include "task/task.h"

#include <algorithm>

#include "base/text.h"
#include "task/symbols.h"

namespace fiel::task {

namespace {

/// Largest task: inputs and outputs of one shape set together.
constexpr int64_t kMaxBytes = int64_t{1} << 38;

Result<std::map<std::string, int64_t>> bind(const Task& task, const ShapeSet& shapes) {
  std::map<std::string, int64_t> symbols = shapes.symbols;
  for (const auto& [name, text] : task.derived) {
    auto v = evaluate_symbols(text, symbols);
    if (!v) return fail(std::move(v).error().with_context("symbol \"" + name + "\""));
    symbols[name] = *v;
  }
  return symbols;
}

Status add_bytes(const graph::TensorType& type, const std::string& what, int64_t& total) {
  const int64_t n = numel(type.shape);
  if (n > kMaxBytes / size_of(type.dtype) || (total += n * size_of(type.dtype)) > kMaxBytes)
    return fail(ErrorCode::limit,
                what + " of shape " + to_string(type.shape) + " makes the task larger than " +
                    format_bytes(static_cast<uint64_t>(kMaxBytes)),
                "choose a smaller shape");
  return {};
}

Status bind_input(const InputSpec& spec, const std::map<std::string, int64_t>& symbols,
                  Instance& at) {
  graph::TensorType type{spec.dtype, {}};
  for (const std::string& dimension : spec.shape) {
    auto n = evaluate_symbols(dimension, symbols);
    if (!n) return fail(std::move(n).error().with_context("shape of input \"" + spec.name + "\""));
    type.shape.push_back(*n);
  }
  int64_t bound = 0;
  at.input_specs.push_back(spec);
  if (spec.domain == Domain::index) {
    auto n = evaluate_symbols(spec.bound, symbols);
    if (!n) return fail(std::move(n).error().with_context("bound of input \"" + spec.name + "\""));
    if (*n < 1)
      return fail(ErrorCode::usage, "the bound of index input \"" + spec.name + "\" is 0",
                  "indices lie in [0, bound)");
    bound = *n;
    if (trim(spec.distribution) == "indices")
      at.input_specs.back().distribution = "indices(" + std::to_string(bound) + ")";
  }
  at.inputs.push_back(std::move(type));
  at.index_bounds.push_back(bound);
  return {};
}

/// A kernel may store what it computed in another floating type, or a truth value as an integer;
/// nothing else is the same result.
bool may_store(DType computed, DType stored) {
  if (computed == stored) return true;
  if (is_floating(computed) || is_floating(stored))
    return is_floating(computed) && is_floating(stored);
  return stored != DType::boolean;
}

Status bind_outputs(const Task& task, const std::vector<graph::TensorType>& types, Instance& at) {
  for (size_t i = 0; i < at.graph.outputs.size(); ++i) {
    graph::TensorType type = types[at.graph.outputs[i].node];
    const std::optional<DType> declared =
        i < task.outputs.size() ? task.outputs[i].dtype : std::nullopt;
    if (declared && !may_store(type.dtype, *declared))
      return fail(ErrorCode::usage, "output \"" + at.graph.outputs[i].name + "\" is declared " +
                                        std::string(name_of(*declared)) +
                                        ", but the expression gives " +
                                        std::string(name_of(type.dtype)));
    if (declared) type.dtype = *declared;
    at.outputs.push_back(std::move(type));
  }
  return {};
}

}  // namespace

Result<Instance> Task::instantiate(const ShapeSet& shapes) const {
  FIEL_TRY(const auto symbols, bind(*this, shapes));
  Instance at;
  at.shape_set = shapes.name;
  int64_t bytes = 0;
  graph::ExpressionContext context;
  for (const InputSpec& spec : inputs) {
    FIEL_TRY_STATUS(bind_input(spec, symbols, at));
    FIEL_TRY_STATUS(add_bytes(at.inputs.back(), "input \"" + spec.name + "\"", bytes));
    context.inputs.push_back(spec.name);
  }
  for (const OutputSpec& spec : outputs) context.outputs.push_back(spec.name);
  context.symbols = symbols;
  context.file_name = source_file;
  context.first_line = expression_line;
  FIEL_TRY(at.graph, graph::parse_expression(expression, context));
  FIEL_TRY(const std::vector<graph::TensorType> types, graph::infer_types(at.graph, at.inputs));
  FIEL_TRY_STATUS(bind_outputs(*this, types, at));
  for (size_t i = 0; i < at.outputs.size(); ++i)
    FIEL_TRY_STATUS(add_bytes(at.outputs[i], "output \"" + at.graph.outputs[i].name + "\"", bytes));
  FIEL_TRY(at.cost, graph::cost(at.graph, at.inputs));
  return at;
}

Result<std::vector<Tensor>> Instance::reference(const std::vector<Tensor>& values) const {
  if (values.size() != inputs.size())
    return fail(ErrorCode::usage, std::to_string(values.size()) + " inputs where the task has " +
                                      std::to_string(inputs.size()));
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i].shape() != inputs[i].shape)
      return fail(ErrorCode::usage, "input \"" + input_specs[i].name + "\" has shape " +
                                        to_string(values[i].shape()) + " where the task has " +
                                        to_string(inputs[i].shape));
  return graph::evaluate(graph, values);
}

}  // namespace fiel::task
