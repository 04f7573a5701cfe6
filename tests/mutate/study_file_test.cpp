// The file of a study: what is written is read again, a torn end is dropped, another study refused.
#include "mutate/study_file.h"

#include <gtest/gtest.h>

#include <fstream>

namespace fiel::mutate {
namespace {

Json header(int seed) { return Json::object({{"line", "study"}, {"seed", seed}}); }

SubjectRecord subject() {
  SubjectRecord r;
  r.subject = {"t.toml", "k.cu"};
  r.mutants = 9;
  r.inputs = 7;
  r.sound = 6;
  r.calls = {{"ties", 3}, {"outliers", 4}};
  return r;
}

MutantRecord mutant(uint32_t line) {
  MutantRecord r;
  r.subject = {"t.toml", "k.cu"};
  r.mutant = {Kind::term, "summand dropped", "f", 10, 14, line, 3, "+ \"x\"", ""};
  r.witness = FoundWitness{"values", "C=3 N=2", "rows", 1, 12};
  r.searched = 12;
  r.opinions["naive"] = {true, "correct", {}};
  r.opinions["strict"] = {false, "incorrect", {"ties", "odd:ones"}};
  r.seen_by = {{"ties", "odd:ones"}, {"outliers", "small"}};
  return r;
}

class StudyFiles : public testing::Test {
 protected:
  StudyFiles() : folder_(*TempDir::create("fiel-study")), path_(folder_.path() / "s.jsonl") {}
  Result<StudyFile> open(int seed = 1) { return StudyFile::open(path_, header(seed)); }
  TempDir folder_;
  std::filesystem::path path_;
};

TEST_F(StudyFiles, GiveBackWhatWasAdded) {
  {
    auto file = open();
    ASSERT_TRUE(file.has_value());
    ASSERT_TRUE(file->add(subject()).has_value());
    ASSERT_TRUE(file->add(mutant(4)).has_value());
  }
  auto again = open();
  ASSERT_TRUE(again.has_value()) << to_string(again.error());
  ASSERT_EQ(again->subjects().size(), 1u);
  ASSERT_EQ(again->mutants().size(), 1u);
  EXPECT_EQ(to_json(again->subjects().front()).dump(), to_json(subject()).dump());
  EXPECT_EQ(to_json(again->mutants().front()).dump(), to_json(mutant(4)).dump());
  EXPECT_TRUE(again->has(key_of(mutant(4).subject, mutant(4).mutant)));
  EXPECT_FALSE(again->has(key_of(mutant(5).subject, mutant(5).mutant)));
}

TEST_F(StudyFiles, GoOnAfterATornLine) {
  {
    auto file = open();
    ASSERT_TRUE(file->add(subject()).has_value());
    ASSERT_TRUE(file->add(mutant(4)).has_value());
  }
  const std::string torn = to_json(mutant(5)).dump().substr(0, 60);
  std::ofstream(path_, std::ios::app) << torn;
  {
    auto file = open();
    ASSERT_TRUE(file.has_value()) << to_string(file.error());
    EXPECT_EQ(file->mutants().size(), 1u);
    ASSERT_TRUE(file->add(mutant(5)).has_value());
  }
  auto again = open();
  ASSERT_TRUE(again.has_value()) << to_string(again.error());
  EXPECT_EQ(again->mutants().size(), 2u);
}

TEST_F(StudyFiles, RefuseAnotherStudyAndWhatIsNone) {
  { ASSERT_TRUE(open(1)->add(subject()).has_value()); }
  const auto other = open(2);
  ASSERT_FALSE(other.has_value());
  EXPECT_EQ(other.error().code, ErrorCode::usage);
  for (const char* line : {"{\"line\":\"mutant\"}", "{\"line\":\"mutant\",\"kind\":\"term\"}",
                           "{\"line\":\"recipe\"}", "{\"line\":\"subject\"}", "[", "7"}) {
    std::ofstream(path_, std::ios::trunc) << header(1).dump() << "\n" << line << "\n";
    EXPECT_FALSE(open(1).has_value()) << line;
  }
}

TEST_F(StudyFiles, ATornFirstLineIsAFreshStart) {
  std::ofstream(path_) << "{\"line\":\"stu";
  {
    auto file = open();
    ASSERT_TRUE(file.has_value()) << to_string(file.error());
    ASSERT_TRUE(file->add(subject()).has_value());
    EXPECT_FALSE(open().has_value()) << "two at once would mix their lines";
  }
  EXPECT_EQ(open()->subjects().size(), 1u);
}

TEST(StudyFile, WithoutAPathKeepsInMemory) {
  auto file = StudyFile::open({}, header(1));
  ASSERT_TRUE(file.has_value());
  ASSERT_TRUE(file->add(mutant(4)).has_value());
  EXPECT_EQ(file->mutants().size(), 1u);
}

}  // namespace
}  // namespace fiel::mutate
