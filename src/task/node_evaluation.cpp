#include "task/node_evaluation.h"

#include <algorithm>
#include <array>

#include "task/decomposition.h"

namespace fiel::task {

namespace {

bool is_leaf(const graph::Node& n) {
  return n.op == "input" || n.op == "constant" || n.op == "none";
}

/// The node alone. Constants stay constants, because promotion looks at them; equal operands share
/// one input.
NodePlan isolate(const graph::Graph& graph, uint32_t number) {
  NodePlan plan;
  plan.node = number;
  plan.alone.source = graph.source;
  graph::Node node = graph.nodes[number];
  for (uint32_t& operand : node.inputs) {
    graph::Node leaf = graph.nodes[operand];
    auto place = static_cast<uint32_t>(plan.alone.nodes.size());
    if (leaf.op != "constant" && leaf.op != "none") {
      const auto known = std::find(plan.operands.begin(), plan.operands.end(), operand);
      if (known != plan.operands.end()) {
        operand = plan.alone.inputs[static_cast<size_t>(known - plan.operands.begin())];
        continue;
      }
      plan.alone.inputs.push_back(place);
      plan.operands.push_back(operand);
      graph::Node input;
      input.op = "input";
      input.name = "v" + std::to_string(operand);
      leaf = std::move(input);
    }
    plan.alone.nodes.push_back(std::move(leaf));
    operand = place;
  }
  plan.alone.outputs.push_back({"y", static_cast<uint32_t>(plan.alone.nodes.size())});
  plan.alone.nodes.push_back(std::move(node));
  return plan;
}

}  // namespace

bool is_exact(std::string_view op) {
  static constexpr std::array kExact = {"reshape",
                                        "flatten",
                                        "unflatten",
                                        "squeeze",
                                        "unsqueeze",
                                        "permute",
                                        "transpose",
                                        "movedim",
                                        "expand",
                                        "diag",
                                        "tril",
                                        "triu",
                                        "cat",
                                        "stack",
                                        "slice",
                                        "select",
                                        "narrow",
                                        "chunk",
                                        "split",
                                        "unbind",
                                        "flip",
                                        "roll",
                                        "pad",
                                        "repeat",
                                        "repeat_interleave",
                                        "gather",
                                        "index_select",
                                        "embedding",
                                        "one_hot",
                                        "take_along_dim",
                                        "where",
                                        "masked_fill",
                                        "relu",
                                        "relu6",
                                        "hardtanh",
                                        "clamp",
                                        "max",
                                        "min",
                                        "amax",
                                        "amin",
                                        "argmax",
                                        "argmin",
                                        "maximum",
                                        "minimum",
                                        "fmax",
                                        "fmin",
                                        "neg",
                                        "abs",
                                        "sign",
                                        "sgn",
                                        "heaviside",
                                        "bitwise_left_shift",
                                        "bitwise_right_shift",
                                        "floor",
                                        "ceil",
                                        "trunc",
                                        "round",
                                        "frac",
                                        "copysign",
                                        "eq",
                                        "ne",
                                        "lt",
                                        "le",
                                        "gt",
                                        "ge",
                                        "logical_and",
                                        "logical_or",
                                        "logical_xor",
                                        "logical_not",
                                        "bitwise_and",
                                        "bitwise_or",
                                        "bitwise_xor",
                                        "bitwise_not",
                                        "isnan",
                                        "isinf",
                                        "isfinite",
                                        "signbit",
                                        "nan_to_num",
                                        "to",
                                        "threshold",
                                        "hardshrink",
                                        "unfold",
                                        "pixel_shuffle",
                                        "pixel_unshuffle",
                                        "max_pool1d",
                                        "max_pool2d",
                                        "max_pool3d",
                                        "count_nonzero",
                                        "any",
                                        "all",
                                        "cummax",
                                        "cummin",
                                        "sort",
                                        "argsort",
                                        "topk",
                                        "kthvalue",
                                        "median",
                                        "adaptive_max_pool1d",
                                        "adaptive_max_pool2d",
                                        "adaptive_max_pool3d",
                                        "scatter"};
  return std::find(kExact.begin(), kExact.end(), op) != kExact.end();
}

bool is_contraction(std::string_view op) {
  static constexpr std::array kPrefixes = {"matmul",  "mm",       "bmm",    "mv",
                                           "dot",     "linear",   "einsum", "addmm",
                                           "baddbmm", "bilinear", "conv",   "scaled_dot_product",
                                           "lstm",    "gru",      "rnn",    "cdist"};
  return std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [&](std::string_view p) { return op.substr(0, p.size()) == p; });
}

bool has_contraction(const graph::Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [](const graph::Node& n) { return is_contraction(n.op); });
}

Result<NodeEvaluation> NodeEvaluation::create(const Instance& instance) {
  NodeEvaluation out;
  FIEL_TRY(out.graph_, decompose(instance.graph, instance.inputs));
  const graph::Graph& graph = out.graph_;
  FIEL_TRY(const std::vector<graph::TensorType> types, graph::infer_types(graph, instance.inputs));
  out.last_use_.assign(graph.nodes.size(), 0);
  for (uint32_t number = 0; number < graph.nodes.size(); ++number) {
    const graph::Node& node = graph.nodes[number];
    for (uint32_t operand : node.inputs) out.last_use_[operand] = number;
    if (is_leaf(node)) continue;
    NodePlan plan = isolate(graph, number);
    std::vector<graph::TensorType> operand_types;
    for (uint32_t operand : plan.operands) operand_types.push_back(types[operand]);
    FIEL_TRY(const graph::Cost cost, graph::cost(plan.alone, operand_types));
    plan.reduction_length = std::max(1.0, cost.reduction_length);
    plan.type = types[number];
    plan.exact = is_exact(node.op) || !is_floating(plan.type.dtype);
    plan.contraction = is_contraction(node.op);
    out.plans_.push_back(std::move(plan));
  }
  for (const graph::Output& o : graph.outputs)
    out.last_use_[o.node] = static_cast<uint32_t>(graph.nodes.size());
  return out;
}

Result<std::vector<Tensor>> NodeEvaluation::run(const std::vector<Tensor>& inputs,
                                                const NodeHooks& hooks) const {
  std::vector<Tensor> values(graph_.nodes.size());
  for (size_t i = 0; i < graph_.inputs.size(); ++i)
    values[graph_.inputs[i]] =
        is_floating(inputs[i].dtype()) ? inputs[i].to(DType::f64) : inputs[i];
  for (const NodePlan& plan : plans_) {
    std::vector<Tensor> operands;
    for (size_t slot = 0; slot < plan.operands.size(); ++slot) {
      const Tensor& v = values[plan.operands[slot]];
      operands.push_back(hooks.operand && v.dtype() == DType::f64 ? hooks.operand(plan, slot, v)
                                                                  : v);
    }
    FIEL_TRY(std::vector<Tensor> results, graph::evaluate(plan.alone, operands));
    Tensor& result = results.front();
    // A view of an operand must not be changed under the others that read it.
    if (hooks.result && result.dtype() == DType::f64) {
      result = result.clone();
      hooks.result(plan, result);
    }
    values[plan.node] = std::move(result);
    for (uint32_t operand : plan.operands)
      if (last_use_[operand] <= plan.node) values[operand] = Tensor();
  }
  std::vector<Tensor> outputs;
  for (const graph::Output& o : graph_.outputs) outputs.push_back(values[o.node]);
  return outputs;
}

}  // namespace fiel::task
