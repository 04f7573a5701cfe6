#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "graph/operators.h"
#include "graph_testing.h"

namespace fiel::graph {
namespace {

const std::vector<std::pair<std::string, Shape>> kMatrix = {{"x", {4, 4}}, {"w", {4, 4}}};

Graph parsed(const std::string& text) {
  auto g = parse_expression(text, {.inputs = {"x", "w", "b"}, .symbols = {{"N", 6}, {"D", 64}}});
  EXPECT_TRUE(g) << text << "\n" << to_string(g.error());
  return g ? *g : Graph{};
}

TEST(Expression, BuildsTheGraphOfInfixAndCalls) {
  Graph g = parsed("y = relu(matmul(x, w) + b)");
  ASSERT_EQ(g.nodes.size(), 6u);
  EXPECT_EQ(g.nodes[3].op, "matmul");
  EXPECT_EQ(g.nodes[4].op, "add");
  EXPECT_EQ(g.nodes[5].op, "relu");
  EXPECT_EQ(g.nodes[5].name, "y");
  ASSERT_EQ(g.outputs.size(), 1u);
  EXPECT_EQ(g.outputs[0].node, 5u);
  EXPECT_EQ(to_expression(g), "y = relu(x @ w + b)\n");
}

TEST(Expression, BindsAsPythonDoes) {
  EXPECT_EQ(to_expression(parsed("y = -x ** 2")), "y = -x ** 2\n");
  EXPECT_EQ(to_expression(parsed("y = (-x) ** 2")), "y = (-x) ** 2\n");
  EXPECT_EQ(to_expression(parsed("y = x - (w - b)")), "y = x - (w - b)\n");
  EXPECT_EQ(to_expression(parsed("y = (x - w) - b")), "y = x - w - b\n");
  EXPECT_EQ(to_expression(parsed("y = x ** w ** b")), "y = x ** w ** b\n");
  EXPECT_EQ(to_expression(parsed("y = (x < w) & (b > 2)")), "y = (x < w) & (b > 2)\n");
  EXPECT_EQ(to_expression(parsed("y = x * (w + b) @ x")), "y = x * (w + b) @ x\n");
}

TEST(Expression, FoldsNumbersAndSymbols) {
  Graph g = parsed("y = reshape(x, [2 * N, -1]) * (1 / sqrt(D)) + 2 ** 3 - 7 // 2");
  EXPECT_EQ(to_expression(g), "y = reshape(x, [12, -1]) * 0.125 + 8 - 3\n");
  EXPECT_EQ(to_expression(parsed("c = 4 * N\ny = x + c")), "y = x + 24\n");
}

TEST(Expression, DropsDefaultsAndOrdersArguments) {
  EXPECT_EQ(to_expression(parsed("y = layer_norm(x, [4], eps=1e-5, bias=b)")),
            "y = layer_norm(x, 4, bias=b)\n");
  EXPECT_EQ(to_expression(parsed("y = gelu(x, approximate=\"none\")")), "y = gelu(x)\n");
  EXPECT_EQ(to_expression(parsed("y = sum(keepdim=True, dim=[0, 1], input=x)")),
            "y = sum(x, dim=[0, 1], keepdim=True)\n");
}

TEST(Expression, TakesApartSeveralResults) {
  Graph g = parsed("v, i = topk(x, k=2)\n_, j = topk(w, 2)");
  ASSERT_EQ(g.outputs.size(), 3u);
  EXPECT_EQ(g.nodes[g.outputs[1].node].result, 1);
  EXPECT_EQ(to_expression(g), "v, i = topk(x, 2)\n_, j = topk(w, 2)\n");
}

TEST(Expression, OutputsAreWhatNothingReads) {
  Graph g = parsed("h = relu(x)\na = h + 1; z = h * 2\n");
  ASSERT_EQ(g.outputs.size(), 2u);
  EXPECT_EQ(g.outputs[0].name, "a");
  EXPECT_EQ(g.outputs[1].name, "z");
  auto chosen =
      parse_expression("h = relu(x)\ny = h + 1", {.inputs = {"x"}, .outputs = {"y", "h"}});
  ASSERT_TRUE(chosen);
  EXPECT_EQ(chosen->outputs[1].name, "h");
}

TEST(Expression, ReadsCommentsContinuationsAndScientificNumbers) {
  Graph g = parsed("# scale\ny = add(x,  # first\n        1.5e-3 * w)\n");
  EXPECT_EQ(to_expression(g), "y = x + 0.0015 * w\n");
}

struct Refusal {
  const char *text, *says;
};

TEST(Expression, RefusesWithPlaceAndAdvice) {
  const Refusal cases[] = {
      {"y = rellu(x)", "task.toml:10:5: there is no operator 'rellu'\n  y = rellu(x)\n      ^"},
      {"y = rellu(x)", "did you mean 'relu'?"},
      {"y = relu(xx)", "'xx' is not known here"},
      {"y = softmax(x, dmi=1)", "softmax: has no argument 'dmi'"},
      {"y = softmax(x, dmi=1)", "did you mean 'dim'?"},
      {"y = softmax(x)", "argument 'dim' (an integer) is missing"},
      {"y = softmax(x, 1.5)", "argument 'dim' must be an integer, not a real number"},
      {"y = softmax(x, 1, dim=1)", "'dim' is given twice"},
      {"y = relu(dim=1)", "has no argument 'dim'"},
      {"y = relu(\"x\")", "argument 'input' must be a tensor, not a string"},
      {"y = relu(x, x)", "takes at most 1 arguments"},
      {"y = cat(x)", "argument 'tensors' must be a list of tensors"},
      {"y = x.relu()", "methods and attributes are not part of the language"},
      {"y = relu(x", "expected ')' to close the call"},
      {"y = x +", "expected a value, found the end of the line"},
      {"y x", "expected '=' after the name"},
      {"x = relu(w)", "'x' is assigned twice"},
      {"a, b = relu(x)", "only a call with several results can be taken apart"},
      {"a, b, c = topk(x, 2)", "topk has 2 results, not 3"},
      {"y = x < w < 2", "comparisons cannot be chained"},
      {"y = 99999999999999999999", "an integer beyond 64 bits"},
      {"y = x * (9223372036854775807 + 1)", "integer overflow"},
      {"y = x / (1 / 0)", "division by zero"},
      {"y = x ? w", "'?' means nothing here"},
      {"y = \"a", "a string is not closed"},
      {"", "the expression assigns no output"},
      {"y = [x, w]", "only tensors and numbers can be assigned"},
      {"y = x\n  z = relu(x)\nq = 1e", "task.toml:12:5: an exponent without digits"},
  };
  for (const Refusal& r : cases) {
    std::string e = error_of(r.text, kMatrix);
    EXPECT_NE(e.find(r.says), std::string::npos) << r.text << "\ngives: " << e;
  }
}

TEST(Expression, BoundsDepthSizeAndNodes) {
  std::string deep = "y = " + std::string(5000, '(') + "x" + std::string(5000, ')');
  EXPECT_NE(error_of(deep, kMatrix).find("nested more than 128 deep"), std::string::npos);
  EXPECT_NE(error_of("y = " + std::string(5000, '-') + "x", kMatrix).find("nested"),
            std::string::npos);
  EXPECT_NE(error_of(std::string(70000, ' '), kMatrix).find("65536"), std::string::npos);
  std::string wide = "y = x";
  for (int i = 0; i < 5000; ++i) wide += "+x";
  EXPECT_NE(error_of(wide, kMatrix).find("more than 4096 operations"), std::string::npos);
}

TEST(Expression, LongChainsPrintAndReadBack) {
  std::string wide = "y = x";
  for (int i = 0; i < 3000; ++i) wide += " + w";
  Graph g = parsed(wide);
  auto again = parse_expression(to_expression(g), {.inputs = {"x", "w", "b"}});
  ASSERT_TRUE(again) << to_string(again.error()).substr(0, 300);
  EXPECT_TRUE(same_computation(g, *again));
}

TEST(Expression, CallsOfNumbersAloneStayCalls) {
  Graph g = parsed("y = x");
  g.nodes.push_back({.op = "constant", .attributes = {{"value", 4.0}}, .constant = 4});
  g.nodes.push_back({.op = "sqrt", .inputs = {3}});
  g.outputs = {{"y", 4}};
  EXPECT_EQ(to_expression(g), "y = sqrt(input=4.0)\n");
  EXPECT_TRUE(same_computation(g, parsed(to_expression(g))));
}

TEST(Expression, ComputationsThatDifferAreNotTheSame) {
  EXPECT_FALSE(same_computation(parsed("y = x + w"), parsed("y = x - w")));
  EXPECT_FALSE(same_computation(parsed("y = x + 1"), parsed("y = x + 1.0")));
  EXPECT_FALSE(same_computation(parsed("y = sum(x, dim=0)"), parsed("y = sum(x, dim=1)")));
  EXPECT_FALSE(same_computation(parsed("y = x"), parsed("z = x")));
  EXPECT_TRUE(same_computation(parsed("t = x + w\ny = t * 2"), parsed("y = (x + w) * 2")));
}

/// A random graph in the parser's own terms: any operator that takes only tensors.
Graph random_graph() {
  static const char* const kOps[] = {"relu", "neg",    "add",   "mul", "sub",
                                     "pow",  "matmul", "where", "lt",  "max"};
  Graph g;
  for (const char* name : {"x", "w", "b"}) {
    g.inputs.push_back(static_cast<uint32_t>(g.nodes.size()));
    g.nodes.push_back({.op = "input", .name = name});
  }
  int count = *rc::gen::inRange(1, 30);
  for (int i = 0; i < count; ++i) {
    auto any = [&] { return static_cast<uint32_t>(*rc::gen::inRange<size_t>(0, g.nodes.size())); };
    Node n;
    if (*rc::gen::inRange(0, 4) == 0) {
      n.op = "constant";
      n.constant = *rc::gen::inRange(-3, 4);
      if (*rc::gen::inRange(0, 2))
        n.attributes.emplace_back("value", static_cast<int64_t>(n.constant));
      else
        n.attributes.emplace_back("value", n.constant / 4);
    } else {
      n.op = kOps[*rc::gen::inRange<size_t>(0, std::size(kOps))];
      const Operator* op = find_operator(n.op);
      for (size_t slot = 0; slot < op->min_inputs(); ++slot) n.inputs.push_back(any());
      if (n.op == "max" && *rc::gen::inRange(0, 2)) n.attributes.emplace_back("dim", int64_t{-1});
      if (*rc::gen::inRange(0, 3) == 0) n.name = "v" + std::to_string(*rc::gen::inRange(0, 5));
    }
    g.nodes.push_back(std::move(n));
  }
  uint32_t last = static_cast<uint32_t>(g.nodes.size() - 1);
  g.outputs.push_back({"y", last});
  if (*rc::gen::inRange(0, 2)) g.outputs.push_back({"v1", last / 2});
  return g;
}

TEST(Expression, TextFormReadsBackAsTheSameComputation) {
  EXPECT_TRUE(rc::check([] {
    Graph g = random_graph();
    std::string text = to_expression(g);
    ExpressionContext context{.inputs = {"x", "w", "b"}};
    for (const Output& o : g.outputs) context.outputs.push_back(o.name);
    auto again = parse_expression(text, context);
    if (!again) RC_FAIL(text + to_string(again.error()));
    if (!same_computation(g, *again)) RC_FAIL(text + "\nagain\n" + to_expression(*again));
    RC_ASSERT(to_expression(*again) == text);
  }));
}

TEST(Expression, RandomTextNeverCrashes) {
  static const char* const kPieces[] = {
      "x", "w", "y",  "=",   "relu",  "(",      ")",     "[", "]", ",",   "\n",
      "+", "-", "**", "1",   "2.5e3", "topk",   "\"a\"", "#", ";", "dim", "None",
      "@", "<", "&",  "cat", "max",   "einsum", "_",     "'", ".", "True"};
  EXPECT_TRUE(rc::check([] {
    std::string text = "y = ";
    int n = *rc::gen::inRange(0, 40);
    for (int i = 0; i < n; ++i)
      text += std::string(kPieces[*rc::gen::inRange<size_t>(0, std::size(kPieces))]) + " ";
    auto g = parse_expression(text, {.inputs = {"x", "w"}});
    if (!g) return;
    auto types = infer_types(*g, {{DType::f32, {3, 4}}, {DType::f32, {3, 4}}});
    (void)types;
    to_expression(*g);
  }));
}

}  // namespace
}  // namespace fiel::graph
