// Trusted workers that stay warm between judgements: importing torch takes seconds.
//
//   FIEL_TRY(auto oracle, pool.take({Role::oracle, python, "cuda:0"}));
//   …open_task, prepare, …
//   pool.give_back(std::move(oracle));      // a dead one, or one that owes an answer, is let go
//
// A candidate's process never enters: it is not trusted. One thread; workers end with the pool. It
// does not clean up after a judgement: who gives back asks the worker for `reset` before.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "worker/torch_worker.h"

namespace fiel::worker {

class TorchPool {
 public:
  explicit TorchPool(size_t max_idle = 4) : max_idle_(max_idle) {}

  Result<std::unique_ptr<TorchWorker>> take(const WorkerSpec& spec);
  void give_back(std::unique_ptr<TorchWorker> worker);
  size_t idle() const { return idle_.size(); }

 private:
  size_t max_idle_;
  std::vector<std::unique_ptr<TorchWorker>> idle_;
};

}  // namespace fiel::worker
