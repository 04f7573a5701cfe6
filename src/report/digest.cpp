#include "report/digest.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "report/measured.h"
#include "report/quantity.h"
#include "report/tally.h"

namespace fiel::report {
namespace {

constexpr size_t kShown = 30;

std::string painted(bool color, const char* code, const std::string& text) {
  return color ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
}

std::string kernel_line(const store::Evidence& e, const TerminalStyle& style) {
  const Json& v = e.verdict;
  const int64_t code = v["exit_code"].as_int(3);
  const std::string status = fmt::format("{:<16}", v["status"].as_string());
  std::string speed = "-";
  if (const auto m = measured_of(v); m && m->headline)
    speed = ratio_text(*m->headline) + " of " + m->headline->against + mode_suffix(*m);
  return fmt::format("  {} {:<6} {:<32} {}  {}\n",
                     painted(style.color,
                             code == 0   ? "32"
                             : code == 1 ? "31"
                                         : "33",
                             status),
                     v["numerics"].is_string() ? v["numerics"].as_string() : "-",
                     printable(speed, 60), printable(v["kernel"].as_string(), 200),
                     painted(style.color, "2", printable(v["reason"].as_string(), 160)));
}

}  // namespace

std::string digest(const store::RunRecord& run, const TerminalStyle& style) {
  std::string text = fmt::format("{}  {} of {} judged, {}\n\n", printable(run.header.name, 200),
                                 run.verdicts.size(), run.header.entries, run.header.state);
  text += render(tally_of(run)) + "\n";
  std::vector<const store::Evidence*> order;
  for (const store::Evidence& e : run.verdicts) order.push_back(&e);
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return !a->verdict["accepted"].as_bool() && b->verdict["accepted"].as_bool();
  });
  size_t shown = 0;
  for (const store::Evidence* e : order) {
    if (!style.verbose && shown == kShown) {
      text += fmt::format("  … {} more with -v\n", order.size() - shown);
      break;
    }
    text += kernel_line(*e, style);
    ++shown;
  }
  return text;
}

}  // namespace fiel::report
