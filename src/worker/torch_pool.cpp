#include "worker/torch_pool.h"

#include <algorithm>

namespace fiel::worker {
namespace {

bool fits(const WorkerSpec& a, const WorkerSpec& b) {
  return a.role == b.role && a.device == b.device && a.python.executable == b.python.executable &&
         a.purpose == b.purpose;
}

}  // namespace

Result<std::unique_ptr<TorchWorker>> TorchPool::take(const WorkerSpec& spec) {
  std::erase_if(idle_, [](const auto& worker) { return !worker->alive(); });
  auto it = std::find_if(idle_.begin(), idle_.end(),
                         [&](const auto& worker) { return fits(worker->spec(), spec); });
  if (it == idle_.end()) return TorchWorker::start(spec);
  auto worker = std::move(*it);
  idle_.erase(it);
  return worker;
}

void TorchPool::give_back(std::unique_ptr<TorchWorker> worker) {
  if (!worker || !worker->trusted() || worker->waiting() || !worker->alive()) return;
  if (idle_.size() >= max_idle_) idle_.erase(idle_.begin());
  idle_.push_back(std::move(worker));
}

}  // namespace fiel::worker
