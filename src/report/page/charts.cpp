#include "report/page/charts.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "report/page/svg.h"
#include "report/quantity.h"

namespace fiel::report {
namespace {

constexpr double kLeft = 38, kRight = 350;

std::string series(size_t i) { return fmt::format("s{}", i % 6); }

void x_axis(Drawing& d, const Axis& x, double top, double bottom, std::string (*label)(double)) {
  double last = -100;
  for (double t : x.ticks()) {
    d.line(x.at(t), top, x.at(t), bottom, "grid");
    // Labels that would touch are left out.
    if (x.at(t) - last < 44) continue;
    last = x.at(t);
    // At the right edge a centred label would be cut.
    if (x.at(t) > kRight - 14)
      d.text(kChartWidth - 2, bottom + 13, "end", "tick", label(t));
    else
      d.text(x.at(t), bottom + 13, "middle", "tick", label(t));
  }
}

std::string ns_label(double ns) { return time_text(ns); }
std::string share_label(double v) { return fmt::format("{:.0f} %", 100 * v); }

std::string side_label(const std::string& name, const std::string& policy) {
  return policy.empty() ? name : name + " " + policy;
}

double median_of(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + static_cast<long>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

/// Deterministic jitter, so that equal samples do not hide each other.
double jitter(size_t i) { return static_cast<double>((i * 7919) % 9) - 4; }

}  // namespace

std::string samples_chart(const std::vector<SideSamples>& sides) {
  std::vector<const SideSamples*> shown;
  double low = 1e300, high = 0;
  for (const SideSamples& s : sides) {
    if (s.credited_ns.empty() || shown.size() == 6) continue;
    shown.push_back(&s);
    for (double v : s.credited_ns) low = std::min(low, v), high = std::max(high, v);
  }
  if (shown.empty()) return "";
  const double ecdf_top = 8, ecdf_bottom = 118, strip = 26;
  const double bottom = ecdf_bottom + 8 + strip * static_cast<double>(shown.size());
  Drawing d(bottom + 20);
  const Axis x = Axis::logarithmic(low, high, kLeft, kRight);
  x_axis(d, x, ecdf_top, bottom, ns_label);
  for (double share : {0.0, 0.5, 1.0}) {
    const double y = ecdf_bottom - share * (ecdf_bottom - ecdf_top);
    d.line(kLeft, y, kRight, y, "grid");
    d.text(kLeft - 4, y + 4, "end", "tick", share_label(share));
  }
  for (size_t i = 0; i < shown.size(); ++i) {
    std::vector<double> v = shown[i]->credited_ns;
    const double middle = ecdf_bottom + 10 + strip * (static_cast<double>(i) + 0.5);
    for (size_t k = 0; k < v.size(); ++k)
      d.dot(x.at(v[k]), middle + jitter(k), 1.6, series(i) + " faint");
    const double median = median_of(v);
    const std::string name = side_label(shown[i]->name, shown[i]->policy);
    d.line(x.at(median), middle - 8, x.at(median), middle + 8, series(i) + " thick");
    const bool left_half = x.at(median) < (kLeft + kRight) / 2;
    d.text(left_half ? kRight : kLeft, middle + 4, left_half ? "end" : "start", "name " + series(i),
           name + "  " + time_text(median));
    std::sort(v.begin(), v.end());
    std::vector<std::pair<double, double>> points{{x.at(v.front()), ecdf_bottom}};
    for (size_t k = 0; k < v.size(); ++k) {
      const double share = static_cast<double>(k + 1) / static_cast<double>(v.size());
      points.emplace_back(x.at(v[k]), points.back().second);
      points.emplace_back(x.at(v[k]), ecdf_bottom - share * (ecdf_bottom - ecdf_top));
    }
    d.path(points, series(i) + " curve");
  }
  return d.svg("samples of each side");
}

std::string ratios_chart(const std::vector<MeasuredRatio>& ratios) {
  if (ratios.empty()) return "";
  double low = 1, high = 1;
  for (const MeasuredRatio& r : ratios) low = std::min(low, r.low), high = std::max(high, r.high);
  const double row = 34, bottom = 8 + row * static_cast<double>(ratios.size());
  Drawing d(bottom + 20);
  const Axis x = Axis::logarithmic(std::min(low, 0.9), std::max(high, 1.1), 14, kRight - 8);
  x_axis(d, x, bottom - 4, bottom, times_text);
  for (size_t i = 0; i < ratios.size(); ++i) {
    const MeasuredRatio& r = ratios[i];
    const double y = 8 + row * static_cast<double>(i) + 22;
    const std::string css = !r.comparable ? "off"
                            : r.low > 1   ? "good"
                            : r.high < 1  ? "bad"
                                          : "even";
    d.text(10, y - 9, "start", "name",
           side_label(r.against, r.policy) + "  " + ratio_text(r) +
               (r.comparable ? "" : "  less accurate") + (r.cached ? "  cached" : ""));
    d.line(x.at(1), y - 5, x.at(1), y + 5, "thick");
    d.line(10, y, kRight - 8, y, "grid");
    d.line(x.at(r.low), y, x.at(r.high), y, css + " thick");
    d.dot(x.at(r.value), y, 4, css, ratio_text(r));
  }
  return d.svg("speed-up against each baseline");
}

std::string errors_chart(const Json& probes) {
  std::vector<std::pair<std::string, double>> rows;
  for (const Json& p : probes.items()) {
    if (p["calls_compared"].as_int() == 0) continue;
    const std::string& name = p["probe"].as_string();
    // A ratio that JSON cannot hold (NaN, infinity) is beyond every bound.
    const double ratio = p["worst_ratio"].is_number() ? p["worst_ratio"].as_double() : HUGE_VAL;
    const auto found =
        std::find_if(rows.begin(), rows.end(), [&](const auto& r) { return r.first == name; });
    if (found == rows.end())
      rows.emplace_back(name, ratio);
    else
      found->second = std::max(found->second, ratio);
  }
  if (rows.empty()) return "";
  const double row = 19, left = 104, bottom = 6 + row * static_cast<double>(rows.size());
  Drawing d(bottom + 20);
  const Axis x = Axis::linear(0, 1.2, left, kRight);
  for (double t : {0.0, 0.5, 1.0}) {
    d.line(x.at(t), 4, x.at(t), bottom, t == 1.0 ? "one" : "grid");
    d.text(x.at(t), bottom + 13, "middle", "tick", t == 1.0 ? "bound" : share_label(t));
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto& [name, ratio] = rows[i];
    const double y = 6 + row * static_cast<double>(i);
    const bool over = !(ratio <= 1);
    d.text(left - 6, y + 13, "end", "name", name);
    d.rect(left, y + 3, (over ? x.at(1.2) : x.at(ratio)) - left, row - 7, over ? "bad" : "good");
    d.text((over ? x.at(1.2) : x.at(ratio)) + 4, y + 13, "start", "tick",
           over ? "over" : share_label(ratio));
  }
  return d.svg("largest error of each probe as a share of its bound");
}

std::string memory_chart(const Measured& m) {
  if (!m.kernel_peak_bytes || !m.baseline_peak_bytes) return "";
  Drawing d(92);
  const Axis x = Axis::linear(0, std::max(*m.kernel_peak_bytes, *m.baseline_peak_bytes), 8, kRight);
  const auto bar = [&](double y, const char* name, double peak, double kept, const char* css) {
    d.text(8, y + 10, "start", "name",
           fmt::format("{}  {} at its peak, {} kept", name, bytes_text(peak),
                       kept > 0 ? bytes_text(kept) : "0 B"));
    d.rect(8, y + 15, x.at(peak) - 8, 12, std::string(css) + " faint");
    d.rect(8, y + 15, x.at(kept) - 8, 12, css);
  };
  bar(6, "kernel", *m.kernel_peak_bytes, m.kernel_persistent_bytes.value_or(0), "s0");
  bar(48, "baseline", *m.baseline_peak_bytes, m.baseline_persistent_bytes.value_or(0), "s1");
  return d.svg("device memory");
}

std::string roofline_chart(const Measured& m) {
  if (m.sides.empty() || !m.sides.front().median_ns || !m.bytes || !m.operations || !m.memory_ns)
    return "";
  const double ns = *m.sides.front().median_ns;
  const double intensity = *m.operations / *m.bytes, achieved = *m.operations / ns;
  const double bandwidth = *m.bytes / *m.memory_ns;
  // Without operations worth a ceiling only the slope is known.
  const double peak =
      m.arithmetic_ns ? *m.operations / *m.arithmetic_ns : bandwidth * intensity * 10;
  const double ridge = peak / bandwidth;
  const double x_low = std::min(intensity, ridge) / 8, x_high = std::max(intensity, ridge) * 8;
  const double top = 8, bottom = 188;
  Drawing d(bottom + 34);
  const Axis x = Axis::logarithmic(x_low, x_high, kLeft + 14, kRight);
  const Axis y =
      Axis::logarithmic(std::min(achieved, bandwidth * x_low) / 1.5, peak * 2, bottom, top);
  const auto flops = [](double per_ns) {
    return per_ns >= 1000 ? fmt::format("{:g} T", per_ns / 1000) : fmt::format("{:g} G", per_ns);
  };
  x_axis(d, x, top, bottom, [](double v) { return fmt::format("{:g}", v); });
  for (double t : y.ticks()) {
    d.line(kLeft + 14, y.at(t), kRight, y.at(t), "grid");
    d.text(kLeft + 10, y.at(t) + 4, "end", "tick", flops(t));
  }
  d.path({{x.at(x_low), y.at(bandwidth * x_low)}, {x.at(ridge), y.at(peak)}}, "roof");
  if (m.arithmetic_ns) d.path({{x.at(ridge), y.at(peak)}, {x.at(x_high), y.at(peak)}}, "roof");
  const double ceiling = std::min(peak, bandwidth * intensity);
  d.line(x.at(intensity), y.at(ceiling), x.at(intensity), y.at(achieved), "one");
  d.dot(x.at(intensity), y.at(achieved), 5, "s0", "kernel");
  const bool left_half = x.at(intensity) < 200;
  d.text(x.at(intensity) + (left_half ? 9 : -9), y.at(achieved) + 4, left_half ? "start" : "end",
         "name s0", fmt::format("kernel: {:.0f} % of the ceiling", 100 * achieved / ceiling));
  d.text((kLeft + 14 + kRight) / 2, bottom + 28, "middle", "tick",
         "operations a byte; upward: operations a second");
  return d.svg("roofline");
}

std::string speedups_chart(std::vector<double> ratios) {
  if (ratios.empty()) return "";
  std::sort(ratios.begin(), ratios.end());
  const double top = 8, bottom = 178;
  Drawing d(bottom + 22);
  const Axis x = Axis::logarithmic(std::min(ratios.front(), 0.9), std::max(ratios.back(), 1.1),
                                   kLeft, kRight - 6);
  x_axis(d, x, top, bottom, times_text);
  for (double share : {0.0, 0.5, 1.0}) {
    const double y = bottom - share * (bottom - top);
    d.line(kLeft, y, kRight, y, "grid");
    d.text(kLeft - 4, y + 4, "end", "tick", share_label(share));
  }
  d.line(x.at(1), top, x.at(1), bottom, "one");
  std::vector<std::pair<double, double>> points{{x.at(ratios.front()), bottom}};
  for (size_t i = 0; i < ratios.size(); ++i) {
    const double share = static_cast<double>(i + 1) / static_cast<double>(ratios.size());
    points.emplace_back(x.at(ratios[i]), points.back().second);
    points.emplace_back(x.at(ratios[i]), bottom - share * (bottom - top));
  }
  d.path(points, "s0 curve");
  for (size_t i = 0; i < ratios.size() && ratios.size() <= 400; ++i)
    d.dot(x.at(ratios[i]), points[2 * i + 2].second, 2.4, ratios[i] > 1 ? "good" : "bad",
          times_text(ratios[i]));
  return d.svg("share of kernels up to each speed-up");
}

std::string fast_chart(const Tally& tally) {
  if (tally.ratios.empty() || tally.judged == 0) return "";
  const double top = 8, bottom = 178;
  Drawing d(bottom + 34);
  const Axis x = Axis::linear(0, 3, kLeft, kRight - 6);
  x_axis(d, x, top, bottom, [](double v) { return fmt::format("{:g}", v); });
  for (double share : {0.0, 0.5, 1.0}) {
    const double y = bottom - share * (bottom - top);
    d.line(kLeft, y, kRight, y, "grid");
    d.text(kLeft - 4, y + 4, "end", "tick", share_label(share));
  }
  std::vector<std::pair<double, double>> points;
  for (int i = 0; i <= 120; ++i) {
    const double p = 0.025 * i;
    size_t beyond = 0;
    for (double r : tally.ratios) beyond += r > p ? 1 : 0;
    const double share = static_cast<double>(beyond) / static_cast<double>(tally.judged);
    points.emplace_back(x.at(p), bottom - share * (bottom - top));
  }
  d.path(points, "s0 curve");
  for (const auto& [p, count] : tally.fast) {
    const double share = static_cast<double>(count) / static_cast<double>(tally.judged);
    d.dot(x.at(p), bottom - share * (bottom - top), 3.5, "s0",
          fmt::format("fast_{:g}: {}", p, share_text(count, tally.judged)));
  }
  d.text((kLeft + kRight) / 2, bottom + 28, "middle", "tick",
         "p: right, and more than p times as fast");
  return d.svg("fast_p");
}

}  // namespace fiel::report
