// Values derived by hand. What PyTorch says over a whole space of shapes and parameters is in
// torch_conformance/.
#include <cmath>
#include <limits>

#include "graph_testing.h"

namespace fiel::graph {
namespace {

using testing::Test;
constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(Evaluate, BroadcastsAndPromotesLikePyTorch) {
  EXPECT_EQ(values_of("y = a * b + 1", {{"a", f64({2, 1}, {1, 2})}, {"b", f64({3}, {1, 10, 100})}}),
            (std::vector<double>{2, 11, 101, 3, 21, 201}));
}

TEST(Evaluate, MultipliesMatrices) {
  // (1 2 3; 4 5 6) · (7 8; 9 10; 11 12)
  EXPECT_EQ(values_of("y = a @ b", {{"a", f64({2, 3}, {1, 2, 3, 4, 5, 6})},
                                    {"b", f64({3, 2}, {7, 8, 9, 10, 11, 12})}}),
            (std::vector<double>{58, 64, 139, 154}));
}

TEST(Evaluate, KeepsIntegersExactBeyondDouble) {
  // 2^53 + 1 is no double.
  Tensor x = Tensor::empty(DType::i64, {1});
  x.data_as<int64_t>()[0] = (int64_t{1} << 53) + 1;
  auto y = run("y = x + 1", {{"x", x}});
  ASSERT_EQ(y.size(), 1u);
  EXPECT_EQ(y[0].dtype(), DType::i64);
  EXPECT_EQ(y[0].data_as<int64_t>()[0], (int64_t{1} << 53) + 2);
}

TEST(Evaluate, WrapsSmallIntegersAsTheirDtypeDoes) {
  Tensor x = Tensor::from_f64(DType::u8, {2}, std::vector<double>{250, 3});
  EXPECT_EQ(values_of("y = x + 10", {{"x", x}}), (std::vector<double>{4, 13}));
}

TEST(Evaluate, SoftmaxOfLogarithmsGivesTheirShares) {
  auto y = values_of("y = softmax(log(x), dim=-1)", {{"x", f64({1, 4}, {1, 2, 3, 4})}});
  ASSERT_EQ(y.size(), 4u);
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(y[i], (i + 1) / 10.0, 1e-16);
}

TEST(Evaluate, SoftmaxDoesNotOverflow) {
  auto y = values_of("y = softmax(x, dim=0)", {{"x", f64({2}, {1000, 1000})}});
  EXPECT_EQ(y, (std::vector<double>{0.5, 0.5}));
}

TEST(Evaluate, LayerNormCentresAndScales) {
  // mean 2.5, variance 1.25 without epsilon
  auto y = values_of("y = layer_norm(x, [4], w, b, eps=0.0)", {{"x", f64({1, 4}, {1, 2, 3, 4})},
                                                               {"w", f64({4}, {1, 1, 1, 2})},
                                                               {"b", f64({4}, {0, 0, 0, 1})}});
  double s = std::sqrt(1.25);
  ASSERT_EQ(y.size(), 4u);
  EXPECT_NEAR(y[0], -1.5 / s, 1e-15);
  EXPECT_NEAR(y[3], 2 * 1.5 / s + 1, 1e-15);
}

TEST(Evaluate, VarianceSurvivesALargeMean) {
  // One-pass formulas lose all digits here: x = 1e8 + {0, 1, 2}, variance 1.
  EXPECT_EQ(values_of("y = var(x)", {{"x", f64({3}, {1e8, 1e8 + 1, 1e8 + 2})}}),
            (std::vector<double>{1}));
}

TEST(Evaluate, ConvolvesWithPaddingAndStride) {
  // x = 1..5 padded by one 0 on both sides, kernel (1, 0, -1), stride 2: 0-2, 2-4, 4-0.
  EXPECT_EQ(values_of("y = conv1d(x, w, stride=2, padding=1)",
                      {{"x", f64({1, 1, 5}, {1, 2, 3, 4, 5})}, {"w", f64({1, 1, 3}, {1, 0, -1})}}),
            (std::vector<double>{-2, -2, 4}));
}

TEST(Evaluate, TransposedConvolutionSpreads) {
  // Each input value adds value · (1, 10) at stride 2.
  EXPECT_EQ(values_of("y = conv_transpose1d(x, w, stride=2)",
                      {{"x", f64({1, 1, 2}, {3, 5})}, {"w", f64({1, 1, 2}, {1, 10})}}),
            (std::vector<double>{3, 30, 5, 50}));
}

TEST(Evaluate, ReductionsPropagateNaN) {
  auto y = values_of("y = max(x)", {{"x", f64({3}, {1, NAN, kInf})}});
  ASSERT_EQ(y.size(), 1u);
  EXPECT_TRUE(std::isnan(y[0]));
}

TEST(Evaluate, TakesApartSeveralResults) {
  auto out = run("v, i = max(x, dim=1)", {{"x", f64({2, 3}, {1, 9, 3, 4, 2, 4})}});
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0].to_f64(), (std::vector<double>{9, 4}));
  EXPECT_EQ(out[1].to_f64(), (std::vector<double>{1, 0}));
  EXPECT_EQ(out[1].dtype(), DType::i64);
}

TEST(Evaluate, SumErrorStaysNearOneRounding) {
  // 0.1 a million times: a plain loop is off by 1e-6.
  std::vector<double> x(1000000, 0.1);
  auto y = values_of("y = sum(x)", {{"x", f64({1000000}, x)}});
  ASSERT_EQ(y.size(), 1u);
  EXPECT_NEAR(y[0], 100000.0, 1e-10);
}

TEST(Evaluate, ResultsDoNotDependOnTheNumberOfThreads) {
  std::vector<double> x(129 * 257), w(257 * 67);
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<double>(i));
  for (size_t i = 0; i < w.size(); ++i) w[i] = std::cos(static_cast<double>(3 * i));
  std::vector<NamedTensor> inputs = {{"x", f64({129, 257}, x)}, {"w", f64({257, 67}, w)}};
  std::string text = "y = softmax(x @ w, dim=0)\nz = sum(x, dim=0) + mean(x)\ns = std(x)";
  auto one = run(text, inputs, {.threads = 1});
  auto many = run(text, inputs, {.threads = 7});
  ASSERT_EQ(one.size(), 3u);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(one[i].to_f64(), many[i].to_f64());
}

TEST(Evaluate, BoundsTheBytesOfIntermediates) {
  auto g = parse_expression("y = sum(outer(x, x))", {.inputs = {"x"}});
  ASSERT_TRUE(g);
  Tensor x = Tensor::empty(DType::f64, {1000});
  auto refused = evaluate(*g, {x}, {.max_bytes = 1 << 20});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::limit);
  EXPECT_NE(refused.error().what.find("outer"), std::string::npos);
  EXPECT_TRUE(evaluate(*g, {x}, {.max_bytes = 9 << 20}));
}

TEST(Evaluate, FreesWhatIsNoLongerRead) {
  // Forty values of 8 kB in a chain fit where only a few at a time are kept.
  std::string text = "t0 = relu(x)\n";
  for (int i = 1; i < 40; ++i)
    text += "t" + std::to_string(i) + " = t" + std::to_string(i - 1) + " + 1\n";
  auto out = run(text, {{"x", Tensor::empty(DType::f64, {1000})}}, {.max_bytes = 40000});
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].at({0}), 39);
}

}  // namespace
}  // namespace fiel::graph
