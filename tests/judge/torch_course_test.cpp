// The course of a PyTorch judgement against an oracle and runners that compute nothing: what each
// failure of a process makes of the verdict, and which cases run where.
#include "torch_judgement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <thread>

namespace fiel::judge::torch {
namespace {

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

TEST_F(TorchJudgement, AReplyBehindTheLastAnswerIsTampering) {
  EXPECT_EQ(status_of("wrong,again=1"), VerdictStatus::tampering);
  request_.time_budget_ms = 0;
  candidate_ = "right";
  const uint64_t calls = judged().resources.calls;
  EXPECT_EQ(status_of("right,again=" + std::to_string(calls)), VerdictStatus::tampering);
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

TEST_F(TorchJudgement, CallsThatAreOnlyCountedShareInputs) {
  oracle_ = "few-inputs";
  const Verdict v = judged();
  EXPECT_EQ(v.status, VerdictStatus::correct) << v.reason;
  const auto repeated = std::find_if(v.probes.begin(), v.probes.end(), [](const ProbeResult& p) {
    return p.probe == Probe::repeated_calls;
  });
  ASSERT_NE(repeated, v.probes.end());
  EXPECT_EQ(repeated->calls, 32u);
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
  EXPECT_GE(asked("prepare", "batch=1"), 30u);
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

TEST_F(TorchJudgement, TheVirtualDeviceHasTheTimeOfTheCpu) {
  bare();
  request_.device = "virtual";
  request_.time_budget_ms = 0;
  request_.options.effort = Effort::quick;
  oracle_ = "right,slow-cases";  // 0.1 s each
  const Verdict v = judged();
  EXPECT_EQ(v.status, VerdictStatus::correct) << v.reason;
  EXPECT_EQ(found(v, "planned-by-cost"), nullptr);
}

/// A processor that was elsewhere for a while says nothing of what a case costs.
TEST_F(TorchJudgement, OneSlowCaseMakesNoTaskExpensive) {
  oracle_ = "right,slow-first,gpu";
  request_.device = "cuda:0";
  const Verdict v = judged();
  EXPECT_EQ(v.status, VerdictStatus::correct) << v.reason;
  EXPECT_EQ(found(v, "planned-by-cost"), nullptr);
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

TEST_F(TorchJudgement, ABareKernelIsCreditedAgainstAGaugeInItsPlace) {
  bare();
  const Verdict v = judged();
  EXPECT_EQ(v.status, VerdictStatus::correct) << v.reason;
  ASSERT_TRUE(v.measurement);
  const auto& sides = v.measurement->sides;
  ASSERT_EQ(sides.size(), 2u) << "the gauge is no side";
  EXPECT_EQ(sides[0].name, "kernel");
  EXPECT_EQ(sides[0].gap_from, "gauge");
  EXPECT_EQ(sides[1].gap_from, "baselines");
  EXPECT_EQ(v.measurement->ratios.size(), 1u);
}

TEST_F(TorchJudgement, WithoutAGaugeTheBaselinesGapStands) {
  bare();
  gauge_ = []() -> Result<Compiled> { return fail(ErrorCode::io, "no nvcc today"); };
  const Verdict v = judged();
  EXPECT_EQ(v.status, VerdictStatus::correct) << v.reason;
  ASSERT_TRUE(v.measurement);
  EXPECT_EQ(v.measurement->sides[0].gap_from, "baselines");
  ASSERT_FALSE(v.environment.notes.empty());
  EXPECT_NE(v.environment.notes.back().find("no nvcc today"), std::string::npos);
}

TEST_F(TorchJudgement, AModuleHasNoGauge) {
  on_a_gpu();
  gauge_ = []() -> Result<Compiled> { return fail(ErrorCode::io, "nobody asked"); };
  const Verdict v = judged();
  ASSERT_TRUE(v.measurement);
  EXPECT_EQ(v.measurement->sides[0].gap_from, "baselines");
  EXPECT_TRUE(v.environment.notes.empty());
}

TEST_F(TorchJudgement, OwnKernelsShareAndTheTrackAreInTheVerdict) {
  on_a_gpu();
  request_.track = Track::own;
  Json m = to_json(judged())["measurement"];
  EXPECT_EQ(m["own_share"].as_double(), 1);
  EXPECT_EQ(m["evidence_missing"].as_string(), "");
  EXPECT_EQ(m["graph_launches"].as_int(), 2);
  candidate_ = "right,library=3e5";
  const Verdict v = judged();
  EXPECT_EQ(v.status, VerdictStatus::policy_violation) << v.reason;
  EXPECT_NE(found(v, "library-kernels"), nullptr);
  EXPECT_EQ(to_json(v)["measurement"]["own_share"].as_double(), 0.25);
  EXPECT_EQ(to_json(v)["reward"].as_int(), -1);
}

TEST_F(TorchJudgement, ATrackThatNobodyCouldJudgeIsSaid) {
  request_.track = Track::own;
  ASSERT_NE(found(judged(), "track-unjudged"), nullptr) << "nothing is timed here";
  on_a_gpu();
  for (const auto& [behaviour, why] :
       {std::pair{"unseen", "the profiler saw no kernel"}, {"no-evidence", "no profiler today"}}) {
    candidate_ = behaviour;
    request_.track = Track::own;
    const Verdict v = judged();
    EXPECT_EQ(v.status, VerdictStatus::correct) << v.reason;
    const FindingRecord* said = found(v, "track-unjudged");
    ASSERT_NE(said, nullptr) << behaviour;
    EXPECT_EQ(said->grade, vgpu::Grade::warn);
    EXPECT_NE(said->detail.find(why), std::string::npos) << said->detail;
    const Json m = to_json(v)["measurement"];
    EXPECT_TRUE(m["own_share"].is_null());
    EXPECT_NE(m["evidence_missing"].as_string().find(why), std::string::npos);
    request_.track = Track::any;
    EXPECT_EQ(found(judged(), "track-unjudged"), nullptr) << "nobody asked";
  }
  candidate_ = "right";
  request_.track = Track::own;
  EXPECT_EQ(found(judged(), "track-unjudged"), nullptr);
}

TEST_F(TorchJudgement, TheRewardIsInEveryVerdict) {
  on_a_gpu();
  EXPECT_EQ(to_json(judged())["reward"].as_int(), 2) << "twice as fast as eager, nothing compiled";
  for (const char* bad : {"wrong", "compile-error", "hang"}) {
    behave(bad);
    EXPECT_EQ(to_json(judged())["reward"].as_int(), -1) << bad;
  }
  oracle_ = "worker-fault";
  EXPECT_TRUE(to_json(judged())["reward"].is_null());
  oracle_ = "right,void-anywhere";
  EXPECT_TRUE(to_json(judged())["reward"].is_null());
}

TEST_F(TorchJudgement, ADroppedProbeIsListedWithItsReason) {
  oracle_ = "right,drops";
  const Verdict v = judged();
  EXPECT_EQ(v.status, VerdictStatus::correct) << v.reason;
  const auto dropped = std::find_if(v.probes.begin(), v.probes.end(), [](const ProbeResult& p) {
    return p.probe == Probe::special_values;
  });
  ASSERT_NE(dropped, v.probes.end());
  EXPECT_EQ(dropped->outcome, ProbeOutcome::dropped);
  EXPECT_EQ(dropped->reason, "the reference is not finite at ''");
  EXPECT_EQ(dropped->calls, 0u);
}

TEST_F(TorchJudgement, AReferenceThatNoSeedRepeatsIsVoid) {
  oracle_ = "right,clock-seeded";
  const Verdict v = judged();
  EXPECT_EQ(v.status, VerdictStatus::task_void);
  EXPECT_NE(v.reason.find("same inputs and random state differ"), std::string::npos) << v.reason;
  EXPECT_EQ(asked("load", ""), 0u) << "no candidate was run";
}

TEST_F(TorchJudgement, OtherStridesAreSaidAndNoFault) {
  EXPECT_EQ(found(judged(), "strides-differ"), nullptr);
  oracle_ = "right,strides";
  const Verdict v = judged();
  EXPECT_EQ(v.status, VerdictStatus::correct) << v.reason;
  const FindingRecord* said = found(v, "strides-differ");
  ASSERT_NE(said, nullptr);
  EXPECT_EQ(said->grade, vgpu::Grade::info);
  EXPECT_NE(said->detail.find("[1, 64]"), std::string::npos) << said->detail;
}

/// The names and policies of the sides after the kernel.
std::string sides_of(const Verdict& v) {
  std::string text;
  for (size_t i = 1; v.measurement && i < v.measurement->sides.size(); ++i)
    text += v.measurement->sides[i].name + " " + v.measurement->sides[i].policy + ";";
  return text;
}

TEST_F(TorchJudgement, PoliciesAreThoseThatTheDtypesSay) {
  on_a_gpu();
  const std::string base = oracle_;
  for (const auto& [behaviour, sides] :
       {std::pair{"", "eager default;"},
        {",products", "eager fp32;eager default;eager tf32;"},
        {",bfloat16", "eager default;eager bf16;"},
        {",products,float16", "eager fp32;eager default;eager tf32;eager fp16;"}}) {
    oracle_ = base + behaviour;
    const Verdict v = judged();
    EXPECT_EQ(sides_of(v), sides) << behaviour;
    EXPECT_EQ(found(v, "policy-left-out"), nullptr) << "nobody asked for any";
  }
}

TEST_F(TorchJudgement, APolicyThatIsAskedForAndLeftOutIsSaid) {
  on_a_gpu();
  oracle_ += ",products";
  request_.policies = {"tf32", "bf16"};
  const Verdict v = judged();
  EXPECT_EQ(sides_of(v), "eager tf32;");
  const FindingRecord* said = found(v, "policy-left-out");
  ASSERT_NE(said, nullptr);
  EXPECT_NE(said->detail.find("bf16: no output of the task is bfloat16"), std::string::npos)
      << said->detail;
}

TEST_F(TorchJudgement, WithoutACompilerItsBaselinesAreLeftOutWithTheReason) {
  on_a_gpu();
  oracle_ += ",old";
  request_.baselines = {"eager", "compile", "max-autotune"};
  const Verdict v = judged();
  EXPECT_EQ(v.status, VerdictStatus::correct) << v.reason;
  ASSERT_TRUE(v.measurement);
  ASSERT_EQ(sides_of(v), "eager default;compile default;max-autotune default;");
  EXPECT_EQ(v.measurement->sides[1].unavailable, "");
  for (size_t i : {2, 3})
    EXPECT_EQ(v.measurement->sides[i].unavailable, "torch.compile needs PyTorch 2.4, this is 2.3");
  for (const Json& line : log())
    EXPECT_TRUE(line["compile"].as_string().empty() || line["compile"].as_string() == "none");
}

TEST_F(TorchJudgement, ABareKernelThatCannotBeReplayedSaysWhy) {
  bare();
  request_.timing = Timing::graph;
  const Verdict v = judged();
  EXPECT_EQ(v.status, VerdictStatus::correct) << v.reason;
  ASSERT_TRUE(v.measurement);
  EXPECT_EQ(
      v.measurement->why,
      "the kernel could not be put under the clock: a bare kernel is not replayed as a graph");
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

/// The answer is a minute away, and never comes: neither a verdict nor the minute.
TEST_F(TorchJudgement, StopsWhileAWorkerIsBusy) {
  candidate_ = "hang";
  request_.options.call_timeout_ms = 600'000;
  request_.options.interrupted = [this] {
    const std::vector<Json> lines = log();
    return std::any_of(lines.begin(), lines.end(),
                       [](const Json& line) { return line["op"].as_string() == "call"; });
  };
  const auto v = judge(request_, workers());
  ASSERT_FALSE(v);
  EXPECT_EQ(v.error().code, ErrorCode::interrupted);
}

/// An operation that would take an hour, and a judgement whose time is over meanwhile.
struct Stuck {
  const char *role, *op;
  bool timed = false;  ///< after the kernel was found right
};
void PrintTo(const Stuck& s, std::ostream* out) { *out << s.role << " in " << s.op; }

class StuckWorker : public TorchJudgement, public ::testing::WithParamInterface<Stuck> {};

TEST_P(StuckWorker, EndsWithTheTimeOfTheJudgementAndBlamesNobody) {
  const Stuck& stuck = GetParam();
  // A calibration that was kept would not be measured.
  setenv("FIEL_CACHE", (folder_->path() / "cache").c_str(), 1);
  if (stuck.timed) on_a_gpu();
  const std::string role = stuck.role;
  std::string& behaviour = role == "oracle" ? oracle_ : role == "kernel" ? candidate_ : baseline_;
  behaviour += std::string(",stuck-in-") + stuck.op;
  request_.options.call_timeout_ms = 3'600'000;
  request_.options.time_limit_ms = 400'000;
  request_.options.now_ms = [this]() -> int64_t { return asked("stuck", "") > 0 ? 400'000 : 0; };
  const Verdict v = judged();
  EXPECT_GT(asked("stuck", ""), 0u);
  EXPECT_EQ(v.status, stuck.timed ? VerdictStatus::correct : VerdictStatus::undecided) << v.reason;
  EXPECT_EQ(v.speed, "not_measured");
  const std::string& why = stuck.timed ? v.measurement->why : v.reason;
  EXPECT_NE(why.find("the judgement's 400 s are used up"), std::string::npos) << why;
}

INSTANTIATE_TEST_SUITE_P(
    Everywhere, StuckWorker,
    ::testing::Values(Stuck{"oracle", "hello"}, Stuck{"oracle", "open_task"},
                      Stuck{"oracle", "impostors"}, Stuck{"oracle", "prepare"},
                      Stuck{"oracle", "window"}, Stuck{"oracle", "place"},
                      Stuck{"oracle", "weights"}, Stuck{"oracle", "verify"},
                      Stuck{"oracle", "release"}, Stuck{"kernel", "hello"}, Stuck{"kernel", "load"},
                      Stuck{"kernel", "map_window"}, Stuck{"kernel", "call"},
                      Stuck{"oracle", "measure", true}, Stuck{"oracle", "slots", true},
                      Stuck{"oracle", "time", true}, Stuck{"oracle", "watch_memory", true},
                      Stuck{"baseline", "hello", true}, Stuck{"baseline", "load", true},
                      Stuck{"baseline", "build", true}, Stuck{"baseline", "call", true}));

/// A bare kernel's call is shortened instead: its device keeps the time.
TEST_F(TorchJudgement, ABareCallThatTheJudgementsTimeCutsShortDecidesNothing) {
  auto time = std::make_shared<std::atomic<int64_t>>(0);
  request_.options.now_ms = [time] { return time->load(); };
  const auto slow = [time](FakeCall& c) {
    *time += c.request.timeout_ms;
    c.outcome.status = worker::CallStatus::timeout;
  };
  bare(slow);
  request_.options.call_timeout_ms = 60'000;
  request_.options.time_limit_ms = 40'000;
  EXPECT_EQ(judged().status, VerdictStatus::undecided);
  *time = 0;
  request_.options.time_limit_ms = 400'000;
  EXPECT_EQ(judged().status, VerdictStatus::timeout);
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
