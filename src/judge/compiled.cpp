#include "judge/compiled.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "judge/environment.h"
#include "judge/time_limit.h"
#include "kernel/kernel.h"

namespace fiel::judge {
namespace {

void not_compiled(const build::CompileOutcome& built, Verdict& v) {
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
}

SessionStarter starter_for(const kernel::Kernel& kernel, const build::CompileOutcome& built,
                           const JudgeRequest& request) {
  worker::BareSessionOptions options;
  options.isolation = request.isolation;
  options.where = request.device;
  options.device.memory_bytes = request.device_memory_bytes;
  options.checks.metrics = false;
  options.instruction_budget = request.instruction_budget;
  return [options, kernel, built, judging = request.options](const SessionWish& wish) {
    worker::BareSessionOptions o = options;
    o.start_timeout_ms = within_limit(judging, o.start_timeout_ms);
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

Result<Compiled> compile_candidate(const std::string& path, const JudgeRequest& request) {
  Compiled c;
  const auto kernel = kernel::load_kernel(path);
  if (!kernel) {
    // The words of the command line were looked at before: this is about the file's content.
    c.unreadable = to_string(kernel.error());
    return c;
  }
  c.digest = kernel->digest;
  build::CompileOptions compile;
  compile.timeout_ms = within_limit(request.options, compile.timeout_ms);
  compile.isolation.required = request.isolation.required;
  if (request.device.is_cuda()) {
    FIEL_TRY(const device::GpuInfo gpu, describe_gpu(request.device, c.gpu));
    compile.arch = gpu.architecture();
    compile.machine_code = true;
    c.gpu_memory_bytes = gpu.memory_bytes;
  }
  FIEL_TRY(c.built, kernel::compile(*kernel, compile));
  const auto& limit = request.options.limit;
  if (c.built->status == build::CompileStatus::timeout && limit && limit->is_up())
    return fail(limit->error());
  if (c.built->status == build::CompileStatus::compiled)
    c.start = starter_for(*kernel, *c.built, request);
  return c;
}

void describe(const Compiled& c, Verdict& v) {
  if (!c.unreadable.empty()) {
    v.status = VerdictStatus::compile_error;
    v.reason = printable(c.unreadable, 600);
    return;
  }
  v.kernel_digest = c.digest;
  if (c.gpu_memory_bytes > 0) {
    v.environment.device = c.gpu.device;
    v.environment.isa = c.gpu.isa;
    v.environment.device_uuid = c.gpu.device_uuid;
    v.environment.cuda = c.gpu.cuda;
    v.environment.driver = c.gpu.driver;
  }
  if (!c.start) return not_compiled(*c.built, v);
  v.environment.compiler = c.built->kernel.compiler;
  add_resources(c.built->kernel, v);
}

}  // namespace fiel::judge
