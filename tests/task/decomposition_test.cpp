// Written out in primitive operators, a normalisation has the values that it had as one.
#include "task/decomposition.h"

#include <gtest/gtest.h>

#include <cmath>

#include "task/node_evaluation.h"
#include "tensor/random.h"

namespace fiel::task {
namespace {

TEST(Decomposition, KeepsTheValues) {
  for (const char* expression :
       {"y = batch_norm(x, None, None, v, v, training=True, eps=1e-3)",
        "y = batch_norm(x, None, None, training=True)", "y = layer_norm(x, [4, 5], eps=1e-3)",
        "y = group_norm(x, 2, v, v)", "y = group_norm(x, 2, None, v)", "y = instance_norm(x)"}) {
    auto parsed = parse_task(std::string("name = \"norm\"\nexpression = \"") + expression +
                                 "\"\n[inputs]\n"
                                 "x = { dtype = \"f32\", shape = [6, \"N\", 5] }\n"
                                 "v = { dtype = \"f32\", shape = [\"N\"] }\n"
                                 "[shapes]\nsmall = { N = 4 }\n",
                             "norm");
    ASSERT_TRUE(parsed.has_value()) << expression << to_string(parsed.error());
    const Instance at = *parsed->instantiate(parsed->shape_sets[0]);
    std::vector<Tensor> inputs;
    for (size_t i = 0; i < at.inputs.size(); ++i)
      inputs.push_back(*generate(*parse_distribution("normal(3, 1)"), DType::f32,
                                 at.inputs[i].shape, {5, static_cast<uint64_t>(i)}));
    auto nodes = NodeEvaluation::create(at);
    ASSERT_TRUE(nodes.has_value()) << expression;
    const std::vector<double> written = nodes->run(inputs, {})->front().to_f64();
    const std::vector<double> whole = at.reference(inputs)->front().to_f64();
    ASSERT_EQ(written.size(), whole.size()) << expression;
    for (size_t i = 0; i < whole.size(); ++i) {
      EXPECT_NEAR(written[i], whole[i], 1e-11 * (1 + std::fabs(whole[i]))) << expression;
    }
    for (const NodePlan& plan : nodes->plans())
      EXPECT_FALSE(plan.alone.nodes.back().op.ends_with("_norm")) << expression;
  }
}

}  // namespace
}  // namespace fiel::task
