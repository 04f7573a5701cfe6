#include "cli/arguments.h"

#include <gtest/gtest.h>

namespace fiel::cli {
namespace {

const CommandSpec kSpec{
    "judge", "TASK KERNEL...", "judges", {{"--seed", "N", "seed"}, {"--json", "", "json"}}, ""};

TEST(Arguments, ReadFlagsInBothFormsAndWordsInOrder) {
  const auto a = parse_arguments(kSpec, {"t.toml", "--seed=7", "k.cu", "--json"});
  ASSERT_TRUE(a.has_value());
  EXPECT_EQ(a->positional, (std::vector<std::string>{"t.toml", "k.cu"}));
  EXPECT_EQ(a->value("--seed"), "7");
  EXPECT_TRUE(a->has("--json"));
  const auto b = parse_arguments(kSpec, {"--seed", "8", "--", "--json"});
  ASSERT_TRUE(b.has_value());
  EXPECT_EQ(b->value("--seed"), "8");
  EXPECT_EQ(b->positional, std::vector<std::string>{"--json"});
}

TEST(Arguments, RefuseUnknownFlagsMissingAndUnwantedValues) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"--sed", "1"}, {"--seed"}, {"--json=1"}, {"-x"}}) {
    const auto a = parse_arguments(kSpec, words);
    ASSERT_FALSE(a.has_value()) << words[0];
    EXPECT_EQ(a.error().code, ErrorCode::usage);
  }
  EXPECT_EQ(parse_arguments(kSpec, {"--sed", "1"}).error().hint, "did you mean '--seed'?");
}

TEST(Arguments, NumbersAreWholeAndBounded) {
  auto number = [](const char* text) {
    return unsigned_value(*parse_arguments(kSpec, {"--seed", text}), "--seed", 0, 100);
  };
  EXPECT_EQ(*number("0"), 0u);
  EXPECT_EQ(*number("100"), 100u);
  for (const char* bad : {"101", "-1", "1.5", "", "0x10", "18446744073709551616", "7 "})
    EXPECT_FALSE(number(bad).has_value()) << bad;
}

TEST(Arguments, HelpListsEveryFlag) {
  const std::string help = help_text(kSpec);
  EXPECT_NE(help.find("--seed N"), std::string::npos);
  EXPECT_NE(help.find("usage: fiel judge TASK KERNEL..."), std::string::npos);
}

}  // namespace
}  // namespace fiel::cli
