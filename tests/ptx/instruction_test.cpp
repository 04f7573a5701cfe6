// How single instructions are folded: modifiers in any order, operands of every kind.
#include <gtest/gtest.h>

#include <bit>

#include "ptx/module.h"
#include "ptx_text.h"

namespace fiel::ptx::test {
namespace {

Instruction one(std::string_view text) {
  Result<Module> m = parse(kernel(text));
  if (!m) {
    ADD_FAILURE() << to_string(m.error());
    return {};
  }
  return m->functions[0].body.at(1);
}

TEST(Instruction, FoldsAConversion) {
  const Instruction i = one("cvt.rzi.ftz.sat.s32.f32 %r1, %f1;");
  EXPECT_EQ(i.mods.rounding, Rounding::rzi);
  EXPECT_TRUE(i.mods.ftz && i.mods.sat);
  ASSERT_EQ(i.mods.n_types, 2);
  EXPECT_EQ(i.mods.types[0], Type::s32);
  EXPECT_EQ(i.mods.types[1], Type::f32);
}

TEST(Instruction, FoldsAPairOfPredicates) {
  const Instruction i = one("setp.lt.and.f32 %p3|_, %f1, 0f3F800000, !%p1;");
  EXPECT_EQ(i.mods.cmp, Compare::lt);
  EXPECT_EQ(i.mods.bool_op, BoolOp::and_);
  EXPECT_TRUE(i.pair_destination);
  ASSERT_EQ(i.operands.size(), 5u);
  EXPECT_EQ(i.operands[1].kind, Operand::Kind::sink);
  EXPECT_EQ(i.operands[3].bits, 0x3F800000u);
  EXPECT_TRUE(i.operands[3].is_float);
  EXPECT_FALSE(i.operands[3].is_double);
  EXPECT_TRUE(i.operands[4].negated);
}

TEST(Instruction, TakesModifiersInEitherOrder) {
  EXPECT_EQ(one("vote.sync.ballot.b32 %r1, %p1, -1;").mods.vote, VoteMode::ballot);
  EXPECT_EQ(one("vote.ballot.sync.b32 %r1, %p1, -1;").mods.vote, VoteMode::ballot);
  for (const char* text :
       {"ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r1,%r2,%r3,%r4}, [%r5];",
        "ldmatrix.sync.aligned.x4.trans.m8n8.shared.b16 {%r1,%r2,%r3,%r4}, [%r5];"}) {
    const Instruction i = one(text);
    EXPECT_EQ(i.mods.matrices, 4);
    EXPECT_TRUE(i.mods.trans);
    EXPECT_EQ(i.mods.space, Space::shared);
    EXPECT_EQ(i.mods.shape.m, 8);
    EXPECT_EQ(i.mods.shape.n, 8);
  }
}

TEST(Instruction, FoldsMemoryAccesses) {
  const Instruction ld =
      one("ld.global.nc.L1::no_allocate.L2::128B.v4.f32 {%f1,_,%f3,%f4}, [%rd1+-4];");
  EXPECT_TRUE(ld.mods.nc);
  EXPECT_EQ(ld.mods.vector, 4);
  EXPECT_EQ(ld.operands[0].elements[1].kind, Operand::Kind::sink);
  EXPECT_EQ(ld.operands[1].offset, -4);
  const Instruction atom = one("atom.acquire.gpu.shared.cas.b32 %r1, [%r2+8], %r3, 5;");
  EXPECT_EQ(atom.mods.sem, Semantics::acquire);
  EXPECT_EQ(atom.mods.scope, Scope::gpu);
  EXPECT_EQ(atom.mods.atomic, AtomicOp::cas);
  EXPECT_TRUE(atom.mods.cas);
  const Instruction policy = one("ld.global.L2::cache_hint.b32 %r1, [%rd1], %rd2;");
  EXPECT_TRUE(policy.mods.cache_hint);
  EXPECT_EQ(policy.operands.size(), 3u);
  EXPECT_EQ(one("ld.u32 %r1, [16];").operands[1].elements[0].bits, 16u);
  EXPECT_EQ(one("cp.async.cg.shared.global [%r1], [%rd1], 16, %r2;").mods.space2, Space::global);
}

TEST(Instruction, FoldsMatrices) {
  const Instruction i = one(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, "
      "{%r5,%r6}, {%f1,%f2,%f3,%f4};");
  EXPECT_EQ(i.mods.shape, (MmaShape{16, 8, 16}));
  EXPECT_EQ(i.mods.a_layout, Layout::row);
  EXPECT_EQ(i.mods.b_layout, Layout::col);
  EXPECT_EQ(i.mods.n_types, 4);
  EXPECT_EQ(i.mods.types[2], Type::bf16);
  const Instruction w =
      one("wmma.load.b.sync.aligned.col.m16n16k8.shared.tf32 {%r1,%r2,%r3,%r4}, [%r5], %r6;");
  EXPECT_TRUE(w.mods.load_b);
  EXPECT_EQ(w.mods.shape, (MmaShape{16, 16, 8}));
  const Instruction b1 =
      one("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {%r1,%r2,%r3,%r4}, "
          "{%r1,%r2,%r3,%r4}, {%r5,%r6}, {%r1,%r2,%r3,%r4};");
  EXPECT_EQ(b1.mods.shape, (MmaShape{16, 8, 256}));
  EXPECT_EQ(b1.mods.bool_op, BoolOp::and_);
}

TEST(Instruction, FoldsBarriersAndVideo) {
  const Instruction bar = one("bar.red.popc.u32 %r1, 0, %r2, !%p1;");
  EXPECT_EQ(bar.mods.bool_op, BoolOp::popc);
  EXPECT_EQ(bar.operands.size(), 4u);
  const Instruction arrive =
      one("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%r1], 16;");
  EXPECT_TRUE(arrive.mods.arrive && arrive.mods.expect_tx);
  const Instruction v = one("vadd.s32.s32.s32.sat.min %r1, %r2.b1, %r3.h1, %r4;");
  EXPECT_EQ(v.operands[1].selector, 1);
  EXPECT_EQ(v.operands[2].selector, 5);
  EXPECT_EQ(v.mods.secondary, AtomicOp::min);
  const Instruction v4 = one("vadd4.u32.u32.u32 %r1.b20, %r2.b7531, %r3, %r4;");
  EXPECT_EQ(v4.mods.mask, 0b101);
  EXPECT_EQ(v4.operands[1].lanes, 0x7531);
  EXPECT_EQ(v4.operands[2].lanes, 0xffff);
}

TEST(Instruction, ReadsNumbersOfEveryKind) {
  EXPECT_EQ(one("mov.u32 %r1, 0xFFFFFFFF;").operands[1].bits, 0xFFFFFFFFu);
  EXPECT_EQ(one("mov.u32 %r1, 017U;").operands[1].bits, 15u);
  EXPECT_EQ(one("mov.u32 %r1, 0b110;").operands[1].bits, 6u);
  EXPECT_EQ(one("mov.u32 %r1, -2147483648;").operands[1].bits, uint64_t(int64_t{-2147483648}));
  EXPECT_EQ(one("mov.u32 %r1, (3 + 4) * 2;").operands[1].bits, 14u);
  EXPECT_EQ(one("add.u32 %r1, %r2, 3 * 4 + 1;").operands[2].bits, 13u);
  EXPECT_EQ(one("mov.f64 %d1, 0d3FF8000000000000;").operands[1].bits, std::bit_cast<uint64_t>(1.5));
  EXPECT_EQ(one("mov.f32 %f1, -1.5e1;").operands[1].bits, std::bit_cast<uint64_t>(-15.0));
  EXPECT_EQ(one("mov.f32 %f1, -0f3F800000;").operands[1].bits, 0xBF800000u);
  EXPECT_EQ(one("mov.u32 %r1, WARP_SZ;").operands[1].bits, 32u);
  EXPECT_EQ(one("mov.u32 %r1, %envreg2;").operands[1].offset, 2);
}

TEST(Instruction, MovesVectorsAndVectorRegisters) {
  const Instruction pack = one("mov.b64 %rd2, {%r1, %r2};");
  EXPECT_EQ(pack.operands[1].elements.size(), 2u);
  const Instruction v = one(".reg .v2 .b32 v; ld.global.v2.b32 v, [%rd1];");
  ASSERT_EQ(v.operands[0].elements.size(), 2u);
  EXPECT_NE(v.operands[0].elements[0].reg, v.operands[0].elements[1].reg);
  EXPECT_EQ(one(".reg .v2 .b32 v; mov.b32 %r1, v.y;").operands[1].kind, Operand::Kind::reg);
}

}  // namespace
}  // namespace fiel::ptx::test
