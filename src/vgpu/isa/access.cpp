// access(): the general path, lane by lane. The fast paths of memory.cpp fall back to it, so this
// file defines what is checked and in which order.
#include "vgpu/isa/memory_inline.h"

namespace fiel::vgpu::FIEL_ISA {
namespace {

/// Lanes that failed, by reason, while one request is checked.
struct Faults {
  uint32_t misaligned = 0, out_of_bounds = 0, freed = 0, read_only = 0;
  uint32_t uninitialized = 0, in_flight_read = 0, in_flight_write = 0;
  uint32_t fatal() const { return misaligned | out_of_bounds | freed | read_only; }
  uint32_t any() const { return fatal() | uninitialized | in_flight_read | in_flight_write; }
};

bool reads(AccessKind kind) {
  return kind == AccessKind::load || kind == AccessKind::atomic || kind == AccessKind::async_load;
}
bool writes(AccessKind kind) { return kind != AccessKind::load && kind != AccessKind::async_load; }

void report_faults(Warp& warp, const Op& op, const Faults& faults, const uint64_t* addresses,
                   uint32_t bytes, ptx::Space space) {
  const auto tell = [&](FindingKind kind, uint32_t lanes) {
    if (lanes != 0) report_access(warp, op, kind, lanes, addresses, bytes, space);
  };
  const FindingKind uninitialized = space == ptx::Space::shared ? FindingKind::uninitialized_shared
                                    : space == ptx::Space::local
                                        ? FindingKind::uninitialized_local
                                        : FindingKind::uninitialized_global;
  tell(FindingKind::misaligned, faults.misaligned);
  tell(FindingKind::out_of_bounds, faults.out_of_bounds);
  tell(FindingKind::use_after_free, faults.freed);
  tell(FindingKind::write_to_const, faults.read_only);
  tell(FindingKind::in_flight_read, faults.in_flight_read);
  tell(FindingKind::in_flight_write, faults.in_flight_write);
  tell(uninitialized, faults.uninitialized);
  if (faults.fatal() != 0) stop_faulted(warp);
}

void check_global(Warp& warp, const Op& op, const AccessSpec& spec, const uint64_t* addresses,
                  uint32_t mask, LanePointers& to, Faults& faults) {
  Executor& executor = *warp.executor;
  RangeHint& hint = hint_of(executor, op);
  for_lanes(mask, [&](int lane) {
    const uint64_t address = addresses[lane];
    const uint32_t bit = 1u << lane;
    if (!(address >= hint.begin && address + spec.bytes <= hint.end && address < hint.end)) {
      FindingKind kind{};
      if (!find_range(warp, address, spec.bytes, hint, kind)) {
        (kind == FindingKind::use_after_free ? faults.freed : faults.out_of_bounds) |= bit;
        return;
      }
    }
    to.at[lane] = host(address);
    const uint64_t offset = address - executor.arena_base;
    if (reads(spec.kind) && spec.check_initialized && executor.check_initialized &&
        (hint.flags & kRangeFilled) == 0 && !initialized(executor.arena_shadow, offset, spec.bytes))
      faults.uninitialized |= bit;
    if (!writes(spec.kind)) return;
    if ((hint.flags & kRangeReadOnly) != 0) {
      faults.read_only |= bit;
    } else if ((hint.flags & kRangeOutput) != 0) {
      spec.kind == AccessKind::atomic ? mark_added(executor.arena_shadow, offset, spec.bytes)
                                      : mark_written(executor.arena_shadow, offset, spec.bytes);
    } else if ((hint.flags & kRangeFilled) == 0) {
      mark_initialized(executor.arena_shadow, offset, spec.bytes);
    }
  });
}

void check_shared(Warp& warp, const AccessSpec& spec, const uint64_t* addresses, uint32_t mask,
                  LanePointers& to, Faults& faults) {
  Cta& cta = *warp.cta;
  for_lanes(mask, [&](int lane) {
    const uint64_t offset = addresses[lane];
    const uint32_t bit = 1u << lane;
    if (offset >= cta.shared_bytes || offset + spec.bytes > cta.shared_bytes) {
      faults.out_of_bounds |= bit;
      return;
    }
    to.at[lane] = cta.shared + offset;
    if (reads(spec.kind) && !settled(cta.shared_shadow, offset, spec.bytes)) {
      if (in_flight(cta.shared_shadow, offset, spec.bytes))
        faults.in_flight_read |= bit;
      else if (spec.check_initialized && warp.executor->check_initialized)
        faults.uninitialized |= bit;
    }
    if (!writes(spec.kind)) return;
    if (!reads(spec.kind) && in_flight(cta.shared_shadow, offset, spec.bytes))
      faults.in_flight_write |= bit;
    if (spec.kind == AccessKind::async_store)
      for_words(cta.shared_shadow, offset, spec.bytes, [](uint8_t& state, uint8_t bits) {
        state = static_cast<uint8_t>((state & ~bits) | (0xAA & bits));
      });
    else
      set_settled(cta.shared_shadow, offset, spec.bytes);
  });
}

void check_local(Warp& warp, const AccessSpec& spec, const uint64_t* addresses, uint32_t mask,
                 LanePointers& to, Faults& faults) {
  Cta& cta = *warp.cta;
  const uint64_t stride = warp.executor->local_stride;
  for_lanes(mask, [&](int lane) {
    const uint64_t offset = addresses[lane];
    if (offset >= stride || offset + spec.bytes > stride) {
      faults.out_of_bounds |= 1u << lane;
      return;
    }
    const uint64_t at =
        (warp.index * uint64_t{kLanes} + static_cast<uint64_t>(lane)) * stride + offset;
    to.at[lane] = cta.local + at;
    if (reads(spec.kind) && spec.check_initialized && warp.executor->check_initialized &&
        !initialized(cta.local_shadow, at, spec.bytes))
      faults.uninitialized |= 1u << lane;
    if (writes(spec.kind)) set_settled(cta.local_shadow, at, spec.bytes);
  });
}

/// The rows of ldmatrix and the 16-byte copies of cp.async, when nothing is wrong with them: the
/// same checks in short loops. False: nothing has happened, the general path must look.
bool quick_shared(Warp& warp, const AccessSpec& spec, const uint64_t* addresses, uint32_t mask,
                  LanePointers& to) {
  const bool load = spec.kind == AccessKind::load;
  if (!load && spec.kind != AccessKind::async_store) return false;
  Cta& cta = *warp.cta;
  uint64_t all = 0, highest = 0;
  for_lanes(mask, [&](int lane) {
    all |= addresses[lane];
    highest = addresses[lane] > highest ? addresses[lane] : highest;
  });
  if ((all & 15) != 0 || cta.shared_bytes < 16 || highest > cta.shared_bytes - 16u) return false;
  constexpr uint32_t kSettled = 0x55555555u, kFlying = 0xAAAAAAAAu;
  uint32_t wrong = 0;
  for_lanes(mask, [&](int lane) {
    uint32_t state;
    memcpy(&state, cta.shared_shadow + (addresses[lane] >> 2), 4);
    wrong |= load ? state ^ kSettled : state & kFlying;
    to.at[lane] = cta.shared + addresses[lane];
  });
  if (wrong != 0) return false;
  if (load) return true;
  for_lanes(mask, [&](int lane) {
    uint8_t* at = cta.shared_shadow + (addresses[lane] >> 2);
    uint32_t state;
    memcpy(&state, at, 4);
    wrong |= state & kFlying;  // another lane of this copy has the same destination
    memcpy(at, &kFlying, 4);
  });
  if (wrong == 0) return true;
  for_lanes(mask, [&](int lane) { memset(cta.shared_shadow + (addresses[lane] >> 2), 0, 4); });
  return false;
}

/// Loads of 2, 4 or 8 bytes, all lanes inside, aligned and settled: what wmma.load does most. Other
/// lanes' pointers stay: a generic request may have found them in other spaces already.
template <uint32_t kBytes>
bool quick_shared_load(Warp& warp, const uint64_t* addresses, uint32_t mask, LanePointers& to) {
  Cta& cta = *warp.cta;
  uint64_t all = 0, highest = 0;
  const uint64_t any = addresses[first_lane(mask)];
  alignas(64) uint64_t at[kLanes];
  for (int i = 0; i < kLanes; ++i) {
    at[i] = (mask >> i & 1u) != 0 ? addresses[i] : any;
    all |= at[i];
  }
  // Offsets are below 2^32 once their union is.
  if ((all & (kBytes - 1)) != 0 || all >> 32 != 0) return false;
  for (int i = 0; i < kLanes; ++i) highest = at[i] > highest ? at[i] : highest;
  if (highest + kBytes > cta.shared_bytes) return false;
  uint32_t wrong = 0;
  for (int i = 0; i < kLanes; ++i) {
    if constexpr (kBytes == 8) {
      uint16_t state;
      memcpy(&state, cta.shared_shadow + (at[i] >> 2), 2);
      wrong |= state ^ 0x5555u;
    } else {
      const uint8_t bits = kBytes == 4 ? 0xff : state_bits(at[i] & 3, kBytes);
      wrong |= static_cast<uint32_t>((cta.shared_shadow[at[i] >> 2] ^ 0x55) & bits);
    }
  }
  if (wrong != 0) return false;
  if (mask == kFullMask)
    for (int i = 0; i < kLanes; ++i) to.at[i] = cta.shared + at[i];
  else
    for_lanes(mask, [&](int i) { to.at[i] = cta.shared + at[i]; });
  return true;
}

bool quick(Warp& warp, const AccessSpec& spec, const uint64_t* addresses, uint32_t mask,
           LanePointers& to) {
  if (spec.bytes == 16) return quick_shared(warp, spec, addresses, mask, to);
  if (spec.kind != AccessKind::load || spec.alignment > spec.bytes) return false;
  if (spec.bytes == 4) return quick_shared_load<4>(warp, addresses, mask, to);
  if (spec.bytes == 2) return quick_shared_load<2>(warp, addresses, mask, to);
  if (spec.bytes == 8) return quick_shared_load<8>(warp, addresses, mask, to);
  return false;
}

uint32_t access_space(Warp& warp, const Op& op, const AccessSpec& spec, ptx::Space space,
                      const uint64_t* addresses, uint32_t mask, LanePointers& to) {
  Faults faults;
  if (space != ptx::Space::shared || !quick(warp, spec, addresses, mask, to)) {
    const uint32_t alignment = spec.alignment != 0 ? spec.alignment : spec.bytes;
    for_lanes(mask, [&](int lane) {
      if ((addresses[lane] & (alignment - 1)) != 0) faults.misaligned |= 1u << lane;
    });
    const uint32_t aligned = mask & ~faults.misaligned;
    switch (space) {
      case ptx::Space::shared:
        check_shared(warp, spec, addresses, aligned, to, faults);
        break;
      case ptx::Space::local:
        check_local(warp, spec, addresses, aligned, to, faults);
        break;
      default:
        check_global(warp, op, spec, addresses, aligned, to, faults);
        break;
    }
  }
  if (faults.any() != 0) [[unlikely]]
    report_faults(warp, op, faults, addresses, spec.bytes, space);
  if (warp.executor->watch != 0) {
    const Access seen{.space = space == ptx::Space::generic ? ptx::Space::global : space,
                      .kind = spec.kind,
                      .semantics = spec.semantics,
                      .scope = spec.scope,
                      .shape = AccessShape::scattered,
                      .bytes = spec.bytes,
                      .mask = mask & ~faults.fatal(),
                      .base = 0,
                      .addresses = addresses,
                      .values = spec.values,
                      .value_stride = spec.value_stride};
    if (seen.mask != 0) observe_access(warp, op, seen);
  }
  // A fault stops the launch; the lanes that were right have still done their part on a GPU.
  return mask & ~faults.fatal();
}

}  // namespace

uint32_t access(Warp& warp, const Op& op, const AccessSpec& spec, const uint64_t* addresses,
                uint32_t mask, LanePointers& to) {
  if (spec.space != ptx::Space::generic && spec.space != ptx::Space::none)
    return access_space(warp, op, spec, spec.space, addresses, mask, to);
  uint32_t shared = 0, local = 0;
  alignas(64) uint64_t offsets[kLanes];
  if (mask == kFullMask) {
    uint64_t high = 0;
    for (int i = 0; i < kLanes; ++i) {
      offsets[i] = addresses[i] - kSharedWindow;
      high |= offsets[i];
    }
    if (high < kWindowBytes)
      return access_space(warp, op, spec, ptx::Space::shared, offsets, mask, to);
  }
  for_lanes(mask, [&](int lane) {
    const uint64_t address = addresses[lane];
    if (address - kSharedWindow < kWindowBytes) {
      shared |= 1u << lane;
      offsets[lane] = address - kSharedWindow;
    } else if (address - kLocalWindow < kWindowBytes) {
      local |= 1u << lane;
      offsets[lane] = address - kLocalWindow;
    }
  });
  uint32_t good = 0;
  const uint32_t global = mask & ~shared & ~local;
  if (global != 0) good |= access_space(warp, op, spec, ptx::Space::global, addresses, global, to);
  if (shared != 0) good |= access_space(warp, op, spec, ptx::Space::shared, offsets, shared, to);
  if (local != 0) good |= access_space(warp, op, spec, ptx::Space::local, offsets, local, to);
  return good;
}

}  // namespace fiel::vgpu::FIEL_ISA
