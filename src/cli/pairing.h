// Which kernel belongs to which task, when both are many.
//
//   FIEL_TRY(Pairing p, pair_files("KernelBench/level1", "runs/mine"));   // folders or globs
//   FIEL_TRY(auto entries, read_manifest("pairs.jsonl"));                 // {"task": …, "kernel":
//   …}
//
// Rules, the first that fits: KernelBench's names (level1/23_Softmax.py and
// level_1_problem_23_sample_0_kernel.py); a kernel with the task's stem; a kernel in a folder with
// the task's stem.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/store.h"

namespace fiel::cli {

struct KernelBenchName {
  int64_t level = 0;  ///< 0 where the name does not say
  int64_t problem = 0, sample = 0;
};
/// level1/23_Softmax.py
std::optional<KernelBenchName> kernelbench_task(const std::string& path);
/// level_1_problem_23_sample_0_kernel.py, also .cu
std::optional<KernelBenchName> kernelbench_sample(const std::string& path);

/// The entry of one pair; problem and sample from the names.
store::Entry entry_of(const std::string& task, const std::string& kernel);

struct Pairing {
  std::vector<store::Entry> entries;  ///< ordered by task, then kernel
  std::vector<std::string> unpaired;  ///< kernels without a task
};
/// Each word is a glob, a file, or a folder that is searched in depth.
Result<Pairing> pair_files(const std::string& tasks, const std::string& kernels);

/// Each task with itself, as a control: `--self`.
Result<std::vector<store::Entry>> tasks_alone(const std::string& tasks);

/// JSON lines with `task` and `kernel` (relative to the manifest), `problem` and `sample` if
/// wanted.
Result<std::vector<store::Entry>> read_manifest(const std::string& path);

}  // namespace fiel::cli
