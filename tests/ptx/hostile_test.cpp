// Text that is cut, mutated, enormous or absurd: an answer, never a crash, never a wait.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <random>

#include "base/files.h"
#include "ptx/module.h"
#include "ptx_text.h"

namespace fiel::ptx::test {
namespace {

constexpr size_t kSmall = 70'000;

const std::string kPieces[] = {"{", "}",    "<",  "%r1",   "[",       "]",          ";",  ",",
                               ":", "@",    ".",  "/*",    "\"",      "-",          "0f", "|",
                               "_", ".u32", "::", "(",     ")",       ".loc 1",     "=",  "~",
                               "?", "\n",   "\0", "$L_1:", "mov.u32", "99999999999"};

TEST(Hostile, AnswersAValidModuleCutAfterEachByte) {
  const std::string text = kernel(R"(
tbl: .branchtargets L0, L1;
  @!%p1 brx.idx %r2, tbl;
L0: { .reg .b32 x; mov.u32 x, %tid.x; } ld.global.v2.u32 {%r1, _}, [%rd1+-4]; /* c */
L1: setp.lt.and.f32 %p1|%p2, %f1, 0f3F800000, !%p3; // d)") +
                           ".section .debug_str { a: .b8 1,2 }\n";
  ASSERT_TRUE(parse(text));
  for (size_t n = 0; n < text.size(); ++n) {
    const auto result = parse(std::string_view(text).substr(0, n));
    if (n > kHeader.size() + 10 && n + 40 < text.size()) {
      EXPECT_FALSE(result) << n;
    }
  }
}

TEST(Hostile, SurvivesMutatedFixtures) {
  for (const auto& path : fixtures()) {
    const auto text = read_file(path);
    ASSERT_TRUE(text);
    if (text->size() > kSmall) continue;
    std::mt19937 random(static_cast<uint32_t>(text->size()));
    const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
    for (int round = 0; round < 25; ++round) {
      std::string bad = *text;
      if (round % 5 == 0) bad.resize(below(bad.size()));
      for (size_t edits = 1 + below(4); edits > 0 && bad.size() > 100; --edits) {
        const size_t at = below(bad.size() - 40);
        switch (below(4)) {
          case 0:
            bad[at] = static_cast<char>(random());
            break;
          case 1:
            bad.erase(at, 1 + below(30));
            break;
          case 2:
            bad.insert(at, kPieces[below(std::size(kPieces))]);
            break;
          default:
            bad.insert(at, bad.substr(below(bad.size() - 40), 1 + below(40)));
        }
      }
      const auto result = parse(bad);
      if (!result) {
        EXPECT_FALSE(result.error().what.empty());
      }
    }
  }
}

TEST(Hostile, LoadsAHugeRegisterRangeOfWhichOneIsUsed) {
  const auto m = parse(kHeader +
                       ".entry k() { .reg .b32 %r<100000000>; mov.u32 %r5, 1; "
                       "mov.u32 %r99999999, %r5; ret; }");
  ASSERT_TRUE(m) << to_string(m.error());
  EXPECT_EQ(m->functions[0].registers.size(), 2u);
  EXPECT_EQ(m->functions[0].registers[1].name, "%r99999999");
}

TEST(Hostile, RefusesAMegabyteOfEachBracket) {
  for (const char* piece : {"{", "[", "(",  "}",  "-",  "@",  ".",  "!",      "~",  "0",
                            "a", "%", "{}", "a:", "::", "\"", "/*", "(.s64)", "1?", "$"}) {
    std::string many;
    while (many.size() < (1u << 20)) many += piece;
    EXPECT_FALSE(parse(many)) << piece;
    EXPECT_FALSE(parse(kHeader + many)) << piece;
    EXPECT_FALSE(parse(kernel(many) + "}")) << piece;
    EXPECT_FALSE(parse(kernel("mov.u32 %r1, " + many))) << piece;
    EXPECT_FALSE(parse(kHeader + ".global .u32 g = " + many)) << piece;
    EXPECT_FALSE(parse(kHeader + ".global .u32 g[] = {" + many)) << piece;
  }
}

TEST(Hostile, NamesTheCommentThatIsNeverClosed) {
  const auto m = parse(kernel("/* here"));
  ASSERT_FALSE(m);
  EXPECT_THAT(m.error().what, testing::HasSubstr("comment that is never closed"));
  EXPECT_THAT(m.error().what, testing::HasSubstr("line 8"));
}

TEST(Hostile, BoundsWhatADeclarationCosts) {
  for (const char* text :
       {".global .b8 x[99999999999999];", ".global .b8 x[4294967296][4294967296][4294967296];",
        ".global .b8 x[2][1000000000] = {{1},{2}};", ".file 4000000000 \"x\"",
        ".global .b64 x[18446744073709551615];"}) {
    const auto m = parse(kHeader + text);
    ASSERT_FALSE(m) << text;
    EXPECT_EQ(m.error().code, ErrorCode::limit) << text << to_string(m.error());
  }
}

TEST(Hostile, RefusesTextBeyondTheLimit) {
  const auto m = parse(std::string((64u << 20) + 1, ' '));
  ASSERT_FALSE(m);
  EXPECT_EQ(m.error().code, ErrorCode::limit);
}

/// CPU seconds and additional resident bytes of one parse, in a process of its own.
struct Cost {
  double cpu_s = 1e9;
  long more_kib = 1 << 30;
};
Cost cost_of_parsing(const std::string& text) {
  const pid_t child = fork();
  if (child == 0) {
    static_cast<void>(parse(text));
    _exit(0);
  }
  int status = 0;
  rusage used{}, own{};
  if (child < 0 || wait4(child, &status, 0, &used) != child || status != 0) return {};
  getrusage(RUSAGE_SELF, &own);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return {seconds(used.ru_utime) + seconds(used.ru_stime), used.ru_maxrss - own.ru_maxrss};
}

TEST(Hostile, CostsSecondsOfCpuAnd200MegabytesAtMost) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers multiply time and memory";
#endif
  const std::string valid = kernel("mov.u32 %r1, 1;");
  for (const auto& [what, text] :
       {std::pair{"registers", kHeader + ".entry k() { .reg .b32 %r<100000000>; "
                                         "mov.u32 %r5, 1; ret; }"},
        {"scopes", kernel(".reg .b32 x; mov.u32 x, 1; { .reg .b32 x; mov.u32 x, 2; }")},
        {"comment", valid + "/*" + std::string(1 << 20, 'x')},
        {"braces", std::string(1 << 20, '{')},
        {"braces in a kernel", kernel(std::string(1 << 20, '{'))},
        {"half a module", valid.substr(0, valid.size() / 2)}}) {
    const Cost cost = cost_of_parsing(text);
    EXPECT_LT(cost.cpu_s, 5) << what;
    EXPECT_LT(cost.more_kib, 200 << 10) << what;
  }
}

TEST(Hostile, ReadsManyScopesAndLabelsInLinearTime) {
  // 40,000 scopes with local registers and forward branches: quadratic work would take minutes.
  std::string body;
  for (int i = 0; i < 40'000; ++i) {
    const std::string n = std::to_string(i);
    body += "{ .reg .b32 x; .reg .pred p; @p bra END" + n + "; mov.u32 x, 1; }\nEND" + n + ":\n";
  }
  const auto m = parse(kernel(body));
  ASSERT_TRUE(m) << to_string(m.error());
  EXPECT_EQ(m->functions[0].labels.size(), 40'000u);
}

}  // namespace
}  // namespace fiel::ptx::test
