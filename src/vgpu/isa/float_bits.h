// Scalar building blocks of floating-point handlers, written so that loops over them vectorise.
//
// Rounding to nearest is the host's. Directed rounding runs the same loop under RoundingScope,
// which changes MXCSR inside one handler and puts it back before anything else can run.
#pragma once

#include "vgpu/isa/lanes.h"

namespace fiel::vgpu::FIEL_ISA {

inline constexpr uint32_t kCanonicalNan = 0x7fffffffu;  // single precision does not keep payloads

[[gnu::always_inline]] inline uint32_t bits_of_float(float x) {
  return __builtin_bit_cast(uint32_t, x);
}
[[gnu::always_inline]] inline float float_of(uint32_t bits) {
  return __builtin_bit_cast(float, bits);
}
[[gnu::always_inline]] inline uint64_t bits_of_double(double x) {
  return __builtin_bit_cast(uint64_t, x);
}
[[gnu::always_inline]] inline double double_of(uint64_t bits) {
  return __builtin_bit_cast(double, bits);
}

/// Subnormals become zero of the same sign.
[[gnu::always_inline]] inline float flush(float x) {
  const uint32_t b = bits_of_float(x);
  return float_of((b & 0x7f800000u) == 0 ? b & 0x80000000u : b);
}
template <bool ftz>
[[gnu::always_inline]] inline float flush_if(float x) {
  return ftz ? flush(x) : x;
}
/// double: NaN payloads are kept and .ftz does not exist.
template <bool ftz>
[[gnu::always_inline]] inline double flush_if(double x) {
  return x;
}
[[gnu::always_inline]] inline float canonical(float x) {
  return float_of(x != x ? kCanonicalNan : bits_of_float(x));
}
[[gnu::always_inline]] inline double canonical(double x) { return x; }

/// .sat: [0, 1], NaN becomes +0.
[[gnu::always_inline]] inline float saturate(float x) {
  const float low = x > 0.0f ? x : 0.0f;  // also NaN and -0
  return low < 1.0f ? low : 1.0f;
}
[[gnu::always_inline]] inline double saturate(double x) {
  const double low = x > 0.0 ? x : 0.0;
  return low < 1.0 ? low : 1.0;
}

template <bool ftz, bool sat, typename T>
[[gnu::always_inline]] inline T finish(T x) {
  x = flush_if<ftz>(canonical(x));
  return sat ? saturate(x) : x;
}

/// MXCSR rounding control (bits 14..13) of a directed mode; 0 (nearest) for all else.
inline uint32_t rounding_control(Rounding r) {
  switch (r) {
    case Rounding::rm:
      return 1u << 13;
    case Rounding::rp:
      return 2u << 13;
    case Rounding::rz:
      return 3u << 13;
    default:
      return 0;
  }
}

/// Rounds as told while it lives. The barriers keep the compiler from moving arithmetic out: it
/// works on registers in memory, and memory does not move across them.
class RoundingScope {
 public:
  [[gnu::always_inline]] explicit RoundingScope(uint64_t control) : saved_(_mm_getcsr()) {
    _mm_setcsr((saved_ & ~0x6000u) | static_cast<uint32_t>(control));
    asm volatile("" ::: "memory");
  }
  [[gnu::always_inline]] ~RoundingScope() {
    asm volatile("" ::: "memory");
    _mm_setcsr(saved_);
  }
  RoundingScope(const RoundingScope&) = delete;
  RoundingScope& operator=(const RoundingScope&) = delete;

 private:
  uint32_t saved_;
};

}  // namespace fiel::vgpu::FIEL_ISA
