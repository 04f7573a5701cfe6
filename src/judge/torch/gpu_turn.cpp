#include "judge/torch/gpu_turn.h"

#include <chrono>
#include <thread>

#include "base/hash.h"

namespace fiel::judge::torch {
namespace {

/// A timed turn takes seconds: to be late by this is nothing.
constexpr std::chrono::milliseconds kPoll{10};

}  // namespace

Result<GpuTurn::Door> GpuTurn::door(const std::filesystem::path& path) {
  FIEL_TRY(FileLock gate, FileLock::open(path.string() + ".gate"));
  FIEL_TRY(FileLock lock, FileLock::open(path.string() + ".lock"));
  return Door{std::move(gate), std::move(lock)};
}

Result<GpuTurn> GpuTurn::open(const std::filesystem::path& folder, const std::string& uuid,
                              std::function<bool()> interrupted, std::shared_ptr<TimeLimit> limit) {
  GpuTurn turn;
  turn.interrupted_ = std::move(interrupted);
  turn.limit_ = std::move(limit);
  turn.alone_ = uuid.empty() || folder.empty();
  if (turn.alone_) return turn;
  // A UUID is a worker's word: no path is made of it.
  const std::string name = "gpu-" + sha256_hex(uuid).substr(0, 16);
  FIEL_TRY(turn.room_, door(folder / (name + "-room")));
  FIEL_TRY(turn.turn_, door(folder / (name + "-turn")));
  return turn;
}

Status GpuTurn::wait_for(FileLock& lock, Share share) {
  const auto begin = std::chrono::steady_clock::now();
  const TimeLimit::Pause pause(limit_.get());
  while (!(share == Share::shared ? lock.try_shared() : lock.try_exclusive())) {
    if (interrupted_ && interrupted_())
      return fail(ErrorCode::interrupted, "stopped while waiting for the GPU");
    std::this_thread::sleep_for(kPoll);
  }
  waited_s_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return {};
}

Status GpuTurn::pass(Door& door, Share share) {
  // Never two locks of one door while waiting: who waits for others must not be waited for.
  door.lock.release();
  FIEL_TRY_STATUS(wait_for(door.gate, Share::exclusive));
  const Status inside = wait_for(door.lock, share);
  door.gate.release();
  return inside;
}

Status GpuTurn::live(Share share) {
  if (!room_) return {};
  end();
  FIEL_TRY_STATUS(pass(*room_, share));
  alone_ = share == Share::exclusive;
  return {};
}

bool GpuTurn::try_alone() {
  // flock gives up the shared lock before it tries for the other.
  alone_ = alone_ || !room_ || room_->lock.try_exclusive();
  return alone_;
}

Status GpuTurn::take(Share share) {
  if (!turn_ || held_ == share) return {};
  held_.reset();
  FIEL_TRY_STATUS(pass(*turn_, share));
  held_ = share;
  return {};
}

Status GpuTurn::yield() {
  const std::optional<Share> held = held_;
  if (!held) return {};
  end();
  return take(*held);
}

void GpuTurn::end() {
  if (turn_ && held_) turn_->lock.release();
  held_.reset();
}

}  // namespace fiel::judge::torch
