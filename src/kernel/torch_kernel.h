// A candidate for PyTorch: a .py with ModelNew, or a CUDA-Agent work folder (model.py,
// model_new.py).
//
//   FIEL_TRY(TorchKernel k, load_torch_kernel("kernel.py"));     // by content, nothing is executed
//   runner.load({.kind = k.load_kind(), …});
//
// A bare .cu is kernel/kernel.h's. It never runs here: the runner in the sandbox loads it
// (worker/python_sandbox.h).
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"

namespace fiel::kernel {

enum class TorchKernelKind : uint8_t { module, folder };

struct TorchKernel {
  TorchKernelKind kind = TorchKernelKind::module;
  std::filesystem::path path;  ///< as given
  std::filesystem::path task;  ///< a work folder's own model.py; else empty
  std::string digest;          ///< SHA-256 of its files and their names
  /// As the runner's `load` names it.
  const char* load_kind() const { return kind == TorchKernelKind::module ? "module" : "folder"; }
};

/// A .py or a folder with model_new.py: what load_torch_kernel is asked about.
bool is_torch_kernel(const std::filesystem::path& path);
/// A folder with model_new.py: one kernel, whatever else lies in it.
bool is_work_folder(const std::filesystem::path& path);
Result<TorchKernel> load_torch_kernel(const std::filesystem::path& path);

}  // namespace fiel::kernel
