// Starts the runner of a Python candidate: hostile code with PyTorch, compilers and at most one
// GPU.
//
//   FIEL_TRY(auto confined, start_confined_runner({.python = python, .candidate = "kernel.py",
//                                                  .task = "task.py"}, policy));
//   confined.worker->ask(…);  runner.load({.path = confined.candidate, .task_path = confined.task})
//
// It sees a read-only system, the Python environment, the CUDA toolkit, copies of the candidate's
// files and of the task file, and a private /tmp for what it builds. Each candidate gets a process
// of its own, never one that has run another.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "base/files.h"
#include "sandbox/spawn.h"
#include "worker/candidate_files.h"
#include "worker/torch_worker.h"

namespace fiel::worker {

/// Limits that fit nvcc, ninja and inductor's pool; memory is resident, of all its processes, and
/// never more than half of the machine's.
sandbox::Limits python_limits();
/// Of its /tmp, which lies in memory and beside that limit: at most an eighth.
uint64_t python_tmp_bytes();

struct ConfinedRequest {
  PythonEnvironment python;
  std::string device = "cpu";                     ///< "cpu" or "cuda:N", the judge's number
  std::string device_uuid;                        ///< of that GPU, from the oracle's hello
  std::filesystem::path candidate;                ///< a .py or a work folder
  std::filesystem::path task;                     ///< the task's .py; may be empty
  uint64_t tmp_bytes = python_tmp_bytes();        ///< for nvcc's and inductor's files
  std::vector<std::filesystem::path> tools = {};  ///< further folders that it may read
};

struct ConfinedRunner {
  std::unique_ptr<TorchWorker> worker;
  std::string candidate, task;  ///< as the runner sees them
  std::string device;           ///< the one GPU inside is cuda:0
  TempDir stage;
};

/// Where a runner is started, with nothing that runs in it yet.
struct ConfinedPlace {
  sandbox::SpawnRequest request;
  sandbox::IsolationPolicy policy;
  TempDir stage;
  std::filesystem::path base;  ///< the stage as seen inside
  CandidateFiles files;
  std::string device;          ///< the one GPU inside is cuda:0
  std::string unconfined_gpu;  ///< what could not be kept out
};
Result<ConfinedPlace> confined_place(const ConfinedRequest& request,
                                     const sandbox::IsolationPolicy& policy);

Result<ConfinedRunner> start_confined_runner(const ConfinedRequest& request,
                                             const sandbox::IsolationPolicy& policy);

}  // namespace fiel::worker
