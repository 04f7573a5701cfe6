// The clients over HTTP, against tests/agent/model_server.py.
#include "agent/model/http_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/model/cost.h"
#include "agent/model/curl_transport.h"
#include "agent/model/replay.h"
#include "base/files.h"
#include "model_server.h"

namespace fiel::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Client {
  CurlTransport curl;
  HttpModel model;
  std::vector<int64_t> waits;

  explicit Client(
      const std::string& scenario, Api api = Api::chat, RetryPolicy policy = {},
      void (*change)(Endpoint&) = [](Endpoint&) {})
      : model(endpoint(scenario, api, change), curl, policy) {
    model.sleep = [this](int64_t ms) { waits.push_back(ms); };
  }
  static Endpoint endpoint(const std::string& scenario, Api api, void (*change)(Endpoint&)) {
    Endpoint e;
    e.api = api;
    e.base_url = ModelServer::instance().url(scenario);
    e.key = Secret("sk-secret-0123456789");
    e.settings.model = "m";
    change(e);
    return e;
  }
  Completion ask(std::vector<Message> messages = {user_message("hi")}) {
    return model.complete({.system = "s",
                           .messages = std::move(messages),
                           .tools = {{"read", "reads", Json::object({{"type", "object"}})}}});
  }
};

std::string failure_of(const Completion& c) {
  return c ? "completed" : std::string(name_of(c.error().kind));
}

TEST(HttpModel, StreamsTextAndCountsTokens) {
  Client client("hello");
  const Completion c = client.ask();
  ASSERT_TRUE(c) << c.error().message;
  EXPECT_EQ(c->message.text, "hello");
  EXPECT_EQ(c->finish, Finish::stop);
  EXPECT_EQ(c->model, "served");
  EXPECT_TRUE(c->usage.known);
  EXPECT_EQ(c->usage.input_tokens, 11);
  EXPECT_EQ(c->usage.cached_tokens, 4);
  EXPECT_EQ(c->usage.output_tokens, 5);
}

TEST(HttpModel, AServerThatDoesNotStreamIsUnderstood) {
  Client client("plain");
  const Completion c = client.ask();
  ASSERT_TRUE(c) << c.error().message;
  EXPECT_EQ(c->message.text, "hello");
  ASSERT_EQ(c->message.calls.size(), 1u);
  EXPECT_EQ(c->finish, Finish::tool_calls);
}

TEST(HttpModel, WaitsAsLongAsTheServerAsks) {
  Client client("busy");
  const Completion c = client.ask();
  ASSERT_TRUE(c) << c.error().message;
  EXPECT_EQ(client.waits, (std::vector<int64_t>{7000}));
}

TEST(HttpModel, AServerThatAsksForADayIsGivenUp) {
  Client client("very-busy");
  EXPECT_EQ(failure_of(client.ask()), "rate_limited");
  EXPECT_TRUE(client.waits.empty());
}

TEST(HttpModel, ServerErrorsAreTriedAgainWithLongerWaits) {
  Client client("ill");
  EXPECT_EQ(failure_of(client.ask()), "completed");
  EXPECT_EQ(client.waits, (std::vector<int64_t>{1000, 2000}));
}

TEST(HttpModel, BrokenStreamsAreAskedForAgainAndCountWhole) {
  for (const char* scenario : {"cut", "malformed", "error-inside"}) {
    Client client(scenario);
    const Completion c = client.ask();
    ASSERT_TRUE(c) << scenario << ": " << c.error().message;
    EXPECT_EQ(c->message.text, "hello") << scenario;
    EXPECT_EQ(client.waits.size(), 1u) << scenario;
  }
}

TEST(HttpModel, AStreamWithoutItsEndIsNoAnswer) {
  Client client("ends-early", Api::chat, {.attempts = 3});
  EXPECT_EQ(failure_of(client.ask()), "cut");
  EXPECT_EQ(client.waits.size(), 2u);
}

TEST(HttpModel, HugeDrippingAndStallingAnswersEnd) {
  Client huge("huge");
  EXPECT_EQ(failure_of(huge.ask()), "too_large");
  EXPECT_TRUE(huge.waits.empty());
  Client drip("drip", Api::chat, {.attempts = 1, .total_timeout_ms = 500});
  EXPECT_EQ(failure_of(drip.ask()), "timed_out");
  Client stall("stall", Api::chat, {.attempts = 2, .idle_timeout_ms = 300});
  EXPECT_EQ(failure_of(stall.ask()), "stalled");
  EXPECT_EQ(stall.waits.size(), 1u);
}

TEST(HttpModel, NobodyListeningIsUnreachable) {
  CurlTransport curl;
  HttpModel model({.base_url = "http://127.0.0.1:9/v1"}, curl, {.attempts = 1});
  EXPECT_EQ(failure_of(model.complete({})), "unreachable");
}

TEST(HttpModel, InterruptionEndsAWaitingRequest) {
  Client client("stall");
  client.model.interrupted = [] { return true; };
  EXPECT_EQ(failure_of(client.ask()), "interrupted");
}

TEST(HttpModel, ANewIdBeginsANewCallAtTheSameIndex) {
  Client client("new-id");
  const Completion c = client.ask();
  ASSERT_TRUE(c) << c.error().message;
  ASSERT_EQ(c->message.calls.size(), 2u);
  EXPECT_EQ(c->message.calls[0].id, "a1");
  EXPECT_EQ(c->message.calls[0].name, "read");
  EXPECT_EQ(c->message.calls[0].arguments["path"].as_string(), "k.cu");
  EXPECT_EQ(c->message.calls[1].id, "a2");
  EXPECT_EQ(c->message.calls[1].name, "compile");
  EXPECT_EQ(c->message.calls[1].arguments, Json::object());
  EXPECT_EQ(c->finish, Finish::tool_calls);
}

TEST(HttpModel, PiecesWithoutIndexAndIdBelongToTheCallBefore) {
  Client client("id-first");
  const Completion c = client.ask();
  ASSERT_TRUE(c) << c.error().message;
  ASSERT_EQ(c->message.calls.size(), 1u);
  EXPECT_EQ(c->message.calls[0].arguments["path"].as_string(), "k.cu");
}

TEST(HttpModel, CallsWithoutIdsGetDifferentOnes) {
  Client client("no-ids");
  const Completion c = client.ask();
  ASSERT_TRUE(c) << c.error().message;
  ASSERT_EQ(c->message.calls.size(), 2u);
  EXPECT_FALSE(c->message.calls[0].id.empty());
  EXPECT_NE(c->message.calls[0].id, c->message.calls[1].id);
  EXPECT_EQ(c->message.calls[1].arguments["path"].as_string(), "b");
}

/// Three turns with a reasoning server: what it refuses is learned once.
void talk_with_reasoning(const char* scenario) {
  Client client(scenario, Api::chat, {.attempts = 1});
  std::vector<Message> messages{user_message("hi")};
  for (int turn = 0; turn < 3; ++turn) {
    const Completion c = client.ask(messages);
    ASSERT_TRUE(c) << scenario << " turn " << turn << ": " << c.error().message;
    EXPECT_EQ(c->message.reasoning, "let me see");
    messages.push_back(c->message);
    messages.push_back(tool_message("a1", "text"));
  }
}
TEST(HttpModel, ReasoningTravelsBackWhereItMust) { talk_with_reasoning("wants-reasoning"); }
TEST(HttpModel, ReasoningStaysHereWhereItIsRefused) { talk_with_reasoning("refuses-reasoning"); }

TEST(HttpModel, ARefusalIsTriedTheOtherWayOnlyOnce) {
  Client client("refuses-all");
  Message answer = tool_message("", "");
  answer.role = Role::assistant;
  answer.reasoning = "r";
  const Completion c = client.ask({user_message("hi"), answer, user_message("and?")});
  ASSERT_FALSE(c);
  EXPECT_EQ(c.error().kind, FailureKind::rejected);
  EXPECT_EQ(c.error().message, "no, for the 2. time");
}

TEST(HttpModel, OptionsThatAServerRefusesAreLeftOut) {
  Client client("picky", Api::chat, {.attempts = 1},
                [](Endpoint& e) { e.settings.temperature = 1; });
  const Completion c = client.ask();
  ASSERT_TRUE(c) << c.error().message;
  EXPECT_EQ(c->message.text, "hello");
}

TEST(HttpModel, SignedThinkingGoesBackByteForByte) {
  Client client("anthropic", Api::anthropic, {.attempts = 1});
  std::vector<Message> messages{user_message("hi")};
  for (int turn = 0; turn < 3; ++turn) {
    const Completion c = client.ask(messages);
    ASSERT_TRUE(c) << c.error().message;
    ASSERT_EQ(c->message.calls.size(), 1u);
    EXPECT_EQ(c->message.calls[0].arguments["path"].as_string(), "k.cu");
    EXPECT_EQ(c->usage.input_tokens, 30);
    EXPECT_EQ(c->usage.cached_tokens, 20);
    EXPECT_EQ(c->usage.output_tokens, 9);
    // As a resumed run reads it from its trajectory.
    const auto kept = message_from_json(*Json::parse(to_json(c->message).dump()));
    ASSERT_TRUE(kept);
    EXPECT_EQ(*kept, c->message);
    messages.push_back(*kept);
    messages.push_back(tool_message("t1", "text"));
    messages.push_back(user_message("go on"));
  }
  messages[1].vendor["anthropic"] = Json(Json::Array{Json::object({{"type", "thinking"}})});
  EXPECT_EQ(failure_of(client.ask(messages)), "rejected");
}

TEST(HttpModel, ResponsesSendItemsBackAsTheyCame) {
  Client client("responses", Api::responses, {.attempts = 1});
  std::vector<Message> messages{user_message("hi")};
  for (int turn = 0; turn < 2; ++turn) {
    const Completion c = client.ask(messages);
    ASSERT_TRUE(c) << c.error().message;
    ASSERT_EQ(c->message.calls.size(), 1u);
    EXPECT_EQ(c->message.calls[0].id, "c1");
    EXPECT_EQ(c->usage.output_tokens, 4);
    messages.push_back(c->message);
    messages.push_back(tool_message("c1", "text"));
  }
}

TEST(HttpModel, ThreeVendorsWordsForAPromptThatIsTooLong) {
  for (const char* scenario : {"overflow-code", "overflow-words", "overflow-413"}) {
    Client client(scenario);
    EXPECT_EQ(failure_of(client.ask()), "context_overflow") << scenario;
    EXPECT_TRUE(client.waits.empty()) << scenario;
  }
}

TEST(HttpModel, TheKeyIsSentAndNeverShownOrKept) {
  auto folder = TempDir::create("fiel-test");
  ASSERT_TRUE(folder);
  const auto file = folder->path() / "talk.jsonl";
  for (const Api api : {Api::chat, Api::anthropic}) {
    CurlTransport curl;
    Endpoint e = Client::endpoint("key", api, [](Endpoint&) {});
    RecordingTransport recording(curl, file, e.key);
    HttpModel model(e, recording);
    const Completion c = model.complete({.messages = {user_message("sk-secret-0123456789")}});
    ASSERT_FALSE(c);
    EXPECT_EQ(c.error().kind, FailureKind::unauthorized);
    EXPECT_THAT(c.error().message, HasSubstr("[key]"));
    EXPECT_THAT(c.error().message, Not(HasSubstr("sk-secret")));
  }
  const auto kept = read_file(file);
  ASSERT_TRUE(kept);
  EXPECT_THAT(*kept, HasSubstr("[key]"));
  EXPECT_THAT(*kept, Not(HasSubstr("sk-secret")));
}

TEST(HttpModel, ARedirectIsNotFollowed) {
  Client client("elsewhere");
  EXPECT_EQ(failure_of(client.ask()), "rejected");
}

TEST(HttpModel, TokenIdsAndLogProbsAreKept) {
  Client client("token-ids", Api::chat, {}, [](Endpoint& e) { e.settings.want_token_ids = true; });
  const Completion c = client.ask();
  ASSERT_TRUE(c) << c.error().message;
  EXPECT_EQ(c->tokens.ids, (std::vector<int64_t>{53122, 316}));
  EXPECT_EQ(c->tokens.prompt_ids, (std::vector<int64_t>{1, 2}));
  EXPECT_TRUE(c->tokens.usable_on_policy());
  Client without("hello");
  EXPECT_FALSE(without.ask()->tokens.usable_on_policy());
}

TEST(HttpModel, ARecordedConversationPlaysAgainAndOnlyThatOne) {
  auto folder = TempDir::create("fiel-test");
  ASSERT_TRUE(folder);
  const auto file = folder->path() / "talk.jsonl";
  CurlTransport curl;
  const Endpoint e = Client::endpoint("new-id", Api::chat, [](Endpoint&) {});
  RecordingTransport recording(curl, file, e.key);
  const ChatRequest request{.system = "s", .messages = {user_message("hi")}};
  const Completion live = HttpModel(e, recording).complete(request);
  ASSERT_TRUE(live) << live.error().message;

  auto replay = ReplayTransport::open(file);
  ASSERT_TRUE(replay) << to_string(replay.error());
  HttpModel model(e, *replay, {.attempts = 1});
  const Completion again = model.complete(request);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->message, live->message);
  EXPECT_EQ(failure_of(model.complete(request)), "replay");

  auto other = ReplayTransport::open(file);
  EXPECT_EQ(failure_of(HttpModel(e, *other).complete({.messages = {user_message("ho")}})),
            "replay");
}

TEST(HttpModel, NoRequestAndNoWaitGoesBeyondTheTimeThatIsLeft) {
  // A drip that never ends, stopped by what is left and not by the client's twenty minutes.
  ChatRequest request{.system = "s", .messages = {user_message("hi")}};
  request.timeout_ms = 700;
  Client drip("drip");
  EXPECT_EQ(failure_of(drip.model.complete(request)), "out_of_time");

  int64_t clock = 0;
  Client down("down");
  down.model.now_ms = [&] { return clock; };
  down.model.sleep = [&](int64_t ms) {
    down.waits.push_back(ms);
    clock += ms;
  };
  request.timeout_ms = 5000;
  EXPECT_EQ(failure_of(down.model.complete(request)), "out_of_time");
  EXPECT_EQ(down.waits, (std::vector<int64_t>{1000, 2000}));  // four more would be too late
}

Json exchange(const char* body, int status, const char* answer) {
  return Json::object(
      {{"request", Json::object({{"body", body}})},
       {"response", Json::object({{"status", status}, {"body", answer}, {"end", "complete"}})}});
}

TEST(Replay, AResumedRunGoesOnBehindWhatWasAnswered) {
  const std::vector<Json> talk = {exchange("one", 400, "max_completion_tokens"),
                                  exchange("one'", 200, "cut short"),
                                  exchange("one'", 503, "busy"),
                                  exchange("one'", 200, "first"),
                                  exchange("two", 503, "busy"),
                                  exchange("two", 200, "second")};
  for (const auto& [answers, played] :
       std::vector<std::pair<size_t, size_t>>{{0, 0}, {1, 5}, {2, 6}, {9, 6}}) {
    ReplayTransport replay(talk);
    const auto refusals = replay.skip(answers);
    EXPECT_EQ(replay.played(), played) << answers;
    ASSERT_EQ(refusals.empty(), answers == 0);
    if (answers > 0) {
      EXPECT_EQ(refusals[0].body, "max_completion_tokens");
    }
  }
}

TEST(CostMeter, CachedTokensCostTheirOwnPrice) {
  const auto prices = parse_prices("3,0.3,15");
  ASSERT_TRUE(prices);
  CostMeter meter(*prices);
  meter.add({1'000'000, 400'000, 0, 100'000, true});
  EXPECT_DOUBLE_EQ(*meter.money(), 0.6 * 3 + 0.4 * 0.3 + 1.5);
  meter.add({});
  EXPECT_EQ(meter.uncounted(), 1u);
  EXPECT_FALSE(CostMeter().money());
  for (const char* bad : {"", "3", "a,b", "1,2,3,4", "-1,2", "nan,1"})
    EXPECT_FALSE(parse_prices(bad)) << bad;
}

}  // namespace
}  // namespace fiel::agent
