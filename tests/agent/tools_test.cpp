// The tools, each against what goes wrong with it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/tools/toolbox.h"
#include "sandbox/spawn.h"
#include "workspace_fixture.h"

namespace fiel::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ToolsTest : public WorkspaceTest {
 protected:
  void SetUp() override {
    WorkspaceTest::SetUp();
    desk_.emplace(desk(correct()));
    tools_.emplace(*workspace_, *desk_, ToolOptions{});
  }
  ToolResult call(const char* name, const char* arguments) {
    auto json = Json::parse(arguments);
    return tools_->call({"id", name, json ? *json : Json(), arguments});
  }
  std::optional<Desk> desk_;
  std::optional<Toolbox> tools_;
};

TEST_F(ToolsTest, CallsThatDoNotFitAreAnsweredWithWhatIsWrong) {
  for (const auto& [name, arguments, words] : std::vector<std::array<const char*, 3>>{
           {"raed", "{}", "did you mean 'read'?"},
           {"read", "{}", "'path' is missing"},
           {"read", R"({"path":7})", "path: must be of type string"},
           {"read", R"({"path":"a","more":1})", "no argument 'more'"},
           {"read", "[1]", "must be of type object"},
           {"read", "{", "no JSON object"},
           {"edit", R"({"path":"a","edits":[{"old":"x"}]})", "edits: [0] 'new' is missing"}}) {
    const ToolResult r = call(name, arguments);
    EXPECT_TRUE(r.failed && r.bad_schema) << arguments;
    EXPECT_THAT(r.text, HasSubstr(words));
  }
}

TEST_F(ToolsTest, FilesAreWrittenReadAndEdited) {
  EXPECT_FALSE(call("write", R"({"path":"kernel.cu","text":"one\ntwo\nthree\n"})").failed);
  EXPECT_EQ(call("read", R"({"path":"kernel.cu","first_line":2,"lines":1})").text, "    2  two\n");
  EXPECT_FALSE(
      call("edit",
           R"({"path":"kernel.cu","edits":[{"old":"two","new":"2"},{"old":"2\nthree","new":"3"}]})")
          .failed);
  EXPECT_EQ(*workspace_->files().read("kernel.cu", 100), "one\n3\n");
}

TEST_F(ToolsTest, EditsAreAllDoneOrNone) {
  call("write", R"({"path":"kernel.cu","text":"a b b"})");
  for (const char* edits : {R"([{"old":"a","new":"x"},{"old":"b","new":"y"}])",
                            R"([{"old":"a","new":"x"},{"old":"c","new":"y"}])",
                            R"([{"old":"a","new":"x"},{"old":"","new":"y"}])", "[]"}) {
    const std::string arguments = std::string(R"({"path":"kernel.cu","edits":)") + edits + "}";
    EXPECT_TRUE(call("edit", arguments.c_str()).failed) << edits;
    EXPECT_EQ(*workspace_->files().read("kernel.cu", 100), "a b b") << edits;
  }
}

TEST_F(ToolsTest, FixedFilesAndOtherPlacesAreNotWritten) {
  for (const char* path : {"task.toml", "./task.toml", "bin//verify", "../x", "/tmp/x"}) {
    const std::string arguments = std::string(R"({"text":"x","path":")") + path + R"("})";
    EXPECT_TRUE(call("write", arguments.c_str()).failed) << path;
  }
}

TEST_F(ToolsTest, GlobAndGrepFindWhatThereIs) {
  call("write", R"({"path":"kernels/a.cu","text":"int x;\nfloat y;\n"})");
  EXPECT_EQ(call("glob", R"({"pattern":"kernels/*.cu"})").text, "kernels/a.cu\n");
  EXPECT_EQ(call("glob", R"({"pattern":"**/*.cu"})").text, "kernel.cu\nkernels/a.cu\n");
  EXPECT_EQ(call("glob", R"({"pattern":"*.cu"})").text, "kernel.cu\n");
  EXPECT_EQ(call("grep", R"({"text":"float","pattern":"**.cu"})").text,
            "kernels/a.cu:2: float y;\n");
}

TEST_F(ToolsTest, AShellCommandRunsInTheWorkspaceAndNowhereElse) {
  const ToolResult r =
      call("shell", R"({"command":"echo 7 > made; cat made; echo err >&2; exit 3"})");
  EXPECT_TRUE(r.failed);
  EXPECT_THAT(r.text, HasSubstr("7"));
  EXPECT_THAT(r.text, HasSubstr("err"));
  EXPECT_THAT(r.text, HasSubstr("exit code 3"));
  EXPECT_TRUE(workspace_->files().exists("made"));
}

// With namespaces where they are to be had, and without them everywhere.
TEST_F(ToolsTest, AShellCommandSeesNeitherTheJudgesFolderNorANetworkNorAKey) {
  ::setenv("OPENAI_API_KEY", "sk-secret-0123456789", 1);
  ASSERT_TRUE(write_file_atomic(workspace_->state() / "verdicts.txt", "seed 77123"));
  const std::string state = workspace_->state().string();
  const std::string command =
      "ls " + state + "; cat " + state + "/verdicts.txt; touch /usr/fiel-x " + state +
      "/fiel-x; env\n" +
      "python3 - <<'E'\n"
      "import socket\n"
      "for family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX, socket.AF_NETLINK):\n"
      "  try: print(socket.socket(family), 'is open')\n"
      "  except OSError as e: print('refused:', e.errno)\n"
      "E\n";
  for (const sandbox::Level level : {sandbox::Level::limits, sandbox::Level::namespaces}) {
    ToolOptions options;
    options.isolation.wanted = level;
    if (level == sandbox::Level::namespaces && sandbox::probe().level < level) continue;
    Toolbox tools(*workspace_, *desk_, options);
    const Json arguments = Json::object({{"command", command}});
    const ToolResult r = tools.call({"id", "shell", arguments, arguments.dump()});
    EXPECT_THAT(r.text, Not(HasSubstr("workspace.json")));
    EXPECT_THAT(r.text, Not(HasSubstr("77123")));
    EXPECT_THAT(r.text, Not(HasSubstr("sk-secret")));
    EXPECT_THAT(r.text, Not(HasSubstr("is open")));
    EXPECT_THAT(r.text, HasSubstr("refused: 1\nrefused: 1\nrefused: 1\nrefused: 1"));
    EXPECT_FALSE(std::filesystem::exists("/usr/fiel-x"));
    EXPECT_FALSE(std::filesystem::exists(state + "/fiel-x"));
  }
  ::unsetenv("OPENAI_API_KEY");
}

TEST_F(ToolsTest, AFloodOfOutputIsCutAtTheTool) {
  const ToolResult r = call("shell", R"({"command":"head -c 200000000 /dev/zero | tr '\\0' x"})");
  EXPECT_LT(r.text.size(), 40'000u);
  EXPECT_GE(r.full_bytes, 100'000'000u);
  EXPECT_THAT(r.text, HasSubstr("of output"));
}

TEST_F(ToolsTest, ACommandThatHangsIsStopped) {
  const ToolResult r = call("shell", R"({"command":"echo begun; sleep 1000","timeout_s":5})");
  EXPECT_TRUE(r.failed);
  EXPECT_THAT(r.text, HasSubstr("begun"));
  EXPECT_THAT(r.text, HasSubstr("out of time"));
}

TEST_F(ToolsTest, ACommandTakesNoLongerThanWhatIsLeftOfTheRun) {
  Toolbox late(*workspace_, *desk_, ToolOptions{.left_ms = [] { return int64_t{300}; }});
  const auto arguments = Json::parse(R"({"command":"sleep 1000"})");
  const ToolResult r = late.call({"id", "shell", *arguments, arguments->dump()});
  EXPECT_TRUE(r.failed);
  EXPECT_THAT(r.text, HasSubstr("out of time"));
}

TEST_F(ToolsTest, OnlyASubmissionThatWasJudgedEndsTheWork) {
  EXPECT_FALSE(call("verify", "{}").submitted);
  std::filesystem::remove(workspace_->files().path() / "kernel.cu");
  EXPECT_FALSE(call("submit", "{}").submitted);
  call("write", R"({"path":"kernel.cu","text":"x"})");
  EXPECT_TRUE(call("submit", R"({"note":"done"})").submitted);
}

TEST(CutMiddle, KeepsHeadAndTail) {
  const std::string text = "head" + std::string(1000, '.') + "tail";
  const std::string cut = cut_middle(text, 100);
  EXPECT_TRUE(cut.starts_with("head"));
  EXPECT_TRUE(cut.ends_with("tail"));
  EXPECT_THAT(cut, HasSubstr("left out"));
  EXPECT_EQ(cut_middle("short", 100), "short");
}

}  // namespace
}  // namespace fiel::agent
