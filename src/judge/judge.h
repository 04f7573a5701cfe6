// Judges a kernel file for a task: compiles it, puts it into the sandbox, runs the protocol.
//
//   FIEL_TRY(task::Task task, task::load_task("tasks/softmax.toml"));
//   FIEL_TRY(judge::Verdict v, judge::judge_kernel(task, "online.cu", request));
//
// Whatever the kernel does becomes a verdict. An Error is the user's words (unknown shape set) or
// an interruption; faults of the machine are verdicts too (harness_fault), so that the judge goes
// on with the next kernel.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"
#include "device/device_name.h"
#include "judge/options.h"
#include "judge/rig.h"
#include "judge/verdict.h"
#include "sandbox/isolation.h"
#include "task/task.h"

namespace fiel::judge {

struct JudgeRequest {
  device::DeviceName device;  ///< the virtual GPU, or cuda:N
  JudgeOptions options;
  sandbox::IsolationPolicy isolation;
  uint64_t device_memory_bytes = 8ull << 30;
  uint64_t instruction_budget = 20'000'000'000ull;  ///< thread instructions of one call
  std::filesystem::path locks;  ///< a folder of the user's; judgements of a GPU meet there
};

Result<Verdict> judge_kernel(const task::Task& task, const std::string& kernel_path,
                             const JudgeRequest& request);

/// The part after compiling: for sessions that come from elsewhere. `verdict` names the kernel.
Result<Verdict> judge_sessions(const task::Task& task, const SessionStarter& starter,
                               const JudgeOptions& options, Verdict verdict);

}  // namespace fiel::judge
