// The text that a GPU's answers to the cases are kept in, and which cases get there.
#include "case_records.h"

#include <gmock/gmock.h>

namespace fiel::vgpu::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const CaseModule kModule{"kernel.ptx", ".version 9.0\n.target sm_90\n"};

Case plain() {
  Case test;
  test.name = "adds";
  test.modules = {kModule};
  return test;
}

std::string line_of(const std::vector<uint32_t>& words, size_t shown = 8) {
  return record(plain(), kModule, "y", std::as_bytes(std::span(words)), shown);
}

RecordComparison compare(const std::string& recorded, const std::string& now) {
  return compare_records(*read_records(recorded, "golden"), *read_records(now, "now"));
}

TEST(Records, ALineNamesCaseModuleAndBufferAndShowsTheFirstWords) {
  EXPECT_THAT(line_of({1, 0xabcdef, 3}, 2), HasSubstr("adds kernel.ptx y 12 "));
  EXPECT_THAT(line_of({1, 0xabcdef, 3}, 2), testing::EndsWith(" 00000001 00abcdef"));
  const std::byte tail[] = {std::byte{1}, std::byte{2}};
  EXPECT_THAT(record(plain(), kModule, "z", tail, 8), testing::EndsWith(" 00000201"));
}

TEST(Records, WhatIsEqualDoesNotDifferHoweverManyWordsAreShown) {
  const RecordComparison c =
      compare("# a GPU\n" + line_of({1, 2, 3}) + "\n", line_of({1, 2, 3}, 1));
  EXPECT_THAT(c.differences, IsEmpty());
  EXPECT_THAT(c.unrecorded, IsEmpty());
}

TEST(Records, AWordBeyondThoseShownDiffersByTheDigest) {
  const RecordComparison c = compare(line_of({1, 2, 3}, 1), line_of({1, 2, 4}, 1));
  EXPECT_THAT(c.differences, ElementsAre(HasSubstr("adds kernel.ptx y: 12 ")));
}

TEST(Records, WhatIsGoneIsADifferenceAndWhatIsNewIsNot) {
  const std::string other = "subtracts kernel.ptx y 0 0123456789abcdef";
  EXPECT_THAT(compare(other, "").differences, ElementsAre(HasSubstr("not there any more")));
  const RecordComparison c = compare("", other);
  EXPECT_THAT(c.differences, IsEmpty());
  EXPECT_THAT(c.unrecorded, ElementsAre("subtracts kernel.ptx y"));
}

TEST(Records, AnythingElseIsNamedWithItsLine) {
  const std::string good = line_of({1});
  for (const char* bad : {"adds kernel.ptx y", "adds kernel.ptx y many 0123456789abcdef",
                          "adds kernel.ptx y 4 0123", "adds  kernel.ptx y 0123456789abcdef"}) {
    const auto records = read_records(good + "\n" + bad, "golden");
    ASSERT_FALSE(records) << bad;
    EXPECT_THAT(records.error().what, HasSubstr("golden:2: not a record")) << bad;
  }
  EXPECT_THAT(read_records(good + "\n" + good, "golden").error().what,
              HasSubstr("recorded twice: adds kernel.ptx y"));
}

TEST(Records, LinesThatThreadsPrintAreSorted) {
  EXPECT_EQ(sorted_lines("b\na\nc"), "a\nb\nc\n");
  EXPECT_EQ(sorted_lines(""), "");
}

TEST(Records, OnlyCasesWhoseBytesAreDecidedAreRecorded) {
  EXPECT_EQ(why_not_recorded(plain()), "");
  Case test = plain();
  test.expect.findings.push_back({.code = "integer-division-by-zero"});
  EXPECT_EQ(why_not_recorded(test), "");
  test.expect.findings.push_back({.code = "global-race"});
  EXPECT_THAT(why_not_recorded(test), HasSubstr("global-race"));
  test = plain();
  test.expect.status = "deadlocked";
  EXPECT_THAT(why_not_recorded(test), HasSubstr("deadlocked"));
  test = plain();
  test.expect.unsupported = "clusters";
  EXPECT_NE(why_not_recorded(test), "");
  test = plain();
  test.buffers.push_back({.name = "x", .freed = true});
  EXPECT_THAT(why_not_recorded(test), HasSubstr("x is freed"));
  test = plain();
  test.virtual_only = "the last writer wins";
  EXPECT_EQ(why_not_recorded(test), "the last writer wins");
  test = plain();
  test.modules = {{"kernel.ptx", ".target sm_100\n"}};
  EXPECT_THAT(why_not_recorded(test), HasSubstr("newer"));
}

TEST(Records, ModulesForNewerGpusAreLeftOut) {
  EXPECT_TRUE(is_for_sm90({"k", ".target sm_90a, debug\n"}));
  EXPECT_TRUE(is_for_sm90({"k", ".target sm_75\n"}));
  EXPECT_FALSE(is_for_sm90({"k", ".target sm_100\n"}));
  EXPECT_FALSE(is_for_sm90({"k", ""}));
}

}  // namespace
}  // namespace fiel::vgpu::test
