// What a baseline's time depends on: two judgements may share times where all of it is equal.
//
//   const BaselineKey key = key_of(request, task, machine);
//   cache.load(key);                                     // a file named after digest_of(key)
//
// The policy of each baseline, and whether calls were held and how many made a sample, are known
// only once something was timed: they stand in the entry (judge/torch/baseline_cache.h).
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "judge/torch/request.h"
#include "worker/torch_oracle.h"

namespace fiel::judge::torch {

struct BaselineKey {
  std::string task_digest;  ///< of the task file, or of a native task's generated module
  std::string shapes;       ///< dtypes and shapes of inputs and outputs
  std::string torch, cuda, python, driver;
  std::string device_name, device_uuid, host;
  std::string mode;                              ///< train, eval
  std::string timing;                            ///< cold, warm, graph
  std::vector<std::string> baselines, policies;  ///< asked for
  std::string worker_version, fiel_version;
};

/// With the numbers of this form of cache: times taken by another clock of ours are others.
Json to_json(const BaselineKey& key);
/// SHA-256 of that.
std::string digest_of(const BaselineKey& key);

/// `policies`: of those asked for, what makes a difference to the task.
BaselineKey key_of(const TorchRequest& request, std::vector<std::string> policies,
                   const worker::OpenedTask& task, const worker::TorchFacts& machine);

}  // namespace fiel::judge::torch
