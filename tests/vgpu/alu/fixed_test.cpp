// Answers that are known from elsewhere: constants that ptxas 13.0 folds (marked F), the manual's
// text, and reports of mistakes in other emulators.
#include <gtest/gtest.h>

#include <fenv.h>

#include <array>
#include <bit>
#include <cmath>
#include <initializer_list>
#include <thread>

#include "bench_warp.h"

namespace fiel::vgpu::alu {
namespace {

struct Outcome {
  uint64_t d = 0, d2 = 0;
  uint32_t carry = 0;  // of lane 0
};

Outcome run(const std::string& text, std::initializer_list<uint64_t> sources, bool carry = false) {
  Outcome out;
  Result<Parsed> parsed = parse_one(text);
  if (!parsed) {
    ADD_FAILURE() << text << ": " << parsed.error().what;
    return out;
  }
  Bench bench;
  const Selection s = bench.prepare(*parsed);
  if (!s.handler) {
    ADD_FAILURE() << text << " has no handler: " << (s.unsupported ? s.unsupported : "");
    return out;
  }
  size_t k = 0;
  for (const uint64_t value : sources) {
    for (int lane = 0; lane < kLanes; ++lane) bench.set_source(k, lane, value);
    ++k;
  }
  bench.carry() = carry ? kFullMask : 0;
  bench.run(kFullMask);
  for (int lane = 1; lane < kLanes; ++lane)
    EXPECT_EQ(bench.destination(lane), bench.destination(0)) << text << " lane " << lane;
  out.d = bench.destination(0);
  if (bench.has_destination2()) out.d2 = bench.destination2(0);
  out.carry = bench.carry() & 1u;
  return out;
}
uint64_t value(const std::string& text, std::initializer_list<uint64_t> sources) {
  return run(text, sources).d;
}
uint32_t f(float x) { return std::bit_cast<uint32_t>(x); }

TEST(FixedAnswers, IntegerEdges) {
  EXPECT_EQ(value("add.s32 %r0, %r1, %r2;", {0x7fffffff, 1}), 0x80000000u);
  EXPECT_EQ(value("shl.b32 %r0, %r1, %s2;", {1, 32}), 0u);
  EXPECT_EQ(value("shr.s32 %r0, %r1, %s2;", {0xfffffff8u, 40}), 0xffffffffu);
  EXPECT_EQ(value("div.s32 %r0, %r1, %r2;", {0x80000000u, 0xffffffffu}), 0x80000000u);
  reports().clear();
  value("div.s32 %r0, %r1, %r2;", {7, 0});
  ASSERT_EQ(reports().size(), 1u);
  EXPECT_EQ(reports()[0].kind, FindingKind::division_by_zero);
  EXPECT_EQ(reports()[0].lanes, kFullMask);
}

TEST(FixedAnswers, ZeroDivisorsOutsideTheMaskAreNotReported) {
  auto parsed = parse_one("rem.u64 %l0, %l1, %l2;");
  ASSERT_TRUE(parsed);
  Bench bench;
  ASSERT_TRUE(bench.prepare(*parsed).handler);
  for (int lane = 0; lane < kLanes; ++lane) {
    bench.set_source(0, lane, 100);
    bench.set_source(1, lane, lane == 3 ? 0 : 7);
    bench.set_destination(lane, 55);
  }
  reports().clear();
  bench.run(0xfffffff7u);
  EXPECT_TRUE(reports().empty());
  EXPECT_EQ(bench.destination(3), 55u);
  bench.run(0x0000000fu);
  ASSERT_EQ(reports().size(), 1u);
  EXPECT_EQ(reports()[0].lanes, 8u);
}

TEST(FixedAnswers, MinMaxOfNanAndZeros) {
  const uint32_t nan = 0x7fc00001, one = f(1);
  EXPECT_EQ(value("max.f32 %f0, %f1, %f2;", {nan, one}), one);                // F
  EXPECT_EQ(value("max.NaN.f32 %f0, %f1, %f2;", {nan, one}), 0x7fffffffu);    // F
  EXPECT_EQ(value("max.f32 %f0, %f1, %f2;", {0x80000000u, 0}), 0u);           // F
  EXPECT_EQ(value("min.f32 %f0, %f1, %f2;", {0, 0x80000000u}), 0x80000000u);  // F
  const uint32_t a = 0x7e003c00, b = 0xbc007e01;
  EXPECT_EQ(value("max.f16x2 %x0, %x1, %x2;", {a, b}), 0xbc003c00u);
  EXPECT_EQ(value("max.f16x2 %x0, %x1, %x2;", {b, a}), 0xbc003c00u);
  EXPECT_EQ(value("max.NaN.f16x2 %x0, %x1, %x2;", {a, b}), 0x7fff7fffu);
  EXPECT_EQ(value("min.f16x2 %x0, %x1, %x2;", {0x80000000u, 0x00008000u}), 0x80008000u);
  EXPECT_EQ(value("max.bf16x2 %y0, %y1, %y2;", {0x7fc03f80u, 0xbf807fc1u}), 0xbf803f80u);
  EXPECT_EQ(value("max.bf16x2 %y0, %y1, %y2;", {0xbf807fc1u, 0x7fc03f80u}), 0xbf803f80u);
}

TEST(FixedAnswers, FloatToInteger) {
  EXPECT_EQ(value("cvt.rzi.s32.f32 %r0, %f1;", {0x7fc00000u}), 0u);
  EXPECT_EQ(value("cvt.rzi.s32.f32 %r0, %f1;", {f(3e9f)}), 0x7fffffffu);
  EXPECT_EQ(value("cvt.rzi.s32.f32 %r0, %f1;", {f(-3e9f)}), 0x80000000u);
  EXPECT_EQ(value("cvt.rni.s32.f32 %r0, %f1;", {f(2.5f)}), 2u);
  EXPECT_EQ(value("cvt.rni.s32.f32 %r0, %f1;", {f(3.5f)}), 4u);
  EXPECT_EQ(value("cvt.rpi.f32.f32 %f0, %f1;", {f(-0.5f)}), 0x80000000u);  // F
}

TEST(FixedAnswers, DirectedRounding) {
  EXPECT_EQ(value("cvt.rz.f32.s32 %f0, %r1;", {16777219}), 0x4b800001u);
  EXPECT_EQ(value("cvt.rn.f32.s32 %f0, %r1;", {16777219}), 0x4b800002u);  // F
  EXPECT_EQ(value("cvt.rp.f32.s32 %f0, %r1;", {16777217}), 0x4b800001u);
  EXPECT_EQ(value("add.rm.f32 %f0, %f1, %f2;", {f(1), f(0x1p-25f)}), 0x3f800000u);
  EXPECT_EQ(value("add.rp.f32 %f0, %f1, %f2;", {f(1), f(0x1p-40f)}), 0x3f800001u);
  EXPECT_EQ(value("add.rz.f32 %f0, %f1, %f2;", {f(1), f(-0x1p-40f)}), 0x3f7fffffu);
  const auto tenth = std::bit_cast<uint64_t>(0.1), three = std::bit_cast<uint64_t>(3.0);
  EXPECT_EQ(value("mul.rp.f64 %d0, %d1, %d2;", {tenth, three}) -
                value("mul.rm.f64 %d0, %d1, %d2;", {tenth, three}),
            1u);
}

TEST(FixedAnswers, DirectedRoundingDoesNotLeak) {
  // Nearest before, between and after, here and on another thread.
  const auto nearest = [] {
    return value("add.f32 %f0, %f1, %f2;", {f(1), f(0x1p-25f)}) == 0x3f800000u &&
           value("add.f32 %f0, %f1, %f2;", {f(1), f(0x1.8p-24f)}) == 0x3f800001u;
  };
  for (const char* mode : {"rm", "rp", "rz"}) {
    value(std::string("add.") + mode + ".f32 %f0, %f1, %f2;", {f(1), f(0x1p-40f)});
    value(std::string("fma.") + mode + ".f64 %d0, %d1, %d2, %d3;", {1, 2, 3});
    EXPECT_TRUE(nearest()) << mode;
    bool elsewhere = false;
    std::thread([&] { elsewhere = nearest(); }).join();
    EXPECT_TRUE(elsewhere) << mode;
    EXPECT_EQ(fegetround(), FE_TONEAREST);
  }
}

TEST(FixedAnswers, FlushingSubnormals) {
  EXPECT_EQ(value("add.f32 %f0, %f1, %f2;", {f(1e-39f), 0}), f(1e-39f));
  EXPECT_EQ(value("add.ftz.f32 %f0, %f1, %f2;", {f(1e-39f), 0}), 0u);
  EXPECT_EQ(value("add.ftz.f32 %f0, %f1, %f2;", {f(-1e-39f), 0x80000000u}), 0x80000000u);
}

TEST(FixedAnswers, FusedAndUnfusedDiffer) {
  const uint32_t a = f(1 + 0x1p-12f), c = f(-(1 + 0x1p-11f));
  EXPECT_EQ(value("fma.rn.f32 %f0, %f1, %f2, %f3;", {a, a, c}), f(0x1p-24f));
  const uint64_t product = value("mul.rn.f32 %f0, %f1, %f2;", {a, a});
  EXPECT_EQ(value("add.rn.f32 %f0, %f1, %f2;", {product, c}), 0u);
}

TEST(FixedAnswers, HalfRoundingCarriesIntoTheExponent) {
  const auto half = [](uint32_t bits) { return value("cvt.rn.f16.f32 %e0, %f1;", {bits}); };
  EXPECT_EQ(half(0x3dffffff), 0x3000u);  // F, all six
  EXPECT_EQ(half(0x3d7ff000), 0x2c00u);
  EXPECT_EQ(half(0x477fefff), 0x7bffu);
  EXPECT_EQ(half(0x477ff000), 0x7c00u);
  EXPECT_EQ(half(0x33000000), 0u);
  EXPECT_EQ(half(0x33000001), 1u);
  EXPECT_EQ(half(f(65519.0f)), 0x7bffu);
  EXPECT_EQ(half(f(65520.0f)), 0x7c00u);
  EXPECT_EQ(value("cvt.rn.f16x2.f32 %x0, %f1, %f2;", {f(1), f(2)}), 0x3c004000u);  // F
  EXPECT_EQ(value("cvt.rn.bf16x2.f32 %y0, %f1, %f2;", {f(1), f(2)}), 0x3f804000u);
  EXPECT_EQ(value("cvt.rna.tf32.f32 %r0, %f1;", {f(1 + 0x1p-11f)}), f(1 + 0x1p-10f));
}

TEST(FixedAnswers, EveryFloatAroundASixteenthRoundsToHalfAsArithmeticSays) {
  auto parsed = parse_one("cvt.rn.f16.f32 %e0, %f1;");
  ASSERT_TRUE(parsed);
  Bench bench;
  ASSERT_TRUE(bench.prepare(*parsed).handler);
  // Steps of a half are 2^-15 below 2^-4 and 2^-14 above; the quotients are exact in double.
  const auto expected = [](uint32_t bits) {
    const double x = std::bit_cast<float>(bits);
    const bool above = x >= 0x1p-4;
    const double steps = std::nearbyint(x / (above ? 0x1p-14 : 0x1p-15));
    return ((above ? 11u : 10u) << 10) + static_cast<uint32_t>(steps) - 1024u;
  };
  uint32_t seen = 0;
  for (uint32_t base = f(0.0624f); base <= f(0.0626f); base += kLanes) {
    for (int i = 0; i < kLanes; ++i) bench.set_source(0, i, base + static_cast<uint32_t>(i));
    bench.run(kFullMask);
    for (int i = 0; i < kLanes; ++i, ++seen)
      ASSERT_EQ(bench.destination(i), expected(base + static_cast<uint32_t>(i))) << base << i;
  }
  EXPECT_GT(seen, 30'000u);
}

TEST(FixedAnswers, EveryHalfSurvivesTheWayToFloatAndBack) {
  for (const bool bf16 : {false, true}) {
    auto up = parse_one(bf16 ? "cvt.f32.bf16 %f0, %g1;" : "cvt.f32.f16 %f0, %e1;");
    auto down = parse_one(bf16 ? "cvt.rn.bf16.f32 %g0, %f1;" : "cvt.rn.f16.f32 %e0, %f1;");
    ASSERT_TRUE(up && down);
    Bench a, b;
    ASSERT_TRUE(a.prepare(*up).handler);
    ASSERT_TRUE(b.prepare(*down).handler);
    const uint32_t infinity = bf16 ? 0x7f80 : 0x7c00;
    for (uint32_t base = 0; base < 65536; base += 32) {
      for (int i = 0; i < kLanes; ++i) a.set_source(0, i, base + static_cast<uint32_t>(i));
      a.run(kFullMask);
      for (int i = 0; i < kLanes; ++i) b.set_source(0, i, a.destination(i));
      b.run(kFullMask);
      for (uint32_t i = 0; i < 32; ++i) {
        const uint32_t code = base + i;
        const bool nan = (code & 0x7fff) > infinity;
        ASSERT_EQ(b.destination(static_cast<int>(i)), nan ? 0x7fffu : code);
      }
    }
  }
}

TEST(FixedAnswers, NegatedPredicateOperandsAndUnorderedCompares) {
  const uint32_t nan = 0x7fc00000, one = f(1);
  const uint64_t p1 = value("setp.lt.f32 %p0, %f1, %f2;", {nan, one});
  EXPECT_EQ(p1, 0u);
  EXPECT_EQ(value("selp.s32 %r0, %r1, %r2, !%p3;", {0x80000000u, 5, p1}), 0x80000000u);  // F
  EXPECT_EQ(value("setp.ltu.f32 %p0, %f1, %f2;", {nan, one}), 1u);                       // F
  const Outcome both = run("setp.lt.and.f32 %p0|%p1, %f2, %f3, !%p4;", {one, f(2), p1});
  EXPECT_EQ(both.d, 1u);
  EXPECT_EQ(both.d2, 0u);
}

TEST(FixedAnswers, HighProductsAndCarryChains) {
  const uint64_t r1 = 0xffffffffu, r2 = 0x80000000u;
  EXPECT_EQ(value("mad.hi.u32 %r0, %r1, %r2, %r3;", {r2, 2, r1}), 0u);
  const Outcome lo = run("mad.lo.cc.u32 %r0, %r1, %r2, %r3;", {r1, r1, r1});
  EXPECT_EQ(lo.d, 0u);
  EXPECT_EQ(run("madc.hi.u32 %r0, %r1, %r2, %r3;", {r1, r1, 0}, lo.carry).d, 0xffffffffu);
  const Outcome borrow = run("sub.cc.u32 %r0, %r1, %r2;", {0, 1});
  EXPECT_EQ(borrow.d, 0xffffffffu);
  EXPECT_EQ(run("subc.u32 %r0, %r1, %r2;", {0, 0}, borrow.carry).d, 0xffffffffu);
  const Outcome sum = run("add.cc.u32 %r0, %r1, %r2;", {r1, 1});
  EXPECT_EQ(sum.d, 0u);
  const Outcome next = run("addc.cc.u32 %r0, %r1, %r2;", {r1, 0}, sum.carry);
  EXPECT_EQ(next.d, 0u);
  EXPECT_EQ(run("addc.u32 %r0, %r1, %r2;", {0, 0}, next.carry).d, 1u);
  const Outcome high = run("mad.hi.cc.u32 %r0, %r1, %r2, %r3;", {r2, 2, r1});
  EXPECT_EQ(high.d, 0u);
  EXPECT_EQ(high.carry, 1u);
}

TEST(FixedAnswers, ACarryAfterASubtractionSaysThatNothingWasBorrowed) {
  const Outcome borrowed = run("sub.cc.u32 %r0, %r1, %r2;", {1, 2});
  EXPECT_EQ(run("addc.u32 %r0, %r1, %r2;", {5, 6}, borrowed.carry).d, 11u);
  const Outcome enough = run("sub.cc.u64 %l0, %l1, %l2;", {2, 2});
  EXPECT_EQ(run("addc.u32 %r0, %r1, %r2;", {5, 6}, enough.carry).d, 12u);
  EXPECT_EQ(run("madc.lo.u32 %r0, %r1, %r2, %r3;", {5, 6, 1}, enough.carry).d, 32u);
  const Outcome carried = run("add.cc.u32 %r0, %r1, %r2;", {0xffffffffu, 1});
  EXPECT_EQ(run("subc.u32 %r0, %r1, %r2;", {9, 3}, carried.carry).d, 6u);
  const Outcome none = run("add.cc.u32 %r0, %r1, %r2;", {1, 1});
  EXPECT_EQ(run("subc.cc.u32 %r0, %r1, %r2;", {9, 9}, none.carry).d, 0xffffffffu);
}

TEST(FixedAnswers, ApproximateDivisionByHugeValues) {
  EXPECT_EQ(value("div.approx.f32 %f0, %f1, %f2;", {f(0x1p127f), f(0x1p127f)}), 0u);
  EXPECT_EQ(value("div.full.f32 %f0, %f1, %f2;", {f(0x1p127f), f(0x1p127f)}), f(1));
  EXPECT_EQ(value("div.approx.f32 %f0, %f1, %f2;", {0x7f800000u, f(0x1p127f)}), 0x7fffffffu);
}

TEST(FixedAnswers, SpecialValuesOfApproximations) {
  const uint32_t inf = 0x7f800000, minus_inf = 0xff800000, minus_zero = 0x80000000;
  EXPECT_EQ(value("ex2.approx.f32 %f0, %f1;", {minus_inf}), 0u);
  EXPECT_EQ(value("ex2.approx.f32 %f0, %f1;", {inf}), inf);
  EXPECT_EQ(value("ex2.approx.ftz.f32 %f0, %f1;", {1}), f(1));
  EXPECT_EQ(value("lg2.approx.f32 %f0, %f1;", {0}), minus_inf);
  EXPECT_EQ(value("lg2.approx.f32 %f0, %f1;", {minus_zero}), minus_inf);
  EXPECT_EQ(value("lg2.approx.f32 %f0, %f1;", {f(-1)}), 0x7fffffffu);
  EXPECT_EQ(value("lg2.approx.ftz.f32 %f0, %f1;", {1}), minus_inf);
  EXPECT_EQ(value("lg2.approx.f32 %f0, %f1;", {1}), f(-149));
  EXPECT_EQ(value("sin.approx.f32 %f0, %f1;", {minus_zero}), minus_zero);
  EXPECT_EQ(value("sin.approx.f32 %f0, %f1;", {inf}), 0x7fffffffu);
  EXPECT_EQ(value("cos.approx.f32 %f0, %f1;", {minus_zero}), f(1));
  EXPECT_EQ(value("rsqrt.approx.f32 %f0, %f1;", {minus_zero}), minus_inf);
  EXPECT_EQ(value("rsqrt.approx.f32 %f0, %f1;", {inf}), 0u);
  EXPECT_EQ(value("rcp.approx.ftz.f32 %f0, %f1;", {minus_zero | 1}), minus_inf);
  EXPECT_EQ(value("sqrt.approx.f32 %f0, %f1;", {minus_zero}), minus_zero);
  EXPECT_EQ(value("tanh.approx.f32 %f0, %f1;", {minus_inf}), f(-1));
  EXPECT_EQ(value("rcp.approx.ftz.f64 %d0, %d1;", {std::bit_cast<uint64_t>(4.0)}),
            std::bit_cast<uint64_t>(0.25));
}

TEST(FixedAnswers, PackingMoves) {
  struct Case {
    const char* text;
    std::vector<uint64_t> sources;
    uint64_t packed;
  };
  Bench bench;
  // The lowering lays the elements out as sources a, b, c, d; done by hand here.
  const auto pack = [&](uint32_t bits, size_t n, std::array<uint64_t, 4> elements) {
    ptx::Instruction in;
    in.op = ptx::Opcode::mov;
    in.mods.types[0] = bits == 64 ? ptx::Type::b64 : ptx::Type::b32;
    in.operands.resize(2);
    in.operands[0].kind = ptx::Operand::Kind::reg;
    in.operands[1].kind = ptx::Operand::Kind::vector;
    in.operands[1].elements.resize(n);
    const Selection s = select_any(in, {});
    Op op;
    op.dst = 512;
    op.a = 1024, op.b = 1536, op.c = 2048, op.d = 2560;
    for (int lane = 0; lane < kLanes; ++lane)
      for (uint32_t k = 0; k < n; ++k)
        bench.warp().reg<uint32_t>(1024 + 512 * k)[lane] = static_cast<uint32_t>(elements[k]);
    s.handler(bench.warp(), op, kFullMask);
    return bits == 64 ? bench.warp().reg<uint64_t>(512)[31] : bench.warp().reg<uint32_t>(512)[31];
  };
  EXPECT_EQ(pack(64, 2, {0x11223344, 0x55667788}), 0x5566778811223344ull);
  EXPECT_EQ(pack(64, 4, {0x1111, 0x2222, 0x3333, 0x4444}), 0x4444333322221111ull);
  EXPECT_EQ(pack(32, 2, {0xabcd, 0x1234}), 0x1234abcdu);

  ptx::Instruction out;
  out.op = ptx::Opcode::mov;
  out.mods.types[0] = ptx::Type::b64;
  out.operands.resize(2);
  out.operands[0].kind = ptx::Operand::Kind::vector;
  out.operands[0].elements.resize(2);
  out.operands[1].kind = ptx::Operand::Kind::reg;
  const Selection s = select_any(out, {});
  Op op;
  op.a = 512, op.dst = 512, op.dst2 = 1024;  // the low half overwrites its source
  for (int lane = 0; lane < kLanes; ++lane)
    bench.warp().reg<uint64_t>(512)[lane] = 0x5566778811223344ull;
  s.handler(bench.warp(), op, kFullMask);
  for (int lane = 0; lane < kLanes; ++lane) {
    EXPECT_EQ(bench.warp().reg<uint32_t>(512)[lane], 0x11223344u);
    EXPECT_EQ(bench.warp().reg<uint32_t>(1024)[lane], 0x55667788u);
  }
}

TEST(FixedAnswers, RegistersWiderThanTheType) {
  EXPECT_EQ(value("cvt.s8.s32 %r0, %r1;", {0x180}), 0xffffff80u);
  EXPECT_EQ(value("cvt.u8.u32 %l0, %r1;", {0x1ff}), 0xffu);
  EXPECT_EQ(value("cvt.s8.s32 %h0, %r1;", {0x80}), 0xff80u);
  EXPECT_EQ(value("cvt.s64.s16 %l0, %r1;", {0x12348000}), 0xffffffffffff8000ull);
  EXPECT_EQ(value("cvt.u32.u16 %r0, %l1;", {0xffffffff00012345ull}), 0x2345u);
  EXPECT_EQ(value("cvt.sat.u8.s32 %r0, %r1;", {0xffffff00u}), 0u);
}

TEST(FixedAnswers, DotProductsOfBytes) {
  const uint32_t a = 0x01ff007f, b = 0x02f00001, c = 1000;
  EXPECT_EQ(value("dp4a.s32.u32 %r0, %s1, %s2, %s3;", {a, b, c}), 889u);
  EXPECT_EQ(value("dp4a.s32.s32 %r0, %s1, %s2, %s3;", {a, b, c}), 1145u);
  EXPECT_EQ(value("dp2a.hi.s32.s32 %r0, %s1, %s2, %s3;", {a, b, c}), 0xfffffff6u);
}

TEST(FixedAnswers, VideoInstructions) {
  const uint32_t a = 0x01ff007f, b = 0x02f00001, c = 1000;
  EXPECT_EQ(value("vabsdiff4.u32.u32.u32.add %r0, %r1, %r2, %r3;", {a, b, c}), 1142u);
  EXPECT_EQ(value("vadd4.s32.s32.s32.sat %r0, %r1, %r2, %r3;", {a, b, c}), 0x03ef007fu);
  EXPECT_EQ(value("vadd.s32.s32.s32 %r0, %r1.b0, %r2.h1;", {a, b}), 879u);
}

}  // namespace
}  // namespace fiel::vgpu::alu
