// A PyTorch task: a KernelBench file, unmodified (class Model, get_inputs, get_init_inputs).
//
//   if (is_torch_task("task.py")) …                      // by content, nothing is executed
//   FIEL_TRY(TorchTask task, load_torch_task("task.py"));
//
// What the module really gives is asked of the oracle (worker/torch_oracle.h): this only says that
// the file is one, and names what it lacks.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"

namespace fiel::task {

struct TorchTask {
  std::filesystem::path path;
  std::string name;    ///< of the file, without its ending
  std::string digest;  ///< SHA-256 of the file
};

bool is_torch_task(const std::filesystem::path& path);
/// Errors say what is missing, and where the file is a kernel instead.
Result<TorchTask> load_torch_task(const std::filesystem::path& path);

}  // namespace fiel::task
