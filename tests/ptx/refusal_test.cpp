// What is not run, and what is not PTX: the right code, the right line, the offending text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "ptx/forms.h"
#include "ptx/module.h"
#include "ptx/words.h"
#include "ptx_text.h"

namespace fiel::ptx::test {
namespace {

using testing::HasSubstr;

Error refused(std::string_view text) {
  Result<Module> m = parse(text);
  if (m) {
    ADD_FAILURE() << "accepted: " << text;
    return {};
  }
  return m.error();
}

/// `text` is refused as real PTX that is not run, with its line and its own words.
void expect_unsupported(const std::string& text) {
  const Error e = refused(kernel(text));
  EXPECT_EQ(e.code, ErrorCode::unsupported) << text << "\n" << to_string(e);
  EXPECT_THAT(e.what, HasSubstr("unsupported")) << text;
  EXPECT_THAT(e.what, HasSubstr("line 8")) << text;
  EXPECT_THAT(e.what, HasSubstr(text.substr(0, text.find_first_of(" ;")))) << text;
  EXPECT_FALSE(e.hint.empty()) << text;
}

TEST(Refusal, NamesUnsupportedInstructions) {
  for (const char* text :
       {"wgmma.fence.sync.aligned;",
        "cp.async.bulk.commit_group;",
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], 16, "
        "[%r2];",
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%rd1], [%r1], 16;",
        "barrier.cluster.arrive.aligned;",
        "barrier.cluster.wait.acquire;",
        "mapa.u64 %rd1, %rd2, 0;",
        "elect.sync %r1|%p1, -1;",
        "griddepcontrol.wait;",
        "fence.proxy.async;",
        "fence.mbarrier_init.release.cluster;",
        "tcgen05.fence::before_thread_sync;",
        "tex.1d.v4.f32.s32 {%f1,%f2,%f3,%f4}, [%rd1, {%r1}];",
        "suld.b.1d.b32.trap %r1, [%rd1, {%r2}];",
        "txq.width.b32 %r1, [%rd1];",
        "tld4.r.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd1, {%f1,%f2}];",
        "add.f32x2 %rd1, %rd1, %rd1;",
        "shfl.up.b32 %r1, %r2, 1, 0;",
        "cvt.rn.satfinite.e2m1x2.f32 %h1, %f1, %f2;",
        "red.async.relaxed.cluster.global.add.u32 [%rd1], %r1;",
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r1], %r2, [%r3];",
        "st.async.u32 [%r1], %r2;",
        "red.async.add.u32 [%r1], %r2;",
        "barrier.cluster;",
        "ld.shared::cluster.u32 %r1, [%r2];",
        "tensormap.replace.tile.global_address.global.b1024.b64 [%rd1], %rd1;",
        "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%f1},{%r1},{%r2},{%f1},%r3,0;"})
    expect_unsupported(text);
}

TEST(Refusal, NamesEveryOpcodeThatIsNotRun) {
  ASSERT_FALSE(unsupported_opcodes().empty());
  for (const std::string_view opcode : unsupported_opcodes())
    // Whatever follows: real modifiers, words that nobody knows, a list of operands.
    for (const char* rest : {"", ".sync.aligned.b32 %r1, [%rd1];", ".frob::cta.b32x2 {%r1}, %r2;"})
      expect_unsupported(std::string(opcode) + (*rest == 0 ? ";" : rest));
}

TEST(Refusal, NamesEveryModifierThatIsNotRunWithEveryOpcode) {
  size_t words = 0;
  for (const std::string& word : word_spellings()) {
    if (find_word(word)->field != Field::unsupported) continue;
    ++words;
    for (const std::string& opcode : opcode_spellings()) {
      expect_unsupported(opcode + "." + word + " %r1, %r2;");
      if (testing::Test::HasFailure()) return;
    }
    // Among others, known and unknown.
    expect_unsupported("cp.async." + word + ".frob.b32 [%rd1], [%rd2];");
    expect_unsupported("mma.frob.sync." + word + ".f32 {%f1}, {%f2};");
  }
  EXPECT_GT(words, 0u);
}

const Word& word_of(uint16_t id) {
  for (const std::string& text : word_spellings())
    if (find_word(text)->id == id) return *find_word(text);
  throw std::out_of_range("no word has this number");
}

/// One word of each group: the first, none where it may be missing, but `id` in group `which`.
std::vector<const Word*> words_of(const Form& form, size_t which, uint16_t id) {
  std::vector<const Word*> words;
  for (size_t g = 0; g < form.groups.size(); ++g) {
    if (g == which)
      words.push_back(&word_of(id));
    else if (!form.groups[g].optional)
      words.push_back(&word_of(form.groups[g].words.front()));
  }
  return words;
}

std::string spelled(Opcode op, const std::vector<const Word*>& words) {
  std::string text(name_of(op));
  for (const Word* word : words) text.append(".").append(word->text);
  return text;
}

TEST(Refusal, NamesEveryFormThatIsNotRunWithEachOfItsModifiers) {
  size_t forms = 0;
  for (const Form& form : all_forms()) {
    if (!form.unsupported) continue;
    ++forms;
    size_t named = 0;
    for (size_t g = 0; g < form.groups.size(); ++g)
      for (const uint16_t id : form.groups[g].words) {
        const std::vector<const Word*> words = words_of(form, g, id);
        // set.eq.f16.f16 is also a form that runs: of such rows only the rest is refused.
        const FormMatch match = match_form(form.op, words);
        ASSERT_NE(match.form, nullptr) << form.spelling;
        if (!match.form->unsupported) continue;
        ++named;
        expect_unsupported(spelled(form.op, words) + " %r1, %r2, %r3;");
      }
    EXPECT_GE(named, form.groups.size()) << form.spelling;
  }
  EXPECT_GT(forms, 0u);
}

TEST(Refusal, NamesEveryFormWithAnOperandThatIsNotRun) {
  size_t forms = 0;
  for (const Form& form : all_forms())
    if (!form.unsupported && !form.places.empty() && form.places.back().role == Role::unsupported) {
      ++forms;
      for (size_t g = 0; g < form.groups.size(); ++g)
        for (const uint16_t id : form.groups[g].words)
          expect_unsupported(spelled(form.op, words_of(form, g, id)) + " %f1, %f2, %f3, %f4;");
    }
  EXPECT_GT(forms, 0u);
}

TEST(Refusal, SuggestsTheWordThatWasMeant) {
  const Error opcode = refused(kernel("ad.u32 %r1, %r2, %r3;"));
  EXPECT_EQ(opcode.code, ErrorCode::parse);
  EXPECT_THAT(to_string(opcode), HasSubstr("unknown opcode \"ad\""));
  EXPECT_THAT(opcode.hint, HasSubstr("\"a"));
  const Error modifier = refused(kernel("cvt.rn.satfinit.e4m3x2.f32 %h1, %f1, %f2;"));
  EXPECT_EQ(modifier.code, ErrorCode::parse);
  EXPECT_THAT(modifier.what, HasSubstr("\".satfinit\""));
  EXPECT_THAT(modifier.hint, HasSubstr(".satfinite"));
  const Error name = refused(kernel("mov.u32 %r1, %tid.q;"));
  EXPECT_EQ(name.code, ErrorCode::parse);
}

TEST(Refusal, PointsAtTheInstruction) {
  EXPECT_EQ(refused(kernel("mov.u32 %r1, 2;\n  frob.v2.u32 {%r1,%r2},[%rd1];")).what,
            "PTX line 9, column 3: unknown opcode \"frob\" in \"frob.v2.u32\"\n"
            "    9 |   frob.v2.u32 {%r1,%r2},[%rd1];\n"
            "      |   ^");
}

TEST(Refusal, NamesWhatDoesNotGoTogether) {
  struct Case {
    const char* text;
    const char* says;
  };
  for (const Case& c : {
           Case{"add.f32.hi %f1, %f2, %f3;", "add does not take \".hi\""},
           {"add.u32 %r1, %r2;", "takes 3 operands, 2 given"},
           {"add.u32 %r1, %rd2, %r3;", "operand 2 (%rd2) has 64 bits, 32 wanted"},
           {"add.u32 %rd1, %r2, %r3;", "operand 1 (%rd1) has 64 bits"},
           {"mul.wide.s32 %r1, %r2, %r3;", "64 wanted"},
           {"add.u32 %p1, %r2, %r3;", "has 1 bits"},
           {"selp.b32 %r1, %r2, %r3, %r4;", "1 wanted"},
           {"add.u32 5, %r2, %r3;", "must be a register"},
           {"ld.global.v2.u32 %r1, [%rd1];", "vector of 2"},
           {"ld.global.u32 %h1, [%rd1];", "at least 32"},
           {"ld.global.u32 %r1, %rd1;", "address in []"},
           {"setp.lt.s32 %p1, %r1, %r2, %p2;", "3 operands"},
           {"setp.lt.and.s32 %p1, %r1, %r2;", "4 operands"},
           {"@%r1 mov.u32 %r1, 0;", "not a predicate"},
           {"bra nowhere;", "label \"nowhere\" is not defined"},
           {"mov.u32 %r1, %r100;", "unknown name \"%r100\""},
           {"mov.b64 %rd1, {%r1, %r2, %r3};", "96 bits"},
           {"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f1,%f2,%f3,%f4},{%r1,%r2},{%r3},"
            "{%f1,%f2,%f3,%f4};",
            "operand 2 has 2 registers, 4 wanted"},
           {".reg .b32 %r1x; .reg .b32 %r1x;", "declared twice"},
           {"call k, (%rd1);", "call of an .entry"},
           {"mov.u32 %r1, 1/0;", ""},
           {"mov.f32 %f1, 0f3F80;", "not a number"},
           {"add.f32 %f1, %f2, 1;", "not of type f32"},
           {"add.u32 %r1, %r2, 0f3F800000;", "not of type u32"},
           {"add.u32 _, %r1, %r2;", "cannot be thrown away"},
           {"setp.eq.u32 %p1, %tid.x, 0;", "special register is read by mov"},
           {"add.u64 %rd1, p, 4;", "an address is taken by mov"},
           {"mov.u32 %r1, %clock64;", "does not fit 32 bits"},
           {"ld.relaxed.u32 %r1, [%rd1];", "needs a scope"},
           {"setp.lo.s32 %p1, %r1, %r2;", "setp.lo.s32"},
           {"cvt.s32.f32 %r1, %f1;", "cvt.s32.f32"},
           {"wmma.store.d.sync.aligned.row.m16n16k16.f32 [%rd1], {%f1,%f2}, %r1;",
            "has 2 registers, 8 wanted"},
           {".shared .align 3 .b8 s[4];", "not a power of two"},
       }) {
    const Error e = refused(kernel(c.text));
    EXPECT_EQ(e.code, ErrorCode::parse) << c.text;
    EXPECT_THAT(e.what, HasSubstr(c.says)) << c.text;
    EXPECT_THAT(e.what, HasSubstr("line 8")) << c.text;
  }
}

TEST(Refusal, ChecksTheModuleAroundTheCode) {
  EXPECT_EQ(refused("").code, ErrorCode::parse);
  EXPECT_EQ(refused("int main() {}").code, ErrorCode::parse);
  EXPECT_EQ(refused(".version 8.7\n.target sm_90\n.address_size 32\n").code,
            ErrorCode::unsupported);
  EXPECT_EQ(refused(".version 12.0\n").code, ErrorCode::unsupported);
  EXPECT_EQ(refused(kHeader + ".global .texref t;").code, ErrorCode::unsupported);
  const Error local = refused(kHeader + ".local .align 4 .b32 scratch[4];");
  EXPECT_EQ(local.code, ErrorCode::parse);
  EXPECT_THAT(local.what, HasSubstr("line 4"));
  EXPECT_THAT(refused(kHeader + ".func f(.param .b32 a);\n.entry k() { call f, (); ret; }").what,
              HasSubstr("gives 0 arguments, the function takes 1"));
  EXPECT_EQ(refused(kHeader + ".func f() { wgmma.fence.sync.aligned; }").code,
            ErrorCode::unsupported);
}

}  // namespace
}  // namespace fiel::ptx::test
