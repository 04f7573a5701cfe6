// The model of video instructions, on arrays of lanes in wide integers.
#include <algorithm>
#include <array>
#include <vector>

#include "model.h"

namespace fiel::vgpu::model {
namespace {

using ptx::Instruction;
using ptx::Opcode;

struct Shape {
  std::string_view what;
  uint32_t lanes;
};
Shape shape_of(Opcode op) {
  std::string_view name = ptx::name_of(op);
  const char last = name.back();
  const uint32_t lanes = last == '2' ? 2 : last == '4' ? 4 : 1;
  return {lanes > 1 ? name.substr(1, name.size() - 2) : name.substr(1), lanes};
}

__int128 lane_result(const Instruction& in, std::string_view what, __int128 a, __int128 b) {
  if (what == "add") return a + b;
  if (what == "sub") return a - b;
  if (what == "absdiff") return std::max(a, b) - std::min(a, b);
  if (what == "min") return std::min(a, b);
  if (what == "max") return std::max(a, b);
  if (what == "avrg") {
    const __int128 sum = a + b;
    return (sum + (sum >= 0 ? 1 : 0)) >> 1;
  }
  if (what == "set") {
    switch (in.mods.cmp) {
      case ptx::Compare::eq:
        return a == b;
      case ptx::Compare::ne:
        return a != b;
      case ptx::Compare::lt:
      case ptx::Compare::lo:
        return a < b;
      case ptx::Compare::le:
      case ptx::Compare::ls:
        return a <= b;
      case ptx::Compare::gt:
      case ptx::Compare::hi:
        return a > b;
      default:
        return a >= b;
    }
  }
  const __int128 n = in.mods.wrap ? b % 32 : std::min<__int128>(b, 32);
  return what == "shl" ? a * (__int128{1} << n) : a >> n;
}

__int128 saturated(__int128 x, uint32_t bits, bool is_signed) {
  const __int128 top = (__int128{1} << (is_signed ? bits - 1 : bits)) - 1;
  return std::clamp(x, is_signed ? -top - 1 : __int128{0}, top);
}

}  // namespace

bool video_model(const Instruction& in, const uint64_t* s, Expected& e) {
  if (in.op < Opcode::vadd || in.op > Opcode::vset4 || in.op == Opcode::vmad) return false;
  const auto& m = in.mods;
  const Shape shape = shape_of(in.op);
  const size_t first = shape.what == "set" ? 0 : 1;
  const bool d_signed = first == 1 && ptx::is_signed(m.types[0]);
  const bool a_signed = ptx::is_signed(m.types[first]),
             b_signed = ptx::is_signed(m.types[first + 1]);
  const uint64_t a = low(s[0], 32), b = low(s[1], 32);
  const uint64_t c = in.operands.size() > 3 ? low(s[2], 32) : 0;
  if (shape.lanes == 1) {
    const auto part = [](uint64_t x, int selector, bool is_signed) {
      if (selector < 0) return value_of(x, 32, is_signed);
      return selector < 4 ? value_of(x >> (8 * selector), 8, is_signed)
                          : value_of(x >> (16 * (selector - 4)), 16, is_signed);
    };
    const int to = in.operands[0].selector;
    // No rule is known for what a GPU gives here.
    const bool extremum = m.secondary == ptx::AtomicOp::min || m.secondary == ptx::AtomicOp::max;
    const bool unruly = shape.what == "min" || shape.what == "max" || shape.what == "shl";
    const bool adds = m.secondary == ptx::AtomicOp::add;
    if ((extremum && unruly) || (m.sat && (to >= 0 || adds || shape.what == "shl"))) {
      e.legal = false;
      return true;
    }
    const uint32_t bits = to < 0 ? 32 : to < 4 ? 8 : 16;
    __int128 t = lane_result(in, shape.what, part(a, in.operands[1].selector, a_signed),
                             part(b, in.operands[2].selector, b_signed));
    if (m.sat) t = saturated(t, bits, d_signed);
    if (to >= 0) {
      const uint64_t shift = to < 4 ? 8 * to : 16 * (to - 4);
      const uint64_t field = low(~uint64_t{0}, bits) << shift;
      const __int128 part_of_t = to == 5 ? t >> 16 : t;  // .h1 is the upper half of the result
      e.d = (c & ~field) | (static_cast<uint64_t>(part_of_t) << shift & field);
      return true;
    }
    if (adds) t += c;
    if (extremum) {
      // Signedness of d, or of vset's a. Unsigned: a result with bit 31 beats every c.
      const bool is_signed = shape.what == "set" ? a_signed : d_signed;
      const uint64_t x = low(static_cast<uint64_t>(t), 32);
      const bool larger =
          is_signed ? value_of(x, 32, true) > value_of(c, 32, true) : x > c || (x >> 31 & 1u);
      t = larger == (m.secondary == ptx::AtomicOp::max) ? x : c;
    }
    e.d = low(static_cast<uint64_t>(t), 32);
    return true;
  }
  const uint32_t bits = 32 / shape.lanes;
  std::vector<uint64_t> pool;  // a's lanes, then b's
  for (const uint64_t word : {a, b})
    for (uint32_t i = 0; i < shape.lanes; ++i) pool.push_back(low(word >> (bits * i), bits));
  uint64_t sum = c, merged = 0;
  for (uint32_t i = 0; i < shape.lanes; ++i) {
    const auto pick = [&](const ptx::Operand& operand, uint32_t standard) {
      return pool.at(operand.lanes == 0xffff ? standard : operand.lanes >> (4 * i) & 15u);
    };
    __int128 t = lane_result(in, shape.what, value_of(pick(in.operands[1], i), bits, a_signed),
                             value_of(pick(in.operands[2], shape.lanes + i), bits, b_signed));
    if (m.sat) t = saturated(t, bits, d_signed);
    const bool chosen = m.mask == 0 || (m.mask >> i & 1u);
    if (chosen) sum += static_cast<uint64_t>(t);
    merged |= low(chosen ? static_cast<uint64_t>(t) : c >> (bits * i), bits) << (bits * i);
  }
  e.d = low(m.secondary == ptx::AtomicOp::add ? sum : merged, 32);
  return true;
}

}  // namespace fiel::vgpu::model
