// Task instances made from an expression, for tests that need no .toml.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "judge/expectation.h"
#include "judge/probe_inputs.h"
#include "task/task.h"

namespace fiel::judge {

struct NamedType {
  std::string name;
  graph::TensorType type;
  task::Domain domain = task::Domain::real;
  bool parameter = false;
};

inline std::shared_ptr<const task::Instance> make_instance(const std::string& expression,
                                                           const std::vector<NamedType>& inputs,
                                                           DType output = DType::f32) {
  auto at = std::make_shared<task::Instance>();
  at->shape_set = "test";
  graph::ExpressionContext context;
  for (const NamedType& in : inputs) {
    context.inputs.push_back(in.name);
    at->inputs.push_back(in.type);
    task::InputSpec spec;
    spec.name = in.name;
    spec.dtype = in.type.dtype;
    spec.domain = in.domain;
    spec.parameter = in.parameter;
    at->input_specs.push_back(spec);
    at->index_bounds.push_back(0);
  }
  auto graph = graph::parse_expression(expression, context);
  if (!graph) {
    ADD_FAILURE() << to_string(graph.error());
    return nullptr;
  }
  at->graph = *graph;
  auto types = graph::infer_types(at->graph, at->inputs);
  auto cost = graph::cost(at->graph, at->inputs);
  if (!types || !cost) {
    ADD_FAILURE() << to_string(types ? cost.error() : types.error());
    return nullptr;
  }
  at->cost = *cost;
  for (const graph::Output& o : at->graph.outputs) {
    graph::TensorType t = (*types)[o.node];
    if (is_floating(t.dtype)) t.dtype = output;
    at->outputs.push_back(t);
  }
  return at;
}

inline Expectation expect_on(const std::shared_ptr<const task::Instance>& at,
                             std::vector<Tensor> inputs, ExpectationOptions options = {}) {
  static const task::Task task;
  auto e = Expectation::create(task, at, std::move(inputs), options);
  EXPECT_TRUE(e.has_value()) << (e ? "" : to_string(e.error()));
  return e ? *e : Expectation();
}

}  // namespace fiel::judge
