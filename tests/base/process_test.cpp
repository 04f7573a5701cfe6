#include "base/process.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>

namespace fiel {
namespace {

TEST(Process, KeepsBothStreamsApartAndTheExitCode) {
  auto r = run_process({.arguments = {"sh", "-c", "echo out; echo err >&2; exit 3"}});
  ASSERT_TRUE(r);
  EXPECT_EQ(r->out, "out\n");
  EXPECT_EQ(r->err, "err\n");
  EXPECT_EQ(r->exit_code, 3);
  EXPECT_FALSE(r->ok());
}

TEST(Process, KillsTheWholeGroupWhenTheTimeIsOver) {
  auto r = run_process({.arguments = {"sh", "-c", "sleep 1000 & sleep 1000"}, .timeout_ms = 200});
  ASSERT_TRUE(r);
  EXPECT_TRUE(r->timed_out);
  EXPECT_EQ(r->signal, SIGKILL);
}

TEST(Process, BoundsOutputAndKeepsReading) {
  auto r = run_process({.arguments = {"sh", "-c", "head -c 3000000 /dev/zero; echo end >&2"},
                        .max_output_bytes = 1000});
  ASSERT_TRUE(r);
  EXPECT_EQ(r->out.size(), 1000u);
  EXPECT_EQ(r->err, "end\n");
  EXPECT_TRUE(r->ok());
}

TEST(Process, NamesAProgramThatIsNotThere) {
  EXPECT_EQ(run_process({.arguments = {"fiel-no-such-program"}}).error().code,
            ErrorCode::not_found);
  EXPECT_FALSE(run_process({.arguments = {"/nonexistent/program"}}));
  EXPECT_FALSE(run_process({.arguments = {}}));
}

TEST(Process, ReplacesTheEnvironmentWhenAsked) {
  setenv("FIEL_TEST_SECRET", "1", 1);
  using Env = std::vector<std::pair<std::string, std::string>>;
  auto r = run_process({.arguments = {"/usr/bin/env"}, .environment = Env{{"A", "b"}}});
  ASSERT_TRUE(r);
  EXPECT_EQ(r->out, "A=b\n");
}

TEST(Process, SurvivesASignalOfTheChild) {
  auto r = run_process({.arguments = {"sh", "-c", "kill -SEGV $$"}});
  ASSERT_TRUE(r);
  EXPECT_EQ(r->signal, SIGSEGV);
}

}  // namespace
}  // namespace fiel
