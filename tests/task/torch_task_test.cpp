#include "task/torch_task.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/files.h"

namespace fiel::task {
namespace {

class TorchTasks : public ::testing::Test {
 protected:
  std::filesystem::path write(const std::string& name, const std::string& text) {
    std::ofstream(folder_.path() / name) << text;
    return folder_.path() / name;
  }
  TempDir folder_ = *TempDir::create("fiel-test-task");
};

constexpr const char* kTask =
    "class Model: pass\ndef get_inputs(): return []\ndef get_init_inputs(): return []\n";

TEST_F(TorchTasks, AreKnownByTheirContent) {
  auto path = write("relu.py", kTask);
  EXPECT_TRUE(is_torch_task(path));
  auto task = load_torch_task(path);
  ASSERT_TRUE(task);
  EXPECT_EQ(task->name, "relu");
  EXPECT_EQ(task->digest.size(), 64u);
  EXPECT_FALSE(is_torch_task(write("relu.toml", kTask)));
}

TEST_F(TorchTasks, NothingIsExecuted) {
  auto path = write(
      "evil.py", std::string(kTask) + "open('" + (folder_.path() / "ran").string() + "', 'w')\n");
  EXPECT_TRUE(is_torch_task(path));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "ran"));
}

TEST_F(TorchTasks, WhatIsMissingIsNamed) {
  auto task = load_torch_task(write("half.py", "class Model: pass\n"));
  ASSERT_FALSE(task);
  EXPECT_NE(task.error().what.find("def get_inputs"), std::string::npos) << task.error().what;
  task = load_torch_task(write("kernel.py", "class ModelNew: pass\n"));
  ASSERT_FALSE(task);
  EXPECT_NE(task.error().hint.find("it is a kernel"), std::string::npos) << task.error().hint;
}

}  // namespace
}  // namespace fiel::task
