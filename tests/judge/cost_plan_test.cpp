// Where the probes of a PyTorch task run, by what a case costs.
#include "judge/torch/cost_plan.h"

#include <gtest/gtest.h>

#include <limits>

namespace fiel::judge::torch {
namespace {

CostFacts facts(double case_s) {
  return {case_s, 1000, {{"batch=1", 10}, {"batch=9", 500}, {"dimension 1=65", 900}}};
}

TEST(CostPlan, WhatIsCheapRunsAtTheTasksOwnShapes) {
  const CostPlan plan = plan_by_cost(facts(0.1), Effort::standard, "cuda:0");
  EXPECT_TRUE(plan.cheap);
  EXPECT_TRUE(plan.small.empty());
  EXPECT_EQ(plan.shapes.size(), 3u);
  EXPECT_TRUE(plan.left.empty());
}

TEST(CostPlan, WhatIsExpensiveRunsAtTheSmallestShape) {
  const CostPlan plan = plan_by_cost(facts(2), Effort::standard, "cuda:0");
  EXPECT_FALSE(plan.cheap);
  ASSERT_EQ(plan.small.size(), 2u);  // nine tenths of the elements save nothing
  EXPECT_EQ(plan.small[0].shape_variant, "batch=1");
  EXPECT_EQ(plan.small[1].shape_variant, "batch=9");
  ASSERT_EQ(plan.shapes.size(), 1u);
  EXPECT_EQ(plan.shapes[0].shape_variant, "batch=1");
  ASSERT_EQ(plan.left.size(), 2u);
  EXPECT_EQ(plan.left[0].shape_set, "batch=9");
  EXPECT_NE(plan.left[0].reason.find("1.0 s"), std::string::npos) << plan.left[0].reason;
}

TEST(CostPlan, ATaskWithoutVariantsHasNoOtherPlace) {
  const CostPlan plan = plan_by_cost({2, 1000, {}}, Effort::standard, "cuda:0");
  EXPECT_FALSE(plan.cheap);
  EXPECT_TRUE(plan.small.empty());
}

TEST(CostPlan, WhereNoCaseFitsOnlySmallShapesAreKnownToBeCheap) {
  const CostPlan plan =
      plan_by_cost(facts(std::numeric_limits<double>::infinity()), Effort::standard, "cuda:0");
  ASSERT_FALSE(plan.small.empty());
  EXPECT_EQ(plan.small[0].shape_variant, "batch=1");
  EXPECT_LT(plan.small[0].case_s, 0.1);
}

TEST(CostPlan, MoreIsDoneWhereItIsAskedForOrNobodyWaits) {
  EXPECT_FALSE(plan_by_cost(facts(0.1), Effort::quick, "cuda:0").cheap);
  EXPECT_TRUE(plan_by_cost(facts(1), Effort::thorough, "cuda:0").cheap);
  EXPECT_TRUE(plan_by_cost(facts(1), Effort::standard, "cpu").cheap);
}

TEST(CostPlan, OnACpuThatIsThreeTimesAsSlowAsItSeemedCheapCasesAreAllTried) {
  const CostPlan plan = plan_by_cost(facts(0.3), Effort::quick, "cpu");
  EXPECT_TRUE(plan.cheap);
  EXPECT_GE(plan.budget_s, 60 * 3 * 0.3);
}

TEST(CostPlan, RepeatedCallsFitWhatIsLeft) {
  EXPECT_EQ(repeated_calls(0.02, 10, Effort::standard), 32u);
  EXPECT_EQ(repeated_calls(1, 5, Effort::standard), 5u);
  EXPECT_EQ(repeated_calls(3, 0, Effort::standard), 2u);
  EXPECT_EQ(repeated_calls(3, -4, Effort::standard), 2u);
  EXPECT_EQ(repeated_calls(std::numeric_limits<double>::infinity(), 4, Effort::quick), 2u);
}

}  // namespace
}  // namespace fiel::judge::torch
