// Integer arithmetic, logic, shifts and mov.
#include <cstdint>

#include "vgpu/findings.h"
#include "vgpu/isa/lanes.h"

namespace fiel::vgpu::FIEL_ISA {
namespace {

template <typename T>
using Wide = std::conditional_t<
    sizeof(T) == 2, std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>,
    std::conditional_t<sizeof(T) == 4, std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>,
                       std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>>>;

// Additions and products run on unsigned values: they wrap, and signed overflow is undefined in C.
constexpr auto kAdd = [](auto a, auto b) { return static_cast<decltype(a)>(a + b); };
constexpr auto kSub = [](auto a, auto b) { return static_cast<decltype(a)>(a - b); };
constexpr auto kMulLo = [](auto a, auto b) {
  using T = decltype(a);
  if constexpr (sizeof(T) == 2)
    return static_cast<T>(uint32_t{a} * uint32_t{b});
  else
    return static_cast<T>(a * b);
};
constexpr auto kMulHi = [](auto a, auto b) {
  using T = decltype(a);
  return static_cast<T>((static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b)) >> (8 * sizeof(T)));
};
constexpr auto kMulWide = [](auto a, auto b) {
  using W = Wide<decltype(a)>;
  return static_cast<W>(static_cast<W>(a) * static_cast<W>(b));
};
constexpr auto kMadLo = [](auto a, auto b, auto c) {
  return static_cast<decltype(a)>(kMulLo(a, b) + c);
};
constexpr auto kMadHi = [](auto a, auto b, auto c) {
  using T = decltype(a);
  using U = std::make_unsigned_t<T>;
  return static_cast<T>(static_cast<U>(static_cast<U>(kMulHi(a, b)) + static_cast<U>(c)));
};
constexpr auto kMadWide = [](auto a, auto b, auto c) {
  using U = std::make_unsigned_t<decltype(c)>;
  return static_cast<decltype(c)>(
      static_cast<U>(static_cast<U>(kMulWide(a, b)) + static_cast<U>(c)));
};
constexpr int32_t clamp_s32(int64_t x) {
  return static_cast<int32_t>(x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : x);
}
constexpr auto kMin = [](auto a, auto b) { return a < b ? a : b; };
constexpr auto kMax = [](auto a, auto b) { return a > b ? a : b; };
constexpr auto kNeg = [](auto a) { return static_cast<decltype(a)>(decltype(a){0} - a); };
constexpr auto kAbs = [](auto a) {
  using U = std::make_unsigned_t<decltype(a)>;
  return static_cast<decltype(a)>(a < 0 ? static_cast<U>(U{0} - static_cast<U>(a))
                                        : static_cast<U>(a));
};
constexpr auto kAnd = [](auto a, auto b) { return static_cast<decltype(a)>(a & b); };
constexpr auto kOr = [](auto a, auto b) { return static_cast<decltype(a)>(a | b); };
constexpr auto kXor = [](auto a, auto b) { return static_cast<decltype(a)>(a ^ b); };
constexpr auto kNot = [](auto a) { return static_cast<decltype(a)>(~a); };
constexpr auto kCnot = [](auto a) { return static_cast<decltype(a)>(a == 0 ? 1 : 0); };
// Shift amounts above the width give 0, or the sign.
constexpr auto kShl = [](auto a, uint32_t n) {
  using T = decltype(a);
  constexpr uint32_t kBits = 8 * sizeof(T);
  return static_cast<T>(n < kBits ? static_cast<T>(a << (n & (kBits - 1))) : T{0});
};
constexpr auto kShr = [](auto a, uint32_t n) {
  using T = decltype(a);
  constexpr uint32_t kBits = 8 * sizeof(T);
  if constexpr (std::is_signed_v<T>)
    return static_cast<T>(a >> (n < kBits ? n : kBits - 1));
  else
    return static_cast<T>(n < kBits ? static_cast<T>(a >> (n & (kBits - 1))) : T{0});
};

// Two 16-bit lanes in a word: T is the type of each half.
template <typename T, auto F>
constexpr auto kHalves = [](uint32_t a, uint32_t b) {
  const auto lo = static_cast<uint16_t>(F(static_cast<T>(a), static_cast<T>(b)));
  const auto hi = static_cast<uint16_t>(F(static_cast<T>(a >> 16), static_cast<T>(b >> 16)));
  return static_cast<uint32_t>(lo) | static_cast<uint32_t>(hi) << 16;
};
template <auto F>
constexpr auto kRelu = [](auto a, auto b) {
  const auto x = F(a, b);
  return static_cast<decltype(a)>(x > 0 ? x : 0);
};

// ---- division --------------------------------------------------------------------------------
// 32-bit quotients go through double: both operands are exact, a non-integer quotient is at least
// 2^-33 (relative) away from the next integer and double rounds at 2^-53, so truncation is exact.
// Division by zero gives all ones (quotient and remainder), as the code that ptxas emits does.
template <typename T, bool rem>
[[gnu::always_inline]] inline T divide_narrow(T a, T b) {
  using U = std::make_unsigned_t<T>;
  double x, y;
  if constexpr (std::is_signed_v<T>) {
    x = static_cast<double>(static_cast<int32_t>(a));
    y = static_cast<double>(static_cast<int32_t>(b));
  } else {  // AVX2 converts signed words only
    x = static_cast<double>(static_cast<int32_t>(static_cast<uint32_t>(a) ^ 0x80000000u)) +
        2147483648.0;
    y = static_cast<double>(static_cast<int32_t>(static_cast<uint32_t>(b) ^ 0x80000000u)) +
        2147483648.0;
  }
  const bool zero = b == 0;
  const bool minus_one = std::is_signed_v<T> && static_cast<int32_t>(b) == -1;
  y = zero | minus_one ? 1.0 : y;
  x = zero | minus_one ? 0.0 : x;
  uint32_t q;
  if constexpr (std::is_signed_v<T>)
    q = static_cast<uint32_t>(static_cast<int32_t>(x / y));
  else
    q = static_cast<uint32_t>(static_cast<int32_t>(__builtin_trunc(x / y) - 2147483648.0)) ^
        0x80000000u;
  if (std::is_signed_v<T>) q = minus_one ? 0u - static_cast<uint32_t>(a) : q;
  const uint32_t r = static_cast<uint32_t>(a) - q * static_cast<uint32_t>(b);
  const uint32_t value = rem ? r : q;
  return static_cast<T>(static_cast<U>(zero ? ~0u : value));
}
template <typename T, bool rem>
[[gnu::always_inline]] inline T divide_wide(T a, T b) {
  if (b == 0) return static_cast<T>(-1);
  if (std::is_signed_v<T> && b == static_cast<T>(-1)) return rem ? T{0} : kNeg(a);
  return rem ? static_cast<T>(a % b) : static_cast<T>(a / b);
}
template <typename T, bool rem>
void divide(Warp& warp, const Op& op, uint32_t mask) {
  const auto* a = warp.reg<Slot<T>>(op.a);
  const auto* b = warp.reg<Slot<T>>(op.b);
  const uint32_t zero = mask & lanes_where<Slot<T>>([=](int i) { return unpack<T>(b[i]) == 0; });
  if (zero) [[unlikely]]
    report_lanes(warp, op, static_cast<uint8_t>(FindingKind::division_by_zero), zero);
  for_lanes<T, false>(warp, op.dst, mask, [=](int i) {
    if constexpr (sizeof(T) < 8)
      return divide_narrow<T, rem>(unpack<T>(a[i]), unpack<T>(b[i]));
    else
      return divide_wide<T, rem>(unpack<T>(a[i]), unpack<T>(b[i]));
  });
}
template <bool rem>
Handler divide_for(Type t) {
  switch (t) {
    case Type::u16:
      return divide<uint16_t, rem>;
    case Type::s16:
      return divide<int16_t, rem>;
    case Type::u32:
      return divide<uint32_t, rem>;
    case Type::s32:
      return divide<int32_t, rem>;
    case Type::u64:
      return divide<uint64_t, rem>;
    case Type::s64:
      return divide<int64_t, rem>;
    default:
      return nullptr;
  }
}

// ---- mul, mad ----------------------------------------------------------------------------------
template <auto F>
Handler wide_product(Type t) {
  switch (t) {
    case Type::u16:
      return binary_to<uint32_t, uint16_t, uint16_t, F>;
    case Type::s16:
      return binary_to<int32_t, int16_t, int16_t, F>;
    case Type::u32:
      return binary_to<uint64_t, uint32_t, uint32_t, F>;
    case Type::s32:
      return binary_to<int64_t, int32_t, int32_t, F>;
    default:
      return nullptr;
  }
}
Handler mad_wide(Type t) {
  switch (t) {
    case Type::u16:
      return ternary_to<uint32_t, uint16_t, uint16_t, uint32_t, kMadWide>;
    case Type::s16:
      return ternary_to<int32_t, int16_t, int16_t, int32_t, kMadWide>;
    case Type::u32:
      return ternary_to<uint64_t, uint32_t, uint32_t, uint64_t, kMadWide>;
    case Type::s32:
      return ternary_to<int64_t, int32_t, int32_t, int64_t, kMadWide>;
    default:
      return nullptr;
  }
}
Handler mad_hi(Type t) {
  switch (t) {
    case Type::u16:
      return ternary<uint16_t, kMadHi>;
    case Type::s16:
      return ternary<int16_t, kMadHi>;
    case Type::u32:
      return ternary<uint32_t, kMadHi>;
    case Type::s32:
      return ternary<int32_t, kMadHi>;
    case Type::u64:
      return ternary<uint64_t, kMadHi>;
    case Type::s64:
      return ternary<int64_t, kMadHi>;
    default:
      return nullptr;
  }
}
Handler mad_lo(Type t) {
  switch (ptx::bits_of(t)) {
    case 16:
      return ternary<uint16_t, kMadLo>;
    case 32:
      return ternary<uint32_t, kMadLo>;
    case 64:
      return ternary<uint64_t, kMadLo>;
    default:
      return nullptr;
  }
}
bool is_integer(Type t) {
  return t == Type::u16 || t == Type::s16 || t == Type::u32 || t == Type::s32 || t == Type::u64 ||
         t == Type::s64;
}

constexpr auto kMadHiSat = [](int32_t a, int32_t b, int32_t c) {
  return clamp_s32(((int64_t{a} * b) >> 32) + c);
};

Selection select_mul(const Instruction& in) {
  const Type t = in.mods.types[0];
  if (!is_integer(t)) return {};
  if (in.mods.wide) return run_or(wide_product<kMulWide>(t), "mul.wide takes 16- and 32-bit types");
  if (in.mods.hi) return run(integer_binary<kMulHi>(t));
  return run(bits_binary<kMulLo>(t));
}
Selection select_mad(const Instruction& in) {
  const Type t = in.mods.types[0];
  if (!is_integer(t) || in.mods.cc) return {};
  if (in.mods.sat) {
    if (!in.mods.hi || t != Type::s32) return refuse("mad.sat exists as mad.hi.sat.s32 only");
    return run(ternary<int32_t, kMadHiSat>);
  }
  if (in.mods.wide) return run_or(mad_wide(t), "mad.wide takes 16- and 32-bit types");
  return run(in.mods.hi ? mad_hi(t) : mad_lo(t));
}

// 24-bit operands: .lo gives bits 31..0 of the 48-bit product, .hi gives bits 47..16.
template <typename T>
constexpr int64_t product24(T a, T b) {
  if constexpr (std::is_signed_v<T>) {
    const auto low = [](T x) {
      return int64_t{static_cast<int32_t>(static_cast<uint32_t>(x) << 8) >> 8};
    };
    return low(a) * low(b);
  } else {
    return static_cast<int64_t>((uint64_t{a} & 0xffffff) * (uint64_t{b} & 0xffffff));
  }
}
constexpr auto kMul24Lo = [](auto a, auto b) { return static_cast<decltype(a)>(product24(a, b)); };
constexpr auto kMul24Hi = [](auto a, auto b) {
  return static_cast<decltype(a)>(product24(a, b) >> 16);
};
constexpr auto kMad24Lo = [](auto a, auto b, auto c) {
  return static_cast<decltype(a)>(product24(a, b) + c);
};
constexpr auto kMad24Hi = [](auto a, auto b, auto c) {
  return static_cast<decltype(a)>((product24(a, b) >> 16) + c);
};
constexpr auto kMad24HiSat = [](int32_t a, int32_t b, int32_t c) {
  return clamp_s32(int64_t{static_cast<int32_t>(product24(a, b) >> 16)} + c);
};
Selection select_24(const Instruction& in) {
  const bool mad = in.op == Opcode::mad24, hi = in.mods.hi;
  switch (in.mods.types[0]) {
    case Type::u32:
      if (in.mods.sat) return refuse("mad24.sat exists as mad24.hi.sat.s32 only");
      if (mad) return run(hi ? ternary<uint32_t, kMad24Hi> : ternary<uint32_t, kMad24Lo>);
      return run(hi ? binary<uint32_t, kMul24Hi> : binary<uint32_t, kMul24Lo>);
    case Type::s32:
      if (in.mods.sat && !(mad && hi)) return refuse("mad24.sat exists as mad24.hi.sat.s32 only");
      if (in.mods.sat) return run(ternary<int32_t, kMad24HiSat>);
      if (mad) return run(hi ? ternary<int32_t, kMad24Hi> : ternary<int32_t, kMad24Lo>);
      return run(hi ? binary<int32_t, kMul24Hi> : binary<int32_t, kMul24Lo>);
    default:
      return refuse("24-bit products take .u32 and .s32");
  }
}

// ---- add, sub, min, max
// --------------------------------------------------------------------------
constexpr auto kAddSat = [](int32_t a, int32_t b) { return clamp_s32(int64_t{a} + b); };
constexpr auto kSubSat = [](int32_t a, int32_t b) { return clamp_s32(int64_t{a} - b); };

Selection select_add_sub(const Instruction& in) {
  const Type t = in.mods.types[0];
  const bool add = in.op == Opcode::add;
  if (in.mods.cc) return {};
  if (t == Type::u16x2 || t == Type::s16x2)
    return run(add ? binary<uint32_t, kHalves<uint16_t, kAdd>>
                   : binary<uint32_t, kHalves<uint16_t, kSub>>);
  if (!is_integer(t)) return {};
  if (in.mods.sat) {
    if (t != Type::s32) return refuse("integer .sat exists for .s32 only");
    return run(add ? binary<int32_t, kAddSat> : binary<int32_t, kSubSat>);
  }
  return run(add ? bits_binary<kAdd>(t) : bits_binary<kSub>(t));
}

template <auto F>
Selection select_extremum(const Instruction& in) {
  const Type t = in.mods.types[0];
  if (t == Type::u16x2) return run(binary<uint32_t, kHalves<uint16_t, F>>);
  if (t == Type::s16x2)
    return run(in.mods.relu ? binary<uint32_t, kHalves<int16_t, kRelu<F>>>
                            : binary<uint32_t, kHalves<int16_t, F>>);
  if (!is_integer(t)) return {};
  if (in.mods.relu) {
    if (t != Type::s32) return refuse("integer .relu exists for .s32 and .s16x2 only");
    return run(binary<int32_t, kRelu<F>>);
  }
  return run(integer_binary<F>(t));
}

// ---- logic, on predicates too
// --------------------------------------------------------------------
template <auto F>
void pred_binary(Warp& warp, const Op& op, uint32_t mask) {
  write_pred(
      warp, op.dst,
      F(read_pred(warp, op.a, op.flags, kNegatedA), read_pred(warp, op.b, op.flags, kNegatedB)),
      mask);
}
template <auto F>
void pred_unary(Warp& warp, const Op& op, uint32_t mask) {
  write_pred(warp, op.dst, F(read_pred(warp, op.a, op.flags, kNegatedA)), mask);
}
constexpr auto kSame = [](auto a) { return a; };

template <auto F>
Selection select_logic(const Instruction& in) {
  if (in.mods.types[0] == Type::pred) return run(pred_binary<F>, 0, negation_flags(in, 1));
  return run_or(bits_binary<F>(in.mods.types[0]), "logic takes .pred, .b16, .b32 and .b64");
}

Handler shift_left(Type t) {
  switch (ptx::bits_of(t)) {
    case 16:
      return binary_to<uint16_t, uint16_t, uint32_t, kShl>;
    case 32:
      return binary_to<uint32_t, uint32_t, uint32_t, kShl>;
    case 64:
      return binary_to<uint64_t, uint64_t, uint32_t, kShl>;
    default:
      return nullptr;
  }
}
Handler shift_right(Type t) {
  switch (t) {
    case Type::u16:
    case Type::b16:
      return binary_to<uint16_t, uint16_t, uint32_t, kShr>;
    case Type::s16:
      return binary_to<int16_t, int16_t, uint32_t, kShr>;
    case Type::u32:
    case Type::b32:
      return binary_to<uint32_t, uint32_t, uint32_t, kShr>;
    case Type::s32:
      return binary_to<int32_t, int32_t, uint32_t, kShr>;
    case Type::u64:
    case Type::b64:
      return binary_to<uint64_t, uint64_t, uint32_t, kShr>;
    case Type::s64:
      return binary_to<int64_t, int64_t, uint32_t, kShr>;
    default:
      return nullptr;
  }
}

// szext: keep the low b bits of a, sign- or zero-extended. .clamp: b > 32 counts as 32; .wrap:
// mod 32.
template <typename T, bool wrap>
constexpr auto kSzext = [](T a, T width) {
  const auto w = static_cast<uint32_t>(width);
  const uint32_t bits = wrap ? (w & 31u) : (w > 32 ? 32u : w);
  const uint32_t up = bits == 0 ? 0 : 32 - bits;
  const T kept = static_cast<T>(static_cast<T>(static_cast<uint32_t>(a) << up) >> up);
  return static_cast<T>(bits == 0 ? T{0} : kept);
};

// ---- mov -------------------------------------------------------------------------------------
void mov128(Warp& warp, const Op& op, uint32_t mask) {
  auto* d = warp.reg<uint64_t>(op.dst);
  const auto* a = warp.reg<uint64_t>(op.a);
  for (int i = 0; i < kLanes; ++i) {
    if (!((mask >> i) & 1u)) continue;
    d[2 * i] = a[2 * i];
    d[2 * i + 1] = a[2 * i + 1];
  }
}
void pack128(Warp& warp, const Op& op, uint32_t mask) {
  alignas(32) uint64_t lo[kLanes], hi[kLanes];
  copy_bytes<sizeof lo>(lo, warp.reg<uint64_t>(op.a));
  copy_bytes<sizeof hi>(hi, warp.reg<uint64_t>(op.b));
  auto* d = warp.reg<uint64_t>(op.dst);
  for (int i = 0; i < kLanes; ++i) {
    if (!((mask >> i) & 1u)) continue;
    d[2 * i] = lo[i];
    d[2 * i + 1] = hi[i];
  }
}
void unpack128(Warp& warp, const Op& op, uint32_t mask) {
  alignas(32) uint64_t pair[2 * kLanes];
  copy_bytes<sizeof pair>(pair, warp.reg<uint64_t>(op.a));
  for_lanes<uint64_t, false>(warp, op.dst, mask, [&](int i) { return pair[2 * i]; });
  for_lanes<uint64_t, false>(warp, op.dst2, mask, [&](int i) { return pair[2 * i + 1]; });
}

// D from N elements of `bits` bits each, lowest first; unpacking is the reverse. Sources are copied
// first: a destination may be one of them.
template <typename D, typename E, int n>
void pack_elements(Warp& warp, const Op& op, uint32_t mask) {
  const uint32_t source[4] = {op.a, op.b, op.c, op.d};
  constexpr int kBits = 8 * sizeof(D) / n;
  alignas(32) Slot<D> result[kLanes] = {};
  for (int k = 0; k < n; ++k) {
    const auto* e = warp.reg<Slot<E>>(source[k]);
    for (int i = 0; i < kLanes; ++i) {
      const auto element = static_cast<Slot<D>>(
          e[i] & static_cast<Slot<E>>(~Slot<E>{0} >> (8 * sizeof(Slot<E>) - kBits)));
      result[i] |= element << (k * kBits);
    }
  }
  for_lanes<Slot<D>, false>(warp, op.dst, mask, [&](int i) { return result[i]; });
}
template <typename S, typename E, int n>
void unpack_elements(Warp& warp, const Op& op, uint32_t mask) {
  const uint32_t dst[4] = {op.dst, op.dst2, op.c, op.d};
  constexpr int kBits = 8 * sizeof(S) / n;
  alignas(32) Slot<S> source[kLanes];
  copy_bytes<sizeof source>(source, warp.reg<Slot<S>>(op.a));
  for (int k = 0; k < n; ++k)
    for_lanes<Slot<E>, false>(warp, dst[k], mask, [&](int i) {
      return static_cast<Slot<E>>((source[i] >> (k * kBits)) &
                                  (~Slot<S>{0} >> (8 * sizeof(Slot<S>) - kBits)));
    });
}
// 32-bit word of four bytes (b8 elements live in 16-bit registers).
Selection select_vector_mov(uint32_t bits, size_t n, bool packing) {
  const auto pick = [=](Handler packer, Handler unpacker) {
    return run(packing ? packer : unpacker);
  };
  if (bits == 128 && n == 2) return pick(pack128, unpack128);
  if (bits == 64 && n == 2)
    return pick(pack_elements<uint64_t, uint32_t, 2>, unpack_elements<uint64_t, uint32_t, 2>);
  if (bits == 64 && n == 4)
    return pick(pack_elements<uint64_t, uint16_t, 4>, unpack_elements<uint64_t, uint16_t, 4>);
  if (bits == 32 && n == 2)
    return pick(pack_elements<uint32_t, uint16_t, 2>, unpack_elements<uint32_t, uint16_t, 2>);
  if (bits == 32 && n == 4)
    return pick(pack_elements<uint32_t, uint8_t, 4>, unpack_elements<uint32_t, uint8_t, 4>);
  if (bits == 16 && n == 2)
    return pick(pack_elements<uint16_t, uint8_t, 2>, unpack_elements<uint16_t, uint8_t, 2>);
  return refuse("mov packs 2 or 4 elements of 8 to 64 bits into 16 to 128 bits");
}

Selection select_mov(const Instruction& in) {
  const Type t = in.mods.types[0];
  if (in.operands.size() == 2) {
    const Operand &to = in.operands[0], &from = in.operands[1];
    const bool unpacking = to.kind == Operand::Kind::vector;
    const bool packing = from.kind == Operand::Kind::vector;
    if (packing && unpacking) return refuse("mov between two vectors");
    if (packing || unpacking)
      return select_vector_mov(ptx::bits_of(t), (packing ? from : to).elements.size(), packing);
  }
  if (t == Type::pred) return run(pred_unary<kSame>, 0, negation_flags(in, 1));
  if (t == Type::b128) return run(mov128);
  switch (ptx::bits_of(t)) {
    case 8:
    case 16:
      return run(unary<uint16_t, kSame>);
    case 32:
      return run(unary<uint32_t, kSame>);
    case 64:
      return run(unary<uint64_t, kSame>);
    default:
      return refuse("mov of this type");
  }
}

Selection select_abs_neg(const Instruction& in) {
  const Type t = in.mods.types[0];
  if (t == Type::s16x2) return refuse("abs and neg have no packed integer form");
  if (!ptx::is_signed(t)) return {};
  if (in.op == Opcode::neg) return run(bits_unary<kNeg>(t));
  switch (t) {
    case Type::s16:
      return run(unary<int16_t, kAbs>);
    case Type::s32:
      return run(unary<int32_t, kAbs>);
    case Type::s64:
      return run(unary<int64_t, kAbs>);
    default:
      return refuse("abs takes .s16, .s32 and .s64");
  }
}

Selection select_szext(const Instruction& in) {
  if (in.mods.types[0] == Type::s32)
    return run(in.mods.wrap ? binary<int32_t, kSzext<int32_t, true>>
                            : binary<int32_t, kSzext<int32_t, false>>);
  return run(in.mods.wrap ? binary<uint32_t, kSzext<uint32_t, true>>
                          : binary<uint32_t, kSzext<uint32_t, false>>);
}

}  // namespace

Selection select_integer(const Instruction& in, const OperandWidths&) {
  const Type t = in.mods.types[0];
  switch (in.op) {
    case Opcode::add:
    case Opcode::sub:
      return select_add_sub(in);
    case Opcode::mul:
      return select_mul(in);
    case Opcode::mad:
      return select_mad(in);
    case Opcode::mul24:
    case Opcode::mad24:
      return select_24(in);
    case Opcode::div:
      return is_integer(t) ? run(divide_for<false>(t)) : Selection{};
    case Opcode::rem:
      return run_or(divide_for<true>(t), "rem takes integer types");
    case Opcode::min:
      return select_extremum<kMin>(in);
    case Opcode::max:
      return select_extremum<kMax>(in);
    case Opcode::abs:
    case Opcode::neg:
      return select_abs_neg(in);
    case Opcode::and_:
      return select_logic<kAnd>(in);
    case Opcode::or_:
      return select_logic<kOr>(in);
    case Opcode::xor_:
      return select_logic<kXor>(in);
    case Opcode::not_:
      if (t == Type::pred) return run(pred_unary<kNot>, 0, negation_flags(in, 1));
      return run_or(bits_unary<kNot>(t), "not takes .pred, .b16, .b32 and .b64");
    case Opcode::cnot:
      return run_or(bits_unary<kCnot>(t), "cnot takes .b16, .b32 and .b64");
    case Opcode::shl:
      return run_or(shift_left(t), "shl takes .b16, .b32 and .b64");
    case Opcode::shr:
      return run_or(shift_right(t), "shr takes 16-, 32- and 64-bit types");
    case Opcode::szext:
      return select_szext(in);
    case Opcode::mov:
      return select_mov(in);
    default:
      return {};
  }
}

}  // namespace fiel::vgpu::FIEL_ISA
