// A native task at one shape set as a PyTorch task: the source of a KernelBench-format module.
//
//   FIEL_TRY(Instance at, task.instantiate(shapes));
//   FIEL_TRY(std::string source, torch_source(task, at));   // Model, get_inputs, get_init_inputs
//
// It is what the PyTorch baselines of a native task run. forward takes the task's inputs in the
// order of the file, parameters included: the same order in which a bare kernel gets them. The
// inputs that get_inputs makes follow the task's distributions, from torch's generator.
#pragma once

#include <string>

#include "base/result.h"
#include "task/task.h"

namespace fiel::task {

Result<std::string> torch_source(const Task& task, const Instance& at);

}  // namespace fiel::task
