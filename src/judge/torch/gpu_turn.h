// Judgements side by side on one GPU. What checks answers may run beside others; what is timed runs
// alone; compiling and loading need no turn.
//
//   FIEL_TRY(GpuTurn turn, GpuTurn::open(cache_dir(), uuid, interrupted));
//   FIEL_TRY_STATUS(turn.live(Share::shared));      // before the first byte of device memory
//   FIEL_TRY_STATUS(turn.take(Share::exclusive));   // …the clock…
//   turn.end();
//
// Two locks a GPU: `room`, held for as long as a judgement has device memory, and `turn`, held
// while it works there. A judgement that ran out of memory gives up both and waits for the whole
// room. A gate before each lets nobody in while somebody waits to be alone, so that he comes to be.
// On the CPU (no UUID), and where no folder is given, every wait is over at once.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/file_lock.h"
#include "judge/time_limit.h"

namespace fiel::judge::torch {

enum class Share : uint8_t { shared, exclusive };

class GpuTurn {
 public:
  /// `interrupted` may be empty; it is asked while waiting. `limit` may be empty; it stands still
  /// meanwhile.
  static Result<GpuTurn> open(const std::filesystem::path& folder, const std::string& uuid,
                              std::function<bool()> interrupted,
                              std::shared_ptr<TimeLimit> limit = {});

  Status live(Share share);
  /// The room for itself at once, where nobody else is in it. False: it may have lost its place,
  /// and has to give its memory back.
  bool try_alone();
  Status take(Share share);  ///< instead of what is held
  void end();                ///< of the turn; the room stays
  Status yield();            ///< lets those in who wait; what is held is held again after
  bool alone() const { return alone_; }  ///< nobody else has memory there
  double waited_s() const { return waited_s_; }

 private:
  struct Door {
    FileLock gate, lock;
  };
  GpuTurn() = default;
  static Result<Door> door(const std::filesystem::path& path);
  Status pass(Door& door, Share share);
  Status wait_for(FileLock& lock, Share share);

  std::optional<Door> room_, turn_;
  std::function<bool()> interrupted_;
  std::shared_ptr<TimeLimit> limit_;
  bool alone_ = false;
  std::optional<Share> held_;
  double waited_s_ = 0;
};

}  // namespace fiel::judge::torch
