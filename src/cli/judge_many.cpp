#include "cli/judge_many.h"

#include <fmt/core.h>

#include <algorithm>

#include "cli/kernel_files.h"
#include "cli/progress.h"
#include "report/terminal.h"

namespace fiel::cli {
namespace {

/// The worst of several: what could not be judged outweighs what was judged and refused.
int combined_exit_code(const std::vector<judge::Verdict>& verdicts) {
  bool refused = false, unable = false, nothing = false;
  for (const judge::Verdict& v : verdicts) {
    const int code = judge::exit_code_of(v);
    refused |= code == 1;
    unable |= code == 3;
    nothing |= code == 5;
  }
  return unable ? 3 : refused ? 1 : nothing || verdicts.empty() ? 5 : 0;
}

void print_json(const Context& context, const std::vector<judge::Verdict>& verdicts, bool many) {
  if (!many) {
    context.print_json(judge::to_json(verdicts.front()));
    return;
  }
  Json j = Json::object();
  j["schema_version"] = judge::kSchemaVersion;
  j["verdicts"] = Json::array();
  for (const judge::Verdict& v : verdicts) j["verdicts"].push_back(judge::to_json(v));
  context.print_json(j);
}

std::string summary(const std::vector<judge::Verdict>& verdicts) {
  const auto accepted = std::count_if(verdicts.begin(), verdicts.end(), [](const auto& v) {
    return v.status == judge::VerdictStatus::correct;
  });
  return fmt::format("\n{} of {} kernels accepted\n", accepted, verdicts.size());
}

}  // namespace

Result<Arguments> with_flags_of_run(const Arguments& arguments) { return arguments; }

Result<JudgePlan> plan_judgements(const Arguments& arguments) {
  JudgePlan plan{.arguments = arguments};
  if (arguments.positional.size() < 2)
    return fail(ErrorCode::usage, "'fiel judge' needs a task and at least one kernel",
                "fiel judge tasks/softmax.toml examples/softmax/online.cu");
  FIEL_TRY(const KernelFiles files,
           find_kernels({arguments.positional.begin() + 1, arguments.positional.end()}));
  plan.several = files.several;
  for (const std::string& path : files.paths)
    plan.pairs.push_back({arguments.positional.front(), path});
  return plan;
}

Result<int> judge_many(const JudgePlan& plan, const JudgePairFunction& judge,
                       const Context& context) {
  if (plan.pairs.empty()) {
    context.story("fiel: there is no .cu to judge in what was named\n");
    return 5;
  }
  const bool json = plan.arguments.has("--json");
  std::vector<judge::Verdict> verdicts;
  StatusLine line(context);
  const ProgressFunction progress = [&](const judge::Progress& p) {
    line.show(p.what, p.done, p.total);
  };
  for (const JudgePair& pair : plan.pairs) {
    FIEL_TRY(judge::Verdict v, judge(pair, progress));
    line.clear();
    const report::TerminalStyle style{context.color_out, plan.arguments.has("-v")};
    if (!json)
      context.print(plan.several ? report::render_line(v, style) : report::render(v, style));
    verdicts.push_back(std::move(v));
    if (context.interrupted && context.interrupted()) break;
  }
  if (json) print_json(context, verdicts, plan.several);
  if (!json && plan.several) context.print(summary(verdicts));
  if (context.interrupted && context.interrupted()) return 130;
  const int code = combined_exit_code(verdicts);
  return plan.arguments.has("--exit-zero") && code == 1 ? 0 : code;
}

std::vector<Flag> judge_many_flags() {
  return {{"--exit-zero", "", "exit code 0 also for kernels that are not accepted"}, kJsonFlag};
}

}  // namespace fiel::cli
