// Which products a kernel must take as they are, and where TF32 has nothing to round.
#include "task/plain_products.h"

#include <gtest/gtest.h>

#include "tensor/random.h"

namespace fiel::task {
namespace {

Task task_of(const std::string& expression, const std::string& output = "f32") {
  auto parsed = parse_task("name = \"products\"\nexpression = \"\"\"\n" + expression +
                               "\n\"\"\"\n[inputs]\n"
                               "a = { dtype = \"f32\", shape = [\"N\", \"N\"] }\n"
                               "b = { dtype = \"f32\", shape = [\"N\", \"N\"] }\n"
                               "v = { dtype = \"f32\", shape = [\"N\"] }\n[outputs]\ny = \"" +
                               output + "\"\n[shapes]\nsmall = { N = 8 }\n",
                           "products");
  EXPECT_TRUE(parsed.has_value()) << expression << (parsed ? "" : to_string(parsed.error()));
  return parsed ? *parsed : Task();
}

TEST(PlainProducts, AreThoseBehindWhichNoFactorCanBeMovedInFront) {
  const struct {
    const char* expression;
    bool plain;
  } cases[] = {
      {"y = matmul(a, b) + v", true},
      {"y = relu(linear(a, b, v))", true},
      {"y = gelu(matmul(transpose(a, 0, 1), b)) * v", true},  // gelu stops the scale
      {"y = matmul(relu(a + v), b)", true},
      {"y = einsum(\"ij,kj->ik\", a, b) - v", true},
      {"y = matmul(a, b) * 0.3 + v", false},              // log2(e), 1 / sqrt(d)
      {"y = relu(matmul(a, b) + v) / 3", false},          // relu(c x) = c relu(x)
      {"y = batch_norm(matmul(a, b), v, v * v)", false},  // folded weights
      {"y = softmax(matmul(a, b) + v, dim=-1)", false},   // exp2 of a scaled query
      {"y = mean(matmul(a, b), dim=0) + v", false},       // a mean of rows first
      {"y = matmul(matmul(a, b), b) + v", false},         // the product of the last two first
      {"y = add(matmul(a, b), v, alpha=0.3)", false},
      {"y = sigmoid(a) * b + v", false},  // no product
  };
  for (const auto& c : cases) {
    const Task task = task_of(c.expression);
    ASSERT_FALSE(task.shape_sets.empty()) << c.expression;
    EXPECT_EQ(has_plain_products(*task.instantiate(task.shape_sets[0])), c.plain) << c.expression;
  }
  const Task narrow = task_of("y = matmul(a, b) + v", "f16");
  EXPECT_FALSE(has_plain_products(*narrow.instantiate(narrow.shape_sets[0])));
}

TEST(PlainProducts, FactorsAreTf32WhereElevenBitsHoldThem) {
  const struct {
    const char *expression, *a;
    bool exact;
  } cases[] = {
      {"y = matmul(a, b) + v", "indices(2048)", true},
      {"y = matmul(a, b) + v", "indices(100000)", false},
      {"y = matmul(a, b) + v", "normal", false},
      {"y = matmul(a + 0.5, b) + v", "indices(1024)", true},
      {"y = matmul(a * 0.3, b) + v", "indices(100)", false},  // exact inputs, rounded factors
      {"y = gelu(matmul(gelu(matmul(a, b)), b)) + v", "indices(100)", false},
  };
  for (const auto& c : cases) {
    const Task task = task_of(c.expression);
    const Instance at = *task.instantiate(task.shape_sets[0]);
    std::vector<Tensor> inputs;
    const char* texts[] = {c.a, "indices(64)", "normal"};
    for (size_t i = 0; i < 3; ++i)
      inputs.push_back(*generate(*parse_distribution(texts[i]), DType::f32, at.inputs[i].shape,
                                 {7, static_cast<uint64_t>(i)}));
    auto nodes = NodeEvaluation::create(at);
    ASSERT_TRUE(nodes.has_value());
    auto exact = factors_are_tf32(*nodes, inputs);
    ASSERT_TRUE(exact.has_value());
    EXPECT_EQ(*exact, c.exact) << c.expression << " " << c.a;
  }
}

}  // namespace
}  // namespace fiel::task
