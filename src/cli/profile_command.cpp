// fiel profile: what a kernel does to memory and warps, counted at PTX level, with likely causes.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/text.h"
#include "build/compile.h"
#include "cli/command.h"
#include "cli/gpu_profile.h"
#include "cli/kernel_files.h"
#include "cli/profiled_call.h"
#include "cli/progress.h"
#include "cli/torch_judging.h"
#include "judge/readable.h"
#include "judge/rig.h"
#include "judge/shapes.h"
#include "kernel/kernel.h"
#include "report/profile.h"
#include "task/task.h"
#include "vgpu/occupancy.h"
#include "worker/bare_session.h"

namespace fiel::cli {
namespace {

worker::BareSessionOptions session_options() {
  worker::BareSessionOptions o;
  o.checks.metrics = true;
  return o;
}

/// What bounds the blocks on one multiprocessor, now that ptxas has said how many registers.
report::Occupancy occupancy_of(const worker::LaunchRecord& launch,
                               const build::KernelResources& r) {
  const auto threads = static_cast<uint32_t>(launch.block.count());
  const uint32_t shared = r.shared_bytes + launch.dynamic_shared_bytes;
  report::Occupancy o;
  o.blocks = vgpu::blocks_per_multiprocessor(threads, shared, r.registers);
  o.warps = o.blocks * ((threads + 31) / 32);
  if (vgpu::blocks_per_multiprocessor(threads, shared, 0) > o.blocks)
    o.limited_by = "registers";
  else if (vgpu::blocks_per_multiprocessor(threads, 0, r.registers) > o.blocks)
    o.limited_by = "shared memory";
  else
    o.limited_by = o.blocks == vgpu::kMaxBlocksPerMultiprocessor ? "blocks" : "threads";
  return o;
}

report::ProfiledLaunch profiled(const worker::LaunchRecord& launch,
                                const std::vector<build::KernelResources>& resources) {
  report::ProfiledLaunch p;
  p.kernel = demangled(launch.kernel);
  p.grid = launch.grid;
  p.block = launch.block;
  p.dynamic_shared_bytes = launch.dynamic_shared_bytes;
  p.metrics = launch.report.metrics;
  for (const build::KernelResources& r : resources)
    if (r.kernel == launch.kernel) {
      p.resources = report::CompiledResources{r.registers, r.spill_stores, r.spill_loads};
      p.occupancy = occupancy_of(launch, r);
    }
  return p;
}

/// Runs the kernel once and hands back what each launch did.
Result<worker::CallOutcome> run_once(worker::BareSession& session, const task::Instance& at,
                                     const std::vector<Tensor>& inputs, int64_t timeout_ms) {
  worker::CallRequest request;
  request.timeout_ms = timeout_ms;
  for (size_t i = 0; i < at.inputs.size(); ++i) {
    const auto bytes = inputs[i].bytes();
    FIEL_TRY(const uint64_t address,
             session.allocate(std::max<uint64_t>(bytes.size(), 1), at.input_specs[i].name));
    FIEL_TRY_STATUS(session.write(address, bytes));
    request.inputs.push_back(
        {address, at.inputs[i].dtype, at.inputs[i].shape, contiguous_strides(at.inputs[i].shape)});
  }
  for (size_t i = 0; i < at.outputs.size(); ++i) {
    const auto bytes =
        static_cast<uint64_t>(numel(at.outputs[i].shape) * size_of(at.outputs[i].dtype));
    FIEL_TRY(const uint64_t address,
             session.allocate(std::max<uint64_t>(bytes, 1), at.graph.outputs[i].name));
    request.outputs.push_back({address, at.outputs[i].dtype, at.outputs[i].shape,
                               contiguous_strides(at.outputs[i].shape)});
  }
  return session.call(request);
}

Result<int> run(const Arguments& arguments, const Context& context) {
  if (arguments.positional.size() != 2)
    return fail(ErrorCode::usage, "'fiel profile' needs a task and a kernel",
                "fiel profile tasks/softmax.toml examples/softmax/online.cu");
  FIEL_TRY(const auto device, device_of(arguments));
  FIEL_TRY(const device::DeviceName where, device::parse_device_name(device.value_or("virtual")));
  if (where.is_cuda()) return profile_on_gpu(arguments, context, where);
  FIEL_TRY(const task::Task task, task::load_task(arguments.positional[0]));
  FIEL_TRY(const KernelFiles files, find_kernels({arguments.positional[1]}));
  if (files.paths.size() != 1) return fail(ErrorCode::usage, "'fiel profile' takes one .cu file");
  FIEL_TRY(const auto sets, profiled_shapes(task, arguments));
  FIEL_TRY(const uint64_t seed, unsigned_value(arguments, "--seed", 1, UINT64_MAX));
  FIEL_TRY(const uint64_t seconds, unsigned_value(arguments, "--timeout", 120, 86'400));
  build::CompileOptions compile;
  compile.resources = true;
  FIEL_TRY(const kernel::Kernel kernel, kernel::load_kernel(files.paths[0]));
  FIEL_TRY(const build::CompileOutcome built, kernel::compile(kernel, compile));
  if (built.status != build::CompileStatus::compiled) {
    context.story(fmt::format("fiel: {}\n{}\n", printable(built.message, 600),
                              printable(built.log, 32u << 10)));
    return built.status == build::CompileStatus::unsupported ? 3 : 1;
  }
  Json document = Json::object({{"schema_version", Json(1)}, {"profiles", Json::array()}});
  StatusLine line(context);
  uint32_t done = 0;
  for (const task::ShapeSet& set : sets) {
    line.show("profiling at " + set.name, done++, static_cast<uint32_t>(sets.size()));
    FIEL_TRY(const task::Instance at, task.instantiate(set));
    FIEL_TRY(auto session, kernel::start_session(kernel, built, session_options()));
    FIEL_TRY(const std::vector<Tensor> inputs, profiled_inputs(at, seed));
    if (const auto folder = arguments.value("--save-inputs"))
      FIEL_TRY_STATUS(save_call(std::filesystem::path(*folder) / set.name, at, inputs));
    FIEL_TRY(const worker::CallOutcome outcome,
             run_once(*session, at, inputs, static_cast<int64_t>(seconds) * 1000));
    line.clear();
    if (outcome.status != worker::CallStatus::returned || outcome.return_code != 0) {
      context.story(fmt::format("fiel: at {} the call did not succeed: {}\n", set.name,
                                printable(outcome.message, 400)));
      return 1;
    }
    report::Profile profile;
    profile.task = task.name;
    profile.shapes = judge::to_string(set.symbols);
    profile.kernel_file = files.paths[0];
    profile.task_flops = at.cost.flops;
    profile.task_bytes_compulsory = at.cost.bytes_compulsory;
    for (const worker::LaunchRecord& launch : outcome.launches)
      profile.launches.push_back(profiled(launch, built.kernel.resources));
    if (arguments.has("--json"))
      document["profiles"].push_back(report::profile_json(profile));
    else
      context.print(report::profile_text(profile) + "\n");
  }
  if (arguments.has("--json")) context.print_json(document);
  return 0;
}

}  // namespace

Command profile_command() {
  return {{"profile",
           "TASK KERNEL",
           "what a kernel does to memory and warps, and why it may be slow",
           {{"--device", "NAME", "virtual (default), cuda:N (counted by ncu)"},
            {"--shapes", "A,B", "only these shape sets of the task"},
            {"--seed", "N", "of the inputs (1)"},
            {"--timeout", "SECONDS", "wall-clock limit of one call (120)"},
            {"--python", "FILE", "the Python that has PyTorch"},
            {"--save-inputs", "DIR", "the call's tensors as files, a folder a shape set"},
            kJsonFlag},
           "Counted at PTX level on the virtual GPU: addresses carry over to a GPU, instruction "
           "counts\n"
           "do not, and there is no time in it. On cuda:N one call is counted by ncu, in the "
           "sandbox;\n"
           "where that is not possible, what the judge measures is shown instead."},
          run};
}

}  // namespace fiel::cli
