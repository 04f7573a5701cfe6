// What cp.async and mbarrier remember between instructions: copies in flight of a warp, barriers of
// a block.
//
//   AsyncCopies& copies = async_copies(warp);            // made on first use
//   copies.land(warp, copies.issued(), lanes);           // everything those lanes issued has
//   arrived describe_failed_wait(warp, buffer, sizeof buffer);   // for deadlock reports
//
// A copy moves its bytes when it is issued; what stays is that its destination is "in flight" until
// the thread that issued it waits, or an mbarrier that tracks it completes its phase. It says
// nothing of races: those are the observers' (observe.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "vgpu/isa/memory_access.h"

namespace fiel::vgpu::FIEL_ISA {

class AsyncCopies {
 public:
  /// Lanes of `mask` have started to copy `bytes` each to shared offsets.
  void issue(uint32_t mask, uint32_t bytes, const uint32_t* offsets);
  void commit(uint32_t mask);
  /// Lands all but the `newest` most recent committed groups of each lane.
  void wait(Warp& warp, uint32_t mask, uint32_t newest);
  /// Number of copies issued so far; a bound for land().
  uint64_t issued() const { return next_; }
  /// Lands copies that were issued before `bound`.
  void land(Warp& warp, uint64_t bound, uint32_t mask);

 private:
  struct Copy {
    uint64_t number = 0;
    uint32_t mask = 0;  ///< lanes whose part is still in flight
    uint32_t bytes = 0;
    uint32_t offset[kLanes];
    uint32_t group[kLanes];  ///< commits of the lane when it was issued
  };
  void land_part(Warp& warp, Copy& copy, uint32_t lanes);
  void forget_landed();

  std::deque<Copy> copies_;
  uint64_t next_ = 0;
  uint32_t commits_[kLanes] = {};
};
AsyncCopies& async_copies(Warp& warp);

/// The barriers of a block that track copies or bytes; the counts themselves are in the object.
class BlockBarriers {
 public:
  struct Tracked {
    AsyncCopies* copies = nullptr;
    uint64_t bound = 0;
    uint32_t lanes = 0;
  };
  struct Barrier {
    uint32_t offset = 0;
    uint64_t expected_bytes = 0;  ///< by expect_tx, this phase
    std::vector<Tracked> tracked;
  };
  Barrier& at(uint32_t offset);
  Barrier* find(uint32_t offset);

  /// The latest wait that failed, by warp, for deadlock reports.
  struct FailedWait {
    uint32_t warp = 0;
    const Op* op = nullptr;  ///< the wait itself: its loop may have been left anywhere
    uint32_t offset = 0;
    uint32_t parity = 0;
    uint64_t changes = 0;            ///< of the block's barriers, when `failures` began
    uint32_t failures[kLanes] = {};  ///< in a row, by lane
  };
  void note_failed_wait(uint32_t warp, const Op& op, uint32_t lanes, uint32_t offset,
                        uint32_t parity);
  void forget_failed_wait(uint32_t warp, uint32_t lanes);
  const FailedWait* failed_wait(uint32_t warp) const;
  /// Lanes that have failed very often while no barrier of the block changed.
  uint32_t stuck_lanes(uint32_t warp) const;
  /// Some barrier of the block has changed: who waits may hope again.
  void note_change() { ++changes_; }

 private:
  std::vector<Barrier> barriers_;
  std::vector<FailedWait> failed_;
  uint64_t changes_ = 0;
};
BlockBarriers& block_barriers(Warp& warp);

/// "mbarrier at shared offset 0x400, phase 0: 3 of 128 arrivals and 16 of 4096 bytes are missing";
/// the instruction that waits, or null when the warp's last wait did not fail.
const Op* describe_failed_wait(Warp& warp, char* buffer, size_t size);

}  // namespace fiel::vgpu::FIEL_ISA
