// One call's tensors as files, for programs that call a kernel without fiel: a profiler's driver.
//
//   FIEL_TRY_STATUS(save_call(folder, instance, inputs));
//
// folder/call.txt has a line a tensor, inputs first, in fiel_run's order:
//   input|output DTYPE RANK EXTENT... [FILE]
// and each input's bytes, contiguous, are a file beside it.
#pragma once

#include <filesystem>
#include <vector>

#include "base/result.h"
#include "task/task.h"
#include "tensor/tensor.h"

namespace fiel::cli {

Status save_call(const std::filesystem::path& folder, const task::Instance& at,
                 const std::vector<Tensor>& inputs);

}  // namespace fiel::cli
