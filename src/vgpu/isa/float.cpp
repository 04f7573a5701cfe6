// f32 and f64 arithmetic that IEEE 754 defines: add sub mul fma mad div sqrt rcp, and the bit-level
// operations min max abs neg copysign testp. Approximations are in special.cpp.
#include "vgpu/isa/float_bits.h"

namespace fiel::vgpu::FIEL_ISA {
namespace {

constexpr auto kAdd = [](auto a, auto b) { return a + b; };
constexpr auto kSub = [](auto a, auto b) { return a - b; };
constexpr auto kMul = [](auto a, auto b) { return a * b; };
constexpr auto kDiv = [](auto a, auto b) { return a / b; };
constexpr auto kFma = [](auto a, auto b, auto c) {
  if constexpr (sizeof(a) == 4)
    return __builtin_fmaf(a, b, c);
  else
    return __builtin_fma(a, b, c);
};
constexpr auto kSqrt = [](auto a) {
  if constexpr (sizeof(a) == 4)
    return __builtin_sqrtf(a);
  else
    return __builtin_sqrt(a);
};
constexpr auto kRcp = [](auto a) { return decltype(a){1} / a; };

// F, then NaN, .ftz and .sat. `directed` takes the rounding mode from op.imm.
template <typename T, auto F, bool ftz, bool sat, bool directed>
void arithmetic1(Warp& warp, const Op& op, uint32_t mask) {
  const auto* a = warp.reg<Slot<T>>(op.a);
  const auto body = [=, &warp, &op] {
    for_lanes<T, false>(warp, op.dst, mask,
                        [=](int i) { return finish<ftz, sat>(F(flush_if<ftz>(unpack<T>(a[i])))); });
  };
  if constexpr (directed) {
    RoundingScope scope(op.imm);
    body();
  } else {
    body();
  }
}
template <typename T, auto F, bool ftz, bool sat, bool directed>
void arithmetic2(Warp& warp, const Op& op, uint32_t mask) {
  const auto* a = warp.reg<Slot<T>>(op.a);
  const auto* b = warp.reg<Slot<T>>(op.b);
  const auto body = [=, &warp, &op] {
    for_lanes<T, false>(warp, op.dst, mask, [=](int i) {
      return finish<ftz, sat>(F(flush_if<ftz>(unpack<T>(a[i])), flush_if<ftz>(unpack<T>(b[i]))));
    });
  };
  if constexpr (directed) {
    RoundingScope scope(op.imm);
    body();
  } else {
    body();
  }
}
template <typename T, auto F, bool ftz, bool sat, bool directed>
void arithmetic3(Warp& warp, const Op& op, uint32_t mask) {
  const auto* a = warp.reg<Slot<T>>(op.a);
  const auto* b = warp.reg<Slot<T>>(op.b);
  const auto* c = warp.reg<Slot<T>>(op.c);
  const auto body = [=, &warp, &op] {
    for_lanes<T, false>(warp, op.dst, mask, [=](int i) {
      return finish<ftz, sat>(F(flush_if<ftz>(unpack<T>(a[i])), flush_if<ftz>(unpack<T>(b[i])),
                                flush_if<ftz>(unpack<T>(c[i]))));
    });
  };
  if constexpr (directed) {
    RoundingScope scope(op.imm);
    body();
  } else {
    body();
  }
}

// One row of eight: the functor with every combination of .ftz, .sat and directed rounding.
struct Forms {
  Handler by[8];
};
constexpr int form_index(bool ftz, bool sat, bool directed) {
  return (ftz ? 1 : 0) | (sat ? 2 : 0) | (directed ? 4 : 0);
}
#define FIEL_FORMS(arity, F)                                                    \
  Forms {                                                                       \
    {arity<float, F, false, false, false>, arity<float, F, true, false, false>, \
     arity<float, F, false, true, false>,  arity<float, F, true, true, false>,  \
     arity<float, F, false, false, true>,  arity<float, F, true, false, true>,  \
     arity<float, F, false, true, true>,   arity<float, F, true, true, true>},  \
  }

template <Handler nearest, Handler directed>
Selection select_double(const Modifiers& m) {
  if (m.ftz || m.sat) return refuse(".ftz and .sat do not exist for .f64");
  const uint32_t control = rounding_control(m.rounding);
  return control ? run(directed, control) : run(nearest);
}
Selection select_single(const Modifiers& m, const Forms& forms) {
  const uint32_t control = rounding_control(m.rounding);
  return run(forms.by[form_index(m.ftz, m.sat, control != 0)], control);
}

#define FIEL_SELECT_IEEE(arity, F)                                                    \
  (m.types[0] == Type::f64   ? select_double<arity<double, F, false, false, false>,   \
                                           arity<double, F, false, false, true>>(m) \
   : m.types[0] == Type::f32 ? select_single(m, FIEL_FORMS(arity, F))                 \
                             : Selection{})

// No .sat for these: four forms of eight.
#define FIEL_SELECT_IEEE_NO_SAT(arity, F)                                                         \
  (m.types[0] == Type::f64 ? select_double<arity<double, F, false, false, false>,                 \
                                           arity<double, F, false, false, true>>(m)               \
   : m.types[0] == Type::f32                                                                      \
       ? select_single(                                                                           \
             m, Forms{{arity<float, F, false, false, false>, arity<float, F, true, false, false>, \
                       nullptr, nullptr, arity<float, F, false, false, true>,                     \
                       arity<float, F, true, false, true>, nullptr, nullptr}})                    \
       : Selection{})

// ---- min, max ----------------------------------------------------------------------------------
// NaN loses unless .NaN; -0 < +0. Comparing as sign-magnitude integers orders the zeros and needs
// no host instruction with its own idea of NaN.
template <typename T>
struct Ordered;
template <>
struct Ordered<float> {
  using Key = int32_t;
  static constexpr uint32_t kNan = kCanonicalNan;
  [[gnu::always_inline]] static Key key(float x) {
    const auto b = static_cast<int32_t>(bits_of_float(x));
    return b ^ static_cast<int32_t>(static_cast<uint32_t>(b >> 31) >> 1);
  }
};
template <>
struct Ordered<double> {
  using Key = int64_t;
  static constexpr uint64_t kNan = 0x7fffffffffffffffull;
  [[gnu::always_inline]] static Key key(double x) {
    const auto b = static_cast<int64_t>(bits_of_double(x));
    return b ^ static_cast<int64_t>(static_cast<uint64_t>(b >> 63) >> 1);
  }
};

template <typename T, bool maximum, bool nan>
[[gnu::always_inline]] inline T extremum(T a, T b) {
  using O = Ordered<T>;
  const bool first = maximum ? O::key(a) > O::key(b) : O::key(a) < O::key(b);
  T r = first ? a : b;
  if (nan) {
    r = (a != a) | (b != b) ? unpack<T>(O::kNan) : r;
  } else {
    r = a != a ? b : r;
    r = b != b ? a : r;
    r = (a != a) & (b != b) ? unpack<T>(O::kNan) : r;
  }
  return r;
}
// .xorsign.abs: extremum of the magnitudes with the product's sign.
template <bool maximum, bool ftz, bool nan, bool xorsign>
constexpr auto kExtremum = [](float a, float b) {
  a = flush_if<ftz>(a);
  b = flush_if<ftz>(b);
  if constexpr (xorsign) {
    const uint32_t sign = (bits_of_float(a) ^ bits_of_float(b)) & 0x80000000u;
    const float r = extremum<float, maximum, nan>(float_of(bits_of_float(a) & 0x7fffffffu),
                                                  float_of(bits_of_float(b) & 0x7fffffffu));
    return float_of(r != r ? kCanonicalNan : bits_of_float(r) ^ sign);
  } else {
    return extremum<float, maximum, nan>(a, b);
  }
};
template <bool maximum>
constexpr auto kExtremumDouble =
    [](double a, double b) { return extremum<double, maximum, false>(a, b); };
// Three inputs (sm_100): the two-input rule applied twice; .abs of the inputs first.
template <bool maximum, bool ftz, bool nan, bool absolute>
constexpr auto kExtremum3 = [](float a, float b, float c) {
  const uint32_t keep = absolute ? 0x7fffffffu : 0xffffffffu;
  a = flush_if<ftz>(float_of(bits_of_float(a) & keep));
  b = flush_if<ftz>(float_of(bits_of_float(b) & keep));
  c = flush_if<ftz>(float_of(bits_of_float(c) & keep));
  return extremum<float, maximum, nan>(extremum<float, maximum, nan>(a, b), c);
};

template <bool maximum>
Selection select_extremum(const Instruction& in) {
  const Modifiers& m = in.mods;
  if (m.types[0] == Type::f64) return run(binary<double, kExtremumDouble<maximum>>);
  if (m.types[0] != Type::f32) return {};
  const int form = (m.ftz ? 1 : 0) | (m.nan ? 2 : 0);
  if (in.operands.size() == 4) {
    if (m.xorsign_abs) return refuse("three-input min and max have no .xorsign");
    constexpr Handler kThree[4] = {ternary<float, kExtremum3<maximum, false, false, false>>,
                                   ternary<float, kExtremum3<maximum, true, false, false>>,
                                   ternary<float, kExtremum3<maximum, false, true, false>>,
                                   ternary<float, kExtremum3<maximum, true, true, false>>};
    return run(kThree[form]);
  }
  constexpr Handler kTwo[8] = {binary<float, kExtremum<maximum, false, false, false>>,
                               binary<float, kExtremum<maximum, true, false, false>>,
                               binary<float, kExtremum<maximum, false, true, false>>,
                               binary<float, kExtremum<maximum, true, true, false>>,
                               binary<float, kExtremum<maximum, false, false, true>>,
                               binary<float, kExtremum<maximum, true, false, true>>,
                               binary<float, kExtremum<maximum, false, true, true>>,
                               binary<float, kExtremum<maximum, true, true, true>>};
  return run(kTwo[form | (m.xorsign_abs ? 4 : 0)]);
}

// ---- sign bits
// ----------------------------------------------------------------------------------- abs and neg
// of a NaN give an unspecified NaN: only the sign bit is touched, as ptxas folds it.
template <bool ftz>
constexpr auto kAbs32 =
    [](uint32_t a) { return bits_of_float(flush_if<ftz>(float_of(a & 0x7fffffffu))); };
template <bool ftz>
constexpr auto kNeg32 =
    [](uint32_t a) { return bits_of_float(flush_if<ftz>(float_of(a ^ 0x80000000u))); };
constexpr auto kAbs64 = [](uint64_t a) { return a & 0x7fffffffffffffffull; };
constexpr auto kNeg64 = [](uint64_t a) { return a ^ 0x8000000000000000ull; };
// copysign.f32 d, a, b: magnitude of b with the sign of a (PTX's order).
constexpr auto kCopysign32 = [](uint32_t a, uint32_t b) {
  return (a & 0x80000000u) | (b & 0x7fffffffu);
};
constexpr auto kCopysign64 = [](uint64_t a, uint64_t b) {
  return (a & 0x8000000000000000ull) | (b & 0x7fffffffffffffffull);
};

Selection select_sign(const Instruction& in) {
  const Modifiers& m = in.mods;
  const bool single = m.types[0] == Type::f32;
  if (!single && m.types[0] != Type::f64) return {};
  switch (in.op) {
    case Opcode::abs:
      if (!single) return run(unary<uint64_t, kAbs64>);
      return run(m.ftz ? unary<uint32_t, kAbs32<true>> : unary<uint32_t, kAbs32<false>>);
    case Opcode::neg:
      if (!single) return run(unary<uint64_t, kNeg64>);
      return run(m.ftz ? unary<uint32_t, kNeg32<true>> : unary<uint32_t, kNeg32<false>>);
    default:
      return run(single ? binary<uint32_t, kCopysign32> : binary<uint64_t, kCopysign64>);
  }
}

// ---- testp -----------------------------------------------------------------------------------
template <typename S>
void test_property(Warp& warp, const Op& op, uint32_t mask) {
  constexpr S kInf = sizeof(S) == 4 ? S{0x7f800000u} : static_cast<S>(0x7ff0000000000000ull);
  constexpr S kMinNormal = sizeof(S) == 4 ? S{0x00800000u} : static_cast<S>(0x0010000000000000ull);
  const auto* a = warp.reg<S>(op.a);
  const auto where = [&](auto f) {
    return lanes_where<S>([=](int i) { return f(static_cast<S>(a[i] << 1 >> 1)); });
  };
  uint32_t result = 0;
  switch (static_cast<ptx::TestpMode>(op.imm)) {
    case ptx::TestpMode::finite:
      result = where([](S x) { return x < kInf; });
      break;
    case ptx::TestpMode::infinite:
      result = where([](S x) { return x == kInf; });
      break;
    case ptx::TestpMode::number:
      result = where([](S x) { return x <= kInf; });
      break;
    case ptx::TestpMode::notanumber:
      result = where([](S x) { return x > kInf; });
      break;
    case ptx::TestpMode::normal:
      // Zeros count as normal numbers (ISA text of testp).
      result = where([](S x) { return (x < kInf) & ((x >= kMinNormal) | (x == 0)); });
      break;
    case ptx::TestpMode::subnormal:
      result = where([](S x) { return (x < kMinNormal) & (x != 0); });
      break;
    case ptx::TestpMode::none:
      break;
  }
  write_pred(warp, op.dst, result, mask);
}

}  // namespace

Selection select_float(const Instruction& in, const OperandWidths&) {
  const Modifiers& m = in.mods;
  switch (in.op) {
    case Opcode::add:
      return FIEL_SELECT_IEEE(arithmetic2, kAdd);
    case Opcode::sub:
      return FIEL_SELECT_IEEE(arithmetic2, kSub);
    case Opcode::mul:
      return FIEL_SELECT_IEEE(arithmetic2, kMul);
    case Opcode::fma:
    case Opcode::mad:  // since sm_20 mad.f32 and mad.f64 are fma
      return FIEL_SELECT_IEEE(arithmetic3, kFma);
    case Opcode::div:
      if (m.approx || m.full) return {};
      return FIEL_SELECT_IEEE_NO_SAT(arithmetic2, kDiv);
    case Opcode::rcp:
      if (m.approx) return {};
      return FIEL_SELECT_IEEE_NO_SAT(arithmetic1, kRcp);
    case Opcode::sqrt:
      if (m.approx) return {};
      return FIEL_SELECT_IEEE_NO_SAT(arithmetic1, kSqrt);
    case Opcode::min:
      return select_extremum<false>(in);
    case Opcode::max:
      return select_extremum<true>(in);
    case Opcode::abs:
    case Opcode::neg:
    case Opcode::copysign:
      return select_sign(in);
    case Opcode::testp:
      if (m.types[0] == Type::f32)
        return run(test_property<uint32_t>, static_cast<uint64_t>(m.testp));
      return run(test_property<uint64_t>, static_cast<uint64_t>(m.testp));
    default:
      return {};
  }
}

}  // namespace fiel::vgpu::FIEL_ISA
