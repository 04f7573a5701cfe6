#include <fmt/core.h>

#include "report/measured.h"
#include "report/page/charts.h"
#include "report/page/page.h"
#include "report/page/render.h"
#include "report/page/template.h"
#include "report/quantity.h"
#include "report/tally.h"

namespace fiel::report {
namespace {

// A page of more rows is slower to open than a CSV.
constexpr size_t kRows = 5000;

Values new_list() { return Values(Values::type::list); }

Values facts_of(const Tally& t) {
  Values facts = new_list();
  facts << fact("accepted of " + std::to_string(t.judged),
                fmt::format("{} ({})", t.accepted, share_text(t.accepted, t.judged)));
  if (t.judged < t.total) facts << fact("could not be judged", std::to_string(t.total - t.judged));
  if (t.measured == 0) {
    facts << fact("speed", "not measured");
    return facts;
  }
  facts << fact("faster", share_text(t.faster, t.judged));
  facts << fact(fmt::format("geometric mean of {}", t.measured), times_text(*t.ratio_geomean));
  for (const auto& [p, count] : t.fast)
    if (p >= 1) facts << fact(fmt::format("fast_{:g}", p), share_text(count, t.judged));
  if (t.memory_geomean)
    facts << fact(fmt::format("memory efficiency of {}", t.memory_measured),
                  times_text(*t.memory_geomean));
  return facts;
}

Values row_of(const Json& v) {
  const auto m = measured_of(v);
  Values row;
  row.set("tone", tone_of(v));
  row.set("status", shown(v["status"].as_string(), 60));
  row.set("kernel", shown(v["kernel"].as_string(), 300));
  row.set("task", shown(v["task"].as_string(), 200));
  row.set("numerics", v["numerics"].is_string() ? v["numerics"].as_string() : "-");
  row.set("ratio", m && m->headline ? ratio_text(*m->headline) + mode_suffix(*m) : "not measured");
  row.set("memory", m && m->memory_efficiency ? times_text(*m->memory_efficiency) : "");
  row.set("reason", shown(v["reason"].as_string(), 240));
  return row;
}

}  // namespace

std::string run_page(const store::RunRecord& run) {
  const Tally tally = tally_of(run);
  Values page;
  page.set("title", shown(run.header.name.empty() ? "run" : run.header.name, 200));
  page.set("state", fmt::format("{} of {} kernels judged, {}", run.verdicts.size(),
                                run.header.entries, run.header.state));
  page.set("facts", facts_of(tally));
  std::string left_out;
  for (const auto& [why, count] : tally.left_out)
    left_out += fmt::format("{}{} ({})", left_out.empty() ? "Not in the mean: " : ", ", count, why);
  page.set("left_out", left_out.empty() ? Values(false) : Values(left_out));
  Values charts = new_list();
  if (const std::string svg = speedups_chart(tally.ratios); !svg.empty())
    charts << chart("Share of kernels up to each speed-up", svg);
  if (const std::string svg = fast_chart(tally); !svg.empty())
    charts << chart("fast_p: share of kernels right and more than p times as fast", svg);
  set_list(page, "charts", charts);
  Values rows = new_list();
  std::string version;
  for (size_t i = 0; i < run.verdicts.size(); ++i) {
    if (i < kRows) rows << row_of(run.verdicts[i].verdict);
    version = run.verdicts[i].verdict["environment"]["fiel_version"].as_string();
  }
  page.set("rows", rows);
  page.set("footer", shown(run.verdicts.size() > kRows
                               ? fmt::format("the first {} rows; all: fiel export {} --format csv",
                                             kRows, run.header.name)
                               : "fiel " + version,
                           300));
  return render_page(kRunBody, page);
}

}  // namespace fiel::report
