// Happens-before race detection for shared and global memory.
//
//   BlockClocks clocks;  clocks.start_block(n_warps);
//   SharedRaces races;   races.access(clocks, warp, request, [&](const RaceHit& hit) { … });
//   clocks.barrier(mask_of_warps);                       // joins them
//
// Every warp carries a vector clock (one entry a warp of its block). Barriers, mbarriers, fences
// with atomics and .sync operations move clocks; each memory granule remembers its last write and
// its last reads. Two accesses race when at least one writes, they are not both synchronising
// accesses, and neither happens before the other: whether the bad order was seen in this run does
// not matter.
//
// Grades: ERROR when the order is certainly missing; WARN for accesses of one warp's lanes that
// only lock-step would order, where several readers were folded into one clock, and where a chain
// of atomics is too long to follow; INFO for lanes of one instruction that write equal values.
// FastTrack (Flanagan and Freund, PLDI 2009) is the model.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "vgpu/findings.h"

namespace fiel::vgpu {

inline constexpr uint32_t kMaxWarps = 32;

/// clock(22) | warp(5) | lane(5); 0 = never.
using Epoch = uint32_t;
constexpr Epoch make_epoch(uint32_t clock, uint32_t warp, uint32_t lane) {
  return clock << 10 | warp << 5 | lane;
}
constexpr uint32_t clock_of(Epoch e) { return e >> 10; }
constexpr uint32_t warp_of(Epoch e) { return e >> 5 & 31; }
constexpr uint32_t lane_of(Epoch e) { return e & 31; }
inline constexpr uint32_t kMaxClock = (1u << 22) - 2;

/// What a release publishes: the clocks of the releasing block as the releasing warp knew them.
using ClockRow = std::array<uint32_t, kMaxWarps>;

/// Clocks of one block's warps. Clocks only grow, from block to block too, so that shadow memory of
/// an earlier block on the same executor reads as ordered without being cleared.
class BlockClocks {
 public:
  /// False when the clock is about to overflow: clear the shadows, then call reset().
  [[nodiscard]] bool start_block(uint32_t n_warps);
  void reset() { base_ = highest_ = 0; }

  uint32_t own(uint32_t warp) const { return rows_[warp][warp]; }
  /// Everything at or below this clock, of any warp of the block, happened before `warp` now.
  uint32_t floor(uint32_t warp) const { return floor_[warp]; }
  bool before(Epoch e, uint32_t warp) const { return clock_of(e) <= rows_[warp][warp_of(e)]; }
  const ClockRow& row(uint32_t warp) const { return rows_[warp]; }

  /// `arriving` warps' past becomes known to the `leaving` ones.
  void barrier(uint32_t arriving, uint32_t leaving);
  /// The warp's lanes met (.sync operations): later accesses are ordered after earlier ones.
  void tick(uint32_t warp);
  /// A fence: what a later relaxed atomic publishes is what was known here. Block scope does not
  /// publish to other blocks.
  void fence(uint32_t warp, bool device_scope);
  const ClockRow& fenced(uint32_t warp, bool device_scope) const {
    return fenced_[device_scope][warp];
  }
  void join(uint32_t warp, const ClockRow& other);
  bool overflowed() const { return overflowed_; }

 private:
  void update_floor(uint32_t warp);
  uint32_t n_warps_ = 0, base_ = 0, highest_ = 0;
  bool overflowed_ = false;
  std::array<ClockRow, kMaxWarps> rows_{};
  std::array<std::array<ClockRow, kMaxWarps>, 2> fenced_{};  ///< by device_scope
  std::array<uint32_t, kMaxWarps> floor_{};
};

/// One warp-level request, lane by lane.
struct RaceRequest {
  uint32_t op = 0;     ///< index of the instruction in the program
  uint32_t bytes = 4;  ///< of a lane
  uint32_t mask = 0;
  bool write = false;          ///< stores and atomics
  bool synchronizing = false;  ///< atomic, volatile, or .relaxed and stronger
  bool acquire = false;  ///< reads through `synchronizing` accesses learn what was released there
  bool release = false;  ///< publishes everything known now, not only what was fenced
  bool many_lanes = false;              ///< a read that stands for several lanes at one address
  bool contiguous = false;              ///< lane i at addresses[0-lane base] + i * bytes, mask full
  const uint64_t* addresses = nullptr;  ///< 32; offsets for shared memory
  const uint8_t* values = nullptr;      ///< stores: bytes of lane i at values + i * value_stride
  uint32_t value_stride = 0;
};

/// Two lanes of one store that write one address, if there are any.
bool find_lanes_that_meet(const RaceRequest& request, uint32_t& lane, uint32_t& other);
bool lanes_write_equal_values(const RaceRequest& request, uint32_t lane, uint32_t other);

struct RaceHit {
  FindingKind kind{};
  Grade grade = Grade::error;
  uint32_t lane = 0;
  uint64_t address = 0;
  bool other_wrote = false;
  uint32_t other_op = 0, other_block = 0, other_warp = 0, other_lane = 0;
};
using RaceSink = std::function<void(const RaceHit&)>;

/// Shadow of one block's shared memory.
class SharedRaces {
 public:
  void start_block(uint32_t shared_bytes);
  void clear();
  void access(BlockClocks& clocks, uint32_t warp, const RaceRequest& request, const RaceSink& sink);
  /// mbarrier objects and other releases and acquires by address.
  void release(BlockClocks& clocks, uint32_t warp, uint64_t offset);
  void acquire(BlockClocks& clocks, uint32_t warp, uint64_t offset);

 private:
  friend struct SharedAccess;
  void split_to(uint32_t shift);
  uint32_t shift_ = 2;  ///< log2 of the granule: words, until something smaller is accessed
  uint32_t bytes_ = 0;
  size_t granules_ = 0;
  std::vector<Epoch> write_, read_;           ///< last write; last read (tag: highest clock)
  std::vector<uint32_t> write_op_, read_op_;  ///< op | flags
  std::vector<uint32_t> readers_;  ///< warps that read since the last write or ordering point
  std::unordered_map<uint64_t, ClockRow> released_;
};

/// Shadow of global memory for one launch, all blocks. Not thread-safe: one worker runs such
/// launches.
class GlobalRaces {
 public:
  GlobalRaces();
  ~GlobalRaces();
  void access(BlockClocks& clocks, uint32_t block, uint32_t warp, const RaceRequest& request,
              const RaceSink& sink);
  /// A barrier inside a block also shares what its warps learned from other blocks.
  void barrier(uint32_t block, uint32_t arriving, uint32_t leaving);
  /// A device-scope fence: what this warp learned so far, its later relaxed atomics pass on.
  void fence(uint32_t block, uint32_t warp);
  void end_block(uint32_t block);

 private:
  struct Page;
  struct Location;
  struct Knowledge;
  friend struct GlobalAccess;
  Page& page(uint64_t address, uint32_t shift);
  enum class Order : uint8_t { before, none, unknown };
  Order order_of(const Knowledge& knowledge, uint32_t block, Epoch e) const;
  void synchronize(BlockClocks& clocks, uint32_t block, uint32_t warp, const RaceRequest& request);
  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages_;
  uint64_t last_page_ = ~uint64_t{0};
  Page* last_ = nullptr;
  std::unordered_map<uint64_t, std::unique_ptr<Location>> locations_;
  std::unordered_map<uint64_t, std::unique_ptr<Knowledge>> knowledge_;  ///< by block << 5 | warp
};

}  // namespace fiel::vgpu
