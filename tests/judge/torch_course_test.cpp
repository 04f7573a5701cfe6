// The course of a PyTorch judgement against an oracle and runners that compute nothing: what each
// failure of a process makes of the verdict, and which cases run where.
#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "base/files.h"
#include "base/process.h"
#include "base/text.h"
#include "judge/torch/judge_torch.h"
#include "worker/python_launch.h"
#include "worker/trusted_child.h"

namespace fiel::judge::torch {
namespace {

const char* const kScript = FIEL_SOURCE_DIR "/tests/judge/fake_torch/worker.py";

class TorchJudgement : public ::testing::Test {
 protected:
  void SetUp() override {
    auto folder = TempDir::create("course");
    ASSERT_TRUE(folder);
    folder_ = std::make_unique<TempDir>(std::move(*folder));
    kernel_ = (folder_->path() / "kernel.py").string();
    std::ofstream(kernel_) << "class ModelNew: pass\n";
    request_.task_path = request_.kernel_path = kernel_;
    request_.options.seed = 7;
    request_.options.call_timeout_ms = 1'500;
    request_.time_budget_ms = 0;
    request_.locks = folder_->path();
  }

  Result<std::unique_ptr<worker::TorchWorker>> start(const std::string& role,
                                                     const std::string& behaviour, bool trusted) {
    FIEL_TRY(auto ends, worker::make_channel());
    const auto python = find_program("python3");
    if (!python) return fail(ErrorCode::not_found, "no python3");
    const std::string log = (folder_->path() / "log").string();
    worker::TrustedRequest q{
        {python->string(), kScript, role, behaviour, log}, {}, ends.theirs.get()};
    FIEL_TRY(auto child, worker::start_trusted(q));
    return std::make_unique<worker::TorchWorker>(std::move(child), std::move(ends.ours), trusted);
  }

  Workers workers() {
    Workers w;
    w.oracle = [this] { return start("oracle", oracle_, true); };
    w.baseline = [this](const std::string&) { return start("runner", baseline_, true); };
    w.candidate = [this](const std::string&) -> Result<worker::ConfinedRunner> {
      FIEL_TRY(auto process, start("runner", candidate_, false));
      FIEL_TRY(TempDir stage, TempDir::create("stage"));
      return worker::ConfinedRunner{std::move(process), kernel_, kernel_, "cpu", std::move(stage)};
    };
    return w;
  }

  Verdict judged() {
    auto v = judge(request_, workers());
    EXPECT_TRUE(v) << (v ? "" : to_string(v.error()));
    return v ? *v : Verdict{};
  }
  VerdictStatus status_of(const std::string& candidate) {
    candidate_ = candidate;
    return judged().status;
  }

  void on_a_gpu() {
    request_.device = "cuda:0";
    oracle_ += ",gpu";
    request_.time_budget_ms = 5'000;
    request_.baselines = {"eager"};
  }

  std::vector<Json> log() const {
    std::vector<Json> lines;
    const std::string text = read_file(folder_->path() / "log").value_or("");
    for (const std::string_view line : split(text, '\n'))
      if (auto json = Json::parse(line); json && !json->is_null()) lines.push_back(*json);
    return lines;
  }
  size_t asked(const std::string& op, const std::string& shape) const {
    size_t n = 0;
    for (const Json& line : log())
      n += line["op"].as_string() == op && line["shape"].as_string() == shape ? 1 : 0;
    return n;
  }

  std::unique_ptr<TempDir> folder_;
  std::string kernel_, oracle_ = "right", baseline_ = "right", candidate_ = "right";
  TorchRequest request_;
};

const FindingRecord* found(const Verdict& v, const std::string& code) {
  for (const FindingRecord& f : v.findings)
    if (f.code == code) return &f;
  return nullptr;
}

TEST_F(TorchJudgement, ARightKernelIsCorrect) {
  const Verdict v = judged();
  EXPECT_EQ(v.status, VerdictStatus::correct) << v.reason;
  EXPECT_GT(v.resources.calls_compared, 40u);
  EXPECT_EQ(found(v, "planned-by-cost"), nullptr);
}

TEST_F(TorchJudgement, EveryFailureHasItsStatus) {
  EXPECT_EQ(status_of("wrong"), VerdictStatus::incorrect);
  EXPECT_EQ(status_of("wrong-later"), VerdictStatus::incorrect);
  EXPECT_EQ(status_of("hang"), VerdictStatus::timeout);
  EXPECT_EQ(status_of("crash"), VerdictStatus::runtime_error);
  EXPECT_EQ(status_of("garbage"), VerdictStatus::tampering);
  EXPECT_EQ(status_of("out-of-memory"), VerdictStatus::runtime_error);
  EXPECT_EQ(status_of("compile-error"), VerdictStatus::compile_error);
}

TEST_F(TorchJudgement, ARunnerThatDoesNotTellItsStateIsWrong) {
  oracle_ = "buffers";
  EXPECT_EQ(status_of("right"), VerdictStatus::correct);
  for (const char* silent : {"silent-state", "no-state", "odd-state"})
    EXPECT_EQ(status_of(silent), VerdictStatus::incorrect) << silent;
  EXPECT_EQ(status_of("garbage-state"), VerdictStatus::tampering);
}

TEST_F(TorchJudgement, ACompileErrorIsToldByTheCompilersWords) {
  candidate_ = "compile-error";
  const Verdict v = judged();
  EXPECT_NE(v.reason.find("a.cu(3): error: no such thing"), std::string::npos) << v.reason;
  EXPECT_TRUE(v.compiler_output.starts_with("/tmp/a.cu(3)")) << v.compiler_output;
}

TEST_F(TorchJudgement, AHarnessFaultSaysTheErrorAndShowsTheTraceback) {
  oracle_ = "worker-fault";
  const Verdict v = judged();
  EXPECT_EQ(v.status, VerdictStatus::harness_fault);
  EXPECT_NE(v.reason.find("KeyError: 'nothing'"), std::string::npos) << v.reason;
  EXPECT_EQ(v.reason.find("Traceback"), std::string::npos) << v.reason;
  ASSERT_NE(found(v, "worker-traceback"), nullptr);
  EXPECT_NE(found(v, "worker-traceback")->detail.find("oracle.py"), std::string::npos);
}

TEST_F(TorchJudgement, AWidenedBoundIsAWarning) {
  oracle_ = "widened";
  const Verdict v = judged();
  ASSERT_NE(found(v, "bound-widened"), nullptr);
  EXPECT_EQ(found(v, "bound-widened")->grade, vgpu::Grade::warn);
}

TEST_F(TorchJudgement, AnExpensiveTaskIsJudgedAtASmallShape) {
  oracle_ = "expensive,gpu";
  request_.device = "cuda:0";
  const Verdict v = judged();
  EXPECT_EQ(v.status, VerdictStatus::correct) << v.reason;
  const FindingRecord* plan = found(v, "planned-by-cost");
  ASSERT_NE(plan, nullptr);
  EXPECT_NE(plan->detail.find("batch=1"), std::string::npos) << plan->detail;
  EXPECT_LE(asked("prepare", ""), 5u);
  EXPECT_GE(asked("prepare", "batch=1"), 40u);
}

TEST_F(TorchJudgement, AKernelOfOneShapeIsJudgedThereWithFewerCalls) {
  oracle_ = "expensive,gpu";
  candidate_ = "refuses";
  request_.device = "cuda:0";
  const Verdict v = judged();
  EXPECT_EQ(v.status, VerdictStatus::correct) << v.reason;
  EXPECT_FALSE(v.refused_shapes.empty());
  ASSERT_NE(found(v, "planned-by-cost"), nullptr);
  EXPECT_NE(found(v, "planned-by-cost")->detail.find("fewer calls"), std::string::npos);
  EXPECT_LT(v.resources.calls, 60u);
}

TEST_F(TorchJudgement, ASmallShapeCondemnsNoTask) {
  oracle_ = "expensive,gpu,void-when-small";
  request_.device = "cuda:0";
  EXPECT_EQ(judged().status, VerdictStatus::correct);
  oracle_ = "expensive,gpu,void-anywhere";
  EXPECT_EQ(judged().status, VerdictStatus::task_void);
}

TEST_F(TorchJudgement, TheOraclesOwnMemoryIsTriedAgainAloneThenNobodysFault) {
  oracle_ = "memory,gpu";
  request_.device = "cuda:0";
  const Verdict v = judged();
  EXPECT_EQ(v.status, VerdictStatus::undecided) << v.reason;
  EXPECT_NE(v.reason.find("9 GiB"), std::string::npos) << v.reason;
  EXPECT_EQ(asked("open_task", ""), 2u);
}

TEST_F(TorchJudgement, TheKernelsOwnMemoryIsItsFaultOnceItIsAlone) {
  oracle_ = "right,gpu";
  request_.device = "cuda:0";
  candidate_ = "out-of-memory";
  EXPECT_EQ(judged().status, VerdictStatus::runtime_error);
  EXPECT_EQ(asked("load", ""), 2u);
}

TEST_F(TorchJudgement, TimesAreMeasuredBesideABaseline) {
  on_a_gpu();
  const Verdict v = judged();
  EXPECT_EQ(v.status, VerdictStatus::correct) << v.reason;
  ASSERT_TRUE(v.measurement);
  ASSERT_EQ(v.measurement->sides.size(), 2u);  // without products one policy is all
  EXPECT_EQ(v.measurement->sides[1].policy, "default");
  ASSERT_EQ(v.measurement->ratios.size(), 1u);
  EXPECT_EQ(v.measurement->memory.kernel_transient_bytes, 64u);
  EXPECT_EQ(v.measurement->memory.kernel_peak_bytes, 80u);
}

TEST_F(TorchJudgement, AWrongAnswerInATimedCallIsIncorrect) {
  on_a_gpu();
  oracle_ += ",late-wrong";
  const Verdict v = judged();
  EXPECT_EQ(v.status, VerdictStatus::incorrect);
  ASSERT_TRUE(v.witness);
  EXPECT_EQ(v.witness->probe, Probe::timed_calls);
}

TEST_F(TorchJudgement, AKernelThatLeavesTheClockFails) {
  on_a_gpu();
  oracle_ += ",kernel-leaves";
  EXPECT_EQ(judged().status, VerdictStatus::runtime_error);
  request_.timing = Timing::graph;
  const Verdict v = judged();
  EXPECT_EQ(v.status, VerdictStatus::correct);
  EXPECT_NE(v.measurement->why.find("graph"), std::string::npos) << v.measurement->why;
}

TEST_F(TorchJudgement, ADeadBaselineTakesNothingFromTheKernel) {
  on_a_gpu();
  for (const char* behaviour : {"no-load", "dies-when-called"}) {
    baseline_ = behaviour;
    const Verdict v = judged();
    EXPECT_EQ(v.status, VerdictStatus::correct) << behaviour << ": " << v.reason;
    ASSERT_TRUE(v.measurement);
    ASSERT_EQ(v.measurement->sides.size(), 2u) << behaviour;
    EXPECT_FALSE(v.measurement->sides[1].unavailable.empty()) << behaviour;
  }
}

TEST_F(TorchJudgement, TrustedWorkersServeTheNextTaskAfterAReset) {
  on_a_gpu();
  size_t started = 0;
  Workers w = workers();
  std::vector<std::unique_ptr<worker::TorchWorker>> idle;
  w.oracle = [&]() -> Workers::Process {
    if (!idle.empty()) {
      auto process = std::move(idle.back());
      idle.clear();
      return process;
    }
    ++started;
    return start("oracle", oracle_, true);
  };
  w.give_back = [&](std::unique_ptr<worker::TorchWorker> process) {
    idle.insert(idle.begin(), std::move(process));
  };
  request_.time_budget_ms = 0;
  ASSERT_TRUE(judge(request_, w));
  ASSERT_TRUE(judge(request_, w));
  EXPECT_EQ(started, 1u);
  EXPECT_EQ(asked("reset", ""), 2u);
}

TEST_F(TorchJudgement, AfterAFaultNoWorkerServesAgain) {
  size_t back = 0;
  oracle_ = "memory";
  Workers w = workers();
  w.give_back = [&](std::unique_ptr<worker::TorchWorker>) { ++back; };
  ASSERT_TRUE(judge(request_, w));
  EXPECT_EQ(back, 0u);
}

/// Two judgements at once: while one times, the other is not let in.
TEST_F(TorchJudgement, TimingIsAloneOnTheGpu) {
  on_a_gpu();
  std::jthread other([&] { EXPECT_TRUE(judge(request_, workers())); });
  EXPECT_TRUE(judge(request_, workers()));
  other.join();
  // Between the first and the last `time` of an oracle no other process works on a case.
  std::map<int64_t, std::pair<double, double>> timing;
  for (const Json& line : log())
    if (line["op"].as_string() == "time" && line["role"].as_string() == "oracle") {
      auto& [first, last] = timing[line["pid"].as_int()];
      if (first == 0) first = line["at"].as_double();
      last = line["at"].as_double();
    }
  ASSERT_EQ(timing.size(), 2u);
  for (const Json& line : log()) {
    const std::string& op = line["op"].as_string();
    if (op != "prepare" && op != "verify" && op != "place" && op != "call") continue;
    for (const auto& [pid, span] : timing) {
      if (line["pid"].as_int() == pid || line["role"].as_string() != "oracle") continue;
      const double at = line["at"].as_double();
      EXPECT_FALSE(at > span.first && at < span.second) << op;
    }
  }
}

}  // namespace
}  // namespace fiel::judge::torch
