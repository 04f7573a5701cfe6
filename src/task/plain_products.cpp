#include "task/plain_products.h"

#include <algorithm>
#include <array>

#include "tensor/small_float.h"

namespace fiel::task {
namespace {

template <size_t N>
bool among(const std::array<std::string_view, N>& names, std::string_view op) {
  return std::find(names.begin(), names.end(), op) != names.end();
}

/// Two factors and nothing between them. Direct convolutions, and Winograd's over 2 x 2 tiles.
bool is_two_factor(const graph::Node& node) {
  static constexpr std::array<std::string_view, 7> kProducts = {"matmul", "mm",     "bmm",   "mv",
                                                                "dot",    "linear", "einsum"};
  if (node.op == "einsum" && node.inputs.size() != 2) return false;
  return among(kProducts, node.op) || node.op.starts_with("conv");
}

/// A factor in front of these may as well stand behind them.
bool passes_scale(const graph::Node& node) {
  const bool sum = (node.op == "add" || node.op == "sub") && node.attributes.empty();
  return sum || is_exact(node.op) || node.op == "leaky_relu";
}

/// Behind these no factor can be moved in front: they are not homogeneous, nor a scaled exp.
bool stops_scale(const graph::Node& node) {
  static constexpr std::array<std::string_view, 6> kStops = {"gelu",      "silu", "mish",
                                                             "hardswish", "elu",  "celu"};
  return among(kStops, node.op);
}

bool is_plain(const graph::Graph& graph) {
  bool any = false;
  std::vector<bool> scalable(graph.nodes.size(),
                             false);  // a product's multiple, as far as is known
  for (size_t number = 0; number < graph.nodes.size(); ++number) {
    const graph::Node& node = graph.nodes[number];
    if (is_contraction(node.op) && !is_two_factor(node)) return false;
    const bool behind = std::any_of(node.inputs.begin(), node.inputs.end(),
                                    [&](uint32_t operand) { return scalable[operand]; });
    if (behind && !passes_scale(node) && !stops_scale(node)) return false;
    scalable[number] = is_two_factor(node) || (behind && !stops_scale(node));
    any |= is_two_factor(node);
  }
  return any;
}

bool holds(const Tensor& t) {
  const std::vector<double> v = t.to_f64();
  return std::all_of(v.begin(), v.end(), [](double x) { return f64_to_tf32(x) == x; });
}

/// Factors that are inputs as they come: ordinary data are told by a glance at them.
bool inputs_hold(const NodeEvaluation& nodes, const std::vector<Tensor>& inputs) {
  const std::vector<uint32_t>& places = nodes.graph().inputs;
  for (const NodePlan& plan : nodes.plans())
    for (uint32_t operand : plan.operands) {
      const auto at = std::find(places.begin(), places.end(), operand);
      if (!plan.contraction || at == places.end()) continue;
      if (!holds(inputs[static_cast<size_t>(at - places.begin())])) return false;
    }
  return true;
}

}  // namespace

bool has_plain_products(const Instance& instance) {
  return std::any_of(instance.outputs.begin(), instance.outputs.end(),
                     [](const auto& t) { return t.dtype == DType::f32; }) &&
         is_plain(instance.graph);
}

Result<bool> factors_are_tf32(const NodeEvaluation& nodes, const std::vector<Tensor>& inputs) {
  if (!is_plain(nodes.graph()) || !inputs_hold(nodes, inputs)) return false;
  bool exact = true;
  NodeHooks hooks;
  hooks.operand = [&](const NodePlan& plan, size_t, const Tensor& v) {
    if (exact && plan.contraction) exact = holds(v);
    return v;
  };
  FIEL_TRY_STATUS(nodes.run(inputs, hooks));
  return exact;
}

}  // namespace fiel::task
