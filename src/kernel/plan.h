// A launch plan: how a device-only kernel is launched, as data. No host code of the kernel runs.
//
//   # softmax.plan.toml
//   source = "softmax_device.cu"            # or .ptx
//   [symbols]
//   N = "in0.shape[0]"
//   C = "in0.shape[1]"
//   [scratch]
//   partial = "4 * N"                       # bytes
//   [[launch]]
//   kernel = "softmax"
//   grid = ["N"]                            # up to three expressions; what is missing is 1
//   block = [256]
//   shared = "4 * 32"                       # dynamic shared memory in bytes, 0 unless given
//   args = ["in0", "out0", "partial", "i32:N", "i32:C", "f32:0.5"]
//
// in0, in1, … and out0, … are the call's tensors; `.shape[i]`, `.numel` are their sizes. Arguments
// are checked against the PTX parameter list: number, size, pointer or not.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "kernel/expression.h"
#include "vgpu/device.h"
#include "worker/bare_session.h"

namespace fiel::kernel {

struct PlanArgument {
  enum class Kind : uint8_t { input, output, scratch, i32, u32, i64, u64, f32, f64 };
  Kind kind = Kind::input;
  uint32_t index = 0;  ///< of the tensor or scratch buffer
  Expression value;    ///< integers
  double number = 0;   ///< floats
  std::string text;    ///< as written
};
struct PlanLaunch {
  std::string kernel;
  std::vector<Expression> grid, block;  ///< 1 to 3 each
  Expression shared;
  bool cooperative = false;
  std::vector<PlanArgument> arguments;
};
struct LaunchPlan {
  std::filesystem::path source;  ///< .cu or .ptx, beside the plan
  std::vector<std::pair<std::string, Expression>> symbols;
  std::vector<std::pair<std::string, Expression>> scratch;
  std::vector<PlanLaunch> launches;
};

/// Bounds: 1024 launches, 256 arguments each, 64 scratch buffers.
Result<LaunchPlan> parse_plan(std::string_view text, const std::filesystem::path& file);

/// Names of a call: the plan's symbols, then the tensors' sizes.
NameLookup names_of(const LaunchPlan& plan, const worker::CallRequest& request);

/// The entry that `name` means: its PTX name, or the one C++ function of that name.
Result<const vgpu::KernelInfo*> find_entry(std::span<const vgpu::KernelInfo> entries,
                                           std::string_view name);

/// The .param block of one launch, checked against the entry's parameters.
Result<std::vector<uint8_t>> pack_arguments(const PlanLaunch& launch, const vgpu::KernelInfo& entry,
                                            const worker::CallRequest& request,
                                            std::span<const uint64_t> scratch,
                                            const NameLookup& names);

}  // namespace fiel::kernel
