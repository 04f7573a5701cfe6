// The model of integer arithmetic, logic, shifts, carry chains, bit fields and bytes.
#include <algorithm>
#include <array>

#include "model.h"

namespace fiel::vgpu::model {
namespace {

using ptx::Instruction;
using ptx::Opcode;
using ptx::Type;
using Wide = __int128;

Wide clamp_to(Wide x, uint32_t bits, bool is_signed) {
  const Wide top = (Wide{1} << (is_signed ? bits - 1 : bits)) - 1;
  const Wide bottom = is_signed ? -(Wide{1} << (bits - 1)) : 0;
  return std::clamp(x, bottom, top);
}

Wide divide_toward_zero(Wide a, Wide b, bool remainder) {
  if (b == 0) return -1;
  return remainder ? a % b : a / b;
}

// Packed 16-bit halves: the same operation on each.
bool packed_model(const Instruction& in, const uint64_t* s, Expected& e) {
  const Type t = in.mods.types[0];
  if (t != Type::u16x2 && t != Type::s16x2) return false;
  const bool is_signed = t == Type::s16x2;
  for (uint32_t half = 0; half < 2; ++half) {
    const Wide a = value_of(s[0] >> (16 * half), 16, is_signed);
    const Wide b = value_of(s[1] >> (16 * half), 16, is_signed);
    Wide r = 0;
    switch (in.op) {
      case Opcode::add:
        r = a + b;
        break;
      case Opcode::sub:
        r = a - b;
        break;
      case Opcode::min:
        r = std::min(a, b);
        break;
      case Opcode::max:
        r = std::max(a, b);
        break;
      default:
        return false;
    }
    if (in.mods.relu) r = std::max<Wide>(r, 0);
    e.d |= low(static_cast<uint64_t>(r), 16) << (16 * half);
  }
  return true;
}

Wide product24(Wide a, Wide b, bool is_signed, bool hi) {
  const Wide x = value_of(static_cast<uint64_t>(a), 24, is_signed);
  const Wide y = value_of(static_cast<uint64_t>(b), 24, is_signed);
  const Wide p = (x * y) & ((Wide{1} << 48) - 1);
  const auto part = static_cast<uint64_t>(hi ? p >> 16 : p);
  return value_of(part, 32, is_signed);
}

// The product and sum in more bits than anything needs: 64 x 64 signed or unsigned fits 128.
uint64_t high_half(uint64_t a, uint64_t b, uint32_t bits, bool is_signed) {
  if (bits < 64)
    return static_cast<uint64_t>((value_of(a, bits, is_signed) * value_of(b, bits, is_signed)) >>
                                 bits);
  // Schoolbook on 32-bit digits, then the correction for signed operands.
  const uint64_t a0 = a & 0xffffffffu, a1 = a >> 32, b0 = b & 0xffffffffu, b1 = b >> 32;
  const uint64_t m = a1 * b0 + (a0 * b0 >> 32), n = a0 * b1 + (m & 0xffffffffu);
  uint64_t high = a1 * b1 + (m >> 32) + (n >> 32);
  if (is_signed) high -= (a >> 63 ? b : 0) + (b >> 63 ? a : 0);
  return high;
}

bool multiply_model(const Instruction& in, const uint64_t* s, bool carry, Expected& e) {
  const auto& m = in.mods;
  const uint32_t bits = ptx::bits_of(m.types[0]);
  const bool is_signed = ptx::is_signed(m.types[0]);
  const bool mad = in.op == Opcode::mad || in.op == Opcode::madc;
  uint64_t product = 0;
  if (m.wide) {
    product =
        static_cast<uint64_t>(value_of(s[0], bits, is_signed) * value_of(s[1], bits, is_signed));
    e.d = low(product + (mad ? s[2] : 0), 2 * bits);
    return true;
  }
  product = low(m.hi ? high_half(s[0], s[1], bits, is_signed) : s[0] * s[1], bits);
  if (!mad) {
    e.d = product;
    return true;
  }
  if (m.sat) {
    e.d = low(static_cast<uint64_t>(
                  clamp_to(value_of(product, 32, true) + value_of(s[2], 32, true), 32, true)),
              32);
    return true;
  }
  const bool carry_in = in.op == Opcode::madc && carry;
  const auto sum = static_cast<unsigned __int128>(product) + low(s[2], bits) + (carry_in ? 1 : 0);
  e.d = low(static_cast<uint64_t>(sum), bits);
  e.carry = sum >> bits & 1u;
  return true;
}

bool add_model(const Instruction& in, const uint64_t* s, bool carry, Expected& e) {
  const auto& m = in.mods;
  const uint32_t bits = ptx::bits_of(m.types[0]);
  const bool is_signed = ptx::is_signed(m.types[0]);
  const Wide a = value_of(s[0], bits, is_signed), b = value_of(s[1], bits, is_signed);
  const bool subtract = in.op == Opcode::sub || in.op == Opcode::subc;
  const bool with_carry = in.op == Opcode::addc || in.op == Opcode::subc;
  // Of a subtraction the flag says that nothing was borrowed.
  const Wide c = with_carry && carry != subtract ? 1 : 0;
  Wide r = subtract ? a - b - c : a + b + c;
  const Wide ua = value_of(s[0], bits, false), ub = value_of(s[1], bits, false);
  e.carry = subtract ? ua - ub - c >= 0 : (ua + ub + c) >> bits != 0;
  if (m.sat) r = clamp_to(r, bits, is_signed);
  e.d = low(static_cast<uint64_t>(r), bits);
  return true;
}

bool mov_model(const Instruction& in, const uint64_t* s, Expected& e) {
  const auto& m = in.mods;
  const uint32_t bits = ptx::bits_of(m.types[0]);
  if (in.operands[0].kind == ptx::Operand::Kind::vector ||
      in.operands[1].kind == ptx::Operand::Kind::vector)
    return false;  // tested by hand
  e.d = bits == 1 ? (s[0] ^ static_cast<uint64_t>(in.operands[1].negated)) & 1u : low(s[0], bits);
  return true;
}

uint64_t shifted(const Instruction& in, const uint64_t* s) {
  const uint32_t bits = ptx::bits_of(in.mods.types[0]);
  const uint64_t n = s[1] & 0xffffffffu;
  if (in.op == Opcode::shl) return n >= bits ? 0 : low(s[0] << n, bits);
  const Wide a = value_of(s[0], bits, ptx::is_signed(in.mods.types[0]));
  return low(static_cast<uint64_t>(a >> (n > 100 ? 100 : n)), bits);
}

uint64_t logic(const Instruction& in, const uint64_t* s, uint32_t bits) {
  switch (in.op) {
    case Opcode::and_:
      return s[0] & s[1];
    case Opcode::or_:
      return s[0] | s[1];
    case Opcode::xor_:
      return s[0] ^ s[1];
    case Opcode::not_:
      return low(~s[0], bits);
    default:
      return low(s[0], bits) == 0;
  }
}

uint64_t sign_extended_field(const Instruction& in, const uint64_t* s) {
  const bool is_signed = in.mods.types[0] == Type::s32;
  const uint64_t width = in.mods.wrap ? s[1] & 31u : std::min<uint64_t>(s[1] & 0xffffffffu, 32);
  if (width == 0) return 0;
  return low(static_cast<uint64_t>(value_of(s[0], static_cast<uint32_t>(width), is_signed)), 32);
}

}  // namespace

bool integer_model(const Instruction& in, const uint64_t* s, bool carry, Expected& e) {
  const auto& m = in.mods;
  const Type t = m.types[0];
  const uint32_t bits = ptx::bits_of(t);
  if (ptx::is_float(t) && in.op != Opcode::mov) return false;
  if (packed_model(in, s, e)) return true;
  const bool is_signed = ptx::is_signed(t);
  const Wide a = s && bits > 1 && bits <= 64 ? value_of(s[0], bits, is_signed) : 0;
  Wide r = 0;
  switch (in.op) {
    case Opcode::add:
    case Opcode::addc:
    case Opcode::sub:
    case Opcode::subc:
      return add_model(in, s, carry, e);
    case Opcode::mul:
    case Opcode::mad:
    case Opcode::madc:
      return multiply_model(in, s, carry, e);
    case Opcode::mul24:
      r = product24(a, value_of(s[1], 32, is_signed), is_signed, m.hi);
      break;
    case Opcode::mad24:
      r = product24(a, value_of(s[1], 32, is_signed), is_signed, m.hi) +
          value_of(s[2], 32, is_signed);
      if (m.sat) r = clamp_to(r, 32, true);
      break;
    case Opcode::div:
    case Opcode::rem:
      r = divide_toward_zero(a, value_of(s[1], bits, is_signed), in.op == Opcode::rem);
      break;
    case Opcode::min:
      r = std::min(a, value_of(s[1], bits, is_signed));
      if (m.relu) r = std::max<Wide>(r, 0);
      break;
    case Opcode::max:
      r = std::max(a, value_of(s[1], bits, is_signed));
      if (m.relu) r = std::max<Wide>(r, 0);
      break;
    case Opcode::abs:
      r = a < 0 ? -a : a;
      break;
    case Opcode::neg:
      r = -a;
      break;
    case Opcode::and_:
    case Opcode::or_:
    case Opcode::xor_:
    case Opcode::not_:
    case Opcode::cnot:
      e.d = logic(in, s, bits);
      return true;
    case Opcode::shl:
    case Opcode::shr:
      e.d = shifted(in, s);
      return true;
    case Opcode::szext:
      e.d = sign_extended_field(in, s);
      return true;
    case Opcode::mov:
      return mov_model(in, s, e);
    case Opcode::sad: {
      const Wide b = value_of(s[1], bits, is_signed);
      r = static_cast<Wide>(low(s[2], bits)) + (a > b ? a - b : b - a);
      break;
    }
    default:
      return false;
  }
  e.d = low(static_cast<uint64_t>(r), bits);
  return true;
}

namespace {

// Bit by bit, as the manual's pseudocode has it.
uint64_t extract_field(const uint64_t* s, uint32_t bits, bool is_signed) {
  const uint32_t position = s[1] & 0xff, length = s[2] & 0xff, top = bits - 1;
  const bool fill = is_signed && length != 0 && (s[0] >> std::min(position + length - 1, top) & 1u);
  uint64_t d = 0;
  for (uint32_t i = 0; i <= top; ++i) {
    const bool bit = i < length && position + i <= top ? (s[0] >> (position + i) & 1u) : fill;
    d |= static_cast<uint64_t>(bit) << i;
  }
  return d;
}
uint64_t insert_field(const uint64_t* s, uint32_t bits) {
  // 0 to 255 by the manual; a GPU takes larger values as they are for .b64.
  const uint64_t position = low(s[2], bits == 64 ? 32 : 8), length = low(s[3], bits == 64 ? 32 : 8);
  uint64_t d = s[1];
  for (uint64_t i = 0; i < length && position + i < bits; ++i) {
    d &= ~(uint64_t{1} << (position + i));
    d |= (s[0] >> i & 1u) << (position + i);
  }
  return d;
}
uint64_t find_leading(uint64_t x, uint32_t bits, bool is_signed, bool shiftamt) {
  if (is_signed && (x >> (bits - 1) & 1u)) x = low(~x, bits);
  for (uint32_t i = bits; i-- > 0;)
    if (x >> i & 1u) return shiftamt ? bits - 1 - i : i;
  return 0xffffffffu;
}
uint64_t find_nth(uint32_t bits, uint32_t base, int32_t offset) {
  if (base > 31) return 0xffffffffu;
  if (offset == 0) return bits >> base & 1u ? base : 0xffffffffu;
  int64_t count = offset < 0 ? -int64_t{offset} : offset;
  for (int64_t at = base; at >= 0 && at<32; at += offset> 0 ? 1 : -1)
    if (bits >> at & 1u)
      if (--count == 0) return static_cast<uint64_t>(at);
  return 0xffffffffu;
}
uint64_t field_mask(uint64_t a, uint64_t b, bool clamp) {
  const uint64_t start = clamp ? std::min<uint64_t>(a, 32) : a & 31u;
  const uint64_t width = clamp ? std::min<uint64_t>(b, 32) : b & 31u;
  uint64_t d = 0;
  for (uint64_t i = start; i < start + width && i < 32; ++i) d |= uint64_t{1} << i;
  return d;
}
uint64_t permute_bytes(const uint64_t* s, ptx::PrmtMode mode) {
  std::array<uint32_t, 8> byte{};
  for (uint32_t i = 0; i < 8; ++i)
    byte[i] = static_cast<uint32_t>((i < 4 ? s[0] >> (8 * i) : s[1] >> (8 * (i - 4))) & 0xff);
  const auto n = static_cast<uint32_t>(s[2] & 3u);
  uint64_t d = 0;
  for (uint32_t k = 0; k < 4; ++k) {
    uint32_t pick = 0;
    switch (mode) {
      case ptx::PrmtMode::f4e:
        pick = (n + k) & 7u;
        break;
      case ptx::PrmtMode::b4e:
        pick = (n + 8 - k) & 7u;
        break;
      case ptx::PrmtMode::rc8:
        pick = n;
        break;
      case ptx::PrmtMode::ecl:
        pick = std::max(n, k);
        break;
      case ptx::PrmtMode::ecr:
        pick = std::min(n, k);
        break;
      case ptx::PrmtMode::rc16:
        pick = (n & 1u) * 2 + (k & 1u);
        break;
      case ptx::PrmtMode::none:
        pick = static_cast<uint32_t>(s[2] >> (4 * k) & 15u);
        break;
    }
    const uint32_t value = byte[pick & 7u];
    d |= uint64_t{pick & 8u ? (value & 0x80u ? 0xffu : 0u) : value} << (8 * k);
  }
  return d;
}
uint64_t dot(const Instruction& in, const uint64_t* s) {
  const bool a_signed = ptx::is_signed(in.mods.types[0]),
             b_signed = ptx::is_signed(in.mods.types[1]);
  Wide sum = static_cast<Wide>(s[2]);
  if (in.op == Opcode::dp4a) {
    for (int k = 0; k < 4; ++k)
      sum += value_of(s[0] >> (8 * k), 8, a_signed) * value_of(s[1] >> (8 * k), 8, b_signed);
  } else {
    for (int k = 0; k < 2; ++k)
      sum += value_of(s[0] >> (16 * k), 16, a_signed) *
             value_of(s[1] >> (8 * (k + (in.mods.hi ? 2 : 0))), 8, b_signed);
  }
  return low(static_cast<uint64_t>(sum), 32);
}

}  // namespace

bool bits_model(const Instruction& in, const uint64_t* s, Expected& e) {
  const auto& m = in.mods;
  const uint32_t bits = ptx::bits_of(m.types[0]);
  const bool is_signed = ptx::is_signed(m.types[0]);
  switch (in.op) {
    case Opcode::bfe:
      e.d = extract_field(s, bits, is_signed);
      return true;
    case Opcode::bfi:
      e.d = insert_field(s, bits);
      return true;
    case Opcode::bfind:
      e.d = find_leading(s[0], bits, is_signed, m.shiftamt);
      return true;
    case Opcode::bmsk:
      e.d = field_mask(s[0], s[1], !m.wrap);
      return true;
    case Opcode::popc:
      for (uint32_t i = 0; i < bits; ++i) e.d += s[0] >> i & 1u;
      return true;
    case Opcode::clz:
      e.d = s[0] == 0 ? bits : bits - 1 - find_leading(s[0], bits, false, false);
      return true;
    case Opcode::brev:
      for (uint32_t i = 0; i < bits; ++i) e.d |= (s[0] >> i & 1u) << (bits - 1 - i);
      return true;
    case Opcode::fns:
      e.d = find_nth(static_cast<uint32_t>(s[0]), static_cast<uint32_t>(s[1]),
                     static_cast<int32_t>(s[2]));
      return true;
    case Opcode::prmt:
      e.d = permute_bytes(s, m.prmt);
      return true;
    case Opcode::lop3: {
      for (uint32_t i = 0; i < 32; ++i) {
        const uint64_t row = (s[0] >> i & 1u) << 2 | (s[1] >> i & 1u) << 1 | (s[2] >> i & 1u);
        e.d |= (s[3] >> row & 1u) << i;
      }
      if (in.pair_destination) {
        const bool q = (s[4] & 1u) != static_cast<uint64_t>(in.operands.back().negated);
        const bool any = e.d != 0;
        e.d2 = m.bool_op == ptx::BoolOp::and_  ? any && q
               : m.bool_op == ptx::BoolOp::or_ ? any || q
                                               : any != q;
      }
      return true;
    }
    case Opcode::shf: {
      const uint64_t n = m.wrap ? s[2] & 31u : std::min<uint64_t>(s[2] & 0xffffffffu, 32);
      const auto both = static_cast<unsigned __int128>(s[1] << 32 | s[0]);
      e.d = low(static_cast<uint64_t>(m.left ? (both << n) >> 32 : both >> n), 32);
      return true;
    }
    case Opcode::dp4a:
    case Opcode::dp2a:
      e.d = dot(in, s);
      return true;
    default:
      return false;
  }
}

}  // namespace fiel::vgpu::model
