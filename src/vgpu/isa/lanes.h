// Loops over the 32 lanes of a warp, for handlers that only touch registers.
//
//   constexpr auto kAdd = [](auto a, auto b) { return static_cast<decltype(a)>(a + b); };
//   Handler h = binary<uint32_t, kAdd>;           // d[i] = a[i] + b[i] for lanes in the mask
//   Handler p = binary<float, kAddFloat>;         // same loop on bit patterns seen as float
//
// Each loop runs over all 32 lanes so that GCC vectorises it; lanes outside the mask get their old
// value back afterwards, which costs the common full-mask case one predictable branch. Nothing here
// may trap or have a side effect in a lane that is switched off.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "ptx/module.h"
#include "vgpu/isa/select.h"
#include "vgpu/warp.h"

namespace fiel::vgpu::FIEL_ISA {

/// How a value of type T lies in a register lane: narrow values zero-extended to 32 bits.
template <typename T>
using Slot = std::conditional_t<(sizeof(T) > 4), uint64_t, uint32_t>;

template <typename T>
[[gnu::always_inline]] inline T unpack(Slot<T> bits) {
  if constexpr (std::is_floating_point_v<T>)
    return __builtin_bit_cast(T, bits);
  else
    return static_cast<T>(bits);
}
template <typename T>
[[gnu::always_inline]] inline Slot<T> pack(T value) {
  if constexpr (std::is_floating_point_v<T>)
    return __builtin_bit_cast(Slot<T>, value);
  else
    return static_cast<Slot<T>>(static_cast<std::make_unsigned_t<T>>(value));
}

/// Everything above is in memory: GCC 12 otherwise takes arrays that one loop wrote and intrinsics
/// read to pieces, 8 bytes at a time.
[[gnu::always_inline]] inline void settle() { asm volatile("" ::: "memory"); }

/// memcpy of a register. GCC makes `rep movs` of 128 bytes and more, which takes 20 ns to start.
template <size_t bytes>
[[gnu::always_inline]] inline void copy_bytes(void* to, const void* from) {
  static_assert(bytes % 32 == 0);
  settle();
  for (size_t at = 0; at < bytes; at += 32)
    _mm256_storeu_si256(
        reinterpret_cast<__m256i*>(static_cast<char*>(to) + at),
        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(static_cast<const char*>(from) + at)));
}

/// Gives the lanes outside `mask` their old values back.
[[gnu::noinline]] inline void restore_lanes(uint32_t* dst, const uint32_t* old, uint32_t mask) {
  for (int i = 0; i < kLanes; ++i) dst[i] = (mask >> i) & 1u ? dst[i] : old[i];
}
[[gnu::noinline]] inline void restore_lanes(uint64_t* dst, const uint64_t* old, uint32_t mask) {
  for (int i = 0; i < kLanes; ++i) dst[i] = (mask >> i) & 1u ? dst[i] : old[i];
}

/// Lives around a loop that writes all lanes of one register: undoes what the mask forbids.
template <typename S>
class MaskedWrite {
 public:
  [[gnu::always_inline]] MaskedWrite(S* dst, uint32_t mask) : dst_(dst), mask_(mask) {
    if (mask != kFullMask) [[unlikely]]
      copy_bytes<sizeof old_>(old_, dst);
  }
  [[gnu::always_inline]] ~MaskedWrite() {
    if (mask_ != kFullMask) [[unlikely]]
      restore_lanes(dst_, old_, mask_);
  }
  MaskedWrite(const MaskedWrite&) = delete;
  MaskedWrite& operator=(const MaskedWrite&) = delete;

 private:
  S* dst_;
  uint32_t mask_;
  alignas(32) S old_[kLanes];
};

/// d[i] = f(i) for lanes in the mask. f may read registers of D's own width in place; where widths
/// differ a narrow source may share storage with a wide destination, so `buffered` says: write to
/// memory aside first.
template <typename D, bool buffered, typename F>
[[gnu::always_inline]] inline void for_lanes(Warp& warp, uint32_t dst, uint32_t mask, F f) {
  auto* d = warp.reg<Slot<D>>(dst);
  MaskedWrite<Slot<D>> write(d, mask);
  if constexpr (buffered) {
    alignas(32) Slot<D> result[kLanes];
    for (int i = 0; i < kLanes; ++i) result[i] = pack<D>(f(i));
    copy_bytes<sizeof result>(d, result);
  } else {
#pragma GCC ivdep
    for (int i = 0; i < kLanes; ++i) d[i] = pack<D>(f(i));
  }
}

template <typename D, typename A, auto F>
void unary_to(Warp& warp, const Op& op, uint32_t mask) {
  const auto* a = warp.reg<Slot<A>>(op.a);
  for_lanes<D, sizeof(Slot<D>) != sizeof(Slot<A>)>(
      warp, op.dst, mask, [=](int i) { return static_cast<D>(F(unpack<A>(a[i]))); });
}
template <typename T, auto F>
constexpr Handler unary = unary_to<T, T, F>;

template <typename D, typename A, typename B, auto F>
void binary_to(Warp& warp, const Op& op, uint32_t mask) {
  const auto* a = warp.reg<Slot<A>>(op.a);
  const auto* b = warp.reg<Slot<B>>(op.b);
  constexpr bool kBuffered =
      sizeof(Slot<D>) != sizeof(Slot<A>) || sizeof(Slot<D>) != sizeof(Slot<B>);
  for_lanes<D, kBuffered>(warp, op.dst, mask, [=](int i) {
    return static_cast<D>(F(unpack<A>(a[i]), unpack<B>(b[i])));
  });
}
template <typename T, auto F>
constexpr Handler binary = binary_to<T, T, T, F>;

template <typename D, typename A, typename B, typename C, auto F>
void ternary_to(Warp& warp, const Op& op, uint32_t mask) {
  const auto* a = warp.reg<Slot<A>>(op.a);
  const auto* b = warp.reg<Slot<B>>(op.b);
  const auto* c = warp.reg<Slot<C>>(op.c);
  constexpr bool kBuffered = sizeof(Slot<D>) != sizeof(Slot<A>) ||
                             sizeof(Slot<D>) != sizeof(Slot<B>) ||
                             sizeof(Slot<D>) != sizeof(Slot<C>);
  for_lanes<D, kBuffered>(warp, op.dst, mask, [=](int i) {
    return static_cast<D>(F(unpack<A>(a[i]), unpack<B>(b[i]), unpack<C>(c[i])));
  });
}
template <typename T, auto F>
constexpr Handler ternary = ternary_to<T, T, T, T, F>;

template <typename T, auto F>
void quaternary(Warp& warp, const Op& op, uint32_t mask) {
  const auto* a = warp.reg<Slot<T>>(op.a);
  const auto* b = warp.reg<Slot<T>>(op.b);
  const auto* c = warp.reg<Slot<T>>(op.c);
  const auto* d = warp.reg<Slot<T>>(op.d);
  for_lanes<T, false>(warp, op.dst, mask, [=](int i) {
    return static_cast<T>(F(unpack<T>(a[i]), unpack<T>(b[i]), unpack<T>(c[i]), unpack<T>(d[i])));
  });
}

/// Bit i = sign bit of lane i.
[[gnu::always_inline]] inline uint32_t sign_mask(const uint32_t* lanes) {
  settle();
  uint32_t mask = 0;
  for (int v = 0; v < 4; ++v) {
    const __m256i x = _mm256_load_si256(reinterpret_cast<const __m256i*>(lanes + 8 * v));
    mask |= static_cast<uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(x))) << (8 * v);
  }
  return mask;
}
[[gnu::always_inline]] inline uint32_t sign_mask(const uint64_t* lanes) {
  settle();
  uint32_t mask = 0;
  for (int v = 0; v < 8; ++v) {
    const __m256i x = _mm256_load_si256(reinterpret_cast<const __m256i*>(lanes + 4 * v));
    mask |= static_cast<uint32_t>(_mm256_movemask_pd(_mm256_castsi256_pd(x))) << (4 * v);
  }
  return mask;
}

/// One bit a lane: f(i) says whether it is set. S is the width that f works in.
template <typename S, typename F>
[[gnu::always_inline]] inline uint32_t lanes_where(F f) {
  alignas(32) S lanes[kLanes];
  for (int i = 0; i < kLanes; ++i) lanes[i] = f(i) ? ~S{0} : S{0};
  return sign_mask(lanes);
}

[[gnu::always_inline]] inline void write_pred(Warp& warp, uint32_t offset, uint32_t value,
                                              uint32_t mask) {
  uint32_t& p = warp.pred(offset);
  p = (p & ~mask) | (value & mask);
}
[[gnu::always_inline]] inline uint32_t read_pred(Warp& warp, uint32_t offset, uint32_t flags,
                                                 uint32_t negated) {
  return warp.pred(offset) ^ (flags & negated ? kFullMask : 0u);
}

[[gnu::always_inline]] inline void fill_lanes(uint32_t* dst, uint32_t value, uint32_t mask) {
  for (int i = 0; i < kLanes; ++i) dst[i] = (mask >> i) & 1u ? value : dst[i];
}

// ---- selection ---------------------------------------------------------------------------------

using ptx::Instruction;
using ptx::Modifiers;
using ptx::Opcode;
using ptx::Operand;
using ptx::Rounding;
using ptx::Type;

inline Selection run(Handler handler, uint64_t imm = 0, uint32_t flags = 0) {
  Selection s;
  s.handler = handler;
  s.imm = imm;
  s.flags = flags;
  return s;
}
inline Selection refuse(const char* why) {
  Selection s;
  s.unsupported = why;
  return s;
}
inline Selection run_or(Handler handler, const char* why) {
  return handler ? run(handler) : refuse(why);
}

/// kNegatedA/B/C for the sources; operands from `first_source` on are a, b, c.
inline uint32_t negation_flags(const Instruction& in, size_t first_source) {
  uint32_t flags = 0;
  const uint32_t bit[3] = {kNegatedA, kNegatedB, kNegatedC};
  for (size_t i = 0; i < 3 && first_source + i < in.operands.size(); ++i)
    if (in.operands[first_source + i].negated) flags |= bit[i];
  return flags;
}

/// The handler for an integer type, from a functor that works on any of them.
template <auto F>
Handler integer_unary(Type t) {
  switch (t) {
    case Type::u16:
    case Type::b16:
      return unary<uint16_t, F>;
    case Type::s16:
      return unary<int16_t, F>;
    case Type::u32:
    case Type::b32:
      return unary<uint32_t, F>;
    case Type::s32:
      return unary<int32_t, F>;
    case Type::u64:
    case Type::b64:
      return unary<uint64_t, F>;
    case Type::s64:
      return unary<int64_t, F>;
    default:
      return nullptr;
  }
}
template <auto F>
Handler integer_binary(Type t) {
  switch (t) {
    case Type::u16:
    case Type::b16:
      return binary<uint16_t, F>;
    case Type::s16:
      return binary<int16_t, F>;
    case Type::u32:
    case Type::b32:
      return binary<uint32_t, F>;
    case Type::s32:
      return binary<int32_t, F>;
    case Type::u64:
    case Type::b64:
      return binary<uint64_t, F>;
    case Type::s64:
      return binary<int64_t, F>;
    default:
      return nullptr;
  }
}
/// For functors that do the same on signed and unsigned: three instantiations instead of six.
template <auto F>
Handler bits_unary(Type t) {
  switch (ptx::bits_of(t)) {
    case 16:
      return unary<uint16_t, F>;
    case 32:
      return unary<uint32_t, F>;
    case 64:
      return unary<uint64_t, F>;
    default:
      return nullptr;
  }
}
template <auto F>
Handler bits_binary(Type t) {
  switch (ptx::bits_of(t)) {
    case 16:
      return binary<uint16_t, F>;
    case 32:
      return binary<uint32_t, F>;
    case 64:
      return binary<uint64_t, F>;
    default:
      return nullptr;
  }
}

}  // namespace fiel::vgpu::FIEL_ISA
