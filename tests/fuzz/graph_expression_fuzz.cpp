// Expressions of any bytes: parsing, printing, inferring types and evaluating never crash, and the
// text form of what was accepted is accepted again as the same computation.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "graph/graph.h"

using namespace fiel;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  graph::ExpressionContext context{.inputs = {"x", "w", "b", "i"}, .symbols = {{"N", 4}, {"D", 3}}};
  auto g = graph::parse_expression(text, context);
  if (!g) return 0;
  graph::ExpressionContext again_context = context;
  for (const graph::Output& o : g->outputs) again_context.outputs.push_back(o.name);
  auto again = graph::parse_expression(graph::to_expression(*g), again_context);
  // Deep expressions may pass the depth bound only in the form they were written in.
  if (again && !graph::same_computation(*g, *again)) std::abort();
  Tensor x = Tensor::empty(DType::f32, {4, 3}), w = Tensor::empty(DType::f32, {3, 4});
  Tensor b = Tensor::empty(DType::f32, {3}), i = Tensor::empty(DType::i64, {4});
  std::vector<graph::TensorType> types;
  for (const Tensor* t : {&x, &w, &b, &i}) types.push_back({t->dtype(), t->shape()});
  auto cost = graph::cost(*g, types);
  if (!cost || cost->flops > 1e6) return 0;
  auto out = graph::evaluate(*g, {x, w, b, i}, {.threads = 1, .max_bytes = 1 << 22});
  (void)out;
  return 0;
}
