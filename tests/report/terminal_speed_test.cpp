// What a person reads about time.
#include "report/terminal_speed.h"

#include <gtest/gtest.h>

#include <limits>

namespace fiel::report {
namespace {

judge::Measurement measured() {
  judge::Measurement m;
  judge::TimedSide kernel, eager, tf32;
  kernel.name = "kernel";
  kernel.median_ns = 1e6;
  kernel.numerics = NumericsClass::fp32;
  eager.name = tf32.name = "eager";
  eager.policy = "fp32";
  tf32.policy = "tf32";
  eager.median_ns = 1.2e6;
  tf32.unavailable = "out of memory";
  m.sides = {kernel, eager, tf32};
  judge::Ratio r{"eager", "fp32", 1.2, 1.19, 1.21, 48, judge::SpeedDecision::faster, true};
  m.ratios = {r};
  m.headline = 0;
  m.speed = judge::SpeedDecision::faster;
  return m;
}

TEST(TerminalSpeed, ShowsTheHeadlineEverySideAndWhatIsMissing) {
  const std::string text = render_measurement(measured());
  EXPECT_NE(text.find("speed  faster: 1.200 of eager, fp32 [1.190, 1.210] in 48 rounds"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("not timed: out of memory"), std::string::npos) << text;
}

TEST(TerminalSpeed, NamesTheShapesOfANativeTaskAndNotATasksOwn) {
  judge::Measurement m = measured();
  m.shape_set = "bench";
  EXPECT_NE(render_measurement(m).find("speed  faster at bench: 1.200"), std::string::npos);
  m.shape_set = "given";
  EXPECT_EQ(render_measurement(m).find("given"), std::string::npos);
}

TEST(TerminalSpeed, AnUnboundedIntervalIsNotANumber) {
  judge::Measurement m = measured();
  m.ratios[0].high = std::numeric_limits<double>::infinity();
  const std::string text = render_measurement(m);
  EXPECT_NE(text.find("[too few samples]"), std::string::npos) << text;
  EXPECT_EQ(text.find("inf"), std::string::npos) << text;
}

TEST(TerminalSpeed, ACachedTimeIsLabelledWithItsAge) {
  judge::Measurement m = measured();
  judge::TimedSide compiled;
  compiled.name = "compile";
  compiled.policy = "fp32";
  compiled.median_ns = 2e6;
  m.ratios.push_back({"compile", "fp32", 2, 1.8, 2.2, 0, judge::SpeedDecision::faster, true, true});
  EXPECT_EQ(render_measurement(m).find("cached"), std::string::npos);
  for (const auto& [age_ms, words] : {std::pair{59'000ll, "cached 0 min ago"},
                                      {90 * 60'000ll, "cached 90 min ago"},
                                      {5 * 3'600'000ll, "cached 5 hours ago"},
                                      {3 * 86'400'000ll, "cached 3 days ago"}}) {
    compiled.cached = judge::CachedTime{1, age_ms};
    judge::Measurement shown = m;
    shown.sides.push_back(compiled);
    const std::string text = render_measurement(shown);
    EXPECT_NE(text.find(words), std::string::npos) << text;
    EXPECT_EQ(judge::to_json(shown, false)["sides"].items()[3]["cached"]["age_ms"].as_int(),
              age_ms);
  }
}

TEST(TerminalSpeed, DiscardedTimesAreSaid) {
  judge::Measurement m = measured();
  m.baseline_cache.outcome = judge::BaselineCacheUse::Outcome::discarded;
  m.baseline_cache.why = "eager takes 2 ms where 1 ms is cached";
  const std::string text = render_measurement(m);
  EXPECT_NE(text.find("discarded, all were measured anew: eager takes 2 ms"), std::string::npos);
}

TEST(TerminalSpeed, TimesOfAnotherModeAreLabelled) {
  judge::Measurement m = measured();
  EXPECT_EQ(render_measurement(m).find("(warm)"), std::string::npos);
  for (judge::TimedSide& s : m.sides) s.cold = false;
  std::string text = render_measurement(m);
  for (const char* part : {"speed  faster (warm): 1.200", "kernel (warm)", "eager, fp32 (warm)"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  for (judge::TimedSide& s : m.sides) s.graph = s.cold = true;
  text = render_measurement(m);
  EXPECT_NE(text.find("speed  faster (graph): 1.200"), std::string::npos) << text;
  EXPECT_NE(text.find("kernel (graph)"), std::string::npos) << text;
}

TEST(TerminalSpeed, SaysWhoseKernelsDidTheWorkOrWhyNobodySawThem) {
  judge::Measurement m = measured();
  m.launched = {{}, 0, "CUPTI is missing"};
  EXPECT_NE(render_measurement(m).find("kernels  not seen: CUPTI is missing"), std::string::npos);
  m.launched = {{{"sgemm", "library", 2, 3000, true}, {"bias", "own", 1, 1000, false}}, 0, ""};
  const std::string text = render_measurement(m);
  EXPECT_NE(text.find("own ones have 25 % of the device time"), std::string::npos) << text;
  EXPECT_NE(text.find("tensor cores"), std::string::npos) << text;
  m.launched.kernels[0].device_ns = m.launched.kernels[1].device_ns = 0;
  EXPECT_NE(render_measurement(m).find("own ones have 33 % of the launches"), std::string::npos);
}

TEST(TerminalSpeed, SaysNothingWhereNothingWasTimed) { EXPECT_EQ(render_measurement({}), ""); }

}  // namespace
}  // namespace fiel::report
