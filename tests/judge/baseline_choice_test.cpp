// A baseline is spared only where the headline cannot be against it, and nothing cached outlives
// the drift of one that was timed again.
#include "judge/torch/baseline_choice.h"

#include <gtest/gtest.h>

#include <limits>

#include "judge/torch/timed_session.h"

namespace fiel::judge::torch {
namespace {

std::vector<ProbeError> error(double relative_rms) {
  return {{"task-inputs", relative_rms, relative_rms * 1e7}};
}

CachedBaseline row(const char* name, const char* policy, double ns, double rms = 1e-7) {
  CachedBaseline r{name, policy, ns, ns * 0.99, ns * 1.01, ns, ns, ns};
  r.errors = error(rms);
  return r;
}

CachedTiming cached(std::vector<CachedBaseline> rows) { return {true, 8, 1000, std::move(rows)}; }

std::string text_of(const std::vector<BaselineName>& names) {
  std::string text;
  for (const BaselineName& n : names) text += n.name + "/" + n.policy + " ";
  return text;
}

struct Situation {
  const char* what;
  std::vector<CachedBaseline> rows;
  double kernel_rms;
  const char* spared;
};

const Situation kSituations[] = {
    {"a slow one is spared",
     {row("eager", "fp32", 300), row("compile", "fp32", 100)},
     1e-7,
     "eager/fp32 "},
    {"also where it is the compiled one",
     {row("eager", "fp32", 100), row("compile", "fp32", 150)},
     1e-7,
     "compile/fp32 "},
    {"a close one is timed again",
     {row("eager", "fp32", 110), row("compile", "fp32", 100)},
     1e-7,
     ""},
    {"one of less accuracy is spared, as fast as it is",
     {row("eager", "fp32", 100), row("eager", "tf32", 30, 3e-4)},
     1e-7,
     "eager/tf32 "},
    {"and decides for a kernel of that accuracy",
     {row("eager", "fp32", 100), row("eager", "tf32", 30, 3e-4)},
     3e-4,
     "eager/fp32 "},
    {"at the border of accuracy both are timed again",
     {row("eager", "fp32", 100), row("eager", "tf32", 90, 5e-7)},
     1e-7,
     ""},
    {"a fast one of unclear accuracy does not spare others",
     {row("eager", "fp32", 100), row("compile", "fp32", 150), row("eager", "tf32", 20, 5e-7)},
     1e-7,
     "compile/fp32 "},
    {"without a clearly accurate one nothing is",
     {row("eager", "tf32", 100, 5e-7), row("compile", "tf32", 900, 5e-7)},
     1e-7,
     ""},
};

TEST(BaselineChoice, SparesWhatCannotBeTheHeadline) {
  for (const Situation& s : kSituations) {
    const Sparing choice = choose_spared(cached(s.rows), error(s.kernel_rms));
    EXPECT_EQ(text_of(choice.spared), s.spared) << s.what;
    EXPECT_EQ(choice.why.empty(), !choice.spared.empty()) << s.what;
  }
}

TEST(BaselineChoice, ErrorsOfOtherProbesSayNothing) {
  EXPECT_EQ(admission({{"ties", 1e-7, 1}}, error(1e-7)), Admission::unclear);
  EXPECT_EQ(admission({}, error(1e-7)), Admission::unclear);
  EXPECT_EQ(admission(error(1e-7), error(1e-7)), Admission::yes);
  EXPECT_EQ(admission(error(1e-7), error(1e-3)), Admission::no);
}

TimedSide side(const char* name, const char* policy, double ns) {
  TimedSide s;
  s.name = name;
  s.policy = policy;
  s.median_ns = ns;
  s.low_ns = ns * 0.99;
  s.high_ns = ns * 1.01;
  return s;
}

class Refutation : public ::testing::Test {
 protected:
  std::optional<std::string> with(const TimedSide& live, bool comparable = true) const {
    return refuted(timing_, spared_, {{&live, comparable}}, error(kernel_rms_));
  }
  CachedTiming timing_ = cached({row("eager", "fp32", 100), row("compile", "fp32", 150)});
  std::vector<BaselineName> spared_ = {{"compile", "fp32"}};
  double kernel_rms_ = 1e-7;
};

TEST_F(Refutation, TimesThatAgreeHold) {
  EXPECT_FALSE(with(side("eager", "fp32", 100)));
  // Within both intervals (1 % each) and the tolerance (5 %).
  EXPECT_FALSE(with(side("eager", "fp32", 106)));
  EXPECT_FALSE(with(side("eager", "fp32", 94)));
}

TEST_F(Refutation, DriftEitherWayRefutesAll) {
  for (const double ns : {92.0, 108.0, 500.0, 1.0}) {
    const auto why = with(side("eager", "fp32", ns));
    ASSERT_TRUE(why) << ns;
    EXPECT_NE(why->find("eager, fp32"), std::string::npos) << *why;
  }
}

TEST_F(Refutation, ACachedOneThatCannotBeTimedAnyMoreRefutesAll) {
  TimedSide gone = side("eager", "fp32", 0);
  gone.unavailable = "it died";
  EXPECT_TRUE(with(gone));
}

TEST_F(Refutation, WithoutAComparableOneNothingHolds) {
  EXPECT_TRUE(with(side("eager", "fp32", 100), false));
}

TEST_F(Refutation, ASparedOneThatCameTooNearIsTimedAfterAll) {
  timing_ = cached({row("eager", "fp32", 100), row("compile", "fp32", 108)});
  EXPECT_TRUE(with(side("eager", "fp32", 104)));
  // Unless the kernel turns out to be far more accurate than it.
  timing_.rows[1].errors = error(1e-3);
  EXPECT_FALSE(with(side("eager", "fp32", 104)));
}

TEST_F(Refutation, AKernelThatIsLessAccurateThanItSeemedMeetsTheSpared) {
  timing_ = cached({row("eager", "fp32", 100), row("eager", "tf32", 30, 3e-4)});
  spared_ = {{"eager", "tf32"}};
  EXPECT_FALSE(with(side("eager", "fp32", 100)));
  kernel_rms_ = 3e-4;
  EXPECT_TRUE(with(side("eager", "fp32", 100)));
}

TEST_F(Refutation, OfAModeThatLacksARowNothingHolds) {
  timing_.rows.pop_back();
  EXPECT_TRUE(with(side("eager", "fp32", 100)));
}

Measurement measured() {
  Measurement m;
  TimedSide kernel = side("kernel", "", 50), eager = side("eager", "fp32", 100);
  m.sides = {kernel, eager};
  m.ratios = {{"eager", "fp32", 2, 1.98, 2.02, 48, SpeedDecision::faster, true}};
  choose_headline(m);
  return m;
}

TEST(ShownFromTheCache, RatiosHoldTheDriftAndAreNeverTheHeadline) {
  Measurement m = measured();
  // As if it were the fastest: what is cached may not become the headline even so.
  show_cached(cached({row("compile", "fp32", 60)}), {{"compile", "fp32"}}, 61'000, error(1e-7), m);
  ASSERT_EQ(m.sides.size(), 3u);
  ASSERT_EQ(m.ratios.size(), 2u);
  EXPECT_EQ(m.ratios[*m.headline].against, "eager");
  const Ratio& r = m.ratios[1];
  EXPECT_TRUE(r.cached);
  EXPECT_TRUE(r.comparable);
  EXPECT_EQ(r.rounds, 0u);
  EXPECT_DOUBLE_EQ(r.value, 1.2);
  EXPECT_DOUBLE_EQ(r.low, 60 * 0.99 * 0.95 / (50 * 1.01));
  EXPECT_DOUBLE_EQ(r.high, 60 * 1.01 * 1.05 / (50 * 0.99));
  ASSERT_TRUE(m.sides[2].cached);
  EXPECT_EQ(m.sides[2].cached->measured_ms, 1000);
  EXPECT_EQ(m.sides[2].cached->age_ms, 60'000);
}

TEST(ShownFromTheCache, ARewardNeedsTheWholeIntervalOfTheCachedToo) {
  // Beside eager, which is timed again, a cached compiled baseline decides between 2 and 3.
  for (const auto& [ns, reward] : {std::pair{62.0, 3}, std::pair{54.0, 2}, std::pair{40.0, 2}}) {
    Measurement m = measured();
    show_cached(cached({row("compile", "fp32", ns)}), {{"compile", "fp32"}}, 0, error(1e-7), m);
    EXPECT_EQ(m.reward, reward) << ns;
  }
}

TEST(ShownFromTheCache, WhatIsLessAccurateSaysSo) {
  Measurement m = measured();
  show_cached(cached({row("compile", "tf32", 60, 1e-3)}), {{"compile", "tf32"}}, 0, error(1e-7), m);
  EXPECT_FALSE(m.ratios[1].comparable);
}

TEST(KnownModes, ServeWhereTheyHaveEnoughCallsAndNotFarTooMany) {
  const std::vector<TimedMode> known = {{true, 8}, {true, 64}, {false, 1}, {false, 32}};
  EXPECT_EQ(known_calls(known, 3, 256), 8u);
  EXPECT_EQ(known_calls(known, 8, 256), 8u);
  EXPECT_EQ(known_calls(known, 17, 256), 64u);
  EXPECT_EQ(known_calls(known, 9, 256), std::nullopt) << "64 are more than four times 9";
  EXPECT_EQ(known_calls(known, 65, 256), std::nullopt);
  EXPECT_EQ(known_calls(known, 20, 32), std::nullopt) << "the driver queues no 64";
  EXPECT_EQ(known_calls({}, 1, 1), std::nullopt);
}

TEST(Audits, AreAboutOneJudgementInSixteen) {
  int audits = 0;
  for (uint64_t seed = 0; seed < 1600; ++seed) audits += is_audit(seed) ? 1 : 0;
  EXPECT_GT(audits, 60);
  EXPECT_LT(audits, 150);
}

}  // namespace
}  // namespace fiel::judge::torch
