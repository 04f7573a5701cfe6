// Extended precision (carry chains), bit fields, bytes, three-input logic, funnel shifts, dot
// products of bytes. Video instructions are in video.cpp.
#include "vgpu/isa/extended.h"

namespace fiel::vgpu::FIEL_ISA {
namespace {

// ---- carry chains ----------------------------------------------------------------------------
enum class Chain : uint8_t { add, sub, mad_lo, mad_hi };

template <typename T>
[[gnu::always_inline]] inline std::make_unsigned_t<T> high_product(T a, T b) {
  if constexpr (sizeof(T) == 4) {
    using W = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
    return static_cast<uint32_t>((W{a} * W{b}) >> 32);
  } else {
    using W = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
    return static_cast<uint64_t>((W{a} * W{b}) >> 64);
  }
}

// CC.CF is a carry out of an adder, after subtractions too: a - b is a + ~b + 1, so that 1 says
// that nothing was borrowed. The manual calls it a borrow, which chains of one kind cannot tell;
// CUDA's own division of 128 bits has an addc behind a subc.cc.
template <typename T, Chain chain, bool carry_in, bool carry_out>
void chained(Warp& warp, const Op& op, uint32_t mask) {
  using U = std::make_unsigned_t<T>;
  const U* a = warp.reg<U>(op.a);
  const U* b = warp.reg<U>(op.b);
  const U* c = warp.reg<U>(op.c);
  const uint32_t carry = warp.carry;
  alignas(32) U out[kLanes];
  alignas(32) U result[kLanes];
  for (int i = 0; i < kLanes; ++i) {
    const U bit = static_cast<U>((carry >> i) & 1u);
    if constexpr (chain == Chain::sub) {
      const U borrow = carry_in ? bit ^ 1u : U{0};
      const U d = a[i] - b[i];
      result[i] = d - borrow;
      out[i] = (a[i] < b[i]) | (d < borrow) ? U{0} : ~U{0};
    } else {
      const U in = carry_in ? bit : U{0};
      U x = a[i], y = b[i];
      if constexpr (chain == Chain::mad_lo) x = a[i] * b[i];
      if constexpr (chain == Chain::mad_hi)
        x = high_product<T>(static_cast<T>(a[i]), static_cast<T>(b[i]));
      if constexpr (chain == Chain::mad_lo || chain == Chain::mad_hi) y = c[i];
      const U sum = x + y;
      result[i] = sum + in;
      out[i] = (sum < x) | (result[i] < sum) ? ~U{0} : U{0};
    }
  }
  if (carry_out) warp.carry = (carry & ~mask) | (sign_mask(out) & mask);
  for_lanes<U, false>(warp, op.dst, mask, [&](int i) { return result[i]; });
}

template <typename T, Chain chain>
Handler chain_for(bool carry_in, bool carry_out) {
  if (carry_in) return carry_out ? chained<T, chain, true, true> : chained<T, chain, true, false>;
  return chained<T, chain, false, true>;
}
template <Chain chain>
Handler chain_of_type(Type t, bool carry_in, bool carry_out) {
  switch (t) {
    case Type::u32:
    case Type::s32:
      if (chain == Chain::mad_hi && t == Type::s32)
        return chain_for<int32_t, chain>(carry_in, carry_out);
      return chain_for<uint32_t, chain>(carry_in, carry_out);
    case Type::u64:
    case Type::s64:
      if (chain == Chain::mad_hi && t == Type::s64)
        return chain_for<int64_t, chain>(carry_in, carry_out);
      return chain_for<uint64_t, chain>(carry_in, carry_out);
    default:
      return nullptr;
  }
}
Selection select_chain(const Instruction& in) {
  const Modifiers& m = in.mods;
  const Type t = m.types[0];
  constexpr const char* kTypes = "carry chains take .u32, .s32, .u64 and .s64";
  const bool carry_in = in.op == Opcode::addc || in.op == Opcode::subc || in.op == Opcode::madc;
  if (!carry_in && !m.cc) return {};
  switch (in.op) {
    case Opcode::add:
    case Opcode::addc:
      return run_or(chain_of_type<Chain::add>(t, carry_in, m.cc), kTypes);
    case Opcode::sub:
    case Opcode::subc:
      return run_or(chain_of_type<Chain::sub>(t, carry_in, m.cc), kTypes);
    default:
      return run_or(m.hi ? chain_of_type<Chain::mad_hi>(t, carry_in, m.cc)
                         : chain_of_type<Chain::mad_lo>(t, carry_in, m.cc),
                    kTypes);
  }
}

// ---- bit fields
// ----------------------------------------------------------------------------------
template <typename U>
[[gnu::always_inline]] inline U low_bits(uint32_t n) {  // n may be anything
  constexpr uint32_t kBits = 8 * sizeof(U);
  return n >= kBits ? ~U{0} : static_cast<U>((U{1} << (n & (kBits - 1))) - 1);
}
template <typename U>
[[gnu::always_inline]] inline U shift_right(U a, uint32_t n) {
  constexpr uint32_t kBits = 8 * sizeof(U);
  return n >= kBits ? U{0} : static_cast<U>(a >> (n & (kBits - 1)));
}
template <typename U>
[[gnu::always_inline]] inline U shift_left(U a, uint32_t n) {
  constexpr uint32_t kBits = 8 * sizeof(U);
  return n >= kBits ? U{0} : static_cast<U>(a << (n & (kBits - 1)));
}

constexpr auto kBfe = [](auto a, uint32_t b, uint32_t c) {
  using T = decltype(a);
  using U = std::make_unsigned_t<T>;
  constexpr uint32_t kTop = 8 * sizeof(T) - 1;
  const uint32_t position = b & 0xffu, length = c & 0xffu;
  const auto bits = static_cast<U>(a);
  const U field = low_bits<U>(length) & shift_right(~U{0}, position);
  const U value = shift_right(bits, position) & field;
  if constexpr (std::is_signed_v<T>) {
    const uint32_t end = position + length - 1;
    const uint32_t sign_at = end < kTop ? end : kTop;
    const bool negative = length != 0 && ((bits >> sign_at) & 1u) != 0;
    return static_cast<T>(negative ? value | ~field : value);
  } else {
    return static_cast<T>(value);
  }
};
Handler bfe_for(Type t) {
  switch (t) {
    case Type::u32:
      return ternary_to<uint32_t, uint32_t, uint32_t, uint32_t, kBfe>;
    case Type::s32:
      return ternary_to<int32_t, int32_t, uint32_t, uint32_t, kBfe>;
    case Type::u64:
      return ternary_to<uint64_t, uint64_t, uint32_t, uint32_t, kBfe>;
    case Type::s64:
      return ternary_to<int64_t, int64_t, uint32_t, uint32_t, kBfe>;
    default:
      return nullptr;
  }
}
template <typename U>
void insert_field(Warp& warp, const Op& op, uint32_t mask) {
  const U* a = warp.reg<U>(op.a);
  const U* b = warp.reg<U>(op.b);
  const uint32_t* c = warp.reg<uint32_t>(op.c);
  const uint32_t* d = warp.reg<uint32_t>(op.d);
  // The manual allows 0 to 255. Beyond, an H200 masks for .b32 and clamps for .b64.
  const auto bounded = [](uint32_t x) { return sizeof(U) == 4 ? x & 0xffu : x < 255u ? x : 255u; };
  for_lanes<U, sizeof(U) != 4>(warp, op.dst, mask, [=](int i) {
    const uint32_t position = bounded(c[i]);
    const U field = shift_left(low_bits<U>(bounded(d[i])), position);
    return (b[i] & ~field) | (shift_left(a[i], position) & field);
  });
}

// bfind: position of the highest bit that differs from the sign; none: all ones.
template <typename T, bool shiftamt>
constexpr auto kBfind = [](T a) {
  using U = std::make_unsigned_t<T>;
  constexpr uint32_t kTop = 8 * sizeof(T) - 1;
  const U x = a < 0 ? static_cast<U>(~a) : static_cast<U>(a);
  const uint32_t zeros = sizeof(T) == 8
                             ? static_cast<uint32_t>(__builtin_clzll(x | 1))
                             : static_cast<uint32_t>(__builtin_clz(static_cast<uint32_t>(x) | 1));
  return x == 0 ? ~0u : shiftamt ? zeros : kTop - zeros;
};
template <bool shiftamt>
Handler bfind_for(Type t) {
  switch (t) {
    case Type::u32:
      return unary_to<uint32_t, uint32_t, kBfind<uint32_t, shiftamt>>;
    case Type::s32:
      return unary_to<uint32_t, int32_t, kBfind<int32_t, shiftamt>>;
    case Type::u64:
      return unary_to<uint32_t, uint64_t, kBfind<uint64_t, shiftamt>>;
    case Type::s64:
      return unary_to<uint32_t, int64_t, kBfind<int64_t, shiftamt>>;
    default:
      return nullptr;
  }
}

// bmsk: b ones from bit a on.
template <bool clamp>
constexpr auto kBmsk = [](uint32_t a, uint32_t b) {
  const uint32_t start = a & 31u, sum = start + (b & 31u);
  const uint32_t from = clamp && a >= 32 ? 0u : ~0u << start;
  const bool open = sum >= 32 || (clamp && (a >= 32 || b >= 32));
  return from & (open ? ~0u : ~(~0u << (sum & 31u)));
};

// ---- counting ----------------------------------------------------------------------------------
constexpr auto kPopc32 = [](uint32_t a) { return static_cast<uint32_t>(__builtin_popcount(a)); };
constexpr auto kPopc64 = [](uint64_t a) { return static_cast<uint32_t>(__builtin_popcountll(a)); };
constexpr auto kClz32 = [](uint32_t a) {
  return a ? static_cast<uint32_t>(__builtin_clz(a)) : 32u;
};
constexpr auto kClz64 = [](uint64_t a) {
  return a ? static_cast<uint32_t>(__builtin_clzll(a)) : 64u;
};
constexpr auto kBrev32 = [](uint32_t a) {
  a = (a >> 1 & 0x55555555u) | (a & 0x55555555u) << 1;
  a = (a >> 2 & 0x33333333u) | (a & 0x33333333u) << 2;
  a = (a >> 4 & 0x0f0f0f0fu) | (a & 0x0f0f0f0fu) << 4;
  a = (a >> 8 & 0x00ff00ffu) | (a & 0x00ff00ffu) << 8;
  return a >> 16 | a << 16;
};
constexpr auto kBrev64 = [](uint64_t a) {
  return uint64_t{kBrev32(static_cast<uint32_t>(a))} << 32 |
         kBrev32(static_cast<uint32_t>(a >> 32));
};
// fns: the n-th set bit from `base`, upwards (offset > 0) or downwards; offset 0 asks for base
// itself.
constexpr auto kFns = [](uint32_t bits, uint32_t base, uint32_t offset) {
  const auto n = static_cast<int32_t>(offset);
  if (base > 31) return ~0u;
  if (n == 0) return (bits >> base) & 1u ? base : ~0u;
  const int32_t step = n > 0 ? 1 : -1;
  int64_t left = n > 0 ? int64_t{n} - 1 : -int64_t{n} - 1;
  for (auto at = static_cast<int32_t>(base); at >= 0 && at < 32; at += step) {
    if (!((bits >> at) & 1u)) continue;
    if (left-- == 0) return static_cast<uint32_t>(at);
  }
  return ~0u;
};

// ---- bytes -----------------------------------------------------------------------------------
// prmt: each nibble of the selector picks a byte of {b,a}; its top bit spreads that byte's sign.
constexpr auto kPrmt = [](uint32_t a, uint32_t b, uint32_t selector) {
  uint32_t result = 0;
  for (uint32_t k = 0; k < 4; ++k) {  // 32-bit arithmetic: twice the lanes of a 64-bit {b,a}
    const uint32_t nibble = selector >> (4 * k);
    const uint32_t word = nibble & 4u ? b : a;
    const uint32_t byte = word >> (8 * (nibble & 3u)) & 0xffu;
    const uint32_t sign = byte & 0x80u ? 0xffu : 0u;
    result |= (nibble & 8u ? sign : byte) << (8 * k);
  }
  return result;
};
// The six special modes pick one of four selectors by the low two bits of c.
template <ptx::PrmtMode mode>
constexpr auto kPrmtMode = [](uint32_t a, uint32_t b, uint32_t c) {
  constexpr auto kTable = [] {
    using M = ptx::PrmtMode;
    struct Row {
      uint32_t at[4];
    };
    switch (mode) {
      case M::f4e:
        return Row{{0x3210, 0x4321, 0x5432, 0x6543}};
      case M::b4e:
        return Row{{0x5670, 0x6701, 0x7012, 0x0123}};
      case M::rc8:
        return Row{{0x0000, 0x1111, 0x2222, 0x3333}};
      case M::ecl:
        return Row{{0x3210, 0x3211, 0x3222, 0x3333}};
      case M::ecr:
        return Row{{0x0000, 0x1110, 0x2210, 0x3210}};
      default:
        return Row{{0x1010, 0x3232, 0x1010, 0x3232}};
    }
  }();
  const uint32_t n = c & 3u;
  const uint32_t low = n & 1u ? kTable.at[1] : kTable.at[0];
  const uint32_t high = n & 1u ? kTable.at[3] : kTable.at[2];
  return kPrmt(a, b, n & 2u ? high : low);
};
Selection select_prmt(const Instruction& in) {
  using M = ptx::PrmtMode;
  switch (in.mods.prmt) {
    case M::none:
      return run(ternary<uint32_t, kPrmt>);
    case M::f4e:
      return run(ternary<uint32_t, kPrmtMode<M::f4e>>);
    case M::b4e:
      return run(ternary<uint32_t, kPrmtMode<M::b4e>>);
    case M::rc8:
      return run(ternary<uint32_t, kPrmtMode<M::rc8>>);
    case M::ecl:
      return run(ternary<uint32_t, kPrmtMode<M::ecl>>);
    case M::ecr:
      return run(ternary<uint32_t, kPrmtMode<M::ecr>>);
    case M::rc16:
      return run(ternary<uint32_t, kPrmtMode<M::rc16>>);
  }
  return refuse("unknown mode of prmt");
}

// ---- lop3 ------------------------------------------------------------------------------------
// Bit (a<<2 | b<<1 | c) of the table is the result. op.imm: table, and the combination for p.
template <bool with_pred>
void lop3(Warp& warp, const Op& op, uint32_t mask) {
  const uint32_t* a = warp.reg<uint32_t>(op.a);
  const uint32_t* b = warp.reg<uint32_t>(op.b);
  const uint32_t* c = warp.reg<uint32_t>(op.c);
  uint32_t when[8];
  for (int k = 0; k < 8; ++k) when[k] = (op.imm >> k) & 1u ? ~0u : 0u;
  const auto value = [=](int i) {
    const uint32_t x00 = (when[1] & c[i]) | (when[0] & ~c[i]);
    const uint32_t x01 = (when[3] & c[i]) | (when[2] & ~c[i]);
    const uint32_t x10 = (when[5] & c[i]) | (when[4] & ~c[i]);
    const uint32_t x11 = (when[7] & c[i]) | (when[6] & ~c[i]);
    const uint32_t x0 = (x01 & b[i]) | (x00 & ~b[i]);
    const uint32_t x1 = (x11 & b[i]) | (x10 & ~b[i]);
    return (x1 & a[i]) | (x0 & ~a[i]);
  };
  if constexpr (with_pred) {
    const uint32_t any = lanes_where<uint32_t>([&](int i) { return value(i) != 0; });
    const uint32_t q = warp.pred(op.extra) ^ (op.imm & 0x400 ? kFullMask : 0u);
    for_lanes<uint32_t, false>(warp, op.dst, mask, value);
    write_pred(warp, op.dst2, op.imm & 0x100 ? any & q : op.imm & 0x200 ? any | q : any ^ q, mask);
  } else {
    for_lanes<uint32_t, false>(warp, op.dst, mask, value);
  }
}
Selection select_lop3(const Instruction& in) {
  const size_t table_at = in.pair_destination ? 5 : 4;
  if (in.operands.size() <= table_at || in.operands[table_at].kind != Operand::Kind::immediate)
    return refuse("lop3 needs an immediate table");
  uint64_t imm = in.operands[table_at].bits & 0xffu;
  if (!in.pair_destination) return run(lop3<false>, imm);
  if (in.operands.size() <= table_at + 1) return refuse("lop3 with d|p needs the predicate q");
  switch (in.mods.bool_op) {
    case ptx::BoolOp::and_:
      imm |= 0x100;
      break;
    case ptx::BoolOp::or_:
      imm |= 0x200;
      break;
    case ptx::BoolOp::xor_:
      break;
    default:
      return refuse("lop3 with d|p needs .and, .or or .xor");
  }
  if (in.operands[table_at + 1].negated) imm |= 0x400;
  return run(lop3<true>, imm);
}

// ---- shf, sad, dp4a, dp2a
// ------------------------------------------------------------------------
template <bool left, bool wrap>
constexpr auto kShf = [](uint32_t a, uint32_t b, uint32_t c) {
  const uint32_t n = wrap ? c & 31u : c < 32 ? c : 32u;
  const uint64_t both = uint64_t{b} << 32 | a;
  return static_cast<uint32_t>(left ? (both << n) >> 32 : both >> n);
};
constexpr auto kSad = [](auto a, auto b, auto c) {
  using T = decltype(a);
  using U = std::make_unsigned_t<T>;
  const U difference = a > b ? static_cast<U>(static_cast<U>(a) - static_cast<U>(b))
                             : static_cast<U>(static_cast<U>(b) - static_cast<U>(a));
  return static_cast<T>(static_cast<U>(static_cast<U>(c) + difference));
};
Handler sad_for(Type t) {
  switch (t) {
    case Type::u16:
      return ternary<uint16_t, kSad>;
    case Type::s16:
      return ternary<int16_t, kSad>;
    case Type::u32:
      return ternary<uint32_t, kSad>;
    case Type::s32:
      return ternary<int32_t, kSad>;
    case Type::u64:
      return ternary<uint64_t, kSad>;
    case Type::s64:
      return ternary<int64_t, kSad>;
    default:
      return nullptr;
  }
}
template <bool is_signed>
[[gnu::always_inline]] inline uint32_t byte_of(uint32_t x, int k) {
  return is_signed ? static_cast<uint32_t>(static_cast<int32_t>(x << (24 - 8 * k)) >> 24)
                   : x >> (8 * k) & 0xffu;
}
template <bool is_signed>
[[gnu::always_inline]] inline uint32_t half_of(uint32_t x, int k) {
  return is_signed ? static_cast<uint32_t>(static_cast<int32_t>(x << (16 - 16 * k)) >> 16)
                   : x >> (16 * k) & 0xffffu;
}
template <bool a_signed, bool b_signed>
constexpr auto kDp4a = [](uint32_t a, uint32_t b, uint32_t c) {
  for (int k = 0; k < 4; ++k) c += byte_of<a_signed>(a, k) * byte_of<b_signed>(b, k);
  return c;
};
// Two 16-bit values of a times two bytes of b: its lower (.lo) or upper (.hi) ones.
template <bool a_signed, bool b_signed, int from>
constexpr auto kDp2a = [](uint32_t a, uint32_t b, uint32_t c) {
  for (int k = 0; k < 2; ++k) c += half_of<a_signed>(a, k) * byte_of<b_signed>(b, from + k);
  return c;
};
template <bool a_signed, bool b_signed>
Handler dot_product(const Instruction& in) {
  if (in.op == Opcode::dp4a) return ternary<uint32_t, kDp4a<a_signed, b_signed>>;
  return in.mods.hi ? ternary<uint32_t, kDp2a<a_signed, b_signed, 2>>
                    : ternary<uint32_t, kDp2a<a_signed, b_signed, 0>>;
}
Selection select_dot(const Instruction& in) {
  const bool a = in.mods.types[0] == Type::s32, b = in.mods.types[1] == Type::s32;
  if (a) return run(b ? dot_product<true, true>(in) : dot_product<true, false>(in));
  return run(b ? dot_product<false, true>(in) : dot_product<false, false>(in));
}
Selection select_shf(const Modifiers& m) {
  if (m.left)
    return run(m.wrap ? ternary<uint32_t, kShf<true, true>> : ternary<uint32_t, kShf<true, false>>);
  return run(m.wrap ? ternary<uint32_t, kShf<false, true>> : ternary<uint32_t, kShf<false, false>>);
}

Selection select_bits(const Instruction& in) {
  const Modifiers& m = in.mods;
  const Type t = m.types[0];
  const bool wide = ptx::bits_of(t) == 64;
  switch (in.op) {
    case Opcode::bfe:
      return run_or(bfe_for(t), "bfe takes .u32, .s32, .u64 and .s64");
    case Opcode::bfi:
      return run(wide ? insert_field<uint64_t> : insert_field<uint32_t>);
    case Opcode::bfind:
      return run_or(m.shiftamt ? bfind_for<true>(t) : bfind_for<false>(t),
                    "bfind takes .u32, .s32, .u64 and .s64");
    case Opcode::bmsk:
      return run(m.wrap ? binary<uint32_t, kBmsk<false>> : binary<uint32_t, kBmsk<true>>);
    case Opcode::popc:
      return run(wide ? unary_to<uint32_t, uint64_t, kPopc64> : unary<uint32_t, kPopc32>);
    case Opcode::clz:
      return run(wide ? unary_to<uint32_t, uint64_t, kClz64> : unary<uint32_t, kClz32>);
    case Opcode::brev:
      return run(wide ? unary<uint64_t, kBrev64> : unary<uint32_t, kBrev32>);
    case Opcode::fns:
      return run(ternary<uint32_t, kFns>);
    default:
      return {};
  }
}

}  // namespace

Selection select_extended(const Instruction& in, const OperandWidths&) {
  switch (in.op) {
    case Opcode::add:
    case Opcode::addc:
    case Opcode::sub:
    case Opcode::subc:
    case Opcode::mad:
    case Opcode::madc:
      return select_chain(in);
    case Opcode::prmt:
      return select_prmt(in);
    case Opcode::lop3:
      return select_lop3(in);
    case Opcode::shf:
      return select_shf(in.mods);
    case Opcode::sad:
      return run_or(sad_for(in.mods.types[0]), "sad takes 16-, 32- and 64-bit integers");
    case Opcode::dp4a:
    case Opcode::dp2a:
      return select_dot(in);
    default: {
      const Selection bits = select_bits(in);
      return bits.handler || bits.unsupported ? bits : select_video(in);
    }
  }
}

}  // namespace fiel::vgpu::FIEL_ISA
