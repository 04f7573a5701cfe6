// The model of floating-point arithmetic, comparison and conversion, on soft_float.h.
#include <algorithm>
#include <cmath>

#include "model.h"
#include "soft_float.h"

namespace fiel::vgpu::model {
namespace {

using ptx::Compare;
using ptx::Instruction;
using ptx::Opcode;
using ptx::Rounding;
using ptx::Type;

const Format* format_of(Type t) {
  switch (t) {
    case Type::f16:
    case Type::f16x2:
      return &kF16;
    case Type::bf16:
    case Type::bf16x2:
      return &kBf16;
    case Type::f32:
      return &kF32;
    case Type::f64:
      return &kF64;
    default:
      return nullptr;
  }
}
Mode mode_of(Rounding r) {
  switch (r) {
    case Rounding::rz:
    case Rounding::rzi:
      return Mode::zero;
    case Rounding::rm:
    case Rounding::rmi:
      return Mode::down;
    case Rounding::rp:
    case Rounding::rpi:
      return Mode::up;
    case Rounding::rna:
      return Mode::away;
    default:
      return Mode::nearest;
  }
}
bool is_integral_mode(Rounding r) {
  return r == Rounding::rni || r == Rounding::rzi || r == Rounding::rmi || r == Rounding::rpi;
}

uint64_t sign_of(const Format& f) { return uint64_t{1} << (f.bits - 1); }
bool subnormal(uint64_t x, const Format& f) {
  const uint64_t magnitude = x & (sign_of(f) - 1);
  return magnitude != 0 && magnitude < uint64_t{1} << (f.precision - 1);
}
uint64_t flushed(uint64_t x, const Format& f) { return subnormal(x, f) ? x & sign_of(f) : x; }
bool nan_bits(uint64_t x, const Format& f) { return decode(x, f).nan(); }

uint64_t one(const Format& f) { return encode(from_magnitude(false, 1), f, Mode::nearest); }

/// .ftz, .sat, .relu on a rounded result.
uint64_t finish(uint64_t x, const Format& f, const ptx::Modifiers& m) {
  if (m.ftz) x = flushed(x, f);
  if (m.relu && !nan_bits(x, f) && (x & sign_of(f))) x = 0;
  if (m.sat) {
    if (nan_bits(x, f) || (x & sign_of(f))) return 0;
    x = std::min(x, one(f));
  }
  return x;
}

Soft arithmetic(const Instruction& in, const Soft* s, Mode mode) {
  switch (in.op) {
    case Opcode::add:
      return add(s[0], s[1], mode);
    case Opcode::sub:
      return add(s[0], negate(s[1]), mode);
    case Opcode::mul:
      return multiply(s[0], s[1]);
    case Opcode::fma:
    case Opcode::mad:
      return add(multiply(s[0], s[1]), s[2], mode);
    case Opcode::div:
      return divide(s[0], s[1]);
    case Opcode::rcp:
      return divide(from_magnitude(false, 1), s[0]);
    default:
      return square_root(s[0]);
  }
}

uint64_t extremum(const Instruction& in, uint64_t a, uint64_t b, const Format& f, bool last) {
  const auto& m = in.mods;
  if (m.ftz) {
    a = flushed(a, f);
    b = flushed(b, f);
  }
  uint64_t sign = 0;
  if (m.xorsign_abs) {
    sign = (a ^ b) & sign_of(f);
    a &= ~sign_of(f);
    b &= ~sign_of(f);
  }
  const bool a_nan = nan_bits(a, f), b_nan = nan_bits(b, f);
  uint64_t r = 0;
  if (m.nan ? a_nan || b_nan : a_nan && b_nan) return f.nan;
  if (a_nan) {
    r = b;
  } else if (b_nan) {
    r = a;
  } else {
    const int order = compare(decode(a, f), decode(b, f));
    const bool a_negative = a & sign_of(f);
    const bool a_less = order < 0 || (order == 0 && a_negative);  // equal zeros: -0 is less
    r = a_less == (in.op == Opcode::min) ? a : b;
  }
  r ^= sign;
  if (last && m.relu && (r & sign_of(f))) r = 0;
  return r;
}

bool one_float(const Instruction& in, const uint64_t* s, const Format& f, Expected& e) {
  const auto& m = in.mods;
  uint64_t x[3] = {};
  const size_t sources = in.operands.size() - 1;
  for (size_t i = 0; i < sources && i < 3; ++i) {
    x[i] = low(s[i], static_cast<uint32_t>(f.bits));
    if (m.ftz) x[i] = flushed(x[i], f);
  }
  switch (in.op) {
    case Opcode::add:
    case Opcode::sub:
    case Opcode::mul:
    case Opcode::fma:
    case Opcode::mad:
    case Opcode::div:
    case Opcode::rcp:
    case Opcode::sqrt: {
      if (m.approx || m.full) return false;
      const Soft soft[3] = {decode(x[0], f), decode(x[1], f), decode(x[2], f)};
      const Mode mode = mode_of(m.rounding);
      e.d = finish(encode(arithmetic(in, soft, mode), f, mode), f, m);
      break;
    }
    case Opcode::min:
    case Opcode::max:
      e.d = sources == 3 ? extremum(in, extremum(in, x[0], x[1], f, false), x[2], f, true)
                         : extremum(in, x[0], x[1], f, true);
      break;
    case Opcode::abs:
      e.d = x[0] & ~sign_of(f);
      break;
    case Opcode::neg:
      e.d = x[0] ^ sign_of(f);
      break;
    case Opcode::copysign:
      e.d = (x[0] & sign_of(f)) | (x[1] & ~sign_of(f));
      break;
    default:
      return false;
  }
  const bool sign_only = in.op == Opcode::abs || in.op == Opcode::neg || in.op == Opcode::copysign;
  e.any_nan = nan_bits(e.d, f) && (f.bits == 64 || sign_only);
  return true;
}

}  // namespace

bool float_model(const Instruction& in, const uint64_t* s, Expected& e) {
  const auto& m = in.mods;
  const Format* f = format_of(m.types[0]);
  if (f == nullptr) return false;
  if (in.op == Opcode::testp) {
    const Soft x = decode(s[0], *f);
    const bool sub = subnormal(s[0], *f);
    switch (m.testp) {
      case ptx::TestpMode::finite:
        e.d = !x.nan() && !x.infinite();
        return true;
      case ptx::TestpMode::infinite:
        e.d = x.infinite();
        return true;
      case ptx::TestpMode::number:
        e.d = !x.nan();
        return true;
      case ptx::TestpMode::notanumber:
        e.d = x.nan();
        return true;
      case ptx::TestpMode::normal:
        e.d = !x.nan() && !x.infinite() && !sub;  // zeros too
        return true;
      default:
        e.d = sub;
        return true;
    }
  }
  if (!is_packed_half(m.types[0])) return one_float(in, s, *f, e);
  uint64_t high[3] = {};
  for (size_t i = 0; i + 1 < in.operands.size() && i < 3; ++i) high[i] = s[i] >> 16;
  Expected upper;
  if (!one_float(in, s, *f, e) || !one_float(in, high, *f, upper)) return false;
  // Payloads that are left open are compared as if canonical, half by half, by the test's caller:
  // sign-only operations on NaN keep it simple and are not marked.
  e.any_nan = false;
  e.d |= upper.d << 16;
  return true;
}

// ---- comparison
// ----------------------------------------------------------------------------------
namespace {

enum class Truth : uint8_t { no, yes, illegal };

Truth holds(Compare c, int order, bool floating) {  // order: -1 0 1, 2 = unordered
  const bool unordered = order == 2;
  const auto truth = [](bool b) { return b ? Truth::yes : Truth::no; };
  switch (c) {
    case Compare::eq:
      return truth(order == 0);
    case Compare::ne:
      return truth(order == -1 || order == 1);
    case Compare::lt:
      return truth(order == -1);
    case Compare::le:
      return truth(order == -1 || order == 0);
    case Compare::gt:
      return truth(order == 1);
    case Compare::ge:
      return truth(order == 1 || order == 0);
    default:
      break;
  }
  if (!floating) {
    switch (c) {
      case Compare::lo:
        return truth(order == -1);
      case Compare::ls:
        return truth(order <= 0);
      case Compare::hi:
        return truth(order == 1);
      case Compare::hs:
        return truth(order >= 0);
      default:
        return Truth::illegal;
    }
  }
  switch (c) {
    case Compare::equ:
      return truth(unordered || order == 0);
    case Compare::neu:
      return truth(order != 0);
    case Compare::ltu:
      return truth(unordered || order == -1);
    case Compare::leu:
      return truth(unordered || order == -1 || order == 0);
    case Compare::gtu:
      return truth(unordered || order == 1);
    case Compare::geu:
      return truth(unordered || order == 1 || order == 0);
    case Compare::num:
      return truth(!unordered);
    case Compare::nan:
      return truth(unordered);
    default:
      return Truth::illegal;
  }
}
bool combined(ptx::BoolOp op, bool t, bool c) {
  switch (op) {
    case ptx::BoolOp::and_:
      return t && c;
    case ptx::BoolOp::or_:
      return t || c;
    case ptx::BoolOp::xor_:
      return t != c;
    default:
      return t;
  }
}
Truth compared(const Instruction& in, Type t, uint64_t a, uint64_t b) {
  const auto& m = in.mods;
  if (const Format* f = format_of(t)) {
    a = low(a, static_cast<uint32_t>(f->bits));
    b = low(b, static_cast<uint32_t>(f->bits));
    if (m.ftz && t != Type::f64) {
      a = flushed(a, *f);
      b = flushed(b, *f);
    }
    return holds(m.cmp, compare(decode(a, *f), decode(b, *f)), true);
  }
  const uint32_t bits = ptx::bits_of(t);
  const __int128 x = value_of(a, bits, ptx::is_signed(t)), y = value_of(b, bits, ptx::is_signed(t));
  return holds(m.cmp, x < y ? -1 : x > y ? 1 : 0, false);
}
uint64_t set_value(Type t) {  // of one half, for packed types
  switch (t) {
    case Type::u32:
    case Type::s32:
      return 0xffffffffu;
    case Type::u16:
    case Type::s16:
      return 0xffffu;
    case Type::f32:
      return 0x3f800000u;
    case Type::f16:
    case Type::f16x2:
      return 0x3c00u;
    default:
      return 0x3f80u;
  }
}

}  // namespace

bool compare_model(const Instruction& in, const uint64_t* s, Expected& e) {
  const auto& m = in.mods;
  if (in.op == Opcode::selp) {
    const bool p = (s[2] & 1u) != static_cast<uint64_t>(in.operands[3].negated);
    e.d = p ? s[0] : s[1];
    return true;
  }
  if (in.op == Opcode::slct) {
    bool first = false;
    if (m.types[1] == Type::s32) {
      first = value_of(s[2], 32, true) >= 0;
    } else {
      const Soft c = decode(m.ftz ? flushed(s[2], kF32) : s[2], kF32);
      first = !c.nan() && (c.zero() || !c.negative);
    }
    e.d = first ? s[0] : s[1];
    return true;
  }
  if (in.op != Opcode::setp && in.op != Opcode::set) return false;
  const bool is_set = in.op == Opcode::set;
  const Type t = m.types[is_set ? 1 : 0];
  const bool packed = is_packed_half(t);
  const bool c = m.bool_op != ptx::BoolOp::none &&
                 ((s[2] & 1u) != static_cast<uint64_t>(in.operands.back().negated));
  const Truth truth = compared(in, t, s[0], s[1]);
  if (truth == Truth::illegal) {
    e.legal = false;
    return true;
  }
  const bool low_true = truth == Truth::yes;
  const bool high_true = packed && compared(in, t, s[0] >> 16, s[1] >> 16) == Truth::yes;
  if (is_set) {
    const uint64_t value = low(set_value(m.types[0]), packed ? 16 : 32);
    e.d = combined(m.bool_op, low_true, c) ? value : 0;
    if (packed) e.d |= (combined(m.bool_op, high_true, c) ? value : 0) << 16;
  } else {
    e.d = combined(m.bool_op, low_true, c);
    e.d2 = combined(m.bool_op, packed ? high_true : !low_true, c);
  }
  return true;
}

// ---- conversion
// ----------------------------------------------------------------------------------
namespace {

uint64_t to_integer(const Soft& x, Type from, Type to, Rounding rounding) {
  const uint32_t bits = ptx::bits_of(to);
  const bool is_signed = ptx::is_signed(to);
  if (x.nan()) return from == Type::f64 || bits == 64 ? uint64_t{1} << (bits - 1) : 0;
  const uint64_t largest = low(~uint64_t{0}, is_signed ? bits - 1 : bits);
  const uint64_t smallest = is_signed ? uint64_t{1} << (bits - 1) : 0;
  if (x.infinite()) return x.negative ? smallest : largest;
  const Soft r = integral(x, mode_of(rounding));
  if (r.zero()) return 0;
  if (top_bit(r.mantissa) + r.exponent > 70) return r.negative ? smallest : largest;
  const u128 magnitude = r.exponent >= 0 ? r.mantissa << r.exponent : r.mantissa >> -r.exponent;
  if (r.negative) {
    if (!is_signed || magnitude >= smallest) return smallest;
    return low(uint64_t{0} - static_cast<uint64_t>(magnitude), bits);
  }
  return magnitude > largest ? largest : static_cast<uint64_t>(magnitude);
}

uint64_t extended(uint64_t x, Type t, uint32_t register_bits) {
  return low(static_cast<uint64_t>(value_of(x, ptx::bits_of(t), ptx::is_signed(t))), register_bits);
}

uint64_t to_float(const Soft& x, const Format& f, const ptx::Modifiers& m) {
  uint64_t r = encode(x, f, is_integral_mode(m.rounding) ? Mode::nearest : mode_of(m.rounding));
  const uint64_t infinity = encode(make_infinity(false), f, Mode::nearest);
  if (m.satfinite && (r & ~sign_of(f)) == infinity) r -= 1;
  return finish(r, f, m);
}

// Nearest of the 127 finite codes, found by trying them all; ties to the even code.
uint64_t fp8_of(uint64_t float_bits, const Format& source, bool e4m3, bool relu) {
  const Soft x = decode(float_bits, source);
  if (x.nan()) return 0x7f;
  const bool negative = x.negative;
  if (negative && relu) return 0;
  const uint32_t last = e4m3 ? 0x7e : 0x7b;
  const int mantissa = e4m3 ? 3 : 2, bias = e4m3 ? 7 : 15;
  const auto value = [&](uint32_t code) {  // in units of 2^-24, exact
    const uint64_t exponent = code >> mantissa, fraction = code & ((1u << mantissa) - 1);
    const int shift = 24 - bias - mantissa + 1;
    return exponent ? (fraction | uint64_t{1} << mantissa) << (exponent - 1 + shift)
                    : fraction << shift;
  };
  Soft magnitude = x;
  magnitude.negative = false;
  uint32_t best = 0;
  for (uint32_t code = 1; code <= last; ++code) {
    // code wins over code - 1 from their midpoint on (beyond it when code - 1 is even).
    const Soft midpoint = from_magnitude(false, value(code) + value(code - 1), -25);
    const int order = compare(magnitude, midpoint);
    if (order > 0 || (order == 0 && code % 2 == 0)) best = code;
  }
  return best | (negative ? 0x80u : 0u);
}
uint64_t half_of_fp8(uint64_t code, bool e4m3, bool relu) {
  const bool negative = code & 0x80u;
  const uint64_t c = code & 0x7f;
  const int mantissa = e4m3 ? 3 : 2, bias = e4m3 ? 7 : 15;
  if (e4m3 ? c == 0x7f : c > 0x7c) return 0x7fff;
  if (relu && negative) return 0;
  Soft x;
  if (!e4m3 && c == 0x7c) {
    x = make_infinity(negative);
  } else {
    const auto exponent = static_cast<int>(c >> mantissa);
    const uint64_t fraction = c & ((1u << mantissa) - 1);
    x = exponent ? from_magnitude(negative, fraction | uint64_t{1} << mantissa,
                                  exponent - bias - mantissa)
                 : from_magnitude(negative, fraction, 1 - bias - mantissa);
  }
  return encode(x, kF16, Mode::nearest);
}

uint64_t packed_saturated(const Instruction& in, const uint64_t* s) {
  const Type t = in.mods.types[0];
  const uint32_t bits = ptx::bits_of(t);
  const bool is_signed = ptx::is_signed(t);
  const __int128 top = (__int128{1} << (is_signed ? bits - 1 : bits)) - 1;
  const __int128 bottom = is_signed ? -top - 1 : 0;
  const auto field = [&](uint64_t x) {
    return low(static_cast<uint64_t>(std::clamp(value_of(x, 32, true), bottom, top)), bits);
  };
  const uint64_t c = in.operands.size() == 4 ? s[2] << (2 * bits) : 0;
  return low(c | field(s[0]) << bits | field(s[1]), 32);
}

uint64_t tf32_of(uint64_t x, const ptx::Modifiers& m) {
  const Soft value = decode(x, kF32);
  if (value.nan())  // as measured: .rna.satfinite steps down from NaN as from infinity
    return m.satfinite && m.rounding == Rounding::rna
               ? low((low(x + 0x1000, 32) & 0xffffe000) - 0x2000, 32)
               : 0x7fffe000;
  uint64_t r = encode(value, kTf32, mode_of(m.rounding)) << 13;
  if (m.satfinite && (r & 0x7fffffff) == 0x7f800000) r -= 1u << 13;
  if (m.relu && (r >> 31)) r = 0;
  return r;
}

}  // namespace

namespace {

// Sign and upper bits of a f64 NaN, made quiet.
uint64_t narrowed_nan(uint64_t bits, const Format& to) {
  const int stored = to.precision - 1;
  const uint64_t infinity = static_cast<uint64_t>(to.max_exponent - to.min_exponent + 2) << stored;
  return (bits >> 63) << (to.bits - 1) | infinity | uint64_t{1} << (stored - 1) |
         (bits & ((uint64_t{1} << 52) - 1)) >> (52 - stored);
}

}  // namespace

bool convert_model(const Instruction& in, const uint64_t* s, uint32_t register_bits, Expected& e) {
  if (in.op != Opcode::cvt) return false;
  const auto& m = in.mods;
  const Type to = m.types[0], from = m.types[1];
  if (m.pack) {
    e.d = packed_saturated(in, s);
    return true;
  }
  if (to == Type::tf32) {
    e.d = tf32_of(s[0], m);
    return true;
  }
  if (to == Type::e4m3x2 || to == Type::e5m2x2) {
    const bool e4m3 = to == Type::e4m3x2;
    e.d = from == Type::f32
              ? fp8_of(s[0], kF32, e4m3, m.relu) << 8 | fp8_of(s[1], kF32, e4m3, m.relu)
              : fp8_of(s[0] >> 16, kF16, e4m3, m.relu) << 8 |
                    fp8_of(low(s[0], 16), kF16, e4m3, m.relu);
    return true;
  }
  if (from == Type::e4m3x2 || from == Type::e5m2x2) {
    const bool e4m3 = from == Type::e4m3x2;
    e.d = half_of_fp8(s[0] >> 8, e4m3, m.relu) << 16 | half_of_fp8(s[0], e4m3, m.relu);
    return true;
  }
  if (is_packed_half(to)) {
    const Format& f = *format_of(to);
    e.d = to_float(decode(low(s[0], 32), kF32), f, m) << 16 |
          to_float(decode(low(s[1], 32), kF32), f, m);
    return true;
  }
  const Format* source = format_of(from);
  const Format* target = format_of(to);
  Soft x;
  if (source) {
    uint64_t bits = low(s[0], static_cast<uint32_t>(source->bits));
    if (m.ftz && from == Type::f32 && !is_half(to)) bits = flushed(bits, *source);
    x = decode(bits, *source);
    const bool bit_move = to == Type::f32 && !m.ftz && m.rounding == Rounding::none &&
                          (from == Type::f32 || from == Type::bf16);
    if (x.nan() && target && to != Type::f64 && !m.sat && (from == Type::f64 || bit_move)) {
      e.d = bit_move ? bits << (32 - source->bits) : narrowed_nan(bits, *target);
      return true;
    }
  } else {
    const __int128 v = value_of(s[0], ptx::bits_of(from), ptx::is_signed(from));
    if (!target) {
      const uint32_t bits = ptx::bits_of(to);
      const __int128 top = (__int128{1} << (ptx::is_signed(to) ? bits - 1 : bits)) - 1;
      const __int128 bottom = ptx::is_signed(to) ? -top - 1 : 0;
      e.d = extended(low(static_cast<uint64_t>(m.sat ? std::clamp(v, bottom, top) : v), bits), to,
                     register_bits);
      return true;
    }
    x = from_magnitude(v < 0, static_cast<u128>(v < 0 ? -v : v));
  }
  if (!target) {
    if (!is_integral_mode(m.rounding)) {
      e.legal = false;
      return true;
    }
    e.d = extended(to_integer(x, from, to, m.rounding), to, register_bits);
    return true;
  }
  if (is_integral_mode(m.rounding)) x = integral(x, mode_of(m.rounding));
  ptx::Modifiers result = m;
  if (to != Type::f32) result.ftz = false;  // .ftz is about single precision
  e.d = to_float(x, *target, result);
  e.any_nan = nan_bits(e.d, *target) && to == Type::f64;
  return true;
}

// ---- approximations --------------------------------------------------------------------------
namespace {

long double as_real(uint64_t bits, const Format& f) {
  const Soft x = decode(bits, f);
  if (x.nan()) return std::numeric_limits<long double>::quiet_NaN();
  if (x.infinite())
    return x.negative ? -std::numeric_limits<long double>::infinity()
                      : std::numeric_limits<long double>::infinity();
  const long double magnitude = std::ldexp(static_cast<long double>(x.mantissa), x.exponent);
  return x.negative ? -magnitude : magnitude;
}

}  // namespace

bool special_model(const Instruction& in, const uint64_t* s, Expected& e) {
  const auto& m = in.mods;
  const Format* f = format_of(m.types[0]);
  if (f == nullptr) return false;
  uint64_t bits[2] = {low(s[0], static_cast<uint32_t>(f->bits)), 0};
  if (in.op == Opcode::div) bits[1] = low(s[1], static_cast<uint32_t>(f->bits));
  if (m.ftz)
    for (uint64_t& b : bits) b = flushed(b, *f);
  const long double x = as_real(bits[0], *f);
  switch (in.op) {
    case Opcode::ex2:
      e.reference = std::exp2(x);
      break;
    case Opcode::lg2:
      e.reference = std::log2(x);
      break;
    case Opcode::sin:
      e.reference = std::sin(x);
      break;
    case Opcode::cos:
      e.reference = std::cos(x);
      break;
    case Opcode::tanh:
      e.reference = std::tanh(x);
      e.max_ulp = 2049;  // twelve bits of 24
      break;
    case Opcode::rcp:
      e.reference = 1.0L / x;
      break;
    case Opcode::sqrt:
      e.reference = std::sqrt(x);
      break;
    case Opcode::rsqrt:
      e.reference = 1.0L / std::sqrt(x);
      break;
    case Opcode::div: {
      const long double b = as_real(bits[1], *f);
      const long double size = std::fabs(b);
      if (m.approx && size > 0x1p126L && std::isfinite(b))
        e.reference = std::isinf(x) ? std::numeric_limits<long double>::quiet_NaN()
                                    : x * (b < 0 ? -0.0L : 0.0L);
      else
        e.reference = x / b;
      break;
    }
    default:
      return false;
  }
  e.approximate = true;
  return true;
}

Expected evaluate(const Instruction& in, const uint64_t* s, bool carry, uint32_t register_bits) {
  Expected e;
  const Type t = in.mods.types[0];
  const bool integer_first = !ptx::is_float(t) || in.op == Opcode::mov;
  if (video_model(in, s, e)) return e;
  if (compare_model(in, s, e) || convert_model(in, s, register_bits, e)) return e;
  if (integer_first && (integer_model(in, s, carry, e) || bits_model(in, s, e))) return e;
  if (float_model(in, s, e) || special_model(in, s, e)) return e;
  e.legal = false;
  return e;
}

}  // namespace fiel::vgpu::model
