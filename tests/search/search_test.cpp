// Strategies, proposers and the loop, with a judge that is a function: no compiler, no device.
#include "search/search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/files.h"
#include "forge/template.h"
#include "places.h"
#include "search/model_proposer.h"
#include "search/novelty.h"
#include "search/plot.h"
#include "search/record.h"
#include "search/scripted_proposer.h"
#include "store/store.h"

namespace fiel::search {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// A landscape with one top: right kernels score by how near their numbers are to it.
class Hill : public KernelJudge {
 public:
  Result<Outcome> judge(const std::string& source) override {
    ++judged;
    Outcome o;
    const bool wrong = source.find("wrong") != std::string::npos;
    o.status = wrong ? "incorrect" : "correct";
    o.reason = wrong ? "values differ" : "";
    o.feedback = "verdict: " + o.status + "\n";
    o.verdict = Json::object({{"status", o.status},
                              {"task", "t"},
                              {"kernel", "k"},
                              {"speed", "not_measured"},
                              {"accepted", !wrong},
                              {"environment", Json::object()}});
    if (!wrong) {
      o.measure = Measure::stand_in;
      o.score = 1.0 / (1.0 + static_cast<double>(xxh(source) % 1000));
    }
    return o;
  }
  static uint64_t xxh(const std::string& s) {
    uint64_t h = 1469598103934665603u;
    for (char c : s) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211u;
    return h;
  }
  int judged = 0;
};

/// Writes "kernel N", every third of them wrong, and remembers what it was asked for.
class Counting : public Proposer {
 public:
  Answer propose(const Request& q) override {
    Answer a;
    a.spent = {1, 100, 10, 0.25};
    const uint32_t n = made_++;
    asked.push_back(q.operation);
    parents.emplace_back();
    for (const Candidate* p : q.parents) parents.back().push_back(p->number);
    a.proposal = Proposal{"kernel " + std::to_string(n) + (n % 3 == 1 ? " wrong" : ""), "note", ""};
    return a;
  }
  const std::string& name() const override { return name_; }
  Novelty novelty() const override { return Novelty::text; }
  void skip(uint32_t proposals) override { made_ = proposals; }

  std::vector<Operation> asked;
  std::vector<std::vector<uint32_t>> parents;

 private:
  std::string name_ = "counting";
  uint32_t made_ = 0;
};

SearchResult searched(const std::string& strategy, Proposer& proposer, KernelJudge& judge,
                      SearchOptions options) {
  const auto s = make_strategy(strategy, {.seed = options.seed});
  options.judge_best_again = false;
  Search search(**s, proposer, judge, options);
  auto r = search.run();
  if (!r) ADD_FAILURE() << to_string(r.error());
  return std::move(*r);
}

class EachStrategy : public ::testing::TestWithParam<std::string> {};

TEST_P(EachStrategy, UsesUpItsBudgetAndParentsComeBefore) {
  Counting proposer;
  Hill judge;
  const SearchResult r = searched(GetParam(), proposer, judge, {.budget = 25, .seed = 3});
  EXPECT_EQ(r.ended, Ended::budget);
  EXPECT_EQ(r.history.size(), 25u);
  EXPECT_EQ(judge.judged, 25);
  for (const Candidate& c : r.history) {
    EXPECT_LE(c.parents.size(), 2u);
    for (uint32_t p : c.parents) EXPECT_LT(p, c.number);
    EXPECT_EQ(c.operation == Operation::fresh, c.parents.empty());
  }
}

// What a killed search would go on with is what an unbroken one does.
TEST_P(EachStrategy, GoesOnFromAnyPrefixAsIfNothingHadHappened) {
  Counting whole_proposer;
  Hill judge;
  const SearchResult whole = searched(GetParam(), whole_proposer, judge, {.budget = 16, .seed = 5});
  for (size_t cut : {1u, 5u, 11u}) {
    Counting proposer;
    const auto s = make_strategy(GetParam(), {.seed = 5});
    Search search(**s, proposer, judge, {.budget = 16, .seed = 5, .judge_best_again = false});
    search.restore({whole.history.begin(), whole.history.begin() + static_cast<ptrdiff_t>(cut)});
    const auto r = search.run();
    ASSERT_TRUE(r);
    ASSERT_EQ(r->history.size(), whole.history.size());
    for (size_t i = 0; i < r->history.size(); ++i) {
      EXPECT_EQ(r->history[i].source, whole.history[i].source) << i;
      EXPECT_EQ(r->history[i].parents, whole.history[i].parents) << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, EachStrategy, ::testing::ValuesIn(strategy_names()),
                         [](const auto& i) {
                           std::string name = i.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST(Strategy, OperationsAreThoseOfTheStrategy) {
  const auto asked = [](const std::string& strategy) {
    Counting proposer;
    Hill judge;
    searched(strategy, proposer, judge, {.budget = 40, .seed = 1});
    return std::set<Operation>(proposer.asked.begin(), proposer.asked.end());
  };
  using O = Operation;
  EXPECT_EQ(asked("best-of-n"), std::set<O>({O::fresh}));
  EXPECT_EQ(asked("refine"), std::set<O>({O::fresh, O::refine}));
  EXPECT_EQ(asked("scale"), std::set<O>({O::fresh, O::respond}));
  EXPECT_EQ(asked("evolve"), std::set<O>({O::fresh, O::mutate, O::cross}));
  EXPECT_EQ(asked("beam"), std::set<O>({O::fresh, O::mutate}));
  EXPECT_EQ(asked("climb"), std::set<O>({O::fresh, O::climb}));
  EXPECT_EQ(make_strategy("clim", {}).error().hint, "did you mean 'climb'?");
}

TEST(Strategy, IslandsBreedAmongThemselvesAndSometimesAcross) {
  Counting proposer;
  Hill judge;
  const SearchResult r = searched("evolve", proposer, judge, {.budget = 120, .seed = 2});
  size_t within = 0, across = 0;
  for (const Candidate& c : r.history)
    for (uint32_t p : c.parents) (r.history[p - 1].island == c.island ? within : across) += 1;
  EXPECT_GT(within, across);
  EXPECT_GT(across, 0u);
}

TEST(Strategy, ARefinementBeginsAnewAfterItsTurns) {
  Counting proposer;
  Hill judge;
  searched("refine", proposer, judge, {.budget = 17});
  for (size_t i = 0; i < proposer.asked.size(); ++i)
    EXPECT_EQ(proposer.asked[i] == Operation::fresh, i % 8 == 0) << i;
  EXPECT_EQ(proposer.parents[5][0], 5u);  // the last one, right or wrong
}

/// Says the same thing again and again.
class Stuck : public Counting {
 public:
  Answer propose(const Request&) override {
    Answer a;
    a.spent.proposals = 1;
    a.proposal = Proposal{"// v" + std::to_string(++calls) + "\nint  same;", "", ""};
    return a;
  }
  int calls = 0;
};

TEST(Search, WhatIsNotNewIsNotJudgedAndEndsTheSearchInTheEnd) {
  Stuck proposer;
  Hill judge;
  const SearchResult r = searched("best-of-n", proposer, judge, {.budget = 9, .max_misses = 4});
  EXPECT_EQ(r.ended, Ended::nothing_new);
  EXPECT_EQ(judge.judged, 1);
  EXPECT_EQ(r.spent.proposals, 5u);
  EXPECT_THAT(r.detail, HasSubstr("as good as kernel 1"));
}

TEST(Search, AJudgeThatCannotJudgeIsAnErrorNotAWrongKernel) {
  struct Broken : KernelJudge {
    Result<Outcome> judge(const std::string&) override {
      return fail(ErrorCode::environment, "no compiler");
    }
  } judge;
  Counting proposer;
  const auto s = make_strategy("climb", {});
  const auto r = Search(**s, proposer, judge, {}).run();
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().what, "no compiler");
}

TEST(Search, TheBestIsJudgedOnceMoreAndReportedApart) {
  Counting proposer;
  Hill judge;
  const auto s = make_strategy("best-of-n", {});
  const auto r = Search(**s, proposer, judge, {.budget = 4}).run();
  ASSERT_TRUE(r && r->best_again);
  EXPECT_EQ(judge.judged, 5);
  EXPECT_EQ(r->best_again->score, best_of(r->history)->outcome.score);
}

TEST(Novelty, CommentsAndSpaceDoNotCountAndNumbersDo) {
  Candidate c;
  c.number = 1;
  c.source = "int a = 1; /* one */ int b = 2; // two\n";
  const History history = {c};
  EXPECT_EQ(likeness("int a=1;int b=2;", history, Novelty::text).share, 1);
  EXPECT_EQ(likeness("int a=1;int b=3;", history, Novelty::text).share, 0);
  const Likeness near = likeness("int a=1;int b=3;", history, Novelty::words);
  EXPECT_GT(near.share, 0.2);
  EXPECT_LT(near.share, 1);
  EXPECT_EQ(near.number, 1u);
  EXPECT_EQ(words_of("a/**/b//x\nc\"s\""),
            (std::vector<std::string>{"a", "b", "c", "\"", "s", "\""}));
  EXPECT_EQ(words_of("/* open").size(), 0u);
}

TEST(Novelty, PythonHasCommentsOfItsOwnAndMeaningInItsSpace) {
  const auto module = [](const std::string& line) {
    return "class ModelNew(torch.nn.Module):\n    def forward(self, x):\n" + line;
  };
  const auto same = [&](const std::string& a, const std::string& b) {
    Candidate c;
    c.source = module(a);
    return likeness(module(b), {c}, Novelty::text).share == 1;
  };
  EXPECT_TRUE(same("        return x  # one\n", "\n        # two\n        return  x\n"));
  EXPECT_FALSE(same("        return x // 2\n", "        return x // 4\n"));
  EXPECT_FALSE(same("        if x:\n            y()\n        z()\n",
                    "        if x:\n            y()\n            z()\n"));
  // CUDA within strings: its directives are no comments.
  EXPECT_FALSE(same("S = '''\n#pragma unroll 4\n'''\n", "S = '''\n#pragma unroll 8\n'''\n"));
  EXPECT_FALSE(same("s = 'a # b'\n", "s = 'a # c'\n"));
  EXPECT_TRUE(same("s = '''a\n  b'''\n", "s = '''a b'''\n"));
  for (const char* open : {"s = '''never closed", "s = 'a\n", "s = '\\", "#", "\"", "'", "    "})
    EXPECT_TRUE(same(open, open)) << open;
}

// --- the scripted proposer
// ------------------------------------------------------------------------

task::Task softmax() { return *task::load_task(in_source("tasks/softmax.toml")); }

/// Scores a template's choice by hand: more threads and streamed stores are better, coarse
/// functions are wrong.
class Knobs : public KernelJudge {
 public:
  Result<Outcome> judge(const std::string& source) override {
    Outcome o;
    o.status = source.find("math=fast") == std::string::npos ? "correct" : "incorrect";
    if (o.correct()) {
      o.measure = Measure::stand_in;
      o.score = 1;
      if (source.find("stores=stream") != std::string::npos) o.score += 1;
      if (source.find("threads=512") != std::string::npos) o.score += 2;
    }
    return o;
  }
};

TEST(ScriptedProposer, ClimbsToTheTopAndLeavesAloneWhatMadeKernelsWrong) {
  const auto proposer = ScriptedProposer::of(softmax());
  ASSERT_TRUE(proposer);
  Knobs judge;
  const SearchResult r = searched("climb", **proposer, judge, {.budget = 30});
  EXPECT_EQ(r.history.size(), 30u);
  EXPECT_EQ(best_of(r.history)->outcome.score, 4);
  size_t wrong = 0;
  std::set<std::string> states;
  for (const Candidate& c : r.history) {
    wrong += !c.outcome.correct();
    states.insert(c.state);
  }
  EXPECT_EQ(wrong, 1u);  // tried once, from a right kernel
  EXPECT_EQ(states.size(), r.history.size());
}

TEST(ScriptedProposer, EveryStrategyFindsRightKernelsOnly) {
  for (const std::string& strategy : strategy_names()) {
    const auto proposer = ScriptedProposer::of(softmax());
    Knobs judge;
    const SearchResult r = searched(strategy, **proposer, judge, {.budget = 20, .seed = 4});
    EXPECT_EQ(r.ended, Ended::budget) << strategy;
    EXPECT_TRUE(best_of(r.history)->outcome.correct()) << strategy;
    EXPECT_THAT(r.history[0].source, HasSubstr("FIEL_KERNEL int fiel_run")) << strategy;
  }
}

TEST(ScriptedProposer, SaysPlainlyThatATaskHasNoTemplate) {
  const auto conv = task::load_task(in_source("tasks/conv2d.toml"));
  const auto proposer = ScriptedProposer::of(*conv);
  ASSERT_FALSE(proposer);
  EXPECT_THAT(proposer.error().what, HasSubstr("there is no template: operator 'conv2d'"));
}

// --- the model proposer
// ---------------------------------------------------------------------------

class Canned : public agent::Model {
 public:
  agent::Completion complete(const agent::ChatRequest& q) override {
    requests.push_back(q);
    agent::Reply reply;
    reply.message.text = text;
    reply.message.reasoning = "secret thoughts";
    reply.usage = {.input_tokens = 1000, .output_tokens = 100, .known = true};
    if (fails)
      return tl::unexpected(agent::ModelFailure{agent::FailureKind::quota, "empty", 402, -1});
    return reply;
  }
  const std::string& name() const override { return name_; }
  std::vector<agent::ChatRequest> requests;
  std::string text = "note: tiles of 32\n```cuda\nint fiel_run();\n```\n";
  bool fails = false;
  std::string name_ = "canned";
};

TEST(ModelProposer, AsksWithTheJudgesWordsAndWithoutReasoning) {
  Canned model;
  ModelProposer proposer(model, "TASK", "SKELETON", {.prices = agent::Prices{3, 3, 3, 15}});
  Candidate parent;
  parent.number = 1;
  parent.source = "PARENT";
  parent.note = "first try";
  parent.outcome.status = "incorrect";
  parent.outcome.feedback = "worst element: y[3]";
  const History history = {parent};
  const Answer a = proposer.propose({Operation::respond, {&history[0]}, history, Dice(1, 1)});
  ASSERT_TRUE(a.proposal);
  EXPECT_EQ(a.proposal->source, "int fiel_run();\n");
  EXPECT_EQ(a.proposal->note, "tiles of 32");
  EXPECT_DOUBLE_EQ(a.spent.cost, 0.0045);
  const std::string& prompt = model.requests[0].messages[0].text;
  EXPECT_THAT(prompt, HasSubstr("TASK"));
  EXPECT_THAT(prompt, HasSubstr("PARENT"));
  EXPECT_THAT(prompt, HasSubstr("worst element: y[3]"));
  EXPECT_THAT(prompt, Not(HasSubstr("What was tried")));
  EXPECT_EQ(model.requests[0].messages.size(), 1u);
  proposer.propose({Operation::refine, {&history[0]}, history, Dice(1, 1)});
  EXPECT_THAT(model.requests[1].messages[0].text, HasSubstr("first try"));
  EXPECT_THAT(model.requests[1].messages[0].text, Not(HasSubstr("secret thoughts")));
}

TEST(ModelProposer, AsksForModulesWhereTheTaskIsOfPyTorch) {
  Canned model;
  model.text = "note: fused\n```python\nclass ModelNew:\n    pass\n```\n";
  ModelProposer proposer(model, "class Model:", "class ModelNew:\n    pass\n",
                         {.form = agent::KernelForm::python, .torch_task = true, .on_cpu = true});
  const Answer a = proposer.propose({Operation::fresh, {}, {}, Dice(1, 1)});
  ASSERT_TRUE(a.proposal);
  EXPECT_EQ(a.proposal->source, "class ModelNew:\n    pass\n");
  EXPECT_THAT(model.requests[0].system, HasSubstr("ModelNew"));
  EXPECT_THAT(model.requests[0].system, HasSubstr("on the CPU"));
  EXPECT_THAT(model.requests[0].system, Not(HasSubstr("fiel_run")));
  EXPECT_THAT(model.requests[0].messages[0].text, HasSubstr("```python\nclass Model:"));
  EXPECT_THAT(model.requests[0].messages[0].text, HasSubstr("```python\nclass ModelNew:"));
}

TEST(ModelProposer, CrossingShowsBothParentsAndMutationOne) {
  Canned model;
  ModelProposer proposer(model, "TASK", "SKELETON", {});
  History history(3);
  for (size_t i = 0; i < history.size(); ++i) {
    history[i].number = static_cast<uint32_t>(i + 1);
    history[i].source = "SOURCE-" + std::to_string(i + 1);
    history[i].outcome.status = "correct";
    history[i].outcome.feedback = "WORDS-" + std::to_string(i + 1);
  }
  struct Row {
    Operation operation;
    std::vector<const Candidate*> parents;
    std::vector<const char*> said, unsaid;
  };
  const Row rows[] = {
      {Operation::cross,
       {&history[2], &history[0]},
       {"# First kernel", "SOURCE-3", "WORDS-3", "# Second kernel", "SOURCE-1", "WORDS-1",
        "Write one kernel that has what is good of both."},
       {"SOURCE-2", "WORDS-2", "SKELETON", "What was tried"}},
      {Operation::mutate,
       {&history[1]},
       {"# Kernel", "SOURCE-2", "WORDS-2", "Change one thing that matters about this kernel"},
       {"SOURCE-1", "SOURCE-3", "SKELETON", "What was tried", "good of both"}}};
  for (const Row& row : rows) {
    ASSERT_TRUE(proposer.propose({row.operation, row.parents, history, Dice(1, 1)}).proposal);
    const std::string& prompt = model.requests.back().messages[0].text;
    EXPECT_THAT(prompt, HasSubstr("TASK"));
    for (const char* words : row.said) EXPECT_THAT(prompt, HasSubstr(words));
    for (const char* words : row.unsaid) EXPECT_THAT(prompt, Not(HasSubstr(words)));
  }
  // In the order in which they are given.
  const std::string& crossed = model.requests[0].messages[0].text;
  EXPECT_LT(crossed.find("SOURCE-3"), crossed.find("SOURCE-1"));
}

TEST(ModelProposer, AnAnswerWithoutAKernelIsAMissAndABrokenEndpointAnEnd) {
  Canned model;
  model.text = "I will not.";
  ModelProposer proposer(model, "TASK", "SKELETON", {});
  Hill judge;
  EXPECT_EQ(searched("refine", proposer, judge, {.max_misses = 3}).ended, Ended::nothing_new);
  EXPECT_EQ(model.requests.size(), 3u);
  model.fails = true;
  const SearchResult r = searched("refine", proposer, judge, {});
  EXPECT_EQ(r.ended, Ended::proposer_failed);
  EXPECT_THAT(r.detail, HasSubstr("quota"));
}

TEST(ModelProposer, TakesTheLastBlockThatDefinesTheEntryPoint) {
  EXPECT_EQ(kernel_in("```\nint fiel_run; 1\n```\ntext\n```cpp\nint fiel_run; 2\n```\n```\nx\n```"),
            "int fiel_run; 2\n");
  EXPECT_EQ(kernel_in("```cuda\nshort\n```\n```\nlonger one\n```"), "longer one\n");
  EXPECT_EQ(kernel_in("```cuda\nint fiel_run; cut in the middle"), "");
  EXPECT_EQ(kernel_in(""), "");
  EXPECT_EQ(note_in("no note here\nmore"), "no note here");
  const char* both = "```python\nclass ModelNew: 1\n```\n```cuda\nint fiel_run; 2\n```\n";
  EXPECT_EQ(kernel_in(both, agent::KernelForm::python), "class ModelNew: 1\n");
  EXPECT_EQ(kernel_in(both), "int fiel_run; 2\n");
}

// --- the store, the plot, the stand-in
// --------------------------------------------------------------

TEST(Record, ASearchComesBackFromTheStoreWithItsLineage) {
  const auto folder = TempDir::create("fiel-search-test");
  ASSERT_TRUE(folder);
  auto store = store::Store::open({.folder = folder->path()});
  ASSERT_TRUE(store);
  const int64_t run = *store->begin_run({.name = "s", .campaign = "search"});
  ASSERT_TRUE(store->begin_search(run, {"evolve", "counting", 12, Json::object()}));
  Counting proposer;
  Hill judge;
  SearchOptions options{.budget = 12, .seed = 9};
  options.keep = [&](const Candidate& c) {
    return store->keep_step(run, {"t.toml", "k.cu", "t", std::nullopt},
                            evidence_of(c, "task text", 5), lineage_of(c));
  };
  const SearchResult r = searched("evolve", proposer, judge, options);
  const auto header = store->find("s");
  EXPECT_EQ(header->entries, 12u);
  const auto back = history_of(*store, *header);
  ASSERT_TRUE(back) << to_string(back.error());
  ASSERT_EQ(back->size(), r.history.size());
  for (size_t i = 0; i < back->size(); ++i) {
    EXPECT_EQ(to_json((*back)[i]).dump(), to_json(r.history[i]).dump());
    EXPECT_EQ((*back)[i].source, r.history[i].source);
    EXPECT_EQ((*back)[i].outcome.feedback, r.history[i].outcome.feedback);
  }
  EXPECT_EQ(store->load_search(run)->header.strategy, "evolve");
  const int64_t plain = *store->begin_run({.name = "plain"});
  EXPECT_EQ(store->load_search(plain).error().code, ErrorCode::not_found);
}

TEST(Plot, NamesWhatItsAxisMeasures) {
  Counting proposer;
  Hill judge;
  SearchResult r = searched("climb", proposer, judge, {.budget = 8});
  const std::string stand_in = plot(r.history, "t <&> climb");
  EXPECT_THAT(stand_in, HasSubstr("stand-in"));
  EXPECT_THAT(stand_in, HasSubstr("not a time"));
  EXPECT_THAT(stand_in, Not(HasSubstr("speed-up")));
  EXPECT_THAT(stand_in, HasSubstr("t &lt;&amp;&gt; climb"));
  EXPECT_EQ(stand_in, plot(r.history, "t <&> climb"));
  for (Candidate& c : r.history)
    if (c.outcome.correct()) c.outcome.measure = Measure::speed_up;
  EXPECT_THAT(plot(r.history, "t"), HasSubstr("speed-up of right kernels (measured)"));
  for (Candidate& c : r.history) c.outcome.measure = Measure::nothing;
  EXPECT_THAT(plot(r.history, "t"), Not(HasSubstr("speed-up")));
  EXPECT_THAT(plot({}, "empty"), HasSubstr("<svg"));
}

class TorchJudge : public ::testing::Test {
 protected:
  FielJudge of(const std::string& device) {
    FielJudgeOptions o{.task = "task.py", .form = agent::KernelForm::python, .device = device};
    o.fiel = [this](const std::vector<std::string>& words, int64_t) -> Result<ProcessResult> {
      asked = words;
      ProcessResult r;
      r.exit_code = 0;
      r.out = verdict;
      return r;
    };
    return FielJudge(o);
  }
  std::vector<std::string> asked;
  std::string verdict =
      R"({"status": "correct", "speed": "not_measured", "measurement": null, "probes": []})";
};

TEST_F(TorchJudge, TakesBothFormsByWhatTheyHoldAndProfilesNone) {
  const FielJudge gpu = of("cuda:0"), cpu = of("cpu"), virtual_gpu = of("virtual");
  const std::string module = "class ModelNew:\n  s = 'fiel_run'\n", bare = "int fiel_run();";
  for (const std::string& kernel : {module, bare}) EXPECT_EQ(gpu.refusal(kernel), "");
  EXPECT_EQ(cpu.refusal(module), "");
  EXPECT_THAT(cpu.refusal(bare), HasSubstr("virtual device or a GPU"));
  EXPECT_EQ(cpu.refusal("neither"), "");
  EXPECT_EQ(virtual_gpu.refusal(bare), "");
  EXPECT_THAT(virtual_gpu.refusal(module), HasSubstr("not on the virtual device"));
  const auto o = of("cpu").judge(module);
  ASSERT_TRUE(o);
  EXPECT_EQ(asked[0], "judge");
  EXPECT_THAT(asked[2], ::testing::EndsWith("/kernel.py"));
  EXPECT_EQ(o->measure, Measure::nothing);
  ASSERT_TRUE(of("virtual").judge(bare));
  EXPECT_EQ(asked[0], "judge");
  EXPECT_THAT(asked[2], ::testing::EndsWith("/kernel.cu"));
}

TEST_F(TorchJudge, TheScoreIsTheVerifiedSpeedUpWhereOneWasMeasured) {
  verdict =
      R"({"status": "correct", "speed": "faster", "probes": [], "measurement": {"sides": [], "why": "",
          "ratios": [{"against": "eager", "policy": "tf32", "value": 3.0, "low": 2.9, "high": 3.1,
                      "decision": "faster", "comparable": true, "cached": false},
                     {"against": "compile", "policy": "tf32", "value": 1.5, "low": 1.4, "high": 1.6,
                      "decision": "faster", "comparable": true, "cached": false}]}})";
  const auto o = of("cuda:0").judge("class ModelNew: pass");
  ASSERT_TRUE(o);
  EXPECT_EQ(o->measure, Measure::speed_up);
  EXPECT_EQ(o->score, 1.5);
  EXPECT_EQ(o->score_low, 1.4);
}

TEST(StandIn, IsTheShareOfWorkThatMustBeDone) {
  const auto document = Json::parse(
      R"({"profiles": [{"task_bytes_compulsory": 3200, "launches": [{"times": 1, "total":
      {"warp_instructions": 0, "global_loads": {"sectors": 100}, "global_stores": {"sectors": 100}}}]},
      {"task_bytes_compulsory": 460, "launches": [{"times": 2, "total": {"warp_instructions": 100}}]}]})");
  ASSERT_TRUE(document);
  EXPECT_NEAR(stand_in_of(*document), 0.5, 1e-12);
  EXPECT_EQ(stand_in_of(Json()), 0);
}

}  // namespace
}  // namespace fiel::search
