// ld and st. A warp's access that is contiguous (lane i at base + i * size) or uniform costs one
// range check and vector copies; everything else goes lane by lane.
#include <type_traits>

#include "vgpu/isa/memory_lanes.h"

namespace fiel::vgpu::FIEL_ISA {
namespace {

/// Fallback of every load: any space, any pattern.
template <typename M, typename R, int V>
[[gnu::noinline]] void load_lanes(Warp& warp, const Op& op, uint32_t mask, ptx::Space space) {
  alignas(64) uint64_t addresses[kLanes];
  lane_addresses(warp, op.a, (op.flags & kAddress64) != 0 ? 64 : 32, MemoryShape::offset_of(op.imm),
                 addresses);
  const MemoryShape form = MemoryShape::decode(op.imm);
  LanePointers from;
  mask = access(warp, op,
                {.space = space,
                 .kind = AccessKind::load,
                 .semantics = form.semantics,
                 .scope = form.scope,
                 .bytes = sizeof(M) * V},
                addresses, mask, from);
  registers_from_lanes<M, R, V>(warp, op, mask, from);
}

template <typename M, typename R, int V>
[[gnu::noinline]] void store_lanes(Warp& warp, const Op& op, uint32_t mask, ptx::Space space) {
  alignas(64) uint64_t addresses[kLanes];
  lane_addresses(warp, op.a, (op.flags & kAddress64) != 0 ? 64 : 32, MemoryShape::offset_of(op.imm),
                 addresses);
  const MemoryShape form = MemoryShape::decode(op.imm);
  uint8_t values[kLanes * sizeof(M) * V];
  const bool compare = (warp.executor->watch & (kWatchSharedRaces | kWatchGlobalRaces)) != 0;
  if (compare) values_of<M, R, V>(warp, op, values);
  LanePointers to;
  mask = access(warp, op,
                {.space = space,
                 .kind = AccessKind::store,
                 .semantics = form.semantics,
                 .scope = form.scope,
                 .bytes = sizeof(M) * V,
                 .values = compare ? values : nullptr,
                 .value_stride = sizeof(M) * V},
                addresses, mask, to);
  lanes_from_registers<M, R, V>(warp, op, mask, to);
}

/// Addresses of a scattered access, when all active ones lie in one range and are aligned.
template <uint32_t kSize>
FIEL_INLINE bool global_lanes_inside(const RangeHint& hint, const uint64_t* address,
                                     uint64_t offset, uint32_t mask, uint64_t* at) {
  const uint64_t any = address[first_lane(mask)] + offset;
  auto lo = static_cast<int64_t>(any), hi = lo;
  uint64_t low_bits = 0;
  for (int i = 0; i < kLanes; ++i) {
    const uint64_t here = (mask >> i & 1u) != 0 ? address[i] + offset : any;
    at[i] = here;
    lo = static_cast<int64_t>(here) < lo ? static_cast<int64_t>(here) : lo;
    hi = static_cast<int64_t>(here) > hi ? static_cast<int64_t>(here) : hi;
    low_bits |= here;
  }
  // Heap blocks give no hint that lasts: they, and spans of several ranges, go lane by lane.
  return (low_bits & (kSize - 1)) == 0 && static_cast<uint64_t>(lo) >= hint.begin &&
         static_cast<uint64_t>(hi) + kSize <= hint.end && hi >= 0 && lo >= 0;
}

template <typename M, typename R, int V>
FIEL_INLINE bool load_global_scattered(Warp& warp, const Op& op, uint32_t mask, uint64_t offset,
                                       RangeHint& hint) {
  constexpr uint32_t kSize = sizeof(M) * V;
  Executor& executor = *warp.executor;
  alignas(64) uint64_t at[kLanes];
  if (!global_lanes_inside<kSize>(hint, warp.reg<uint64_t>(op.a), offset, mask, at)) return false;
  if ((hint.flags & kRangeFilled) == 0 && executor.check_initialized) {
    bool good = true;
    for_lanes(mask, [&](int i) {
      good &= initialized(executor.arena_shadow, at[i] - executor.arena_base, kSize);
    });
    if (!good) return false;
  }
  if (executor.watch != 0)
    tell(warp, op, ptx::Space::global, AccessKind::load, AccessShape::scattered, kSize, mask, 0,
         at);
  for (int v = 0; v < V; ++v) {
    R* to = warp.reg<R>(element_slot(op, v));
    const auto load = [&](int i) {
      M value;
      memcpy(&value, host(at[i] + sizeof(M) * static_cast<size_t>(v)), sizeof(M));
      to[i] = static_cast<R>(value);
    };
    if (mask == kFullMask)
      for (int i = 0; i < kLanes; ++i) load(i);
    else
      for_lanes(mask, load);
  }
  return true;
}

template <typename M, typename R, int V>
FIEL_INLINE bool store_global_scattered(Warp& warp, const Op& op, uint32_t mask, uint64_t offset,
                                        RangeHint& hint) {
  constexpr uint32_t kSize = sizeof(M) * V;
  Executor& executor = *warp.executor;
  alignas(64) uint64_t at[kLanes];
  if ((hint.flags & kRangeReadOnly) != 0 ||
      !global_lanes_inside<kSize>(hint, warp.reg<uint64_t>(op.a), offset, mask, at))
    return false;
  if ((hint.flags & kRangeOutput) != 0)
    for_lanes(mask, [&](int i) {
      mark_written(executor.arena_shadow, at[i] - executor.arena_base, kSize);
    });
  else if ((hint.flags & kRangeFilled) == 0)
    for_lanes(mask, [&](int i) {
      mark_initialized(executor.arena_shadow, at[i] - executor.arena_base, kSize);
    });
  if (executor.watch != 0) {
    uint8_t values[kLanes * kSize];
    const bool compare = (executor.watch & kWatchGlobalRaces) != 0;
    if (compare) values_of<M, R, V>(warp, op, values);
    tell(warp, op, ptx::Space::global, AccessKind::store, AccessShape::scattered, kSize, mask, 0,
         at, compare ? values : nullptr, kSize);
  }
  for (int v = 0; v < V; ++v) {
    const R* from = warp.reg<R>(element_slot(op, v));
    for_lanes(mask, [&](int i) {
      const M value = static_cast<M>(from[i]);
      memcpy(host(at[i] + sizeof(M) * static_cast<size_t>(v)), &value, sizeof(M));
    });
  }
  return true;
}

template <typename M, typename R, int V>
void load_global(Warp& warp, const Op& op, uint32_t mask) {
  constexpr uint32_t kSize = sizeof(M) * V;
  if ((op.flags & kAddress64) == 0) return load_lanes<M, R, V>(warp, op, mask, ptx::Space::global);
  Executor& executor = *warp.executor;
  const auto offset = static_cast<uint64_t>(MemoryShape::offset_of(op.imm));
  const Pattern p = pattern_of(warp.reg<uint64_t>(op.a), offset, mask, kSize);
  RangeHint& hint = hint_of(executor, op);
  if (p.shape == AccessShape::scattered &&
      load_global_scattered<M, R, V>(warp, op, mask, offset, hint))
    return;
  if (p.shape == AccessShape::scattered || (p.lo & (kSize - 1)) != 0 ||
      !in_range(warp, hint, p.lo, p.hi) ||
      ((hint.flags & kRangeFilled) == 0 && executor.check_initialized &&
       !initialized(executor.arena_shadow, p.lo - executor.arena_base, p.hi - p.lo)))
    return load_lanes<M, R, V>(warp, op, mask, ptx::Space::global);
  if (executor.watch != 0)
    tell(warp, op, ptx::Space::global, AccessKind::load, p.shape, kSize, mask, p.base, nullptr);
  if (p.shape == AccessShape::contiguous)
    registers_from_contiguous<M, R, V>(warp, op, mask, host(p.base));
  else
    registers_from_uniform<M, R, V>(warp, op, mask, host(p.base));
}

template <typename M, typename R, int V>
void store_global(Warp& warp, const Op& op, uint32_t mask) {
  constexpr uint32_t kSize = sizeof(M) * V;
  if ((op.flags & kAddress64) == 0) return store_lanes<M, R, V>(warp, op, mask, ptx::Space::global);
  Executor& executor = *warp.executor;
  const auto offset = static_cast<uint64_t>(MemoryShape::offset_of(op.imm));
  const Pattern p = pattern_of(warp.reg<uint64_t>(op.a), offset, mask, kSize);
  RangeHint& hint = hint_of(executor, op);
  if (p.shape != AccessShape::contiguous &&
      store_global_scattered<M, R, V>(warp, op, mask, offset, hint))
    return;
  if (p.shape != AccessShape::contiguous || (p.lo & (kSize - 1)) != 0 ||
      !in_range(warp, hint, p.lo, p.hi) || (hint.flags & kRangeReadOnly) != 0)
    return store_lanes<M, R, V>(warp, op, mask, ptx::Space::global);
  if ((hint.flags & kRangeOutput) != 0)
    mark_written(executor.arena_shadow, p.lo - executor.arena_base, p.hi - p.lo);
  else if ((hint.flags & kRangeFilled) == 0)
    mark_initialized(executor.arena_shadow, p.lo - executor.arena_base, p.hi - p.lo);
  if (executor.watch != 0)
    tell_store<M, R, V>(warp, op, ptx::Space::global, p.shape, mask, p.base, nullptr);
  contiguous_from_registers<M, R, V>(warp, op, mask, host(p.base));
}

/// Offsets of a scattered shared access are all inside and aligned.
template <uint32_t kSize>
FIEL_INLINE bool shared_lanes_inside(const uint32_t* address, uint32_t offset, uint32_t mask,
                                     uint32_t shared_bytes, uint32_t* out) {
  uint32_t worst = 0, low_bits = 0;
  for (int i = 0; i < kLanes; ++i) {
    const uint32_t active = 0u - ((mask >> i) & 1u);
    const uint32_t at = (address[i] + offset) & active;
    out[i] = at;
    worst = at > worst ? at : worst;
    low_bits |= at;
  }
  return worst + uint64_t{kSize} <= shared_bytes && (low_bits & (kSize - 1)) == 0;
}

/// The shadow of one element as a number: one compare a lane.
template <uint32_t kSize>
using ShadowWord =
    std::conditional_t<kSize >= 16, uint32_t, std::conditional_t<kSize >= 8, uint16_t, uint8_t>>;

template <uint32_t kSize>
FIEL_INLINE bool shared_lanes_settled(const uint8_t* plane, const uint32_t* at, uint32_t mask) {
  uint32_t differs = 0;
  const auto look = [&](int i) {
    if constexpr (kSize >= 4) {
      static_assert(kSize <= 32);
      for (uint32_t k = 0; k < (kSize + 15) / 16; ++k) {
        ShadowWord<kSize> word;
        memcpy(&word, plane + (at[i] >> 2) + 4 * k, sizeof word);
        differs |= static_cast<uint32_t>(word ^ static_cast<ShadowWord<kSize>>(0x55555555u));
      }
    } else {
      const uint8_t bits = state_bits(at[i] & 3, kSize);
      differs |= static_cast<uint32_t>((plane[at[i] >> 2] ^ 0x55) & bits);
    }
  };
  if (mask == kFullMask)
    for (int i = 0; i < kLanes; ++i) look(i);
  else
    for_lanes(mask, look);
  return differs == 0;
}

/// Four words of each lane into four registers: 4x4 transposes of 16-byte loads.
FIEL_INLINE void registers_from_quads(uint32_t* const to[4], const uint8_t* base,
                                      const uint32_t* at) {
  for (int i = 0; i < kLanes; i += 4) {
    __m128i row[4];
    for (int k = 0; k < 4; ++k)
      row[k] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(base + at[i + k]));
    const __m128i a = _mm_unpacklo_epi32(row[0], row[1]), b = _mm_unpacklo_epi32(row[2], row[3]);
    const __m128i c = _mm_unpackhi_epi32(row[0], row[1]), d = _mm_unpackhi_epi32(row[2], row[3]);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to[0] + i), _mm_unpacklo_epi64(a, b));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to[1] + i), _mm_unpackhi_epi64(a, b));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to[2] + i), _mm_unpacklo_epi64(c, d));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to[3] + i), _mm_unpackhi_epi64(c, d));
  }
}

FIEL_INLINE void tell_shared(Warp& warp, const Op& op, AccessKind kind, uint32_t bytes,
                             uint32_t mask, const uint32_t* at) {
  alignas(64) uint64_t addresses[kLanes];
  for (int i = 0; i < kLanes; ++i) addresses[i] = at[i];
  tell(warp, op, ptx::Space::shared, kind, AccessShape::scattered, bytes, mask, 0, addresses);
}

template <typename M, typename R, int V>
void load_shared(Warp& warp, const Op& op, uint32_t mask) {
  constexpr uint32_t kSize = sizeof(M) * V;
  if ((op.flags & kAddress64) != 0) return load_lanes<M, R, V>(warp, op, mask, ptx::Space::shared);
  Cta& cta = *warp.cta;
  const auto offset = static_cast<uint32_t>(op.imm);
  const uint32_t* address = warp.reg<uint32_t>(op.a);
  const Pattern p = pattern_of(address, offset, mask, kSize);
  if (p.shape != AccessShape::scattered) {
    if ((p.lo & (kSize - 1)) != 0 || p.hi > cta.shared_bytes ||
        !settled(cta.shared_shadow, p.lo, p.hi - p.lo))
      return load_lanes<M, R, V>(warp, op, mask, ptx::Space::shared);
    if (warp.executor->watch != 0)
      tell(warp, op, ptx::Space::shared, AccessKind::load, p.shape, kSize, mask, p.base, nullptr);
    if (p.shape == AccessShape::contiguous)
      registers_from_contiguous<M, R, V>(warp, op, mask, cta.shared + static_cast<int64_t>(p.base));
    else
      registers_from_uniform<M, R, V>(warp, op, mask, cta.shared + p.base);
    return;
  }
  alignas(64) uint32_t at[kLanes];
  if (!shared_lanes_inside<kSize>(address, offset, mask, cta.shared_bytes, at) ||
      !shared_lanes_settled<kSize>(cta.shared_shadow, at, mask))
    return load_lanes<M, R, V>(warp, op, mask, ptx::Space::shared);
  if (warp.executor->watch != 0) tell_shared(warp, op, AccessKind::load, kSize, mask, at);
  if constexpr (V == 4 && sizeof(M) == 4 && sizeof(R) == 4) {
    if (mask == kFullMask) {
      uint32_t* const to[4] = {warp.reg<uint32_t>(op.dst), warp.reg<uint32_t>(op.dst2),
                               warp.reg<uint32_t>(op.c), warp.reg<uint32_t>(op.d)};
      return registers_from_quads(to, cta.shared, at);
    }
  }
  for (int v = 0; v < V; ++v) {
    R* to = warp.reg<R>(element_slot(op, v));
    const uint8_t* from = cta.shared + sizeof(M) * static_cast<size_t>(v);
    const auto load = [&](int i) {
      M value;
      memcpy(&value, from + at[i], sizeof(M));
      to[i] = static_cast<R>(value);
    };
    if (mask == kFullMask)
      for (int i = 0; i < kLanes; ++i) load(i);
    else
      for_lanes(mask, load);
  }
}

template <typename M, typename R, int V>
void store_shared(Warp& warp, const Op& op, uint32_t mask) {
  constexpr uint32_t kSize = sizeof(M) * V;
  if ((op.flags & kAddress64) != 0) return store_lanes<M, R, V>(warp, op, mask, ptx::Space::shared);
  Cta& cta = *warp.cta;
  const auto offset = static_cast<uint32_t>(op.imm);
  const uint32_t* address = warp.reg<uint32_t>(op.a);
  alignas(64) uint32_t at[kLanes];
  const Pattern p = pattern_of(address, offset, mask, kSize);
  if (p.shape == AccessShape::contiguous) {
    if ((p.lo & (kSize - 1)) != 0 || p.hi > cta.shared_bytes ||
        in_flight(cta.shared_shadow, p.lo, p.hi - p.lo))
      return store_lanes<M, R, V>(warp, op, mask, ptx::Space::shared);
    set_settled(cta.shared_shadow, p.lo, p.hi - p.lo);
    if (warp.executor->watch != 0)
      tell_store<M, R, V>(warp, op, ptx::Space::shared, p.shape, mask, p.base, nullptr);
    contiguous_from_registers<M, R, V>(warp, op, mask, cta.shared + static_cast<int64_t>(p.base));
    return;
  }
  if (!shared_lanes_inside<kSize>(address, offset, mask, cta.shared_bytes, at))
    return store_lanes<M, R, V>(warp, op, mask, ptx::Space::shared);
  bool flying = false;
  for_lanes(mask, [&](int i) { flying |= in_flight(cta.shared_shadow, at[i], kSize); });
  if (flying) return store_lanes<M, R, V>(warp, op, mask, ptx::Space::shared);
  if (warp.executor->watch != 0) {
    alignas(64) uint64_t addresses[kLanes];
    for (int i = 0; i < kLanes; ++i) addresses[i] = at[i];
    tell_store<M, R, V>(warp, op, ptx::Space::shared, AccessShape::scattered, mask, 0, addresses);
  }
  for_lanes(mask, [&](int i) { set_settled(cta.shared_shadow, at[i], kSize); });
  for (int v = 0; v < V; ++v) {
    const R* from = warp.reg<R>(element_slot(op, v));
    uint8_t* to = cta.shared + sizeof(M) * static_cast<size_t>(v);
    for_lanes(mask, [&](int i) {
      const M value = static_cast<M>(from[i]);
      memcpy(to + at[i], &value, sizeof(M));
    });
  }
}

template <typename M, typename R, int V>
void load_any(Warp& warp, const Op& op, uint32_t mask) {
  load_lanes<M, R, V>(warp, op, mask, MemoryShape::decode(op.imm).space);
}
template <typename M, typename R, int V>
void store_any(Warp& warp, const Op& op, uint32_t mask) {
  store_lanes<M, R, V>(warp, op, mask, MemoryShape::decode(op.imm).space);
}

/// 128-bit elements, vectors of eight, signed bytes in 16-bit registers: rare, everything decided
/// at run time.
void load_wide(Warp& warp, const Op& op, uint32_t mask) {
  const MemoryShape form = MemoryShape::decode(op.imm);
  alignas(64) uint64_t addresses[kLanes];
  lane_addresses(warp, op.a, (op.flags & kAddress64) != 0 ? 64 : 32, MemoryShape::offset_of(op.imm),
                 addresses);
  LanePointers from;
  mask = access(warp, op,
                {.space = form.space,
                 .kind = AccessKind::load,
                 .semantics = form.semantics,
                 .scope = form.scope,
                 .bytes = uint32_t{form.element_bytes} * form.vector},
                addresses, mask, from);
  const size_t lane_bytes = form.register_bits <= 32 ? 4u : form.register_bits / 8u;
  const uint32_t* list = operand_list(warp, op);
  for (int v = 0; v < form.vector; ++v)
    for_lanes(mask, [&](int i) {
      const uint8_t* at = from.at[i] + v * form.element_bytes;
      uint8_t* to = warp.regs + list[v] + static_cast<size_t>(i) * lane_bytes;
      // A register of 16 bits holds a sign-extended byte as 16 bits: the slot above stays zero.
      const size_t used = form.register_bits / 8u;
      const bool negative = form.sign_extend && (at[form.element_bytes - 1] & 0x80) != 0;
      memset(to, 0, lane_bytes);
      memset(to, negative ? 0xff : 0, used);
      memcpy(to, at, form.element_bytes);
    });
}
void store_wide(Warp& warp, const Op& op, uint32_t mask) {
  const MemoryShape form = MemoryShape::decode(op.imm);
  alignas(64) uint64_t addresses[kLanes];
  lane_addresses(warp, op.a, (op.flags & kAddress64) != 0 ? 64 : 32, MemoryShape::offset_of(op.imm),
                 addresses);
  LanePointers to;
  mask = access(warp, op,
                {.space = form.space,
                 .kind = AccessKind::store,
                 .semantics = form.semantics,
                 .scope = form.scope,
                 .bytes = uint32_t{form.element_bytes} * form.vector},
                addresses, mask, to);
  const size_t lane_bytes = form.register_bits <= 32 ? 4u : form.register_bits / 8u;
  const uint32_t* list = operand_list(warp, op);
  for (int v = 0; v < form.vector; ++v)
    for_lanes(mask, [&](int i) {
      memcpy(to.at[i] + v * form.element_bytes,
             warp.regs + list[v] + static_cast<size_t>(i) * lane_bytes, form.element_bytes);
    });
}

template <bool kLoad, typename M, typename R, int V>
Handler by_space(ptx::Space space) {
  if (space == ptx::Space::global || space == ptx::Space::constant || space == ptx::Space::param)
    return kLoad ? &load_global<M, R, V> : &store_global<M, R, V>;
  if (space == ptx::Space::shared) return kLoad ? &load_shared<M, R, V> : &store_shared<M, R, V>;
  return kLoad ? &load_any<M, R, V> : &store_any<M, R, V>;
}
template <bool kLoad, typename M, typename R>
Handler by_vector(const MemoryShape& shape) {
  switch (shape.vector) {
    case 1:
      return by_space<kLoad, M, R, 1>(shape.space);
    case 2:
      return by_space<kLoad, M, R, 2>(shape.space);
    case 4:
      return by_space<kLoad, M, R, 4>(shape.space);
    default:
      return nullptr;
  }
}
template <bool kLoad>
Handler by_type(const MemoryShape& shape) {
  const bool odd = shape.sign_extend && shape.register_bits == 16 && shape.element_bytes == 1;
  if (shape.vector > 4 || shape.element_bytes > 8 || odd) return kLoad ? &load_wide : &store_wide;
  const bool wide = shape.register_bits == 64;
  const bool extend = kLoad && shape.sign_extend;
  switch (shape.element_bytes) {
    case 1:
      if (extend && wide) return by_vector<kLoad, int8_t, int64_t>(shape);
      if (extend) return by_vector<kLoad, int8_t, int32_t>(shape);
      return wide ? by_vector<kLoad, uint8_t, uint64_t>(shape)
                  : by_vector<kLoad, uint8_t, uint32_t>(shape);
    case 2:
      if (extend && wide) return by_vector<kLoad, int16_t, int64_t>(shape);
      if (extend) return by_vector<kLoad, int16_t, int32_t>(shape);
      return wide ? by_vector<kLoad, uint16_t, uint64_t>(shape)
                  : by_vector<kLoad, uint16_t, uint32_t>(shape);
    case 4:
      if (extend && wide) return by_vector<kLoad, int32_t, int64_t>(shape);
      return wide ? by_vector<kLoad, uint32_t, uint64_t>(shape)
                  : by_vector<kLoad, uint32_t, uint32_t>(shape);
    default:
      return by_vector<kLoad, uint64_t, uint64_t>(shape);
  }
}

}  // namespace

Handler select_load(const MemoryShape& shape);
Handler select_load(const MemoryShape& shape) { return by_type<true>(shape); }
Handler select_store(const MemoryShape& shape);
Handler select_store(const MemoryShape& shape) { return by_type<false>(shape); }

}  // namespace fiel::vgpu::FIEL_ISA
