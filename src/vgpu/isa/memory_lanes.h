// How memory.cpp moves a warp's elements between registers and memory, and what shape its addresses
// have. Elements of M in memory, lanes of R in registers, V elements a lane.
#pragma once

#include <type_traits>

#include "vgpu/isa/memory_inline.h"

namespace fiel::vgpu::FIEL_ISA {

FIEL_INLINE uint32_t element_slot(const Op& op, int i) {
  switch (i) {
    case 0:
      return op.dst;
    case 1:
      return op.dst2;
    case 2:
      return op.c;
    default:
      return op.d;
  }
}

FIEL_INLINE void tell(Warp& warp, const Op& op, ptx::Space space, AccessKind kind,
                      AccessShape shape, uint32_t bytes, uint32_t mask, uint64_t base,
                      const uint64_t* addresses, const uint8_t* values = nullptr,
                      uint32_t value_stride = 0) {
  const MemoryShape form = MemoryShape::decode(op.imm);
  observe_access(warp, op,
                 Access{.space = space,
                        .kind = kind,
                        .semantics = form.semantics,
                        .scope = form.scope,
                        .shape = shape,
                        .bytes = bytes,
                        .mask = mask,
                        .base = base,
                        .addresses = addresses,
                        .values = values,
                        .value_stride = value_stride});
}

// Elements of M in memory, lanes of R in registers (M narrower: zero- or sign-extended; wider
// never).
template <typename M, typename R, int V>
FIEL_INLINE void registers_from_contiguous(Warp& warp, const Op& op, uint32_t mask,
                                           const uint8_t* lane0) {
  if (mask == kFullMask) {
    for (int v = 0; v < V; ++v) {
      R* to = warp.reg<R>(element_slot(op, v));
      for (int i = 0; i < kLanes; ++i) {
        M value;
        memcpy(&value, lane0 + sizeof(M) * static_cast<size_t>(V * i + v), sizeof(M));
        to[i] = static_cast<R>(value);
      }
    }
    return;
  }
  for (int v = 0; v < V; ++v) {
    R* to = warp.reg<R>(element_slot(op, v));
    for_lanes(mask, [&](int i) {
      M value;
      memcpy(&value, lane0 + sizeof(M) * static_cast<size_t>(V * i + v), sizeof(M));
      to[i] = static_cast<R>(value);
    });
  }
}

template <typename M, typename R, int V>
FIEL_INLINE void registers_from_uniform(Warp& warp, const Op& op, uint32_t mask,
                                        const uint8_t* from) {
  for (int v = 0; v < V; ++v) {
    M value;
    memcpy(&value, from + sizeof(M) * static_cast<size_t>(v), sizeof(M));
    const R wide = static_cast<R>(value);
    R* to = warp.reg<R>(element_slot(op, v));
    if (mask == kFullMask)
      for (int i = 0; i < kLanes; ++i) to[i] = wide;
    else
      for_lanes(mask, [&](int i) { to[i] = wide; });
  }
}

template <typename M, typename R, int V>
FIEL_INLINE void registers_from_lanes(Warp& warp, const Op& op, uint32_t mask,
                                      const LanePointers& from) {
  for (int v = 0; v < V; ++v) {
    R* to = warp.reg<R>(element_slot(op, v));
    for_lanes(mask, [&](int i) {
      M value;
      memcpy(&value, from.at[i] + sizeof(M) * static_cast<size_t>(v), sizeof(M));
      to[i] = static_cast<R>(value);
    });
  }
}

template <typename M, typename R, int V>
FIEL_INLINE void contiguous_from_registers(Warp& warp, const Op& op, uint32_t mask,
                                           uint8_t* lane0) {
  for (int v = 0; v < V; ++v) {
    const R* from = warp.reg<R>(element_slot(op, v));
    if (mask == kFullMask) {
      for (int i = 0; i < kLanes; ++i) {
        const M value = static_cast<M>(from[i]);
        memcpy(lane0 + sizeof(M) * static_cast<size_t>(V * i + v), &value, sizeof(M));
      }
    } else {
      for_lanes(mask, [&](int i) {
        const M value = static_cast<M>(from[i]);
        memcpy(lane0 + sizeof(M) * static_cast<size_t>(V * i + v), &value, sizeof(M));
      });
    }
  }
}

template <typename M, typename R, int V>
FIEL_INLINE void lanes_from_registers(Warp& warp, const Op& op, uint32_t mask,
                                      const LanePointers& to) {
  for (int v = 0; v < V; ++v) {
    const R* from = warp.reg<R>(element_slot(op, v));
    for_lanes(mask, [&](int i) {
      const M value = static_cast<M>(from[i]);
      memcpy(to.at[i] + sizeof(M) * static_cast<size_t>(v), &value, sizeof(M));
    });
  }
}

/// What each lane is about to store, packed: lane i at i * sizeof(M) * V.
template <typename M, typename R, int V>
FIEL_INLINE void values_of(Warp& warp, const Op& op, uint8_t* to) {
  for (int v = 0; v < V; ++v) {
    const R* from = warp.reg<R>(element_slot(op, v));
    for (int i = 0; i < kLanes; ++i) {
      const M value = static_cast<M>(from[i]);
      memcpy(to + sizeof(M) * static_cast<size_t>(V * i + v), &value, sizeof(M));
    }
  }
}

/// A store, with its values where races are watched: equal values make a race harmless.
template <typename M, typename R, int V>
FIEL_INLINE void tell_store(Warp& warp, const Op& op, ptx::Space space, AccessShape shape,
                            uint32_t mask, uint64_t base, const uint64_t* addresses) {
  constexpr uint32_t kSize = sizeof(M) * V;
  uint8_t values[kLanes * kSize];
  const bool compare = (warp.executor->watch & (kWatchSharedRaces | kWatchGlobalRaces)) != 0;
  if (compare) values_of<M, R, V>(warp, op, values);
  tell(warp, op, space, AccessKind::store, shape, kSize, mask, base, addresses,
       compare ? values : nullptr, kSize);
}

FIEL_INLINE bool mask_has_no_hole(uint32_t mask) {
  const uint32_t low = mask >> __builtin_ctz(mask);
  return (low & (low + 1)) == 0;
}

/// What the lanes' addresses look like; `base` is what lane 0 has, or would have.
struct Pattern {
  AccessShape shape = AccessShape::scattered;
  uint64_t base = 0, lo = 0, hi = 0;
};

template <typename A>
FIEL_INLINE Pattern pattern_of(const A* address, A offset, uint32_t mask, uint32_t size) {
  Pattern p;
  const int first = first_lane(mask);
  const A start = address[first];
  if ((lanes_in_sequence(address, static_cast<A>(start - static_cast<A>(first) * size), size) &
       mask) == mask) {
    p.lo = static_cast<A>(start + offset);
    p.base = p.lo - static_cast<uint64_t>(first) * size;
    p.hi = p.lo + static_cast<uint64_t>(last_lane(mask) - first + 1) * size;
    if (mask_has_no_hole(mask)) p.shape = AccessShape::contiguous;
    return p;
  }
  if ((lanes_in_sequence(address, start, A{0}) & mask) == mask) {
    p.shape = AccessShape::uniform;
    p.lo = p.base = static_cast<A>(start + offset);
    p.hi = p.lo + size;
  }
  return p;
}

}  // namespace fiel::vgpu::FIEL_ISA
