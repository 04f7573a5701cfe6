#include "cli/judge_many.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include "base/files.h"
#include "base/text.h"
#include "cli/stop_rule.h"
#include "store/store.h"

namespace fiel::cli {
namespace {

namespace fs = std::filesystem;
using judge::VerdictStatus;

std::string contents(std::FILE* file) {
  std::string text(static_cast<size_t>(std::ftell(file)), '\0');
  std::rewind(file);
  text.resize(std::fread(text.data(), 1, text.size(), file));
  return text;
}

/// Kernels are files whose text is the status that a fake judge gives them.
class JudgeMany : public testing::Test {
 protected:
  void SetUp() override {
    folder_.emplace(std::move(*TempDir::create("many")));
    setenv("FIEL_STORE", (folder_->path() / "store").c_str(), 1);
    write("a.toml", "task a");
  }
  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder_->path() / name) << text;
    return at(name);
  }
  std::string at(const std::string& name) const { return (folder_->path() / name).string(); }

  struct Killed {};  ///< leaves the process as a signal would: nothing is written after it
  struct Outcome {
    int code = -1;
    std::string error, out, err;
    std::vector<std::string> judged;
  };

  Outcome call(const std::vector<std::string>& words) {
    Outcome outcome;
    Context context;
    context.out = std::tmpfile();
    context.err = std::tmpfile();
    context.interrupted = [&] {
      return interrupt_after_ && outcome.judged.size() >= *interrupt_after_;
    };
    const auto judge = [&](const JudgePair& pair,
                           const ProgressFunction&) -> Result<judge::Verdict> {
      outcome.judged.push_back(fs::path(pair.kernel).filename().string());
      std::this_thread::sleep_for(delay_);
      if (killed_ && *read_file(pair.kernel) == "kill") throw Killed();
      return verdict_of(pair);
    };
    Result<int> code = 137;
    try {
      code = run(words, judge, context);
    } catch (const Killed&) {}
    outcome.code = code ? *code : exit_code_of(code.error());
    if (!code) outcome.error = to_string(code.error());
    outcome.out = contents(context.out);
    outcome.err = contents(context.err);
    std::fclose(context.out);
    std::fclose(context.err);
    return outcome;
  }

  static Result<int> run(const std::vector<std::string>& words, const JudgePairFunction& judge,
                         const Context& context) {
    CommandSpec spec{.verb = "judge", .flags = judge_many_flags()};
    spec.flags.push_back({"--seed", "N", ""});
    FIEL_TRY(const Arguments given, parse_arguments(spec, words));
    FIEL_TRY(const Arguments all, with_flags_of_run(given));
    FIEL_TRY(const JudgePlan plan, plan_judgements(all, context));
    return judge_many(plan, judge, context);
  }

  static Result<judge::Verdict> verdict_of(const JudgePair& pair) {
    // Of what is no file nothing can be said but that it is right.
    const std::string text = read_file(pair.kernel).value_or("correct");
    if (text == "error") return fail(ErrorCode::parse, "the task is no task");
    judge::Verdict v;
    v.status = judge::parse_status(text).value_or(VerdictStatus::correct);
    v.kernel = pair.kernel;
    v.task = pair.task;
    return v;
  }

  std::optional<TempDir> folder_;
  std::optional<size_t> interrupt_after_;
  std::chrono::milliseconds delay_{0};
  bool killed_ = false;
};

TEST_F(JudgeMany, TheExitCodeIsTheWorstAndTheSummaryCounts) {
  const std::string good = write("good.cu", "correct"), bad = write("bad.cu", "incorrect");
  EXPECT_EQ(call({at("a.toml"), good}).code, 0);
  const Outcome both = call({at("a.toml"), good, bad});
  EXPECT_EQ(both.code, 1);
  EXPECT_NE(both.out.find("1 of 2 kernels accepted (50.0 %)"), std::string::npos) << both.out;
  EXPECT_EQ(call({at("a.toml"), good, bad, "--exit-zero"}).code, 0);
  const Outcome broken = call({at("a.toml"), bad, write("ill.cu", "harness_fault")});
  EXPECT_EQ(broken.code, 3);
  EXPECT_NE(broken.out.find("1 could not be judged"), std::string::npos) << broken.out;
  fs::create_directories(at("empty"));
  EXPECT_EQ(call({at("a.toml"), at("empty")}).code, 5);
}

TEST_F(JudgeMany, LinesAreOneVerdictEachAndTheStoryStaysOnStderr) {
  const Outcome o =
      call({at("a.toml"), write("k1.cu", "correct"), write("k2.cu", "timeout"), "--jsonl"});
  const auto lines = split(trim(o.out), '\n');
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ((*Json::parse(lines[1]))["status"].as_string(), "timeout");
  EXPECT_NE(o.err.find("1 of 2 kernels accepted"), std::string::npos);
}

TEST_F(JudgeMany, AStoppedRunGoesOnWhereItWasWithItsFlags) {
  std::vector<std::string> words{at("a.toml")};
  for (int i = 0; i < 5; ++i)
    words.push_back(write("k" + std::to_string(i) + ".cu", i == 1 ? "incorrect" : "correct"));
  words.insert(words.end(), {"--run", "r", "--seed", "7"});
  interrupt_after_ = 2;
  const Outcome first = call(words);
  EXPECT_EQ(first.code, 130);
  EXPECT_NE(first.err.find("fiel judge --resume r"), std::string::npos) << first.err;
  EXPECT_EQ(call(words).error.find("there is a run 'r' already"), 0u);

  interrupt_after_.reset();
  const Outcome second = call({"--resume", "r"});
  EXPECT_EQ(second.judged, (std::vector<std::string>{"k2.cu", "k3.cu", "k4.cu"}));
  EXPECT_EQ(second.code, 1);
  EXPECT_NE(second.out.find("4 of 5 kernels accepted"), std::string::npos) << second.out;
  auto store = store::Store::open_existing({});
  const auto header = store->find("r");
  EXPECT_EQ(header->state, "done");
  EXPECT_EQ(header->verdicts, 5u);
  EXPECT_EQ(header->words, (std::vector<std::string>{"--seed=7"}));
  EXPECT_TRUE(call({"--resume", "r"}).judged.empty());
}

TEST_F(JudgeMany, WhatChangedAndWhatCouldNotBeJudgedIsJudgedAgain) {
  const std::string same = write("k0.cu", "correct"), changed = write("k1.cu", "incorrect");
  const std::string ill = write("k2.cu", "harness_fault");
  call({at("a.toml"), same, changed, ill, "--run", "r"});
  write("k1.cu", "correct");
  const Outcome again = call({"--resume", "r"});
  EXPECT_EQ(again.judged, (std::vector<std::string>{"k1.cu", "k2.cu"}));
}

/// A piece that is killed in k1, again and again: each time something else is judged before it.
TEST_F(JudgeMany, WhatWasInterruptedAndWhatCouldNotBeJudgedComeLast) {
  using Names = std::vector<std::string>;
  Names words{at("a.toml"), "--run", "r"};
  for (const char* text : {"harness_fault", "kill", "correct", "correct", "undecided"})
    words.push_back(write("k" + std::to_string(words.size() - 3) + ".cu", text));
  killed_ = true;
  EXPECT_EQ(call(words).judged, (Names{"k0.cu", "k1.cu"}));
  interrupt_after_ = 2;
  EXPECT_EQ(call({"--resume", "r"}).judged, (Names{"k2.cu", "k3.cu"}));
  interrupt_after_.reset();
  EXPECT_EQ(call({"--resume", "r"}).judged, (Names{"k4.cu", "k1.cu"}));
  // Nothing is new any more: it comes before those that the machine could not judge.
  EXPECT_EQ(call({"--resume", "r"}).judged, Names{"k1.cu"});
  write("k1.cu", "correct");
  EXPECT_EQ(call({"--resume", "r"}).judged, (Names{"k1.cu", "k0.cu", "k4.cu"}));
  write("k2.cu", "incorrect");
  EXPECT_EQ(call({"--resume", "r"}).judged, (Names{"k2.cu", "k0.cu", "k4.cu"}));
}

TEST(StopRule, OneLongJudgementLeavesThePieceToTheOthers) {
  using std::chrono::seconds;
  StopRule rule(seconds(520));
  EXPECT_TRUE(rule.fits_another(seconds(600)));  // nothing was judged yet
  rule.took(seconds(200));
  EXPECT_TRUE(rule.fits_another(seconds(320)));
  EXPECT_FALSE(rule.fits_another(seconds(321)));
  rule.took(seconds(10));
  rule.took(seconds(12));
  EXPECT_TRUE(rule.fits_another(seconds(508)));
  EXPECT_FALSE(rule.fits_another(seconds(509)));
  EXPECT_TRUE(StopRule(seconds(0)).fits_another(seconds(1'000'000)));
}

/// Three kernels: the files of a work folder are none, and its source is all of them.
TEST_F(JudgeMany, WorkFoldersAreKernelsThatAreKeptAndLookedAtAgain) {
  using Names = std::vector<std::string>;
  const std::string task = write("task.py", "class Model: pass");
  for (const char* run : {"runs/one", "runs/two"}) {
    fs::create_directories(at(std::string(run) + "/kernels"));
    write(std::string(run) + "/model_new.py", "class ModelNew: pass");
    write(std::string(run) + "/model.py", "class Model: pass");
    write(std::string(run) + "/kernels/a.cu", "// one");
  }
  write("runs/three.py", "class ModelNew: pass");
  EXPECT_EQ(call({task, at("runs"), "--run", "r"}).judged, (Names{"one", "three.py", "two"}));
  auto store = store::Store::open_existing({});
  const auto record = store->load(*store->find("r"), store::Detail::all);
  ASSERT_TRUE(record);
  const std::string& kept = record->verdicts[0].kernel_source;
  for (const char* part : {"model_new.py", "class ModelNew: pass", "kernels/a.cu", "// one"})
    EXPECT_NE(kept.find(part), std::string::npos) << part << " in " << kept;
  EXPECT_EQ(call({"--resume", "r"}).judged, Names{});
  write("runs/two/kernels/a.cu", "// two");
  EXPECT_EQ(call({"--resume", "r"}).judged, Names{"two"});
  fs::remove(at("runs/one/kernels/a.cu"));
  EXPECT_EQ(call({"--resume", "r"}).judged, Names{"one"});
}

TEST_F(JudgeMany, PiecesOfLimitedTimeAddUp) {
  std::vector<std::string> words{at("a.toml"), "--run", "r", "--stop-after", "1"};
  for (int i = 0; i < 3; ++i) words.push_back(write("k" + std::to_string(i) + ".cu", "correct"));
  // The longest so far would not fit a second time.
  delay_ = std::chrono::milliseconds(600);
  EXPECT_EQ(call(words).judged.size(), 1u);
  EXPECT_EQ(call({"--resume", "r", "--stop-after", "1"}).judged.size(), 1u);
  const Outcome last = call({"--resume", "r", "--stop-after", "1"});
  EXPECT_EQ(last.judged.size(), 1u);
  EXPECT_EQ(last.code, 0);
}

TEST_F(JudgeMany, ExportsAreWrittenBesideTheAnswer) {
  const std::string good = write("good.cu", "correct"), bad = write("bad.cu", "incorrect");
  const Outcome o = call({at("a.toml"), good, bad, "--jsonl", "--export",
                          "csv=" + at("o.csv") + ",kernelbench=" + at("o.json") + ",github"});
  EXPECT_EQ(split(trim(o.out), '\n').size(), 2u);
  EXPECT_NE(o.err.find("::error file="), std::string::npos) << o.err;
  EXPECT_EQ(read_file(at("o.csv"))->find("task,kernel,"), 0u);
  EXPECT_EQ((*Json::parse(*read_file(at("o.json"))))["a"].size(), 2u);
}

TEST_F(JudgeMany, AnErrorEndsOneTaskButOnlyOnePairOfMany) {
  const std::string bad = write("a.cu", "error");
  EXPECT_EQ(call({at("a.toml"), bad}).code, 2);
  write("b.toml", "task b");
  write("b.cu", "correct");
  const Outcome many = call({"--tasks", at("*.toml"), "--kernels", at("*.cu"), "--jsonl"});
  EXPECT_EQ(many.code, 3);
  const auto lines = split(trim(many.out), '\n');
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ((*Json::parse(lines[0]))["status"].as_string(), "harness_fault");
  EXPECT_EQ((*Json::parse(lines[1]))["status"].as_string(), "correct");
}

TEST_F(JudgeMany, AStoreThatCannotBeWrittenCostsTheEvidenceNotTheVerdict) {
  const std::string good = write("good.cu", "correct");
  setenv("FIEL_STORE", "/proc/fiel-store", 1);
  const Outcome o = call({at("a.toml"), good});
  EXPECT_EQ(o.code, 0);
  EXPECT_NE(o.out.find("CORRECT"), std::string::npos);
  EXPECT_NE(o.err.find("evidence is not kept"), std::string::npos);
  EXPECT_EQ(call({at("a.toml"), good, "--no-store"}).err, "");
  // Whoever names a run counts on it.
  EXPECT_EQ(call({at("a.toml"), good, "--run", "r"}).code, 3);
}

TEST_F(JudgeMany, WordsThatContradictEachOtherAreUsageErrors) {
  const std::string good = write("good.cu", "correct");
  EXPECT_EQ(call({at("a.toml")}).code, 2);
  EXPECT_EQ(call({"--tasks", at("*.toml")}).code, 2);
  EXPECT_EQ(call({"--tasks", at("*.toml"), "--kernels", at("*.cu"), good}).code, 2);
  EXPECT_EQ(call({at("a.toml"), good, "--stop-after", "soon"}).code, 2);
  EXPECT_EQ(call({"--resume", "nothing"}).code, 2);
  EXPECT_EQ(call({at("a.toml"), good, "--export", "junti=x"}).error.find("there is no export"), 0u);
  EXPECT_EQ(call({at("a.toml"), good, "--export", "csv"}).code, 2);
}

}  // namespace
}  // namespace fiel::cli
