// Intervals must hold the truth as often as they say, on every kind of noise; credited times must
// not follow a lie.
#include "judge/timing.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "noise.h"

namespace fiel::judge {
namespace {

constexpr double kTrueRatio = 1.37;

struct Pair {
  TimedSide kernel, baseline;
  NoiseSource own, other;
  uint32_t rounds = 0;

  Pair(Noise kind, uint64_t seed) : own(kind, 2 * seed), other(kind, 2 * seed + 1) {
    kernel.name = "kernel";
    baseline.name = "eager";
  }
  Ratio grow_to(uint32_t to, double ratio) {
    add_rounds(kernel, own, 100e3, rounds, to);
    add_rounds(baseline, other, 100e3 * ratio, rounds, to);
    rounds = to;
    credit(baseline, {}, Trust::trusted);
    credit(kernel, {}, Trust::trusted);
    return ratio_of(kernel, baseline);
  }
};

std::string text_of(Noise kind) {
  static const char* names[] = {"quiet", "skewed", "drifting", "bimodal", "switching", "spiky"};
  return names[static_cast<int>(kind)];
}

TEST(Coverage, IntervalsHoldTheTrueRatioOnEveryNoiseAndLength) {
  constexpr int kTrials = 400;
  for (const Noise kind : kNoises)
    for (const uint32_t rounds : {12u, 24u, 48u, 96u, 192u}) {
      int held = 0;
      for (int trial = 0; trial < kTrials; ++trial) {
        Pair pair(kind, 1000 * rounds + trial);
        const Ratio r = pair.grow_to(rounds, kTrueRatio);
        held += r.low <= kTrueRatio && kTrueRatio <= r.high;
      }
      EXPECT_GE(held, kTrials * 0.95) << text_of(kind) << " at " << rounds << " rounds";
      RecordProperty(text_of(kind) + std::to_string(rounds), held);
    }
}

TEST(Coverage, HoldsAlsoWhereMeasuringStopsAtTheFirstDecision) {
  constexpr int kTrials = 400;
  for (const Noise kind : kNoises)
    for (const double truth : {1.0, 1.009, 1.02, 1.2}) {
      int held = 0;
      for (int trial = 0; trial < kTrials; ++trial) {
        Pair pair(kind, 77'000 + trial);
        Ratio r;
        uint32_t rounds = 0;
        for (int look = 0; look < kMaxLooks; ++look) {
          r = pair.grow_to(rounds = next_rounds(rounds), truth);
          if (settled(r)) break;
        }
        held += r.low <= truth && truth <= r.high;
      }
      EXPECT_GE(held, kTrials * 0.93) << text_of(kind) << " at a true ratio of " << truth;
    }
}

TEST(Coverage, SelfIsNeverFasterOrSlowerThanItself) {
  constexpr int kTrials = 400;
  for (const Noise kind : kNoises) {
    int wrong = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
      Pair pair(kind, 123'000 + trial);
      uint32_t rounds = 0;
      Ratio r;
      for (int look = 0; look < kMaxLooks; ++look) {
        r = pair.grow_to(rounds = next_rounds(rounds), 1.0);
        if (settled(r)) break;
      }
      wrong += r.decision == SpeedDecision::faster || r.decision == SpeedDecision::slower;
    }
    EXPECT_LE(wrong, kTrials * 0.02) << text_of(kind);
  }
}

TEST(Coverage, ASeriesOfDependentValuesCountsForFewer) {
  Dice dice(5);
  std::vector<double> independent, dependent;
  double state = 0;
  for (int i = 0; i < 400; ++i) {
    independent.push_back(dice.normal());
    dependent.push_back(state = 0.9 * state + dice.normal());
  }
  EXPECT_LT(correlation_time(independent), 1.6);
  EXPECT_GT(correlation_time(dependent), 6);
  const Interval a = median_interval(independent), b = median_interval(dependent);
  EXPECT_GT((b.high - b.low) / (a.high - a.low), 3);
}

TEST(Intervals, AreUnboundedWhereTheSeriesIsTooShort) {
  const std::vector<double> seven(7, 1.0), eight(8, 1.0);
  EXPECT_FALSE(median_interval(seven).bounded());
  EXPECT_TRUE(median_interval(eight).bounded());
  EXPECT_FALSE(median_interval({}).bounded());
  EXPECT_EQ(decide(median_interval(seven)), SpeedDecision::ambiguous);
}

TEST(Intervals, ArePlainOrderStatisticsOfIndependentValues) {
  // 99 % of n = 20: P(fewer than 4 of 20 coins) = 0.0013, fewer than 5: 0.0059; so x(4) .. x(17).
  std::vector<double> values;
  for (int i = 0; i < 20; ++i) values.push_back(i % 2 == 0 ? i : 19 - (i - 1));
  const Interval i = median_interval(values);
  EXPECT_EQ(i.correlation_time, 1);
  EXPECT_EQ(i.low, 3);
  EXPECT_EQ(i.high, 16);
  EXPECT_EQ(i.value, 9.5);
}

Interval between(double low, double high) { return {(low + high) / 2, low, high, 20, 1}; }

TEST(Decision, IsWhereTheWholeIntervalIs) {
  EXPECT_EQ(decide(between(1.02, 1.4)), SpeedDecision::faster);
  EXPECT_EQ(decide(between(0.7, 0.98)), SpeedDecision::slower);
  EXPECT_EQ(decide(between(0.995, 1.008)), SpeedDecision::same);
  EXPECT_EQ(decide(between(0.97, 1.4)), SpeedDecision::ambiguous);
  EXPECT_EQ(decide(between(1.005, 1.03)), SpeedDecision::ambiguous);
}

TEST(Decision, WellSeparatedSidesAreDecidedAtTheFirstLook) {
  for (const Noise kind : {Noise::quiet, Noise::skewed, Noise::drifting}) {
    Pair pair(kind, 9);
    EXPECT_EQ(pair.grow_to(12, 1.5).decision, SpeedDecision::faster) << text_of(kind);
    Pair slow(kind, 9);
    EXPECT_EQ(slow.grow_to(12, 0.6).decision, SpeedDecision::slower) << text_of(kind);
  }
}

/// Rounds of a hostile and a trusted side around a gap of 180 µs that wavers by 5 µs.
struct Clocked {
  TimedSide kernel, eager;
  explicit Clocked(uint32_t calls = 8, uint64_t seed = 3) {
    kernel.calls_a_sample = eager.calls_a_sample = calls;
    Dice dice(seed);
    for (uint32_t round = 0; round < 48; ++round)
      for (TimedSide* side : {&eager, &kernel}) {
        TimeSample s;
        s.round = round;
        s.device_ns = 250e3 * (1 + 0.002 * dice.normal());
        s.wall_ns = s.device_ns * calls + 180e3 + 5e3 * dice.normal();
        s.sm_clock_mhz = 1980;
        side->samples.push_back(s);
      }
  }
  Gap gap() const {
    const TimedSide* trusted[] = {&eager};
    return gap_of(trusted);
  }
  Ratio ratio() {
    const Gap g = gap();
    credit(eager, g, Trust::trusted);
    credit(kernel, g, Trust::hostile);
    return ratio_of(kernel, eager);
  }
};

TEST(Credit, AnHonestSideIsCreditedItsDeviceTime) {
  Clocked c;
  const Gap gap = c.gap();
  EXPECT_NEAR(gap.median_ns, 180e3, 3e3);
  EXPECT_NEAR(gap.slack_ns, 8e3, 4e3);
  EXPECT_EQ(c.ratio().decision, SpeedDecision::same);
  EXPECT_TRUE(c.kernel.events_believed);
  EXPECT_NEAR(c.kernel.median_ns, c.kernel.device_median_ns, 200);
}

TEST(Credit, AForgedEventCostsTheWallTime) {
  for (const double share : {0.0, 0.1, 0.9}) {
    Clocked c;
    for (TimeSample& s : c.kernel.samples) s.device_ns *= share;
    const Ratio r = c.ratio();
    EXPECT_FALSE(c.kernel.events_believed) << share;
    EXPECT_EQ(r.decision, SpeedDecision::same) << share << ": " << r.low << " .. " << r.high;
  }
}

TEST(Credit, LyingInSomeSamplesGainsNothing) {
  Clocked c;
  for (size_t i = 0; i < c.kernel.samples.size(); i += 3) c.kernel.samples[i].device_ns = 1;
  EXPECT_EQ(c.ratio().decision, SpeedDecision::same);
}

TEST(Credit, AShaveBelowTheClocksResolutionGainsLessThanAPercent) {
  for (const double shaved_ns : {100.0, 500.0, 1'000.0, 2'000.0, 4'000.0}) {
    Clocked c;
    for (TimeSample& s : c.kernel.samples) s.device_ns -= shaved_ns;
    EXPECT_LT(c.ratio().value, 1.01) << shaved_ns;
  }
}

TEST(Credit, MissingAndAbsurdClaimsGiveTheWallTime) {
  for (const double claim : {0.0, -5e9, std::numeric_limits<double>::quiet_NaN()}) {
    Clocked c;
    for (TimeSample& s : c.kernel.samples) s.device_ns = claim;
    EXPECT_NEAR(c.ratio().value, 1, 0.02) << claim;
  }
}

TEST(Credit, WorkLeftOnTheDeviceIsAddedToTheWallTime) {
  Clocked c;
  for (TimedSide* side : {&c.eager, &c.kernel})
    for (TimeSample& s : side->samples) s.tail_ns = 20e3 + 200.0 * s.round;
  const double honest = c.ratio().value;
  EXPECT_NEAR(honest, 1, 0.01);
  // Half of each call's work waits until the clock has stopped.
  for (TimeSample& s : c.kernel.samples) {
    s.device_ns /= 2;
    s.wall_ns -= 8 * s.device_ns;
    s.tail_ns += 8 * s.device_ns;
  }
  EXPECT_NEAR(c.ratio().value, 1, 0.02);
  EXPECT_FALSE(c.kernel.events_believed);
}

/// A bare kernel in a device process of ours, whose gap is another than the Python runners', and
/// the gauge in the same place.
struct BareClocked : Clocked {
  TimedSide gauge;
  explicit BareClocked(double gap_ns) {
    Dice dice(7);
    gauge.calls_a_sample = kernel.calls_a_sample;
    for (TimeSample& s : kernel.samples) {
      s.wall_ns += gap_ns - 180e3;
      TimeSample g = s;
      g.device_ns = 2e3;
      g.wall_ns = 8 * g.device_ns + gap_ns + 5e3 * dice.normal();
      gauge.samples.push_back(g);
    }
  }
  Gap own_gap() const {
    const TimedSide* sides[] = {&gauge};
    return gap_of(sides);
  }
  Ratio ratio(const Gap& kernel_gap) {
    credit(eager, gap(), Trust::trusted);
    credit(kernel, kernel_gap, Trust::hostile);
    return ratio_of(kernel, eager);
  }
};

TEST(Gauge, AnHonestBareKernelIsBelievedWhereverItsGapLies) {
  for (const double gap_ns : {100e3, 160e3, 230e3, 400e3}) {
    BareClocked c(gap_ns);
    EXPECT_EQ(c.ratio(c.own_gap()).decision, SpeedDecision::same) << gap_ns;
    EXPECT_TRUE(c.kernel.events_believed) << gap_ns;
    EXPECT_NEAR(c.kernel.median_ns, c.kernel.device_median_ns, 200) << gap_ns;
  }
  BareClocked slow(400e3);
  EXPECT_EQ(slow.ratio(slow.gap()).decision, SpeedDecision::slower)
      << "against the Python runners' gap it would be charged the difference";
  EXPECT_FALSE(slow.kernel.events_believed);
}

TEST(Gauge, AForgedClaimHasNoRoomInAnothersGap) {
  BareClocked c(100e3);
  // 8 calls a sample: 80 of the 180 µs that a Python runner needs are work that nobody claims.
  for (TimeSample& s : c.kernel.samples) {
    s.wall_ns += 60e3;
    s.device_ns -= 2e3;
  }
  EXPECT_GT(c.ratio(c.gap()).value, 1.005) << "hidden behind the Python runners' gap";
  EXPECT_TRUE(c.kernel.events_believed);
  EXPECT_LT(c.ratio(c.own_gap()).value, 0.98) << "the wall time, and what it did beside";
  EXPECT_FALSE(c.kernel.events_believed);
}

TEST(Gauge, HostCodeBeforeTheDeviceHasWorkIsNoDeviceTime) {
  BareClocked c(150e3);
  Dice dice(11);
  for (TimeSample& s : c.gauge.samples) {
    s.lead_ns = 12e3 + 500 * dice.normal();
    s.wall_ns += s.lead_ns;
  }
  for (TimeSample& s : c.kernel.samples) {  // thirty launches through the channel
    s.lead_ns = 330e3 + 20e3 * dice.normal();
    s.wall_ns += s.lead_ns;
  }
  EXPECT_EQ(c.ratio(c.own_gap()).decision, SpeedDecision::same);
  EXPECT_TRUE(c.kernel.events_believed);
  for (TimeSample& s : c.kernel.samples)
    s.lead_ns = 0;  // as of a Python runner, who may not say it
  EXPECT_EQ(c.ratio(c.own_gap()).decision, SpeedDecision::slower);
}

TEST(Gauge, ALeadLongerThanTheCallIsNoTimeMachine) {
  TimeSample s;
  s.wall_ns = 500;
  s.lead_ns = 9'000;
  s.device_ns = 100;
  EXPECT_EQ(credited_ns(s, 1, {}, Trust::hostile), 100);
  s.lead_ns = -9'000;
  EXPECT_EQ(credited_ns(s, 1, {}, Trust::hostile), 500);
}

TEST(Credit, WithoutATrustedSideTheWallTimeStands) {
  TimeSample s;
  s.wall_ns = 500;
  s.device_ns = 100;
  EXPECT_EQ(credited_ns(s, 1, {}, Trust::hostile), 500);
  EXPECT_EQ(credited_ns(s, 1, {}, Trust::trusted), 100);
}

TEST(Throttle, SlowClocksAndReasonsAreSetAsideAndCounted) {
  Clocked c;
  for (size_t i = 0; i < 5; ++i) {
    c.kernel.samples[i].sm_clock_mhz = 1000;
    c.kernel.samples[i].device_ns *= 2;
    c.kernel.samples[i].wall_ns *= 2;
  }
  c.kernel.samples[7].throttle = 0x40;
  c.kernel.samples[8].throttle = 0x4;  // at the power cap, as every GPU under load
  const Ratio r = c.ratio();
  EXPECT_EQ(c.kernel.samples_set_aside, 6u);
  EXPECT_EQ(r.rounds, 42u);
  EXPECT_EQ(r.decision, SpeedDecision::same);
}

TEST(Batches, ShortKernelsAreTimedManyAtOnce) {
  EXPECT_EQ(calls_for(50e6, 10e3, 64), 1u);
  EXPECT_EQ(calls_for(1e6, 10e3, 64), 2u);
  EXPECT_EQ(calls_for(20e3, 10e3, 64), 64u);
  EXPECT_EQ(calls_for(0, 10e3, 64), 1u);
}

TEST(Batches, AreBoundedByTheDriversQueueAndByMemory) {
  EXPECT_EQ(most_calls({.launches = 1}), 256u);
  EXPECT_EQ(most_calls({.launches = 30}), 31u);
  EXPECT_EQ(most_calls({.launches = 5000}), 1u);
  EXPECT_EQ(most_calls({.slot_bytes = 8 << 20, .window_bytes = 1u << 30}), 64u);
  EXPECT_EQ(most_calls({.slot_bytes = 3ull << 30, .window_bytes = 1u << 30}), 1u);
  EXPECT_EQ(most_calls({.held = false}), 1u);
}

}  // namespace
}  // namespace fiel::judge
