// setp, set, selp and slct on every type.
//
// All comparisons come from few loops: integers compare eq and lt, floats eq, lt, le, "less or
// greater" and "ordered"; the rest are these with swapped operands or an inverted result.
#include "vgpu/isa/half_bits.h"

namespace fiel::vgpu::FIEL_ISA {
namespace {

using ptx::BoolOp;
using ptx::Compare;

enum class Base : uint8_t { eq, lt, le, lt_or_gt, ordered };

// What op.imm holds for setp and set.
struct Plan {
  Base base = Base::eq;
  bool swap = false, invert = false, ftz = false;
  BoolOp combine = BoolOp::none;
  uint32_t true_value = 0;  // set only

  uint64_t encode() const {
    return static_cast<uint64_t>(swap) | static_cast<uint64_t>(invert) << 1 |
           static_cast<uint64_t>(combine) << 2 | static_cast<uint64_t>(true_value) << 32;
  }
};
constexpr bool swapped(uint64_t imm) { return imm & 1u; }
constexpr bool inverted(uint64_t imm) { return imm & 2u; }
constexpr BoolOp combined(uint64_t imm) { return static_cast<BoolOp>((imm >> 2) & 7u); }

template <typename T, Base base>
[[gnu::always_inline]] inline bool holds(T a, T b) {
  switch (base) {
    case Base::eq:
      return a == b;
    case Base::lt:
      return a < b;
    case Base::le:
      return a <= b;
    case Base::lt_or_gt:
      return (a < b) | (a > b);
    case Base::ordered:
      return (a == a) & (b == b);
  }
  return false;
}

uint32_t combine(BoolOp how, uint32_t value, uint32_t with) {
  switch (how) {
    case BoolOp::and_:
      return value & with;
    case BoolOp::or_:
      return value | with;
    case BoolOp::xor_:
      return value ^ with;
    default:
      return value;
  }
}

template <typename T, Base base, bool ftz>
[[gnu::always_inline]] inline uint32_t compare_lanes(Warp& warp, const Op& op) {
  const auto* a = warp.reg<Slot<T>>(swapped(op.imm) ? op.b : op.a);
  const auto* b = warp.reg<Slot<T>>(swapped(op.imm) ? op.a : op.b);
  const uint32_t r = lanes_where<Slot<T>>([=](int i) {
    if constexpr (ftz)
      return holds<T, base>(flush(unpack<T>(a[i])), flush(unpack<T>(b[i])));
    else
      return holds<T, base>(unpack<T>(a[i]), unpack<T>(b[i]));
  });
  return r ^ (inverted(op.imm) ? kFullMask : 0u);
}

// The two destinations get "t op c" and "(not t) op c".
void write_setp(Warp& warp, const Op& op, uint32_t t, uint32_t mask) {
  const BoolOp how = combined(op.imm);
  const uint32_t c = how == BoolOp::none ? 0u : read_pred(warp, op.c, op.flags, kNegatedC);
  const uint32_t p = combine(how, t, c), q = combine(how, ~t, c);
  write_pred(warp, op.dst, p, mask);
  if (op.dst2) write_pred(warp, op.dst2, q, mask);
}
void write_set(Warp& warp, const Op& op, uint32_t t, uint32_t mask) {
  const BoolOp how = combined(op.imm);
  if (how != BoolOp::none) t = combine(how, t, read_pred(warp, op.c, op.flags, kNegatedC));
  const auto value = static_cast<uint32_t>(op.imm >> 32);
  for_lanes<uint32_t, false>(warp, op.dst, mask, [=](int i) { return (t >> i) & 1u ? value : 0u; });
}

template <typename T, Base base, bool ftz>
void setp(Warp& warp, const Op& op, uint32_t mask) {
  const uint32_t t = compare_lanes<T, base, ftz>(warp, op);
  if (combined(op.imm) == BoolOp::none && op.dst2 == 0) [[likely]]
    write_pred(warp, op.dst, t, mask);
  else
    write_setp(warp, op, t, mask);
}
template <typename T, Base base, bool ftz>
void set(Warp& warp, const Op& op, uint32_t mask) {
  write_set(warp, op, compare_lanes<T, base, ftz>(warp, op), mask);
}

// ---- half precision
// ------------------------------------------------------------------------------
struct HalfKind {
  bool bf16 = false, packed = false, ftz = false;
};
void load_halves(FloatLanes& to, const uint32_t* from, int shift, bool bf16, bool ftz) {
  if (bf16)
    load_bf16(to, from, shift);
  else
    load_f16(to, from, shift);
  if (ftz)
    for (float& x : to.at) x = bf16 ? flush(x) : flush_f16(x);
}
template <Base base>
uint32_t compare_halves(Warp& warp, const Op& op, HalfKind kind, int shift) {
  FloatLanes a, b;
  load_halves(a, warp.reg<uint32_t>(swapped(op.imm) ? op.b : op.a), shift, kind.bf16, kind.ftz);
  load_halves(b, warp.reg<uint32_t>(swapped(op.imm) ? op.a : op.b), shift, kind.bf16, kind.ftz);
  const uint32_t r =
      lanes_where<uint32_t>([&](int i) { return holds<float, base>(a.at[i], b.at[i]); });
  return r ^ (inverted(op.imm) ? kFullMask : 0u);
}
template <Base base>
HalfKind kind_of(uint64_t imm) {
  return {(imm & 0x100) != 0, (imm & 0x200) != 0, (imm & 0x400) != 0};
}
uint64_t encode(HalfKind kind) {
  return (kind.bf16 ? 0x100u : 0u) | (kind.packed ? 0x200u : 0u) | (kind.ftz ? 0x400u : 0u);
}

// Packed: p is the low half's result, q the high half's.
template <Base base>
void setp_half(Warp& warp, const Op& op, uint32_t mask) {
  const HalfKind kind = kind_of<base>(op.imm);
  const uint32_t low = compare_halves<base>(warp, op, kind, 0);
  if (!kind.packed) return write_setp(warp, op, low, mask);
  const uint32_t high = compare_halves<base>(warp, op, kind, 16);
  const BoolOp how = combined(op.imm);
  const uint32_t c = how == BoolOp::none ? 0u : read_pred(warp, op.c, op.flags, kNegatedC);
  write_pred(warp, op.dst, combine(how, low, c), mask);
  if (op.dst2) write_pred(warp, op.dst2, combine(how, high, c), mask);
}
// Packed: each half of the result is its own comparison's value (1.0, or all ones for .u32/.s32).
template <Base base>
void set_half(Warp& warp, const Op& op, uint32_t mask) {
  const HalfKind kind = kind_of<base>(op.imm);
  const uint32_t low = compare_halves<base>(warp, op, kind, 0);
  if (!kind.packed) return write_set(warp, op, low, mask);
  const BoolOp how = combined(op.imm);
  const uint32_t c = how == BoolOp::none ? 0u : read_pred(warp, op.c, op.flags, kNegatedC);
  const uint32_t p = combine(how, low, c);
  const uint32_t q = combine(how, compare_halves<base>(warp, op, kind, 16), c);
  const auto value = static_cast<uint32_t>(op.imm >> 32);
  for_lanes<uint32_t, false>(warp, op.dst, mask, [=](int i) {
    return ((p >> i) & 1u ? value & 0xffffu : 0u) | ((q >> i) & 1u ? value << 16 : 0u);
  });
}

// ---- selection -------------------------------------------------------------------------------
bool plan_integer(Compare cmp, Plan& plan) {
  switch (cmp) {
    case Compare::eq:
      plan.base = Base::eq;
      return true;
    case Compare::ne:
      plan.base = Base::eq;
      plan.invert = true;
      return true;
    case Compare::lt:
    case Compare::lo:
      plan.base = Base::lt;
      return true;
    case Compare::gt:
    case Compare::hi:
      plan.base = Base::lt;
      plan.swap = true;
      return true;
    case Compare::le:
    case Compare::ls:
      plan.base = Base::lt;
      plan.swap = plan.invert = true;
      return true;
    case Compare::ge:
    case Compare::hs:
      plan.base = Base::lt;
      plan.invert = true;
      return true;
    default:
      return false;
  }
}
bool plan_float(Compare cmp, Plan& plan) {
  struct Row {
    Compare cmp;
    Base base;
    bool swap, invert;
  };
  constexpr Row kRows[] = {
      {Compare::eq, Base::eq, false, false},       {Compare::ne, Base::lt_or_gt, false, false},
      {Compare::lt, Base::lt, false, false},       {Compare::le, Base::le, false, false},
      {Compare::gt, Base::lt, true, false},        {Compare::ge, Base::le, true, false},
      {Compare::equ, Base::lt_or_gt, false, true}, {Compare::neu, Base::eq, false, true},
      {Compare::ltu, Base::le, true, true},        {Compare::leu, Base::lt, true, true},
      {Compare::gtu, Base::le, false, true},       {Compare::geu, Base::lt, false, true},
      {Compare::num, Base::ordered, false, false}, {Compare::nan, Base::ordered, false, true},
  };
  for (const Row& row : kRows)
    if (row.cmp == cmp) {
      plan.base = row.base;
      plan.swap = row.swap;
      plan.invert = row.invert;
      return true;
    }
  return false;
}

struct Pair {
  Handler setp, set;
};
template <typename T>
Pair integer_pair(Base base) {
  if (base == Base::eq) {  // the same for both signs
    using U = std::make_unsigned_t<T>;
    return {setp<U, Base::eq, false>, set<U, Base::eq, false>};
  }
  return {setp<T, Base::lt, false>, set<T, Base::lt, false>};
}
template <typename T, bool ftz>
Pair float_pair(Base base) {
  switch (base) {
    case Base::eq:
      return {setp<T, Base::eq, ftz>, set<T, Base::eq, ftz>};
    case Base::lt:
      return {setp<T, Base::lt, ftz>, set<T, Base::lt, ftz>};
    case Base::le:
      return {setp<T, Base::le, ftz>, set<T, Base::le, ftz>};
    case Base::lt_or_gt:
      return {setp<T, Base::lt_or_gt, ftz>, set<T, Base::lt_or_gt, ftz>};
    case Base::ordered:
      return {setp<T, Base::ordered, ftz>, set<T, Base::ordered, ftz>};
  }
  return {};
}
Pair half_pair(Base base) {
  switch (base) {
    case Base::eq:
      return {setp_half<Base::eq>, set_half<Base::eq>};
    case Base::lt:
      return {setp_half<Base::lt>, set_half<Base::lt>};
    case Base::le:
      return {setp_half<Base::le>, set_half<Base::le>};
    case Base::lt_or_gt:
      return {setp_half<Base::lt_or_gt>, set_half<Base::lt_or_gt>};
    case Base::ordered:
      return {setp_half<Base::ordered>, set_half<Base::ordered>};
  }
  return {};
}
Pair pair_for(Type t, Base base, bool ftz) {
  switch (t) {
    case Type::u16:
    case Type::b16:
      return integer_pair<uint16_t>(base);
    case Type::s16:
      return integer_pair<int16_t>(base);
    case Type::u32:
    case Type::b32:
      return integer_pair<uint32_t>(base);
    case Type::s32:
      return integer_pair<int32_t>(base);
    case Type::u64:
    case Type::b64:
      return integer_pair<uint64_t>(base);
    case Type::s64:
      return integer_pair<int64_t>(base);
    case Type::f32:
      return ftz ? float_pair<float, true>(base) : float_pair<float, false>(base);
    case Type::f64:
      return float_pair<double, false>(base);
    case Type::f16:
    case Type::f16x2:
    case Type::bf16:
    case Type::bf16x2:
      return half_pair(base);
    default:
      return {};
  }
}

/// What set writes for true: all ones, or 1.0 of the destination's type. 0 = no such destination.
uint32_t true_value(Type t) {
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
      return 0x3c003c00u & (t == Type::f16 ? 0xffffu : 0xffffffffu);
    case Type::bf16:
    case Type::bf16x2:
      return 0x3f803f80u & (t == Type::bf16 ? 0xffffu : 0xffffffffu);
    default:
      return 0;
  }
}

Selection select_comparison(const Instruction& in) {
  const Modifiers& m = in.mods;
  const bool is_set = in.op == Opcode::set;
  const Type t = is_set ? m.types[1] : m.types[0];
  Plan plan;
  if (!(ptx::is_float(t) ? plan_float(m.cmp, plan) : plan_integer(m.cmp, plan)))
    return refuse("this comparison does not exist for this type");
  plan.combine = m.bool_op;
  if (is_set) {
    plan.true_value = true_value(m.types[0]);
    if (plan.true_value == 0) return refuse("set writes .u32, .s32, .f32 or a half type");
  }
  const Pair pair = pair_for(t, plan.base, m.ftz);
  if (!pair.setp) return refuse("this type cannot be compared");
  uint64_t imm = plan.encode();
  const bool half = t == Type::f16 || t == Type::f16x2 || t == Type::bf16 || t == Type::bf16x2;
  if (half)
    imm |= encode(HalfKind{t == Type::bf16 || t == Type::bf16x2,
                           t == Type::f16x2 || t == Type::bf16x2, m.ftz});
  const size_t first_source = !is_set && in.pair_destination ? 2 : 1;
  return run(is_set ? pair.set : pair.setp, imm, negation_flags(in, first_source));
}

// ---- selp, slct ------------------------------------------------------------------------------
template <typename S>
void selp(Warp& warp, const Op& op, uint32_t mask) {
  const auto* a = warp.reg<S>(op.a);
  const auto* b = warp.reg<S>(op.b);
  const uint32_t p = read_pred(warp, op.c, op.flags, kNegatedC);
  for_lanes<S, false>(warp, op.dst, mask, [=](int i) { return (p >> i) & 1u ? a[i] : b[i]; });
}
constexpr auto kSlctInt = [](auto a, auto b, int32_t c) { return c >= 0 ? a : b; };
template <bool ftz>
constexpr auto kSlctFloat =
    [](auto a, auto b, float c) { return flush_if<ftz>(c) >= 0.0f ? a : b; };

Selection select_slct(const Instruction& in) {
  const Modifiers& m = in.mods;
  const bool wide = ptx::bits_of(m.types[0]) == 64;
  if (m.types[1] == Type::s32)
    return run(wide ? ternary_to<uint64_t, uint64_t, uint64_t, int32_t, kSlctInt>
                    : ternary_to<uint32_t, uint32_t, uint32_t, int32_t, kSlctInt>);
  if (m.types[1] != Type::f32) return refuse("slct tests a .s32 or .f32");
  if (m.ftz)
    return run(wide ? ternary_to<uint64_t, uint64_t, uint64_t, float, kSlctFloat<true>>
                    : ternary_to<uint32_t, uint32_t, uint32_t, float, kSlctFloat<true>>);
  return run(wide ? ternary_to<uint64_t, uint64_t, uint64_t, float, kSlctFloat<false>>
                  : ternary_to<uint32_t, uint32_t, uint32_t, float, kSlctFloat<false>>);
}

}  // namespace

Selection select_compare(const Instruction& in, const OperandWidths&) {
  switch (in.op) {
    case Opcode::setp:
    case Opcode::set:
      return select_comparison(in);
    case Opcode::selp:
      return run(ptx::bits_of(in.mods.types[0]) == 64 ? selp<uint64_t> : selp<uint32_t>, 0,
                 negation_flags(in, 1));
    case Opcode::slct:
      return select_slct(in);
    default:
      return {};
  }
}

}  // namespace fiel::vgpu::FIEL_ISA
