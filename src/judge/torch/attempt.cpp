#include "judge/torch/attempt.h"

namespace fiel::judge::torch {
namespace {

/// The oracle and each side hold inputs and outputs several times over: a task with such a part of
/// the GPU's memory in them has no room beside others.
constexpr uint64_t kShareAlone = 12;

bool crowds(const OracleSide& oracle) {
  const worker::OpenedTask& task = oracle.task();
  const uint64_t memory = oracle.machine().memory_bytes;
  return memory > 0 && task.input_bytes + task.output_bytes > memory / kShareAlone;
}

}  // namespace

bool Attempt::lacks_room(OracleSide& oracle) {
  out_of_memory = crowds(oracle) && !oracle.turn().try_alone();
  return out_of_memory;
}

Status where_it_fits(bool gpu, const std::function<Status(Attempt&)>& once) {
  Attempt beside{Share::shared};
  const Status done = once(beside);
  const bool lacked = done ? beside.out_of_memory : is_out_of_memory(done.error());
  if (!lacked || !gpu) return done;
  Attempt alone{Share::exclusive};
  return once(alone);
}

}  // namespace fiel::judge::torch
