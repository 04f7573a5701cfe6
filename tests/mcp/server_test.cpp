// The server without a transport and without a compiler: both eras, malformed messages, long work.
#include "mcp/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "places.h"

namespace fiel::mcp {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kVerdict =
    R"({"status": "correct", "speed": "not_measured", "accepted": true, "exit_code": 0, "reason": "",
        "measurement": null, "witness": null, "probes": [], "findings": []})";

/// Processes that end when the test says so.
struct FakeProcess : Running {
  struct Script {
    std::vector<std::vector<std::string>> started;
    bool finish = true;
    int killed = 0;
    std::string out = kVerdict;
  };
  explicit FakeProcess(Script& script) : s(script) {}
  bool running() override {
    if (!s.finish) return true;
    exit_code = 0;
    out = s.out;
    return false;
  }
  void kill() override { ++s.killed; }
  Script& s;
};

class ServerTest : public ::testing::Test {
 protected:
  ServerTest()
      : jobs_(
            [this](const std::vector<std::string>& words) -> Result<std::unique_ptr<Running>> {
              script_.started.push_back(words);
              return std::unique_ptr<Running>(std::make_unique<FakeProcess>(script_));
            },
            60'000),
        tools_({.task_folder = in_source("tasks"), .max_judged = 3}, jobs_),
        server_(tools_, jobs_, "0.1") {}

  std::vector<Json> say(const std::string& line) {
    server_.take(line, now_);
    server_.look(now_);
    return server_.outgoing();
  }
  Json ask(const std::string& line) {
    auto out = say(line);
    EXPECT_EQ(out.size(), 1u) << line;
    return out.empty() ? Json() : out[0];
  }
  static std::string stateless(int id, const std::string& method, const std::string& more = "",
                               const std::string& version = "2026-07-28") {
    return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"method":")" + method +
           R"(","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":")" + version +
           R"(","io.modelcontextprotocol/clientCapabilities":{}})" + more + "}}";
  }
  static std::string plain(int id, const std::string& method, const std::string& params = "{}") {
    return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"method":")" + method +
           R"(","params":)" + params + "}";
  }
  static std::string verify(int id, const char* wait = "30") {
    return plain(
        id, "tools/call",
        std::string(R"({"name":"verify","arguments":{"task":"softmax","kernel":"x","wait_s":)") +
            wait + "}}");
  }

  FakeProcess::Script script_;
  int64_t now_ = 1000;
  Jobs jobs_;
  Tools tools_;
  Server server_;
};

TEST_F(ServerTest, TheHandshakeAgreesOnAVersionOrOffersOurNewest) {
  for (const std::string& v : handshake_versions()) {
    const Json r =
        ask(plain(1, "initialize", R"({"protocolVersion":")" + v + R"(","capabilities":{}})"));
    EXPECT_EQ(r["result"]["protocolVersion"].as_string(), v);
    EXPECT_TRUE(r["result"]["capabilities"]["tools"].is_object());
    EXPECT_EQ(r["result"]["serverInfo"]["name"].as_string(), "fiel");
    EXPECT_EQ(r["result"].find("resultType"), nullptr);
  }
  const Json newer = ask(plain(2, "initialize", R"({"protocolVersion":"2099-01-01"})"));
  EXPECT_EQ(newer["result"]["protocolVersion"].as_string(), handshake_versions().front());
  EXPECT_EQ(ask(plain(3, "initialize"))["error"]["code"].as_int(), code::kInvalidParams);
  EXPECT_TRUE(say(R"({"jsonrpc":"2.0","method":"notifications/initialized"})").empty());
  EXPECT_TRUE(ask(plain(4, "ping"))["result"].is_object());
  EXPECT_EQ(ask(plain(5, "tools/list"))["result"].find("ttlMs"), nullptr);
}

TEST_F(ServerTest, TheStatelessRevisionIsAnsweredWithoutAnythingBeforeIt) {
  const Json r = ask(stateless(1, "server/discover"))["result"];
  EXPECT_EQ(r["resultType"].as_string(), "complete");
  EXPECT_EQ(r["supportedVersions"].items()[0].as_string(), "2026-07-28");
  EXPECT_GE(r["ttlMs"].as_int(-1), 0);
  EXPECT_EQ(r["cacheScope"].as_string(), "public");
  EXPECT_EQ(r["_meta"]["io.modelcontextprotocol/serverInfo"]["name"].as_string(), "fiel");
  const Json list = ask(stateless(2, "tools/list"))["result"];
  EXPECT_EQ(list["tools"].size(), 8u);
  EXPECT_EQ(list["resultType"].as_string(), "complete");
  EXPECT_GE(list["ttlMs"].as_int(-1), 0);
  // What the revision has dropped is gone for its clients.
  for (const char* method : {"initialize", "ping", "logging/setLevel"})
    EXPECT_EQ(ask(stateless(3, method))["error"]["code"].as_int(), code::kMethodNotFound) << method;
  EXPECT_EQ(ask(plain(4, "server/discover"))["error"]["code"].as_int(), code::kMethodNotFound);
}

TEST_F(ServerTest, AnUnknownVersionIsNamedWithThoseThatAreKnown) {
  const Json e = ask(stateless(1, "tools/list", "", "2031-01-01"))["error"];
  EXPECT_EQ(e["code"].as_int(), code::kUnsupportedVersion);
  EXPECT_EQ(e["data"]["requested"].as_string(), "2031-01-01");
  EXPECT_EQ(e["data"]["supported"].items()[0].as_string(), "2026-07-28");
  const Json bare = ask(R"({"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":)"
                        R"({"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}})");
  EXPECT_EQ(bare["error"]["code"].as_int(), code::kInvalidParams);
}

struct Bad {
  const char* line;
  int code;
};

TEST_F(ServerTest, MalformedMessagesAreAnsweredAndTheServerGoesOn) {
  const Bad cases[] = {
      {"{", code::kParseError},
      {"\xff\xfe", code::kParseError},
      {"", code::kParseError},
      {"[]", code::kInvalidRequest},
      {R"([{"jsonrpc":"2.0","id":1,"method":"ping"}])", code::kInvalidRequest},
      {"3", code::kInvalidRequest},
      {R"({"jsonrpc":"1.0","id":1,"method":"ping"})", code::kInvalidRequest},
      {R"({"id":1,"method":"ping"})", code::kInvalidRequest},
      {R"({"jsonrpc":"2.0","id":null,"method":"ping"})", code::kInvalidRequest},
      {R"({"jsonrpc":"2.0","id":1.5,"method":"ping"})", code::kInvalidRequest},
      {R"({"jsonrpc":"2.0","id":{},"method":"ping"})", code::kInvalidRequest},
      {R"({"jsonrpc":"2.0","id":1})", code::kInvalidRequest},
      {R"({"jsonrpc":"2.0","id":1,"method":7})", code::kInvalidRequest},
      {R"({"jsonrpc":"2.0","id":1,"method":"ping","params":[1]})", code::kInvalidRequest},
      {R"({"jsonrpc":"2.0","id":1,"method":"resources/list"})", code::kMethodNotFound},
      {R"({"jsonrpc":"2.0","id":1,"method":"tools/call"})", code::kInvalidParams},
      {R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"verfy"}})",
       code::kInvalidParams},
      {R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"verify","arguments":[]}})",
       code::kInvalidParams},
      {R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"explain","arguments":{"word":3}}})",
       code::kInvalidParams},
      {R"({"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}})",
       code::kInvalidParams},
  };
  for (const Bad& c : cases) EXPECT_EQ(ask(c.line)["error"]["code"].as_int(), c.code) << c.line;
  EXPECT_EQ(ask(std::string(100, '[') + std::string(100, ']'))["error"]["code"].as_int(),
            code::kParseError);
  EXPECT_TRUE(say(R"({"jsonrpc":"2.0","id":1,"result":{}})").empty());
  EXPECT_TRUE(ask(plain(1, "ping"))["result"].is_object());
  EXPECT_TRUE(script_.started.empty());
}

TEST_F(ServerTest, AVerdictComesBackAsTextAndAsMembers) {
  const Json r = ask(verify(1))["result"];
  EXPECT_FALSE(r["isError"].as_bool(true));
  EXPECT_THAT(r["content"].items()[0]["text"].as_string(), HasSubstr("verdict: correct"));
  EXPECT_EQ(r["structuredContent"]["status"].as_string(), "correct");
  EXPECT_EQ(r["structuredContent"]["state"].as_string(), "done");
  ASSERT_EQ(script_.started.size(), 1u);
  EXPECT_THAT(script_.started[0], ::testing::Contains("--no-store"));
}

TEST_F(ServerTest, WhatTakesLongIsAHandleAndOneAtATime) {
  script_.finish = false;
  EXPECT_TRUE(say(verify(1, "5")).empty());
  EXPECT_TRUE(say(verify(2, "5")).empty());
  EXPECT_EQ(script_.started.size(), 1u);
  EXPECT_EQ(server_.wait_ms(now_), 5000);
  // Others are answered meanwhile.
  EXPECT_TRUE(ask(plain(3, "ping"))["result"].is_object());
  now_ += 5000;
  server_.look(now_);
  const auto out = server_.outgoing();
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0]["result"]["structuredContent"]["state"].as_string(), "running");
  EXPECT_EQ(out[1]["result"]["structuredContent"]["state"].as_string(), "waiting");
  const std::string id = out[0]["result"]["structuredContent"]["job_id"].as_string();
  script_.finish = true;
  const Json r =
      ask(stateless(4, "tools/call", R"(,"name":"job","arguments":{"job_id":")" + id + R"("})"));
  EXPECT_EQ(r["result"]["structuredContent"]["status"].as_string(), "correct");
  EXPECT_EQ(r["result"]["resultType"].as_string(), "complete");
  EXPECT_EQ(script_.started.size(), 2u);
}

TEST_F(ServerTest, ACancelledCallIsNotAnsweredAndItsWorkEnds) {
  script_.finish = false;
  EXPECT_TRUE(say(verify(7)).empty());
  EXPECT_EQ(ask(verify(7))["error"]["code"].as_int(), code::kInvalidRequest);  // the id is taken
  EXPECT_TRUE(
      say(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}})")
          .empty());
  EXPECT_EQ(script_.killed, 1);
  EXPECT_TRUE(
      say(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}})")
          .empty());
  script_.finish = true;
  EXPECT_EQ(ask(verify(8))["result"]["structuredContent"]["status"].as_string(), "correct");
}

TEST_F(ServerTest, AJobIsCancelledByItsHandle) {
  script_.finish = false;
  const Json first = ask(verify(1, "0"));
  const std::string id = first["result"]["structuredContent"]["job_id"].as_string();
  const Json r = ask(plain(
      2, "tools/call", R"({"name":"job","arguments":{"cancel":true,"job_id":")" + id + R"("}})"));
  EXPECT_EQ(r["result"]["structuredContent"]["state"].as_string(), "cancelled");
  EXPECT_TRUE(r["result"]["isError"].as_bool());
  EXPECT_EQ(script_.killed, 1);
  const Json none =
      ask(plain(3, "tools/call", R"({"name":"job","arguments":{"job_id":"job-77"}})"));
  EXPECT_TRUE(none["result"]["isError"].as_bool());
}

TEST_F(ServerTest, NoTaskOutsideOfItsFolderIsRead) {
  for (const char* name :
       {"../tasks/softmax", "/etc/passwd", "softmax/../softmax", "", "nothing"}) {
    const Json r = ask(plain(
        1, "tools/call",
        std::string(R"({"name":"verify","arguments":{"kernel":"x","task":")") + name + R"("}})"));
    EXPECT_TRUE(r["result"]["isError"].as_bool()) << name;
  }
  EXPECT_TRUE(script_.started.empty());
}

class TorchServer : public ServerTest {
 protected:
  /// The answer to one call for `task` on `device`, whose words are then in `script_`.
  Json call(const std::string& tool, const std::string& task, const std::string& kernel,
            const std::string& device = "") {
    Tools tools({.task_folder = in_source("tasks"), .device = device}, jobs_);
    Server server(tools, jobs_, "0.1");
    server.take(plain(1, "tools/call",
                      R"({"name":")" + tool + R"(","arguments":{"task":")" + task +
                          R"(","kernel":")" + kernel + R"("}})"),
                now_);
    server.look(now_);
    const auto out = server.outgoing();
    return out.size() == 1 ? out[0]["result"] : Json();
  }
  static std::string text_of(const Json& r) { return r["content"].items()[0]["text"].as_string(); }
  static constexpr const char* kModule = "class ModelNew:\\n  pass\\n";
  static constexpr const char* kBare = "int fiel_run();";
};

TEST_F(TorchServer, BothFormsGoToTheJudgeByWhatTheyHold) {
  for (const char* name : {"torch/linear_gelu", "torch/linear_gelu.py"})
    EXPECT_EQ(call("verify", name, kModule)["structuredContent"]["status"].as_string(), "correct");
  call("submit", "torch/linear_gelu", kBare, "cuda:1");
  ASSERT_EQ(script_.started.size(), 3u);
  const auto& words = script_.started[0];
  EXPECT_EQ(words[0], "judge");
  EXPECT_THAT(words[1], ::testing::EndsWith("tasks/torch/linear_gelu.py"));
  EXPECT_THAT(words[2], ::testing::EndsWith("/kernel.py"));
  EXPECT_THAT(script_.started[2][2], ::testing::EndsWith("/kernel.cu"));
  EXPECT_THAT(script_.started[2], ::testing::Contains("cuda:1"));
  call("compile", "torch/linear_gelu", kModule, "cpu");
  EXPECT_THAT(script_.started.back(), ::testing::Contains("--for"));
}

TEST_F(TorchServer, WhatADeviceDoesNotRunIsAnsweredAndNotCounted) {
  EXPECT_THAT(text_of(call("verify", "torch/linear_gelu", kBare, "cpu")), HasSubstr("bare kernel"));
  EXPECT_THAT(text_of(call("verify", "torch/linear_gelu", kModule, "virtual")),
              HasSubstr("Python module"));
  EXPECT_THAT(text_of(call("profile", "torch/linear_gelu", kModule)), HasSubstr("native tasks"));
  EXPECT_TRUE(script_.started.empty());
  call("profile", "torch/linear_gelu", kModule, "cuda:0");
  ASSERT_EQ(script_.started.size(), 1u);
  EXPECT_EQ(script_.started[0][0], "profile");
  EXPECT_THAT(script_.started[0], ::testing::IsSupersetOf({"--device", "cuda:0"}));
}

TEST_F(TorchServer, NamesLeadNowhereElse) {
  for (const char* name :
       {"torch/../softmax", "torch//linear_gelu", "/torch/linear_gelu", "torch/",
        "torch/x/linear_gelu", "softmax.py", "torch/linear_gelu.toml", "./softmax"})
    EXPECT_TRUE(call("verify", name, kModule)["isError"].as_bool()) << name;
  EXPECT_TRUE(script_.started.empty());
}

TEST_F(TorchServer, OneTaskIsListedWithItsText) {
  const auto listed = [&](const char* arguments) {
    return ask(plain(1, "tools/call",
                     std::string(R"({"name":"list_tasks","arguments":)") + arguments +
                         "}"))["result"]["structuredContent"]["tasks"];
  };
  std::vector<std::string> names;
  const Json all = listed("{}");
  for (const Json& t : all.items()) names.push_back(t["name"].as_string());
  EXPECT_THAT(names, ::testing::Contains("softmax"));
  EXPECT_THAT(names, ::testing::Contains("torch/linear_gelu.py"));
  const Json one = listed(R"({"task": "torch/linear_gelu.py"})");
  ASSERT_EQ(one.size(), 1u);
  EXPECT_THAT(one.items()[0]["source"].as_string(), HasSubstr("class Model(torch.nn.Module)"));
}

TEST_F(ServerTest, TheBudgetOfJudgementsEnds) {
  for (int i = 0; i < 3; ++i) ask(verify(i));
  const Json r = ask(verify(9));
  EXPECT_TRUE(r["result"]["isError"].as_bool());
  EXPECT_THAT(r["result"]["content"].items()[0]["text"].as_string(),
              HasSubstr("no judgements are left"));
}

TEST_F(ServerTest, TasksAndWordsAreAnsweredAtOnce) {
  const Json tasks = ask(plain(1, "tools/call", R"({"name":"list_tasks"})"))["result"];
  EXPECT_GT(tasks["structuredContent"]["tasks"].size(), 50u);
  const Json word =
      ask(plain(2, "tools/call", R"({"name":"explain","arguments":{"word":"out-of-bounds"}})"));
  EXPECT_FALSE(word["result"]["isError"].as_bool(true));
  const Json none =
      ask(plain(3, "tools/call", R"({"name":"explain","arguments":{"word":"out-of-bound"}})"));
  EXPECT_THAT(none["result"]["content"].items()[0]["text"].as_string(), HasSubstr("did you mean"));
}

TEST_F(ServerTest, WorkWithoutAnEndIsEnded) {
  script_.finish = false;
  EXPECT_TRUE(say(verify(1, "300")).empty());
  now_ += 60'001;
  server_.look(now_);
  const auto out = server_.outgoing();
  ASSERT_EQ(out.size(), 1u);
  EXPECT_TRUE(out[0]["result"]["isError"].as_bool());
  EXPECT_EQ(script_.killed, 1);
}

TEST(LineReader, LinesComeWholeWhateverThePieces) {
  LineReader reader;
  std::vector<std::string> lines;
  const auto take = [&](std::string_view l) { lines.emplace_back(l); };
  for (const char* piece : {"a", "b\nc\n\n \nd", "", "\n"}) reader.add(piece, take);
  EXPECT_EQ(lines, (std::vector<std::string>{"ab", "c", "d"}));
}

TEST(LineReader, ALineThatIsTooLongIsOneErrorAndTheNextIsWhole) {
  LineReader reader;
  std::vector<std::string> lines;
  const auto take = [&](std::string_view l) { lines.emplace_back(l); };
  for (int i = 0; i < 10; ++i) reader.add(std::string(1 << 20, 'x'), take);
  EXPECT_TRUE(lines.empty());
  reader.add("\nnext\n", take);
  EXPECT_EQ(lines, (std::vector<std::string>{"", "next"}));
}

}  // namespace
}  // namespace fiel::mcp
