// f16, f16x2, bf16, bf16x2 arithmetic. Every result is rounded once:
//  - add, sub, mul: computed in f32, 24 bits >= 2 * 11 + 2, so rounding again to 11 (8) bits cannot
//    differ from rounding once (bf16 products below f32's normal range are exact or under half of
//    the least bf16, and so harmless too);
//  - fma: the product is exact (f32 for f16, double for bf16), the sum is rounded to odd with
//    TwoSum's error, then once to half.
#include "vgpu/isa/convert.h"
#include "vgpu/isa/special.h"

namespace fiel::vgpu::FIEL_ISA {
namespace {

// op.imm of every handler here.
constexpr uint64_t kPacked = 1, kSat = 2, kRelu = 4, kFtz = 8;

template <bool bf16>
[[gnu::always_inline]] inline void load_half(FloatLanes& to, const uint32_t* from, int shift,
                                             uint64_t imm) {
  if constexpr (bf16)
    load_bf16(to, from, shift);
  else
    load_f16(to, from, shift);
  if (!bf16 && (imm & kFtz))
    for (float& x : to.at) x = flush_f16(x);
}

template <bool bf16>
[[gnu::always_inline]] inline void finish_half(uint32_t* to, const FloatLanes& value,
                                               uint64_t imm) {
  if constexpr (bf16)
    bf16_bits(to, value);
  else
    f16_bits<0>(to, value);
  constexpr uint32_t kInfinity = bf16 ? 0x7f80u : 0x7c00u, kOne = bf16 ? 0x3f80u : 0x3c00u;
  constexpr uint32_t kMinNormal = bf16 ? 0x0080u : 0x0400u;
  if (!(imm & (kSat | kRelu | kFtz))) return;
  for (int i = 0; i < kLanes; ++i) {
    uint32_t h = to[i];
    if ((imm & kFtz) && (h & 0x7fffu) < kMinNormal) h &= 0x8000u;
    const bool nan = (h & 0x7fffu) > kInfinity, negative = (h & 0x8000u) != 0;
    if ((imm & kRelu) && negative && !nan) h = 0;
    if (imm & kSat) h = nan || negative ? 0u : h > kOne ? kOne : h;
    to[i] = h;
  }
}

// result(a, b, c) for one half of each word; the packed form does the upper half too.
template <bool bf16, int sources, typename F>
[[gnu::always_inline]] inline void half_op(Warp& warp, const Op& op, uint32_t mask, F f) {
  alignas(32) uint32_t low[kLanes], high[kLanes];
  const uint32_t* source[3] = {warp.reg<uint32_t>(op.a), warp.reg<uint32_t>(op.b),
                               warp.reg<uint32_t>(op.c)};
  const bool packed = op.imm & kPacked;
  for (int part = 0; part < (packed ? 2 : 1); ++part) {
    FloatLanes x[3], y;
    for (int k = 0; k < sources; ++k) load_half<bf16>(x[k], source[k], 16 * part, op.imm);
    f(y, x);
    finish_half<bf16>(part ? high : low, y, op.imm);
  }
  if (packed)
    for_lanes<uint32_t, false>(warp, op.dst, mask, [&](int i) { return low[i] | high[i] << 16; });
  else
    for_lanes<uint32_t, false>(warp, op.dst, mask, [&](int i) { return low[i]; });
}

template <bool bf16, auto F>
void half_binary(Warp& warp, const Op& op, uint32_t mask) {
  half_op<bf16, 2>(warp, op, mask, [](FloatLanes& y, const FloatLanes* x) {
    for (int i = 0; i < kLanes; ++i) y.at[i] = F(x[0].at[i], x[1].at[i]);
  });
}
constexpr auto kAdd = [](float a, float b) { return a + b; };
constexpr auto kSub = [](float a, float b) { return a - b; };
constexpr auto kMul = [](float a, float b) { return a * b; };

template <bool bf16>
void half_fma(Warp& warp, const Op& op, uint32_t mask) {
  half_op<bf16, 3>(warp, op, mask, [](FloatLanes& y, const FloatLanes* x) {
    const float* a = x[0].at;
    const float* b = x[1].at;
    const float* c = x[2].at;
    if constexpr (bf16) {
      alignas(32) double sum[kLanes];
      for (int i = 0; i < kLanes; ++i)
        sum[i] = add_odd(static_cast<double>(a[i]) * static_cast<double>(b[i]),
                         static_cast<double>(c[i]));
      to_floats_odd(y, sum);
    } else {
      float* to = y.at;
#pragma GCC ivdep
      for (int i = 0; i < kLanes; ++i) to[i] = add_odd(a[i] * b[i], c[i]);
    }
  });
}

// ex2, tanh: f32's functions are exact to a fraction of a half's ulp.
template <bool bf16, bool tanh>
void half_special(Warp& warp, const Op& op, uint32_t mask) {
  half_op<bf16, 1>(warp, op, mask, [](FloatLanes& y, const FloatLanes* x) {
    for (int i = 0; i < kLanes; ++i)
      y.at[i] = tanh ? tanh_float(x[0].at[i]) : exp2_float(x[0].at[i]);
  });
}

// ---- min, max, abs, neg on bit patterns
// ----------------------------------------------------------
constexpr uint64_t kNan = 16, kXorSign = 32;

// What one loop needs to know, without 64-bit values and short-circuits that GCC cannot vectorise.
struct Extremum {
  uint32_t infinity, flush_below;  // flush_below 0: nothing is flushed
  uint32_t keep, relu;             // .xorsign.abs drops the sign; relu: all ones
  int32_t nan_key;                 // where NaN stands in the order: loses, or wins with .NaN
};
template <bool maximum>
[[gnu::always_inline]] inline uint32_t extremum_half(uint32_t a, uint32_t b, const Extremum& e) {
  a = (a & 0x7fffu) < e.flush_below ? a & 0x8000u : a;
  b = (b & 0x7fffu) < e.flush_below ? b & 0x8000u : b;
  const uint32_t sign = (a ^ b) & ~e.keep & 0x8000u;
  a &= e.keep;
  b &= e.keep;
  const auto key = [&](uint32_t h) {  // orders as the values do, -0 below +0
    const auto magnitude = static_cast<int32_t>(h & 0x7fffu);
    const int32_t ordered = h & 0x8000u ? ~magnitude : magnitude;
    return (h & 0x7fffu) > e.infinity ? e.nan_key : ordered;
  };
  const bool first = maximum ? key(a) > key(b) : key(a) < key(b);
  const uint32_t r = first ? a : b;
  const uint32_t signed_r = r ^ sign;
  const uint32_t negative = 0u - (signed_r >> 15);  // all ones
  const uint32_t clamped = signed_r & ~(negative & e.relu);
  return (r & 0x7fffu) > e.infinity ? kHalfNan : clamped;
}
// Two or three sources; each half alone.
template <bool bf16, bool maximum, bool three>
void half_extremum(Warp& warp, const Op& op, uint32_t mask) {
  const uint32_t* a = warp.reg<uint32_t>(op.a);
  const uint32_t* b = warp.reg<uint32_t>(op.b);
  const uint32_t* c = warp.reg<uint32_t>(op.c);
  Extremum e;
  e.infinity = bf16 ? 0x7f80u : 0x7c00u;
  e.flush_below = op.imm & kFtz ? (bf16 ? 0x80u : 0x400u) : 0u;
  e.keep = op.imm & kXorSign ? 0x7fffu : 0xffffu;
  e.nan_key = ((op.imm & kNan) != 0) == maximum ? INT32_MAX : INT32_MIN;
  e.relu = op.imm & kRelu ? ~0u : 0u;
  Extremum inner = e;
  inner.relu = 0;
  const uint32_t upper = op.imm & kPacked ? ~0u : 0u;
  for_lanes<uint32_t, false>(warp, op.dst, mask, [=](int i) {
    uint32_t low = a[i] & 0xffffu, high = a[i] >> 16;
    if constexpr (three) {
      low = extremum_half<maximum>(low, b[i] & 0xffffu, inner);
      high = extremum_half<maximum>(high, b[i] >> 16, inner);
      low = extremum_half<maximum>(low, c[i] & 0xffffu, e);
      high = extremum_half<maximum>(high, c[i] >> 16, e);
    } else {
      low = extremum_half<maximum>(low, b[i] & 0xffffu, e);
      high = extremum_half<maximum>(high, b[i] >> 16, e);
    }
    return low | (high << 16 & upper);
  });
}

// abs, neg: the sign bits; with .ftz subnormals lose their digits.
template <bool negate>
void half_sign(Warp& warp, const Op& op, uint32_t mask) {
  const uint32_t* a = warp.reg<uint32_t>(op.a);
  const uint32_t signs = op.imm & kPacked ? 0x80008000u : 0x8000u;
  const uint32_t keep = op.imm & kPacked ? 0xffffffffu : 0xffffu;
  const bool ftz = op.imm & kFtz;
  const uint32_t min_normal = static_cast<uint32_t>(op.imm >> 32);
  for_lanes<uint32_t, false>(warp, op.dst, mask, [=](int i) {
    uint32_t x = (negate ? a[i] ^ signs : a[i] & ~signs) & keep;
    if (ftz) {
      x = (x & 0x7fffu) < min_normal ? x & 0xffff8000u : x;
      x = (x >> 16 & 0x7fffu) < min_normal ? x & 0x8000ffffu : x;
    }
    return x;
  });
}

// ---- selection
// -----------------------------------------------------------------------------------
template <bool bf16>
Selection select_extremum(const Instruction& in, uint64_t imm) {
  if (in.mods.nan) imm |= kNan;
  if (in.mods.xorsign_abs) imm |= kXorSign;
  const bool three = in.operands.size() == 4;
  if (three && in.mods.xorsign_abs) return refuse("three-input min and max have no .xorsign");
  if (in.op == Opcode::min)
    return run(three ? half_extremum<bf16, false, true> : half_extremum<bf16, false, false>, imm);
  return run(three ? half_extremum<bf16, true, true> : half_extremum<bf16, true, false>, imm);
}

template <bool bf16>
Selection select_half_of(const Instruction& in, uint64_t imm) {
  switch (in.op) {
    case Opcode::add:
      return run(half_binary<bf16, kAdd>, imm);
    case Opcode::sub:
      return run(half_binary<bf16, kSub>, imm);
    case Opcode::mul:
      return run(half_binary<bf16, kMul>, imm);
    case Opcode::fma:
    case Opcode::mad:
      return run(half_fma<bf16>, imm);
    case Opcode::min:
    case Opcode::max:
      return select_extremum<bf16>(in, imm);
    case Opcode::abs:
      return run(half_sign<false>, imm | uint64_t{bf16 ? 0x80u : 0x400u} << 32);
    case Opcode::neg:
      return run(half_sign<true>, imm | uint64_t{bf16 ? 0x80u : 0x400u} << 32);
    case Opcode::ex2:
      return run(half_special<bf16, false>, imm);
    case Opcode::tanh:
      return run(half_special<bf16, true>, imm);
    default:
      return {};
  }
}

}  // namespace

Selection select_half(const Instruction& in, const OperandWidths&) {
  const Modifiers& m = in.mods;
  const Type t = m.types[0];
  const bool packed = t == Type::f16x2 || t == Type::bf16x2;
  const bool bf16 = t == Type::bf16 || t == Type::bf16x2;
  if (!packed && !bf16 && t != Type::f16) return {};
  uint64_t imm = (packed ? kPacked : 0) | (m.sat ? kSat : 0) | (m.relu ? kRelu : 0);
  // ex2.ftz.bf16 names what bf16's ex2 always does; its results below the normal range are flushed.
  if (m.ftz) imm |= kFtz;
  return bf16 ? select_half_of<true>(in, imm) : select_half_of<false>(in, imm);
}

}  // namespace fiel::vgpu::FIEL_ISA
