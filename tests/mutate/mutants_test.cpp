// Source in, mutants out: whole lists as data, and what holds for every mutant.
//
// A case is cases/NAME.cu with cases/NAME.mutants, a line a mutant: place, kind, rule, change.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>

#include "base/files.h"
#include "mutate/mutant.h"
#include "places.h"

namespace fiel::mutate {
namespace {

namespace fs = std::filesystem;

std::string one_line(const std::string& text) {
  std::string line;
  for (char c : text) line += c == '\n' ? ' ' : c;
  return line;
}

std::string listing(const std::vector<Mutant>& mutants) {
  std::string text;
  for (const Mutant& m : mutants)
    text +=
        fmt::format("{}  `{}` -> `{}`\n", m.label(), one_line(m.original), one_line(m.replacement));
  return text;
}

std::vector<fs::path> sources() {
  const fs::path root = in_source("");
  std::vector<fs::path> list;
  for (const char* folder : {"tests/mutate/cases", "examples/softmax", "examples/layernorm",
                             "examples/matmul_bias_relu", "examples/gelu_bias_residual"})
    for (const auto& entry : fs::directory_iterator(root / folder))
      if (entry.path().extension() == ".cu") list.push_back(entry.path());
  for (const auto& entry : fs::directory_iterator(root / "honest"))
    if (fs::exists(entry.path() / "kernel.cu")) list.push_back(entry.path() / "kernel.cu");
  return list;
}

std::vector<Mutant> mutants_in(const std::string& text) {
  auto mutants = mutants_of(text);
  EXPECT_TRUE(mutants.has_value()) << (mutants ? "" : to_string(mutants.error()));
  return mutants.value_or(std::vector<Mutant>());
}

bool makes(const std::string& body, const std::string& line) {
  const std::string text =
      "__global__ void k(const float* x, float* y, int n) {\n" + body + "\n}\n";
  return listing(mutants_in(text)).find(line) != std::string::npos;
}

TEST(Mutants, AreWhatTheCasesSay) {
  const fs::path folder = in_source("tests/mutate/cases");
  int cases = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".cu") continue;
    ++cases;
    fs::path expected = entry.path();
    expected.replace_extension(".mutants");
    const auto want = read_file(expected);
    const auto source = read_file(entry.path());
    ASSERT_TRUE(want && source) << expected;
    EXPECT_EQ(listing(mutants_in(*source)), *want) << entry.path();
  }
  EXPECT_GE(cases, 2);
}

TEST(Mutants, EachKindHasItsSmallestExample) {
  EXPECT_TRUE(makes("if (i < n) y[i] = 0;", "bounds: off by one  `<` -> `<=`"));
  EXPECT_TRUE(makes("if (i < n) y[i] = 0;", "bounds: guard dropped  `i < n` -> `true`"));
  EXPECT_TRUE(
      makes("for (int i = 0; i < n; ++i) y[i] = 0;", "bounds: loop starts late  `0` -> `0 + 1`"));
  EXPECT_TRUE(
      makes("for (int i = 0; i < n; ++i) y[i] = 0;", "bounds: loop ends early  `n` -> `n - 1`"));
  EXPECT_TRUE(makes("y[i] = x[i * 3];", "index: plus for times  `*` -> `+`"));
  EXPECT_TRUE(makes("y[threadIdx.x] = 1;", "index: another axis  `x` -> `y`"));
  EXPECT_TRUE(
      makes("y[0] = a ? b : c + 1;", "operation: branches swapped  `b : c + 1` -> `c + 1 : b`"));
  EXPECT_TRUE(
      makes("y[0] = 0.70710678f * v;", "constant: negative  `0.70710678f` -> `(-0.70710678f)`"));
  EXPECT_TRUE(makes("if (a) __syncwarp();", "barrier: barrier dropped  `__syncwarp()` -> ``"));
  EXPECT_TRUE(makes("y[0] = a + f(b, c) * d;", "term: summand dropped  `+ f(b, c) * d` -> ``"));
  EXPECT_TRUE(makes("if (a) acc += v;", "term: statement dropped  `acc += v` -> ``"));
  EXPECT_TRUE(makes("double s = 0;", "precision: float for double"));
  EXPECT_TRUE(makes("float s; s += v;", "precision: fp16 accumulation"));
  EXPECT_TRUE(makes("y[0] = expf(v);", "precision: fast function  `expf` -> `__expf`"));
  EXPECT_TRUE(makes("float m = -INFINITY;", "neutral: zero for an infinity  `-INFINITY` -> `0.f`"));
  EXPECT_TRUE(makes("y[0] = i < n ? v : 0.f;", "neutral: one for zero  `0.f` -> `1.f`"));
}

TEST(Mutants, DroppedCompensationIsAMatterOfPrecision) {
  EXPECT_TRUE(makes("lost += __fsub_rn(s, t);", "precision: statement dropped"));
  EXPECT_FALSE(makes("lost += __fsub_rn(s, t);", "term: statement dropped"));
}

TEST(Mutants, CastsTemplatesAndDeclarationsCompareNothing) {
  EXPECT_FALSE(makes("float4* v = reinterpret_cast<float4*>(y);", "bounds"));
  EXPECT_FALSE(makes("load<float4, 2>(x);", "bounds"));
  EXPECT_FALSE(makes("__shared__ float t[32][33];", "constant"));
  EXPECT_FALSE(makes("y[0] = (float)-x[0];", "term"));
}

TEST(Mutants, ChangeTheirPlaceAndNothingElse) {
  for (const fs::path& path : sources()) {
    const auto source = read_file(path);
    ASSERT_TRUE(source.has_value());
    std::set<std::string> labels, texts;
    for (const Mutant& m : mutants_in(*source)) {
      EXPECT_TRUE(labels.insert(m.label() + m.replacement).second) << path << " " << m.label();
      EXPECT_EQ(source->substr(m.begin, m.end - m.begin), m.original) << path << " " << m.label();
      const std::string text = mutated(*source, m);
      EXPECT_TRUE(texts.insert(text).second) << path << " " << m.label();
      EXPECT_TRUE(text.ends_with(source->substr(m.end)));
      EXPECT_TRUE(mutants_of(text).has_value()) << path << " " << m.label();
    }
  }
}

TEST(Mutants, SampleTakesTheKindsInTurnAndIsTheSameAgain) {
  const auto source = read_file(in_source("examples/softmax/online.cu"));
  ASSERT_TRUE(source.has_value());
  const std::vector<Mutant> all = mutants_in(*source);
  const std::vector<Mutant> some = sample(all, 16, 7);
  ASSERT_EQ(some.size(), 16u);
  std::map<Kind, int> counts;
  for (const Mutant& m : some) ++counts[m.kind];
  EXPECT_EQ(counts[Kind::barrier], 1);  // there is one
  for (Kind k : {Kind::bounds, Kind::index, Kind::operation, Kind::term, Kind::precision})
    EXPECT_GE(counts[k], 2) << name_of(k);
  EXPECT_EQ(listing(some), listing(sample(all, 16, 7)));
  EXPECT_NE(listing(some), listing(sample(all, 16, 8)));
  EXPECT_EQ(listing(sample(all, 1'000'000, 7)), listing(all));
}

}  // namespace
}  // namespace fiel::mutate
