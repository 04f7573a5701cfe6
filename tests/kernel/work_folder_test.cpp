#include "kernel/work_folder.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "base/files.h"

namespace fiel::kernel {
namespace {
namespace fs = std::filesystem;

class WorkFolder : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) {
    fs::create_directories((work_ / name).parent_path());
    std::ofstream(work_ / name) << text;
  }
  std::string text() {
    auto text = work_folder_text(work_);
    EXPECT_TRUE(text) << to_string(text.error());
    return *text;
  }
  TempDir folder_ = *TempDir::create("fiel-test-work");
  fs::path work_ = folder_.path() / "work";
};

TEST_F(WorkFolder, IsOneTextAndTheSameFilesAgain) {
  write("model_new.py", "class ModelNew: pass");
  write("kernels/a.cu", "==== b.cu, 3 bytes\nabc\n");
  write("empty", "");
  fs::create_symlink("/etc/passwd", work_ / "link");
  const std::string all = text();
  const auto files = work_files(all);
  ASSERT_EQ(files.size(), 3u);
  EXPECT_EQ(files[1].path, "kernels/a.cu");
  EXPECT_EQ(files[1].text, "==== b.cu, 3 bytes\nabc\n");
  ASSERT_TRUE(write_work_folder(all, folder_.path() / "again"));
  EXPECT_EQ(*work_folder_text(folder_.path() / "again"), all);
  fs::remove(work_ / "link");
  EXPECT_EQ(*work_folder_digest(folder_.path() / "again"), *work_folder_digest(work_));
}

TEST_F(WorkFolder, EveryChangeIsAnotherText) {
  write("model_new.py", "class ModelNew: pass");
  std::set<std::string> texts{text()};
  write("binary.so", std::string("\0\1", 2));
  texts.insert(text());
  write("binary.so", std::string("\0\2", 2));
  texts.insert(text());
  fs::rename(work_ / "binary.so", work_ / "other.so");
  texts.insert(text());
  EXPECT_EQ(texts.size(), 4u);
}

TEST_F(WorkFolder, WhatIsNoTextOrTooMuchIsThereByItsDigest) {
  write("a.txt", std::string((15u << 20), 'a'));
  write("b.txt", std::string((2u << 20), 'b'));
  write("c.bin", std::string("\0", 1));
  write("model_new.py", "class ModelNew: pass");
  const std::string all = text();
  EXPECT_LT(all.size(), 17u << 20);
  const auto files = work_files(all);
  ASSERT_EQ(files.size(), 4u);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(files[i].kept, i == 0 || i == 3) << files[i].path;
  EXPECT_EQ(write_work_folder(all, folder_.path() / "again").error().code, ErrorCode::not_found);
}

TEST_F(WorkFolder, ATextOfAnybodyStaysInItsFolder) {
  const std::string first = "==== files of a work folder\n";
  ASSERT_EQ(work_files(first + "==== a/b, 1 bytes\nx\n").size(), 1u);
  for (const char* bad :
       {"==== ../a, 1 bytes\nx\n", "==== /a, 1 bytes\nx\n", "==== a/../../b, 1 bytes\nx\n",
        "==== , 1 bytes\nx\n", "==== a, 9 bytes\nx\n", "==== a, 1 bytes\nx", "==== a\nx\n",
        "==== a, 18446744073709551615 bytes\nx\n", "x"})
    EXPECT_TRUE(work_files(first + bad).empty()) << bad;
  EXPECT_TRUE(work_files("class ModelNew: pass").empty());
}

}  // namespace
}  // namespace fiel::kernel
