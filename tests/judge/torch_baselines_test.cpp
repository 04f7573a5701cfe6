// Judgements of one task that follow each other: what the second is spared, and what makes it
// measure everything after all.
#include <cmath>

#include "judge/torch/baseline_choice.h"
#include "torch_judgement.h"

namespace fiel::judge::torch {
namespace {

using Outcome = BaselineCacheUse::Outcome;
using CacheMode = BaselineCacheWish::Mode;

class CachedJudgement : public TorchJudgement {
 protected:
  void SetUp() override {
    TorchJudgement::SetUp();
    on_a_gpu();
    request_.baselines = {"eager", "compile"};
    request_.baseline_cache.mode = CacheMode::use;
    request_.baseline_cache.folder = folder_->path();
    request_.baseline_cache.worker_version = "1";
    request_.baseline_cache.now_ms = [this] { return now_ms_; };
    while (is_audit(request_.options.seed)) ++request_.options.seed;
  }

  const TimedSide* side(const Verdict& v, const std::string& name) const {
    for (const TimedSide& s : v.measurement->sides)
      if (s.name == name) return &s;
    return nullptr;
  }
  std::string headline(const Verdict& v) const {
    const Measurement& m = *v.measurement;
    return m.headline ? m.ratios[*m.headline].against : "none";
  }
  size_t loaded(const std::string& compile) const {
    size_t n = 0;
    for (const Json& line : log())
      n += line["op"].as_string() == "load" && line["compile"].as_string() == compile ? 1 : 0;
    return n;
  }
  /// Of each clock that was opened, how many runners were under it.
  std::vector<int64_t> clocks() const {
    std::vector<int64_t> runners;
    for (const Json& line : log())
      if (line["role"].as_string() == "oracle" && line["runners"].as_int() > 0)
        runners.push_back(line["runners"].as_int());
    return runners;
  }
  size_t entries() const {
    std::error_code none;
    size_t n = 0;
    for (std::filesystem::directory_iterator it(folder_->path() / "baselines", none), end;
         !none && it != end; ++it)
      ++n;
    return n;
  }
  std::filesystem::path entry() const {
    return std::filesystem::directory_iterator(folder_->path() / "baselines")->path();
  }

  int64_t now_ms_ = 1'800'000'000'000;
};

TEST_F(CachedJudgement, TheSecondIsSparedTheSlowBaselineAndSaysSo) {
  const Verdict first = judged();
  ASSERT_EQ(first.status, VerdictStatus::correct) << first.reason;
  EXPECT_EQ(first.measurement->baseline_cache.outcome, Outcome::measured);
  EXPECT_TRUE(first.measurement->baseline_cache.kept);
  EXPECT_EQ(first.measurement->baseline_cache.key.size(), 64u);
  EXPECT_EQ(loaded("default"), 1u);

  now_ms_ += 3'600'000;
  const Verdict second = judged();
  ASSERT_EQ(second.status, VerdictStatus::correct) << second.reason;
  const BaselineCacheUse& use = second.measurement->baseline_cache;
  EXPECT_EQ(use.outcome, Outcome::cached) << use.why;
  EXPECT_EQ(loaded("default"), 1u) << "it was compiled again";
  EXPECT_EQ(headline(second), "eager");
  EXPECT_FALSE(side(second, "eager")->cached);
  ASSERT_NE(side(second, "compile"), nullptr);
  ASSERT_TRUE(side(second, "compile")->cached);
  EXPECT_EQ(side(second, "compile")->cached->age_ms, 3'600'000);
  EXPECT_NEAR(side(second, "compile")->median_ns, 3e5, 100);
  EXPECT_EQ(second.measurement->reward, first.measurement->reward);
}

TEST_F(CachedJudgement, WhatIsKeptWasTimedWithoutTheKernel) {
  ASSERT_EQ(judged().status, VerdictStatus::correct);
  EXPECT_EQ(clocks(), (std::vector<int64_t>{3, 2}));
  ASSERT_EQ(judged().status, VerdictStatus::correct);
  EXPECT_EQ(clocks(), (std::vector<int64_t>{3, 2, 2})) << "the kernel and eager, nothing alone";
}

TEST_F(CachedJudgement, DriftOfTheOneThatIsTimedAgainDiscardsThemAll) {
  judged();
  baseline_ = "right,none=2.4e5";
  const Verdict v = judged();
  ASSERT_EQ(v.status, VerdictStatus::correct) << v.reason;
  const BaselineCacheUse& use = v.measurement->baseline_cache;
  EXPECT_EQ(use.outcome, Outcome::discarded);
  EXPECT_NE(use.why.find("eager"), std::string::npos) << use.why;
  EXPECT_NE(found(v, "baselines-discarded"), nullptr);
  EXPECT_EQ(v.measurement->sides.size(), 3u);
  for (const TimedSide& s : v.measurement->sides) EXPECT_FALSE(s.cached) << s.name;
  for (const Ratio& r : v.measurement->ratios) EXPECT_EQ(r.rounds > 0, !r.cached) << r.against;
  EXPECT_EQ(loaded("default"), 2u);
  EXPECT_TRUE(use.kept);
  // The new times are there for the next.
  EXPECT_EQ(judged().measurement->baseline_cache.outcome, Outcome::cached);
}

TEST_F(CachedJudgement, ABaselineThatHasBecomeFastIsFoundByTheDriftOrByAnAudit) {
  judged();
  // Spared, so its gain is not seen…
  baseline_ = "right,default=1.5e5";
  EXPECT_EQ(headline(judged()), "eager");
  // …until all are measured again.
  while (!is_audit(request_.options.seed)) ++request_.options.seed;
  const Verdict audit = judged();
  EXPECT_EQ(audit.measurement->baseline_cache.outcome, Outcome::measured);
  EXPECT_EQ(headline(audit), "compile");
  EXPECT_TRUE(audit.measurement->baseline_cache.kept);
}

TEST_F(CachedJudgement, AFastBaselineThatIsLessAccurateIsSparedToo) {
  baseline_ = "right,default=1.1e5,default~1e-3";
  judged();
  const Verdict v = judged();
  EXPECT_EQ(v.measurement->baseline_cache.outcome, Outcome::cached);
  EXPECT_EQ(headline(v), "eager");
  ASSERT_EQ(v.measurement->ratios.size(), 2u);
  EXPECT_FALSE(v.measurement->ratios[1].comparable);
  // For a kernel that is no more accurate it is the one that counts.
  candidate_ = "right,kernel~1e-3";
  const Verdict rough = judged();
  EXPECT_EQ(headline(rough), "compile");
  EXPECT_FALSE(side(rough, "compile")->cached);
  EXPECT_TRUE(side(rough, "eager")->cached);
}

TEST_F(CachedJudgement, WhereAllAreCloseAllAreTimedAndNothingIsKeptTwice) {
  baseline_ = "right,default=2.05e5";
  judged();
  const Verdict v = judged();
  EXPECT_EQ(v.measurement->baseline_cache.outcome, Outcome::measured);
  EXPECT_FALSE(side(v, "compile")->cached);
  EXPECT_EQ(clocks(), (std::vector<int64_t>{3, 2, 3}));
}

TEST_F(CachedJudgement, AMissingBaselineIsTriedEveryTime) {
  baseline_ = "right";
  request_.baselines = {"eager", "compile", "max-autotune"};
  judged();
  EXPECT_EQ(loaded("max-autotune"), 1u);
  judged();
  EXPECT_EQ(loaded("max-autotune"), 1u) << "it is cached";
  request_.baselines = {"eager", "compile", "reduce-overhead"};
  judged();
  EXPECT_EQ(loaded("reduce-overhead"), 1u) << "other baselines, another entry";
}

TEST_F(CachedJudgement, ADamagedOrForeignEntryChangesNothingAndIsSaid) {
  const Verdict first = judged();
  const std::string sound = *read_file(entry());
  for (const std::string& text :
       {std::string("{}"), std::string(300'000, '7'), sound.substr(0, sound.size() / 2),
        std::string(sound).replace(sound.find("median_ns") + 12, 1, "9")}) {
    std::ofstream(entry()) << text;
    const Verdict v = judged();
    EXPECT_EQ(v.status, VerdictStatus::correct);
    EXPECT_EQ(v.measurement->baseline_cache.outcome, Outcome::discarded) << text.substr(0, 60);
    ASSERT_NE(found(v, "baselines-discarded"), nullptr);
    EXPECT_EQ(headline(v), headline(first));
    EXPECT_NEAR(v.measurement->ratios[0].value, first.measurement->ratios[0].value, 0.01);
  }
}

TEST_F(CachedJudgement, OffTouchesNothingAndRefreshMeasuresAll) {
  request_.baseline_cache.mode = CacheMode::off;
  EXPECT_EQ(judged().measurement->baseline_cache.key, "");
  EXPECT_EQ(entries(), 0u);
  for (int i = 0; i < 2; ++i) {
    request_.baseline_cache.mode = CacheMode::refresh;
    const Verdict v = judged();
    EXPECT_EQ(v.measurement->baseline_cache.outcome, Outcome::measured);
    EXPECT_TRUE(v.measurement->baseline_cache.kept);
    EXPECT_FALSE(side(v, "compile")->cached);
  }
  EXPECT_EQ(entries(), 1u);
}

TEST_F(CachedJudgement, AnotherModeOfTimingIsMeasuredAndKeptBeside) {
  judged();
  oracle_ += ",unheld";
  const Verdict v = judged();
  EXPECT_EQ(v.measurement->baseline_cache.outcome, Outcome::measured);
  EXPECT_NE(v.measurement->baseline_cache.why.find("mode"), std::string::npos);
  EXPECT_EQ(found(v, "baselines-discarded"), nullptr) << "nothing spoke against them";
  for (const TimedSide& s : v.measurement->sides) EXPECT_FALSE(s.cached || s.held) << s.name;
  EXPECT_EQ(judged().measurement->baseline_cache.outcome, Outcome::cached);
  EXPECT_EQ(entries(), 1u);
}

TEST_F(CachedJudgement, AWrongKernelLeavesNothingBehind) {
  oracle_ += ",late-wrong";
  EXPECT_EQ(judged().status, VerdictStatus::incorrect);
  EXPECT_EQ(entries(), 0u);
}

TEST_F(CachedJudgement, OldTimesAreMeasuredAnew) {
  judged();
  now_ms_ += kMostAgeMs + 1;
  const Verdict v = judged();
  EXPECT_EQ(v.measurement->baseline_cache.outcome, Outcome::measured);
  EXPECT_NE(v.measurement->baseline_cache.why.find("old"), std::string::npos);
  EXPECT_EQ(judged().measurement->baseline_cache.outcome, Outcome::cached);
}

TEST_F(CachedJudgement, MemoryOfASparedEagerSideIsShownAsCached) {
  baseline_ = "right,default=1.2e5";
  const Verdict first = judged();
  const Verdict second = judged();
  EXPECT_TRUE(side(second, "eager")->cached);
  EXPECT_FALSE(first.measurement->memory.baseline_cached);
  EXPECT_TRUE(second.measurement->memory.baseline_cached);
  EXPECT_EQ(second.measurement->memory.baseline_peak_bytes,
            first.measurement->memory.baseline_peak_bytes);
}

TEST_F(CachedJudgement, ADeadCachedBaselineIsMeasuredWithTheRest) {
  judged();
  baseline_ = "dies-when-called";
  const Verdict v = judged();
  EXPECT_EQ(v.status, VerdictStatus::correct) << v.reason;
  EXPECT_EQ(v.measurement->baseline_cache.outcome, Outcome::discarded);
  for (const TimedSide& s : v.measurement->sides) EXPECT_FALSE(s.cached) << s.name;
}

}  // namespace
}  // namespace fiel::judge::torch
