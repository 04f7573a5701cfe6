// What modules mean: functions, data, scopes, jump tables, line information.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "ptx/module.h"
#include "ptx_text.h"

namespace fiel::ptx::test {
namespace {

Module parsed(std::string_view text) {
  Result<Module> m = parse(text);
  if (!m) {
    ADD_FAILURE() << to_string(m.error());
    return {};
  }
  return std::move(*m);
}

const Variable& variable(const Module& m, std::string_view name) {
  for (const Variable& v : m.variables)
    if (v.name == name) return v;
  ADD_FAILURE() << "no variable " << name;
  static const Variable kNone;
  return kNone;
}

template <typename T>
T value_at(const Variable& v, size_t at) {
  T out{};
  if (at + sizeof(T) > v.initial.size()) {
    ADD_FAILURE() << v.name << " has only " << v.initial.size() << " initial bytes";
    return out;
  }
  std::memcpy(&out, v.initial.data() + at, sizeof(T));
  return out;
}

TEST(Parse, ReadsPointerAttributesOneElementVectorsAndDebugSections) {
  const Module m = parsed(kHeader + R"(
.visible .entry k(.param .u64 .ptr .align 1 out, .param .u64 .ptr .global .align 4 in, .param .u32 n)
.maxntid 128, 1, 1
.minnctapersm 2
{ .reg .pred %p<3>; .reg .b32 %r<5>; .reg .b64 %rd<5>;
  .loc 1 5 0
$L__func_begin0:
  ld.param.u64 %rd1, [out]; ld.param.b64 %rd2, [in];
  mov.pred %p1, -1;
$L__tmp0:
  mov.u32 %r1, 0x0;
  @%p1 ld.global.b32 { %r1 }, [ %rd2 + 0 ];
  add.s32 %r2, %r1, %r1;
  mov.u32 %r3, %tid.x; setp.eq.s32 %p2, %r3, 0;
  @%p2 st.global.b32 [ %rd1 + 0 ], { %r2 };
  ret;
$L__tmp1:
}
  .file 1 "x.py"
  .section .debug_abbrev { .b8 1
.b8 17
.b8 0
}
)");
  ASSERT_EQ(m.functions.size(), 1u);
  const Function& k = m.functions[0];
  EXPECT_EQ(k.max_ntid[0], 128u);
  EXPECT_EQ(k.min_nctapersm, 2u);
  ASSERT_EQ(k.body.size(), 10u);
  ASSERT_EQ(k.labels.size(), 3u);
  EXPECT_EQ(k.labels[1].statement, 3u);
  EXPECT_EQ(k.labels[2].statement, 10u);
  EXPECT_EQ(k.body[4].text, "@%p1 ld.global.b32 { %r1 }, [ %rd2 + 0 ]");
  EXPECT_EQ(k.body[4].guard, k.body[2].operands[0].reg);
  EXPECT_EQ(k.body[4].operands[0].elements.size(), 1u);
  EXPECT_EQ(k.body[6].operands[1].special, SpecialReg::tid_x);
  EXPECT_TRUE(k.params[1].is_pointer);
  EXPECT_EQ(m.files.at(1), "x.py");
  EXPECT_EQ(m.source_lines.at(static_cast<size_t>(k.body[0].source)).line, 5u);
}

TEST(Parse, ReadsJumpTables) {
  const Module m = parsed(kernel(R"(
tbl: .branchtargets L0, L1, L2, L1;
  brx.idx %r2, tbl;
L0: mov.u32 %r3, 10; bra.uni done;
L1: mov.u32 %r3, 20; bra.uni done;
L2: mov.u32 %r3, 30;
done: st.global.u32 [%rd1],%r3;)"));
  const Function& k = m.functions.at(0);
  ASSERT_EQ(k.tables.size(), 1u);
  std::vector<std::string> names;
  for (const uint32_t label : k.tables[0]) names.push_back(k.labels[label].name);
  EXPECT_THAT(names, testing::ElementsAre("L0", "L1", "L2", "L1"));
  EXPECT_EQ(k.body[1].op, Opcode::brx);
  EXPECT_EQ(k.body[1].prototype, 0);
  ASSERT_EQ(k.body[1].operands.size(), 1u);
  EXPECT_EQ(k.labels[k.body[3].operands[0].reg].name, "done");
  EXPECT_EQ(k.labels[k.body[3].operands[0].reg].statement, 7u);
  EXPECT_TRUE(k.body[3].mods.uni);
}

TEST(Parse, ReadsInitialisersWithAddresses) {
  const Module m = parsed(kHeader + R"(
.global .align 4 .u32 g[4] = {1, 2, 3, 0xFFFFFFFF};
.global .align 8 .u64 tab[3] = {g, g+8, generic(g)+4};
.const .align 4 .f32 c[2] = {0f3F800000, 0fC0000000};
.const .align 8 .u64 cp[1] = {generic(c)};
.global .align 4 .v2 .u16 vv = {7, 9};
.global .align 4 .u32 part[4] = {5};
.global .u8 pieces[] = {0xff(g), 0xff00(g), (1 << 3) + 2 * 3, -1, 017, 0b101};
.global .f64 d[2][2] = {{1.5}, {0d4008000000000000, -2.0}};
.global .attribute(.managed) .align 4 .u32 shared_with_host;
.global .s64 e = (7 > 3 ? 10 : 20) - ~0;
)");
  EXPECT_EQ(value_at<uint32_t>(variable(m, "g"), 12), 0xFFFFFFFFu);
  const Variable& tab = variable(m, "tab");
  ASSERT_EQ(tab.relocations.size(), 3u);
  EXPECT_EQ(tab.relocations[1].at, 8u);
  EXPECT_EQ(tab.relocations[1].addend, 8);
  EXPECT_FALSE(tab.relocations[1].generic);
  EXPECT_TRUE(tab.relocations[2].generic);
  EXPECT_EQ(tab.relocations[2].addend, 4);
  EXPECT_EQ(m.symbols[tab.relocations[2].symbol].name, "g");
  EXPECT_EQ(value_at<float>(variable(m, "c"), 4), -2.0f);
  EXPECT_EQ(variable(m, "c").space, Space::constant);
  EXPECT_EQ(variable(m, "vv").bytes, 4u);
  EXPECT_EQ(value_at<uint16_t>(variable(m, "vv"), 2), 9);
  EXPECT_EQ(variable(m, "part").bytes, 16u);
  EXPECT_EQ(variable(m, "part").initial.size(), 4u);
  const Variable& pieces = variable(m, "pieces");
  EXPECT_EQ(pieces.bytes, 6u);
  EXPECT_EQ(pieces.relocations.at(1).mask, 0xff00u);
  EXPECT_EQ(pieces.relocations.at(1).bytes, 1u);
  EXPECT_THAT(std::vector<int>(pieces.initial.begin() + 2, pieces.initial.end()),
              testing::ElementsAre(14, 255, 15, 5));
  EXPECT_EQ(value_at<double>(variable(m, "d"), 0), 1.5);
  EXPECT_EQ(value_at<double>(variable(m, "d"), 16), 3.0);
  EXPECT_EQ(value_at<double>(variable(m, "d"), 24), -2.0);
  EXPECT_TRUE(variable(m, "shared_with_host").is_managed);
  EXPECT_EQ(value_at<int64_t>(variable(m, "e"), 0), 11);
}

TEST(Parse, ReadsFunctionsWithEmptyAndWithoutParameterLists) {
  for (const auto& [list, call] :
       {std::pair{"()", "call.uni noarg, ();"}, {"", "call.uni noarg;"}}) {
    const Module m = parsed(kHeader + ".weak .global .align 4 .u32 flag = 0;\n.func noarg" + list +
                            " { .reg .b32 %r1; mov.u32 %r1,3; st.global.u32 [flag],%r1; ret; }\n" +
                            ".visible .entry k" + list + " { " + call + " ret; }\n");
    ASSERT_EQ(m.functions.size(), 2u);
    EXPECT_TRUE(m.functions[1].params.empty());
    EXPECT_TRUE(variable(m, "flag").weak);
    const Instruction& made = m.functions[1].body.at(0);
    ASSERT_EQ(made.operands.size(), 3u);
    EXPECT_TRUE(made.operands[0].elements.empty());
    EXPECT_EQ(m.symbols[made.operands[1].symbol].name, "noarg");
  }
}

TEST(Parse, KeepsRegistersOfNestedScopesApart) {
  const Module m = parsed(kernel(R"(
.reg .b32 x; mov.u32 x, 1;
{ .reg .b32 x; mov.u32 x, 2; { .reg .b32 %r<2>; mov.u32 %r1, 3; } mov.u32 x, 4; }
mov.u32 x, 5; mov.u32 %r1, 6;)"));
  const Function& k = m.functions.at(0);
  std::vector<uint32_t> written;
  for (size_t i = 1; i < 7; ++i) written.push_back(k.body.at(i).operands[0].reg);
  EXPECT_EQ(written[0], written[4]);
  EXPECT_EQ(written[1], written[3]);
  EXPECT_NE(written[0], written[1]);
  EXPECT_NE(written[2], written[5]);
  EXPECT_NE(k.registers[written[0]].name, k.registers[written[1]].name);
}

TEST(Parse, ResolvesLabelsInTheScopeThatHasThem) {
  const Module m = parsed(kernel(R"(
LOOP: mov.u32 %r1, 1;
{ @%p1 bra DONE; bra LOOP; LOOP: mov.u32 %r1, 2; DONE: }
bra LOOP;)"));
  const Function& k = m.functions.at(0);
  EXPECT_EQ(k.labels[k.body[3].operands[0].reg].statement, 4u);
  EXPECT_EQ(k.labels[k.body[5].operands[0].reg].statement, 1u);
}

TEST(Parse, FollowsInliningThroughItsChain) {
  const Module m = parsed(kHeader + R"(.entry k() { .reg .b32 %r<9>;
.loc 1 8 30
mov.u32 %r1, 1;
.loc 1 7 73, function_name $L__info_string0, inlined_at 1 8 30
mov.u32 %r1, 2;
.loc 1 6 5, function_name $L__info_string0+4, inlined_at 1 7 73
mov.u32 %r1, 3;
ret; }
.file 1 "a.cu"
.section .debug_str
{
$L__info_string0:
.b8 111,117,116,0
.b8 105
.b8 110
.b8 0
}
)");
  const SourceLine& in = m.source_lines.at(static_cast<size_t>(m.functions.at(0).body[2].source));
  EXPECT_EQ(in.function, "in");
  EXPECT_EQ(in.line, 6u);
  const SourceLine& out = m.source_lines.at(static_cast<size_t>(in.inlined_at));
  EXPECT_EQ(out.function, "out");
  EXPECT_EQ(out.line, 7u);
  const SourceLine& root = m.source_lines.at(static_cast<size_t>(out.inlined_at));
  EXPECT_EQ(root.line, 8u);
  EXPECT_EQ(root.inlined_at, -1);
}

TEST(Parse, ReadsIndirectCalls) {
  const Module m = parsed(kHeader + R"(
.func (.param .b32 r) f(.param .b32 a);
.func (.param .b32 r) f(.param .b32 a) { ret; }
.entry k() { .reg .b64 %rd<3>; .reg .b32 %r<3>;
mov.u64 %rd1, f;
{ .param .b32 param0; st.param.b32 [param0+0], %r1; .param .b32 retval0;
prototype_0 : .callprototype (.param .b32 _) _ (.param .b32 _);
call (retval0), %rd1, ( param0 ) , prototype_0;
ld.param.b32 %r2, [retval0+0]; }
list: .calltargets f;
call (%r1), %rd1, (%r2), list;
ret; }
)");
  ASSERT_EQ(m.functions.size(), 2u);
  EXPECT_TRUE(m.functions[0].has_body);
  const Function& k = m.functions[1];
  EXPECT_EQ(k.body[2].prototype, 0);
  EXPECT_EQ(k.prototypes.at(0).params.size(), 1u);
  EXPECT_EQ(k.body[4].call_targets, 0);
  EXPECT_EQ(m.symbols[k.call_targets.at(0).at(0)].name, "f");
  EXPECT_EQ(m.symbols[k.body[2].operands[2].elements.at(0).symbol].kind,
            Symbol::Kind::local_variable);
}

TEST(Parse, FindsFunctionsAlsoThroughAliases) {
  const Module m =
      parsed(kHeader + ".func f() { ret; }\n.func other();\n.alias other, f;\n.entry k() { ret; }");
  ASSERT_NE(m.find_function("other"), nullptr);
  EXPECT_EQ(m.find_function("other")->name, "f");
  EXPECT_TRUE(m.find_function("k")->is_entry);
  EXPECT_EQ(m.find_function("missing"), nullptr);
}

}  // namespace
}  // namespace fiel::ptx::test
