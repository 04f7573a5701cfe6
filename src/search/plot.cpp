#include "search/plot.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "report/page/svg.h"

namespace fiel::search {
namespace {

constexpr double kHeight = 230, kLeft = 52, kRight = 348, kTop = 34, kBottom = 190;

struct Cost {
  std::string unit;
  std::function<double(const Candidate&)> of;
};

/// Money where prices were given, else tokens, else the judge's own time.
Cost cost_of(const History& history) {
  const auto any = [&](auto&& has) { return std::any_of(history.begin(), history.end(), has); };
  if (any([](const Candidate& c) { return c.spent.cost > 0; }))
    return {"cost, in the currency of --prices", [](const Candidate& c) { return c.spent.cost; }};
  if (any([](const Candidate& c) { return c.spent.input_tokens + c.spent.output_tokens > 0; }))
    return {"thousand tokens", [](const Candidate& c) {
              return static_cast<double>(c.spent.input_tokens + c.spent.output_tokens) / 1e3;
            }};
  return {"seconds of judging on this machine",
          [](const Candidate& c) { return static_cast<double>(c.outcome.judge_ms) / 1e3; }};
}

Measure measure_of(const History& history) {
  for (const Candidate& c : history)
    if (c.outcome.correct() && c.outcome.measure != Measure::nothing) return c.outcome.measure;
  return Measure::nothing;
}

const char* axis_words(Measure measure) {
  switch (measure) {
    case Measure::speed_up:
      return "speed-up of right kernels (measured)";
    case Measure::stand_in:
      return "stand-in: least bytes / counted work (virtual GPU, not a time)";
    case Measure::nothing:
      return "right kernels, as a share of those judged";
  }
  return "";
}

struct Dot {
  double x, y;
  bool correct;
  std::string title;
};
struct Curve {
  std::vector<Dot> dots;
  std::vector<std::pair<double, double>> best;  ///< steps, in units of the axes
};

/// x of each kernel is what was spent when it had been judged.
Curve curve_of(const History& history, Measure measure,
               const std::function<double(const Candidate&)>& spent) {
  Curve curve;
  double x = 0, best = 0;
  size_t right = 0;
  for (const Candidate& c : history) {
    x += spent(c);
    right += c.outcome.correct();
    const double share = static_cast<double>(right) / static_cast<double>(c.number);
    const double y = measure == Measure::nothing ? share : c.outcome.score;
    curve.dots.push_back(
        {x, y, c.outcome.correct(), fmt::format("{}: {} {}", c.number, c.outcome.status, c.note)});
    if (measure == Measure::nothing) {
      curve.best.emplace_back(x, share);
      continue;
    }
    if (!c.outcome.correct() || c.outcome.score <= best) continue;
    if (!curve.best.empty()) curve.best.emplace_back(x, best);
    best = c.outcome.score;
    curve.best.emplace_back(x, best);
  }
  if (measure != Measure::nothing && !curve.best.empty()) curve.best.emplace_back(x, best);
  return curve;
}

std::string panel(const Curve& curve, Measure measure, const std::string& x_words,
                  const std::string& title) {
  report::Drawing d(kHeight);
  double high = measure == Measure::nothing ? 1 : 0, most = 0;
  for (const Dot& dot : curve.dots) {
    most = std::max(most, dot.x);
    if (dot.correct) high = std::max(high, dot.y);
  }
  if (high == 0) high = 1;
  const report::Axis x = report::Axis::linear(0, most > 0 ? most : 1, kLeft, kRight);
  const report::Axis y = report::Axis::linear(0, high, kBottom, kTop);
  for (double t : y.ticks()) {
    d.line(kLeft, y.at(t), kRight, y.at(t), "grid");
    d.text(kLeft - 5, y.at(t) + 3, "end", "label", fmt::format("{:.3g}", t));
  }
  for (double t : x.ticks())
    d.text(x.at(t), kBottom + 14, "middle", "label", fmt::format("{:.4g}", t));
  if (measure == Measure::speed_up) d.line(kLeft, y.at(1), kRight, y.at(1), "one");
  std::vector<std::pair<double, double>> line;
  for (const auto& [at, value] : curve.best) line.emplace_back(x.at(at), y.at(value));
  if (line.size() > 1) d.path(line, "best");
  for (const Dot& dot : curve.dots)
    d.dot(x.at(dot.x), dot.correct ? y.at(dot.y) : kBottom, 2.5, dot.correct ? "right" : "wrong",
          dot.title);
  d.text(kLeft, 14, "start", "title", title);
  d.text(kLeft, 26, "start", "label", axis_words(measure));
  d.text((kLeft + kRight) / 2, kBottom + 30, "middle", "label", x_words);
  return d.svg(title + " against " + x_words);
}

/// A chart of a page as a part of a larger drawing.
std::string placed(std::string svg, double at_x) {
  return fmt::format("<svg x=\"{:.0f}\" y=\"0\" width=\"{:.0f}\" height=\"{:.0f}\"{}", at_x,
                     report::kChartWidth, kHeight, svg.substr(4));
}

constexpr const char* kStyle =
    "text{font:9px sans-serif;fill:#333}.title{font-weight:bold}.grid{stroke:#ddd}"
    ".one{stroke:#999;stroke-dasharray:3 2}.best{stroke:#1f6fb2;fill:none;stroke-width:1.5}"
    ".right{fill:#1f6fb2;opacity:.6}.wrong{fill:#c0392b;opacity:.7}";

}  // namespace

std::string plot(const History& history, const std::string& title) {
  const Measure measure = measure_of(history);
  const Cost cost = cost_of(history);
  const std::string kernels =
      panel(curve_of(history, measure, [](const Candidate&) { return 1.0; }), measure,
            "judged kernels (red: wrong)", title);
  const std::string spent = panel(curve_of(history, measure, cost.of), measure, cost.unit, title);
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
      "height=\"{1:.0f}\"><style>{2}</style><rect width=\"100%\" height=\"100%\" "
      "fill=\"#fff\"/>{3}{4}</svg>\n",
      2 * report::kChartWidth, kHeight, kStyle, placed(kernels, 0),
      placed(spent, report::kChartWidth));
}

}  // namespace fiel::search
