#include <gtest/gtest.h>

#include "graph/graph.h"
#include "graph/operators.h"

namespace fiel::graph {
namespace {

TEST(Expression, BuildsTheGraphOfInfixAndCalls) {
  auto g = parse_expression("y = relu(matmul(x, w) + b)", {.inputs = {"x", "w", "b"}});
  ASSERT_TRUE(g) << to_string(g.error());
  ASSERT_EQ(g->nodes.size(), 6u);
  EXPECT_EQ(g->nodes[3].op, "matmul");
  EXPECT_EQ(g->nodes[4].op, "add");
  EXPECT_EQ(g->nodes[5].op, "relu");
  EXPECT_EQ(g->nodes[5].name, "y");
  ASSERT_EQ(g->outputs.size(), 1u);
  EXPECT_EQ(g->outputs[0].node, 5u);
  EXPECT_EQ(to_expression(*g), "y = relu(x @ w + b)\n");
}

}  // namespace
}  // namespace fiel::graph
