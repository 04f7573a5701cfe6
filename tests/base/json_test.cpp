#include "base/json.h"

#include <gtest/gtest.h>

#include <cmath>

namespace fiel {
namespace {

TEST(Json, KeepsTheOrderOfKeys) {
  Json j = Json::object();
  j["zeta"] = 1;
  j["alpha"] = Json::array();
  j["alpha"].push_back("x");
  EXPECT_EQ(j.dump(), R"({"zeta":1,"alpha":["x"]})");
}

TEST(Json, ReadsBackWhatItWrites) {
  auto text = R"({"a":[1,-2.5,true,null,"\u00e9\n"],"b":{"c":9223372036854775807}})";
  auto j = Json::parse(text);
  ASSERT_TRUE(j) << j.error().what;
  EXPECT_EQ((*j)["b"]["c"].as_int(), INT64_MAX);
  EXPECT_EQ((*j)["a"].items()[4].as_string(), "\xc3\xa9\n");
  auto again = Json::parse(j->dump(2));
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, *j);
}

TEST(Json, WritesNullForWhatStrictJsonLacks) {
  Json j = Json::array();
  j.push_back(std::nan(""));
  j.push_back(INFINITY);
  EXPECT_EQ(j.dump(), "[null,null]");
}

TEST(Json, ReplacesInvalidUtf8) { EXPECT_EQ(Json("a\xff").dump(), "\"a\xef\xbf\xbd\""); }

TEST(Json, RefusesMalformedAndDeepAndLargeText) {
  for (const char* bad : {"", "{", "[1,]", "{\"a\" 1}", "nul", "[1] x", "\"\\u12\""}) {
    auto j = Json::parse(bad);
    ASSERT_FALSE(j) << bad;
    EXPECT_EQ(j.error().code, ErrorCode::parse);
  }
  EXPECT_FALSE(Json::parse(std::string(100'000, '[')));
  EXPECT_FALSE(Json::parse("[1,2,3]", {.max_bytes = 4, .max_depth = 8}));
  EXPECT_TRUE(Json::parse("[[[1]]]", {.max_bytes = 100, .max_depth = 3}));
  EXPECT_FALSE(Json::parse("[[[[1]]]]", {.max_bytes = 100, .max_depth = 3}));
}

TEST(Json, RefusesMoreValuesThanAsked) {
  EXPECT_TRUE(Json::parse("[1,{\"a\":2}]", {.max_values = 4}));
  const auto j = Json::parse("[1,{\"a\":2},3]", {.max_values = 4});
  ASSERT_FALSE(j);
  EXPECT_NE(j.error().what.find("more than 4 values"), std::string::npos) << j.error().what;
}

TEST(Json, OfAKeyThatComesTwiceTheLastValueCounts) {
  const auto j = Json::parse(R"({"b":1,"a":2,"b":3,"c":4,"a":[5],"b":6})");
  ASSERT_TRUE(j);
  EXPECT_EQ(j->dump(), R"({"b":6,"a":[5],"c":4})");
}

// Looking each key up among those before it, on either way, took longer than any test may.
TEST(Json, AnObjectOfManyKeysIsReadAndWritten) {
  constexpr int kKeys = 500'000;
  std::string text = "{";
  for (int i = 0; i < kKeys; ++i)
    text += (i ? ",\"key" : "\"key") + std::to_string(i) + "\":" + std::to_string(i);
  text += "}";
  const auto j = Json::parse(text);
  ASSERT_TRUE(j);
  ASSERT_EQ(j->size(), size_t{kKeys});
  EXPECT_EQ((*j)["key499999"].as_int(), 499'999);
  EXPECT_EQ(j->dump(), text);
}

TEST(Json, MissingMembersReadAsNull) {
  const Json j = Json::object({{"a", 1}});
  EXPECT_TRUE(j["b"]["c"].is_null());
  EXPECT_EQ(j["b"].as_int(7), 7);
}

}  // namespace
}  // namespace fiel
