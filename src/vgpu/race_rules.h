// What the shared and the global race detector agree on: the flags beside an instruction in their
// shadows, and lanes of one instruction that meet.
#pragma once

#include "vgpu/race.h"

namespace fiel::vgpu {

// Flags in a shadow's op words, above the index of the instruction.
inline constexpr uint32_t kSyncAccess = 1u << 31;  ///< a synchronising access
inline constexpr uint32_t kManyLanes = 1u << 30;   ///< a read by more than one lane of the warp
inline constexpr uint32_t kInexact = 1u << 29;     ///< readers of different clocks share one tag
inline constexpr uint32_t kOpMask = kInexact - 1;

inline uint32_t op_with_flags(const RaceRequest& request) {
  return request.op | (request.synchronizing ? kSyncAccess : 0) |
         (request.many_lanes ? kManyLanes : 0);
}

/// Two synchronising accesses never race with each other.
inline bool both_synchronize(uint32_t other_op, const RaceRequest& request) {
  return (other_op & kSyncAccess) != 0 && request.synchronizing;
}

/// Lanes of one store that write one address: equal values are worth a note, others are a race.
/// `hit(lane, other, kind, grade)` is told of the first two; false when there are none.
template <typename Hit>
bool check_lanes_that_meet(const RaceRequest& request, FindingKind race, Hit&& hit) {
  uint32_t lane = 0, other = 0;
  if (!request.write || request.synchronizing || !find_lanes_that_meet(request, lane, other))
    return false;
  const bool equal = lanes_write_equal_values(request, lane, other);
  hit(lane, other, equal ? FindingKind::same_value_race : race, equal ? Grade::info : Grade::error);
  return true;
}

}  // namespace fiel::vgpu
