// What a GPU has beyond the virtual one: order between streams that run at the same time, machine
// code, times.
//
//   queue.place(7, stream, {5}, true);   // what follows goes to `stream`, behind operation 5
//   device.launch(…); device.copy(…);    // only queued
//   QueueEnd end = queue.drain(deadline_ns);
//
// The virtual GPU runs everything at once and has no queue. On a GPU the runtime server hands over
// what is due as one batch: each candidate stream has a real one, so that independent work really
// overlaps, and orders between streams are real events.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace fiel::device {

/// How a batch ended, and how long the GPU worked on it.
struct QueueEnd {
  int32_t cuda_error = 0;  ///< a sticky error: this device is lost
  bool timed_out = false;  ///< still running at the deadline: this device is lost
  std::string message;     ///< for either
  std::string printed;     ///< device printf
};

/// Device times of a call, or of several one after the other: everything that each put on any
/// stream, between two events.
struct DeviceTimes {
  double span_ns = 0;         ///< first start to last end, summed over the calls
  double busy_ns = 0;         ///< the same without the pauses between batches
  uint32_t batches = 0;       ///< 1: the kernel never waited for the device itself
  bool queued_whole = false;  ///< one batch, all of it queued before the GPU began: no launch
                              ///< latency is in the span
};

/// A word of memory that the GPU sees: batches wait until it is at least `value`. Whoever may write
/// the word lets them run.
struct Hold {
  uint64_t address = 0;
  uint32_t value = 0;
};

class Queue {
 public:
  virtual ~Queue() = default;
  /// What nvcc embeds in objects: the driver takes the machine code for its GPU, or the PTX.
  virtual Result<uint32_t> load_fat_binary(std::span<const uint8_t> bytes,
                                           std::string_view name) = 0;
  /// Work that follows goes to `stream` (any number; equal numbers are one stream) behind the
  /// operations `after`. `awaited`: another stream will name `operation` in its `after`. The same
  /// operation may be placed again: it then ends with its last part.
  virtual Status place(uint64_t operation, uint64_t stream, std::span<const uint64_t> after,
                       bool awaited) = 0;
  /// Waits for everything that was queued.
  virtual QueueEnd drain(int64_t deadline_ns) = 0;
  /// Times a call: its batches are held back until they are queued, by a gate or, where there is a
  /// hold, until another process releases it.
  virtual void begin_times(std::optional<Hold> hold = std::nullopt) = 0;
  /// What follows is another call's, behind the last one: nothing is waited for.
  virtual Status next_call() = 0;
  virtual DeviceTimes end_times() = 0;
  /// From now on each launch stands between two events of its own, which costs a few microseconds:
  /// for evidence, never beside begin_times().
  virtual void begin_launch_times() = 0;
  /// Nanoseconds of every launch since then, in their order; 0 where a launch was refused or the
  /// events were used up. After drain().
  virtual std::vector<double> end_launch_times() = 0;
  /// Where the GPU sees whole pages of this process's memory; they stay until unmap_page().
  virtual Result<uint64_t> map_page(void* page, uint64_t bytes) = 0;
  virtual void unmap_page(void* page) = 0;
  /// Writes over the second-level cache and drops persisting lines.
  virtual Status flush_l2() = 0;
};

}  // namespace fiel::device
