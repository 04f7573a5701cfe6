#include "judge/speed.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "judge/timing.h"

namespace fiel::judge {
namespace {

bool within(double baseline, double kernel, double rounding, double near_tie) {
  if (!std::isfinite(baseline)) return false;
  return baseline <= near_tie * std::max(kernel, rounding);
}

/// Peak of the pipe that the kernel's accuracy allows it to have used for products.
double product_rate(const Calibration& c, NumericsClass numerics) {
  // A kernel of fp32's class may have used tensor cores with split operands (three products).
  const double split = std::max(c.tf32_flops / 3, c.bf16_flops / 3);
  switch (numerics) {
    case NumericsClass::fp64:
      return c.fp32_flops;
    case NumericsClass::fp32:
      return std::max(c.fp32_flops, split);
    case NumericsClass::tf32:
      // One scaled fp16 product has TF32's error.
      return std::max({c.tf32_flops, c.fp16_flops, c.fp32_flops});
    default:
      return std::max({c.tf32_flops, c.fp16_flops, c.bf16_flops, c.fp32_flops});
  }
}

double quotient(double work, double rate) { return work > 0 && rate > 0 ? 1e9 * work / rate : 0; }

bool clears(const Ratio& r) { return r.low > 1 + kRewardMargin && std::isfinite(r.high); }

/// The kernel beats every comparable ratio of that name by the margin, and there is one.
bool beats(const Measurement& m, bool compiled) {
  bool any = false;
  for (const Ratio& r : m.ratios) {
    if (!r.comparable || (r.against != "eager") != compiled) continue;
    if (!clears(r)) return false;
    any = true;
  }
  return any;
}

const TimedSide* side_of(const Measurement& m, const Ratio& r) {
  for (const TimedSide& s : m.sides)
    if (s.name == r.against && s.policy == r.policy) return &s;
  return nullptr;
}

}  // namespace

bool comparable(const std::vector<ProbeError>& kernel, const std::vector<ProbeError>& baseline,
                double rounding, double near_tie) {
  for (const ProbeError& k : kernel)
    for (const ProbeError& b : baseline) {
      if (k.probe != b.probe) continue;
      if (!within(b.relative_rms, k.relative_rms, rounding, near_tie)) return false;
      if (!within(b.componentwise, k.componentwise, rounding, near_tie)) return false;
    }
  return true;
}

std::optional<Floor> floor_of(const TaskWork& work, const Calibration& c, NumericsClass numerics,
                              double kernel_ns) {
  if (c.copy_bytes_per_s <= 0) return std::nullopt;
  Floor f;
  f.bytes = work.bytes;
  f.operations = work.fp32 + work.tf32able + work.fp16 + work.bf16;
  f.memory_ns = quotient(work.bytes, c.copy_bytes_per_s);
  f.arithmetic_ns = quotient(work.tf32able, product_rate(c, numerics)) +
                    quotient(work.fp16, std::max(c.fp16_flops, c.fp32_flops)) +
                    quotient(work.bf16, std::max(c.bf16_flops, c.fp32_flops));
  f.launch_ns = c.launch_ns;
  f.floor_ns = std::max({f.memory_ns, f.arithmetic_ns, f.launch_ns});
  f.bound_by = f.floor_ns == f.memory_ns       ? "memory"
               : f.floor_ns == f.arithmetic_ns ? "arithmetic"
                                               : "launch";
  if (kernel_ns > 0) f.light_share = f.floor_ns / kernel_ns;
  return f;
}

void choose_headline(Measurement& m) {
  m.headline.reset();
  double fastest = 0;
  for (size_t i = 0; i < m.ratios.size(); ++i) {
    const TimedSide* side = side_of(m, m.ratios[i]);
    const bool timed = side != nullptr && side->median_ns > 0;
    if (!m.ratios[i].comparable || m.ratios[i].cached || !timed) continue;
    if (m.headline && side->median_ns >= fastest) continue;
    m.headline = i;
    fastest = side->median_ns;
  }
  m.reward = 1;
  if (!m.headline) {
    m.speed = SpeedDecision::not_measured;
    if (m.why.empty()) m.why = "no baseline is as accurate as the kernel and was timed";
    return;
  }
  const Ratio& headline = m.ratios[*m.headline];
  m.speed = headline.decision;
  if (m.speed == SpeedDecision::ambiguous && !std::isfinite(headline.high))
    m.why = fmt::format("{} rounds are too few for an interval", headline.rounds);
  else if (m.speed == SpeedDecision::ambiguous)
    m.why = fmt::format("the interval {:.3f} .. {:.3f} of {} rounds lies over a border",
                        headline.low, headline.high, headline.rounds);
  if (!beats(m, false)) return;
  m.reward = beats(m, true) ? 3 : 2;
}

std::string impossible_time(const Measurement& m, bool cold) {
  if (!m.floor || m.sides.empty() || m.sides.front().median_ns <= 0) return {};
  const double time = m.sides.front().median_ns;
  const auto need = [&](double floor_ns, const char* of) -> std::string {
    if (time >= kImpossibleShare * floor_ns) return {};
    return fmt::format("{} a call is less than the {} that the device needs for its {} alone",
                       format_duration_ns(time), format_duration_ns(floor_ns), of);
  };
  std::string why = cold ? need(m.floor->memory_ns, "memory") : "";
  if (why.empty()) why = need(m.floor->arithmetic_ns, "arithmetic");
  return why.empty() ? need(m.floor->launch_ns, "launch") : why;
}

}  // namespace fiel::judge
