// A profile of a kernel at PTX level: numbers, and the likely cause in words.
//
//   Profile p{.task = "softmax", .shapes = "N=64 C=512", .launches = …};
//   std::fputs(profile_text(p).c_str(), stdout);       Json j = profile_json(p);
//
// Addresses (sectors, bank conflicts, bytes) are what a GPU would see before its caches;
// instruction counts are PTX's, which ptxas still changes. There is no time in here, and none can
// be derived.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "vgpu/findings.h"
#include "vgpu/metrics.h"

namespace fiel::report {

/// What ptxas said of the kernel, where it was asked.
struct CompiledResources {
  uint32_t registers = 0;  ///< a thread
  uint32_t spill_store_bytes = 0, spill_load_bytes = 0;
};
struct Occupancy {
  uint32_t blocks = 0;     ///< resident on one multiprocessor
  uint32_t warps = 0;      ///< of 64
  std::string limited_by;  ///< "registers", "shared memory", "threads", "blocks"
};

struct ProfiledLaunch {
  std::string kernel;
  vgpu::Dim3 grid, block;
  uint32_t dynamic_shared_bytes = 0;
  uint32_t times = 1;  ///< equal launches folded into this row
  vgpu::KernelMetrics metrics;
  std::optional<CompiledResources> resources;
  std::optional<Occupancy> occupancy;
};

struct Profile {
  std::string task, shapes, kernel_file;
  double task_flops = 0;             ///< of the reference
  double task_bytes_compulsory = 0;  ///< inputs + outputs, once each
  std::vector<ProfiledLaunch> launches;
};

/// One likely reason for slowness. `code` is stable and known to `fiel explain`.
struct Cause {
  std::string code;     ///< "uncoalesced-access", "bank-conflicts", "low-occupancy", …
  double severity = 0;  ///< share of the memory or issue work that it wastes, 0..1
  std::string where;    ///< "softmax.cu:31", or the kernel
  std::string text;     ///< what was measured and what would help
};
std::vector<Cause> likely_causes(const Profile& profile);  ///< worst first

/// Bounds of an H200 from its data sheet, for the side of the roofline only.
inline constexpr double kFp32Flops = 67e12, kBf16TensorFlops = 989e12, kDramBytes = 4.8e12;

std::string profile_text(const Profile& profile);
Json profile_json(const Profile& profile);

}  // namespace fiel::report
