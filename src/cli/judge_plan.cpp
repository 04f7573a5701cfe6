// Which pairs a command line, a manifest or an earlier run asks for.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <tuple>

#include "base/text.h"
#include "cli/judge_many.h"
#include "cli/kernel_files.h"
#include "cli/pairing.h"
#include "cli/run_exports.h"
#include "cli/run_flags.h"
#include "cli/source_text.h"

namespace fiel::cli {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kCouldNotJudge = 3;

Result<store::RunRecord> resumed_run(const std::string& name) {
  FIEL_TRY(store::Store store, store::Store::open_existing({}));
  FIEL_TRY(const store::RunHeader header, store.find(name));
  return store.load(header, store::Detail::verdicts);
}

// Paths were given where the run began.
std::string from_here(const std::string& folder, const std::string& path) {
  std::error_code error;
  if (fs::path(path).is_absolute() || fs::current_path(error) == fs::path(folder)) return path;
  return (fs::path(folder) / path).string();
}

/// What a run knows of an entry, in the order in which the entries are judged again.
enum class Earlier : uint8_t { unknown, interrupted, not_judged, judged };

/// A fault of the machine says nothing about the kernel, and a file that has changed is another.
Earlier look_back(const JudgePair& pair, const store::Evidence& e) {
  if (e.verdict["exit_code"].as_int(kCouldNotJudge) == kCouldNotJudge) return Earlier::not_judged;
  if (is_unchanged(pair.task, e.task_digest) && is_unchanged(pair.kernel, e.kernel_digest))
    return Earlier::judged;
  return pair.begun_ms > e.judged_ms ? Earlier::interrupted : Earlier::unknown;
}

/// New ones first: a judgement that ends every piece of a run, or that no machine can do, keeps
/// none of the others waiting. Of those that were tried, what was tried longest ago.
std::vector<size_t> order_of(const std::vector<JudgePair>& pairs,
                             const std::map<size_t, Earlier>& earlier) {
  std::vector<std::tuple<Earlier, int64_t, size_t>> left;
  for (size_t place = 0; place < pairs.size(); ++place) {
    const auto known = earlier.find(place);
    const int64_t begun_ms = pairs[place].begun_ms;
    const Earlier e = known != earlier.end() ? known->second
                      : begun_ms > 0         ? Earlier::interrupted
                                             : Earlier::unknown;
    if (e != Earlier::judged) left.emplace_back(e, e == Earlier::unknown ? 0 : begun_ms, place);
  }
  std::sort(left.begin(), left.end());
  std::vector<size_t> order;
  for (const auto& [e, begun_ms, place] : left) order.push_back(place);
  return order;
}

Result<JudgePlan> plan_of_run(const Arguments& arguments) {
  if (!arguments.positional.empty())
    return fail(ErrorCode::usage, "'--resume' takes task and kernels from the run",
                "fiel judge --resume RUN");
  FIEL_TRY(store::RunRecord run, resumed_run(*arguments.value("--resume")));
  JudgePlan plan{.several = run.entries.size() > 1, .arguments = arguments};
  for (JudgePair& entry : run.entries) {
    entry.task = from_here(run.header.folder, entry.task);
    entry.kernel = from_here(run.header.folder, entry.kernel);
    plan.campaign |= entry.task != run.entries.front().task;
  }
  plan.pairs = std::move(run.entries);
  std::map<size_t, Earlier> earlier;
  for (store::Evidence& e : run.verdicts) {
    if (e.place >= plan.pairs.size()) continue;
    const Earlier found = look_back(plan.pairs[e.place], e);
    earlier[e.place] = found;
    if (found == Earlier::judged) plan.done.emplace(e.place, std::move(e));
  }
  plan.order = order_of(plan.pairs, earlier);
  return plan;
}

Result<JudgePlan> plan_of_many(const Arguments& arguments, const Context& context) {
  JudgePlan plan{.several = true, .campaign = true, .arguments = arguments};
  if (!arguments.positional.empty())
    return fail(ErrorCode::usage, "name tasks and kernels either by flags or by place, not both");
  if (const auto manifest = arguments.value("--manifest")) {
    FIEL_TRY(plan.pairs, read_manifest(*manifest));
    return plan;
  }
  if (!arguments.has("--tasks") || !arguments.has("--kernels"))
    return fail(ErrorCode::usage, "'--tasks' and '--kernels' go together",
                "fiel judge --tasks 'KernelBench/level1' --kernels runs/mine");
  FIEL_TRY(Pairing pairing, pair_files(*arguments.value("--tasks"), *arguments.value("--kernels")));
  if (!pairing.unpaired.empty())
    context.story(fmt::format("fiel: {} kernels belong to none of the tasks, the first is {}\n",
                              pairing.unpaired.size(), printable(pairing.unpaired.front(), 300)));
  plan.pairs = std::move(pairing.entries);
  return plan;
}

}  // namespace

Result<Arguments> with_flags_of_run(const Arguments& arguments) {
  const auto name = arguments.value("--resume");
  if (!name) return arguments;
  FIEL_TRY(store::Store store, store::Store::open_existing({}));
  FIEL_TRY(const store::RunHeader header, store.find(*name));
  return with_words(arguments, header.words);
}

Result<JudgePlan> plan_judgements(const Arguments& arguments, const Context& context) {
  FIEL_TRY(const uint64_t seconds, unsigned_value(arguments, "--stop-after", 0, 1'000'000'000));
  static_cast<void>(seconds);
  FIEL_TRY_STATUS(check_exports(arguments));
  if (arguments.has("--resume")) return plan_of_run(arguments);
  if (arguments.has("--tasks") || arguments.has("--kernels") || arguments.has("--manifest"))
    return plan_of_many(arguments, context);
  if (arguments.positional.size() < 2)
    return fail(ErrorCode::usage, "'fiel judge' needs a task and at least one kernel",
                "fiel judge tasks/softmax.toml examples/softmax/online.cu");
  const std::string& task = arguments.positional.front();
  FIEL_TRY(const KernelFiles files,
           find_kernels({arguments.positional.begin() + 1, arguments.positional.end()},
                        fs::path(task).extension() == ".py"));
  JudgePlan plan{.several = files.several, .arguments = arguments};
  for (const std::string& path : files.paths) plan.pairs.push_back(entry_of(task, path));
  return plan;
}

std::vector<Flag> judge_many_flags() {
  return {
      {"--tasks", "GLOB", "many tasks: a folder or a quoted glob, paired with --kernels by name"},
      {"--kernels", "GLOB", "their kernels: a folder or a quoted glob"},
      {"--manifest", "FILE", "pairs as JSON lines: {\"task\": …, \"kernel\": …}"},
      {"--run", "NAME", "the name of this run in the store"},
      {"--resume", "RUN", "go on with a run that was stopped or killed ('last')"},
      {"--stop-after", "SECONDS", "end between two kernels, to be resumed (exit code 130)"},
      {"--no-store", "", "keep no evidence ('fiel runs' lists what is kept)"},
      {"--export", "FORMAT=FILE,...", "also write it for other programs ('fiel help export')"},
      {"--exit-zero", "", "exit code 0 also for kernels that are not accepted"},
      kJsonFlag,
      {"--jsonl", "", "one verdict a line on stdout, as soon as it is reached"}};
}

const char* const kJudgeManyHelp =
    "\nMany: --tasks and --kernels are paired by KernelBench's names (level1/23_Softmax.py and\n"
    "level_1_problem_23_sample_0_kernel.py), else a kernel belongs to the task that has its stem "
    "or\n"
    "its folder's name; --manifest says it outright. A run goes on where it was: --resume RUN.";

}  // namespace fiel::cli
