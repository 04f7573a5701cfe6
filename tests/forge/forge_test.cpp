// Templates: which tasks have one, what a choice is, and that a source depends on the expression
// alone. Whether kernels are right is tests/search's black box: the judge says it.
#include "forge/template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <set>

#include "forge/emit.h"
#include "forge/scalar_operators.h"
#include "places.h"

namespace fiel::forge {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

task::Task task_of(const std::string& name, const std::string& expression,
                   const std::string& inputs, const std::string& shapes) {
  auto t = task::parse_task("name = \"" + name + "\"\nexpression = \"\"\"\n" + expression +
                                "\n\"\"\"\n[inputs]\n" + inputs + "\n[shapes]\n" + shapes + "\n",
                            name + ".toml");
  if (!t) ADD_FAILURE() << to_string(t.error());
  return *t;
}

constexpr const char* kMatrix = "x = { dtype = \"f32\", shape = [\"N\", \"C\"] }";
constexpr const char* kShapes =
    "small = { N = 4, C = 32 }\nbench = { N = 4096, C = 4096, benchmark = true }";

std::unique_ptr<Template> made(const task::Task& t) {
  auto family = template_of(t);
  if (!family) ADD_FAILURE() << to_string(family.error());
  return std::move(*family);
}

TEST(Template, TheExpressionDecidesTheFamilyNotTheName) {
  EXPECT_STREQ(made(task_of("a", "y = softmax(x, dim=-1)", kMatrix, kShapes))->family(), "rows");
  EXPECT_STREQ(made(task_of("softmax", "y = relu(x) * 2", kMatrix, kShapes))->family(),
               "pointwise");
  EXPECT_STREQ(made(task_of("a", "y = sum(x, dim=0)", kMatrix, kShapes))->family(), "columns");
  EXPECT_STREQ(made(task_of("sum_columns", "y = sum(x)", kMatrix, kShapes))->family(), "whole");
  const task::Task named = task_of("softmax", "y = softmax(x, dim=-1)", kMatrix, kShapes);
  const task::Task other = task_of("thing", "y = softmax(x, dim=-1)", kMatrix, kShapes);
  EXPECT_EQ(made(named)->source(made(named)->start()), made(other)->source(made(other)->start()));
}

// Tasks that have a template, and which. A task that gets one is added; none may be lost.
constexpr const char* kCovered = R"(
adam_step pointwise
add_bf16 pointwise
batch_norm whole
bce_with_logits whole
cosine_similarity_rows rows
count_positive rows
cross_entropy rows
dropout_apply pointwise
elementwise_chain pointwise
elu pointwise
frobenius_norm whole
gelu pointwise
gelu_bias_residual pointwise
gelu_tanh pointwise
global_avg_pool rows
hardswish pointwise
huber_loss whole
instance_norm rows
kl_div rows
l2_normalize rows
layernorm rows
layernorm_bf16 rows
leaky_relu pointwise
linear_gelu product
log_softmax rows
logsumexp_rows rows
masked_softmax rows
matmul product
matmul_bf16 product
matmul_bias_relu product
matmul_f16 product
matmul_transposed product
max_rows rows
mean_rows_f16 rows
mish pointwise
mse_loss whole
relu pointwise
rms_norm rows
scale_shift_clamp pointwise
silu pointwise
softmax rows
softmax_columns columns
softmax_f16 rows
softplus pointwise
sum_columns columns
sum_rows rows
swiglu pointwise
triplet_loss rows
variance_rows rows
where_mask pointwise
)";

TEST(Template, EveryNativeTaskHasOneOrASentenceThatSaysWhyNot) {
  std::set<std::string> found;
  for (const auto& file : std::filesystem::directory_iterator(in_source("tasks"))) {
    if (file.path().extension() != ".toml") continue;
    const auto t = task::load_task(file.path().string());
    ASSERT_TRUE(t) << file.path();
    const auto family = template_of(*t);
    if (family) {
      const Point start = (*family)->start();
      EXPECT_TRUE((*family)->possible(start)) << file.path() << (*family)->name_of(start);
      EXPECT_THAT((*family)->source(start), Not(HasSubstr("@"))) << file.path();
      found.insert(t->name + " " + (*family)->family() + "\n");
    } else {
      EXPECT_EQ(family.error().code, ErrorCode::unsupported) << file.path();
      EXPECT_THAT(family.error().what, HasSubstr("there is no template: ")) << file.path();
    }
  }
  std::string covered = "\n";
  for (const std::string& line : found) covered += line;
  EXPECT_EQ(covered, kCovered);
}

struct Refused {
  const char* expression;
  std::string inputs;
  const char* why;
  const char* shapes = kShapes;
};
constexpr const char* kSquare = "x = { dtype = \"f32\", shape = [\"C\", \"C\"] }";
constexpr const char* kSquareShapes = "small = { C = 32 }";

const std::string kCube = "x = { dtype = \"f32\", shape = [\"N\", \"M\", \"K\", \"C\"] }";
constexpr const char* kCubeShapes = "small = { N = 4, M = 5, K = 6, C = 32 }";
constexpr const char* kTurned = "x = { dtype = \"f32\", shape = [\"C\", \"C\", \"C\"] }";
const std::string kLabelled = std::string(kMatrix) +
                              "\nt = { dtype = \"i64\", shape = [\"N\"], domain = \"index\", "
                              "bound = \"C\" }";

TEST(Template, WhatHasNoneIsNamed) {
  const Refused cases[] = {
      {"y = cumsum(x, dim=-1)", kMatrix, "operator 'cumsum'"},
      {"y = sum(softmax(x, dim=0))", kMatrix, "the whole tensor is reduced beside"},
      {"y = softmax(x, dim=-1) / norm(x)", kMatrix, "takes what all rows gave back to rows"},
      {"y = sum(x, dim=0)\nz = sum(x, dim=1)", kMatrix, "of other dimensions, than the one before"},
      {"y = sum(x, dim=1) + w", kCube + "\nw = { dtype = \"f32\", shape = [\"C\"] }",
       "in groups of an order that no kernel walks", kCubeShapes},
      {"y = x + sum(x, dim=1)", kTurned, "along another dimension than its own", kSquareShapes},
      {"y = cross_entropy(exp(x), t)", kLabelled, "of what is computed first"},
      {"y = cross_entropy(x, t, label_smoothing=0.1)", kLabelled, "with weights or smoothing"},
      {"y = x * (1.0 / C)", kMatrix, "numbers that depend on the shape"},
      {"y = x + v",
       "x = { dtype = \"f64\", shape = [\"N\", \"C\"] }\nv = { dtype = \"f64\", shape = [\"C\"] }",
       "input 'x' is f64"},
      {"y = x + sum(x, dim=-1)", kSquare, "broadcasts rows' values along rows", kSquareShapes},
      {"y = transpose(x, 0, 1)", kSquare, "'transpose'", kSquareShapes},
  };
  for (const Refused& c : cases) {
    const auto family = template_of(task_of("t", c.expression, c.inputs, c.shapes));
    ASSERT_FALSE(family) << c.expression;
    EXPECT_EQ(family.error().code, ErrorCode::unsupported);
    EXPECT_THAT(family.error().what, HasSubstr(c.why)) << c.expression;
  }
}

TEST(Template, AChoiceIsReadBackFromItsName) {
  const auto family = made(task_of("t", "y = softmax(x, dim=-1)", kMatrix, kShapes));
  Point at = family->start();
  for (size_t i = 0; i < at.size(); ++i) at[i] = family->axes()[i].values.size() - 1;
  const auto back = family->parse(family->name_of(at));
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, at);
  EXPECT_FALSE(family->parse("threads=7"));
  EXPECT_FALSE(family->parse("thread"));
  EXPECT_FALSE(family->parse("@=1"));
}

TEST(Template, EveryKnobChangesTheSource) {
  for (const char* expression :
       {"y = layer_norm(x, [C], w, b)", "y = exp(x + w) * x", "y = softmax(x * w, dim=0) - b",
        "y = norm(x * w + b)", "y = var(x * w + b, dim=0)"}) {
    const auto family = made(task_of("t", expression,
                                     std::string(kMatrix) +
                                         "\nw = { dtype = \"f32\", shape = [\"C\"] }\nb = { dtype "
                                         "= \"f32\", shape = [\"C\"] }",
                                     kShapes));
    std::set<std::string> sources = {family->source(family->start())};
    size_t variants = 1;
    for (size_t axis = 0; axis < family->axes().size(); ++axis)
      for (size_t v = 0; v < family->axes()[axis].values.size(); ++v) {
        Point at = family->start();
        at[axis] = v;
        if (v == family->axes()[axis].start || !family->possible(at)) continue;
        sources.insert(family->source(at));
        ++variants;
      }
    EXPECT_EQ(sources.size(), variants) << expression;
    EXPECT_GT(variants, 12u) << expression;
  }
}

/// Which groups of dimensions a task's space has, and what is reduced of them.
std::string groups_of(const std::string& expression, const std::string& inputs) {
  const auto p =
      program_of(task_of("t", expression, inputs, "small = { A = 3, B = 5, C = 7, D = 11 }"));
  if (!p) return p.error().what;
  std::string text = p->shape_class == ShapeClass::columns ? "columns" : "whole";
  for (size_t g = 0; g < 3; ++g)
    text += " " + std::to_string(p->group_dimensions[g]) + ((p->reduced >> g & 1) != 0 ? "r" : "k");
  return text;
}

TEST(Groups, DimensionsAreOneWhereNothingTellsThemApart) {
  const std::string x = "x = { dtype = \"f32\", shape = [\"A\", \"B\", \"C\", \"D\"] }\n";
  const auto with = [&](const char* w) { return x + "w = { dtype = \"f32\", shape = " + w + " }"; };
  EXPECT_EQ(groups_of("y = sum(x)", x), "whole 0r 0k 4r");
  EXPECT_EQ(groups_of("y = sum(x * w)", with("[\"D\"]")), "whole 3r 0k 1r");
  EXPECT_EQ(groups_of("y = sum(x, dim=[0, 2, 3])", x), "whole 1r 1k 2r");
  EXPECT_EQ(groups_of("y = instance_norm(x, None, None, w)", with("[\"B\"]")), "whole 1k 1k 2r");
  EXPECT_EQ(groups_of("y = sum(x, dim=[0, 1])", x), "columns 0k 2r 2k");
  EXPECT_EQ(groups_of("y = softmax(x, dim=1)", x), "columns 1k 1r 2k");
  EXPECT_EQ(groups_of("y = sum(x, dim=2) + w", with("[\"A\", \"B\", \"D\"]")), "columns 2k 1r 1k");
  EXPECT_EQ(groups_of("y = sum(x * w, dim=1)", with("[\"B\", 1, 1]")), "columns 1k 1r 2k");
}

TEST(Groups, EqualExtentsOfTheTimedShapeHideNothing) {
  const auto p = program_of(task_of("t", "y = cross_entropy(x, t)", kLabelled, kShapes));
  ASSERT_TRUE(p);
  EXPECT_EQ(p->rows, 4096);
  EXPECT_EQ(p->columns, 4096);
}

TEST(Ways, EveryVarianceAndSoftmaxIsAProgramOfItsOwn) {
  const auto family = made(task_of("t", "y = softmax(x, dim=0) * var(x, dim=0)", kMatrix, kShapes));
  std::set<std::string> sources;
  for (const char* variance : {"welford", "two_pass", "shifted", "one_pass"})
    for (const char* softmax : {"online", "passes"}) {
      std::string text = family->source(
          *family->parse(std::string("variance=") + variance + " softmax=" + softmax));
      sources.insert(text.substr(text.find('\n')));  // the first line names the choice
    }
  EXPECT_EQ(sources.size(), 8u);
}

TEST(Template, ImpossibleChoicesAreKnownToBe) {
  const auto family = made(task_of("t", "y = softmax(x, dim=-1)", kMatrix, kShapes));
  EXPECT_TRUE(family->possible(*family->parse("threads=256 rows=1")));
  EXPECT_FALSE(family->possible(*family->parse("threads=1024 rows=2")));
  EXPECT_FALSE(family->possible(*family->parse("threads=32 vector=16")));  // 128 values a thread
  EXPECT_FALSE(family->possible(*family->parse("threads=1024 resident=2048 rows=4")));
}

TEST(ScalarOperators, LiteralsReadBack) {
  EXPECT_EQ(literal(2), "2.f");
  EXPECT_EQ(literal(-0.5), "(-0.5f)");
  EXPECT_EQ(literal(1e-5), "9.99999975e-06f");
  EXPECT_EQ(literal(INFINITY), "INFINITY");
}

TEST(Emit, FillReplacesNamesAndNothingElse) {
  EXPECT_EQ(fill("a @b@ c", {{"b", "@x@"}}), "a @x@ c");
  EXPECT_EQ(fill("", {}), "");
}

}  // namespace
}  // namespace fiel::forge
