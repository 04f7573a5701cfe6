// A workspace of a small native task, and a judge whose answers the test writes.
#pragma once

#include <gtest/gtest.h>

#include "agent/workspace/desk.h"
#include "agent/workspace/layout.h"
#include "base/files.h"
#include "places.h"

namespace fiel::agent {

class WorkspaceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto folder = TempDir::create("fiel-agent-test");
    ASSERT_TRUE(folder);
    folder_.emplace(std::move(*folder));
    NewWorkspace q;
    q.task = in_source("tasks/softmax.toml");
    q.folder = folder_->path() / "work";
    q.skeleton = "// kernel\n";
    q.fiel = "/opt/it's/fiel";
    auto made = create_workspace(q);
    ASSERT_TRUE(made) << to_string(made.error());
    workspace_.emplace(std::move(*made));
  }

  /// A desk whose judge says this document, and writes down what it was asked.
  Desk desk(Json verdict, uint32_t max_judged = 100) {
    DeskOptions o;
    o.max_judged = max_judged;
    o.fiel = [this, verdict](const std::vector<std::string>& words,
                             int64_t) -> Result<ProcessResult> {
      asked_.push_back(words);
      ProcessResult r;
      r.exit_code = 0;
      r.out = words[0] == "judge" ? verdict.dump() : "profile\n";
      return r;
    };
    auto d = Desk::open(*workspace_, o);
    EXPECT_TRUE(d);
    return std::move(*d);
  }
  static Json correct() {
    return Json::object(
        {{"status", "correct"}, {"reason", "all probes passed"}, {"seed", "77123"}});
  }

  std::optional<TempDir> folder_;
  std::optional<Workspace> workspace_;
  std::vector<std::vector<std::string>> asked_;
};

}  // namespace fiel::agent
