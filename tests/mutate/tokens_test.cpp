// CUDA source as tokens: what is one, what is none, what does not end.
#include <gtest/gtest.h>

#include "mutate/cuda_tokens.h"
#include "mutate/device_code.h"

namespace fiel::mutate {
namespace {

std::string spelled(std::string_view text) {
  const auto tokens = tokenize(text);
  if (!tokens) return "error: " + to_string(tokens.error());
  std::string list;
  for (const Token& t : *tokens) list += (list.empty() ? "" : " ") + std::string(t.spelling);
  return list;
}

TEST(Tokens, AreTheLongestThatFit) {
  EXPECT_EQ(spelled("a<<<b,c>>>(d>>=1,e->f++ +.5e-3f);"),
            "a <<< b , c >>> ( d >>= 1 , e -> f ++ + .5e-3f ) ;");
  EXPECT_EQ(spelled("0x1p-3f 1'000u 1e5 2.f ~0u"), "0x1p-3f 1'000u 1e5 2.f ~ 0u");
}

TEST(Tokens, LeaveOutCommentsAndDirectives) {
  EXPECT_EQ(spelled("a // b < c\n/* d\n< e */ f\n#define G(x) \\\n  (x < 1)\nh # i"), "a f h # i");
}

TEST(Tokens, KeepLiteralsWhole) {
  EXPECT_EQ(spelled(R"x(s("a < b \" c", '<', R"q(d ) " e)q");)x"),
            R"x(s ( "a < b \" c" , '<' , R"q(d ) " e)q" ) ;)x");
}

TEST(Tokens, KnowTheirPlaces) {
  const auto tokens = tokenize("ab\n  /* x\n */ c");
  ASSERT_TRUE(tokens.has_value());
  EXPECT_EQ((*tokens)[1].line, 3u);
  EXPECT_EQ((*tokens)[1].column, 5u);
  EXPECT_EQ((*tokens)[1].begin, 14u);
}

TEST(Tokens, WhatDoesNotEndIsAnError) {
  for (const char* text : {"a /* b", "\"abc\n\"", "'a", "R\"(abc)\n", "R\"verylongdelimiter12("})
    EXPECT_FALSE(tokenize(text).has_value()) << text;
  EXPECT_FALSE(tokenize(std::string((4u << 20) + 1, ' ')).has_value());
}

TEST(DeviceCode, BracketsHaveToMatch) {
  EXPECT_FALSE(read_device_code("__device__ void f() { (] }").has_value());
  EXPECT_FALSE(read_device_code("__device__ void f() { ").has_value());
  EXPECT_FALSE(read_device_code(") {}").has_value());
}

TEST(DeviceCode, FindsBodiesOfDeviceFunctionsAlone) {
  const auto code = read_device_code(R"(
__device__ unsigned counter = 0;
__constant__ float table[3] = {1, 2, 3};
struct S { __device__ float get() const { return v; } float v; };
template <int N> __global__ void __launch_bounds__(N * 2) k(float* y) { y[0] = N; }
__host__ __device__ inline int both(int a) { return a; }
__device__ float declared(float);
void host() { int x = 1 + 2; }
)");
  ASSERT_TRUE(code.has_value());
  std::vector<std::string> names;
  for (const Function& f : code->functions) names.push_back(f.name);
  EXPECT_EQ(names, (std::vector<std::string>{"get", "k", "both"}));
}

}  // namespace
}  // namespace fiel::mutate
