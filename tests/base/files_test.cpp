#include "base/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <thread>

namespace fiel {
namespace {
namespace fs = std::filesystem;

TEST(Files, AtomicWriteReplacesAndLeavesNothingBehind) {
  auto dir = TempDir::create("fiel-test");
  ASSERT_TRUE(dir);
  fs::path path = dir->path() / "f";
  ASSERT_TRUE(write_file_atomic(path, "one"));
  ASSERT_TRUE(write_file_atomic(path, "two"));
  EXPECT_EQ(*read_file(path), "two");
  EXPECT_EQ(std::distance(fs::directory_iterator(dir->path()), fs::directory_iterator()), 1);
}

TEST(Files, AtomicWriteNeverShowsHalfAFile) {
  auto dir = TempDir::create("fiel-test");
  fs::path path = dir->path() / "f";
  std::string a(1 << 20, 'a'), b(1 << 20, 'b');
  ASSERT_TRUE(write_file_atomic(path, a));
  std::thread writer([&] {
    for (int i = 0; i < 20; ++i) (void)write_file_atomic(path, i % 2 ? a : b);
  });
  for (int i = 0; i < 50; ++i) {
    std::string seen = *read_file(path);
    EXPECT_TRUE(seen == a || seen == b);
  }
  writer.join();
}

TEST(Files, ReadIsBoundedAndRefusesWhatIsNoFile) {
  auto dir = TempDir::create("fiel-test");
  fs::path path = dir->path() / "f";
  ASSERT_TRUE(write_file_atomic(path, "12345"));
  EXPECT_EQ(read_file(path, 4).error().code, ErrorCode::limit);
  EXPECT_TRUE(read_file(path, 5));
  EXPECT_EQ(read_file(dir->path() / "none").error().code, ErrorCode::not_found);
  EXPECT_FALSE(read_file(dir->path()));
  ASSERT_EQ(mkfifo((dir->path() / "fifo").c_str(), 0600), 0);
  EXPECT_FALSE(read_file(dir->path() / "fifo"));
  EXPECT_FALSE(read_file("/dev/zero"));
}

TEST(Files, TempDirGoesWithItsOwner) {
  fs::path path;
  {
    auto dir = TempDir::create("fiel-test");
    path = dir->path();
    ASSERT_TRUE(write_file_atomic(path / "x", "y"));
    TempDir moved = std::move(*dir);
    EXPECT_TRUE(fs::exists(path));
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(Files, WriteIntoAMissingFolderSaysWhere) {
  auto status = write_file_atomic("/nonexistent/folder/f", "x");
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().what.find("/nonexistent/folder/f"), std::string::npos);
}

}  // namespace
}  // namespace fiel
