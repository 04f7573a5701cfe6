// Evaluation in float64: node by node, each value freed after its last use.
#include <fmt/core.h>

#include <algorithm>
#include <new>

#include "base/parallel.h"
#include "base/text.h"
#include "graph/infer.h"
#include "graph/source_position.h"
#include "graph/value.h"

namespace fiel::graph {
namespace {

bool same_call(const Node& a, const Node& b) {
  return a.op == b.op && a.inputs == b.inputs && a.attributes == b.attributes;
}

/// Bytes of the float64/int64 form; saturates.
int64_t value_bytes(const TensorType& t) {
  int64_t n = numel(t.shape), bytes = 0;
  return __builtin_mul_overflow(n, int64_t{8}, &bytes) ? INT64_MAX : bytes;
}

class Run {
 public:
  Run(const Graph& g, Calls calls, const EvaluateOptions& options)
      : g_(g),
        calls_(std::move(calls)),
        threads_(options.threads),
        max_bytes_(options.max_bytes),
        values_(g.nodes.size()),
        last_use_(g.nodes.size(), 0),
        needed_(g.nodes.size(), false) {
    for (const Output& o : g.outputs) needed_[o.node] = true;
    for (size_t id = g.nodes.size(); id-- > 0;)
      if (needed_[id])
        for (uint32_t in : g.nodes[id].inputs) {
          needed_[in] = true;
          last_use_[in] = std::max(last_use_[in], static_cast<uint32_t>(id));
        }
    for (const Output& o : g.outputs) last_use_[o.node] = UINT32_MAX;
  }

  Result<std::vector<Tensor>> run(const std::vector<Tensor>& inputs) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      uint32_t id = g_.inputs[i];
      if (!needed_[id]) continue;
      FIEL_TRY_STATUS(reserve(id, value_bytes(calls_.types[id])));
      values_[id] = Value::from_tensor(inputs[i], threads_);
    }
    for (uint32_t id = 0; id < g_.nodes.size(); ++id) {
      if (!needed_[id] || g_.nodes[id].op == "input") continue;
      if (values_[id].count() == 0) FIEL_TRY_STATUS(compute(id));
      release_inputs(id);
    }
    std::vector<Tensor> outputs;
    for (const Output& o : g_.outputs) {
      FIEL_TRY_STATUS(reserve(o.node, value_bytes(calls_.types[o.node])));
      outputs.push_back(values_[o.node].to_tensor(threads_));
    }
    return outputs;
  }

 private:
  Status reserve(uint32_t id, int64_t bytes) {
    const Node& n = g_.nodes[id];
    if (bytes <= max_bytes_ - live_bytes_) {
      live_bytes_ += bytes;
      return {};
    }
    return fail(error_at(
        ErrorCode::limit, g_.source.get(), n.line, n.column,
        fmt::format("{}: {} more, beside {} live, is beyond the bound of {} for evaluation", n.op,
                    format_bytes(static_cast<uint64_t>(bytes)),
                    format_bytes(static_cast<uint64_t>(live_bytes_)),
                    format_bytes(static_cast<uint64_t>(max_bytes_))),
        "use smaller shapes, or allow more memory"));
  }

  Status compute(uint32_t id) {
    const Node& n = g_.nodes[id];
    if (n.op == "none") return {};
    if (n.op == "constant") {
      int64_t integer = 0;
      double real = n.constant;
      if (!n.attributes.empty()) {
        if (auto* i = std::get_if<int64_t>(&n.attributes[0].second))
          integer = *i;
        else if (auto* b = std::get_if<bool>(&n.attributes[0].second))
          integer = *b;
        else if (auto* d = std::get_if<double>(&n.attributes[0].second))
          real = *d;
      }
      values_[id] = Value::scalar(calls_.types[id].dtype, real, integer);
      live_bytes_ += 8;
      return {};
    }
    return compute_call(id);
  }

  Status compute_call(uint32_t id) {
    const Node& n = g_.nodes[id];
    Call& call = calls_.calls[id];
    // Nodes that select other results of this call are served with it.
    std::vector<uint32_t> siblings = {id};
    for (uint32_t other = id + 1; call.op->result_count != 1 && other < g_.nodes.size(); ++other)
      if (needed_[other] && same_call(g_.nodes[other], n)) {
        siblings.push_back(other);
        call.wanted_results =
            std::max(call.wanted_results, static_cast<uint8_t>(g_.nodes[other].result + 1));
      }
    int64_t bytes = 0;
    for (const TensorType& t : call.results)
      if (__builtin_add_overflow(bytes, value_bytes(t), &bytes)) bytes = INT64_MAX;
    FIEL_TRY_STATUS(reserve(id, bytes));
    Evaluation evaluation{call, {}, threads_, max_bytes_ - live_bytes_};
    for (size_t slot = 0; slot < n.inputs.size(); ++slot)
      evaluation.inputs.push_back(call.given(slot) ? &values_[n.inputs[slot]] : nullptr);
    Result<std::vector<Value>> results = call.op->evaluate(evaluation);
    if (!results)
      return fail(error_at(results.error().code, g_.source.get(), n.line, n.column,
                           n.op + ": " + results.error().what, results.error().hint));
    live_bytes_ -= bytes;
    for (uint32_t s : siblings) {
      values_[s] = (*results)[g_.nodes[s].result];
      live_bytes_ += value_bytes(calls_.types[s]);
    }
    return {};
  }

  void release_inputs(uint32_t id) {
    for (uint32_t in : g_.nodes[id].inputs)
      if (last_use_[in] <= id && values_[in].count() > 0) {
        live_bytes_ -= value_bytes(calls_.types[in]);
        values_[in] = Value();
      }
  }

  const Graph& g_;
  Calls calls_;
  uint32_t threads_;
  int64_t max_bytes_;
  int64_t live_bytes_ = 0;
  std::vector<Value> values_;
  std::vector<uint32_t> last_use_;
  std::vector<bool> needed_;
};

}  // namespace

Result<std::vector<Tensor>> evaluate(const Graph& graph, const std::vector<Tensor>& inputs,
                                     const EvaluateOptions& options) {
  std::vector<TensorType> types;
  for (const Tensor& t : inputs) types.push_back({t.dtype(), t.shape()});
  FIEL_TRY(Calls calls, infer_calls(graph, types));
  try {
    return Run(graph, std::move(calls), options).run(inputs);
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::limit, "the machine has too little memory for the evaluation",
                "use smaller shapes");
  }
}

}  // namespace fiel::graph
