// Two judgements on one GPU: who may run beside whom, and that nobody waits for ever.
#include "judge/torch/gpu_turn.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace fiel::judge::torch {
namespace {

const char* const kGpu = "GPU-1ca6d50e";

GpuTurn turn_in(const TempDir& folder, const std::string& uuid = kGpu,
                std::function<bool()> interrupted = {}) {
  auto turn = GpuTurn::open(folder.path(), uuid, std::move(interrupted));
  EXPECT_TRUE(turn);
  return std::move(*turn);
}

/// True where it is not over in a while: it waits.
bool waits(GpuTurn& turn, Share share, std::jthread& thread, std::atomic<bool>& done) {
  thread = std::jthread([&turn, &done, share] {
    EXPECT_TRUE(turn.take(share));
    done = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  return !done;
}

TEST(GpuTurn, WaitingIsNotTheJudgementsTime) {
  auto folder = TempDir::create("turn");
  ASSERT_TRUE(folder);
  std::atomic<int64_t> now_ms = 0;
  const auto limit = std::make_shared<TimeLimit>(1'000, [&] { return now_ms.load(); });
  GpuTurn a = turn_in(*folder);
  ASSERT_TRUE(a.live(Share::shared) && a.take(Share::exclusive));
  // Asked while it waits: hours pass, and then the other one is done.
  auto b = GpuTurn::open(
      folder->path(), kGpu,
      [&] {
        now_ms += 3'600'000;
        EXPECT_EQ(limit->left_ms(), 900);
        a.end();
        return false;
      },
      limit);
  ASSERT_TRUE(b);
  now_ms = 100;
  ASSERT_TRUE(b->live(Share::shared) && b->take(Share::shared));
  EXPECT_GT(now_ms, 3'600'000);
  EXPECT_EQ(limit->left_ms(), 900);
  now_ms += 900;
  EXPECT_TRUE(limit->cuts());
}

TEST(GpuTurn, AnswersAreCheckedSideBySide) {
  auto folder = TempDir::create("turn");
  ASSERT_TRUE(folder);
  GpuTurn a = turn_in(*folder), b = turn_in(*folder);
  ASSERT_TRUE(a.live(Share::shared) && b.live(Share::shared));
  ASSERT_TRUE(a.take(Share::shared));
  EXPECT_TRUE(b.take(Share::shared));
}

TEST(GpuTurn, WhoTimesIsAlone) {
  auto folder = TempDir::create("turn");
  ASSERT_TRUE(folder);
  GpuTurn a = turn_in(*folder), b = turn_in(*folder);
  ASSERT_TRUE(a.take(Share::shared));
  std::atomic<bool> done = false;
  {
    std::jthread thread;
    EXPECT_TRUE(waits(b, Share::exclusive, thread, done));
    a.end();
  }
  EXPECT_TRUE(done);
  EXPECT_GT(b.waited_s(), 0);
  std::atomic<bool> shared = false;
  std::jthread thread;
  EXPECT_TRUE(waits(a, Share::shared, thread, shared));
  b.end();
}

TEST(GpuTurn, WhoYieldsLetsTheWaitingTimeFirst) {
  auto folder = TempDir::create("turn");
  ASSERT_TRUE(folder);
  GpuTurn a = turn_in(*folder), b = turn_in(*folder);
  ASSERT_TRUE(a.take(Share::shared));
  std::atomic<bool> timed = false, back = false;
  std::jthread timing;
  ASSERT_TRUE(waits(b, Share::exclusive, timing, timed));
  std::jthread yielding([&] {
    EXPECT_TRUE(a.yield());
    back = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_TRUE(timed);
  EXPECT_FALSE(back);
  timing.join();
  b.end();
}

TEST(GpuTurn, OtherGpusAndTheCpuAreNobodysTurn) {
  auto folder = TempDir::create("turn");
  ASSERT_TRUE(folder);
  GpuTurn a = turn_in(*folder), b = turn_in(*folder, "GPU-other"), cpu = turn_in(*folder, "");
  ASSERT_TRUE(a.take(Share::exclusive));
  EXPECT_TRUE(b.take(Share::exclusive));
  EXPECT_TRUE(cpu.take(Share::exclusive));
  EXPECT_TRUE(cpu.alone());
}

TEST(GpuTurn, TheWholeRoomIsHadWhenTheOthersHaveEnded) {
  auto folder = TempDir::create("turn");
  ASSERT_TRUE(folder);
  GpuTurn a = turn_in(*folder);
  std::atomic<bool> alone = false;
  std::jthread thread;
  {
    GpuTurn b = turn_in(*folder);
    ASSERT_TRUE(b.live(Share::shared));
    thread = std::jthread([&] {
      EXPECT_TRUE(a.live(Share::exclusive));
      alone = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    EXPECT_FALSE(alone);
    EXPECT_FALSE(b.alone());
  }
  thread.join();
  EXPECT_TRUE(a.alone());
}

TEST(GpuTurn, TheRoomIsHadAtOnceWhereNobodyElseIsInIt) {
  auto folder = TempDir::create("turn");
  ASSERT_TRUE(folder);
  GpuTurn a = turn_in(*folder);
  ASSERT_TRUE(a.live(Share::shared));
  {
    GpuTurn b = turn_in(*folder);
    ASSERT_TRUE(b.live(Share::shared));
    EXPECT_FALSE(a.try_alone());
    EXPECT_FALSE(a.alone());
  }
  EXPECT_TRUE(a.try_alone());
  EXPECT_TRUE(a.alone());
  GpuTurn c = turn_in(*folder);
  std::atomic<bool> in = false;
  std::jthread thread([&] {
    EXPECT_TRUE(c.live(Share::shared));
    in = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  EXPECT_FALSE(in);
  { const GpuTurn gone = std::move(a); }
  thread.join();
}

TEST(GpuTurn, TheUserStopsTheWait) {
  auto folder = TempDir::create("turn");
  ASSERT_TRUE(folder);
  GpuTurn a = turn_in(*folder), b = turn_in(*folder, kGpu, [] { return true; });
  ASSERT_TRUE(a.take(Share::exclusive));
  const Status stopped = b.take(Share::shared);
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, ErrorCode::interrupted);
}

}  // namespace
}  // namespace fiel::judge::torch
