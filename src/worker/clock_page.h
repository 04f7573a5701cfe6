// The control page of a timed loop: 4096 bytes that the oracle and one runner share, in words of 8
// bytes. docs/torch-workers.md#clock says who writes what and when.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace fiel::worker {

struct ClockPage {
  std::atomic<int64_t> go, done;  ///< number of the sample to answer, from 1; the number answered
  std::atomic<int64_t> calls;     ///< of this sample
  std::atomic<double> device_ns, host_ns;  ///< of a call, claimed
  std::atomic<int64_t> status;             ///< 0 done, 1 failed
  std::atomic<int64_t> slot;               ///< the first; a batch goes on with the next ones
  std::atomic<int64_t> attend, attending;  ///< wake up for the number that comes next; awake
  std::atomic<int64_t> ready;              ///< 1 once in the loop
  std::atomic<int64_t> held, queued, release, holds;  ///< only of runners whose device can wait
  std::atomic<int64_t> reported;  ///< the number whose times are there, once `done` is
  std::atomic<double> lead_ns;    ///< of an unheld sample: until the device was first given work
};
static_assert(sizeof(ClockPage) == 128 && offsetof(ClockPage, release) == 96 &&
              offsetof(ClockPage, lead_ns) == 120);
static_assert(std::atomic<double>::is_always_lock_free);

inline constexpr size_t kClockPageBytes = 4096;
inline constexpr int64_t kLeaveClock = -1;
inline constexpr size_t kMaxClockSlots = 1024;

}  // namespace fiel::worker
