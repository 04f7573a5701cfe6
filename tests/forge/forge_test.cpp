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
  const task::Task named = task_of("softmax", "y = softmax(x, dim=-1)", kMatrix, kShapes);
  const task::Task other = task_of("thing", "y = softmax(x, dim=-1)", kMatrix, kShapes);
  EXPECT_EQ(made(named)->source(made(named)->start()), made(other)->source(made(other)->start()));
}

TEST(Template, EveryNativeTaskHasOneOrASentenceThatSaysWhyNot) {
  const std::set<std::string> must = {
      "softmax",          "layernorm",      "gelu_bias_residual", "rms_norm",       "sum_rows",
      "matmul_bias_relu", "masked_softmax", "matmul_bf16",        "layernorm_bf16", "linear_gelu",
      "swiglu",           "log_softmax",    "scale_shift_clamp"};
  size_t found = 0;
  for (const auto& file :
       std::filesystem::directory_iterator(std::string(FIEL_SOURCE_DIR) + "/tasks")) {
    if (file.path().extension() != ".toml") continue;
    const auto t = task::load_task(file.path().string());
    ASSERT_TRUE(t) << file.path();
    const auto family = template_of(*t);
    if (family) {
      const Point start = (*family)->start();
      EXPECT_TRUE((*family)->possible(start)) << file.path() << (*family)->name_of(start);
      EXPECT_THAT((*family)->source(start), Not(HasSubstr("@"))) << file.path();
      found += must.contains(t->name);
    } else {
      EXPECT_EQ(family.error().code, ErrorCode::unsupported) << file.path();
      EXPECT_THAT(family.error().what, HasSubstr("there is no template: ")) << file.path();
    }
  }
  EXPECT_EQ(found, must.size());
}

struct Refused {
  const char *expression, *inputs, *why;
  const char* shapes = kShapes;
};
constexpr const char* kSquare = "x = { dtype = \"f32\", shape = [\"C\", \"C\"] }";
constexpr const char* kSquareShapes = "small = { C = 32 }";

TEST(Template, WhatHasNoneIsNamed) {
  const Refused cases[] = {
      {"y = cumsum(x, dim=-1)", kMatrix, "operator 'cumsum'"},
      {"y = softmax(x, dim=0)", kMatrix, "dimensions that are not the last ones"},
      {"y = sum(x)", kMatrix, "the whole tensor"},
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
  for (const char* expression : {"y = layer_norm(x, [C], w, b)", "y = exp(x + w) * x"}) {
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
