// The loop: budgets, compaction, resumption, calls in the text. No model and no judge but ours.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <fstream>
#include <set>

#include "agent/loop/atif.h"
#include "agent/loop/episode.h"
#include "agent/loop/text_calls.h"
#include "agent/model/wire.h"
#include "full_disk.h"
#include "workspace_fixture.h"

namespace fiel::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

using Answerer = std::function<Completion(const ChatRequest&)>;

class FakeModel : public Model {
 public:
  explicit FakeModel(Answerer answer) : answer_(std::move(answer)) {}
  Completion complete(const ChatRequest& request) override {
    ++requests;
    return answer_(request);
  }
  const std::string& name() const override { return name_; }
  int requests = 0;

 private:
  Answerer answer_;
  std::string name_ = "fake";
};

Reply says(std::string text, std::vector<std::pair<std::string, std::string>> calls = {}) {
  static int id = 0;
  Reply r;
  r.message.role = Role::assistant;
  r.message.text = std::move(text);
  for (const auto& [name, arguments] : calls) {
    auto json = Json::parse(arguments);
    r.message.calls.push_back({"c" + std::to_string(++id), name, json ? *json : Json(), arguments});
  }
  return r;
}

/// As a server checks it, in both formats.
void expect_paired_on_the_wire(const ChatRequest& q) {
  ASSERT_TRUE(is_paired(q.messages));
  const Json chat = make_wire(Api::chat)->body(q, {});
  std::multiset<std::string> open;
  for (const Json& m : chat["messages"].items()) {
    if (m["role"].as_string() == "tool") {
      ASSERT_EQ(open.erase(m["tool_call_id"].as_string()), 1u);
      continue;
    }
    ASSERT_TRUE(open.empty());
    for (const Json& c : m["tool_calls"].items()) open.insert(c["id"].as_string());
  }
  ASSERT_TRUE(open.empty());
  const Json anthropic = make_wire(Api::anthropic)->body(q, {});
  std::string last_role;
  for (const Json& m : anthropic["messages"].items()) {
    ASSERT_NE(m["role"].as_string(), last_role);
    last_role = m["role"].as_string();
    std::multiset<std::string> results;
    for (const Json& b : m["content"].items())
      if (b["type"].as_string() == "tool_result") results.insert(b["tool_use_id"].as_string());
    ASSERT_EQ(results, open);
    open.clear();
    for (const Json& b : m["content"].items())
      if (b["type"].as_string() == "tool_use") open.insert(b["id"].as_string());
  }
}

class LoopTest : public WorkspaceTest {
 protected:
  EpisodeResult play(Model& model, EpisodeOptions options = {}, Json verdict = correct()) {
    Desk d = desk(std::move(verdict));
    options.judge_best_again = false;
    auto r = Episode(*workspace_, d, model, options).run();
    EXPECT_TRUE(r) << to_string(r.error());
    return r ? *r : EpisodeResult{};
  }
  std::vector<std::string> trajectory() {
    std::ifstream in(workspace_->trajectory());
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  }
};

TEST_F(LoopTest, ASubmissionEndsTheWorkAndIsScored) {
  int turn = 0;
  FakeModel model([&](const ChatRequest&) -> Completion {
    ++turn;
    if (turn == 1)
      return says("", {{"write", R"({"path":"kernel.cu","text":"mine"})"},
                       {"verify", R"({"note":"first"})"}});
    return says("", {{"submit", "{}"}, {"write", R"({"path":"kernel.cu","text":"late"})"}});
  });
  const EpisodeResult r = play(model);
  EXPECT_EQ(r.status, ExitStatus::submitted);
  EXPECT_EQ(r.turns, 2u);
  ASSERT_TRUE(r.scored);
  EXPECT_EQ(r.scored->verb, "submit");
  // What comes after the submission in the same message is not carried out.
  EXPECT_EQ(*workspace_->files().read("kernel.cu", 100), "mine");
  EXPECT_THAT(trajectory().back(), HasSubstr("\"status\":\"submitted\""));
}

TEST_F(LoopTest, TheLastJudgedKernelIsScoredNotTheBest) {
  int turn = 0;
  FakeModel model([&](const ChatRequest&) -> Completion {
    const std::string text = std::to_string(++turn);
    if (turn > 2) return says("done");
    return says("",
                {{"write", R"({"path":"kernel.cu","text":")" + text + "\"}"}, {"verify", "{}"}});
  });
  Desk d = desk(correct());
  int judged = 0;
  DeskOptions o;
  o.fiel = [&](const std::vector<std::string>&, int64_t) -> Result<ProcessResult> {
    ProcessResult p;
    p.exit_code = 0;
    p.out = ++judged == 2 ? R"({"status":"incorrect","reason":"worse"})"
                          : R"({"status":"correct","reason":"good"})";
    return p;
  };
  auto two = Desk::open(*workspace_, o);
  const auto r = Episode(*workspace_, *two, model, {}).run();
  ASSERT_TRUE(r);
  EXPECT_EQ(r->status, ExitStatus::final_answer);
  EXPECT_EQ(r->scored->status, "incorrect");
  EXPECT_EQ(r->best->status, "correct");
  EXPECT_EQ(r->best_again->status, "correct");
  EXPECT_EQ(judged, 3);
}

TEST_F(LoopTest, BudgetsHaveNames) {
  int64_t clock = 0;
  const auto reads = [&](const ChatRequest&) -> Completion {
    Reply r = says("", {{"read", R"({"path":"kernel.cu"})"}});
    r.usage = {1000, 0, 0, 100, true};
    clock += 400;
    return r;
  };
  struct Row {
    EpisodeOptions options;
    ExitStatus status;
    uint32_t turns;
  };
  std::vector<Row> rows(4);
  rows[0] = {{.max_turns = 3}, ExitStatus::turn_limit, 3};
  rows[1] = {{.max_tokens = 5000}, ExitStatus::token_limit, 5};
  rows[2] = {{.max_cost = 0.01, .prices = Prices{3, 3, 3, 15}}, ExitStatus::cost_limit, 3};
  rows[3] = {{.max_wall_ms = 1000}, ExitStatus::wall_limit, 3};
  for (Row& row : rows) {
    std::filesystem::remove(workspace_->trajectory());
    row.options.now_ms = [&] { return clock; };
    FakeModel model(reads);
    const EpisodeResult r = play(model, row.options);
    EXPECT_EQ(name_of(r.status), name_of(row.status));
    EXPECT_EQ(r.turns, row.turns) << name_of(row.status);
    EXPECT_FALSE(r.scored);
  }
}

TEST_F(LoopTest, TheBudgetOfJudgedKernelsEndsIt) {
  FakeModel model([](const ChatRequest&) {
    return says("", {{"verify", "{}"}, {"compile", "{}"}, {"profile", "{}"}});
  });
  Desk d = desk(correct(), 6);
  const auto r = Episode(*workspace_, d, model, {.judge_best_again = false}).run();
  ASSERT_TRUE(r);
  EXPECT_EQ(r->status, ExitStatus::kernel_limit);
  EXPECT_EQ(r->turns, 6u);  // compile and profile judge nothing
  EXPECT_EQ(d.ledger().entries().size(), 6u);
  ASSERT_TRUE(r->scored);
  EXPECT_EQ(r->scored->number, 6u);
}

TEST_F(LoopTest, WhatIsLeftOfTheWallTimeBoundsRequestsAndJudgements) {
  int64_t clock = 0;
  std::vector<int64_t> requests, judgements;
  FakeModel model([&](const ChatRequest& q) -> Completion {
    requests.push_back(q.timeout_ms);
    clock += 3000;
    return says("", {{"verify", "{}"}, {"verify", "{}"}});
  });
  DeskOptions o;
  o.fiel = [&](const std::vector<std::string>&, int64_t timeout_ms) -> Result<ProcessResult> {
    judgements.push_back(timeout_ms);
    clock += 4000;
    ProcessResult p;
    p.exit_code = 0;
    p.out = R"({"status":"correct"})";
    return p;
  };
  auto d = Desk::open(*workspace_, o);
  EpisodeOptions options{.max_wall_ms = 10'000};
  options.now_ms = [&] { return clock; };
  const auto r = Episode(*workspace_, *d, model, options).run();
  ASSERT_TRUE(r);
  EXPECT_EQ(r->status, ExitStatus::wall_limit);
  EXPECT_EQ(requests, (std::vector<int64_t>{10'000}));
  // The last one judges the best again: the score is not the agent's time.
  EXPECT_EQ(judgements, (std::vector<int64_t>{7000, 3000, 900'000}));
}

TEST_F(LoopTest, AModelThatRunsOutOfTimeIsTheWallLimit) {
  FakeModel model([](const ChatRequest&) -> Completion {
    return tl::unexpected(ModelFailure{FailureKind::out_of_time, "slow", 0, -1});
  });
  EXPECT_EQ(play(model, {.max_wall_ms = 1000}).status, ExitStatus::wall_limit);
}

TEST_F(LoopTest, WallTimeGoesOnWhereARunIsResumed) {
  int64_t clock = 0;
  bool stop = false;
  FakeModel model([&](const ChatRequest&) -> Completion {
    clock += 400;
    stop = true;
    return says("", {{"read", R"({"path":"kernel.cu"})"}});
  });
  EpisodeOptions options{.max_wall_ms = 1000};
  options.now_ms = [&] { return clock; };
  options.interrupted = [&] { return stop; };
  for (const uint32_t turns : {1u, 2u}) {
    stop = false;
    const EpisodeResult r = play(model, options);
    EXPECT_EQ(r.status, ExitStatus::interrupted);
    EXPECT_EQ(r.turns, turns);
    clock += 1'000'000;  // nobody was at work
  }
  stop = false;
  options.interrupted = {};
  const EpisodeResult r = play(model, options);
  EXPECT_EQ(r.status, ExitStatus::wall_limit);
  EXPECT_EQ(r.turns, 3u);
}

TEST_F(LoopTest, ARunWhoseEndpointFailedGoesOnOnceItIsBack) {
  bool down = false;
  int turn = 0;
  FakeModel model([&](const ChatRequest& q) -> Completion {
    expect_paired_on_the_wire(q);
    if (down) return tl::unexpected(ModelFailure{FailureKind::unreachable, "gone", 0, -1});
    down = ++turn == 1;
    if (turn == 2) return says("", {{"submit", "{}"}});
    return says("", {{"write", R"({"path":"kernel.cu","text":"judged"})"}, {"verify", "{}"}});
  });
  const EpisodeResult out = play(model);
  EXPECT_EQ(out.status, ExitStatus::model_failed);
  // What was judged before counts.
  ASSERT_TRUE(out.scored);
  EXPECT_EQ(out.scored->status, "correct");
  down = false;
  const EpisodeResult r = play(model);
  EXPECT_EQ(r.status, ExitStatus::submitted);
  EXPECT_EQ(r.turns, 2u);
  EXPECT_EQ(r.scored->verb, "submit");
}

TEST_F(LoopTest, AFullDiskStopsTheRunAndLosesNothing) {
  std::optional<FullDisk> full;
  bool fill = true;
  FakeModel model([&](const ChatRequest& q) -> Completion {
    EXPECT_TRUE(is_paired(q.messages));
    if (q.messages.size() == 1) return says("", {{"verify", R"({"note":"before"})"}});
    if (fill) full.emplace(std::filesystem::file_size(workspace_->trajectory()) + 30);
    return says("", {{"submit", "{}"}});
  });
  Desk d = desk(correct());
  const auto stopped = Episode(*workspace_, d, model, {.judge_best_again = false}).run();
  full.reset();
  ASSERT_FALSE(stopped);
  EXPECT_THAT(to_string(stopped.error()), HasSubstr("cannot write"));
  EXPECT_THAT(trajectory().back(), ::testing::EndsWith("}"));
  fill = false;
  const EpisodeResult r = play(model);
  EXPECT_EQ(r.status, ExitStatus::submitted);
  const auto ledger = Ledger::open(workspace_->ledger());
  ASSERT_TRUE(ledger);
  ASSERT_EQ(ledger->entries().size(), 2u);
  EXPECT_EQ(ledger->entries()[0].note, "before");
  EXPECT_EQ(ledger->entries()[1].verb, "submit");
}

TEST_F(LoopTest, ThreeMalformedTurnsEndIt) {
  FakeModel model([](const ChatRequest&) { return says("", {{"read", "{\"path\":"}}); });
  const EpisodeResult r = play(model);
  EXPECT_EQ(r.status, ExitStatus::format_errors);
  EXPECT_EQ(model.requests, 3);
}

TEST_F(LoopTest, AModelThatFailsIsNamed) {
  FakeModel model([](const ChatRequest&) -> Completion {
    return tl::unexpected(ModelFailure{FailureKind::unauthorized, "no key", 401, -1});
  });
  const EpisodeResult r = play(model);
  EXPECT_EQ(r.status, ExitStatus::model_failed);
  EXPECT_EQ(r.detail, "unauthorized: no key");
}

TEST_F(LoopTest, CompactionNeverSplitsACallFromItsResult) {
  int turn = 0, compacted = 0;
  const auto talk = [&](const ChatRequest& q) -> Completion {
    expect_paired_on_the_wire(q);
    const std::string& first = q.messages.front().text;
    if (first.find("Earlier messages were dropped") != std::string::npos) {
      ++compacted;
      // Best kernel and what was tried survive.
      EXPECT_THAT(first, HasSubstr("int the_best_one;"));
      EXPECT_THAT(first, HasSubstr("tiled by 32"));
      EXPECT_THAT(first, HasSubstr("softmax"));
      EXPECT_THAT(first, Not(HasSubstr("secret thought")));
    }
    Reply r;
    if (++turn == 1)
      r = says("", {{"write", R"({"path":"kernel.cu","text":"int the_best_one;"})"},
                    {"verify", R"({"note":"tiled by 32"})"}});
    else
      r = says(std::string(300, 'w'), {{"read", R"({"path":"SKILL.md","lines":25})"},
                                       {"write", R"({"path":"notes","text":"x"})"}});
    r.message.reasoning = "secret thought";
    return r;
  };
  EpisodeOptions options{.max_turns = 40, .context_tokens = 6000};
  FakeModel model(talk);
  EXPECT_EQ(play(model, options).status, ExitStatus::turn_limit);
  EXPECT_GT(compacted, 3);

  // Killed in the middle of a pair: one of two results is on disk.
  std::vector<std::string> lines = trajectory();
  size_t cut = lines.size();
  for (size_t i = 60; i < lines.size(); ++i)
    if (lines[i].find("\"calls\"") != std::string::npos) {
      cut = i + 2;
      break;
    }
  ASSERT_LT(cut, lines.size());
  std::ofstream out(workspace_->trajectory(), std::ios::trunc);
  for (size_t i = 0; i < cut; ++i) out << lines[i] << "\n";
  out << "{\"type\":\"mess";
  out.close();
  bool interrupted = false;
  FakeModel again([&](const ChatRequest& q) -> Completion {
    for (const Message& m : q.messages)
      interrupted |= m.text.find("interrupted") != std::string::npos;
    return talk(q);
  });
  const EpisodeResult r = play(again, options);
  EXPECT_EQ(r.status, ExitStatus::turn_limit);
  EXPECT_EQ(r.turns, 40u);
  EXPECT_GT(again.requests, 5);
  EXPECT_TRUE(interrupted);
}

TEST_F(LoopTest, AnOverflowThatNothingCuresEnds) {
  int turn = 0;
  FakeModel model([&](const ChatRequest&) -> Completion {
    if (++turn == 1)
      return says("", {{"write", R"({"path":"kernel.cu","text":"x"})"}, {"verify", "{}"}});
    return tl::unexpected(
        ModelFailure{FailureKind::context_overflow, "prompt is too long", 400, -1});
  });
  const EpisodeResult r = play(model);
  EXPECT_EQ(r.status, ExitStatus::context_exhausted);
  EXPECT_LT(model.requests, 10);
  ASSERT_TRUE(r.scored);
  EXPECT_EQ(r.scored->status, "correct");
}

TEST_F(LoopTest, ReadingTheSameThingsAgainAndAgainEnds) {
  // The endpoint takes 8,000 tokens and the tool floods: every compaction is followed by the same.
  const auto tokens = [](const ChatRequest& q) {
    return make_wire(Api::chat)->body(q, {}).dump().size() / 3;
  };
  FakeModel model([&](const ChatRequest& q) -> Completion {
    if (tokens(q) > 8000)
      return tl::unexpected(ModelFailure{FailureKind::context_overflow, "too long", 413, -1});
    return says("", {{"shell", R"({"command":"head -c 20000000 /dev/zero | tr '\\0' x"})"}});
  });
  const EpisodeResult r = play(model);
  EXPECT_EQ(r.status, ExitStatus::context_exhausted);
  EXPECT_LT(model.requests, 60);
#ifndef FIEL_SANITIZED
  struct rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  EXPECT_LT(usage.ru_maxrss, 300 * 1024);
#endif
}

TEST_F(LoopTest, AKilledRunGoesOnWhereItWas) {
  bool stop = false;
  int turn = 0;
  const auto talk = [&](const ChatRequest&) -> Completion {
    stop = ++turn == 3;
    if (turn == 5) return says("", {{"submit", "{}"}});
    Reply r = says("", {{"read", R"({"path":"kernel.cu"})"}});
    r.usage = {10, 0, 0, 1, true};
    return r;
  };
  EpisodeOptions options;
  options.interrupted = [&] { return stop; };
  FakeModel model(talk);
  EXPECT_EQ(play(model, options).status, ExitStatus::interrupted);
  stop = false;
  const EpisodeResult r = play(model, options);
  EXPECT_EQ(r.status, ExitStatus::submitted);
  EXPECT_EQ(r.turns, 5u);
  EXPECT_EQ(r.cost["input_tokens"].as_int(), 40);
  Desk d = desk(correct());
  EXPECT_FALSE(Episode(*workspace_, d, model, {}).run());  // it has ended
}

TEST_F(LoopTest, TheListOfWhatToDoSurvivesCompactionAndResumption) {
  bool stop = false, seen = false;
  int turn = 0;
  const auto talk = [&](const ChatRequest& q) -> Completion {
    if (++turn == 1) return says("", {{"todo", R"({"text":"try float4 loads"})"}});
    stop = turn == 2;
    seen |= q.messages.front().text.find("try float4 loads") != std::string::npos;
    return says("", {{"read", R"({"path":"SKILL.md"})"}});
  };
  EpisodeOptions options{.max_turns = 12, .context_tokens = 6000};
  options.interrupted = [&] { return stop; };
  FakeModel model(talk);
  EXPECT_EQ(play(model, options).status, ExitStatus::interrupted);
  stop = false;
  play(model, options);
  EXPECT_TRUE(seen);
}

TEST_F(LoopTest, AtifHasEveryFieldThatReadersDemand) {
  int turn = 0;
  FakeModel model([&](const ChatRequest&) -> Completion {
    if (++turn == 1) return says("", {{"read", "{\"path\":"}});
    return says("", {{"submit", "{}"}});
  });
  EpisodeOptions options;
  options.about = Json::object({{"session", "s-1"}, {"fiel_version", "1.2.3"}});
  play(model, options);
  auto t = Trajectory::open(workspace_->trajectory());
  ASSERT_TRUE(t);
  ASSERT_TRUE(t->add_message(2, tool_message("of nobody", "stray")));
  const Json atif = to_atif(*t);
  EXPECT_EQ(atif["schema_version"].as_string(), "ATIF-v1.4");
  EXPECT_EQ(atif["session_id"].as_string(), "s-1");
  EXPECT_EQ(atif["agent"]["version"].as_string(), "1.2.3");
  const Json& malformed = atif["steps"].items()[1]["tool_calls"].items()[0];
  EXPECT_EQ(malformed["arguments"], Json::object());
  EXPECT_EQ(malformed["extra"]["arguments_text"].as_string(), "{\"path\":");
  const Json& stray = atif["steps"].items()[2]["observation"]["results"].items()[1];
  EXPECT_EQ(stray["content"].as_string(), "stray");
  EXPECT_TRUE(stray["source_call_id"].is_null());
}

TEST_F(LoopTest, TheTrajectoryIsAlsoAtif) {
  int turn = 0;
  FakeModel model([&](const ChatRequest&) -> Completion {
    Reply r = ++turn == 1 ? says("look", {{"read", R"({"path":"kernel.cu"})"}})
                          : says("", {{"submit", "{}"}});
    r.usage = {10, 0, 0, 3, true};
    r.tokens = {{1}, {2, 3}, {-0.1, -0.2}};
    return r;
  });
  play(model);
  const auto t = Trajectory::open(workspace_->trajectory());
  ASSERT_TRUE(t);
  const Json atif = to_atif(*t);
  ASSERT_EQ(atif["steps"].size(), 3u);
  const Json& step = atif["steps"].items()[1];
  EXPECT_EQ(step["source"].as_string(), "agent");
  EXPECT_EQ(step["tool_calls"].items()[0]["function_name"].as_string(), "read");
  EXPECT_EQ(step["observation"]["results"].items()[0]["source_call_id"],
            step["tool_calls"].items()[0]["tool_call_id"]);
  EXPECT_EQ(step["metrics"]["completion_token_ids"].size(), 2u);
  EXPECT_EQ(atif["final_metrics"]["total_prompt_tokens"].as_int(), 20);
}

const char* const kXmlCall =
    "<think>see [1] and {\"x\":1}</think>\n<tool_call>\n<function=read>\n"
    "<parameter=path>k.cu</parameter>\n</function>\n</tool_call>";
const char* const kJsonCall =
    "<tool_call>{\"name\":\"read\",\"arguments\":{\"path\":\"k.cu\"}}</tool_call>";
const char* const kShownCall =
    "One would call it so:\n```json\n<tool_call>{\"name\":\"read\",\"arguments\":{}}</tool_call>\n"
    "{\"name\": \"read\", \"arguments\": {\"path\": \"k.cu\"}}\n```\nand go on.";
const char* const kKernelSource =
    "Here is the kernel: `int x; // <tool_call>{\"name\":\"read\",\"arguments\":{}}</tool_call>`";

TEST(TextCalls, BothSpellingsAreCalls) {
  for (const char* text : {kXmlCall, kJsonCall}) {
    const auto calls = text_calls(text, Toolbox::specs(), "t_");
    ASSERT_EQ(calls.size(), 1u) << text;
    EXPECT_EQ(calls[0].name, "read");
    EXPECT_EQ(calls[0].arguments, *Json::parse(R"({"path":"k.cu"})"));
  }
}

TEST(TextCalls, WhatIsOnlyShownIsNone) {
  for (const char* text : {kShownCall, kKernelSource, "<think>\n<tool_call>{\"name\":\"read\"}",
                           "<tool_call>", "<tool_call>{\"name\":7}</tool_call>", ""})
    EXPECT_TRUE(text_calls(text, Toolbox::specs(), "t_").empty()) << text;
}

TEST(TextCalls, ArgumentsMayHoldTheWordsThemselves) {
  const std::string source = "// <tool_call> and </tool_call> and </parameter>\nint x;";
  const Json json = Json::object(
      {{"name", "write"}, {"arguments", Json::object({{"path", "k.cu"}, {"text", source}})}});
  const std::string as_json = "I write it.\n<tool_call>" + json.dump() + "</tool_call>\n";
  const std::string as_xml =
      "<tool_call>\n<function=write>\n<parameter=path>\nk.cu\n</parameter>\n"
      "<parameter=text>\n" +
      source + "\n</parameter>\n</function>\n</tool_call>";
  for (const std::string& text : {as_json, as_xml}) {
    const auto calls = text_calls(text, Toolbox::specs(), "t_");
    ASSERT_EQ(calls.size(), 1u) << text;
    EXPECT_EQ(calls[0].arguments["text"].as_string(), source);
    EXPECT_EQ(calls[0].arguments["path"].as_string(), "k.cu");
  }
}

TEST(TextCalls, NumbersAreReadAsTheSchemaWantsThem) {
  const auto calls = text_calls(
      "<tool_call><function=read><parameter=path>7</parameter><parameter=lines>7</parameter>"
      "</function></tool_call>",
      Toolbox::specs(), "t_");
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_TRUE(calls[0].arguments["path"].is_string());
  EXPECT_TRUE(calls[0].arguments["lines"].is_integer());
}

TEST_F(LoopTest, CallsInTheTextRunOnceWhereTheyAreAllowed) {
  for (const char* text : {kXmlCall, kJsonCall, kShownCall, kKernelSource}) {
    std::filesystem::remove(workspace_->trajectory());
    int results = 0;
    FakeModel model([&](const ChatRequest& q) -> Completion {
      for (const Message& m : q.messages)
        results += m.role == Role::user && m.text.starts_with("Result of read");
      return says(q.messages.size() == 1 ? text : "done");
    });
    play(model, {.text_calls = true});
    const bool is_call = text == kXmlCall || text == kJsonCall;
    EXPECT_EQ(results > 0, is_call) << text;
  }
}

TEST_F(LoopTest, WithoutThemTheModelGetsOneHint) {
  FakeModel model([&](const ChatRequest& q) -> Completion {
    if (q.messages.size() > 1) {
      EXPECT_EQ(q.messages.back().text, kTextCallHint);
    }
    return says(kJsonCall);
  });
  EXPECT_EQ(play(model).status, ExitStatus::final_answer);
  EXPECT_EQ(model.requests, 2);
}

TEST_F(LoopTest, NeverBothANativeCallAndOneInTheText) {
  int turn = 0;
  FakeModel model([&](const ChatRequest&) -> Completion {
    if (++turn > 1) return says("done");
    return says(
        "<tool_call>{\"name\":\"write\",\"arguments\":{\"path\":\"two\",\"text\":\"x\"}}"
        "</tool_call>",
        {{"write", R"({"path":"one","text":"x"})"}});
  });
  play(model, {.text_calls = true});
  EXPECT_TRUE(workspace_->files().exists("one"));
  EXPECT_FALSE(workspace_->files().exists("two"));
}

}  // namespace
}  // namespace fiel::agent
