#include "judge/torch/stopping.h"

#include "judge/time_limit.h"

namespace fiel::judge::torch {

Workers stoppable(Workers workers, const JudgeOptions& options) {
  const auto stopped = [interrupted = options.interrupted, limit = options.limit] {
    return (interrupted && interrupted()) || (limit && limit->cuts());
  };
  workers.oracle = [start = std::move(workers.oracle), stopped]() -> Workers::Process {
    FIEL_TRY(auto process, start());
    process->stop_when(stopped);
    return process;
  };
  workers.baseline = [start = std::move(workers.baseline),
                      stopped](const std::string& policy) -> Workers::Process {
    FIEL_TRY(auto process, start(policy));
    process->stop_when(stopped);
    return process;
  };
  workers.candidate = [start = std::move(workers.candidate),
                       stopped](const std::string& device_uuid) -> Result<worker::ConfinedRunner> {
    FIEL_TRY(worker::ConfinedRunner runner, start(device_uuid));
    runner.worker->stop_when(stopped);
    return runner;
  };
  return workers;
}

}  // namespace fiel::judge::torch
