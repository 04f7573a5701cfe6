// What one worker of a launch records while it runs: memory transactions by instruction, the bytes
// that were touched at all, and the clocks and shadows of race detection.
//
//   executor.observer = &observer;                       // the hooks of isa/observe.h lead here
//   observer.start_block(cta); … observer.end_block(cta);
//   add_counters(observer, totals);                      // after the launch
//
// One per executor; blocks that are resident together have clocks of their own. Global race
// detection needs GlobalRaces, which one worker at a time may use.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "vgpu/isa/observe.h"
#include "vgpu/metrics.h"
#include "vgpu/race.h"
#include "vgpu/request_pattern.h"

namespace fiel::vgpu {

struct Program;

/// Transactions of one instruction, summed over its executions. An instruction may touch several
/// spaces: cp.async two, a generic access any.
struct TransactionCounts {
  MemoryCounters global, local;
  SharedCounters shared;
  uint64_t contention = 0;  ///< most lanes of one atomic request on one address

  void operator+=(const TransactionCounts& other);
};

/// One bit for each 32-byte sector of the arena; pages appear when touched.
class SectorMap {
 public:
  SectorMap() = default;
  SectorMap(const SectorMap&) = delete;
  SectorMap& operator=(const SectorMap&) = delete;
  ~SectorMap();
  bool reserve(uint64_t base, uint64_t bytes);
  [[gnu::always_inline]] void set(uint64_t address, uint64_t bytes) {
    uint64_t first = (address - base_) >> 5, last = (address + bytes - 1 - base_) >> 5;
    if (last >= sectors_) return;
    for (uint64_t s = first; s <= last;) {
      uint64_t in_word = 64 - (s & 63), n = last - s + 1 < in_word ? last - s + 1 : in_word;
      words_[s >> 6] |= (n == 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1) << (s & 63);
      s += n;
    }
    low_ = first < low_ ? first : low_;
    high_ = last > high_ ? last : high_;
  }
  /// Sectors set in any of the maps, times 32.
  static uint64_t union_bytes(const std::vector<const SectorMap*>& maps);

 private:
  uint64_t base_ = 0, sectors_ = 0, low_ = ~uint64_t{0}, high_ = 0;
  uint64_t* words_ = nullptr;
};

class Observer {
 public:
  /// `watch`: bits of isa/observe.h. `global` may be null when global races are not watched.
  Observer(const Program& program, uint32_t watch, uint64_t arena_base, uint64_t arena_bytes,
           GlobalRaces* global);
  ~Observer();

  void start_block(Cta& cta);
  void end_block(Cta& cta);

  void access(Warp& warp, const Op& op, const Access& access);
  void barrier_arrived(Warp& warp, uint32_t id, bool waits);
  void barrier_completed(Cta& cta, uint32_t id);
  void warp_sync(Warp& warp);
  void fence(Warp& warp, bool device_scope);
  void mbarrier(Warp& warp, uint32_t offset, bool arrive);

  const std::vector<TransactionCounts>& counts() const { return counts_; }
  const SectorMap& sectors_read() const { return read_; }
  const SectorMap& sectors_written() const { return written_; }

 private:
  struct BlockState;
  BlockState& state(const Cta& cta);
  void count(uint32_t op, const Access& access);
  void check_races(Warp& warp, uint32_t op, const Access& access);
  void report(Warp& warp, uint32_t op, const Access& access, const RaceHit& hit);

  const Program& program_;
  uint32_t watch_;
  GlobalRaces* global_;
  std::vector<TransactionCounts> counts_;
  std::vector<RequestPattern> patterns_;  ///< by op; cp.async's two spaces take turns
  SectorMap read_, written_;
  std::unordered_map<const Cta*, std::unique_ptr<BlockState>> blocks_;
  const Cta* last_cta_ = nullptr;
  BlockState* last_state_ = nullptr;
};

}  // namespace fiel::vgpu
