#include "base/file_lock.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fiel {
namespace {

FileLock open_lock(const TempDir& folder) {
  auto lock = FileLock::open(folder.path() / "below" / "gpu.lock");
  EXPECT_TRUE(lock.has_value());
  return std::move(*lock);
}

TEST(FileLock, ManyShareItAndOneHasItAlone) {
  auto folder = TempDir::create("fiel-lock");
  ASSERT_TRUE(folder.has_value());
  FileLock a = open_lock(*folder), b = open_lock(*folder), c = open_lock(*folder);
  {
    auto first = a.shared();
    auto second = b.shared();
    EXPECT_FALSE(c.try_exclusive());
  }
  EXPECT_TRUE(c.try_exclusive());
  EXPECT_FALSE(a.try_exclusive());
  c.release();
  EXPECT_TRUE(a.try_exclusive());
}

TEST(FileLock, TheDeadGiveItBack) {
  auto folder = TempDir::create("fiel-lock");
  ASSERT_TRUE(folder.has_value());
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    FileLock mine = open_lock(*folder);
    auto held = mine.exclusive();
    (void)!::write(ready[1], "x", 1);
    for (;;) ::pause();
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  FileLock lock = open_lock(*folder);
  EXPECT_FALSE(lock.try_exclusive());
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(lock.try_exclusive());
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST(FileLock, AFolderThatCannotBeMadeIsAnError) {
  EXPECT_FALSE(FileLock::open("/proc/no/such/gpu.lock").has_value());
}

}  // namespace
}  // namespace fiel
