// Video instructions: scalar (vadd … vset on selected bytes or halves) and SIMD (vadd2 … vset4).
//
// Current GPUs emulate them, kernels use them rarely: one lane-by-lane interpreter of the manual's
// pseudocode, driven by a plan in op.imm. No vector code on purpose.
#include "vgpu/isa/extended.h"

namespace fiel::vgpu::FIEL_ISA {
namespace {

using ptx::AtomicOp;
using ptx::Compare;
using Wide = __int128;  // a word shifted left by 32 and more

enum class Kind : uint8_t { add, sub, average, absdiff, min, max, shl, shr, set };

// How a source operand is cut: a byte or half of a word, or for SIMD four (two) lanes of {b,a}.
struct Plan {
  Kind kind = Kind::add;
  Compare cmp = Compare::none;
  AtomicOp secondary = AtomicOp::none;  // add, min, max
  bool d_signed = false, a_signed = false, b_signed = false, sat = false, wrap = false;
  uint8_t lanes = 1;                           // 1 scalar, 2, 4
  uint8_t d_part = 7, a_part = 7, b_part = 7;  // scalar: 0..3 byte, 4..5 half, 7 all
  uint8_t mask = 0xf;                          // SIMD: lanes of the result
  uint16_t a_lanes = 0, b_lanes = 0;           // SIMD: a nibble a lane
  bool merge = false;                          // scalar: c keeps the other parts
};

// Field by field into 64 bits; SIMD and scalar share the last 32.
uint64_t encode(const Plan& p) {
  uint64_t flags = static_cast<uint64_t>(p.kind) | static_cast<uint64_t>(p.cmp) << 4 |
                   static_cast<uint64_t>(p.secondary) << 9 |
                   static_cast<uint64_t>(p.d_signed) << 13 |
                   static_cast<uint64_t>(p.a_signed) << 14 |
                   static_cast<uint64_t>(p.b_signed) << 15 | static_cast<uint64_t>(p.sat) << 16 |
                   static_cast<uint64_t>(p.wrap) << 17 | static_cast<uint64_t>(p.merge) << 18 |
                   static_cast<uint64_t>(p.lanes) << 19 | static_cast<uint64_t>(p.mask) << 22;
  const uint64_t parts =
      p.lanes > 1 ? uint64_t{p.a_lanes} | uint64_t{p.b_lanes} << 16
                  : uint64_t{p.a_part} | uint64_t{p.b_part} << 3 | uint64_t{p.d_part} << 6;
  return flags | parts << 32;
}
Plan decode(uint64_t imm) {
  Plan p;
  p.kind = static_cast<Kind>(imm & 15u);
  p.cmp = static_cast<Compare>(imm >> 4 & 31u);
  p.secondary = static_cast<AtomicOp>(imm >> 9 & 15u);
  p.d_signed = imm >> 13 & 1u;
  p.a_signed = imm >> 14 & 1u;
  p.b_signed = imm >> 15 & 1u;
  p.sat = imm >> 16 & 1u;
  p.wrap = imm >> 17 & 1u;
  p.merge = imm >> 18 & 1u;
  p.lanes = static_cast<uint8_t>(imm >> 19 & 7u);
  p.mask = static_cast<uint8_t>(imm >> 22 & 15u);
  const uint64_t parts = imm >> 32;
  if (p.lanes > 1) {
    p.a_lanes = static_cast<uint16_t>(parts);
    p.b_lanes = static_cast<uint16_t>(parts >> 16);
  } else {
    p.a_part = parts & 7u;
    p.b_part = parts >> 3 & 7u;
    p.d_part = parts >> 6 & 7u;
  }
  return p;
}

int64_t extended(uint32_t x, uint32_t bits, bool is_signed) {
  const uint32_t up = 32 - bits;
  return is_signed ? int64_t{static_cast<int32_t>(x << up) >> up} : int64_t{x << up >> up};
}
int64_t part_of(uint32_t x, uint8_t part, bool is_signed) {
  if (part < 4) return extended(x >> (8 * part), 8, is_signed);
  if (part < 6) return extended(x >> (16 * (part - 4)), 16, is_signed);
  return extended(x, 32, is_signed);
}
Wide clamp(Wide x, uint32_t bits, bool is_signed) {
  const Wide top = (Wide{1} << (is_signed ? bits - 1 : bits)) - 1;
  const Wide bottom = is_signed ? -top - 1 : 0;
  return x > top ? top : x < bottom ? bottom : x;
}

bool compared(Compare cmp, int64_t a, int64_t b) {
  switch (cmp) {
    case Compare::eq:
      return a == b;
    case Compare::ne:
      return a != b;
    case Compare::lt:
    case Compare::lo:
      return a < b;
    case Compare::le:
    case Compare::ls:
      return a <= b;
    case Compare::gt:
    case Compare::hi:
      return a > b;
    default:
      return a >= b;
  }
}
Wide primary(const Plan& p, int64_t a, int64_t b) {
  switch (p.kind) {
    case Kind::add:
      return a + b;
    case Kind::sub:
      return a - b;
    case Kind::average:  // ties away from zero for sums >= 0, toward minus infinity below
      return a + b >= 0 ? (a + b + 1) >> 1 : (a + b) >> 1;
    case Kind::absdiff:
      return a > b ? a - b : b - a;
    case Kind::min:
      return a < b ? a : b;
    case Kind::max:
      return a > b ? a : b;
    case Kind::shl:
    case Kind::shr: {
      const auto n = p.wrap ? b & 31 : b > 32 ? 32 : b;
      return p.kind == Kind::shr ? a >> n : Wide{a} * (Wide{1} << n);
    }
    case Kind::set:
      return compared(p.cmp, a, b) ? 1 : 0;
  }
  return 0;
}
uint32_t secondary(const Plan& p, Wide t, uint32_t c) {
  // .min and .max compare as d's type says, vset's as a's. Unsigned, an H200 takes a result with
  // bit 31 for larger than any c.
  const bool is_signed = p.kind == Kind::set ? p.a_signed : p.d_signed;
  const auto low = static_cast<uint32_t>(t);
  const int64_t value = !is_signed && low >> 31 ? int64_t{1} << 32 : extended(low, 32, is_signed);
  const int64_t with = extended(c, 32, is_signed);
  switch (p.secondary) {
    case AtomicOp::add:
      return static_cast<uint32_t>(t) + c;
    case AtomicOp::min:
      return value < with ? low : c;
    case AtomicOp::max:
      return value > with ? low : c;
    default:
      return static_cast<uint32_t>(t);
  }
}

uint32_t scalar(const Plan& p, uint32_t a, uint32_t b, uint32_t c) {
  const uint32_t bits = p.d_part < 4 ? 8 : p.d_part < 6 ? 16 : 32;
  Wide t = primary(p, part_of(a, p.a_part, p.a_signed), part_of(b, p.b_part, p.b_signed));
  if (p.sat) t = clamp(t, bits, p.d_signed);
  if (!p.merge) return secondary(p, t, c);
  const uint32_t at = p.d_part < 4 ? 8u * p.d_part : 16u * (p.d_part - 4u);
  const uint32_t field = ((1u << bits) - 1) << at;
  // .h1 keeps the upper half of the result where it is, bytes and .h0 take the lowest bits
  // (measured on an H200; the manual does not tell them apart).
  const uint32_t moved = p.d_part == 5 ? static_cast<uint32_t>(t) : static_cast<uint32_t>(t) << at;
  return (moved & field) | (c & ~field);
}

uint32_t simd(const Plan& p, uint32_t a, uint32_t b, uint32_t c) {
  const uint32_t bits = 32u / p.lanes, field = (1u << bits) - 1;
  const uint64_t both = uint64_t{b} << 32 | a;
  uint32_t d = p.secondary == AtomicOp::add ? c : 0;
  for (uint32_t i = 0; i < p.lanes; ++i) {
    const auto lane = [&](uint16_t pick, bool is_signed) {
      return extended(static_cast<uint32_t>(both >> (bits * (pick >> (4 * i) & 15u))), bits,
                      is_signed);
    };
    Wide t = primary(p, lane(p.a_lanes, p.a_signed), lane(p.b_lanes, p.b_signed));
    if (p.sat) t = clamp(t, bits, p.d_signed);
    const bool chosen = p.mask >> i & 1u;
    if (p.secondary == AtomicOp::add)
      d += chosen ? static_cast<uint32_t>(t) : 0u;
    else
      d |= ((chosen ? static_cast<uint32_t>(t) : c >> (bits * i)) & field) << (bits * i);
  }
  return d;
}

void video(Warp& warp, const Op& op, uint32_t mask) {
  const Plan p = decode(op.imm);
  const uint32_t* a = warp.reg<uint32_t>(op.a);
  const uint32_t* b = warp.reg<uint32_t>(op.b);
  const uint32_t* c = warp.reg<uint32_t>(op.c);
  for_lanes<uint32_t, false>(warp, op.dst, mask, [&](int i) {
    return p.lanes > 1 ? simd(p, a[i], b[i], c[i]) : scalar(p, a[i], b[i], c[i]);
  });
}

struct Row {
  Opcode op;
  Kind kind;
  uint8_t lanes;
};
constexpr Row kRows[] = {
    {Opcode::vadd, Kind::add, 1},          {Opcode::vsub, Kind::sub, 1},
    {Opcode::vabsdiff, Kind::absdiff, 1},  {Opcode::vmin, Kind::min, 1},
    {Opcode::vmax, Kind::max, 1},          {Opcode::vshl, Kind::shl, 1},
    {Opcode::vshr, Kind::shr, 1},          {Opcode::vset, Kind::set, 1},
    {Opcode::vadd2, Kind::add, 2},         {Opcode::vsub2, Kind::sub, 2},
    {Opcode::vavrg2, Kind::average, 2},    {Opcode::vabsdiff2, Kind::absdiff, 2},
    {Opcode::vmin2, Kind::min, 2},         {Opcode::vmax2, Kind::max, 2},
    {Opcode::vset2, Kind::set, 2},         {Opcode::vadd4, Kind::add, 4},
    {Opcode::vsub4, Kind::sub, 4},         {Opcode::vavrg4, Kind::average, 4},
    {Opcode::vabsdiff4, Kind::absdiff, 4}, {Opcode::vmin4, Kind::min, 4},
    {Opcode::vmax4, Kind::max, 4},         {Opcode::vset4, Kind::set, 4},
};

uint8_t part_of(const Operand& operand) {
  return operand.selector < 0 ? uint8_t{7} : static_cast<uint8_t>(operand.selector);
}

}  // namespace

Selection select_video(const Instruction& in) {
  if (in.op == Opcode::vmad) return refuse("vmad is not executed");
  const Row* row = nullptr;
  for (const Row& r : kRows)
    if (r.op == in.op) row = &r;
  if (row == nullptr || in.operands.size() < 3) return {};
  const Modifiers& m = in.mods;
  Plan p;
  p.kind = row->kind;
  p.lanes = row->lanes;
  const int first = p.kind == Kind::set ? 0 : 1;  // vset names no result type: it is .u32
  p.d_signed = first == 1 && ptx::is_signed(m.types[0]);
  p.a_signed = ptx::is_signed(m.types[first]);
  p.b_signed = ptx::is_signed(m.types[first + 1]);
  p.cmp = m.cmp;
  p.sat = m.sat;
  p.wrap = m.wrap;
  p.secondary = m.secondary;
  p.d_part = part_of(in.operands[0]);
  p.a_part = part_of(in.operands[1]);
  p.b_part = part_of(in.operands[2]);
  p.merge = p.d_part != 7;
  if ((p.merge || p.secondary != AtomicOp::none) && in.operands.size() < 4)
    return refuse("a secondary operation or a part of d needs the operand c");
  if (p.merge && p.secondary != AtomicOp::none)
    return refuse("a video instruction has either a secondary operation or a part of d");
  // What an H200 gives for these follows no rule that the manual states or recordings show.
  const bool extremum = p.secondary == AtomicOp::min || p.secondary == AtomicOp::max;
  if (extremum && (p.kind == Kind::min || p.kind == Kind::max || p.kind == Kind::shl))
    return refuse("vmin, vmax and vshl with a secondary .min or .max are not executed");
  if (p.lanes == 1 && p.sat && (p.merge || p.secondary == AtomicOp::add))
    return refuse("scalar video instructions with .sat and .add or a part of d are not executed");
  if (p.kind == Kind::shl && p.sat) return refuse("vshl.sat is not executed");
  if (p.lanes > 1) {
    const uint16_t all = p.lanes == 4 ? 0xf : 0x3;
    p.mask = static_cast<uint8_t>(m.mask ? m.mask & all : all);
    const uint16_t low = p.lanes == 4 ? 0x3210 : 0x10, high = p.lanes == 4 ? 0x7654 : 0x32;
    p.a_lanes = in.operands[1].lanes == 0xffff ? low : in.operands[1].lanes;
    p.b_lanes = in.operands[2].lanes == 0xffff ? high : in.operands[2].lanes;
  }
  return run(video, encode(p));
}

}  // namespace fiel::vgpu::FIEL_ISA
