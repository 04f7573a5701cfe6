#include "graph/operators.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "graph_testing.h"
#include "places.h"

namespace fiel::graph {
namespace {

TEST(Catalogue, DocumentationFileIsWhatTheCatalogueSays) {
  auto file = read_file(in_source("docs/operators.md"));
  ASSERT_TRUE(file) << to_string(file.error());
  EXPECT_TRUE(*file == operators_markdown())
      << "docs/operators.md is stale; write it anew with: graph_evaluate_cases --markdown";
}

TEST(Catalogue, KnowsPositionsAndDefaultsFromTheSignature) {
  const Operator* op = find_operator("layer_norm");
  ASSERT_NE(op, nullptr);
  ASSERT_EQ(op->parameters.size(), 5u);
  EXPECT_EQ(op->parameters[1].name, "normalized_shape");
  EXPECT_EQ(op->parameters[1].type, AttributeType::integers);
  EXPECT_EQ(op->parameters[2].kind, ParameterKind::optional_tensor);
  EXPECT_EQ(op->parameters[4].default_value, Attribute(1e-5));
  EXPECT_EQ(op->min_inputs(), 1u);
  EXPECT_EQ(op->tensor_parameter_count(), 3u);
}

TEST(Catalogue, SuggestsTheNearestName) {
  EXPECT_EQ(nearest_operator("sofmax"), "softmax");
  EXPECT_EQ(nearest_operator("layernorm"), "layer_norm");
  EXPECT_EQ(find_operator("sofmax"), nullptr);
}

TEST(Catalogue, EveryRowIsDocumented) {
  for (const Operator& op : catalogue()) {
    EXPECT_FALSE(op.documentation.empty()) << op.name;
    EXPECT_FALSE(op.group.empty()) << op.name;
  }
}

// --- types

TensorType type_of(const std::string& text, const std::vector<TensorType>& inputs) {
  ExpressionContext context;
  for (size_t i = 0; i < inputs.size(); ++i)
    context.inputs.push_back(std::string(1, "abcdefgh"[i]));
  auto g = parse_expression(text, context);
  EXPECT_TRUE(g) << to_string(g.error());
  if (!g) return {};
  auto types = infer_types(*g, inputs);
  EXPECT_TRUE(types) << to_string(types.error());
  return types ? (*types)[g->outputs[0].node] : TensorType{};
}

TEST(Types, PromoteByCategoryThenByRank) {
  TensorType half{DType::f16, {4}}, single{DType::f32, {4}}, brain{DType::bf16, {4}};
  TensorType integer{DType::i64, {4}}, scalar{DType::f32, {}}, byte{DType::u8, {4}};
  TensorType tiny{DType::i8, {4}};
  EXPECT_EQ(type_of("y = a + b", {half, single}).dtype, DType::f32);
  EXPECT_EQ(type_of("y = a + b", {half, brain}).dtype, DType::f32);
  EXPECT_EQ(type_of("y = a + b", {half, integer}).dtype, DType::f16);
  EXPECT_EQ(type_of("y = a + b", {half, scalar}).dtype, DType::f16);  // rank 0 gives way
  EXPECT_EQ(type_of("y = a + 1.5", {half}).dtype, DType::f16);
  EXPECT_EQ(type_of("y = a + 1.5", {integer}).dtype, DType::f32);
  EXPECT_EQ(type_of("y = a + 1", {integer}).dtype, DType::i64);
  EXPECT_EQ(type_of("y = a + b", {byte, tiny}).dtype, DType::i16);
  EXPECT_EQ(type_of("y = a / b", {integer, integer}).dtype, DType::f32);
  EXPECT_EQ(type_of("y = a < 0.5", {integer}).dtype, DType::boolean);
  EXPECT_EQ(type_of("y = sum(a)", {byte}).dtype, DType::i64);
}

TEST(Types, OfPowersStepsAndShifts) {
  TensorType half{DType::f16, {4}}, tiny{DType::i8, {4}}, wide{DType::i64, {4}};
  EXPECT_EQ(type_of("y = float_power(a, 2)", {half}).dtype, DType::f64);
  EXPECT_EQ(type_of("y = float_power(a, b)", {tiny, wide}).dtype, DType::f64);
  EXPECT_EQ(type_of("y = erfinv(a)", {tiny}).dtype, DType::f32);
  EXPECT_EQ(type_of("y = heaviside(a, 0.5)", {half}).dtype, DType::f16);
  EXPECT_EQ(type_of("y = heaviside(a, b)", {tiny, tiny}).dtype, DType::i8);
  EXPECT_EQ(type_of("y = bitwise_left_shift(a, 3)", {tiny}).dtype, DType::i8);
  EXPECT_EQ(type_of("y = bitwise_right_shift(a, b)", {tiny, wide}).dtype, DType::i64);
  for (const char* refused :
       {"y = bitwise_left_shift(x, 1)", "y = bitwise_right_shift(x > 0, x > 1)",
        "y = heaviside(1, x)", "y = heaviside(to(x, \"i32\"), 0.5)", "y = logaddexp2(x > 0, 1)",
        "y = heaviside(x, to(x, \"f16\"))"})
    EXPECT_NE(error_of(refused, {{"x", {4}}}), "") << refused;
}

TEST(Types, FollowShapesThroughOperators) {
  TensorType image{DType::f32, {2, 3, 17, 9}}, kernel{DType::f32, {8, 3, 3, 3}};
  // (17 + 2 - 3) / 2 + 1 = 9, (9 + 2 - 3) / 2 + 1 = 5
  EXPECT_EQ(type_of("y = conv2d(a, b, stride=2, padding=1)", {image, kernel}).shape,
            (Shape{2, 8, 9, 5}));
  EXPECT_EQ(
      type_of("y = matmul(a, b)", {{DType::f32, {7, 1, 4, 5}}, {DType::f32, {3, 5, 6}}}).shape,
      (Shape{7, 3, 4, 6}));
  EXPECT_EQ(type_of("y = reshape(a, [-1, 9])", {image}).shape, (Shape{102, 9}));
}

TEST(Types, ErrorsNameOperatorArgumentShapesAndPlace) {
  std::string e = error_of("h = relu(x)\ny = h @ w", {{"x", {4, 5}}, {"w", {6, 7}}});
  EXPECT_NE(e.find("task.toml:11:7: matmul"), std::string::npos) << e;
  EXPECT_NE(e.find("inner extents 5 and 6 differ"), std::string::npos) << e;
  EXPECT_NE(e.find("input f32(4, 5), other f32(6, 7)"), std::string::npos) << e;
  EXPECT_NE(e.find("  y = h @ w\n        ^"), std::string::npos) << e;
  e = error_of("y = x + w", {{"x", {4, 5}}, {"w", {4}}});
  EXPECT_NE(e.find("do not broadcast"), std::string::npos) << e;
  e = error_of("y = conv2d(x, w)", {{"x", {1, 3, 2, 2}}, {"w", {8, 3, 3, 3}}});
  EXPECT_NE(e.find("the kernel reaches over 3 elements, the padded input has 2"), std::string::npos)
      << e;
}

TEST(Types, RefuseSizesThatCannotBe) {
  const int64_t huge = int64_t{1} << 30;
  EXPECT_NE(error_of("y = outer(x, x)", {{"x", {huge}}}).find("2^40"), std::string::npos);
  EXPECT_NE(error_of("y = repeat(x, [9223372036854775807])", {{"x", {3}}}), "");
  EXPECT_NE(error_of("y = reshape(x, [4294967296, 4294967296])", {{"x", {4}}}), "");
  EXPECT_NE(error_of("y = pad(x, [9223372036854775807, 1])", {{"x", {4}}}), "");
  EXPECT_NE(error_of("y = one_hot(to(x, \"i64\"), 9223372036854775807)", {{"x", {4}}}), "");
  EXPECT_NE(error_of("y = conv1d(x, w, stride=9223372036854775807)",
                     {{"x", {1, 1, 4}}, {"w", {1, 1, 2}}}),
            "");
  EXPECT_NE(error_of("y = conv_transpose1d(x, w, stride=2147483648)",
                     {{"x", {1, 1, int64_t{1} << 39}}, {"w", {1, 1, 2}}}),
            "");
  EXPECT_NE(error_of("y = pixel_unshuffle(x, 32768)", {{"x", {1, int64_t{1} << 39, 0, 32768}}}),
            "");
  EXPECT_NE(error_of("y = unsqueeze(x, 9223372036854775807)", {{"x", {4}}}), "");
  EXPECT_NE(error_of("y = arange(-9223372036854775807, 9223372036854775807)", {{"x", {4}}}), "");
}

// --- cost

Cost cost_of(const std::string& text, const std::vector<TensorType>& inputs) {
  ExpressionContext context;
  for (size_t i = 0; i < inputs.size(); ++i)
    context.inputs.push_back(std::string(1, "abcdefgh"[i]));
  auto g = parse_expression(text, context);
  EXPECT_TRUE(g) << to_string(g.error());
  auto c = cost(*g, inputs);
  EXPECT_TRUE(c) << to_string(c.error());
  return c ? *c : Cost{};
}

TEST(Cost, CountsAProductAndItsEpilogue) {
  Cost c = cost_of("y = relu(a @ b + c)",
                   {{DType::f16, {8, 32}}, {DType::f16, {32, 4}}, {DType::f16, {4}}});
  EXPECT_EQ(c.flops, 2.0 * 8 * 4 * 32 + 2 * 8 * 4);
  EXPECT_EQ(c.reduction_length, 32);
  EXPECT_EQ(c.bytes_compulsory, 2.0 * (8 * 32 + 32 * 4 + 4 + 8 * 4));
}

TEST(Cost, AddsUpTheChainsOfComposedReductions) {
  TensorType x{DType::f32, {16, 100}};
  EXPECT_EQ(cost_of("y = relu(a)", {x}).reduction_length, 1);
  EXPECT_EQ(cost_of("y = sum(softmax(a, dim=1), dim=0)", {x}).reduction_length, 116);
  EXPECT_EQ(cost_of("y = amax(a, dim=1)", {x}).reduction_length, 1);  // comparisons do not round
}

}  // namespace
}  // namespace fiel::graph
