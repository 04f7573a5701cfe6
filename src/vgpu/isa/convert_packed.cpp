// cvt to and from tf32, fp8 pairs, f16x2 and bf16x2, cvt.pack, and rounding to half precision.
#include "vgpu/isa/convert.h"

namespace fiel::vgpu::FIEL_ISA {
namespace {

// ---- rounding to half
// ----------------------------------------------------------------------------
void f16_bits_by(uint32_t* to, const FloatLanes& from, Rounding rounding) {
  switch (rounding) {
    case Rounding::rz:
      return f16_bits<3>(to, from);
    case Rounding::rm:
      return f16_bits<1>(to, from);
    case Rounding::rp:
      return f16_bits<2>(to, from);
    default:
      return f16_bits<0>(to, from);
  }
}
// Directed: truncate, then one up in magnitude where the mode points away from zero. A carry into
// the exponent, up to infinity, is what it should be.
void bf16_bits_by(uint32_t* to, const FloatLanes& from, Rounding rounding) {
  if (rounding != Rounding::rz && rounding != Rounding::rm && rounding != Rounding::rp)
    return bf16_bits(to, from);
  const uint32_t away_sign = rounding == Rounding::rm ? 1u : 0u;  // the sign that grows
  const bool grows = rounding != Rounding::rz;
  for (int i = 0; i < kLanes; ++i) {
    const uint32_t b = bits_of_float(from.at[i]);
    const bool inexact = (b & 0xffffu) != 0 && (b & 0x7fffffffu) < 0x7f800000u;
    const uint32_t up = grows && inexact && (b >> 31) == away_sign ? 1u : 0u;
    to[i] = from.at[i] != from.at[i] ? kHalfNan : (b >> 16) + up;
  }
}

}  // namespace

void round_to_half(uint32_t* to, const FloatLanes& from, const HalfRounding& how) {
  if (how.bf16)
    bf16_bits_by(to, from, how.rounding);
  else
    f16_bits_by(to, from, how.rounding);
  const uint32_t infinity = how.bf16 ? 0x7f80u : 0x7c00u, one = how.bf16 ? 0x3f80u : 0x3c00u;
  for (int i = 0; i < kLanes; ++i) {
    uint32_t h = to[i];
    const bool nan = (h & 0x7fffu) > infinity, negative = (h & 0x8000u) != 0;
    if (how.satfinite && (h & 0x7fffu) == infinity) h = (h & 0x8000u) | (infinity - 1);
    if (how.relu && negative && !nan) h = 0;
    if (how.sat) h = nan || negative ? 0u : h > one ? one : h;
    to[i] = h;
  }
}

namespace {

// ---- tf32
// ---------------------------------------------------------------------------------------- A tf32
// is an f32 whose low 13 bits are zero.
enum class Tf32 : uint8_t { rna, rn, rz };
template <Tf32 rounding, bool relu, bool satfinite>
constexpr auto kTf32 = [](uint32_t a) {
  const uint32_t magnitude = a & 0x7fffffffu;
  const uint32_t bias = rounding == Tf32::rna  ? 0x1000u
                        : rounding == Tf32::rn ? 0xfffu + ((a >> 13) & 1u)
                                               : 0u;
  uint32_t r = (a + bias) & 0xffffe000u;
  r = magnitude == 0x7f800000u ? a : r;
  // As an H200 gives it: .rna.satfinite steps down by one from infinity, and from NaN too.
  const uint32_t nan = satfinite && rounding == Tf32::rna ? r - 0x2000u : 0x7fffe000u;
  if (satfinite) r = (r & 0x7fffffffu) == 0x7f800000u ? (a & 0x80000000u) | 0x7f7fe000u : r;
  if (relu) r = r >> 31 ? 0u : r;
  return magnitude > 0x7f800000u ? nan : r;
};
template <Tf32 rounding>
Handler tf32_for(const Modifiers& m) {
  if (m.relu)
    return m.satfinite ? unary<uint32_t, kTf32<rounding, true, true>>
                       : unary<uint32_t, kTf32<rounding, true, false>>;
  return m.satfinite ? unary<uint32_t, kTf32<rounding, false, true>>
                     : unary<uint32_t, kTf32<rounding, false, false>>;
}

// ---- fp8
// -----------------------------------------------------------------------------------------
struct Fp8 {
  int mantissa;       // stored bits
  int min_exponent;   // of normal numbers
  uint32_t largest;   // f32 bits of the largest finite value
  uint32_t top_code;  // its code
};
constexpr Fp8 kE4m3 = {3, -6, 0x43e00000u, 0x7eu};   // 448
constexpr Fp8 kE5m2 = {2, -14, 0x47600000u, 0x7bu};  // 57344

// .satfinite: overflow and infinity give the largest finite value, NaN gives 0x7f.
template <bool e4m3>
[[gnu::always_inline]] inline uint32_t fp8_of(float x) {
  constexpr Fp8 k = e4m3 ? kE4m3 : kE5m2;
  constexpr int kDrop = 23 - k.mantissa;
  const uint32_t b = bits_of_float(x), sign = (b >> 24) & 0x80u, a = b & 0x7fffffffu;
  const uint32_t normal = (a + ((1u << (kDrop - 1)) - 1) + ((a >> kDrop) & 1u)) >> kDrop;
  const uint32_t normal_code = normal - (static_cast<uint32_t>(126 + k.min_exponent) << k.mantissa);
  // Adding 2^(emin - mantissa + 23) lines the last subnormal bit up with the float's last bit.
  constexpr uint32_t kMagic = static_cast<uint32_t>(127 + k.min_exponent - k.mantissa + 23) << 23;
  const uint32_t small_code = bits_of_float(float_of(a) + float_of(kMagic)) - kMagic;
  constexpr uint32_t kMinNormal = static_cast<uint32_t>(127 + k.min_exponent) << 23;
  uint32_t code = a < kMinNormal ? small_code : normal_code;
  code = a >= k.largest ? k.top_code : code;
  code = a > 0x7f800000u ? 0x7fu : code | sign;
  return code;
}
template <bool e4m3>
[[gnu::always_inline]] inline float float_of_fp8(uint32_t code) {
  const uint32_t c = code & 0x7fu, sign = (code & 0x80u) << 24;
  if (e4m3) {
    const float magnitude = float_of(c << 20) * 0x1p120f;  // rebiased, subnormals included
    return float_of(c == 0x7fu ? kCanonicalNan : bits_of_float(magnitude) | sign);
  }
  const float magnitude = float_of(c << 21) * 0x1p112f;
  return float_of(c > 0x7cu    ? kCanonicalNan
                  : c == 0x7cu ? 0x7f800000u | sign
                               : bits_of_float(magnitude) | sign);
}

template <bool e4m3, bool relu>
constexpr auto kFp8Pair = [](float high, float low) {  // the first source is the high byte
  if (relu) {
    high = high < 0.0f || bits_of_float(high) == 0x80000000u ? 0.0f : high;
    low = low < 0.0f || bits_of_float(low) == 0x80000000u ? 0.0f : low;
  }
  return fp8_of<e4m3>(high) << 8 | fp8_of<e4m3>(low);
};
template <bool e4m3, bool relu, bool from_bf16>
void fp8_pair_of_halves(Warp& warp, const Op& op, uint32_t mask) {
  FloatLanes low, high;
  const uint32_t* a = warp.reg<uint32_t>(op.a);
  if constexpr (from_bf16) {
    load_bf16(low, a, 0);
    load_bf16(high, a, 16);
  } else {
    load_f16(low, a, 0);
    load_f16(high, a, 16);
  }
  for_lanes<uint32_t, false>(warp, op.dst, mask,
                             [&](int i) { return kFp8Pair<e4m3, relu>(high.at[i], low.at[i]); });
}
template <bool e4m3, bool to_bf16>
void halves_of_fp8_pair(Warp& warp, const Op& op, uint32_t mask) {
  const uint32_t* a = warp.reg<uint32_t>(op.a);
  const bool relu = op.imm != 0;
  FloatLanes f;
  alignas(32) uint32_t half[2][kLanes];
  for (int part = 0; part < 2; ++part) {
    for (int i = 0; i < kLanes; ++i) f.at[i] = float_of_fp8<e4m3>(a[i] >> (8 * part));
    HalfRounding how;
    how.bf16 = to_bf16;
    how.relu = relu;
    round_to_half(half[part], f, how);
  }
  for_lanes<uint32_t, false>(warp, op.dst, mask,
                             [&](int i) { return half[0][i] | half[1][i] << 16; });
}

Selection select_fp8(const Instruction& in) {
  const Modifiers& m = in.mods;
  const Type to = m.types[0], from = m.types[1];
  if (to == Type::e4m3x2 || to == Type::e5m2x2) {
    const bool e4m3 = to == Type::e4m3x2;
    if (from == Type::f32 && in.operands.size() == 3) {
      if (e4m3)
        return run(m.relu ? binary_to<uint32_t, float, float, kFp8Pair<true, true>>
                          : binary_to<uint32_t, float, float, kFp8Pair<true, false>>);
      return run(m.relu ? binary_to<uint32_t, float, float, kFp8Pair<false, true>>
                        : binary_to<uint32_t, float, float, kFp8Pair<false, false>>);
    }
    if (from == Type::f16x2) {
      if (e4m3)
        return run(m.relu ? fp8_pair_of_halves<true, true, false>
                          : fp8_pair_of_halves<true, false, false>);
      return run(m.relu ? fp8_pair_of_halves<false, true, false>
                        : fp8_pair_of_halves<false, false, false>);
    }
    if (from == Type::bf16x2) {
      if (e4m3)
        return run(m.relu ? fp8_pair_of_halves<true, true, true>
                          : fp8_pair_of_halves<true, false, true>);
      return run(m.relu ? fp8_pair_of_halves<false, true, true>
                        : fp8_pair_of_halves<false, false, true>);
    }
    return refuse("fp8 pairs are converted from two .f32, .f16x2 or .bf16x2");
  }
  if (to == Type::f16x2)
    return run(
        from == Type::e4m3x2 ? halves_of_fp8_pair<true, false> : halves_of_fp8_pair<false, false>,
        m.relu);
  if (to == Type::bf16x2)
    return run(
        from == Type::e4m3x2 ? halves_of_fp8_pair<true, true> : halves_of_fp8_pair<false, true>,
        m.relu);
  return refuse("fp8 pairs convert to .f16x2");
}

// ---- f16x2, bf16x2 from two floats
// ---------------------------------------------------------------
template <bool bf16>
void pair_nearest(Warp& warp, const Op& op, uint32_t mask) {
  FloatLanes high, low;
  copy_bytes<sizeof high.at>(high.at, warp.reg<float>(op.a));
  copy_bytes<sizeof low.at>(low.at, warp.reg<float>(op.b));
  alignas(32) uint32_t h[kLanes], l[kLanes];
  if constexpr (bf16) {
    bf16_bits(h, high);
    bf16_bits(l, low);
  } else {
    f16_bits<0>(h, high);
    f16_bits<0>(l, low);
  }
  for_lanes<uint32_t, false>(warp, op.dst, mask, [&](int i) { return h[i] << 16 | l[i]; });
}
// op.imm: HalfRounding, and bit 16 for .ftz.
void pair_any(Warp& warp, const Op& op, uint32_t mask) {
  HalfRounding how;
  how.bf16 = op.imm & 1u;
  how.satfinite = op.imm & 2u;
  how.relu = op.imm & 4u;
  how.rounding = static_cast<Rounding>(op.imm >> 8 & 0xff);
  FloatLanes high, low;
  copy_bytes<sizeof high.at>(high.at, warp.reg<float>(op.a));
  copy_bytes<sizeof low.at>(low.at, warp.reg<float>(op.b));
  alignas(32) uint32_t h[kLanes], l[kLanes];
  round_to_half(h, high, how);
  round_to_half(l, low, how);
  for_lanes<uint32_t, false>(warp, op.dst, mask, [&](int i) { return h[i] << 16 | l[i]; });
}
Selection select_pair(const Instruction& in) {
  const Modifiers& m = in.mods;
  const bool bf16 = m.types[0] == Type::bf16x2;
  if (m.types[1] != Type::f32 || in.operands.size() != 3)
    return refuse("two halves are converted from two .f32");
  if (m.rounding != Rounding::rn && m.rounding != Rounding::rz)
    return refuse("packed halves round by .rn or .rz");
  if (!m.relu && !m.satfinite && m.rounding == Rounding::rn)
    return run(bf16 ? pair_nearest<true> : pair_nearest<false>);
  return run(pair_any, (bf16 ? 1u : 0u) | (m.satfinite ? 2u : 0u) | (m.relu ? 4u : 0u) |
                           static_cast<uint64_t>(m.rounding) << 8);
}

// ---- cvt.pack
// ------------------------------------------------------------------------------------ d = c
// shifted up by two elements, then saturated a, then saturated b in the lowest bits.
template <typename C>
void pack_saturated(Warp& warp, const Op& op, uint32_t mask) {
  const auto bits = static_cast<int>(op.imm & 0xff);
  const bool is_signed = op.imm & 0x100, has_c = op.imm & 0x200;
  const int32_t largest = (1 << (bits - (is_signed ? 1 : 0))) - 1;
  const int32_t smallest = is_signed ? -largest - 1 : 0;
  const uint32_t field = (1u << bits) - 1;
  const auto clamp = [=](int32_t x) {
    return static_cast<uint32_t>(x > largest ? largest : x < smallest ? smallest : x) & field;
  };
  const C* a = warp.reg<C>(op.a);
  const C* b = warp.reg<C>(op.b);
  const uint32_t* c = warp.reg<uint32_t>(op.c);
  const int up = 2 * bits;
  for_lanes<uint32_t, false>(warp, op.dst, mask, [=](int i) {
    const uint32_t above = has_c ? static_cast<uint32_t>(uint64_t{c[i]} << up) : 0u;
    return above | clamp(a[i]) << bits | clamp(b[i]);
  });
}
Selection select_pack(const Instruction& in) {
  const Modifiers& m = in.mods;
  const uint32_t bits = ptx::bits_of(m.types[0]);
  if (m.types[1] != Type::s32 || bits > 16)
    return refuse("cvt.pack packs .s32 into 16-, 8- or 4-bit integers");
  return run(pack_saturated<int32_t>, bits | (ptx::is_signed(m.types[0]) ? 0x100u : 0u) |
                                          (in.operands.size() == 4 ? 0x200u : 0u));
}

}  // namespace

Selection select_convert_packed(const Instruction& in) {
  const Modifiers& m = in.mods;
  const Type to = m.types[0], from = m.types[1];
  switch (to) {
    case Type::tf32:
      if (from != Type::f32) return refuse("tf32 is converted from .f32");
      if (m.rounding == Rounding::rna) return run(tf32_for<Tf32::rna>(m));
      if (m.rounding == Rounding::rn) return run(tf32_for<Tf32::rn>(m));
      if (m.rounding == Rounding::rz) return run(tf32_for<Tf32::rz>(m));
      return refuse("tf32 rounds by .rna, .rn or .rz");
    case Type::e4m3x2:
    case Type::e5m2x2:
      return select_fp8(in);
    case Type::f16x2:
    case Type::bf16x2:
      if (from == Type::e4m3x2 || from == Type::e5m2x2) return select_fp8(in);
      return select_pair(in);
    case Type::u16:
    case Type::s16:
    case Type::u8:
    case Type::s8:
    case Type::u4:
    case Type::s4:
      return select_pack(in);
    default:
      return refuse("no such conversion");
  }
}

}  // namespace fiel::vgpu::FIEL_ISA
