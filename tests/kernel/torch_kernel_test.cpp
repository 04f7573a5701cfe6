#include "kernel/torch_kernel.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/files.h"
#include "kernel/skeleton.h"

namespace fiel::kernel {
namespace {
namespace fs = std::filesystem;

class TorchKernels : public ::testing::Test {
 protected:
  fs::path write(const std::string& name, const std::string& text) {
    fs::create_directories((folder_.path() / name).parent_path());
    std::ofstream(folder_.path() / name) << text;
    return folder_.path() / name;
  }
  TempDir folder_ = *TempDir::create("fiel-test-kernel");
};

TEST_F(TorchKernels, AModule) {
  auto path = write("kernel.py", "class ModelNew: pass\n");
  EXPECT_TRUE(is_torch_kernel(path));
  auto k = load_torch_kernel(path);
  ASSERT_TRUE(k);
  EXPECT_STREQ(k->load_kind(), "module");
  auto again = load_torch_kernel(write("kernel.py", "class ModelNew: pass  # changed\n"));
  EXPECT_NE(again->digest, k->digest);
}

TEST_F(TorchKernels, AWorkFolder) {
  write("work/model_new.py", "class ModelNew: pass\n");
  write("work/model.py", "class Model: pass\n");
  write("work/kernels/relu.cu", "// one\n");
  auto k = load_torch_kernel(folder_.path() / "work");
  ASSERT_TRUE(k) << to_string(k.error());
  EXPECT_STREQ(k->load_kind(), "folder");
  EXPECT_EQ(k->task, folder_.path() / "work" / "model.py");
  write("work/kernels/relu.cu", "// two\n");
  EXPECT_NE(load_torch_kernel(folder_.path() / "work")->digest, k->digest);
  EXPECT_FALSE(is_torch_kernel(folder_.path()));
}

TEST_F(TorchKernels, WhatIsNoKernelIsSaidToBeNone) {
  auto k = load_torch_kernel(write("task.py", "class Model: pass\ndef get_inputs(): pass\n"));
  ASSERT_FALSE(k);
  EXPECT_NE(k.error().hint.find("it is a task"), std::string::npos) << k.error().hint;
  EXPECT_FALSE(load_torch_kernel(folder_.path() / "none.py"));
}

TEST(KernelSkeletons, NamesOfOthersCannotLeaveTheComment) {
  Skeleton s{"a\\", {{"evil\n#error", "f32", {2}, "parameter"}, {"new", "f32", {}, ""}}, {}, ""};
  const std::string text = bare_skeleton(s);
  EXPECT_EQ(text.find("\n#error"), std::string::npos) << text;
  EXPECT_EQ(text.find("\\"), std::string::npos) << text;
  EXPECT_NE(text.find("new_ = "), std::string::npos) << text;
}

}  // namespace
}  // namespace fiel::kernel
