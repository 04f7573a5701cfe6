// Short forms for tests: an expression on small tensors, its values.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace fiel::graph {

struct NamedTensor {
  std::string name;
  Tensor value;
};

inline Tensor f64(Shape shape, std::vector<double> values) {
  return Tensor::from_f64(DType::f64, std::move(shape), values);
}
inline Tensor i64(Shape shape, std::vector<double> values) {
  return Tensor::from_f64(DType::i64, std::move(shape), values);
}

/// All outputs; a failure is reported as an empty list and a test failure.
inline std::vector<Tensor> run(const std::string& text, const std::vector<NamedTensor>& inputs,
                               const EvaluateOptions& options = {}) {
  ExpressionContext context;
  std::vector<Tensor> values;
  for (const NamedTensor& in : inputs) {
    context.inputs.push_back(in.name);
    values.push_back(in.value);
  }
  Result<Graph> g = parse_expression(text, context);
  if (!g) {
    ADD_FAILURE() << to_string(g.error());
    return {};
  }
  auto out = evaluate(*g, values, options);
  if (!out) {
    ADD_FAILURE() << to_string(out.error());
    return {};
  }
  return *out;
}

inline std::vector<double> values_of(const std::string& text,
                                     const std::vector<NamedTensor>& inputs) {
  auto out = run(text, inputs);
  return out.empty() ? std::vector<double>{} : out[0].to_f64();
}

/// The error of parsing, or else of type inference, in f32 at the given shapes; "" where all is
/// well.
inline std::string error_of(const std::string& text,
                            const std::vector<std::pair<std::string, Shape>>& inputs) {
  ExpressionContext context;
  std::vector<TensorType> types;
  for (const auto& [name, shape] : inputs) {
    context.inputs.push_back(name);
    types.push_back({DType::f32, shape});
  }
  context.file_name = "task.toml";
  context.first_line = 10;
  Result<Graph> g = parse_expression(text, context);
  if (!g) return to_string(g.error());
  auto t = infer_types(*g, types);
  return t ? "" : to_string(t.error());
}

}  // namespace fiel::graph
