// How an instruction touches memory: addresses of 32 lanes in, host pointers out, every check done.
//
//   alignas(64) uint64_t address[kLanes];
//   lane_addresses(warp, list[0], 64, offset, address);            // slot + constant
//   LanePointers to;
//   mask = access(warp, op, {.space = space, .kind = AccessKind::load, .bytes = 16}, address, mask,
//   to); for (lanes of mask) memcpy(register, to.at[lane], 16);
//
// access() resolves generic addresses, checks bounds, alignment, initialisation (loads), bytes in
// flight, marks initialisation and coverage (stores), tells the observers (races, metrics), and
// reports findings. It returns the lanes that may go on: 0 when the launch was stopped by a fault
// (an access outside memory, misaligned, or to read-only memory), as on a GPU.
// ld, st and atom have faster paths of their own (isa/memory.cpp) with the same checks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ptx/type.h"
#include "vgpu/warp.h"

namespace fiel::vgpu {

enum class AccessKind : uint8_t {
  load,
  store,
  atomic,       ///< read-modify-write; initialisation is checked as for a load
  async_load,   ///< source of an asynchronous copy
  async_store,  ///< destination of an asynchronous copy: shared bytes become "in flight"
};

struct AccessSpec {
  ptx::Space space = ptx::Space::generic;  ///< as the instruction says
  AccessKind kind = AccessKind::load;
  ptx::Semantics semantics = ptx::Semantics::weak;
  ptx::Scope scope = ptx::Scope::none;
  uint32_t bytes = 4;      ///< of a lane, 1..64; need not be a power of two
  uint32_t alignment = 0;  ///< 0: = bytes
  bool check_initialized = true;
  const uint8_t* values = nullptr;  ///< stores: what lane i is about to write, for race detection
  uint32_t value_stride = 0;
};

struct LanePointers {
  uint8_t* at[kLanes];
};

/// Slot (32- or 64-bit by `bits`) plus constant, for all lanes.
[[gnu::always_inline]] inline void lane_addresses(Warp& warp, uint32_t slot, uint32_t bits,
                                                  int64_t offset, uint64_t* out) {
  if (bits == 64) {
    const uint64_t* from = warp.reg<uint64_t>(slot);
    for (int i = 0; i < kLanes; ++i) out[i] = from[i] + static_cast<uint64_t>(offset);
  } else {
    const uint32_t* from = warp.reg<uint32_t>(slot);
    for (int i = 0; i < kLanes; ++i)
      out[i] = static_cast<uint32_t>(from[i] + static_cast<uint32_t>(offset));
  }
}

/// The operand list of an op (program.h says how it is laid out).
const uint32_t* operand_list(const Warp& warp, const Op& op);

/// Bytes of the block's shared memory, by offset, for code that has already been checked.
uint8_t* shared_memory(Warp& warp);
/// Ends the flight of shared bytes that an async_store marked: they become initialised.
void land_shared_bytes(Warp& warp, uint32_t offset, uint32_t bytes);
/// Offset of a shared address as access() saw it (generic or not); ~0u when it is not shared.
uint32_t shared_offset(Warp& warp, ptx::Space space, uint64_t address);

/// The warp should be exchanged after this op (a wait that failed: try_wait, nanosleep).
void yield_after(Warp& warp);
/// Stops the launch with status `faulted` after this op.
void stop_faulted(Warp& warp);
/// A finding with words of its own; lanes are folded into one occurrence.
void report_with_detail(Warp& warp, const Op& op, uint8_t finding_kind, uint32_t lanes,
                        const char* detail);

/// State of the asynchronous copies of a warp, and of a block, owned by isa/async_copy.cpp and
/// isa/mbarrier.cpp: created by them on first use, destroyed with `destroy` when the block ends.
struct Attachment {
  void* state = nullptr;
  void (*destroy)(void*) = nullptr;
  /// What this warp's last wait lacks, for the report of a deadlock ("mbarrier at shared offset
  /// 0x400 lacks 16 of 4096 bytes"), and the instruction that waits; null when it waits for
  /// nothing here.
  const Op* (*describe_wait)(Warp& warp, char* text, size_t size) = nullptr;
  /// Lanes of the warp that do nothing but wait here, for something that has not changed in a long
  /// time; when all lanes of a block that could run are such, it is deadlocked.
  uint32_t (*stuck_lanes)(Warp& warp) = nullptr;
};
Attachment& warp_attachment(Warp& warp);
Attachment& block_attachment(Warp& warp);

#define FIEL_X(isa)                                                                            \
  namespace isa {                                                                              \
  uint32_t access(Warp& warp, const Op& op, const AccessSpec& spec, const uint64_t* addresses, \
                  uint32_t mask, LanePointers& to);                                            \
  }
FIEL_X(avx2)
FIEL_X(avx512)
#undef FIEL_X

}  // namespace fiel::vgpu
