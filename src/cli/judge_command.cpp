// fiel judge: is this kernel right? One verdict a kernel, with evidence.
#include <fmt/core.h>
#include <sys/random.h>

#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "cli/command.h"
#include "cli/kernel_files.h"
#include "cli/progress.h"
#include "judge/judge.h"
#include "report/terminal.h"
#include "task/task.h"

namespace fiel::cli {
namespace {

Result<uint64_t> choose_seed(const Arguments& arguments) {
  if (arguments.has("--seed")) return unsigned_value(arguments, "--seed", 0, UINT64_MAX);
  uint64_t seed = 0;
  // Secret until the verdict is out: a kernel cannot know the inputs it will be given.
  if (getrandom(&seed, sizeof seed, 0) != sizeof seed)
    return fail(ErrorCode::io, "the system gives no random seed", "choose one with --seed");
  return seed;
}

Result<judge::JudgeRequest> request_of(const Arguments& arguments, const Context& context) {
  judge::JudgeRequest request;
  FIEL_TRY(request.options.seed, choose_seed(arguments));
  FIEL_TRY(const std::string device, word_value(arguments, "--device", {"virtual"}, "virtual"));
  FIEL_TRY(const std::string protocol, word_value(arguments, "--protocol", {"strict"}, "strict"));
  FIEL_TRY(const std::string effort,
           word_value(arguments, "--budget", {"quick", "standard", "thorough"}, "standard"));
  request.options.effort = effort == "quick"      ? judge::Effort::quick
                           : effort == "standard" ? judge::Effort::standard
                                                  : judge::Effort::thorough;
  FIEL_TRY(const std::string numerics,
           word_value(arguments, "--numerics", {"fp32", "tf32", "any"}, "tf32"));
  request.options.numerics = numerics == "fp32"   ? judge::NumericsPolicy::fp32
                             : numerics == "tf32" ? judge::NumericsPolicy::tf32
                                                  : judge::NumericsPolicy::any;
  FIEL_TRY(const uint64_t seconds, unsigned_value(arguments, "--timeout", 60, 86'400));
  request.options.call_timeout_ms = static_cast<int64_t>(std::max<uint64_t>(seconds, 1)) * 1000;
  if (const auto shapes = arguments.value("--shapes"))
    for (std::string_view name : split(*shapes, ','))
      if (!trim(name).empty()) request.options.shapes.emplace_back(trim(name));
  if (arguments.has("--require-isolation")) request.isolation.required = sandbox::Level::namespaces;
  request.options.interrupted = context.interrupted;
  return request;
}

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

Result<int> run(const Arguments& arguments, const Context& context) {
  if (arguments.positional.size() < 2)
    return fail(ErrorCode::usage, "'fiel judge' needs a task and at least one kernel",
                "fiel judge tasks/softmax.toml examples/softmax/online.cu");
  FIEL_TRY(judge::JudgeRequest request, request_of(arguments, context));
  FIEL_TRY(const task::Task task, task::load_task(arguments.positional[0]));
  FIEL_TRY(const KernelFiles files,
           find_kernels({arguments.positional.begin() + 1, arguments.positional.end()}));
  if (files.paths.empty()) {
    context.story("fiel: there is no .cu to judge in what was named\n");
    return 5;
  }
  const bool many = files.several, json = arguments.has("--json");
  std::vector<judge::Verdict> verdicts;
  StatusLine line(context);
  request.options.progress = [&](const judge::Progress& p) { line.show(p.what, p.done, p.total); };
  for (const std::string& path : files.paths) {
    FIEL_TRY(judge::Verdict v, judge::judge_kernel(task, path, request));
    line.clear();
    const report::TerminalStyle style{context.color_out, arguments.has("-v")};
    if (!json) context.print(many ? report::render_line(v, style) : report::render(v, style));
    verdicts.push_back(std::move(v));
    if (context.interrupted && context.interrupted()) break;
  }
  if (json) print_json(context, verdicts, many);
  if (!json && many) context.print(summary(verdicts));
  if (context.interrupted && context.interrupted()) return 130;
  const int code = combined_exit_code(verdicts);
  return arguments.has("--exit-zero") && code == 1 ? 0 : code;
}

}  // namespace

Command judge_command() {
  return {
      {"judge",
       "TASK KERNEL...",
       "is this kernel right? one verdict each, with evidence",
       {{"--device", "NAME", "where it runs: virtual (PTX on the CPU)"},
        {"--protocol", "NAME", "probes and rules: strict"},
        {"--shapes", "A,B", "only these shape sets of the task"},
        {"--seed", "N", "replay a verdict; otherwise drawn in secret"},
        {"--budget", "NAME", "work per kernel: quick, standard, thorough"},
        {"--numerics", "NAME", "class an f32 task accepts: fp32, tf32 (default), any"},
        {"--timeout", "SECONDS", "wall-clock limit of one call (60)"},
        {"--require-isolation", "", "judge only inside the full sandbox"},
        {"--exit-zero", "", "exit code 0 also for kernels that are not accepted"},
        kJsonFlag,
        {"-v", "", "every finding, and what isolation was in force"}},
       "A KERNEL is a .cu that defines fiel_run (fiel/kernel.h), or a folder of them. The judge\n"
       "goes on after each. Speed is not measured on the virtual device."},
      run};
}

}  // namespace fiel::cli
