// Workspaces, the judge's desk, and what an agent is told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "agent/append_line.h"
#include "agent/workspace/daemon.h"
#include "full_disk.h"
#include "places.h"
#include "workspace_fixture.h"

namespace fiel::agent {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Folder, NoPathLeadsOut) {
  auto folder = TempDir::create("fiel-test");
  ASSERT_TRUE(folder);
  const fs::path inside = folder->path() / "in";
  fs::create_directory(inside);
  ASSERT_TRUE(write_file_atomic(folder->path() / "secret", "s"));
  fs::create_symlink(folder->path() / "secret", inside / "link");
  fs::create_directory_symlink(folder->path(), inside / "up");
  ASSERT_EQ(::system(("mkfifo " + (inside / "pipe").string()).c_str()), 0);
  const auto f = Folder::open(inside);
  ASSERT_TRUE(f);
  for (const char* name : {"../secret", "a/../../secret", "/etc/passwd", "link", "up/secret", "",
                           ".", "pipe", "a\nb"}) {
    EXPECT_FALSE(f->read(name, 100)) << name;
  }
  for (const char* name : {"../new", "up/new", "/tmp/fiel-new", ""})
    EXPECT_FALSE(f->write(name, "x")) << name;
  EXPECT_FALSE(fs::exists(folder->path() / "new"));
  // A link is replaced, what it pointed at stays.
  ASSERT_TRUE(f->write("link", "mine"));
  EXPECT_EQ(*read_file(folder->path() / "secret"), "s");
  ASSERT_TRUE(f->write("a/b/c.cu", "text"));
  EXPECT_EQ(*f->read("a//./b/c.cu", 100), "text");
  EXPECT_EQ(f->read("a/b/c.cu", 3).error().code, ErrorCode::limit);
  EXPECT_EQ(f->files(10), (std::vector<std::string>{"a/b/c.cu", "link"}));
}

TEST(AppendLine, APieceOfALineIsCutOff) {
  auto folder = TempDir::create("fiel-test");
  const auto file = folder->path() / "lines";
  ASSERT_TRUE(append_line(file, "one"));
  ASSERT_EQ(::system(("printf '{\"half' >> " + file.string()).c_str()), 0);
  EXPECT_EQ(*whole_lines(file, 100), (std::vector<std::string>{"one"}));
  ASSERT_TRUE(append_line(file, "two"));
  EXPECT_EQ(*whole_lines(file, 100), (std::vector<std::string>{"one", "two"}));
}

TEST(AppendLine, ALineThatDoesNotFitOnTheDiskLeavesNoPiece) {
  auto folder = TempDir::create("fiel-test");
  const auto file = folder->path() / "lines";
  ASSERT_TRUE(append_line(file, "one", true));
  {
    const FullDisk full(7);  // "one\n" and three bytes more
    const auto second = append_line(file, "a second line", true);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::io);
  }
  EXPECT_EQ(*read_file(file), "one\n");
  ASSERT_TRUE(append_line(file, "two", true));
  EXPECT_EQ(*whole_lines(file, 100), (std::vector<std::string>{"one", "two"}));
}

TEST_F(WorkspaceTest, ALedgerThatTheDiskRefusedGoesOnOnceThereIsRoom) {
  Desk first = desk(correct());
  ASSERT_TRUE(first.ask(Verb::verify, "one").good);
  const uint64_t bytes = fs::file_size(workspace_->ledger());
  std::optional<FullDisk> full;
  DeskOptions o;
  o.fiel = [&](const std::vector<std::string>&, int64_t) -> Result<ProcessResult> {
    full.emplace(bytes + 20);  // the disk fills while the kernel is judged
    ProcessResult r;
    r.exit_code = 0;
    r.out = R"({"status":"correct"})";
    return r;
  };
  auto second = Desk::open(*workspace_, o);
  ASSERT_TRUE(second);
  const Feedback refused = second->ask(Verb::verify, "two");
  full.reset();
  EXPECT_FALSE(refused.good);
  EXPECT_THAT(refused.text, HasSubstr("cannot write"));
  EXPECT_EQ(second->ledger().entries().size(), 1u);
  const Feedback third = second->ask(Verb::verify, "three");
  full.reset();
  EXPECT_FALSE(third.good);  // full again
  Desk after = desk(correct());
  ASSERT_TRUE(after.ask(Verb::verify, "four").good);
  ASSERT_EQ(after.ledger().entries().size(), 2u);
  const auto read_again = Ledger::open(workspace_->ledger());
  ASSERT_TRUE(read_again) << to_string(read_again.error());
  EXPECT_EQ(read_again->entries().back().note, "four");
}

TEST_F(WorkspaceTest, HoldsTheTaskTheSkeletonAndTheInstructions) {
  const Folder& f = workspace_->files();
  for (const char* name : {"task.toml", "kernel.cu", "SKILL.md", "AGENTS.md", "fiel/kernel.h",
                           "bin/compile", "bin/verify", "bin/bench", "bin/profile", "bin/submit"})
    EXPECT_TRUE(f.exists(name)) << name;
  const std::string skill = *f.read("SKILL.md", 1 << 20);
  EXPECT_TRUE(skill.starts_with("---\nname: write-gpu-kernel\ndescription: "));
  EXPECT_LT(std::count(skill.begin(), skill.end(), '\n'), 500);
  EXPECT_THAT(skill, HasSubstr("5 % faster than torch.compile"));
  // Commands for programs, tools for models: each is told of both.
  for (const char* name : {"SKILL.md", "AGENTS.md"}) {
    EXPECT_THAT(*f.read(name, 1 << 20), HasSubstr("tools of the\nsame names"));
    for (const char* verb : {"compile", "verify", "bench", "profile", "submit"}) {
      EXPECT_THAT(*f.read(name, 1 << 20), HasSubstr(std::string("`") + verb + "`"));
      EXPECT_THAT(*f.read(name, 1 << 20), HasSubstr(std::string("`bin/") + verb + "`"));
    }
  }
  EXPECT_THAT(*f.read("bin/verify", 4096), HasSubstr("exec '/opt/it'\\''s/fiel' ask"));
  EXPECT_FALSE(workspace_->is_fixed("kernel.cu"));
  EXPECT_TRUE(workspace_->is_fixed("task.toml"));
  // The judge's folder is beside it, not in it.
  EXPECT_NE(workspace_->state().string().find(".work.fiel"), std::string::npos);
  EXPECT_FALSE(f.exists(".work.fiel"));
}

TEST_F(WorkspaceTest, AFolderThatIsNotEmptyIsLeftAlone) {
  NewWorkspace q;
  q.task = in_source("tasks/softmax.toml");
  q.folder = folder_->path() / "work";
  EXPECT_FALSE(create_workspace(q));
}

TEST_F(WorkspaceTest, ChangedFixedFilesArePutBackAndNoted) {
  Desk d = desk(correct());
  ASSERT_TRUE(workspace_->files().write("task.toml", "expression = \"y = x\""));
  fs::remove(workspace_->files().path() / "bin/verify");
  ASSERT_TRUE(d.ask(Verb::verify).good);
  EXPECT_THAT(d.changed_files(), ::testing::UnorderedElementsAre("task.toml", "bin/verify"));
  EXPECT_THAT(*workspace_->files().read("task.toml", 1 << 20), HasSubstr("softmax"));
  // What is judged never lay in the agent's reach.
  ASSERT_EQ(asked_.size(), 1u);
  EXPECT_TRUE(asked_[0][1].starts_with(workspace_->state().string()));
  EXPECT_TRUE(asked_[0][2].starts_with(workspace_->state().string()));
}

TEST_F(WorkspaceTest, EveryJudgedKernelIsInTheLedger) {
  {
    Desk d = desk(correct(), 3);
    ASSERT_TRUE(workspace_->files().write("kernel.cu", "first"));
    d.ask(Verb::verify, "first try");
    ASSERT_TRUE(workspace_->files().write("kernel.cu", "second"));
    d.ask(Verb::bench);
    EXPECT_EQ(d.left(), 1u);
    d.ask(Verb::profile);
    EXPECT_EQ(d.left(), 1u);
  }
  Desk d = desk(correct(), 3);  // read again
  ASSERT_EQ(d.ledger().entries().size(), 2u);
  EXPECT_EQ(d.ledger().entries()[0].note, "first try");
  EXPECT_EQ(d.kernel_text(d.ledger().entries()[0].kernel), "first");
  EXPECT_EQ(d.kernel_text(d.ledger().best()->kernel), "second");
  EXPECT_FALSE(d.submitted());
  EXPECT_TRUE(d.ask(Verb::submit).good);
  EXPECT_TRUE(d.submitted());
  EXPECT_THAT(d.ask(Verb::verify).text, HasSubstr("no judgements are left"));
  EXPECT_EQ(d.ledger().entries().size(), 3u);
}

TEST_F(WorkspaceTest, ProfilesAreOfTheDeviceThatJudges) {
  desk(correct()).ask(Verb::profile);
  EXPECT_THAT(asked_.back(), ::testing::Not(::testing::Contains("--device")));
  NewWorkspace q;
  q.task = in_source("tasks/torch/linear_gelu.py");
  q.skeleton = "class ModelNew: pass\n";
  q.form = KernelForm::python;
  for (const char* device : {"cpu", "cuda:0"}) {
    asked_.clear();
    q.device = device;
    q.folder = folder_->path() / device;
    workspace_.emplace(*create_workspace(q));
    const Feedback f = desk(correct()).ask(Verb::profile);
    if (std::string(device) == "cpu") {
      EXPECT_THAT(f.text, HasSubstr("without a GPU profiles are of bare kernels"));
      EXPECT_TRUE(asked_.empty());
    } else {
      ASSERT_EQ(asked_.size(), 1u);
      EXPECT_EQ(asked_[0][0], "profile");
      EXPECT_THAT(asked_[0], ::testing::IsSupersetOf({"--device", "cuda:0"}));
    }
  }
}

TEST_F(WorkspaceTest, AKernelThatIsALinkIsNotFollowed) {
  const auto kernel = workspace_->files().path() / "kernel.cu";
  fs::remove(kernel);
  fs::create_symlink("/etc/passwd", kernel);
  Desk d = desk(correct());
  EXPECT_FALSE(d.ask(Verb::verify).good);
  EXPECT_TRUE(asked_.empty());
}

Json incorrect(const char* shape) {
  return Json::object({{"status", "incorrect"},
                       {"reason", "y[4660] differs at N=4660"},
                       {"seed", "998877"},
                       {"reward", -1},
                       {"witness", Json::object({{"probe", "mixed-signs"},
                                                 {"shape_set", shape},
                                                 {"symbols", Json::object({{"N", 4660}})},
                                                 {"flat_index", 4660},
                                                 {"index", Json(Json::Array{Json(3), Json(7)})},
                                                 {"seed", "445566"},
                                                 {"output", "y"},
                                                 {"expected_text", "0.25"},
                                                 {"got_text", "0.5"},
                                                 {"wrong_elements", 12},
                                                 {"elements", 2048}})}});
}

TEST(Feedback, AVisibleShapeGetsItsWorstElement) {
  const Feedback f = feedback_of(incorrect("small"), {"small"});
  EXPECT_FALSE(f.good);
  EXPECT_THAT(f.text, HasSubstr("y[3, 7] expected 0.25, got 0.5"));
  EXPECT_THAT(f.text, HasSubstr("12 of 2048"));
  EXPECT_THAT(f.text, Not(HasSubstr("445566")));
  EXPECT_THAT(f.text, Not(HasSubstr("998877")));
  EXPECT_EQ(f.entry.reward, -1);
}

TEST(Feedback, AHiddenShapeOnlyFails) {
  const Feedback f = feedback_of(incorrect("small+1"), {"small"});
  EXPECT_THAT(f.text, HasSubstr("a hidden shape fails"));
  EXPECT_THAT(f.text, Not(HasSubstr("4660")));
  EXPECT_THAT(f.text, Not(HasSubstr("0.25")));
  EXPECT_THAT(to_json(f.entry).dump(), Not(HasSubstr("4660")));
}

TEST(Feedback, WhatAKernelPrintsIsNotShownOnceItSawHiddenShapes) {
  Json v = incorrect("small");
  v["candidate_output"] = "rows=4661";
  const auto probe = [](const char* shape) {
    return Json::object({{"shape_set", shape}, {"outcome", "passed"}, {"calls", 1}});
  };
  v["probes"].push_back(probe("small"));
  EXPECT_THAT(feedback_of(v, {"small"}).text, HasSubstr("rows=4661"));
  v["probes"].push_back(probe("odd:ones"));
  EXPECT_THAT(feedback_of(v, {"small"}).text, Not(HasSubstr("rows=4661")));
}

TEST_F(WorkspaceTest, WhereAHiddenShapeFailsTheVisibleOnesAreJudgedApart) {
  for (const bool visible_fail : {true, false}) {
    DeskOptions o;
    o.fiel = [&](const std::vector<std::string>& words, int64_t) -> Result<ProcessResult> {
      asked_.push_back(words);
      const bool alone = std::find(words.begin(), words.end(), "--shapes") != words.end();
      ProcessResult r;
      r.exit_code = 1;
      r.out = (!alone         ? incorrect("odd:ones")
               : visible_fail ? incorrect("small")
                              : correct())
                  .dump();
      return r;
    };
    auto d = Desk::open(*workspace_, o);
    ASSERT_TRUE(d);
    const Feedback f = d->ask(Verb::verify);
    EXPECT_FALSE(f.good);
    EXPECT_EQ(f.entry.reason, "a hidden shape fails");
    EXPECT_THAT(f.text, HasSubstr(visible_fail ? "expected 0.25" : "the visible shapes pass"));
    // Softmax's own, but not the benchmark's.
    EXPECT_EQ(asked_.back().back(), "small,irregular,wide,tail");
  }
}

TEST(Feedback, WhereNoCompilerSpokeTheReasonIsTold) {
  for (const char* output : {"", "\\n"}) {
    const Feedback f = feedback_of(
        *Json::parse(
            std::string(R"({"status": "compile_error", "reason": "it defines no ModelNew",)") +
            R"( "compiler_output": ")" + output + R"("})"),
        {});
    EXPECT_EQ(f.text, "verdict: compile_error\nit defines no ModelNew\n");
  }
}

TEST(Feedback, CompilerOutputIsFortyLinesAtMost) {
  std::string log;
  for (int i = 0; i < 5000; ++i) log += "kernel.cu(" + std::to_string(i) + "): error: no\x1b[31m\n";
  const Feedback f =
      feedback_of(Json::object({{"status", "compile_error"}, {"compiler_output", log}}), {"small"});
  EXPECT_LE(std::count(f.text.begin(), f.text.end(), '\n'), 41);
  EXPECT_THAT(f.text, HasSubstr("kernel.cu(0): error"));
  EXPECT_EQ(f.text.find('\x1b'), std::string::npos);
}

TEST(Feedback, SpeedComesWithIntervals) {
  const Json m = *Json::parse(
      R"({"sides":[{"name":"kernel","policy":"","unavailable":"","median_ns":1000,"low_ns":900,"high_ns":1100}],
          "ratios":[{"against":"compile","policy":"tf32","value":1.5,"low":1.4,"high":1.6,
                     "decision":"faster","comparable":true}]})");
  const Feedback f = feedback_of(
      Json::object({{"status", "correct"}, {"speed", "faster"}, {"reward", 3}, {"measurement", m}}),
      {"small"});
  EXPECT_TRUE(f.good);
  EXPECT_THAT(f.text, HasSubstr("1.500x [1.400, 1.600] faster"));
  EXPECT_THAT(f.text, HasSubstr("[900 ns, 1.1 µs]"));
  EXPECT_EQ(f.entry.reward, 3);
  EXPECT_DOUBLE_EQ(f.entry.ratio_low, 1.4);
}

TEST_F(WorkspaceTest, TheDaemonAnswersAndSurvivesRudeClients) {
  std::atomic<bool> stop = false;
  const auto socket = workspace_->socket();
  std::thread server([&] {
    const auto served = serve(
        socket,
        [](Verb verb, const std::string& note) {
          Feedback f;
          f.good = true;
          f.text = std::string(name_of(verb)) + ":" + note;
          return f;
        },
        [&] { return stop.load(); });
    EXPECT_TRUE(served);
  });
  Result<Feedback> answer = fail(ErrorCode::io, "");
  for (int i = 0; i < 500 && !answer; ++i) {
    answer = ask_daemon(socket, Verb::verify, "a note");
    if (!answer) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ASSERT_TRUE(answer) << to_string(answer.error());
  EXPECT_EQ(answer->text, "verify:a note");
  // No second judge of the same workspace.
  EXPECT_FALSE(serve(socket, {}, [] { return true; }));
  const std::string rude =
      "python3 -c \"import socket,sys\n"
      "for data in (b'', b'nonsense\\n', b'{\\\"verb\\\":7}\\n', b'x'*100000):\n"
      "  s=socket.socket(socket.AF_UNIX); s.connect('" +
      socket.string() +
      "')\n"
      "  try: s.sendall(data)\n"
      "  except OSError: pass\n"
      "  s.close()\"";
  EXPECT_EQ(::system(rude.c_str()), 0);
  EXPECT_TRUE(ask_daemon(socket, Verb::submit, ""));
  stop = true;
  server.join();
  EXPECT_FALSE(ask_daemon(socket, Verb::verify, ""));
}

TEST(Layout, ACudaAgentFolderComesInAndGoesOut) {
  auto folder = TempDir::create("fiel-test");
  const fs::path from = folder->path() / "theirs";
  const fs::path example = in_source("examples/torch/scaled_sum");
  fs::copy(example / "work_folder", from, fs::copy_options::recursive);
  fs::copy(example / "task.py", from / "model.py");
  ASSERT_TRUE(write_file_atomic(from / "utils.py", "theirs"));
  NewWorkspace q;
  q.task = from.string();
  q.folder = folder->path() / "work";
  q.form = KernelForm::folder;
  const auto w = create_workspace(q);
  ASSERT_TRUE(w) << to_string(w.error());
  EXPECT_THAT(w->kernel_files(),
              ::testing::UnorderedElementsAre("binding.cpp", "kernels/scaled_sum.cpp",
                                              "kernels/scaled_sum_binding.cpp", "model_new.py",
                                              "registry.h"));
  EXPECT_TRUE(w->is_fixed("model.py"));
  EXPECT_FALSE(w->files().exists("utils.py"));
  ASSERT_TRUE(export_cuda_agent(*w, folder->path() / "out"));
  for (const char* name : {"model.py", "model_new.py", "binding.cpp", "kernels/scaled_sum.cpp"})
    EXPECT_EQ(*read_file(folder->path() / "out" / name), *read_file(from / name)) << name;
}

}  // namespace
}  // namespace fiel::agent
