// The search for witnesses, on kernels that are functions of C++.
#include "mutate/witness.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "../judge/fake_session.h"
#include "judge/options.h"

namespace fiel::mutate {
namespace {

using judge::FakeCall;
using judge::FakeProcess;

task::Task add_task(const std::string& more = "") {
  auto t = task::parse_task(R"(
name = "add"
description = "x + 2 y"
expression = "z = x + 2 * y"
)" + more + R"(
[inputs]
x = { dtype = "f32", shape = ["N", "C"] }
y = { dtype = "f32", shape = ["C"], parameter = true }
[outputs]
z = "f32"
[shapes]
small = { N = 16, C = 32 }
)",
                            "add.toml");
  if (!t) ADD_FAILURE() << to_string(t.error());
  return t ? *t : task::Task();
}

judge::ShapePlan plan_of(const task::Task& task) {
  auto plan = judge::plan_shapes(task, {});
  if (!plan) ADD_FAILURE() << to_string(plan.error());
  return plan ? *plan : judge::ShapePlan();
}

WitnessInputs inputs_of(const task::Task& task) {
  WitnessOptions options;
  options.seed = 5;
  options.draws = 1;
  options.shapes = 8;
  auto inputs = WitnessInputs::make(task, plan_of(task), options);
  if (!inputs) ADD_FAILURE() << to_string(inputs.error());
  return inputs ? *inputs : WitnessInputs();
}

/// z = x + 2 y, and what `spoil` makes of an element.
judge::SessionStarter kernel(std::function<float(const FakeCall&, int64_t, float)> spoil) {
  return judge::fake_starter([spoil] {
    return [spoil](FakeCall& c) {
      const int64_t cols = c.shape(0)[1], n = c.shape(0)[0] * cols;
      for (int64_t i = 0; i < n; ++i) c.out(0)[i] = spoil(c, i, c.in(0)[i] + 2 * c.in(1)[i % cols]);
    };
  });
}
judge::SessionStarter right() {
  return kernel([](const FakeCall&, int64_t, float v) { return v; });
}

SearchResult search(const WitnessInputs& inputs, const judge::SessionStarter& original,
                    const judge::SessionStarter& mutant) {
  auto s = WitnessSearch::create(inputs, original);
  EXPECT_TRUE(s.has_value());
  auto found = s->find(mutant);
  EXPECT_TRUE(found.has_value());
  return *found;
}

TEST(Witness, AnEquivalentMutantHasNone) {
  const task::Task task = add_task();
  const WitnessInputs inputs = inputs_of(task);
  const SearchResult r = search(inputs, right(), right());
  EXPECT_FALSE(r.witness.has_value());
  EXPECT_EQ(r.calls, inputs.inputs.size());
}

TEST(Witness, ShapesAndInputsAreNotStricts) {
  const task::Task task = add_task();
  const judge::ShapePlan plan = plan_of(task);
  const WitnessInputs inputs = inputs_of(task);
  ASSERT_GE(inputs.shapes.size(), 8u);
  for (const judge::PlannedShape& s : inputs.shapes)
    for (const judge::PlannedShape& theirs : plan.shapes) EXPECT_NE(s.symbols, theirs.symbols);
  std::set<Style> styles;
  for (const WitnessInput& in : inputs.inputs) styles.insert(in.style);
  EXPECT_EQ(styles.size(), static_cast<size_t>(kStyleCount));
}

TEST(Witness, ValuesThatAreWrongOnOneStyleAreFoundThere) {
  const task::Task task = add_task();
  const SearchResult r =
      search(inputs_of(task), right(),
             kernel([](const FakeCall&, int64_t, float v) { return v > 1000 ? v * 1.01f : v; }));
  ASSERT_TRUE(r.witness.has_value());
  EXPECT_EQ(r.witness->how, "values");
}

TEST(Witness, LostNaNIsOne) {
  const SearchResult r =
      search(inputs_of(add_task()), right(),
             kernel([](const FakeCall&, int64_t, float v) { return std::isnan(v) ? 0.f : v; }));
  ASSERT_TRUE(r.witness.has_value());
  EXPECT_TRUE(r.witness->style.find("special") != std::string::npos) << r.witness->style;
}

TEST(Witness, WhatSpecialValuesDoIsNoEvidenceWhereTheTaskIgnoresThem) {
  const SearchResult r =
      search(inputs_of(add_task("special_values = \"ignore\"")), right(),
             kernel([](const FakeCall&, int64_t, float v) { return std::isnan(v) ? 0.f : v; }));
  EXPECT_FALSE(r.witness.has_value());
}

TEST(Witness, InputsOnWhichTheOriginalIsWrongDoNotCount) {
  const task::Task task = add_task();
  const WitnessInputs inputs = inputs_of(task);
  const auto half_wrong = kernel([](const FakeCall&, int64_t, float v) { return v < 0 ? 7.f : v; });
  auto s = WitnessSearch::create(inputs, half_wrong);
  ASSERT_TRUE(s.has_value());
  EXPECT_LT(s->sound(), inputs.inputs.size());
  auto found = s->find(kernel([](const FakeCall&, int64_t, float v) { return v < 0 ? 9.f : v; }));
  ASSERT_TRUE(found.has_value());
  EXPECT_FALSE(found->witness.has_value());
}

TEST(Witness, ACrashIsOneAndTheSearchSurvivesTheOriginals) {
  const task::Task task = add_task();
  const WitnessInputs inputs = inputs_of(task);
  const auto crashing = [](int64_t above) -> judge::SessionStarter {
    return judge::fake_starter([above] {
      return [above](FakeCall& c) {
        const int64_t cols = c.shape(0)[1], n = c.shape(0)[0] * cols;
        if (n > above) {
          c.outcome.status = worker::CallStatus::crashed;
          return;
        }
        for (int64_t i = 0; i < n; ++i) c.out(0)[i] = c.in(0)[i] + 2 * c.in(1)[i % cols];
      };
    });
  };
  auto s = WitnessSearch::create(inputs, crashing(2000));
  ASSERT_TRUE(s.has_value());
  EXPECT_LT(s->sound(), inputs.inputs.size());
  EXPECT_GT(s->sound(), 0u);
  auto same = s->find(crashing(2000));
  ASSERT_TRUE(same.has_value());
  EXPECT_FALSE(same->witness.has_value());
  auto worse = s->find(crashing(0));
  ASSERT_TRUE(worse.has_value());
  ASSERT_TRUE(worse->witness.has_value());
  EXPECT_EQ(worse->witness->how, "runtime_error");
}

TEST(Witness, InputsAreLegalForTheirDomains) {
  auto t = task::parse_task(R"toml(
name = "pick"
description = "rows of a table"
expression = "z = gather(x, 0, i)"
[inputs]
x = { dtype = "f32", shape = ["N", "C"] }
i = { dtype = "i64", shape = ["M", "C"], domain = "index", bound = "N" }
[outputs]
z = "f32"
[shapes]
small = { N = 16, C = 8, M = 5 }
)toml",
                            "pick.toml");
  if (!t) GTEST_SKIP() << to_string(t.error());
  auto at = t->instantiate(t->shape_sets.front());
  ASSERT_TRUE(at.has_value());
  for (int k = 0; k < kStyleCount; ++k)
    for (uint64_t seed = 0; seed < 6; ++seed) {
      auto inputs = witness_inputs(*at, static_cast<Style>(k), seed);
      ASSERT_TRUE(inputs.has_value());
      for (double v : (*inputs)[1].to_f64()) {
        EXPECT_GE(v, 0);
        EXPECT_LT(v, 16);
      }
    }
}

}  // namespace
}  // namespace fiel::mutate
