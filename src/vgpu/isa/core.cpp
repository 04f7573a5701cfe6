// The small handlers around memory and control, and the table that hands all of them to lowering.
#include "vgpu/isa/memory_inline.h"

namespace fiel::vgpu::FIEL_ISA {

RunEnd run_warp(WarpState& warp);
Handler select_load(const MemoryShape& shape);
Handler select_store(const MemoryShape& shape);
Handler select_atomic(const ptx::Instruction& instruction);

namespace {

template <typename T>
FIEL_INLINE void copy_lanes(T* to, const T* from, uint32_t mask) {
  if (mask == kFullMask)
    for (int i = 0; i < kLanes; ++i) to[i] = from[i];
  else
    for_lanes(mask, [&](int i) { to[i] = from[i]; });
}

void move_32(Warp& warp, const Op& op, uint32_t mask) {
  copy_lanes(warp.reg<uint32_t>(op.dst), warp.reg<uint32_t>(op.a), mask);
}
void move_64(Warp& warp, const Op& op, uint32_t mask) {
  copy_lanes(warp.reg<uint64_t>(op.dst), warp.reg<uint64_t>(op.a), mask);
}
void move_128(Warp& warp, const Op& op, uint32_t mask) {
  struct alignas(16) Wide {
    uint64_t word[2];
  };
  copy_lanes(warp.reg<Wide>(op.dst), warp.reg<Wide>(op.a), mask);
}
void move_predicate(Warp& warp, const Op& op, uint32_t mask) {
  uint32_t from = warp.pred(op.a);
  if ((op.flags & kNegatedA) != 0) from = ~from;
  uint32_t& to = warp.pred(op.dst);
  to = (to & ~mask) | (from & mask);
}

void fence(Warp& warp, const Op& op, uint32_t mask) {
  if (warp.executor->watch != 0)
    observe_fence(warp, op, mask, static_cast<ptx::Scope>(op.imm & 15));
}
void no_op(Warp&, const Op&, uint32_t) {}
void warp_sync(Warp& warp, const Op& op, uint32_t mask) {
  if (warp.executor->watch != 0) observe_warp_sync(warp, op, mask);
}
void trap(Warp& warp, const Op& op, uint32_t mask) {
  report_lanes(warp, op, static_cast<uint8_t>(FindingKind::trap), mask);
  stop_faulted(warp);
}
void nanosleep(Warp& warp, const Op&, uint32_t) { yield_after(warp); }

/// Counts control transfers of the warp: grows like a clock, and a seed gives it again.
void read_clock(Warp& warp, const Op& op, uint32_t mask) {
  const uint64_t now = state_of(warp).steps * 4;
  if (op.imm == 64)
    for_lanes(mask, [&](int i) { warp.reg<uint64_t>(op.dst)[i] = now; });
  else
    for_lanes(mask, [&](int i) {
      warp.reg<uint32_t>(op.dst)[i] = static_cast<uint32_t>(op.imm == 33 ? now >> 32 : now);
    });
}

/// imm = Space; dst = predicate. flags & kAddress64: 64-bit address.
void isspacep(Warp& warp, const Op& op, uint32_t mask) {
  alignas(64) uint64_t addresses[kLanes];
  lane_addresses(warp, op.a, (op.flags & kAddress64) != 0 ? 64 : 32, 0, addresses);
  const auto space = static_cast<ptx::Space>(op.imm & 15);
  uint32_t yes = 0;
  for_lanes(mask, [&](int i) {
    const bool shared = addresses[i] - kSharedWindow < kWindowBytes;
    const bool local = addresses[i] - kLocalWindow < kWindowBytes;
    RangeHint hint;
    FindingKind kind{};
    bool in = false;
    switch (space) {
      case ptx::Space::shared:
        in = shared;
        break;
      case ptx::Space::local:
        in = local;
        break;
      case ptx::Space::constant:
        in = !shared && !local && find_range(warp, addresses[i], 1, hint, kind) &&
             (hint.flags & kRangeReadOnly) != 0 && !is_parameter(warp, addresses[i]);
        break;
      case ptx::Space::param:
        in = is_parameter(warp, addresses[i]);
        break;
      default:
        // Parameters of a kernel lie within the global window.
        in = !shared && !local &&
             (is_parameter(warp, addresses[i]) || !(find_range(warp, addresses[i], 1, hint, kind) &&
                                                    (hint.flags & kRangeReadOnly) != 0));
        break;
    }
    if (in) yes |= 1u << i;
  });
  uint32_t& to = warp.pred(op.dst);
  to = (to & ~mask) | (yes & mask);
}

void add_offset_64(Warp& warp, const Op& op, uint32_t mask) {
  const uint64_t* from = warp.reg<uint64_t>(op.a);
  uint64_t* to = warp.reg<uint64_t>(op.dst);
  for_lanes(mask, [&](int i) { to[i] = from[i] + op.imm; });
}

const CoreHandlers kCore = {
    .run_warp = &run_warp,
    .load = &select_load,
    .store = &select_store,
    .atomic = &select_atomic,
    .move_32 = &move_32,
    .move_64 = &move_64,
    .move_128 = &move_128,
    .move_predicate = &move_predicate,
    .fence = &fence,
    .no_op = &no_op,
    .warp_sync = &warp_sync,
    .trap = &trap,
    .nanosleep = &nanosleep,
    .read_clock = &read_clock,
    .isspacep = &isspacep,
    .add_offset_64 = &add_offset_64,
};

}  // namespace

const CoreHandlers& core_handlers() { return kCore; }

}  // namespace fiel::vgpu::FIEL_ISA
