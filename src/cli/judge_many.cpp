#include "cli/judge_many.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>

#include "base/text.h"
#include "cli/progress.h"
#include "cli/run_exports.h"
#include "cli/run_keeper.h"
#include "cli/source_text.h"
#include "cli/stop_rule.h"
#include "report/samples.h"
#include "report/tally.h"
#include "report/terminal.h"

namespace fiel::cli {
namespace {

using Clock = std::chrono::steady_clock;

/// The worst of several: what could not be judged outweighs what was judged and refused.
int combined_exit_code(const store::RunRecord& run) {
  bool refused = false, unable = false, nothing = false;
  for (const store::Evidence& e : run.verdicts) {
    const int64_t code = e.verdict["exit_code"].as_int(3);
    refused |= code == 1;
    unable |= code == 3;
    nothing |= code == 5;
  }
  return unable ? 3 : refused ? 1 : nothing || run.verdicts.empty() ? 5 : 0;
}

/// A pair of many that could not even be begun, so that the others are judged.
judge::Verdict fault(const JudgePair& pair, const Error& error) {
  judge::Verdict v;
  v.status = judge::VerdictStatus::harness_fault;
  v.reason = printable(to_string(error), 2000);
  v.task = v.task_file = pair.task;
  v.kernel = pair.kernel;
  return v;
}

class Batch {
 public:
  Batch(const JudgePlan& plan, const JudgePairFunction& judge, RunKeeper& keeper,
        const Context& context)
      : plan_(plan),
        judge_(judge),
        keeper_(keeper),
        context_(context),
        line_(context),
        json_(plan.arguments.has("--json")),
        lines_(plan.arguments.has("--jsonl")),
        rule_(std::chrono::seconds(
            unsigned_value(plan.arguments, "--stop-after", 0, 1'000'000'000).value_or(0))) {}

  Status judge_all();
  Result<int> finish();

 private:
  Status judge_place(size_t place);
  bool interrupted() const { return context_.interrupted && context_.interrupted(); }
  void show(size_t place, const judge::Progress& p);
  void print(const judge::Verdict& v, const Json& json) const;
  store::RunRecord record() const;
  void print_all(const store::RunRecord& run) const;

  const JudgePlan& plan_;
  const JudgePairFunction& judge_;
  RunKeeper& keeper_;
  const Context& context_;
  StatusLine line_;
  const bool json_, lines_;
  const Clock::time_point begin_ = Clock::now();
  StopRule rule_;
  size_t judged_ = 0;  ///< by this call
  bool stopped_ = false;
  std::map<size_t, store::Evidence> new_;
};

Status Batch::judge_all() {
  std::vector<size_t> order = plan_.order;
  if (order.empty())
    for (size_t place = 0; place < plan_.pairs.size(); ++place) order.push_back(place);
  for (const size_t place : order) {
    if (plan_.done.contains(place)) continue;
    stopped_ = interrupted() || !rule_.fits_another(Clock::now() - begin_);
    if (stopped_) return {};
    const Status status = judge_place(place);
    if (status) continue;
    stopped_ = status.error().code == ErrorCode::interrupted;
    return stopped_ && plan_.several ? Status() : status;
  }
  return {};
}

Status Batch::judge_place(size_t place) {
  const JudgePair& pair = plan_.pairs[place];
  store::Evidence evidence;
  evidence.place = place;
  // What cannot be read has no source in the record.
  evidence.task_source = source_text(pair.task).value_or("");
  evidence.kernel_source = source_text(pair.kernel).value_or("");
  FIEL_TRY_STATUS(keeper_.begin_entry(place));
  const Clock::time_point begin = Clock::now();
  Result<judge::Verdict> v = judge_(pair, [&](const judge::Progress& p) { show(place, p); });
  line_.clear();
  if (!v) {
    if (!plan_.campaign || v.error().code == ErrorCode::interrupted) return fail(v.error());
    v = fault(pair, v.error());
  }
  const Clock::duration took = Clock::now() - begin;
  rule_.took(took);
  ++judged_;
  evidence.judged_ms = now_ms();
  evidence.took_ms = std::chrono::duration_cast<std::chrono::milliseconds>(took).count();
  evidence.verdict = judge::to_json(*v);
  if (v->measurement) evidence.samples = report::samples_json(*v->measurement);
  print(*v, evidence.verdict);
  const Status kept = keeper_.keep(evidence);
  new_.emplace(place, std::move(evidence));
  return kept;
}

void Batch::show(size_t place, const judge::Progress& p) {
  if (!plan_.several) return line_.show(p.what, p.done, p.total);
  const size_t total = plan_.pairs.size() - plan_.done.size();
  const double inside = p.total == 0 ? 0 : static_cast<double>(p.done) / p.total;
  const double share = (static_cast<double>(judged_) + inside) / static_cast<double>(total);
  const std::string what = fmt::format("{} of {}: {}", place + 1, plan_.pairs.size(), p.what);
  line_.show(what, static_cast<uint32_t>(10'000 * share), 10'000);
}

void Batch::print(const judge::Verdict& v, const Json& json) const {
  if (lines_) return context_.print(json.dump() + "\n");
  if (json_) return;
  const report::TerminalStyle style{context_.color_out, plan_.arguments.has("-v")};
  context_.print(plan_.several ? report::render_line(v, style) : report::render(v, style));
}

store::RunRecord Batch::record() const {
  store::RunRecord run;
  run.header.name = keeper_.name();
  run.header.begun_ms = keeper_.begun_ms();
  run.header.entries = plan_.pairs.size();
  run.header.state = stopped_ ? "stopped" : "done";
  run.entries = plan_.pairs;
  std::map<size_t, const store::Evidence*> all;
  for (const auto& [place, evidence] : plan_.done) all[place] = &evidence;
  for (const auto& [place, evidence] : new_) all[place] = &evidence;
  for (const auto& [place, evidence] : all) run.verdicts.push_back(*evidence);
  return run;
}

void Batch::print_all(const store::RunRecord& run) const {
  if (!plan_.several) {
    if (json_ && !run.verdicts.empty()) context_.print_json(run.verdicts.front().verdict);
    return;
  }
  const report::Tally tally = report::tally_of(run);
  if (lines_) return context_.story(report::render(tally));
  if (!json_) return context_.print("\n" + report::render(tally));
  Json j = Json::object();
  j["schema_version"] = judge::kSchemaVersion;
  j["run"] = run.header.name;
  j["summary"] = report::to_json(tally);
  j["verdicts"] = Json::array();
  for (const store::Evidence& e : run.verdicts) j["verdicts"].push_back(e.verdict);
  context_.print_json(j);
}

Result<int> Batch::finish() {
  keeper_.end(stopped_ ? "stopped" : "done");
  const store::RunRecord run = record();
  print_all(run);
  FIEL_TRY_STATUS(write_exports(plan_.arguments, run, context_));
  const std::string& name = run.header.name;
  if (stopped_ && plan_.several)
    context_.story(fmt::format("fiel: stopped after {} of {} kernels{}\n", run.verdicts.size(),
                               plan_.pairs.size(),
                               name.empty() ? "" : "; go on with: fiel judge --resume " + name));
  else if (plan_.several && !name.empty() && !json_)
    context_.story(fmt::format("fiel: kept as {}; see it with: fiel report {}\n", name, name));
  if (stopped_) return 130;
  const int code = combined_exit_code(run);
  return plan_.arguments.has("--exit-zero") && code == 1 ? 0 : code;
}

}  // namespace

Result<int> judge_many(const JudgePlan& plan, const JudgePairFunction& judge,
                       const Context& context) {
  if (plan.pairs.empty()) {
    context.story("fiel: there is no kernel to judge in what was named\n");
    return 5;
  }
  FIEL_TRY(RunKeeper keeper, RunKeeper::begin(plan, context));
  Batch batch(plan, judge, keeper, context);
  const Status status = batch.judge_all();
  if (status) return batch.finish();
  keeper.end("stopped");
  return fail(status.error());
}

}  // namespace fiel::cli
