// The device nodes that a process needs for one GPU, and no other GPU's.
//
//   FIEL_TRY(GpuNodes nodes, gpu_nodes("GPU-8c1f…"));     // by UUID: CUDA's numbers differ from
//   these request.devices = nodes.paths;
//
// Looked up in /proc/driver/nvidia/gpus. Where that is not mounted every GPU's node is given and
// `missing` says so.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace fiel::sandbox {

struct GpuNodes {
  std::vector<std::filesystem::path> paths;
  std::string missing;  ///< why more than the one GPU can be reached, or empty
};

/// `dev` and `proc` are /dev and /proc; tests have their own.
Result<GpuNodes> gpu_nodes(const std::string& uuid, const std::filesystem::path& dev = "/dev",
                           const std::filesystem::path& proc = "/proc");

}  // namespace fiel::sandbox
