#include "judge/torch/contestants.h"

#include <fmt/core.h>

#include "base/text.h"
#include "judge/probe_inputs.h"
#include "judge/torch/seeds.h"

namespace fiel::judge::torch {
namespace {

std::vector<std::string> policies_for(const TorchRequest& request) {
  // On the CPU the policies are one: there is no TF32.
  if (request.device == "cpu") return {"default"};
  return {"fp32", "default", "tf32"};
}

Contestant baseline(const TorchRequest& request, const Workers& workers, const std::string& name,
                    const std::string& policy) {
  Contestant c;
  c.side.name = name;
  c.side.policy = policy;
  c.trusted = true;
  c.windows = name + " " + policy;
  auto process = workers.baseline();
  if (!process) {
    c.drop(to_string(process.error()));
    return c;
  }
  c.own = std::make_unique<RunnerSide>(std::move(*process), request.device);
  c.runner = c.own.get();
  RunnerSettings s;
  s.kind = "reference";
  s.path = s.task_path = request.task_path;
  s.policy = policy;
  s.compile = name == "eager" ? "none" : name == "compile" ? "default" : name;
  s.mode = request.mode;
  s.init_seed = init_seed(request.options.seed);
  s.load_timeout_ms = request.load_timeout_ms;
  s.call_timeout_ms = request.load_timeout_ms;  // the first call compiles
  if (const auto loaded = c.runner->load(s); !loaded) c.drop(loaded.error().what);
  return c;
}

/// One answer's errors; an absent side or a failing call leaves it out.
Status compare_one(TorchCourse& course, Contestant& side, const Case& c, const std::string& probe) {
  if (!side.present()) return {};
  OracleSide& oracle = course.oracle();
  FIEL_TRY(const OracleSide::WeightsAt weights, oracle.weights(c, side.windows));
  if (weights.any) {
    if (const auto taken = side.runner->take(weights); !taken) {
      side.drop(taken.error().what);
      return {};
    }
  }
  FIEL_TRY(const Input input, oracle.place(c, {}, side.windows));
  const auto called = side.runner->call(input);
  if (!called) {
    side.drop(called.error().what);
    return {};
  }
  FIEL_TRY(const worker::Verified seen, oracle.verify(c, called->outputs, NumericsClass::tf32));
  Errors errors;
  for (const worker::Comparison& v : seen.outputs)
    errors.take({parse_numerics(v.numerics_class).value_or(NumericsClass::below), v.relative_rms,
                 v.componentwise});
  side.worst.take(errors);
  side.errors.push_back({probe, errors.relative_rms, errors.componentwise});
  return {};
}

}  // namespace

void Contestant::drop(std::string reason) {
  side.unavailable = printable(reason.empty() ? "it failed" : reason, 300);
  runner = nullptr;
  own.reset();
}

Result<std::vector<Contestant>> assemble(TorchCourse& course, const Workers& workers) {
  std::vector<Contestant> all(1);
  all[0].side.name = "kernel";
  all[0].runner = &course.candidate();
  all[0].windows = "";
  for (const std::string& policy : policies_for(course.request()))
    for (const std::string& name : course.request().baselines) {
      FIEL_TRY_STATUS(course.poll(fmt::format("baseline {}, {}", name, policy)));
      all.push_back(baseline(course.request(), workers, name, policy));
    }
  return all;
}

Status compare_accuracy(TorchCourse& course, std::vector<Contestant>& all) {
  const uint64_t seed = course.request().options.seed;
  for (const Probe probe : {Probe::task_inputs, Probe::mixed_signs, Probe::scale_range}) {
    const uint64_t own = derive_seed(derive_seed(seed, 900), static_cast<uint64_t>(probe));
    FIEL_TRY(const Case c, course.oracle().prepare(probe, 0, own, derive_seed(own, 7)));
    if (c.prepared.dropped) continue;
    for (Contestant& side : all)
      FIEL_TRY_STATUS(compare_one(course, side, c, std::string(judge::name_of(probe))));
    course.oracle().release(c);
  }
  for (Contestant& side : all) {
    side.side.numerics = side.worst.numerics;
    side.side.relative_rms = side.worst.relative_rms;
    side.side.componentwise = side.worst.componentwise;
  }
  return {};
}

}  // namespace fiel::judge::torch
