#include "cli/gpu_profile.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "cli/pair_judging.h"
#include "cli/profiled_call.h"
#include "judge/environment.h"
#include "judge/shapes.h"
#include "judge/torch/gpu_turn.h"
#include "report/counted.h"
#include "report/terminal_speed.h"
#include "task/torch_task.h"
#include "worker/counted_run.h"

namespace fiel::cli {
namespace {

namespace fs = std::filesystem;

struct Counted {
  std::vector<report::CountedLaunch> launches;
  std::string shapes;
  std::string why_not;  ///< where there are none
  std::string said;     ///< by nvcc, ncu and the program, the last lines
};

/// Counters that this GPU does not have are left out from then on.
Result<Counted> count(worker::CountedRun run, const Context& context) {
  // Counting replays launches: nobody's clock may run meanwhile.
  FIEL_TRY(auto turn, judge::torch::GpuTurn::open(cache_dir() / "gpu", run.place.device_uuid,
                                                  context.interrupted));
  FIEL_TRY_STATUS(turn.live(judge::torch::Share::shared));
  FIEL_TRY_STATUS(turn.take(judge::torch::Share::exclusive));
  Counted counted;
  for (int tries = 0; tries < 3; ++tries) {
    FIEL_TRY(const worker::CountedOutput out, worker::counted_run(run));
    counted.launches = report::read_counted(out.text);
    counted.why_not = report::why_not_counted(out.text);
    counted.said = report::last_words(out.text);
    if (!out.stopped.empty()) counted.why_not = "ncu was stopped: " + out.stopped;
    const auto unknown = report::unknown_metrics(out.text, run.metrics);
    if (!counted.launches.empty() || unknown.empty()) break;
    std::erase_if(run.metrics, [&](const std::string& m) {
      return std::find(unknown.begin(), unknown.end(), m) != unknown.end();
    });
  }
  return counted;
}

/// The call that is counted: of the shapes that are named, else that are timed, else of all, the
/// first.
Result<task::ShapeSet> counted_shape(const task::Task& task, const Arguments& arguments) {
  FIEL_TRY(const std::vector<task::ShapeSet> sets, profiled_shapes(task, arguments));
  if (sets.empty()) return fail(ErrorCode::usage, "there is no such shape set");
  const auto timed = std::find_if(task.shape_sets.begin(), task.shape_sets.end(),
                                  [](const task::ShapeSet& s) { return s.benchmark; });
  const bool named = arguments.has("--shapes");
  return named || timed == task.shape_sets.end() ? sets.front() : *timed;
}

Result<Counted> count_bare(const Arguments& arguments, const Context& context,
                           worker::CountedRun run) {
  FIEL_TRY(const task::Task task, task::load_task(arguments.positional[0]));
  FIEL_TRY(const uint64_t seed, unsigned_value(arguments, "--seed", 1, UINT64_MAX));
  FIEL_TRY(const task::ShapeSet set, counted_shape(task, arguments));
  FIEL_TRY(const task::Instance at, task.instantiate(set));
  FIEL_TRY(const std::vector<Tensor> inputs, profiled_inputs(at, seed));
  FIEL_TRY(const TempDir folder, TempDir::create("fiel-call"));
  run.call = folder.path() / "call";
  FIEL_TRY_STATUS(save_call(run.call, at, inputs));
  run.program = folder.path() / "program";
  std::error_code error;
  fs::create_directory(run.program, error);
  for (const fs::path& p : {folder.path(), run.call, run.program})
    fs::permissions(p, static_cast<fs::perms>(0755), error);
  FIEL_TRY(const worker::CountedOutput built, worker::build_counted(run));
  const std::string said = report::last_words(built.text);
  if (!built.stopped.empty()) return Counted{{}, {}, "nvcc was stopped: " + built.stopped, said};
  if (built.exit_code != 0)
    return Counted{{}, {}, "the kernel does not compile: compile says why", said};
  FIEL_TRY(Counted counted, count(run, context));
  counted.shapes = judge::to_string(set.symbols);
  return counted;
}

Result<Counted> count_module(const Arguments& arguments, const Context& context,
                             worker::CountedRun run) {
  FIEL_TRY_STATUS(task::load_torch_task(arguments.positional[0]).map([](auto&&) {}));
  FIEL_TRY(run.place.python, worker::find_python(arguments.value("--python").value_or("")));
  run.place.task = arguments.positional[0];
  return count(run, context);
}

Result<Counted> count_on(const device::DeviceName& device, const Arguments& arguments,
                         const Context& context) {
  const auto none = [](std::string why) { return Counted{{}, {}, std::move(why), {}}; };
  const fs::path task = arguments.positional[0], kernel = arguments.positional[1];
  const bool torch = task.extension() == ".py";
  if (kernel.extension() != (torch ? ".py" : ".cu"))
    return none("counted are bare kernels of native tasks and modules of PyTorch tasks");
  const auto ncu = worker::find_ncu(worker::ncu_places());
  if (!ncu) return none("there is no ncu (on PATH, in CUDA_HOME/bin, in /opt/nvidia)");
  judge::Environment environment;
  FIEL_TRY(const device::GpuInfo gpu, judge::describe_gpu(device, environment));
  worker::CountedRun run;
  run.place.device = device::to_string(device);
  run.place.device_uuid = gpu.uuid;
  run.place.candidate = kernel;
  run.ncu = *ncu;
  run.arch = "sm_" + gpu.architecture();
  run.metrics = report::counted_metrics();
  auto counted =
      torch ? count_module(arguments, context, run) : count_bare(arguments, context, run);
  if (!counted && counted.error().code == ErrorCode::environment)
    return none(to_string(counted.error()));
  return counted;
}

/// What `fiel judge` measures: one entry for both.
Result<int> measured_instead(const Arguments& arguments, const Context& context) {
  Arguments words = arguments;
  for (const char* flag : {"--json", "--save-inputs"}) words.flags.erase(flag);
  words.flags["--budget"] = "quick";
  FIEL_TRY(PairJudging judging, PairJudging::create(words, context));
  JudgePair pair;
  pair.task = arguments.positional[0];
  pair.kernel = arguments.positional[1];
  FIEL_TRY(const judge::Verdict v, judging.judge(pair, {}));
  if (v.status != judge::VerdictStatus::correct)
    context.print("nothing was measured: the kernel is not right, verify says why\n");
  else if (!v.measurement || v.measurement->sides.empty())
    context.print(fmt::format("nothing was measured{}\n",
                              v.measurement ? ": " + printable(v.measurement->why, 300) : ""));
  else
    context.print(report::render_measurement(*v.measurement));
  return 0;
}

}  // namespace

Result<int> profile_on_gpu(const Arguments& arguments, const Context& context,
                           const device::DeviceName& device) {
  FIEL_TRY(const Counted counted, count_on(device, arguments, context));
  if (arguments.has("--json")) {
    Json j = Json::object({{"schema_version", 1}, {"kind", "counted"}});
    j["shapes"] = counted.shapes;
    j["why_not"] = counted.launches.empty() ? Json(counted.why_not) : Json();
    if (counted.launches.empty()) j["output"] = counted.said;
    j["launches"] = report::counted_json(counted.launches);
    context.print_json(j);
    return 0;
  }
  if (counted.launches.empty()) {
    context.print(fmt::format("not counted: {}\n", printable(counted.why_not, 300)));
    if (!counted.said.empty())
      context.print(fmt::format("the last that was printed:\n\n{}\n", counted.said));
    context.print("measured by the judge instead:\n");
    return measured_instead(arguments, context);
  }
  context.print(
      fmt::format("counted by ncu, beside the kernel in its sandbox: for you, no "
                  "evidence{}{}\n\n",
                  counted.shapes.empty() ? "" : "; ", counted.shapes));
  context.print(report::counted_text(counted.launches));
  return 0;
}

}  // namespace fiel::cli
