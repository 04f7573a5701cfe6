// A candidate under ncu: a script in its place says what it was given and plays its failures.
#include "worker/counted_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/files.h"
#include "build/toolchain.h"
#include "places.h"
#include "sandbox/spawn.h"

namespace fiel::worker {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

class CountedRunTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (sandbox::probe().level != sandbox::Level::namespaces)
      GTEST_SKIP() << "no namespaces on this machine";
    folder_ = std::make_unique<TempDir>(*TempDir::create("fiel-test-ncu"));
    // As an installed one: root's candidates become nobody.
    fs::permissions(folder_->path(), static_cast<fs::perms>(0755));
    ncu("echo \"ncu $*\"; echo \"home $HOME\"\n");
    run_.ncu = folder_->path() / "bin/ncu";
    run_.metrics = {"a.sum", "b.avg"};
    run_.timeout_ms = 120'000;
    run_.place.tmp_bytes = 256u << 20;
  }
  void ncu(const std::string& script) { write("bin/ncu", "#!/bin/sh\n" + script, 0755); }
  fs::path write(const std::string& name, const std::string& text, int mode = 0644) {
    const fs::path path = folder_->path() / name;
    fs::create_directories(path.parent_path());
    fs::permissions(path.parent_path(), static_cast<fs::perms>(0755));
    EXPECT_TRUE(write_file_atomic(path, text));
    fs::permissions(path, static_cast<fs::perms>(mode));
    return path;
  }
  void bare(const std::string& kernel) {
    run_.place.candidate = write("kernel.cu", kernel);
    run_.call = write("call/call.txt", "output f32 1 4\n").parent_path();
    run_.program = folder_->path() / "program";
    fs::create_directories(run_.program);
    fs::permissions(run_.program, static_cast<fs::perms>(0755));
  }
  void module(const std::string& kernel) {
    run_.place.python.executable = "/usr/bin/python3";
    run_.place.candidate = write("kernel.py", kernel);
    run_.place.task = write("task.py", "class Model: pass\n");
  }
  CountedOutput counted() {
    auto out = counted_run(run_);
    EXPECT_TRUE(out) << (out ? "" : to_string(out.error()));
    return out ? *out : CountedOutput{};
  }
  std::unique_ptr<TempDir> folder_;
  CountedRun run_;
};

TEST_F(CountedRunTest, AModuleIsRunUnderItInTheJudgesSandbox) {
  module("class ModelNew: pass\n");
  ncu("echo \"ncu $*\"; echo \"home $HOME\"; touch " + folder_->path().string() +
      "/escaped; cat /etc/hostname; ls /proc | grep -c '^[0-9]'\n");
  const CountedOutput out = counted();
  EXPECT_THAT(out.text, HasSubstr("--metrics a.sum,b.avg"));
  EXPECT_THAT(out.text, HasSubstr("--launch-count 24"));
  EXPECT_THAT(out.text, HasSubstr("/candidate/kernel.py cpu"));
  EXPECT_THAT(out.text, HasSubstr("home /tmp"));
  EXPECT_THAT(out.text, Not(HasSubstr(run_.place.candidate.string())));  // a copy, elsewhere
  EXPECT_FALSE(fs::exists(folder_->path() / "escaped"));
}

TEST_F(CountedRunTest, ABareKernelIsCompiledBeforeInASandboxWithoutAGpu) {
  if (!build::find_toolchain()) GTEST_SKIP() << "no nvcc";
  run_.arch = "sm_90a";
  bare(
      "#include <fiel/kernel.h>\n"
      "FIEL_KERNEL int fiel_run(const fiel_tensor*, int, fiel_tensor*, int, cudaStream_t) "
      "{ return 0; }\n");
  ncu("echo \"ncu $*\"; for last; do before=$program; program=$last; done\n"
      "test -x \"$before\" && cat \"$last/call.txt\"\n");
  run_.place.device = "cuda:0";  // whose node is missing here, which the compiler must not mind
  const auto built = build_counted(run_);
  ASSERT_TRUE(built) << to_string(built.error());
  EXPECT_EQ(built->exit_code, 0) << built->text;
  EXPECT_TRUE(fs::exists(run_.program / "counted"));
  run_.place.device = "cpu";
  for (int again = 0; again < 2; ++again) {
    const CountedOutput out = counted();
    EXPECT_EQ(out.exit_code, 0) << out.text;
    EXPECT_THAT(out.text, HasSubstr("output f32 1 4"));
  }
  bare("broken\n");
  const auto broken = build_counted(run_);
  ASSERT_TRUE(broken);
  EXPECT_NE(broken->exit_code, 0);
  EXPECT_THAT(broken->text, HasSubstr("error"));
}

TEST_F(CountedRunTest, AModuleIsCalledThriceWithTheTasksInputs) {
  const auto python = find_python();
  if (!python) GTEST_SKIP() << to_string(python.error());
  module(
      "import torch\n"
      "class ModelNew(torch.nn.Module):\n"
      "    def __init__(self, alpha):\n"
      "        super().__init__()\n"
      "        self.alpha = alpha\n"
      "    def forward(self, a, b):\n"
      "        print('called with', self.alpha, tuple(a.shape), flush=True)\n"
      "        return self.alpha * a + b\n");
  run_.place.python = *python;
  run_.place.task = in_source("examples/torch/scaled_sum/task.py");
  ncu("while [ \"$1\" != '" + python->executable.string() + "' ]; do shift; done\nexec \"$@\"\n");
  const CountedOutput out = counted();
  EXPECT_EQ(out.exit_code, 0) << out.text;
  const std::string once = "called with 2.0 (64, 255)\n";
  EXPECT_THAT(out.text, HasSubstr(once + once + once));
}

TEST_F(CountedRunTest, ItTalksToItsProgramOverLoopback) {
  module("class ModelNew: pass\n");
  ncu("exec /usr/bin/python3 -c '\n"
      "import os, socket\n"
      "listener = socket.create_server((\"127.0.0.1\", 49152))\n"
      "if os.fork() == 0:\n"
      "    socket.create_connection((\"localhost\", 49152)).sendall(b\"connected\")\n"
      "    os._exit(0)\n"
      "print(listener.accept()[0].recv(16).decode())\n"
      "'\n");
  EXPECT_EQ(counted().text, "connected\n");
}

TEST_F(CountedRunTest, WhatDoesNotEndIsEnded) {
  module("class ModelNew: pass\n");
  ncu("echo begun; sleep 1000 & sleep 1000\n");
  run_.timeout_ms = 1'500;
  const CountedOutput out = counted();
  EXPECT_EQ(out.stopped, "out of time");
  EXPECT_THAT(out.text, HasSubstr("begun"));
}

TEST_F(CountedRunTest, WhatItPrintsIsBounded) {
  module("class ModelNew: pass\n");
  ncu("head -c 20000000 /dev/zero\n");
  EXPECT_LE(counted().text.size(), 2u << 20);
}

TEST(FindNcu, TheNewestVersionsOwnComesBeforeAToolkitsScript) {
  const auto folder = TempDir::create("fiel-test-places");
  ASSERT_TRUE(folder);
  const auto program = [&](const std::string& name) {
    const fs::path path = folder->path() / name;
    fs::create_directories(path.parent_path());
    EXPECT_TRUE(write_file_atomic(path, "#!/bin/sh\n"));
    fs::permissions(path, static_cast<fs::perms>(0755));
    return path;
  };
  NcuPlaces places;
  places.path = "relative:" + (folder->path() / "bin").string();
  places.toolkits = {folder->path() / "cuda"};
  places.nsight = folder->path() / "nsight";
  EXPECT_FALSE(find_ncu(places));
  const fs::path toolkit = program("cuda/bin/ncu");
  EXPECT_EQ(find_ncu(places), toolkit);
  const fs::path on_path = program("bin/ncu");
  EXPECT_EQ(find_ncu(places), on_path);
  program("nsight/2025.9.1/ncu");
  const fs::path newest = program("nsight/2025.10.0/ncu");
  fs::create_directories(places.nsight / "2025.11.0");  // without one
  EXPECT_EQ(find_ncu(places), newest);
  places.named = toolkit.string();
  EXPECT_EQ(find_ncu(places), toolkit);
  places.named = (folder->path() / "none").string();
  EXPECT_FALSE(find_ncu(places));
}

}  // namespace
}  // namespace fiel::worker
