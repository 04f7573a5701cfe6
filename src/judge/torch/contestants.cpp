#include "judge/torch/contestants.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <thread>

#include "base/text.h"
#include "judge/probe_inputs.h"
#include "judge/time_limit.h"
#include "judge/torch/runner_side.h"
#include "judge/torch/seeds.h"
#include "judge/torch/task_check.h"

namespace fiel::judge::torch {
namespace {

/// Calls that many windows of a task may be held for at once; larger tasks share one set.
constexpr uint64_t kSharedWindowsBytes = 256ull << 20;
constexpr const char* kSharedWindows = "baselines";
constexpr Use kCallWindows[] = {Use::inputs, Use::outputs, Use::other_inputs, Use::other_outputs};

bool has_output_of(const worker::OpenedTask& task, std::string_view dtype) {
  return std::any_of(task.outputs.begin(), task.outputs.end(),
                     [&](const worker::Leaf& leaf) { return leaf.dtype == dtype; });
}

/// What a policy casts to; empty for one that casts nothing.
std::string narrow_dtype(std::string_view policy) {
  return policy == "bf16" ? "bfloat16" : policy == "fp16" ? "float16" : "";
}

Contestant named(const std::string& name, const std::string& policy) {
  Contestant c;
  c.side.name = name;
  c.side.policy = policy;
  c.trusted = true;
  c.windows = name + " " + policy;
  return c;
}

Contestant unavailable(const std::string& name, const std::string& policy, std::string why) {
  Contestant c = named(name, policy);
  c.drop(std::move(why));
  return c;
}

/// Started on this thread, with which it ends.
Contestant started(const TorchRequest& request, const Workers& workers, const std::string& name,
                   const std::string& policy) {
  Contestant c = named(name, policy);
  auto process = workers.baseline(policy);
  if (!process) {
    c.drop(to_string(process.error()));
    return c;
  }
  c.own =
      std::make_unique<RunnerSide>(std::move(*process), request.torch_device(), workers.give_back);
  c.runner = c.own.get();
  return c;
}

void load(Contestant& c, const TorchRequest& request) {
  if (!c.present()) return;
  RunnerSettings s;
  s.kind = "reference";
  s.path = s.task_path = request.task_path;
  s.policy = c.side.policy;
  s.compile = c.side.name == "eager" ? "none" : c.side.name == "compile" ? "default" : c.side.name;
  s.mode = request.mode;
  s.init_seed = init_seed(request.options.seed);
  s.load_timeout_ms = request.load_timeout_ms;
  s.call_timeout_ms = request.load_timeout_ms;         // the first call compiles
  auto& runner = static_cast<RunnerSide&>(*c.runner);  // of started()
  if (const auto loaded = runner.load(s); !loaded) c.drop(loaded.error());
}

/// One thread a side: they wait for processes that import and compile side by side.
void at_once(std::vector<Contestant>& all, const std::function<void(Contestant&)>& work) {
  std::vector<std::jthread> threads;
  for (Contestant& c : all)
    if (c.trusted && c.present()) threads.emplace_back([&] { work(c); });
}

struct Asked {
  Input input;
  worker::Answer<Called> called;
};

CallOptions options_of(TorchCourse& course, const Case& c) {
  CallOptions options;
  options.probe = c.probe;
  options.shape_set = shape_set_of(c);
  const JudgeOptions& judging = course.request().options;
  options.timeout_ms = within_limit(judging, judging.call_timeout_ms);
  return options;
}

/// Weights and inputs for one side. False: it is out of the race.
Result<bool> give(TorchCourse& course, Contestant& side, const Case& c, Asked& asked) {
  OracleSide& oracle = course.oracle();
  FIEL_TRY(const OracleSide::WeightsAt weights, oracle.weights(c, side.windows));
  if (weights.any) {
    if (const auto taken = side.runner->take(weights); !taken) {
      side.drop(taken.error());
      return false;
    }
  }
  FIEL_TRY(asked.input, oracle.place(c, {}, side.windows));
  return true;
}

/// The errors of its answer; a call that failed leaves the side out.
Status compare(TorchCourse& course, Contestant& side, const Case& c, const Asked& asked) {
  if (!asked.called) {
    side.drop(asked.called.error());
    return {};
  }
  if (asked.called->seen.fault) {
    side.drop(asked.called->seen.fault->reason);
    return {};
  }
  FIEL_TRY(const worker::Verified seen,
           course.oracle().verify(c, asked.called->answer.outputs, NumericsClass::tf32));
  Errors errors;
  for (const worker::Comparison& v : seen.outputs)
    errors.take({parse_numerics(v.numerics_class).value_or(NumericsClass::below), v.relative_rms,
                 v.componentwise});
  side.worst.take(errors);
  side.errors.push_back(
      {std::string(judge::name_of(c.probe)), errors.relative_rms, errors.componentwise});
  return {};
}

Status compare_one(TorchCourse& course, Contestant& side, const Case& c) {
  if (!side.present()) return {};
  Asked asked;
  FIEL_TRY(const bool given, give(course, side, c, asked));
  if (!given) return {};
  asked.called = side.runner->call(asked.input, options_of(course, c));
  return compare(course, side, c, asked);
}

/// What the first calls of compiled sides compile, for a minute: all of them at once, and while
/// others have the GPU, since nothing runs.
Status build_all(TorchCourse& course, std::vector<Contestant>& all, const Case& c) {
  std::map<Contestant*, Asked> asked;
  for (Contestant& side : all) {
    if (!side.trusted || !side.present()) continue;
    Asked& a = asked[&side];
    FIEL_TRY(const bool given, give(course, side, c, a));
    if (!given) asked.erase(&side);
  }
  FIEL_TRY_STATUS(course.poll("building the baselines"));
  GpuTurn& turn = course.oracle().turn();
  turn.end();
  at_once(all, [&](Contestant& side) {
    const auto at = asked.find(&side);
    if (at == asked.end()) return;
    if (const auto built = side.runner->build(at->second.input); !built) side.drop(built.error());
  });
  return turn.take(Share::shared);
}

/// Accuracy needs no windows of a side's own; timed calls do, and a large task has no room for
/// both.
void share_windows(TorchCourse& course, std::vector<Contestant>& all) {
  const worker::OpenedTask& task = course.oracle().task();
  if (task.input_bytes + task.output_bytes < kSharedWindowsBytes) return;
  for (Contestant& c : all)
    if (c.trusted) c.windows = kSharedWindows;
}

void own_windows(TorchCourse& course, std::vector<Contestant>& all) {
  drop_windows(course, all, kCallWindows);
  for (Contestant& c : all)
    if (c.windows == kSharedWindows) c.windows = c.side.name + " " + c.side.policy;
}

}  // namespace

void Contestant::drop(const worker::WorkerFault& fault) {
  out_of_memory = fault.kind == worker::Fault::memory;
  drop(fault.what);
}

void Contestant::drop(std::string reason) {
  side.unavailable = printable(reason.empty() ? "it failed" : reason, 300);
  if (own) own->spoil();
  runner = nullptr;
  own.reset();
}

void drop_windows(TorchCourse& course, std::vector<Contestant>& all, std::span<const Use> uses) {
  std::set<std::string> owners{kSharedWindows, kSharedSlots};
  for (const Contestant& c : all) owners.insert(c.windows);
  for (const Use use : uses) {
    for (const std::string& owner : owners)
      if (const auto id = course.oracle().drop_window(owner, use))
        for (Contestant& c : all)
          if (c.present()) c.runner->forget(*id);
  }
}

Policies policies_for(const TorchRequest& request, const worker::OpenedTask& task) {
  // On the CPU there is no TF32, and without products no policy changes anything: one is all.
  const bool one = request.torch_device() == "cpu" || !(task.floor.tf32able > 0);
  const std::vector<std::string> usual = {"fp32", "default", "tf32"};
  Policies p;
  for (const std::string& policy : request.policies.empty() ? usual : request.policies) {
    const std::string narrow = narrow_dtype(policy);
    if (!narrow.empty() && !has_output_of(task, narrow))
      p.left_out.push_back(fmt::format("{}: no output of the task is {}", policy, narrow));
    else if (one && narrow.empty() && policy != "default")
      p.left_out.push_back(policy + ": it changes nothing here, 'default' stands for it");
    else
      p.chosen.push_back(policy);
  }
  if (request.policies.empty()) {
    p.left_out.clear();  // nobody asked
    for (const char* policy : {"bf16", "fp16"})
      if (has_output_of(task, narrow_dtype(policy))) p.chosen.push_back(policy);
  }
  if (p.chosen.empty()) p.chosen.push_back("default");
  return p;
}

std::vector<BaselineName> baselines_for(const TorchRequest& request,
                                        const std::vector<std::string>& policies) {
  std::vector<BaselineName> names;
  for (const std::string& policy : policies)
    for (const std::string& name : request.baselines) names.push_back({name, policy});
  return names;
}

std::vector<Contestant> start_baselines(const TorchRequest& request, const OracleSide& oracle,
                                        const Workers& workers) {
  std::vector<Contestant> all;
  const std::string& no_compile = oracle.machine().no_compile;
  const auto policies = policies_for(request, oracle.task()).chosen;
  for (const BaselineName& b : baselines_for(request, policies)) {
    if (b.name == "eager" || no_compile.empty())
      all.push_back(started(request, workers, b.name, b.policy));
    else
      all.push_back(unavailable(b.name, b.policy, no_compile));
  }
  return all;
}

Contestant kernel_of(TorchCourse& course) {
  Contestant kernel;
  kernel.side.name = "kernel";
  kernel.runner = &course.candidate();
  return kernel;
}

void load_baselines(const TorchRequest& request, std::vector<Contestant>& baselines) {
  at_once(baselines, [&](Contestant& c) { load(c, request); });
}

Status compare_accuracy(TorchCourse& course, std::vector<Contestant>& all) {
  const uint64_t seed = course.request().options.seed;
  share_windows(course, all);
  bool built = false;
  const TorchRequest& request = course.request();
  const bool cheap =
      plan_by_cost(cost_facts(course.oracle()), request.options.effort, request.torch_device())
          .cheap;
  for (const Probe probe : {Probe::task_inputs, Probe::mixed_signs, Probe::scale_range}) {
    if (!cheap && probe == Probe::scale_range) break;  // seconds a side
    FIEL_TRY_STATUS(course.poll("accuracy of the baselines"));
    const uint64_t own = derive_seed(derive_seed(seed, 900), static_cast<uint64_t>(probe));
    FIEL_TRY(const Case c, course.oracle().prepare(probe, 0, own, derive_seed(own, 7)));
    if (c.prepared.dropped) continue;
    if (!built) FIEL_TRY_STATUS(build_all(course, all, c));
    built = true;
    for (Contestant& side : all) FIEL_TRY_STATUS(compare_one(course, side, c));
    course.oracle().release(c);
  }
  own_windows(course, all);
  for (Contestant& side : all) {
    side.side.numerics = side.worst.numerics;
    side.side.relative_rms = side.worst.relative_rms;
    side.side.componentwise = side.worst.componentwise;
  }
  return {};
}

}  // namespace fiel::judge::torch
