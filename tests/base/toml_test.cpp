#include "base/toml.h"

#include <gtest/gtest.h>

namespace fiel {
namespace {

TEST(Toml, KeepsOrderAndPositions) {
  auto doc = parse_toml("zeta = 1\n[alpha]\n  b = [1.5, 'x']\n  a = true\n", "t.toml");
  ASSERT_TRUE(doc) << doc.error().what;
  EXPECT_EQ(doc->members[0].first, "zeta");
  const TomlValue* alpha = doc->find("alpha");
  ASSERT_NE(alpha, nullptr);
  EXPECT_EQ(alpha->members[0].first, "b");
  EXPECT_EQ(alpha->members[0].second.line, 3u);
  EXPECT_EQ(alpha->members[0].second.column, 7u);
  EXPECT_EQ(alpha->members[0].second.items[0].number, 1.5);
  EXPECT_EQ(alpha->find("missing"), nullptr);
}

TEST(Toml, ErrorsPointAtTheColumn) {
  auto doc = parse_toml("a = 1\nb = = 2\n", "bad.toml");
  ASSERT_FALSE(doc);
  EXPECT_EQ(doc.error().code, ErrorCode::parse);
  EXPECT_NE(doc.error().what.find("bad.toml:2:"), std::string::npos) << doc.error().what;
  EXPECT_NE(doc.error().what.find("2 | b = = 2"), std::string::npos) << doc.error().what;
}

TEST(Toml, RefusesDatesDepthAndSize) {
  EXPECT_FALSE(parse_toml("d = 2020-01-01", "d.toml"));
  EXPECT_FALSE(parse_toml("a = " + std::string(5000, '[') + std::string(5000, ']'), "deep.toml"));
  EXPECT_FALSE(parse_toml("a = " + std::string(60, '[') + std::string(60, ']'), "deep.toml"));
  EXPECT_EQ(parse_toml(std::string(5u << 20, '#'), "big.toml").error().code, ErrorCode::limit);
}

TEST(Toml, EveryTruncationAnswers) {
  std::string text = "name = \"x\"\n[[s]]\nv = { a = [1, 2], b = 'é' }\n# c\nw = \"\"\"\nq\"\"\"\n";
  int parsed = 0;
  for (size_t n = 0; n <= text.size(); ++n) parsed += bool(parse_toml(text.substr(0, n), "t"));
  EXPECT_GT(parsed, 3);
  EXPECT_LT(parsed, static_cast<int>(text.size()));
}

TEST(Caret, ShowsTheLineAndSurvivesAnyPosition) {
  EXPECT_EQ(caret("ab\n\tcd\n", "f", 2, 3, "here"), "f:2:3: here\n  2 |  cd\n    |   ^");
  EXPECT_EQ(caret("ab", "f", 9, 1, "gone"), "f:9:1: gone");
  EXPECT_NE(caret(std::string(5000, 'x'), "f", 1, 4000, "far").find('^'), std::string::npos);
}

}  // namespace
}  // namespace fiel
