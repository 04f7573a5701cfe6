// The strict protocol against kernels that are right, wrong and dishonest, in a fake session.
#include "judge/strict.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "fake_session.h"
#include "judge/groundwork.h"
#include "judge/judge.h"

namespace fiel::judge {
namespace {

task::Task add_task() {
  auto t = task::parse_task(R"(
name = "add"
description = "x + y"
expression = "z = x + 2 * y"
[inputs]
x = { dtype = "f32", shape = ["N", "C"] }
y = { dtype = "f32", shape = ["C"], parameter = true }
[outputs]
z = "f32"
[shapes]
small = { N = 16, C = 32 }
irregular = { N = 25, C = 51 }
)",
                            "add.toml");
  if (!t) ADD_FAILURE() << to_string(t.error());
  return t ? *t : task::Task();
}

void add(FakeCall& c, int64_t limit = INT64_MAX) {
  const int64_t cols = c.shape(0)[1], n = c.shape(0)[0] * cols;
  for (int64_t i = 0; i < std::min(n, limit); ++i) c.out(0)[i] = c.in(0)[i] + 2 * c.in(1)[i % cols];
}

Verdict judge(const task::Task& task, FakeProcess process, JudgeOptions options = {}) {
  Verdict v;
  if (options.seed == 0) options.seed = 42;
  const Status done = run_strict(task, fake_starter(std::move(process)), options, v);
  EXPECT_TRUE(done.has_value()) << (done ? "" : to_string(done.error()));
  return v;
}

bool has_finding(const Verdict& v, std::string_view code) {
  for (const FindingRecord& f : v.findings)
    if (f.code == code) return true;
  return false;
}

TEST(Strict, AcceptsAnHonestKernelAndNamesItsClass) {
  const Verdict v = judge(add_task(), [] { return [](FakeCall& c) { add(c); }; });
  EXPECT_EQ(v.status, VerdictStatus::correct) << v.reason;
  EXPECT_EQ(v.numerics, NumericsClass::fp32);
  EXPECT_GT(v.resources.calls_compared, 150u);
  EXPECT_LT(v.missed_fraction, 0.02);
  EXPECT_FALSE(v.witness.has_value());
  for (const ProbeResult& p : v.probes) EXPECT_LE(p.worst_ratio, 1.0) << name_of(p.probe);
}

TEST(Strict, SameSeedGivesTheSameBytes) {
  auto process = [] { return [](FakeCall& c) { add(c, 700); }; };
  const std::string a = to_json(judge(add_task(), process)).dump();
  const std::string b = to_json(judge(add_task(), process)).dump();
  EXPECT_EQ(a, b);
}

TEST(Strict, MinimisesAMissingTailToOneElement) {
  // Forgets the last element of every call.
  const Verdict v = judge(
      add_task(), [] { return [](FakeCall& c) { add(c, c.numel(c.request.outputs[0]) - 1); }; });
  EXPECT_EQ(v.status, VerdictStatus::incorrect);
  EXPECT_TRUE(has_finding(v, "output-not-covered"));
  ASSERT_TRUE(v.witness.has_value());
  EXPECT_EQ(v.witness->symbols.at("N") * v.witness->symbols.at("C"), 1);
  EXPECT_EQ(v.witness->flat_index, 0);
}

TEST(Strict, FindsASizeThatIsNotAMultipleOfFourAndMakesItSmall) {
  const Verdict v = judge(add_task(), [] {
    return [](FakeCall& c) { add(c, c.numel(c.request.outputs[0]) / 4 * 4); };
  });
  EXPECT_EQ(v.status, VerdictStatus::incorrect);
  ASSERT_TRUE(v.witness.has_value());
  EXPECT_LT(v.witness->symbols.at("N") * v.witness->symbols.at("C"), 4);
}

TEST(Strict, ZerosAreIncorrectWithExpectedAndGot) {
  const Verdict v = judge(add_task(), [] {
    return [](FakeCall& c) {
      for (int64_t i = 0; i < c.numel(c.request.outputs[0]); ++i) c.out(0)[i] = 0;
    };
  });
  EXPECT_EQ(v.status, VerdictStatus::incorrect);
  ASSERT_TRUE(v.witness.has_value());
  EXPECT_EQ(v.witness->got, 0);
  EXPECT_NE(v.witness->expected, 0);
  EXPECT_EQ(v.witness->probe, Probe::task_inputs);
}

TEST(Strict, MemoOfTheFirstCallIsNamedStale) {
  const Verdict v = judge(add_task(), [] {
    auto memo = std::make_shared<std::map<int64_t, std::vector<float>>>();
    return [memo](FakeCall& c) {
      const int64_t n = c.numel(c.request.outputs[0]);
      if (!memo->contains(n)) {
        add(c);
        (*memo)[n].assign(c.out(0), c.out(0) + n);
      }
      std::copy_n((*memo)[n].data(), n, c.out(0));
    };
  });
  EXPECT_EQ(v.status, VerdictStatus::incorrect);
  EXPECT_TRUE(has_finding(v, "stale-output"));
  ASSERT_TRUE(v.witness.has_value());
  EXPECT_EQ(v.witness->call, 2u);
}

TEST(Strict, AFingerprintOfThreeValuesIsCaughtByOneChangedElement) {
  const Verdict v = judge(add_task(), [] {
    auto memo = std::make_shared<std::map<std::array<float, 3>, std::vector<float>>>();
    return [memo](FakeCall& c) {
      const int64_t n = c.numel(c.request.outputs[0]);
      std::array<float, 3> key{c.in(0)[0], c.in(0)[n / 2], c.in(0)[n - 1]};
      for (float& k : key)
        if (k != k) k = 1e30f;
      auto& kept = (*memo)[key];
      if (static_cast<int64_t>(kept.size()) != n) {
        add(c);
        kept.assign(c.out(0), c.out(0) + n);
      }
      std::copy_n(kept.data(), n, c.out(0));
    };
  });
  EXPECT_EQ(v.status, VerdictStatus::incorrect);
  ASSERT_TRUE(v.witness.has_value());
  EXPECT_TRUE(has_finding(v, "stale-output"));
}

class RightUntil : public ::testing::TestWithParam<int> {};

TEST_P(RightUntil, IsIncorrectAndNamesTheCall) {
  const int good = GetParam();
  const Verdict v = judge(add_task(), [good] {
    auto calls = std::make_shared<int>(0);
    return [calls, good](FakeCall& c) {
      add(c);
      if (++*calls > good) c.out(0)[0] += 1;
    };
  });
  EXPECT_EQ(v.status, VerdictStatus::incorrect);
  ASSERT_TRUE(v.witness.has_value());
  EXPECT_EQ(v.witness->call, static_cast<uint64_t>(good + 1));
  EXPECT_EQ(v.witness->flat_index, 0);
  EXPECT_FALSE(v.witness->minimised);
}
INSTANTIATE_TEST_SUITE_P(Calls, RightUntil, ::testing::Values(10, 100));

TEST(Strict, WeightsKeptFromTheFirstCallAreIncorrect) {
  const Verdict v = judge(add_task(), [] {
    auto kept = std::make_shared<std::map<int64_t, std::vector<float>>>();
    return [kept](FakeCall& c) {
      const int64_t cols = c.shape(0)[1], n = c.shape(0)[0] * cols;
      auto& w = (*kept)[cols];
      if (w.empty()) w.assign(c.in(1), c.in(1) + cols);
      for (int64_t i = 0; i < n; ++i)
        c.out(0)[i] = c.in(0)[i] + 2 * w[static_cast<size_t>(i % cols)];
    };
  });
  EXPECT_EQ(v.status, VerdictStatus::incorrect);
}

TEST(Strict, AWrittenInputIsIncorrectEvenWithRightValues) {
  const Verdict v = judge(add_task(), [] {
    return [](FakeCall& c) {
      add(c);
      c.mutable_in(0)[0] = 5;
    };
  });
  EXPECT_EQ(v.status, VerdictStatus::incorrect);
  EXPECT_TRUE(has_finding(v, "input-modified"));
}

TEST(Strict, AnInputThatWasWrittenAndRestoredIsIncorrect) {
  for (const bool by_copy : {false, true}) {
    const Verdict v = judge(add_task(), [by_copy] {
      return [by_copy](FakeCall& c) {
        add(c);
        (by_copy ? c.copied : c.written)[c.request.inputs[1].address] = 4;
      };
    });
    EXPECT_EQ(v.status, VerdictStatus::incorrect) << by_copy;
    EXPECT_TRUE(has_finding(v, "input-modified")) << by_copy;
    EXPECT_NE(v.reason.find("'y'"), std::string::npos) << v.reason;
  }
}

TEST(Strict, AByteBehindTheOutputIsSeenBetweenGuardBands) {
  const Verdict v = judge(add_task(), [] {
    return [](FakeCall& c) {
      add(c);
      const auto& t = c.request.outputs[0];
      const uint64_t end = t.address + static_cast<uint64_t>(c.numel(t)) * 4;
      if (std::byte* beyond = c.memory.at(end, 4)) std::memset(beyond, 1, 4);
    };
  });
  EXPECT_EQ(v.status, VerdictStatus::incorrect);
  EXPECT_TRUE(has_finding(v, "guard-band-overwritten"));
}

TEST(Strict, RefusingAShapeOfTheTaskIsUnsupportedByTheKernel) {
  const Verdict v = judge(add_task(), [] {
    return [](FakeCall& c) {
      if (c.shape(0)[1] % 4 != 0)
        c.outcome.status = worker::CallStatus::unsupported;
      else
        add(c);
    };
  });
  EXPECT_EQ(v.status, VerdictStatus::unsupported);
  EXPECT_EQ(v.unsupported_by, "kernel");
  EXPECT_EQ(exit_code_of(v), 1);
}

TEST(Strict, WhatTheDeviceCannotExecuteIsNotTheKernelsFault) {
  const Verdict v = judge(add_task(), [] {
    return [](FakeCall& c) {
      c.outcome.status = worker::CallStatus::unsupported;
      c.outcome.beyond_device = "line 12: wgmma is not supported";
    };
  });
  EXPECT_EQ(v.status, VerdictStatus::unsupported);
  EXPECT_EQ(v.unsupported_by, "device");
  EXPECT_EQ(exit_code_of(v), 3);
  EXPECT_NE(v.reason.find("wgmma"), std::string::npos);
  EXPECT_TRUE(v.refused_shapes.empty());
}

TEST(Strict, SpecialisingOutsideTheTasksShapesIsLegalAndNamed) {
  JudgeOptions options;
  const Verdict v = judge(add_task(), [] {
    return [](FakeCall& c) {
      const int64_t n = c.shape(0)[0];
      if (n != 16 && n != 25)
        c.outcome.status = worker::CallStatus::unsupported;
      else
        add(c);
    };
  });
  EXPECT_EQ(v.status, VerdictStatus::correct) << v.reason;
  EXPECT_TRUE(has_finding(v, "shape-refused"));
  EXPECT_FALSE(v.refused_shapes.empty());
}

TEST(Strict, RefusingAShapeThatWasAnsweredBeforeIsIncorrect) {
  // A kernel that leaves before the repeated calls and schedules, at a shape it may refuse.
  const Verdict v = judge(add_task(), [] {
    auto calls = std::make_shared<int>(0);
    return [calls](FakeCall& c) {
      const int64_t n = c.shape(0)[0];
      if (++*calls > 112 && n != 16 && n != 25)
        c.outcome.status = worker::CallStatus::unsupported;
      else
        add(c);
    };
  });
  EXPECT_EQ(v.status, VerdictStatus::incorrect) << v.reason;
  EXPECT_TRUE(has_finding(v, "refused-late"));
  ASSERT_TRUE(v.witness.has_value());
  EXPECT_EQ(v.witness->probe, Probe::repeated_calls);
}

TEST(Strict, RefusingByValueIsIncorrect) {
  const Verdict v = judge(add_task(), [] {
    return [](FakeCall& c) {
      const int64_t n = c.shape(0)[0] * c.shape(0)[1];
      const bool special = std::any_of(c.in(0), c.in(0) + n, [](float x) { return x != x; });
      if (special)
        c.outcome.status = worker::CallStatus::unsupported;
      else
        add(c);
    };
  });
  EXPECT_EQ(v.status, VerdictStatus::incorrect) << v.reason;
  EXPECT_TRUE(has_finding(v, "refused-late"));
}

TEST(Strict, ARightAnswerWithoutAnyLaunchIsNamed) {
  EXPECT_TRUE(has_finding(judge(add_task(), [] { return [](FakeCall& c) { add(c); }; }),
                          "no-kernel-launched"));
  const Verdict launched = judge(add_task(), [] {
    return [](FakeCall& c) {
      add(c);
      c.outcome.launches.emplace_back();
    };
  });
  EXPECT_EQ(launched.status, VerdictStatus::correct) << launched.reason;
  EXPECT_FALSE(has_finding(launched, "no-kernel-launched"));
}

TEST(Strict, UnjoinedWorkIsIncorrect) {
  const Verdict v = judge(add_task(), [] {
    return [](FakeCall& c) {
      add(c);
      c.outcome.unjoined_work = 1;
    };
  });
  EXPECT_EQ(v.status, VerdictStatus::incorrect);
  EXPECT_TRUE(has_finding(v, "work-not-joined"));
}

TEST(Strict, ARaceIsIncorrectThoughValuesAreRight) {
  const Verdict v = judge(add_task(), [] {
    return [](FakeCall& c) {
      add(c);
      worker::LaunchRecord launch;
      launch.kernel = "add";
      vgpu::Finding race;
      race.kind = vgpu::FindingKind::shared_race;
      race.grade = vgpu::Grade::error;
      race.count = 3;
      race.source = {{"add.cu", "add", 12, 3}};
      launch.report.findings.push_back(race);
      c.outcome.launches.push_back(launch);
    };
  });
  EXPECT_EQ(v.status, VerdictStatus::incorrect);
  ASSERT_FALSE(v.findings.empty());
  EXPECT_EQ(v.findings[0].code, "shared-race");
  EXPECT_EQ(v.findings[0].line, 12u);
}

/// `add`, whose first element has another last bit where `moved` says so: within every bound.
template <typename Moved>
FakeProcess adds_moved_by(Moved moved) {
  return [moved] {
    return [moved](FakeCall& c) {
      add(c);
      if (moved(c.request)) c.out(0)[0] = std::nextafter(c.out(0)[0], 1e30f);
    };
  };
}

const FindingRecord* finding_of(const Verdict& v, std::string_view code) {
  for (const FindingRecord& f : v.findings)
    if (f.code == code) return &f;
  return nullptr;
}

TEST(Strict, AnOutputThatTheOrderMovesWithinTheBoundIsCorrectAndNamed) {
  const Verdict v = judge(add_task(), adds_moved_by([](const worker::CallRequest& r) {
                            return r.schedule && r.schedule->reverse_blocks;
                          }));
  EXPECT_EQ(v.status, VerdictStatus::correct) << v.reason;
  const FindingRecord* f = finding_of(v, "schedule-dependent-output");
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->grade, vgpu::Grade::info);
  EXPECT_NE(f->detail.find("element 0 was "), std::string::npos) << f->detail;
  // What the order moves says nothing about contraction.
  EXPECT_EQ(finding_of(v, "contraction-sensitive"), nullptr);
}

TEST(Strict, AnOutputThatContractionMovesWithinTheBoundIsCorrectAndNamed) {
  const Verdict v = judge(add_task(), adds_moved_by([](const worker::CallRequest& r) {
                            return r.contract == vgpu::Contract::off;
                          }));
  EXPECT_EQ(v.status, VerdictStatus::correct) << v.reason;
  const FindingRecord* f = finding_of(v, "contraction-sensitive");
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->grade, vgpu::Grade::info);
  EXPECT_NE(f->detail.find("with multiply and add fused"), std::string::npos) << f->detail;
  EXPECT_EQ(finding_of(v, "schedule-dependent-output"), nullptr);
}

TEST(Strict, AnOutputStoredTwiceIsCorrectAndNamed) {
  const Verdict v = judge(add_task(), [] {
    return [](FakeCall& c) {
      add(c);
      c.again = 8;
    };
  });
  EXPECT_EQ(v.status, VerdictStatus::correct) << v.reason;
  const FindingRecord* f = finding_of(v, "output-written-twice");
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->grade, vgpu::Grade::info);
  EXPECT_NE(f->text.find("'z': 8 of "), std::string::npos) << f->text;
}

TEST(Strict, AnHonestKernelHasNoFindings) {
  const Verdict v = judge(add_task(), [] {
    return [](FakeCall& c) {
      add(c);
      c.outcome.launches.emplace_back().kernel = "add";
    };
  });
  for (const FindingRecord& f : v.findings) ADD_FAILURE() << f.text;
}

struct Death {
  worker::CallStatus status;
  VerdictStatus expected;
};
class Deaths : public ::testing::TestWithParam<Death> {};
TEST_P(Deaths, BecomeTheStatusOfTheRule) {
  const worker::CallStatus status = GetParam().status;
  const Verdict v = judge(add_task(), [status] {
    return [status](FakeCall& c) {
      c.outcome.status = status;
      c.outcome.message = "as the test says";
    };
  });
  EXPECT_EQ(v.status, GetParam().expected);
  EXPECT_NE(v.reason.find("as the test says"), std::string::npos);
  EXPECT_EQ(exit_code_of(v), 1);
}
INSTANTIATE_TEST_SUITE_P(
    Rules, Deaths,
    ::testing::Values(Death{worker::CallStatus::crashed, VerdictStatus::runtime_error},
                      Death{worker::CallStatus::timeout, VerdictStatus::timeout},
                      Death{worker::CallStatus::limit, VerdictStatus::runtime_error},
                      Death{worker::CallStatus::device_fault, VerdictStatus::runtime_error},
                      Death{worker::CallStatus::protocol, VerdictStatus::tampering}));

TEST(Strict, ARefusedLaunchIsARuntimeErrorNotIncorrect) {
  const Verdict v = judge(add_task(), [] {
    return [](FakeCall& c) {
      worker::LaunchRecord launch;
      launch.kernel = "add";
      launch.report.status = vgpu::LaunchStatus::invalid;
      launch.report.message = "2048 threads a block";
      c.outcome.launches.push_back(launch);
    };
  });
  EXPECT_EQ(v.status, VerdictStatus::runtime_error);
  EXPECT_TRUE(has_finding(v, "launch-refused"));
}

task::Task task_of(const std::string& expression, const std::string& inputs,
                   const std::string& shapes = "small = { N = 8, C = 16 }\n") {
  auto t = task::parse_task("name = \"t\"\ndescription = \"t\"\nexpression = \"" + expression +
                                "\"\n[inputs]\n" + inputs + "[outputs]\ny = \"f32\"\n[shapes]\n" +
                                shapes,
                            "t.toml");
  if (!t) ADD_FAILURE() << to_string(t.error());
  return t ? *t : task::Task();
}

/// A limit of a call says nothing where a plain kernel may need as long.
TEST(Strict, ACallThatIsEndedAtAShapeTooLargeForTheVirtualGpuIsUndecided) {
  const task::Task products = task_of("y = a @ b",
                                      "a = { dtype = \"f32\", shape = [\"N\", \"N\"] }\nb = { "
                                      "dtype = \"f32\", shape = [\"N\", \"N\"] }\n",
                                      "small = { N = 4 }\nlarge = { N = 700 }\n");
  for (const int64_t slow : {4, 700}) {
    JudgeOptions options;
    options.shapes = {"small", "large"};
    const Verdict v = judge(
        products,
        [slow] {
          return [slow](FakeCall& c) {
            const int64_t n = c.shape(0)[0];
            if (n >= slow) {
              c.outcome.status = worker::CallStatus::timeout;
              return;
            }
            for (int64_t i = 0; i < n * n; ++i) {
              double sum = 0;
              for (int64_t k = 0; k < n; ++k)
                sum += double{c.in(0)[i / n * n + k]} * c.in(1)[k * n + i % n];
              c.out(0)[i] = static_cast<float>(sum);
            }
          };
        },
        options);
    EXPECT_EQ(v.status, slow == 4 ? VerdictStatus::timeout : VerdictStatus::undecided) << v.reason;
  }
}

TEST(VoidTask, AnEmptyShapeBesideOthersIsNoReason) {
  auto wrong = [] { return [](FakeCall&) {}; };
  const std::string x = "x = { dtype = \"f32\", shape = [\"N\", \"C\"] }\n";
  EXPECT_EQ(judge(task_of("y = relu(x) + 1e-9 * x", x,
                          "some = { N = 8, C = 16 }\nnone = { N = 8, C = 0 }\n"),
                  wrong)
                .status,
            VerdictStatus::incorrect);
}

TEST(VoidTask, AMeanOfCentredValuesIsVoidBeforeAnyCandidateRuns) {
  bool started = false;
  const Verdict v = judge(task_of("y = mean(x - mean(x, dim=[1], keepdim=True), dim=[1])",
                                  "x = { dtype = \"f32\", shape = [\"N\", \"C\"] }\n"),
                          [&started] {
                            started = true;
                            return [](FakeCall&) {};
                          });
  EXPECT_EQ(v.status, VerdictStatus::task_void);
  EXPECT_FALSE(started);
  EXPECT_EQ(exit_code_of(v), 5);
}

TEST(VoidTask, AnIdentityIsVoidAndAReluIsNot) {
  const std::string x =
      "x = { dtype = \"f32\", shape = [\"N\", \"C\"], distribution = \"uniform\" }\n";
  auto nothing = [] { return [](FakeCall&) {}; };
  EXPECT_EQ(judge(task_of("y = x * 1", x), nothing).status, VerdictStatus::task_void);
  EXPECT_EQ(judge(task_of("y = relu(x) + 1e-9 * x", x), nothing).status, VerdictStatus::incorrect);
}

TEST(Strict, ReluThatIsTheIdentityOnTheTasksInputsFailsOnMixedSigns) {
  const task::Task t =
      task_of("y = relu(x)",
              "x = { dtype = \"f32\", shape = [\"N\", \"C\"], distribution = \"uniform\" }\n");
  const Verdict v = judge(t, [] {
    return [](FakeCall& c) { std::copy_n(c.in(0), c.numel(c.request.outputs[0]), c.out(0)); };
  });
  EXPECT_EQ(v.status, VerdictStatus::incorrect);
  ASSERT_TRUE(v.witness.has_value());
  EXPECT_EQ(v.witness->probe, Probe::mixed_signs);
}

TEST(Strict, NaNThatReluDropsIsItsOwnFindingUnlessTheTaskIgnoresIt) {
  const std::string x = "x = { dtype = \"f32\", shape = [\"N\", \"C\"] }\n";
  auto process = [] {
    return [](FakeCall& c) {
      for (int64_t i = 0; i < c.numel(c.request.outputs[0]); ++i)
        c.out(0)[i] = std::fmax(c.in(0)[i], 0.f);
    };
  };
  task::Task t = task_of("y = relu(x)", x);
  const Verdict strict = judge(t, process);
  EXPECT_EQ(strict.status, VerdictStatus::incorrect);
  EXPECT_TRUE(has_finding(strict, "special-value-lost"));
  ASSERT_TRUE(strict.witness.has_value());
  EXPECT_EQ(strict.witness->probe, Probe::special_values);
  t.special_values = "ignore";
  const Verdict lax = judge(t, process);
  EXPECT_EQ(lax.status, VerdictStatus::correct) << lax.reason;
  bool listed = false;
  for (const ProbeResult& p : lax.probes)
    listed |= p.probe == Probe::special_values && p.outcome == ProbeOutcome::dropped;
  EXPECT_TRUE(listed);
}

TEST(Strict, RowMaximaThatDropNaNNameTheProbeAndTheirTwinIsCorrect) {
  const task::Task t =
      task_of("y = amax(x, dim=-1)", "x = { dtype = \"f32\", shape = [\"N\", \"C\"] }\n");
  for (const bool keeps : {false, true}) {
    const Verdict v = judge(t, [keeps] {
      return [keeps](FakeCall& c) {
        const int64_t rows = c.numel(c.request.outputs[0]);
        const int64_t n = c.numel(c.request.inputs[0]) / rows;
        for (int64_t r = 0; r < rows; ++r) {
          float top = c.in(0)[r * n];
          for (int64_t i = 1; i < n; ++i) {
            const float x = c.in(0)[r * n + i];
            top = keeps && (x != x || top != top) ? NAN : std::fmax(top, x);
          }
          c.out(0)[r] = top;
        }
      };
    });
    EXPECT_EQ(v.status, keeps ? VerdictStatus::correct : VerdictStatus::incorrect) << v.reason;
    EXPECT_EQ(has_finding(v, "special-value-lost"), !keeps);
    if (!keeps) {
      ASSERT_TRUE(v.witness.has_value());
      EXPECT_EQ(v.witness->probe, Probe::special_values);
    }
  }
}

/// A clock that tests move: each look at it takes `tick` milliseconds.
struct FakeClock {
  std::shared_ptr<int64_t> time = std::make_shared<int64_t>(0);
  JudgeOptions options(int64_t tick, int64_t limit) const {
    JudgeOptions o;
    o.seed = 42;
    o.time_limit_ms = limit;
    o.now_ms = [time = time, tick] { return *time += tick; };
    return o;
  }
};

TEST(Strict, TheWholeJudgementHasALimit) {
  Verdict v;
  const task::Task task = add_task();
  const auto process = [] { return [](FakeCall& c) { add(c); }; };
  const auto verdict =
      judge_sessions(task, fake_starter(process), FakeClock().options(1000, 60'000), std::move(v));
  ASSERT_TRUE(verdict) << to_string(verdict.error());
  EXPECT_EQ(verdict->status, VerdictStatus::undecided);
  EXPECT_NE(verdict->reason.find("60 s"), std::string::npos) << verdict->reason;
  EXPECT_LT(verdict->resources.calls, 60u);
}

TEST(Strict, ACallCutShortByTheLimitDecidesNothingAndByItsOwnDoes) {
  const FakeClock clock;
  const auto slow = [time = clock.time] {
    return [time](FakeCall& c) {
      *time += c.request.timeout_ms;
      c.outcome.status = worker::CallStatus::timeout;
      c.outcome.message = fmt::format("after {} ms", c.request.timeout_ms);
    };
  };
  const task::Task task = add_task();
  const auto cut = judge_sessions(task, fake_starter(slow), clock.options(1, 40'000), {});
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->status, VerdictStatus::undecided) << cut->reason;
  const auto own = judge_sessions(task, fake_starter(slow), clock.options(1, 3'600'000), {});
  ASSERT_TRUE(own);
  EXPECT_EQ(own->status, VerdictStatus::timeout) << own->reason;
  EXPECT_NE(own->reason.find("after 60000 ms"), std::string::npos) << own->reason;
}

TEST(Strict, WhatWasFoundBeforeTheLimitStands) {
  Verdict v;
  const auto zeros = [] {
    return [](FakeCall& c) {
      for (int64_t i = 0; i < c.numel(c.request.outputs[0]); ++i) c.out(0)[i] = 0;
    };
  };
  const task::Task task = add_task();
  const auto verdict =
      judge_sessions(task, fake_starter(zeros), FakeClock().options(1000, 60'000), std::move(v));
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->status, VerdictStatus::incorrect) << verdict->reason;
}

TEST(Strict, AnUnknownShapeSetIsTheUsersErrorWithASuggestion) {
  JudgeOptions options;
  options.shapes = {"smal"};
  Verdict v;
  const Status done =
      run_strict(add_task(), fake_starter([] { return [](FakeCall& c) { add(c); }; }), options, v);
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().code, ErrorCode::usage);
  EXPECT_NE(done.error().hint.find("small"), std::string::npos);
}

TEST(Strict, SkippedShapesAreListed) {
  JudgeOptions options;
  options.shapes = {"small"};
  const Verdict v = judge(
      add_task(), [] { return [](FakeCall& c) { add(c); }; }, options);
  EXPECT_EQ(v.status, VerdictStatus::correct);
  ASSERT_EQ(v.skipped_shapes.size(), 1u);
  EXPECT_EQ(v.skipped_shapes[0].shape_set, "irregular");
}

std::set<std::string> failed_probes(const Verdict& v) {
  std::set<std::string> names;
  for (const ProbeResult& p : v.probes)
    if (p.outcome == ProbeOutcome::failed) names.insert(std::string(name_of(p.probe)));
  return names;
}

TEST(Survey, GoesOnAfterAFailureAndKeepsTheFirst) {
  // Wrong on large values, and on what special values become.
  const FakeProcess process = [] {
    return [](FakeCall& c) {
      add(c);
      for (int64_t i = 0; i < c.numel(c.request.outputs[0]); ++i)
        if (!(std::fabs(c.out(0)[i]) < 150)) c.out(0)[i] = 0;
    };
  };
  const Verdict plain = judge(add_task(), process);
  JudgeOptions options;
  options.survey = true;
  const Verdict survey = judge(add_task(), process, options);
  EXPECT_EQ(survey.status, plain.status);
  EXPECT_EQ(survey.reason, plain.reason);
  EXPECT_EQ(failed_probes(plain).size(), 1u);
  EXPECT_TRUE(survey.witness.has_value());
  const auto seen = failed_probes(survey);
  for (const char* name : {"offset-mean", "outliers", "special-values"})
    EXPECT_TRUE(seen.contains(name)) << name;
  for (const char* name : {"ties", "constant", "one-hot"})
    EXPECT_FALSE(seen.contains(name)) << name;
}

TEST(Survey, OfARightKernelIsTheJudgement) {
  JudgeOptions options;
  options.survey = true;
  auto process = [] { return [](FakeCall& c) { add(c); }; };
  EXPECT_EQ(to_json(judge(add_task(), process, options)).dump(),
            to_json(judge(add_task(), process)).dump());
}

TEST(Survey, ACrashEndsTheShapeNotTheSurvey) {
  JudgeOptions options;
  options.survey = true;
  const Verdict v = judge(
      add_task(),
      [] { return [](FakeCall& c) { c.outcome.status = worker::CallStatus::crashed; }; }, options);
  EXPECT_EQ(v.status, VerdictStatus::runtime_error);
  std::set<std::string> shapes;
  for (const ProbeResult& p : v.probes)
    if (p.outcome == ProbeOutcome::failed && p.probe != Probe::schedules) {
      EXPECT_TRUE(shapes.insert(p.shape_set).second) << p.shape_set;
    }
  EXPECT_GE(shapes.size(), 3u);
}

TEST(Survey, ACallThatDoesNotEndEndsIt) {
  JudgeOptions options;
  options.survey = true;
  const Verdict v = judge(
      add_task(),
      [] { return [](FakeCall& c) { c.outcome.status = worker::CallStatus::timeout; }; }, options);
  EXPECT_EQ(v.status, VerdictStatus::timeout);
  EXPECT_EQ(v.resources.calls, 1u);
}

TEST(Groundwork, ChangesNoVerdict) {
  const task::Task task = add_task();
  const auto process = [](int64_t limit) -> FakeProcess {
    return [limit] { return [limit](FakeCall& c) { add(c, limit); }; };
  };
  JudgeOptions shared;
  shared.groundwork = std::make_shared<Groundwork>();
  for (const int64_t limit : {INT64_MAX, int64_t{700}, INT64_MAX, int64_t{1}})
    EXPECT_EQ(to_json(judge(task, process(limit), shared)).dump(),
              to_json(judge(task, process(limit))).dump())
        << limit;
}

}  // namespace
}  // namespace fiel::judge
