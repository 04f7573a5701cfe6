// The red team's words: what a verdict means for a case, the matrix.
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/files.h"
#include "cli/redteam/case_folder.h"
#include "cli/redteam/machine.h"
#include "cli/redteam/matrix.h"
#include "places.h"

namespace fiel::cli {
namespace {

using judge::Protocol;

class Folders : public testing::Test {
 protected:
  Folders() : root_(*TempDir::create("fiel-redteam")) {}
  void write(const std::string& folder, const std::string& text) {
    std::filesystem::create_directories(root_.path() / folder);
    ASSERT_TRUE(write_file_atomic(root_.path() / folder / "expect.toml", text).has_value());
  }
  Result<std::vector<CaseFolder>> read(const std::string& only = {}) {
    return read_cases(root_.path(), only);
  }
  TempDir root_;
};

constexpr const char* kCheat = R"(id = "M05"
title = "the first answer for ever"
task = "../../tasks/softmax.toml"
kernel = "kernel.cu"
devices = ["virtual", "cuda"]
needs = []
caught_by = ["stale-output", "task-inputs"]

[status]
virtual = ["incorrect"]
cuda = ["incorrect", "timing_invalid"]

[fooled]
naive = "yes"
kernelbench = "no"
)";
constexpr const char* kHonest = R"(id = "M05"
title = "a cache | with the right key"
task = "../../tasks/softmax.toml"
kernel = "kernel.cu"
devices = ["virtual"]
needs = []
status = ["correct"]
)";

TEST_F(Folders, AreReadWithPathsFromTheRoot) {
  write("exploits/M05_first", kCheat);
  write("honest/M05_key", kHonest);
  const auto cases = read();
  ASSERT_TRUE(cases.has_value()) << to_string(cases.error());
  ASSERT_EQ(cases->size(), 2u);
  const CaseFolder& cheat = cases->front();
  EXPECT_EQ(cheat.task, "tasks/softmax.toml");
  EXPECT_EQ(cheat.kernel, "exploits/M05_first/kernel.cu");
  EXPECT_EQ(cheat.allowed("cuda:1").size(), 2u);
  EXPECT_FALSE(cheat.harmless("virtual"));
  EXPECT_TRUE(cheat.fooled.at(Protocol::naive));
  EXPECT_FALSE(cheat.fooled.at(Protocol::kernelbench));
  EXPECT_TRUE(cases->back().honest);
  EXPECT_EQ(cases->back().allowed("virtual"), std::vector<std::string>{"correct"});
  EXPECT_EQ(read("M05_f*")->size(), 1u);
  EXPECT_EQ(read("honest/*")->size(), 1u);
  EXPECT_EQ(read("X*")->size(), 0u);
}

TEST_F(Folders, ThatCannotBeReadAreErrorsWithAPlace) {
  const std::pair<const char*, const char*> wrong[] = {
      {"status = [\"correct\"]", "status = [\"corect\"]"},
      {"needs = []", "need = []"},
      {"id = \"M05\"\n", ""},
      {"devices = [\"virtual\"]", "devices = [1]"},
      {"status = [\"correct\"]", "status = [\"correct\"]\n[fooled]\nstrict = \"yes\""},
      {"status = [\"correct\"]", "status = [\"correct\"]\n[fooled]\nnaive = \"perhaps\""}};
  for (const auto& [from, to] : wrong) {
    std::string text = kHonest;
    text.replace(text.find(from), std::string(from).size(), to);
    write("honest/M05_key", text);
    const auto cases = read();
    ASSERT_FALSE(cases.has_value()) << to;
    EXPECT_NE(to_string(cases.error()).find("honest/M05_key/expect.toml:"), std::string::npos);
  }
}

TEST_F(Folders, AreScaffoldedSoThatTheyCanBeRead) {
  for (const char* kind : {"exploits", "honest"}) {
    const auto folder = root_.path() / kind / "M02_new";
    ASSERT_TRUE(scaffold_case(folder).has_value());
    EXPECT_FALSE(scaffold_case(folder).has_value()) << "twice";
  }
  const auto cases = read();
  ASSERT_TRUE(cases.has_value()) << to_string(cases.error());
  EXPECT_EQ(cases->size(), 2u);
  EXPECT_FALSE(scaffold_case(root_.path() / "elsewhere" / "M02_new").has_value());
}

Json verdict(const std::string& status, int exit_code, const std::string& finding = "") {
  Json v = Json::object({{"status", status}, {"exit_code", exit_code}, {"reason", "why"}});
  v["findings"] = Json::array();
  if (!finding.empty()) v["findings"].push_back(Json::object({{"code", finding}}));
  return v;
}

class Cells : public Folders {
 protected:
  void SetUp() override {
    write("exploits/M05_first", kCheat);
    write("honest/M05_key", kHonest);
    cases_ = *read();
  }
  std::vector<CaseFolder> cases_;
};

TEST_F(Cells, SayWhatAVerdictMeans) {
  const CaseFolder &cheat = cases_[0], &honest = cases_[1];
  const auto of = [](const CaseFolder& c, Protocol p, const Json& v) {
    return cell_of(c, p, "virtual", v);
  };
  const Json stale = verdict("incorrect", 1, "stale-output"), fine = verdict("correct", 0);
  EXPECT_EQ(of(cheat, Protocol::strict, stale).outcome, Outcome::caught);
  EXPECT_TRUE(of(cheat, Protocol::strict, stale).held);
  EXPECT_FALSE(of(cheat, Protocol::strict, verdict("incorrect", 1, "shared-race")).held)
      << "caught by something else than the case says";
  EXPECT_EQ(of(cheat, Protocol::strict, fine).outcome, Outcome::fooled);
  EXPECT_FALSE(of(cheat, Protocol::strict, fine).held);
  EXPECT_TRUE(of(cheat, Protocol::naive, fine).held);
  EXPECT_FALSE(of(cheat, Protocol::naive, stale).held) << "it was to be fooled";
  EXPECT_FALSE(of(cheat, Protocol::kernelbench, fine).held) << "it was to be right";
  EXPECT_TRUE(of(cheat, Protocol::cuda_agent, fine).held) << "nothing is said of it";
  EXPECT_EQ(of(honest, Protocol::naive, stale).outcome, Outcome::rejected);
  EXPECT_EQ(of(honest, Protocol::strict, fine).outcome, Outcome::accepted);
  EXPECT_EQ(of(honest, Protocol::strict, verdict("harness_fault", 3)).outcome, Outcome::unable);
}

/// Right values are what a cheat of clocks has; it is harmless as long as the time is no better.
TEST_F(Cells, ACheatThatWasToGainNothingMustNotBeFaster) {
  std::string text = kCheat;
  text.replace(text.find("cuda = ["), 8, "cuda = [\"correct\", ");
  write("exploits/M05_first", text);
  const auto cases = read();
  ASSERT_TRUE(cases.has_value());
  for (const char* speed : {"same", "faster"}) {
    Json v = verdict("correct", 0);
    v["measurement"] = Json::object({{"speed", speed}});
    const Cell cell = cell_of(cases->front(), Protocol::strict, "cuda:0", v);
    const bool gains = std::string_view(speed) == "faster";
    EXPECT_EQ(cell.outcome, gains ? Outcome::fooled : Outcome::harmless) << speed;
    EXPECT_EQ(cell.held, !gains) << speed;
  }
}

TEST_F(Cells, TheMatrixIsAsInTheGoldenFile) {
  Matrix m;
  m.protocols = {Protocol::strict, Protocol::naive};
  const Json stale = verdict("incorrect", 1, "stale-output"), fine = verdict("correct", 0);
  m.cells = {cell_of(cases_[0], Protocol::strict, "virtual", stale),
             cell_of(cases_[0], Protocol::naive, "virtual", fine),
             cell_of(cases_[1], Protocol::strict, "virtual", fine),
             cell_of(cases_[1], Protocol::naive, "virtual", verdict("harness_fault", 3))};
  EXPECT_TRUE(m.held());
  EXPECT_TRUE(m.unable());
  EXPECT_EQ(m.rates(Protocol::naive).let_through.count, 1u);
  EXPECT_EQ(m.rates(Protocol::naive).rejected.of, 0u) << "what could not be judged is no measure";
  EXPECT_EQ(m.rates(Protocol::strict).let_through.of, 1u);
  const std::string got =
      to_text(m) + "\n" + to_markdown(m) + "\n" + to_json(m)["rates"].dump(1) + "\n";
  const std::string path = in_source("tests/cli/golden/redteam.txt");
  if (std::getenv("FIEL_UPDATE_GOLDEN") != nullptr) {
    ASSERT_TRUE(write_file_atomic(path, got).has_value());
  }
  EXPECT_EQ(got, read_file(path).value_or("")) << "FIEL_UPDATE_GOLDEN=1 writes it";
}

TEST(Needs, AreProgramsAndModules) {
  EXPECT_EQ(first_missing({}, ""), "");
  EXPECT_EQ(first_missing({"sh"}, ""), "");
  EXPECT_EQ(first_missing({"sh", "no-such-program-here"}, ""), "no-such-program-here");
  EXPECT_EQ(first_missing({"numpy"}, ""), "numpy");
}

}  // namespace
}  // namespace fiel::cli
