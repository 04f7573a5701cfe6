// What race detection and metrics are told: every memory request, barrier, fence and copy event.
//
//   if (watching(warp, kWatchMetrics)) observe_access(warp, op, access);
//
// `warp.watch` holds the bits that this launch switched on, so that "off" costs one test. The
// functions are called by isa/*.cpp and by the scheduler, and lead to the worker's Observer; the
// addresses are those the program sees: global = device address, shared = offset in the block's
// shared memory, local = offset in the thread's stack.
#pragma once

#include <cstdint>

#include "ptx/type.h"
#include "vgpu/isa/memory_access.h"
#include "vgpu/warp.h"

namespace fiel::vgpu {

inline constexpr uint32_t kWatchMetrics = 1u;
inline constexpr uint32_t kWatchSharedRaces = 2u;
inline constexpr uint32_t kWatchGlobalRaces = 4u;

enum class AccessShape : uint8_t {
  scattered,   ///< look at addresses[]
  contiguous,  ///< lane i at base + i * bytes (lanes outside the mask too, as if)
  uniform,     ///< every lane at base
};

struct Access {
  ptx::Space space;  ///< resolved: global, shared, local, constant or param
  AccessKind kind;
  ptx::Semantics semantics;
  ptx::Scope scope;
  AccessShape shape;
  uint32_t bytes;  ///< of a lane (all elements of a vector)
  uint32_t mask;
  uint64_t base;              ///< contiguous, uniform
  const uint64_t* addresses;  ///< scattered: 32 of them, valid under the mask
  const uint8_t*
      values;  ///< stores: bytes about to be written, lane i at values + i * value_stride;
  uint32_t value_stride;  ///< null when not known
};

void observe_access(Warp& warp, const Op& op, const Access& access);

inline constexpr uint32_t kArriveOnly = 0x80000000u;  ///< with the id: bar.arrive, does not wait

/// The warps' lanes that completed barrier `id` together (one call a participating warp, then
/// `last` = true with the last of them).
void observe_barrier(Warp& warp, const Op& op, uint32_t id, uint32_t mask, bool last);
/// bar.warp.sync and the convergence that .sync warp operations imply.
void observe_warp_sync(Warp& warp, const Op& op, uint32_t mask);
void observe_fence(Warp& warp, const Op& op, uint32_t mask, ptx::Scope scope);
/// mbarrier arrive (release) and successful wait (acquire) on the object at shared offset `at`.
void observe_mbarrier(Warp& warp, const Op& op, uint32_t mask, const uint64_t* at, bool arrive);
/// A wait (cp.async.wait_group) that makes the warp's own copies visible to it. Their bytes were
/// recorded as written by their lanes when they were issued, so nothing moves here.
inline void observe_copy_wait(Warp&, const Op&, uint32_t) {}

}  // namespace fiel::vgpu
