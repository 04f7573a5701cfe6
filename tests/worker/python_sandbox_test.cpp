// What a Python candidate can and cannot reach. The package is a fake one that runs what it is
// sent.
#include "worker/python_sandbox.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "places.h"
#include "sandbox/gpu_nodes.h"

namespace fiel::worker {
namespace {
namespace fs = std::filesystem;

class PythonSandbox : public ::testing::TestWithParam<sandbox::Level> {
 protected:
  void SetUp() override {
    if (!fs::exists("/usr/bin/python3")) GTEST_SKIP() << "no /usr/bin/python3";
    if (GetParam() == sandbox::Level::namespaces &&
        sandbox::probe().level != sandbox::Level::namespaces)
      GTEST_SKIP() << "no namespaces on this machine";
    ::setenv("FIEL_WORKER_PYTHON", in_source("tests/worker/fake_torch").c_str(), 1);
    folder_ = std::make_unique<TempDir>(*TempDir::create("fiel-test-candidate"));
    std::ofstream(folder_->path() / "kernel.py") << "class ModelNew: pass\n";
    std::ofstream(folder_->path() / "task.py") << "class Model: pass\n";
    std::ofstream(folder_->path() / "secret.txt") << "the seeds\n";
    q_.python.executable = "/usr/bin/python3";
    q_.candidate = folder_->path() / "kernel.py";
    q_.task = folder_->path() / "task.py";
    q_.tmp_bytes = 64u << 20;
    policy_.wanted = GetParam();
    policy_.limits = python_limits();
    policy_.limits.memory_bytes = 1u << 30;
  }
  void TearDown() override { ::unsetenv("FIEL_WORKER_PYTHON"); }

  void start() {
    auto started = start_confined_runner(q_, policy_);
    ASSERT_TRUE(started) << to_string(started.error());
    runner_ = std::make_unique<ConfinedRunner>(std::move(*started));
  }
  Answer<Json> run(const std::string& code, int64_t timeout_ms = 30'000) {
    if (!runner_) start();
    auto reply = runner_->worker->ask(Json::object({{"run", code}}), {.timeout_ms = timeout_ms});
    if (!reply) return reply;
    return (*reply)["result"];
  }
  std::string text(const std::string& code) {
    auto reply = run(code);
    EXPECT_TRUE(reply) << (reply ? "" : reply.error().what + "\n" + reply.error().output);
    return !reply ? "" : reply->is_string() ? reply->as_string() : reply->dump();
  }
  bool confined_files() const {
    const auto& have = runner_->worker->isolation().in_force;
    return GetParam() == sandbox::Level::namespaces ||
           std::find(have.begin(), have.end(), "files by Landlock") != have.end();
  }

  std::unique_ptr<TempDir> folder_;
  ConfinedRequest q_;
  sandbox::IsolationPolicy policy_;
  std::unique_ptr<ConfinedRunner> runner_;
};

TEST_P(PythonSandbox, TheCandidateAndTheTaskAreThereAndNothingElseOfTheirFolder) {
  start();
  EXPECT_EQ(text("result = open('" + runner_->candidate + "').read()"), "class ModelNew: pass\n");
  EXPECT_EQ(text("result = open('" + runner_->task + "').read()"), "class Model: pass\n");
  if (!confined_files()) GTEST_SKIP() << "no Landlock on this machine";
  const std::string secret = (folder_->path() / "secret.txt").string();
  EXPECT_EQ(text("result = open('" + secret + "').read()").substr(0, 7), "raised:");
  EXPECT_EQ(text("result = open('" + runner_->candidate + "', 'w')").substr(0, 7), "raised:");
}

TEST_P(PythonSandbox, TheEnvironmentHoldsNothingOfOurs) {
  ::setenv("FIEL_TEST_SECRET", "s3cret", 1);
  EXPECT_EQ(text("import os; result = 's3cret' in str(os.environ)"), "false");
  EXPECT_EQ(text("import os; result = os.environ['USER']"), "fiel");
}

TEST_P(PythonSandbox, ThereIsNoNetwork) {
  EXPECT_EQ(text("import socket; socket.socket(socket.AF_INET)").substr(0, 7), "raised:");
  EXPECT_EQ(text("import socket; socket.socket(socket.AF_UNIX)").substr(0, 7), "raised:");
}

TEST_P(PythonSandbox, ItWritesToItsTemporaryFolderAlone) {
  EXPECT_EQ(text("import tempfile; f = tempfile.NamedTemporaryFile(); f.write(b'x'); result = 1"),
            "1");
  if (!confined_files()) GTEST_SKIP() << "no Landlock on this machine";
  for (const char* place : {"/usr/lib/x", "/etc/x", "/x", "/fiel/x"})
    EXPECT_EQ(text(std::string("open('") + place + "', 'w')").substr(0, 7), "raised:") << place;
}

TEST_P(PythonSandbox, ItsTemporaryFolderIsBounded) {
  if (GetParam() != sandbox::Level::namespaces) GTEST_SKIP() << "by file size only";
  EXPECT_NE(text("f = open('/tmp/large', 'wb')\n"
                 "for _ in range(200): f.write(b'x' * (1 << 20))\n")
                .find("No space left"),
            std::string::npos);
}

TEST_P(PythonSandbox, NoGpuIsThereForTheCpu) {
  if (GetParam() != sandbox::Level::namespaces) GTEST_SKIP() << "/dev is the system's";
  EXPECT_EQ(text("import glob; result = len(glob.glob('/dev/nvidia*'))"), "0");
}

TEST_P(PythonSandbox, ItIsNobody) {
  if (::geteuid() != 0) GTEST_SKIP() << "we are no root";
  EXPECT_EQ(text("import os; result = os.getuid()"), "65534");
}

TEST_P(PythonSandbox, ItCompilesAndStartsProgramsAndThreads) {
  EXPECT_EQ(text("import subprocess; result = subprocess.run(['/bin/sh', '-c', 'echo built'], "
                 "capture_output=True, text=True).stdout"),
            "built\n");
  EXPECT_EQ(text("import threading\n"
                 "ts = [threading.Thread(target=lambda: None) for _ in range(128)]\n"
                 "[t.start() for t in ts]; [t.join() for t in ts]; result = len(ts)"),
            "128");
}

TEST_P(PythonSandbox, MemoryBeyondTheLimitEndsIt) {
  auto reply =
      run("kept = [bytearray(b'x' * (64 << 20)) for _ in range(64)]; "
          "import time; time.sleep(20)");
  if (reply && reply->as_string().find("MemoryError") != std::string::npos) return;
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().kind, Fault::memory) << reply.error().what;
}

TEST_P(PythonSandbox, MemoryFilesBeyondTheLimitEndIt) {
  auto reply =
      run("import os, time\n"
          "kept = [os.memfd_create(str(i)) for i in range(20)]\n"
          "for file in kept: os.write(file, bytes(64 << 20))\n"
          "time.sleep(20)");
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().kind, Fault::memory) << reply.error().what;
}

TEST_P(PythonSandbox, LimitsNeverTakeMoreThanHalfOfTheMachine) {
  const auto machine = static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                       static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  EXPECT_LE(python_limits().memory_bytes, machine / 2);
  EXPECT_LE(python_tmp_bytes(), machine / 8);
}

TEST_P(PythonSandbox, AForkBombEnds) {
  policy_.limits.processes = 64;
  auto reply =
      run("import os, time\n"
          "for _ in range(5000):\n"
          "    if os.fork() == 0: time.sleep(30); os._exit(0)\n");
  if (reply) {
    EXPECT_NE(reply->as_string().find("BlockingIOError"), std::string::npos) << reply->dump();
  } else {
    EXPECT_EQ(reply.error().kind, Fault::memory) << reply.error().what;
  }
}

TEST_P(PythonSandbox, AHangIsKilledAndTheNextOneWorks) {
  auto reply = run("import time; time.sleep(60)", 1'000);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().kind, Fault::timeout);
  runner_.reset();
  EXPECT_EQ(text("result = 'alive'"), "alive");
}

TEST_P(PythonSandbox, TheReportTellsTheLevel) {
  start();
  EXPECT_EQ(runner_->worker->isolation().level, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Levels, PythonSandbox,
                         ::testing::Values(sandbox::Level::namespaces, sandbox::Level::limits),
                         [](const auto& level) { return sandbox::name_of(level.param); });

TEST(GpuNodes, TheGpuAskedForAndNoOther) {
  auto root = TempDir::create("fiel-test-gpu");
  const fs::path dev = root->path() / "dev", gpus = root->path() / "proc/driver/nvidia/gpus";
  fs::create_directories(dev);
  for (const char* node : {"nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm", "nvidia-modeset"})
    std::ofstream(dev / node) << "";
  for (const char* bus : {"0000:01:00.0", "0000:02:00.0"}) fs::create_directories(gpus / bus);
  std::ofstream(gpus / "0000:01:00.0/information")
      << "Model: \t\t NVIDIA H200\nGPU UUID: \t GPU-aaaa\nDevice Minor: \t 1\n";
  std::ofstream(gpus / "0000:02:00.0/information")
      << "Model: \t\t NVIDIA H200\nGPU UUID: \t GPU-bbbb\nDevice Minor: \t 0\n";
  auto nodes = sandbox::gpu_nodes("GPU-aaaa", dev, root->path() / "proc");
  ASSERT_TRUE(nodes);
  EXPECT_EQ(nodes->paths,
            (std::vector<fs::path>{dev / "nvidiactl", dev / "nvidia-uvm", dev / "nvidia1"}));
  EXPECT_TRUE(nodes->missing.empty());
  nodes = sandbox::gpu_nodes("GPU-cccc", dev, root->path() / "proc");
  ASSERT_TRUE(nodes);
  EXPECT_EQ(nodes->paths.size(), 4u);
  EXPECT_FALSE(nodes->missing.empty());
  EXPECT_FALSE(sandbox::gpu_nodes("GPU-aaaa", root->path(), root->path() / "proc"));
}

}  // namespace
}  // namespace fiel::worker
