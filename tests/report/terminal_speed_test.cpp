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

TEST(TerminalSpeed, AnUnboundedIntervalIsNotANumber) {
  judge::Measurement m = measured();
  m.ratios[0].high = std::numeric_limits<double>::infinity();
  const std::string text = render_measurement(m);
  EXPECT_NE(text.find("[too few samples]"), std::string::npos) << text;
  EXPECT_EQ(text.find("inf"), std::string::npos) << text;
}

TEST(TerminalSpeed, SaysNothingWhereNothingWasTimed) { EXPECT_EQ(render_measurement({}), ""); }

}  // namespace
}  // namespace fiel::report
