#include "report/page/svg.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "report/foreign_text.h"

namespace fiel::report {
namespace {

std::string title_of(std::string_view title) {
  return title.empty() ? "" : fmt::format("<title>{}</title>", xml_text(title, 300));
}

}  // namespace

Axis Axis::linear(double low, double high, double from, double to) {
  Axis a;
  if (!(high > low)) high = low + 1;
  const double raw = (high - low) / 4;
  const double decade = std::pow(10, std::floor(std::log10(raw)));
  const double step = raw / decade > 5   ? 10 * decade
                      : raw / decade > 2 ? 5 * decade
                      : raw / decade > 1 ? 2 * decade
                                         : decade;
  a.low_ = std::floor(low / step) * step;
  a.high_ = std::ceil(high / step) * step;
  a.from_ = from;
  a.to_ = to;
  const int steps = static_cast<int>(std::lround((a.high_ - a.low_) / step));
  for (int i = 0; i <= std::min(steps, 20); ++i) a.ticks_.push_back(a.low_ + i * step);
  return a;
}

Axis Axis::logarithmic(double low, double high, double from, double to) {
  Axis a;
  a.log_ = true;
  a.from_ = from;
  a.to_ = to;
  if (!(high > low * 1.02)) low *= 0.99, high *= 1.01;
  const double margin = std::pow(high / low, 0.04);
  a.low_ = low / margin;
  a.high_ = high * margin;
  if (a.high_ / a.low_ < 5) {
    // Less than a decade: round numbers at equal steps say more than 1, 2, 5.
    const Axis even = linear(a.low_, a.high_, 0, 1);
    for (double t : even.ticks())
      if (t > a.low_ && t < a.high_) a.ticks_.push_back(t);
    return a;
  }
  const int first = static_cast<int>(std::floor(std::log10(a.low_)));
  const int last = static_cast<int>(std::ceil(std::log10(a.high_)));
  const int every = std::max((last - first) / 8, 1);
  for (int d = first; d <= last; d += every)
    for (double m : {1.0, 2.0, 5.0}) {
      const double t = m * std::pow(10, d);
      if (t >= a.low_ && t <= a.high_ && (last - first <= 3 || m == 1.0)) a.ticks_.push_back(t);
    }
  return a;
}

double Axis::at(double value) const {
  double share = log_ ? std::log(std::max(value, 1e-300) / low_) / std::log(high_ / low_)
                      : (value - low_) / (high_ - low_);
  share = std::isfinite(share) ? std::clamp(share, 0.0, 1.0) : 1.0;
  return from_ + share * (to_ - from_);
}

void Drawing::line(double x1, double y1, double x2, double y2, std::string_view css) {
  body_ +=
      fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"{}\"/>",
                  x1, y1, x2, y2, css);
}
void Drawing::rect(double x, double y, double width, double height, std::string_view css,
                   std::string_view title) {
  body_ += fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" class=\"{}\">{}</rect>",
      x, y, std::max(width, 0.0), std::max(height, 0.0), css, title_of(title));
}
void Drawing::dot(double x, double y, double radius, std::string_view css, std::string_view title) {
  body_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" class=\"{}\">{}</circle>",
                       x, y, radius, css, title_of(title));
}
void Drawing::path(const std::vector<std::pair<double, double>>& points, std::string_view css) {
  std::string d;
  for (const auto& [x, y] : points)
    d += fmt::format("{}{:.1f} {:.1f}", d.empty() ? "M" : "L", x, y);
  body_ += fmt::format("<path d=\"{}\" class=\"{}\"/>", d, css);
}
void Drawing::text(double x, double y, std::string_view anchor, std::string_view css,
                   std::string_view words) {
  body_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" class=\"{}\">{}</text>",
                       x, y, anchor, css, xml_text(words, 200));
}
std::string Drawing::svg(std::string_view label) const {
  return fmt::format("<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\">{}</svg>",
                     kChartWidth, height_, xml_text(label, 300), body_);
}

}  // namespace fiel::report
