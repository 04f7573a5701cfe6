// Charts as SVG text: an axis, a drawing, numbers with a fixed number of digits.
//
//   Drawing d(200);  const Axis x = Axis::logarithmic(1, 100, 40, 350);
//   d.line(x.at(1), 10, x.at(1), 190, "grid");  std::string svg = d.svg("speed-ups");
//
// 360 units wide: a phone's column at its own size, two or three beside each other on a desk.
// Colours are classes, set by the page for light and dark. The same data gives the same bytes.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fiel::report {

inline constexpr double kChartWidth = 360;

class Axis {
 public:
  /// `from` and `to` are where low and high are drawn; a linear axis ends at round numbers, a
  /// logarithmic one leaves a margin.
  static Axis linear(double low, double high, double from, double to);
  static Axis logarithmic(double low, double high, double from, double to);
  double at(double value) const;  ///< clamped to the axis
  const std::vector<double>& ticks() const { return ticks_; }

 private:
  double low_ = 0, high_ = 1, from_ = 0, to_ = 1;
  bool log_ = false;
  std::vector<double> ticks_;
};

class Drawing {
 public:
  explicit Drawing(double height) : height_(height) {}
  void line(double x1, double y1, double x2, double y2, std::string_view css);
  void rect(double x, double y, double width, double height, std::string_view css,
            std::string_view title = {});
  void dot(double x, double y, double radius, std::string_view css, std::string_view title = {});
  void path(const std::vector<std::pair<double, double>>& points, std::string_view css);
  /// anchor: "start", "middle", "end"
  void text(double x, double y, std::string_view anchor, std::string_view css,
            std::string_view words);
  std::string svg(std::string_view label) const;

 private:
  double height_;
  std::string body_;
};

}  // namespace fiel::report
