#include "build/cache.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "base/files.h"

namespace fiel::build {
namespace {
namespace fs = std::filesystem;

struct CacheTest : ::testing::Test {
  TempDir folder = *TempDir::create("fiel-test-cache");
  BuildCache cache{folder.path() / "build", 1u << 30};

  static void fill(const fs::path& p, size_t bytes) { std::ofstream(p) << std::string(bytes, 'x'); }
  void store(const std::string& key, size_t bytes) {
    auto slot = cache.begin();
    ASSERT_TRUE(slot);
    fill(slot->folder() / "kernel.so", bytes);
    ASSERT_TRUE(cache.publish(std::move(*slot), key));
  }
};

TEST_F(CacheTest, WhatIsPublishedIsFound) {
  EXPECT_FALSE(cache.find("k1"));
  store("k1", 10);
  auto hit = cache.find("k1");
  ASSERT_TRUE(hit);
  EXPECT_EQ(fs::file_size(*hit / "kernel.so"), 10u);
}

TEST_F(CacheTest, ASlotThatIsNotPublishedLeavesNothing) {
  fs::path gone;
  {
    auto slot = cache.begin();
    gone = slot->folder();
    EXPECT_TRUE(fs::exists(gone));
  }
  EXPECT_FALSE(fs::exists(gone));
}

TEST_F(CacheTest, AKilledBuilderBlocksNobody) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  pid_t pid = ::fork();
  if (pid == 0) {
    auto slot = cache.begin();
    fill(slot->folder() / "half", 5);
    (void)!::write(ready[1], "x", 1);
    for (;;) ::pause();
  }
  char byte = 0;
  EXPECT_EQ(::read(ready[0], &byte, 1), 1);
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  ::close(ready[0]);
  ::close(ready[1]);
  store("k1", 10);
  EXPECT_TRUE(cache.find("k1"));
  EXPECT_EQ(cache.usage().abandoned, 1u);
  // An hour later its folder goes.
  for (const auto& e : fs::directory_iterator(cache.folder()))
    if (e.path().filename().string().rfind("tmp.", 0) == 0)
      fs::last_write_time(e.path(), fs::file_time_type::clock::now() - std::chrono::hours(2));
  cache.evict();
  EXPECT_EQ(cache.usage().abandoned, 0u);
}

TEST_F(CacheTest, OfTwoBuildersAtOnceBothAreRight) {
  auto a = cache.begin(), b = cache.begin();
  fill(a->folder() / "kernel.so", 10);
  fill(b->folder() / "kernel.so", 10);
  auto pa = cache.publish(std::move(*a), "k"), pb = cache.publish(std::move(*b), "k");
  ASSERT_TRUE(pa && pb);
  EXPECT_EQ(*pa, *pb);
  EXPECT_EQ(cache.usage().entries, 1u);
  EXPECT_EQ(cache.usage().abandoned, 0u);
}

TEST_F(CacheTest, EightThreadsPublishTheSameKey) {
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      auto slot = cache.begin();
      fill(slot->folder() / "kernel.so", 100);
      auto p = cache.publish(std::move(*slot), "same");
      if (p && fs::file_size(*p / "kernel.so") == 100) ++good;
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(good, 8);
}

TEST_F(CacheTest, AnEntryWithoutItsMarkIsRebuilt) {
  store("k", 10);
  fs::remove(*cache.find("k") / "complete");
  EXPECT_FALSE(cache.find("k"));
  store("k", 20);
  EXPECT_EQ(fs::file_size(*cache.find("k") / "kernel.so"), 20u);
}

TEST_F(CacheTest, TheOldestGoesWhenTheBoundIsReached) {
  BuildCache small(folder.path() / "small", 2500);
  auto now = fs::file_time_type::clock::now();
  for (int i = 0; i < 4; ++i) {
    auto slot = small.begin();
    fill(slot->folder() / "kernel.so", 1000);
    std::string key = "k" + std::to_string(i);
    ASSERT_TRUE(small.publish(std::move(*slot), key));
    if (fs::exists(small.folder() / key / "complete"))
      fs::last_write_time(small.folder() / key / "complete", now - std::chrono::minutes(10 - i));
  }
  small.evict();
  EXPECT_LE(small.usage().bytes, 2500u);
  EXPECT_FALSE(small.find("k0"));
  EXPECT_TRUE(small.find("k3"));
}

}  // namespace
}  // namespace fiel::build
