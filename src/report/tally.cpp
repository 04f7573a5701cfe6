#include "report/tally.h"

#include <fmt/core.h>

#include <cmath>

#include "report/measured.h"

namespace fiel::report {
namespace {

std::optional<double> geomean(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  double sum = 0;
  for (double v : values) sum += std::log(v);
  return std::exp(sum / static_cast<double>(values.size()));
}

std::string why_left_out(const std::optional<Measured>& m) {
  if (!m) return "speed not measured";
  if (!m->headline) return m->ratios.empty() ? "no baseline was timed" : "no comparable baseline";
  return "";
}

Json number_or_null(const std::optional<double>& v) { return v ? Json(*v) : Json(); }

}  // namespace

Tally tally_of(const store::RunRecord& run) {
  Tally t;
  std::vector<double> memory;
  for (const store::Evidence& e : run.verdicts) {
    const Json& v = e.verdict;
    ++t.total;
    ++t.statuses[v["status"].as_string()];
    const int64_t code = v["exit_code"].as_int(3);
    if (code != 0 && code != 1) continue;
    ++t.judged;
    if (!v["accepted"].as_bool()) continue;
    ++t.accepted;
    t.faster += v["speed"].as_string() == "faster" ? 1 : 0;
    const auto m = measured_of(v);
    const std::string why = why_left_out(m);
    if (!why.empty())
      ++t.left_out[why];
    else
      t.ratios.push_back(m->headline->value);
    if (m && m->memory_efficiency) memory.push_back(*m->memory_efficiency);
  }
  t.measured = t.ratios.size();
  for (double p : kFastThresholds) {
    size_t beyond = 0;
    for (double r : t.ratios) beyond += r > p ? 1 : 0;
    // fast_0 is the share of right kernels, timed or not.
    t.fast.emplace_back(p, p == 0 ? t.accepted : beyond);
  }
  t.ratio_geomean = geomean(t.ratios);
  t.memory_geomean = geomean(memory);
  t.memory_measured = memory.size();
  return t;
}

std::string share_text(size_t part, size_t whole) {
  if (whole == 0) return "-";
  return fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string render(const Tally& t) {
  std::string text = fmt::format("{} of {} kernels accepted", t.accepted, t.judged);
  if (t.judged > 0) text += fmt::format(" ({})", share_text(t.accepted, t.judged));
  if (t.judged < t.total) text += fmt::format("; {} could not be judged", t.total - t.judged);
  text += "\n";
  std::string rest;
  for (const auto& [status, count] : t.statuses)
    if (status != "correct")
      rest += fmt::format("{}{} {}", rest.empty() ? "" : ", ", count, status);
  if (!rest.empty()) text += "  " + rest + "\n";
  if (t.measured > 0) {
    text +=
        fmt::format("  faster    {} ({})\n  fast_p   ", t.faster, share_text(t.faster, t.judged));
    for (const auto& [p, count] : t.fast)
      text += fmt::format(" {:g}: {} ", p, share_text(count, t.judged));
    text +=
        fmt::format("\n  speed-up  {:.2f}x geometric mean of {}\n", *t.ratio_geomean, t.measured);
    for (const auto& [why, count] : t.left_out)
      text += fmt::format("            without {}: {}\n", count, why);
  } else if (t.accepted > 0) {
    text += "  speed was not measured\n";
  }
  if (t.memory_geomean)
    text += fmt::format(
        "  memory    {:.2f}x of the baseline's peak per peak of the kernel, "
        "geometric mean of {}\n",
        *t.memory_geomean, t.memory_measured);
  return text;
}

Json to_json(const Tally& t) {
  Json j = Json::object();
  j["kernels"] = t.total;
  j["judged"] = t.judged;
  j["accepted"] = t.accepted;
  j["faster"] = t.faster;
  j["measured"] = t.measured;
  j["statuses"] = Json::object();
  for (const auto& [status, count] : t.statuses) j["statuses"][status] = count;
  j["fast_p"] = Json::object();
  for (const auto& [p, count] : t.fast)
    j["fast_p"][fmt::format("{:g}", p)] =
        t.judged == 0 ? Json() : Json(static_cast<double>(count) / static_cast<double>(t.judged));
  j["ratio_geomean"] = number_or_null(t.ratio_geomean);
  j["left_out"] = Json::object();
  for (const auto& [why, count] : t.left_out) j["left_out"][why] = count;
  j["memory_efficiency_geomean"] = number_or_null(t.memory_geomean);
  j["memory_measured"] = t.memory_measured;
  return j;
}

}  // namespace fiel::report
