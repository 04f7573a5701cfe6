#include "judge/judge.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "build/compile.h"
#include "judge/environment.h"
#include "judge/protocols/native.h"
#include "judge/replay.h"
#include "judge/strict.h"
#include "kernel/kernel.h"

namespace fiel::judge {
namespace {

Verdict blank_verdict(const task::Task& task, const std::string& kernel_path,
                      const JudgeRequest& request) {
  Verdict v;
  v.task = task.name;
  v.task_file = task.source_file;
  v.task_digest = task.digest;
  v.kernel = printable(kernel_path, 1000);
  v.protocol = std::string(name_of(request.options.protocol));
  v.seed = request.options.seed;
  v.numerics_policy = std::string(name_of(request.options.numerics));
  v.device = device::to_string(request.device);
  v.environment = describe_environment();
  return v;
}

/// What a fault of ours, met while judging, makes of the verdict. Interruptions and the user's own
/// mistakes are not faults.
Result<Verdict> settle(const Error& error, Verdict v) {
  if (error.code == ErrorCode::interrupted || error.code == ErrorCode::usage) return fail(error);
  v.witness.reset();
  if (error.code == ErrorCode::unsupported) {
    v.status = VerdictStatus::unsupported;
    v.unsupported_by = "device";
    v.reason = printable(error.what, 600);
    return v;
  }
  v.status =
      error.code == ErrorCode::timeout ? VerdictStatus::undecided : VerdictStatus::harness_fault;
  v.reason = printable(to_string(error), 600);
  return v;
}

Verdict not_compiled(const build::CompileOutcome& built, Verdict v) {
  v.reason = printable(built.message, 600);
  v.compiler_output = printable(built.log, 32u << 10);
  v.isolation = built.isolation;
  switch (built.status) {
    case build::CompileStatus::unsupported:
      v.status = VerdictStatus::unsupported;
      v.unsupported_by = "device";
      break;
    case build::CompileStatus::timeout:
      v.status = VerdictStatus::compile_error;
      v.reason = "the compiler did not end in time: " + v.reason;
      break;
    case build::CompileStatus::limit:
      v.status = VerdictStatus::compile_error;
      v.reason = "the compiler reached a limit: " + v.reason;
      break;
    default:
      v.status = VerdictStatus::compile_error;
      break;
  }
  return v;
}

SessionStarter starter_for(const kernel::Kernel& kernel, const build::CompileOutcome& built,
                           const JudgeRequest& request) {
  worker::BareSessionOptions options;
  options.isolation = request.isolation;
  options.where = request.device;
  options.device.memory_bytes = request.device_memory_bytes;
  options.checks.metrics = false;
  options.instruction_budget = request.instruction_budget;
  return [options, kernel, built](const SessionWish& wish) {
    worker::BareSessionOptions o = options;
    o.checks.global_races = wish.global_races;
    o.contract = wish.contract;
    return kernel::start_session(kernel, built, o);
  };
}

void add_resources(const build::CompiledKernel& kernel, Verdict& v) {
  for (const build::KernelResources& r : kernel.resources) {
    v.resources.registers = std::max(v.resources.registers, r.registers);
    v.resources.spill_bytes = std::max(v.resources.spill_bytes, r.spill_stores + r.spill_loads);
  }
}

}  // namespace

Result<Verdict> judge_sessions(const task::Task& task, const SessionStarter& starter,
                               const JudgeOptions& options, Verdict verdict) {
  const bool strict = options.protocol == Protocol::strict;
  const auto done = !strict
                        ? run_native(task, rules_of(options.protocol), starter, options, verdict)
                    : options.replay ? run_replay(task, *options.replay, starter, options, verdict)
                                     : run_strict(task, starter, options, verdict);
  if (!done) return settle(done.error(), std::move(verdict));
  return verdict;
}

Result<Verdict> judge_kernel(const task::Task& task, const std::string& kernel_path,
                             const JudgeRequest& request) {
  Verdict v = blank_verdict(task, kernel_path, request);
  const auto kernel = kernel::load_kernel(kernel_path);
  if (!kernel) {
    // The words of the command line were looked at before: this is about the file's content.
    v.status = VerdictStatus::compile_error;
    v.reason = printable(to_string(kernel.error()), 600);
    return v;
  }
  v.kernel_digest = kernel->digest;
  JudgeOptions options = request.options;
  if (options.progress) options.progress({"compiling " + v.kernel, 0, 0});
  build::CompileOptions compile;
  compile.isolation.required = request.isolation.required;
  if (request.device.is_cuda()) {
    auto gpu = describe_gpu(request.device, v.environment);
    if (!gpu) return settle(gpu.error(), std::move(v));
    compile.arch = gpu->architecture();
    compile.machine_code = true;
    options.gpu_memory_bytes = gpu->memory_bytes;
  }
  auto built = kernel::compile(*kernel, compile);
  if (!built) return settle(built.error(), std::move(v));
  if (built->status != build::CompileStatus::compiled) return not_compiled(*built, std::move(v));
  v.environment.compiler = built->kernel.compiler;
  add_resources(built->kernel, v);
  return judge_sessions(task, starter_for(*kernel, *built, request), options, std::move(v));
}

}  // namespace fiel::judge
