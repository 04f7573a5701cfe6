// The rules of other protocols on native tasks: what each lets through and what it catches, with
// kernels that are C++ functions.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "fake_session.h"
#include "judge/protocols/native.h"
#include "judge/protocols/torch.h"
#include "judge/strict.h"

namespace fiel::judge {
namespace {

task::Task relu_task() {
  auto t = task::parse_task(R"toml(
name = "relu"
description = "never negative where it is timed"
expression = "y = relu(x)"
[inputs]
x = { dtype = "f32", shape = ["N", "C"], distribution = "uniform(0, 1)" }
[outputs]
y = "f32"
[shapes]
small = { N = 16, C = 32 }
irregular = { N = 25, C = 51 }
)toml",
                            "relu.toml");
  if (!t) ADD_FAILURE() << to_string(t.error());
  return t ? *t : task::Task();
}

void relu(FakeCall& c, double error = 0) {
  const int64_t n = c.numel(c.request.inputs[0]);
  for (int64_t i = 0; i < n; ++i)
    c.out(0)[i] = std::max(c.in(0)[i], 0.f) + static_cast<float>(error);
}

Verdict judge(Protocol protocol, FakeProcess process) {
  static const task::Task task = relu_task();
  Verdict v;
  JudgeOptions options;
  options.seed = 42;
  options.protocol = protocol;
  const SessionStarter starter = fake_starter(std::move(process));
  const Status done = protocol == Protocol::strict
                          ? run_strict(task, starter, options, v)
                          : run_native(task, rules_of(protocol), starter, options, v);
  EXPECT_TRUE(done.has_value()) << (done ? "" : to_string(done.error()));
  return v;
}

std::vector<std::string> accepted_by(const FakeProcess& process) {
  std::vector<std::string> names;
  for (Protocol p : all_protocols())
    if (judge(p, process).status == VerdictStatus::correct) names.emplace_back(name_of(p));
  return names;
}

using Names = std::vector<std::string>;

TEST(Protocols, NamesAreReadBackAndRulesTravel) {
  for (Protocol p : all_protocols()) {
    EXPECT_EQ(parse_protocol(name_of(p)), p);
    if (p == Protocol::strict) continue;
    const Json j = to_json(rules_of(p));
    EXPECT_EQ(j["name"].as_string(), name_of(p));
    EXPECT_FALSE(rules_of(p).source.empty());
  }
  EXPECT_FALSE(parse_protocol("Strict"));
  EXPECT_EQ(to_json(rules_of(Protocol::kernelbench_verified))["hidden_scales"].size(), 4u);
}

TEST(Protocols, AnHonestKernelIsAcceptedByAll) {
  EXPECT_EQ(accepted_by([] { return [](FakeCall& c) { relu(c); }; }), protocol_names());
}

// The article's three cheats.
TEST(Protocols, AMemoisedAnswerSurvivesEveryRepetitionOfNaiveAndFailsStrict) {
  const FakeProcess memo = [] {
    auto kept = std::make_shared<std::vector<float>>();
    return [kept](FakeCall& c) {
      const auto n = static_cast<size_t>(c.numel(c.request.outputs[0]));
      if (kept->empty()) {
        relu(c);
        kept->assign(c.out(0), c.out(0) + n);
      }
      std::copy_n(kept->begin(), std::min(n, kept->size()), c.out(0));
    };
  };
  const Verdict naive = judge(Protocol::naive, memo);
  EXPECT_EQ(naive.status, VerdictStatus::correct) << naive.reason;
  ASSERT_EQ(naive.opinion->trials.size(), 10u);
  for (const OpinionTrial& t : naive.opinion->trials) EXPECT_TRUE(t.passed) << t.why;
  const Verdict strict = judge(Protocol::strict, memo);
  EXPECT_EQ(strict.status, VerdictStatus::incorrect);
  EXPECT_EQ(strict.witness->call, 2u);
  EXPECT_EQ(accepted_by(memo), Names{"naive"});
}

TEST(Protocols, AShapeThatIsTheOnlyOneFoolsAllButStrict) {
  const FakeProcess one_shape = [] {
    return [](FakeCall& c) {
      if (c.shape(0)[1] == 32) relu(c);
    };
  };
  EXPECT_EQ(accepted_by(one_shape),
            (Names{"naive", "kernelbench", "cuda-agent", "kernelbench-verified"}));
}

TEST(Protocols, LowPrecisionPassesWhereTheToleranceIsAHundredth) {
  const FakeProcess low = [] { return [](FakeCall& c) { relu(c, 5e-3); }; };
  EXPECT_EQ(accepted_by(low), (Names{"naive", "cuda-agent"}));
  const FakeProcess lower = [] { return [](FakeCall& c) { relu(c, 5e-4); }; };
  EXPECT_EQ(accepted_by(lower), (Names{"naive", "cuda-agent", "kernelbench-verified"}));
}

TEST(Protocols, OnlyHiddenSignsTellTheIdentityFromRelu) {
  const FakeProcess identity = [] {
    return [](FakeCall& c) { std::copy_n(c.in(0), c.numel(c.request.inputs[0]), c.out(0)); };
  };
  EXPECT_EQ(accepted_by(identity), (Names{"naive", "kernelbench", "cuda-agent"}));
  const Verdict v = judge(Protocol::kernelbench_verified, identity);
  ASSERT_EQ(v.opinion->trials.size(), 9u);
  EXPECT_EQ(v.opinion->trials.back().inputs, "times -1");
  EXPECT_FALSE(v.opinion->trials.back().passed);
  ASSERT_TRUE(v.witness);
  EXPECT_EQ(v.witness->expected, 0);
  EXPECT_LT(v.witness->got, 0);
}

TEST(Protocols, ZeroedInputsFoolWhoAsksTheReferenceAfterwards) {
  const FakeProcess zeroes = [] {
    return [](FakeCall& c) {
      const int64_t n = c.numel(c.request.inputs[0]);
      std::fill_n(c.mutable_in(0), n, 0.f);
      std::fill_n(c.out(0), n, 0.f);
    };
  };
  EXPECT_EQ(accepted_by(zeroes), Names{"naive"});
}

TEST(Protocols, ACallThatDoesNotRunIsNoOpinionOnValues) {
  const Verdict v = judge(Protocol::kernelbench, [] {
    return [](FakeCall& c) { c.outcome.status = worker::CallStatus::crashed; };
  });
  EXPECT_EQ(v.status, VerdictStatus::runtime_error);
  EXPECT_FALSE(v.opinion->accepted);
  EXPECT_NE(v.reason.find("opinion of kernelbench, not ours"), std::string::npos);
  const Verdict refused = judge(Protocol::naive, [] {
    return [](FakeCall& c) { c.outcome.status = worker::CallStatus::unsupported; };
  });
  EXPECT_EQ(refused.status, VerdictStatus::unsupported);
  EXPECT_EQ(refused.unsupported_by, "kernel");
}

TEST(Protocols, AllcloseHasItsSidesAndItsNans) {
  const ToleranceRule half{0, 0.5};
  EXPECT_TRUE(within(half, RelativeTo::candidate, 1, 2));
  EXPECT_FALSE(within(half, RelativeTo::reference, 1, 2));
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  EXPECT_TRUE(within(half, RelativeTo::reference, inf, inf));
  EXPECT_FALSE(within(half, RelativeTo::reference, inf, -inf));
  EXPECT_FALSE(within(half, RelativeTo::reference, 1, inf));
  EXPECT_FALSE(within(half, RelativeTo::reference, nan, nan));
}

TEST(Protocols, AForgedReplyIsBoundedAndItsNumbersAreRead) {
  Json reply = Json::object({{"accepted", true}, {"kernel_ns", 100.0}, {"reference_ns", 250.0}});
  reply["trials"] = Json::array();
  for (int i = 0; i < 1000; ++i)
    reply["trials"].push_back(Json::object({{"inputs", std::string(5000, 'x')}, {"passed", true}}));
  const Opinion o = torch::read_opinion(rules_of(Protocol::kernelbench), reply);
  EXPECT_EQ(o.trials.size(), 256u);
  EXPECT_LT(o.trials[0].inputs.size(), 200u);
  EXPECT_DOUBLE_EQ(*o.speedup, 2.5);
  reply["kernel_ns"] = 0;
  EXPECT_FALSE(torch::read_opinion(rules_of(Protocol::kernelbench), reply).speedup);
  reply["kernel_ns"] = "nan";
  EXPECT_FALSE(torch::read_opinion(rules_of(Protocol::kernelbench), reply).speedup);
}

}  // namespace
}  // namespace fiel::judge
