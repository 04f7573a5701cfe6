// cvt between integers and floats. Two layers:
//  - the general one goes through 32 doubles: every source type has an exact (or, for 64-bit
//    integers, rounded-to-odd) loader, every destination type a storer that rounds once;
//  - frequent pairs (f32 <-> s32, f32 <-> half, integer to integer) have loops of their own.
// Formats below 16 bits and packed results are in convert_packed.cpp.
#include "vgpu/isa/convert.h"

namespace fiel::vgpu::FIEL_ISA {
namespace {

// ---- general conversions: op.imm
// -----------------------------------------------------------------
struct Plan {
  Type to = Type::none, from = Type::none;
  Rounding rounding = Rounding::none;
  bool ftz = false, sat = false, satfinite = false, relu = false;
  uint8_t register_bits = 32;  // of the destination
  bool source_wide = false;    // the source register has 64-bit lanes

  uint64_t encode() const {
    return static_cast<uint64_t>(to) | static_cast<uint64_t>(from) << 8 |
           static_cast<uint64_t>(rounding) << 16 | static_cast<uint64_t>(ftz) << 24 |
           static_cast<uint64_t>(sat) << 25 | static_cast<uint64_t>(satfinite) << 26 |
           static_cast<uint64_t>(relu) << 27 | static_cast<uint64_t>(source_wide) << 28 |
           static_cast<uint64_t>(register_bits) << 32;
  }
  static Plan decode(uint64_t imm) {
    Plan p;
    p.to = static_cast<Type>(imm & 0xff);
    p.from = static_cast<Type>((imm >> 8) & 0xff);
    p.rounding = static_cast<Rounding>((imm >> 16) & 0xff);
    p.ftz = (imm >> 24) & 1u;
    p.sat = (imm >> 25) & 1u;
    p.satfinite = (imm >> 26) & 1u;
    p.relu = (imm >> 27) & 1u;
    p.source_wide = (imm >> 28) & 1u;
    p.register_bits = static_cast<uint8_t>(imm >> 32);
    return p;
  }
};

struct alignas(32) DoubleLanes {
  double at[kLanes];
};

// ---- loaders
// ------------------------------------------------------------------------------------- The low 32
// bits of each lane.
void load_words(uint32_t* to, Warp& warp, uint32_t reg, bool wide) {
  if (!wide) {
    copy_bytes<4 * kLanes>(to, warp.reg<uint32_t>(reg));
  } else {
    const auto* a = warp.reg<uint64_t>(reg);
    for (int i = 0; i < kLanes; ++i) to[i] = static_cast<uint32_t>(a[i]);
  }
}
double odd_double(uint64_t magnitude, bool negative) {
  const int excess = 64 - 53 - __builtin_clzll(magnitude | 1);
  if (excess > 0) {
    const bool sticky = (magnitude & ((uint64_t{1} << excess) - 1)) != 0;
    magnitude = (magnitude >> excess | static_cast<uint64_t>(sticky)) << excess;
  }
  const double d = static_cast<double>(magnitude);
  return negative ? -d : d;
}
void load(DoubleLanes& to, Warp& warp, uint32_t reg, const Plan& plan) {
  if (ptx::bits_of(plan.from) == 64) {
    const auto* a = warp.reg<uint64_t>(reg);
    for (int i = 0; i < kLanes; ++i) {
      if (plan.from == Type::f64)
        to.at[i] = double_of(a[i]);
      else if (plan.from == Type::s64)
        to.at[i] = odd_double(a[i] >> 63 ? 0 - a[i] : a[i], (a[i] >> 63) != 0);
      else
        to.at[i] = odd_double(a[i], false);
    }
    return;
  }
  alignas(32) uint32_t x[kLanes];
  load_words(x, warp, reg, plan.source_wide);
  FloatLanes f;
  switch (plan.from) {
    case Type::f16:
      load_f16(f, x, 0);
      break;
    case Type::bf16:
      load_bf16(f, x, 0);
      break;
    case Type::f32: {
      // .ftz leaves the sources of halves alone: directed rounding sees a subnormal (H200).
      const bool flushes = plan.ftz && plan.to != Type::f16 && plan.to != Type::bf16;
      for (int i = 0; i < kLanes; ++i) f.at[i] = flushes ? flush(float_of(x[i])) : float_of(x[i]);
      break;
    }
    case Type::u32:
      for (int i = 0; i < kLanes; ++i)
        to.at[i] = static_cast<double>(static_cast<int32_t>(x[i] ^ 0x80000000u)) + 2147483648.0;
      return;
    default: {  // s32 and narrower, sign- or zero-extended
      const uint32_t up = 32 - ptx::bits_of(plan.from);
      const bool is_signed = ptx::is_signed(plan.from);
      for (int i = 0; i < kLanes; ++i) {
        const uint32_t top = x[i] << up;
        to.at[i] = static_cast<double>(is_signed ? static_cast<int32_t>(top) >> up
                                                 : static_cast<int32_t>(top >> up));
      }
      return;
    }
  }
  for (int i = 0; i < kLanes; ++i) to.at[i] = static_cast<double>(f.at[i]);
}

// ---- rounding to an integral value
// ---------------------------------------------------------------
void round_integral(DoubleLanes& x, Rounding rounding) {
  for (int v = 0; v < kLanes / 4; ++v) {
    __m256d y = _mm256_load_pd(x.at + 4 * v);
    switch (rounding) {
      case Rounding::rni:
        y = _mm256_round_pd(y, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
        break;
      case Rounding::rzi:
        y = _mm256_round_pd(y, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
        break;
      case Rounding::rmi:
        y = _mm256_round_pd(y, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
        break;
      case Rounding::rpi:
        y = _mm256_round_pd(y, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
        break;
      default:
        break;
    }
    _mm256_store_pd(x.at + 4 * v, y);
  }
}

// ---- storers
// -------------------------------------------------------------------------------------
/// Writes 64-bit results to a register of any width, extended as type `to` says.
void store_extended(Warp& warp, uint32_t reg, uint32_t mask, const uint64_t* value, Type to,
                    uint32_t register_bits) {
  const uint32_t up = 64 - ptx::bits_of(to);
  const bool is_signed = ptx::is_signed(to);
  const auto extended = [=](int i) {
    const uint64_t top = value[i] << up;
    return is_signed ? static_cast<uint64_t>(static_cast<int64_t>(top) >> up) : top >> up;
  };
  if (register_bits == 64) {
    for_lanes<uint64_t, false>(warp, reg, mask, extended);
  } else {
    const uint32_t keep = register_bits >= 32 ? ~0u : (1u << register_bits) - 1;
    for_lanes<uint32_t, false>(warp, reg, mask,
                               [=](int i) { return static_cast<uint32_t>(extended(i)) & keep; });
  }
}

// NaN: zero between 32-bit types, else 1 << (bits - 1) (ISA text of cvt).
void store_integer(Warp& warp, const Op& op, uint32_t mask, const DoubleLanes& x, const Plan& p) {
  const uint32_t bits = ptx::bits_of(p.to);
  const uint64_t nan = p.from == Type::f64 || bits == 64 ? uint64_t{1} << (bits - 1) : 0;
  alignas(32) uint64_t value[kLanes];
  const bool is_signed = ptx::is_signed(p.to);
  const double limit = static_cast<double>(uint64_t{1} << (bits - 1));  // 2^(bits-1), exact
  const double above = is_signed ? limit : 2.0 * limit;                 // first value too large
  const uint64_t largest =
      is_signed ? (uint64_t{1} << (bits - 1)) - 1 : ~uint64_t{0} >> (64 - bits);
  const uint64_t smallest = is_signed ? uint64_t{0} - (uint64_t{1} << (bits - 1)) : 0;
  for (int i = 0; i < kLanes; ++i) {
    const double d = x.at[i];
    if (d != d) {
      value[i] = nan;
    } else if (d >= above) {
      value[i] = largest;
    } else if (d < (is_signed ? -limit : 0.0)) {
      value[i] = smallest;
    } else if (d >= 9223372036854775808.0) {
      value[i] = static_cast<uint64_t>(static_cast<int64_t>(d - 9223372036854775808.0)) ^
                 0x8000000000000000ull;
    } else {
      value[i] = static_cast<uint64_t>(static_cast<int64_t>(d));
    }
  }
  store_extended(warp, op.dst, mask, value, p.to, p.register_bits);
}

void store_float(Warp& warp, const Op& op, uint32_t mask, const DoubleLanes& x, const Plan& p) {
  alignas(32) float f[kLanes];
  {
    RoundingScope scope(rounding_control(p.rounding));
    for (int i = 0; i < kLanes; ++i) f[i] = static_cast<float>(x.at[i]);
  }
  for_lanes<float, false>(warp, op.dst, mask, [&](int i) {
    // From f64 a NaN keeps its sign and the payload's upper bits, as on the host.
    float y = p.from == Type::f64 ? f[i] : canonical(f[i]);
    if (p.ftz) y = flush(y);
    if (p.relu) y = y != y ? y : y > 0.0f ? y : 0.0f;
    return p.sat ? saturate(y) : y;
  });
}
void store_double(Warp& warp, const Op& op, uint32_t mask, const DoubleLanes& x, const Plan& p) {
  for_lanes<double, false>(warp, op.dst, mask,
                           [&](int i) { return p.sat ? saturate(x.at[i]) : x.at[i]; });
}
// A NaN from f64 keeps its sign and the payload's upper bits, and becomes quiet.
void keep_payloads(uint32_t* to, const DoubleLanes& x, bool bf16) {
  for (int i = 0; i < kLanes; ++i) {
    if (x.at[i] == x.at[i]) continue;
    const uint64_t bits = bits_of_double(x.at[i]);
    const auto sign = static_cast<uint32_t>(bits >> 48) & 0x8000u;
    const auto payload = static_cast<uint32_t>((bits & 0x000fffffffffffffull) >> (bf16 ? 45 : 42));
    to[i] = sign | (bf16 ? 0x7fc0u : 0x7e00u) | payload;
  }
}
void store_half(Warp& warp, const Op& op, uint32_t mask, const DoubleLanes& x, const Plan& p) {
  FloatLanes f;
  to_floats_odd(f, x.at);
  HalfRounding how;
  how.bf16 = p.to == Type::bf16;
  how.rounding = p.rounding;
  how.sat = p.sat;
  how.satfinite = p.satfinite;
  how.relu = p.relu;
  alignas(32) uint32_t h[kLanes];
  round_to_half(h, f, how);
  if (p.from == Type::f64 && !p.sat) keep_payloads(h, x, how.bf16);
  if (p.register_bits == 64)
    for_lanes<uint64_t, false>(warp, op.dst, mask, [&](int i) { return uint64_t{h[i]}; });
  else
    for_lanes<uint32_t, false>(warp, op.dst, mask, [&](int i) { return h[i]; });
}

void convert_any(Warp& warp, const Op& op, uint32_t mask) {
  const Plan p = Plan::decode(op.imm);
  DoubleLanes x;
  load(x, warp, op.a, p);
  round_integral(x, p.rounding);
  switch (p.to) {
    case Type::f64:
      return store_double(warp, op, mask, x, p);
    case Type::f32:
      return store_float(warp, op, mask, x, p);
    case Type::f16:
    case Type::bf16:
      return store_half(warp, op, mask, x, p);
    default:
      return store_integer(warp, op, mask, x, p);
  }
}

// 64-bit integers to f64: the double pipeline would round twice.
template <typename T>
void integer_to_double(Warp& warp, const Op& op, uint32_t mask) {
  const Plan p = Plan::decode(op.imm);
  const auto* a = warp.reg<uint64_t>(op.a);
  RoundingScope scope(rounding_control(p.rounding));
  for_lanes<double, false>(warp, op.dst, mask, [&](int i) {
    double d;
    if (std::is_signed_v<T> || !(a[i] >> 63)) {
      d = static_cast<double>(static_cast<int64_t>(a[i]));
    } else {  // halved with a sticky bit: doubling it afterwards is exact
      d = static_cast<double>(static_cast<int64_t>(a[i] >> 1 | (a[i] & 1u)));
      d += d;
    }
    return p.sat ? saturate(d) : d;
  });
}

// ---- frequent pairs
// ------------------------------------------------------------------------------
constexpr auto kFloatOfS32 = [](int32_t a) { return static_cast<float>(a); };
constexpr auto kDoubleOfS32 = [](int32_t a) { return static_cast<double>(a); };
constexpr auto kFloatOfU32 = [](uint32_t a) {
  return static_cast<float>(static_cast<double>(static_cast<int32_t>(a ^ 0x80000000u)) +
                            2147483648.0);
};
template <bool ftz>
constexpr auto kDoubleOfFloat = [](float a) { return static_cast<double>(flush_if<ftz>(a)); };
template <bool ftz>
constexpr auto kFloatOfDouble =
    [](double a) { return flush_if<ftz>(static_cast<float>(a)); };  // payloads as on the host

// f32 -> s32. cvttps gives 0x80000000 for everything that does not fit; NaN and the upper end are
// patched. Flushing matters: rpi of a positive subnormal is 1 without it.
template <int rounding, bool ftz>
void s32_of_f32(Warp& warp, const Op& op, uint32_t mask) {
  const float* a = warp.reg<float>(op.a);
  auto* d = warp.reg<uint32_t>(op.dst);
  MaskedWrite<uint32_t> write(d, mask);
  FloatLanes x;
  for (int i = 0; i < kLanes; ++i) x.at[i] = flush_if<ftz>(a[i]);
  settle();
  for (int v = 0; v < 4; ++v) {
    const __m256 y = _mm256_round_ps(_mm256_load_ps(x.at + 8 * v), rounding | _MM_FROUND_NO_EXC);
    const __m256i r = _mm256_cvttps_epi32(y);
    const __m256 high = _mm256_cmp_ps(y, _mm256_set1_ps(2147483648.0f), _CMP_GE_OQ);
    const __m256 nan = _mm256_cmp_ps(y, y, _CMP_UNORD_Q);
    const __m256i clamped = _mm256_xor_si256(r, _mm256_castps_si256(high));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(d + 8 * v),
                        _mm256_andnot_si256(_mm256_castps_si256(nan), clamped));
  }
}
// f32 -> u32: below zero (and NaN) 0, above 2^32 all ones; the upper half of the range is shifted
// down for the signed conversion.
template <int rounding, bool ftz>
void u32_of_f32(Warp& warp, const Op& op, uint32_t mask) {
  const float* a = warp.reg<float>(op.a);
  FloatLanes x;
  for (int i = 0; i < kLanes; ++i) x.at[i] = flush_if<ftz>(a[i]);
  settle();
  for (int v = 0; v < 4; ++v)
    _mm256_store_ps(x.at + 8 * v,
                    _mm256_round_ps(_mm256_load_ps(x.at + 8 * v), rounding | _MM_FROUND_NO_EXC));
  settle();
  for_lanes<uint32_t, false>(warp, op.dst, mask, [&](int i) {
    const float y = x.at[i] > 0.0f ? x.at[i] : 0.0f;
    const bool high = y >= 2147483648.0f;
    const float shifted = high ? y - 2147483648.0f : y;
    const auto r = static_cast<uint32_t>(static_cast<int32_t>(shifted)) + (high ? 0x80000000u : 0u);
    return y >= 4294967296.0f ? ~0u : r;
  });
}
template <int rounding, bool ftz>
void integral_f32(Warp& warp, const Op& op, uint32_t mask) {
  const float* a = warp.reg<float>(op.a);
  FloatLanes x;
  for (int i = 0; i < kLanes; ++i) x.at[i] = flush_if<ftz>(a[i]);
  settle();
  for (int v = 0; v < 4; ++v)
    _mm256_store_ps(x.at + 8 * v,
                    _mm256_round_ps(_mm256_load_ps(x.at + 8 * v), rounding | _MM_FROUND_NO_EXC));
  settle();
  for_lanes<float, false>(warp, op.dst, mask, [&](int i) { return canonical(x.at[i]); });
}
constexpr int integral_form(Rounding r, bool ftz) {
  const int mode = r == Rounding::rni   ? 0
                   : r == Rounding::rmi ? 1
                   : r == Rounding::rpi ? 2
                   : r == Rounding::rzi ? 3
                                        : -1;
  return mode < 0 ? -1 : mode + (ftz ? 4 : 0);
}
constexpr Handler kS32OfF32[8] = {s32_of_f32<0, false>, s32_of_f32<1, false>, s32_of_f32<2, false>,
                                  s32_of_f32<3, false>, s32_of_f32<0, true>,  s32_of_f32<1, true>,
                                  s32_of_f32<2, true>,  s32_of_f32<3, true>};
constexpr Handler kU32OfF32[8] = {u32_of_f32<0, false>, u32_of_f32<1, false>, u32_of_f32<2, false>,
                                  u32_of_f32<3, false>, u32_of_f32<0, true>,  u32_of_f32<1, true>,
                                  u32_of_f32<2, true>,  u32_of_f32<3, true>};
constexpr Handler kIntegralF32[8] = {
    integral_f32<0, false>, integral_f32<1, false>, integral_f32<2, false>, integral_f32<3, false>,
    integral_f32<0, true>,  integral_f32<1, true>,  integral_f32<2, true>,  integral_f32<3, true>};

void f32_of_f16(Warp& warp, const Op& op, uint32_t mask) {
  FloatLanes f;
  load_f16(f, warp.reg<uint32_t>(op.a), 0);
  for_lanes<float, false>(warp, op.dst, mask, [&](int i) { return canonical(f.at[i]); });
}
// Moves of bits: NaN payloads stay (they do not with .ftz).
constexpr auto kF32OfBf16 = [](uint32_t a) { return a << 16; };
constexpr auto kSameBits = [](uint32_t a) { return a; };
void f16_of_f32(Warp& warp, const Op& op, uint32_t mask) {
  FloatLanes f;
  copy_bytes<sizeof f.at>(f.at, warp.reg<float>(op.a));
  alignas(32) uint32_t h[kLanes];
  f16_bits<0>(h, f);
  for_lanes<uint32_t, false>(warp, op.dst, mask, [&](int i) { return h[i]; });
}
constexpr auto kBf16OfF32 = [](uint32_t a) { return bf16_of(float_of(a)); };

// ---- integer to integer
// -------------------------------------------------------------------------- op.imm: shifts that
// extend source and result, and the bits that the destination register has.
template <typename S, typename D, bool source_signed, bool result_signed>
void extend(Warp& warp, const Op& op, uint32_t mask) {
  using SourceSigned = std::make_signed_t<S>;
  using ResultSigned = std::make_signed_t<D>;
  const auto* a = warp.reg<S>(op.a);
  const auto in = static_cast<int>(op.imm & 0xff), out = static_cast<int>((op.imm >> 8) & 0xff);
  const auto keep = static_cast<D>(op.imm >> 16 & 0xff ? ~D{0} : D{0xffff});
  for_lanes<D, sizeof(S) != sizeof(D)>(warp, op.dst, mask, [=](int i) {
    const S top = static_cast<S>(a[i] << in);
    D wide;
    if constexpr (source_signed)
      wide = static_cast<D>(static_cast<SourceSigned>(top) >> in);
    else
      wide = static_cast<D>(top >> in);
    const D high = static_cast<D>(wide << out);
    D result;
    if constexpr (result_signed)
      result = static_cast<D>(static_cast<ResultSigned>(high) >> out);
    else
      result = static_cast<D>(high >> out);
    return static_cast<D>(result & keep);
  });
}
template <typename S, typename D>
Handler extend_for(bool source_signed, bool result_signed) {
  if (source_signed) return result_signed ? extend<S, D, true, true> : extend<S, D, true, false>;
  return result_signed ? extend<S, D, false, true> : extend<S, D, false, false>;
}

void convert_saturating(Warp& warp, const Op& op, uint32_t mask) {
  const Plan p = Plan::decode(op.imm);
  const uint32_t in = 64 - ptx::bits_of(p.from), bits = ptx::bits_of(p.to);
  const bool from_signed = ptx::is_signed(p.from), to_signed = ptx::is_signed(p.to);
  const uint64_t largest = ~uint64_t{0} >> (to_signed ? 65 - bits : 64 - bits);
  const int64_t smallest = to_signed ? -static_cast<int64_t>(largest) - 1 : 0;
  alignas(32) uint64_t value[kLanes];
  for (int i = 0; i < kLanes; ++i) {
    const uint64_t raw =
        p.source_wide ? warp.reg<uint64_t>(op.a)[i] : uint64_t{warp.reg<uint32_t>(op.a)[i]};
    const uint64_t top = raw << in;
    if (from_signed) {
      const int64_t v = static_cast<int64_t>(top) >> in;
      value[i] = v < smallest                                  ? static_cast<uint64_t>(smallest)
                 : v > 0 && static_cast<uint64_t>(v) > largest ? largest
                                                               : static_cast<uint64_t>(v);
    } else {
      value[i] = top >> in > largest ? largest : top >> in;
    }
  }
  store_extended(warp, op.dst, mask, value, p.to, p.register_bits);
}

// ---- selection ---------------------------------------------------------------------------------
bool is_integer(Type t) {
  return t == Type::u8 || t == Type::s8 || t == Type::u16 || t == Type::s16 || t == Type::u32 ||
         t == Type::s32 || t == Type::u64 || t == Type::s64;
}
bool is_scalar_float(Type t) {
  return t == Type::f16 || t == Type::bf16 || t == Type::f32 || t == Type::f64;
}

Selection select_integers(const Plan& p) {
  if (p.sat) return run(convert_saturating, p.encode());
  const bool wide_in = p.source_wide, wide_out = p.register_bits == 64;
  const uint64_t imm = ((wide_in ? 64u : 32u) - ptx::bits_of(p.from)) |
                       uint64_t{(wide_out ? 64u : 32u) - ptx::bits_of(p.to)} << 8 |
                       uint64_t{p.register_bits >= 32 ? 1u : 0u} << 16;
  const bool a = ptx::is_signed(p.from), d = ptx::is_signed(p.to);
  if (wide_in)
    return run(
        wide_out ? extend_for<uint64_t, uint64_t>(a, d) : extend_for<uint64_t, uint32_t>(a, d),
        imm);
  return run(wide_out ? extend_for<uint32_t, uint64_t>(a, d) : extend_for<uint32_t, uint32_t>(a, d),
             imm);
}

// nullptr: no loop of its own.
Handler frequent(const Plan& p) {
  if (p.sat || p.relu || p.satfinite || p.source_wide) return nullptr;
  const bool nearest = p.rounding == Rounding::rn;
  const int form = integral_form(p.rounding, p.ftz);
  if (p.from == Type::f32) {
    if (p.to == Type::s32 && p.register_bits == 32 && form >= 0) return kS32OfF32[form];
    if (p.to == Type::u32 && p.register_bits == 32 && form >= 0) return kU32OfF32[form];
    if (p.to == Type::f32 && form >= 0) return kIntegralF32[form];
    if (p.to == Type::f32 && p.rounding == Rounding::none && !p.ftz)
      return unary<uint32_t, kSameBits>;
    if (p.to == Type::f64 && form < 0)
      return p.ftz ? unary_to<double, float, kDoubleOfFloat<true>>
                   : unary_to<double, float, kDoubleOfFloat<false>>;
    if (p.to == Type::f16 && nearest && !p.ftz) return f16_of_f32;
    if (p.to == Type::bf16 && nearest && !p.ftz) return unary<uint32_t, kBf16OfF32>;
  }
  if (p.to == Type::f32) {
    if (p.from == Type::s32 && nearest) return unary_to<float, int32_t, kFloatOfS32>;
    if (p.from == Type::u32 && nearest) return unary_to<float, uint32_t, kFloatOfU32>;
    if (p.from == Type::f16 && p.rounding == Rounding::none && !p.ftz) return f32_of_f16;
    if (p.from == Type::bf16 && p.rounding == Rounding::none && !p.ftz)
      return unary<uint32_t, kF32OfBf16>;
  }
  return nullptr;
}
Handler frequent_wide(const Plan& p) {
  if (p.sat || p.to != (p.from == Type::f64 ? Type::f32 : Type::f64)) return nullptr;
  if (p.from == Type::f64 && p.rounding == Rounding::rn)
    return p.ftz ? unary_to<float, double, kFloatOfDouble<true>>
                 : unary_to<float, double, kFloatOfDouble<false>>;
  if (p.from == Type::s32 && p.rounding == Rounding::rn && !p.source_wide)
    return unary_to<double, int32_t, kDoubleOfS32>;
  return nullptr;
}

}  // namespace

Selection select_convert(const Instruction& in, const OperandWidths& widths) {
  if (in.op != Opcode::cvt) return {};
  const Modifiers& m = in.mods;
  Plan p;
  p.to = m.types[0];
  p.from = m.types[1];
  p.rounding = m.rounding;
  p.ftz = m.ftz;
  p.sat = m.sat;
  p.satfinite = m.satfinite;
  p.relu = m.relu;
  p.register_bits = widths.bits[0]
                        ? widths.bits[0]
                        : static_cast<uint8_t>(ptx::bits_of(p.to) < 32 ? 32 : ptx::bits_of(p.to));
  p.source_wide = widths.bits[1] ? widths.bits[1] > 32 : ptx::bits_of(p.from) > 32;
  if (in.operands.size() != 2 || !(is_integer(p.to) || is_scalar_float(p.to)) ||
      !(is_integer(p.from) || is_scalar_float(p.from)))
    return select_convert_packed(in);
  if (is_integer(p.to) && is_integer(p.from)) return select_integers(p);
  if (is_integer(p.to) && integral_form(p.rounding, false) < 0)
    return refuse("float to integer needs .rni, .rzi, .rmi or .rpi");
  if ((p.from == Type::s64 || p.from == Type::u64) && p.to == Type::f64)
    return run(p.from == Type::s64 ? integer_to_double<int64_t> : integer_to_double<uint64_t>,
               p.encode());
  if (const Handler h = frequent(p)) return run(h);
  if (const Handler h = frequent_wide(p)) return run(h);
  return run(convert_any, p.encode());
}

}  // namespace fiel::vgpu::FIEL_ISA
