#include "task/decomposition.h"

#include <optional>
#include <string_view>

namespace fiel::task {

namespace {

using Attributes = std::vector<std::pair<std::string, graph::Attribute>>;

class Decomposer {
 public:
  Decomposer(const graph::Graph& graph, const std::vector<graph::TensorType>& types)
      : graph_(graph), types_(types) {}

  graph::Graph run() {
    out_.source = graph_.source;
    for (const graph::Node& node : graph_.nodes) {
      current_ = &node;
      moved_.push_back(rewrite(node));
    }
    for (uint32_t input : graph_.inputs) out_.inputs.push_back(moved_[input]);
    for (const graph::Output& o : graph_.outputs) out_.outputs.push_back({o.name, moved_[o.node]});
    return std::move(out_);
  }

 private:
  uint32_t rewrite(const graph::Node& node) {
    if (node.op == "layer_norm") return layer_norm(node);
    if (node.op == "group_norm") return group_norm(node);
    if (node.op == "instance_norm" && !operand(node, 1) && !operand(node, 2))
      return instance_norm(node);
    if (node.op == "batch_norm" && attribute(node, "training", false)) return batch_norm(node);
    graph::Node copy = node;
    for (uint32_t& in : copy.inputs) in = moved_[in];
    return append(std::move(copy));
  }

  uint32_t append(graph::Node node) {
    node.line = current_->line;
    node.column = current_->column;
    out_.nodes.push_back(std::move(node));
    return static_cast<uint32_t>(out_.nodes.size() - 1);
  }
  uint32_t apply(std::string op, std::vector<uint32_t> inputs, Attributes attributes = {}) {
    graph::Node node;
    node.op = std::move(op);
    node.inputs = std::move(inputs);
    node.attributes = std::move(attributes);
    return append(std::move(node));
  }
  uint32_t constant(double v) {
    graph::Node node;
    node.op = "constant";
    node.constant = v;
    node.attributes = {{"value", v}};
    return append(std::move(node));
  }

  /// The node given in a slot, in the new graph; none where it was left out.
  std::optional<uint32_t> operand(const graph::Node& node, size_t slot) const {
    if (slot >= node.inputs.size() || graph_.nodes[node.inputs[slot]].op == "none")
      return std::nullopt;
    return moved_[node.inputs[slot]];
  }
  const Shape& shape_of(const graph::Node& node) const { return types_[node.inputs[0]].shape; }

  template <typename T>
  static T attribute(const graph::Node& node, std::string_view name, T otherwise) {
    for (const auto& [key, value] : node.attributes)
      if (key == name)
        if (const T* v = std::get_if<T>(&value)) return *v;
    return otherwise;
  }

  /// (x - mean) / sqrt(variance + eps) over dims.
  uint32_t standardise(uint32_t x, const std::vector<int64_t>& dims, double eps) {
    const Attributes over = {{"dim", dims}, {"keepdim", true}};
    const uint32_t centred = apply("sub", {x, apply("mean", {x}, over)});
    const uint32_t variance = apply("mean", {apply("mul", {centred, centred})}, over);
    return apply("mul", {centred, apply("rsqrt", {apply("add", {variance, constant(eps)})})});
  }

  uint32_t scale_and_shift(uint32_t y, std::optional<uint32_t> weight,
                           std::optional<uint32_t> bias) {
    if (weight) y = apply("mul", {y, *weight});
    if (bias) y = apply("add", {y, *bias});
    return y;
  }

  uint32_t layer_norm(const graph::Node& node) {
    const auto rank = static_cast<int64_t>(shape_of(node).size());
    const auto last = attribute<std::vector<int64_t>>(node, "normalized_shape", {});
    std::vector<int64_t> dims;
    for (int64_t d = rank - static_cast<int64_t>(last.size()); d < rank; ++d) dims.push_back(d);
    const uint32_t y = standardise(moved_[node.inputs[0]], dims, attribute(node, "eps", 1e-5));
    return scale_and_shift(y, operand(node, 1), operand(node, 2));
  }

  /// A vector over channels, to be broadcast over an image of this shape.
  std::optional<uint32_t> by_channel(std::optional<uint32_t> vector, const Shape& shape) {
    if (!vector) return vector;
    std::vector<int64_t> wide(shape.size(), 1);
    wide[1] = shape[1];
    return apply("reshape", {*vector}, {{"shape", wide}});
  }

  uint32_t group_norm(const graph::Node& node) {
    const Shape& shape = shape_of(node);
    const auto groups = attribute<int64_t>(node, "num_groups", 1);
    const uint32_t flat = apply(
        "reshape", {moved_[node.inputs[0]]},
        {{"shape", std::vector<int64_t>{shape[0], groups, numel(shape) / shape[0] / groups}}});
    const uint32_t y = apply("reshape", {standardise(flat, {2}, attribute(node, "eps", 1e-5))},
                             {{"shape", std::vector<int64_t>(shape)}});
    return scale_and_shift(y, by_channel(operand(node, 1), shape),
                           by_channel(operand(node, 2), shape));
  }

  /// By the batch's own statistics.
  uint32_t batch_norm(const graph::Node& node) {
    const Shape& shape = shape_of(node);
    std::vector<int64_t> dims = {0};
    for (size_t d = 2; d < shape.size(); ++d) dims.push_back(static_cast<int64_t>(d));
    const uint32_t y = standardise(moved_[node.inputs[0]], dims, attribute(node, "eps", 1e-5));
    return scale_and_shift(y, by_channel(operand(node, 3), shape),
                           by_channel(operand(node, 4), shape));
  }

  uint32_t instance_norm(const graph::Node& node) {
    const Shape& shape = shape_of(node);
    std::vector<int64_t> dims;
    for (size_t d = 2; d < shape.size(); ++d) dims.push_back(static_cast<int64_t>(d));
    const uint32_t y = standardise(moved_[node.inputs[0]], dims, attribute(node, "eps", 1e-5));
    return scale_and_shift(y, by_channel(operand(node, 3), shape),
                           by_channel(operand(node, 4), shape));
  }

  const graph::Graph& graph_;
  const std::vector<graph::TensorType>& types_;
  graph::Graph out_;
  const graph::Node* current_ = nullptr;
  std::vector<uint32_t> moved_;
};

}  // namespace

Result<graph::Graph> decompose(const graph::Graph& graph,
                               const std::vector<graph::TensorType>& inputs) {
  FIEL_TRY(const std::vector<graph::TensorType> types, graph::infer_types(graph, inputs));
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    if (numel(types[i].shape) == 0 && graph.nodes[i].op != "none")
      return graph;  // nothing to divide by, nothing to perturb
  return Decomposer(graph, types).run();
}

}  // namespace fiel::task
