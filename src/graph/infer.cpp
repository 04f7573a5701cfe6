// Types of every node, and what the graph costs.
#include "graph/infer.h"

#include <fmt/core.h>

#include <algorithm>

#include "graph/source_position.h"
#include "graph/types.h"

namespace fiel::graph {
namespace {

tl::unexpected<Error> at_node(const Graph& g, const Node& n, ErrorCode code,
                              const std::string& message, std::string hint = {}) {
  return fail(error_at(code, g.source.get(), n.line, n.column, message, std::move(hint)));
}

std::string argument_shapes(const Call& call) {
  std::string out;
  for (size_t slot = 0; slot < call.inputs.size(); ++slot) {
    if (!call.given(slot) || call.inputs[slot].weak) continue;
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", argument_name(call, slot),
                       to_string(call.type(slot)));
    if (slot >= 7) return out + ", …";
  }
  return out;
}

TensorType constant_type(const Node& n) {
  if (n.attributes.empty()) return {DType::f32, {}};
  const Attribute& value = n.attributes[0].second;
  if (std::holds_alternative<bool>(value)) return {DType::boolean, {}};
  return {std::holds_alternative<int64_t>(value) ? DType::i64 : DType::f32, {}};
}

Result<Call> make_call(const Graph& g, const std::vector<TensorType>& types, const Node& n) {
  Call call;
  call.op = find_operator(n.op);
  call.node = &n;
  if (!call.op)
    return at_node(g, n, ErrorCode::usage, fmt::format("there is no operator '{}'", n.op));
  size_t most = call.op->takes_list() ? n.inputs.size() : call.op->tensor_parameter_count();
  if (n.inputs.size() < call.op->min_inputs() || n.inputs.size() > most)
    return at_node(g, n, ErrorCode::usage,
                   fmt::format("{}: {} tensor arguments do not fit {}", n.op, n.inputs.size(),
                               call.op->signature));
  for (uint32_t in : n.inputs) {
    const Node& from = g.nodes[in];
    call.inputs.push_back({types[in], from.op != "none", from.op == "constant"});
  }
  for (size_t slot = 0; slot < call.op->min_inputs() && slot < call.inputs.size(); ++slot)
    if (!call.inputs[slot].present && !call.op->takes_list())
      return at_node(g, n, ErrorCode::usage,
                     fmt::format("{}: {} is missing", n.op, argument_name(call, slot)));
  call.wanted_results = static_cast<uint8_t>(n.result + 1);
  return call;
}

Status check_structure(const Graph& g, const std::vector<TensorType>& inputs) {
  if (inputs.size() != g.inputs.size())
    return fail(ErrorCode::usage, fmt::format("the graph takes {} inputs, {} were given",
                                              g.inputs.size(), inputs.size()));
  for (uint32_t id = 0; id < g.nodes.size(); ++id)
    for (uint32_t in : g.nodes[id].inputs)
      if (in >= id)
        return fail(ErrorCode::usage, fmt::format("node {} reads node {}: not in order", id, in));
  for (uint32_t id : g.inputs)
    if (id >= g.nodes.size() || g.nodes[id].op != "input")
      return fail(ErrorCode::usage, fmt::format("input {} is no input node", id));
  for (const Output& o : g.outputs)
    if (o.node >= g.nodes.size())
      return fail(ErrorCode::usage, fmt::format("output '{}' names no node", o.name));
  return {};
}

/// Attributes must have the kinds that the signature declares; the parser sees to it, a graph built
/// by a program need not have.
Status check_attributes(const Graph& g, const Node& n, const Operator& op) {
  for (const auto& [name, value] : n.attributes) {
    auto p = std::find_if(op.parameters.begin(), op.parameters.end(),
                          [&, wanted = &name](const Parameter& q) {
                            return q.kind == ParameterKind::attribute && q.name == *wanted;
                          });
    if (p == op.parameters.end())
      return at_node(g, n, ErrorCode::usage, fmt::format("{}: no attribute '{}'", n.op, name));
    static constexpr size_t kIndex[] = {0, 1, 2, 3, 4, 5, 4};
    bool fits = value.index() == kIndex[static_cast<size_t>(p->type)] ||
                (p->type == AttributeType::padding && std::holds_alternative<std::string>(value));
    if (!fits)
      return at_node(g, n, ErrorCode::usage,
                     fmt::format("{}: attribute '{}' has the wrong kind", n.op, name));
  }
  for (const Parameter& p : op.parameters) {
    if (p.kind != ParameterKind::attribute || !p.required) continue;
    bool given = std::any_of(n.attributes.begin(), n.attributes.end(),
                             [&](const auto& a) { return a.first == p.name; });
    if (!given)
      return at_node(g, n, ErrorCode::usage,
                     fmt::format("{}: attribute '{}' is missing", n.op, p.name));
  }
  return {};
}

Result<TensorType> infer_operator(const Graph& g, Calls& out, const Node& n, Call& call) {
  FIEL_TRY(call, make_call(g, out.types, n));
  FIEL_TRY_STATUS(check_attributes(g, n, *call.op));
  Result<Types> results = call.op->infer(call);
  if (!results) {
    std::string shapes = argument_shapes(call);
    std::string message = fmt::format("{}: {}", n.op, results.error().what);
    if (!shapes.empty()) message += fmt::format(" [{}]", shapes);
    return at_node(g, n, results.error().code, message, results.error().hint);
  }
  call.results = std::move(*results);
  for (const TensorType& t : call.results)
    if (auto ok = check_shape(t.shape); !ok)
      return at_node(g, n, ok.error().code, fmt::format("{}: {}", n.op, ok.error().what));
  if (n.result >= call.results.size())
    return at_node(g, n, ErrorCode::usage,
                   fmt::format("{}: has {} results here, number {} was asked for", n.op,
                               call.results.size(), n.result + 1));
  return call.results[n.result];
}

}  // namespace

Result<Calls> infer_calls(const Graph& g, const std::vector<TensorType>& inputs) {
  FIEL_TRY_STATUS(check_structure(g, inputs));
  for (const TensorType& t : inputs) FIEL_TRY_STATUS(check_shape(t.shape));
  Calls out;
  out.types.resize(g.nodes.size());
  out.calls.resize(g.nodes.size());
  for (size_t i = 0; i < inputs.size(); ++i) out.types[g.inputs[i]] = inputs[i];
  for (uint32_t id = 0; id < g.nodes.size(); ++id) {
    const Node& n = g.nodes[id];
    if (n.op == "input") continue;
    if (n.op == "constant") {
      out.types[id] = constant_type(n);
    } else if (n.op == "none") {
      out.types[id] = {DType::boolean, {0}};
    } else {
      FIEL_TRY(out.types[id], infer_operator(g, out, n, out.calls[id]));
    }
  }
  return out;
}

Result<std::vector<TensorType>> infer_types(const Graph& graph,
                                            const std::vector<TensorType>& inputs) {
  FIEL_TRY(Calls calls, infer_calls(graph, inputs));
  return std::move(calls.types);
}

Result<Cost> cost(const Graph& graph, const std::vector<TensorType>& inputs) {
  FIEL_TRY(Calls calls, infer_calls(graph, inputs));
  Cost total;
  total.reduction_length = 0;
  std::vector<double> length(graph.nodes.size());
  for (uint32_t id = 0; id < graph.nodes.size(); ++id) {
    const Node& n = graph.nodes[id];
    for (uint32_t in : n.inputs) length[id] = std::max(length[id], length[in]);
    const Call& call = calls.calls[id];
    if (!call.op) continue;
    Work work = call.op->cost(call);
    length[id] += work.reduction_length;
    // Further results of the same call cost nothing more.
    bool sibling =
        id > 0 && graph.nodes[id - 1].op == n.op && graph.nodes[id - 1].inputs == n.inputs &&
        graph.nodes[id - 1].attributes == n.attributes && graph.nodes[id - 1].result != n.result;
    if (!sibling) total.flops += work.flops;
  }
  auto bytes = [](const TensorType& t) {
    return static_cast<double>(saturating_product(t.shape)) * static_cast<double>(size_of(t.dtype));
  };
  for (const TensorType& t : inputs) total.bytes_compulsory += bytes(t);
  for (const Output& o : graph.outputs) {
    total.bytes_compulsory += bytes(calls.types[o.node]);
    total.reduction_length = std::max(total.reduction_length, length[o.node]);
  }
  total.reduction_length = std::max(total.reduction_length, 1.0);
  return total;
}

}  // namespace fiel::graph
