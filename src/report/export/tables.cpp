// JSON, CSV and Markdown: one row a kernel.
#include <fmt/core.h>

#include <cmath>

#include "report/export.h"
#include "report/foreign_text.h"
#include "report/measured.h"
#include "report/quantity.h"
#include "report/tally.h"

namespace fiel::report {
namespace {

constexpr size_t kCell = 300;

struct Speed {
  std::string word, why, mode, suffix;
  std::optional<MeasuredRatio> headline;
  std::optional<double> kernel_ns, memory_efficiency, own_share;
};

Speed speed_of(const Json& verdict) {
  Speed s;
  s.word = verdict["speed"].as_string();
  if (const auto m = measured_of(verdict)) {
    s.headline = m->headline;
    s.why = m->why;
    if (!m->sides.empty()) s.kernel_ns = m->sides.front().median_ns;
    if (s.kernel_ns) s.mode = timing_mode(m->sides.front());
    if (s.kernel_ns) s.suffix = mode_suffix(*m);
    s.memory_efficiency = m->memory_efficiency;
    s.own_share = m->own_share;
  }
  return s;
}

std::string cell(const std::optional<double>& v) { return v ? fmt::format("{:.6g}", *v) : ""; }

}  // namespace

std::string to_json_document(const store::RunRecord& run) {
  Json j = Json::object();
  j["schema_version"] = 1;
  j["run"] = run.header.name;
  j["begun_ms"] = run.header.begun_ms;
  j["entries"] = run.header.entries;
  j["summary"] = to_json(tally_of(run));
  j["verdicts"] = Json::array();
  for (const store::Evidence& e : run.verdicts) j["verdicts"].push_back(e.verdict);
  return j.dump(2) + "\n";
}

std::string to_csv(const store::RunRecord& run) {
  std::string text =
      "task,kernel,problem,sample,status,accepted,reward,numerics,speed,ratio,ratio_low,ratio_high,"
      "against,policy,timing,kernel_median_ns,memory_efficiency,own_share,device,judge_ms,"
      "reason\r\n";
  for (const store::Evidence& e : run.verdicts) {
    const Json& v = e.verdict;
    const Speed s = speed_of(v);
    const store::Entry entry = e.place < run.entries.size() ? run.entries[e.place] : store::Entry{};
    const auto field = [](std::string_view t) { return csv_field(t, 4096); };
    text +=
        fmt::format("{},{},{},{},", field(v["task"].as_string()), field(v["kernel"].as_string()),
                    field(entry.problem), entry.sample ? std::to_string(*entry.sample) : "");
    const auto reward = reward_of(v);
    text += fmt::format("{},{},{},{},{},", v["status"].as_string(), v["accepted"].as_bool(),
                        reward ? std::to_string(*reward) : "", v["numerics"].as_string(), s.word);
    const auto& h = s.headline;
    text += h ? fmt::format("{:.6g},{:.6g},{:.6g},{},{},", h->value, h->low, h->high,
                            field(h->against), field(h->policy))
              : ",,,,,";
    text += fmt::format("{},{},{},{},{},{},{}\r\n", s.mode, cell(s.kernel_ns),
                        cell(s.memory_efficiency), cell(s.own_share),
                        field(v["device"].as_string()), e.took_ms, field(v["reason"].as_string()));
  }
  return text;
}

std::string to_markdown(const store::RunRecord& run) {
  const Tally tally = tally_of(run);
  std::string text = fmt::format("# Fiel: {}\n\n```\n{}```\n\n",
                                 markdown_cell(run.header.name, kCell), render(tally));
  text +=
      "| kernel | task | verdict | reward | numerics | speed-up | why |\n"
      "|---|---|---|---|---|---|---|\n";
  for (const store::Evidence& e : run.verdicts) {
    const Json& v = e.verdict;
    const Speed s = speed_of(v);
    const std::string ratio = s.headline ? ratio_text(*s.headline) + " of " +
                                               markdown_cell(s.headline->against, kCell) + s.suffix
                                         : "not measured";
    const auto reward = reward_of(v);
    text += fmt::format("| {} | {} | {}{}{} | {} | {} | {} | {} |\n",
                        markdown_cell(v["kernel"].as_string(), kCell),
                        markdown_cell(v["task"].as_string(), kCell),
                        v["accepted"].as_bool() ? "" : "**", v["status"].as_string(),
                        v["accepted"].as_bool() ? "" : "**", reward ? std::to_string(*reward) : "-",
                        v["numerics"].is_null() ? "-" : v["numerics"].as_string(), ratio,
                        markdown_cell(v["reason"].as_string(), kCell));
  }
  return text;
}

}  // namespace fiel::report
