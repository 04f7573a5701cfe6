// The speed of a native task's kernel: what is timed, and what each thing that goes wrong on the
// way makes of a verdict that was `correct`. Oracle, baselines and sessions are fakes.
#include "judge/torch/native_speed.h"

#include "torch_judgement.h"

namespace fiel::judge::torch {
namespace {

constexpr const char* kTask = R"(
name = "scaled"
expression = "y = x * s"
[inputs]
x = { dtype = "f32", shape = ["N", "C"] }
s = { dtype = "f32", shape = ["C"], domain = "positive" }
[shapes]
small = { N = 4, C = 8 }
bench = { N = 64, C = 64, benchmark = true }
larger = { N = 512, C = 512, benchmark = true }
largest = { N = 1024, C = 1024 }
)";

task::Task parsed(std::string text = kTask) {
  auto t = task::parse_task(text, "scaled.toml");
  EXPECT_TRUE(t) << (t ? "" : to_string(t.error()));
  return std::move(*t);
}

std::vector<std::string> names(const task::Task& task, std::vector<std::string> chosen = {}) {
  JudgeOptions options;
  options.shapes = std::move(chosen);
  std::vector<std::string> all;
  const auto shapes = timed_shapes(task, options);
  EXPECT_TRUE(shapes);
  for (const task::Instance& at : *shapes) all.push_back(at.shape_set);
  return all;
}

using Names = std::vector<std::string>;

TEST(TimedShapes, AreTheBenchmarkSetsMostWorkFirst) {
  const task::Task task = parsed();
  EXPECT_EQ(names(task), (Names{"larger", "bench"}));
  EXPECT_EQ(names(task, {"bench", "small"}), (Names{"bench"}));
  EXPECT_EQ(names(task, {"small", "largest"}), (Names{"largest", "small"}));
}

TEST(TimedShapes, WithoutABenchmarkSetTheLargestIsTimed) {
  std::string text = kTask;
  for (size_t at; (at = text.find(", benchmark = true")) != std::string::npos;) text.erase(at, 18);
  EXPECT_EQ(names(parsed(text)), (Names{"largest"}));
}

struct NativeSpeed : TorchJudgement {
  void SetUp() override {
    TorchJudgement::SetUp();
    bare();
    request_.options.shapes = {"bench"};
    verdict_.status = VerdictStatus::correct;
    verdict_.reason = "right";
    verdict_.device = "cuda:0";
    verdict_.numerics = NumericsClass::fp32;
    verdict_.resources.calls = 100;
  }
  void time() {
    const Status done = time_native(task_, request_, workers(), verdict_);
    ASSERT_TRUE(done) << to_string(done.error());
    ASSERT_TRUE(verdict_.measurement);
  }
  task::Task task_ = parsed();
  Verdict verdict_;
};

TEST_F(NativeSpeed, IsMeasuredAsThatOfAPyTorchTasksKernel) {
  time();
  EXPECT_EQ(verdict_.status, VerdictStatus::correct);
  EXPECT_EQ(verdict_.reason, "right");
  const Measurement& m = *verdict_.measurement;
  EXPECT_EQ(m.shape_set, "bench");
  EXPECT_NE(m.speed, SpeedDecision::not_measured) << m.why;
  EXPECT_EQ(verdict_.speed, judge::name_of(m.speed));
  ASSERT_EQ(m.sides.size(), 2u);
  EXPECT_EQ(m.sides[0].gap_from, "gauge");
  EXPECT_EQ(verdict_.environment.torch, "fake");
  ASSERT_FALSE(verdict_.probes.empty());
  EXPECT_EQ(verdict_.probes[0].shape_set, "bench");
  EXPECT_EQ(verdict_.probes[0].symbols.at("C"), 64);
  EXPECT_GT(verdict_.resources.calls, 100u);
  EXPECT_TRUE(verdict_.other_measurements.empty());
}

TEST_F(NativeSpeed, AllBenchmarkSetsAreTimedTheLargestIsTheHeadline) {
  request_.options.shapes.clear();
  time();
  EXPECT_EQ(verdict_.measurement->shape_set, "larger");
  ASSERT_EQ(verdict_.other_measurements.size(), 1u);
  EXPECT_EQ(verdict_.other_measurements[0].shape_set, "bench");
}

TEST_F(NativeSpeed, TheOracleIsGivenTheExpressionAndItsDomains) {
  time();
  for (const Json& line : log())
    if (line["op"].as_string() == "open_task") {
      EXPECT_NE(line["reference"].as_string().find("x * s"), std::string::npos);
      EXPECT_EQ(line["domains"].dump(), R"(["real","positive"])");
      return;
    }
  ADD_FAILURE() << "no task was opened";
}

TEST_F(NativeSpeed, ARefusedShapeIsNotTimedAndNoFault) {
  bare([](FakeCall& call) { call.outcome.status = worker::CallStatus::unsupported; });
  time();
  EXPECT_EQ(verdict_.status, VerdictStatus::correct);
  EXPECT_EQ(verdict_.measurement->speed, SpeedDecision::not_measured);
  EXPECT_NE(verdict_.measurement->why.find("refuses the shape set 'bench'"), std::string::npos);
  EXPECT_EQ(verdict_.refused_shapes, Names{"bench"});
  ASSERT_EQ(verdict_.probes.size(), 1u);
  EXPECT_EQ(verdict_.probes[0].outcome, ProbeOutcome::skipped);
  EXPECT_EQ(verdict_.measurement->reward, 1);
}

TEST_F(NativeSpeed, AWrongTimedAnswerIsIncorrectAtItsShape) {
  oracle_ += ",late-wrong";
  time();
  EXPECT_EQ(verdict_.status, VerdictStatus::incorrect);
  ASSERT_TRUE(verdict_.witness);
  EXPECT_EQ(verdict_.witness->shape_set, "bench");
  EXPECT_EQ(verdict_.witness->symbols.at("N"), 64);
  EXPECT_EQ(verdict_.measurement->reward, -1);
  EXPECT_EQ(verdict_.speed, "not_measured");
}

TEST_F(NativeSpeed, WhatTheOracleCannotDoTakesNothingFromTheKernel) {
  oracle_ += ",worker-fault";
  time();
  EXPECT_EQ(verdict_.status, VerdictStatus::correct);
  EXPECT_EQ(verdict_.measurement->speed, SpeedDecision::not_measured);
  EXPECT_NE(verdict_.measurement->why.find("KeyError"), std::string::npos)
      << verdict_.measurement->why;
}

TEST_F(NativeSpeed, ATaskWithItsOwnToleranceIsNotTimed) {
  task_.tolerance.relative_rms = 0.1;
  time();
  EXPECT_NE(verdict_.measurement->why.find("tolerance"), std::string::npos);
}

TEST_F(NativeSpeed, NotTimedSaysWhy) {
  not_timed(verdict_, "no Python with PyTorch; make one");
  EXPECT_EQ(verdict_.status, VerdictStatus::correct);
  EXPECT_EQ(verdict_.speed, "not_measured");
  EXPECT_EQ(verdict_.measurement->why, "no Python with PyTorch; make one");
}

}  // namespace
}  // namespace fiel::judge::torch
