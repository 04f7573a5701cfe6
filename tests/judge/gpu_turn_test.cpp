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

/// A turn that is taken by another thread, and whether it waits.
struct Other {
  explicit Other(const TempDir& folder)
      : turn(turn_in(folder, kGpu, [this] {
          asked = true;
          return false;
        })) {}

  void start(std::function<Status(GpuTurn&)> what) {
    done = false;
    thread = std::jthread([this, what = std::move(what)] {
      EXPECT_TRUE(what(turn));
      done = true;
    });
  }
  void take(Share share) {
    start([share](GpuTurn& t) { return t.take(share); });
  }
  void live(Share share) {
    start([share](GpuTurn& t) { return t.live(share); });
  }
  /// Once it asks anew whether to go on, as only who waits does, or is over.
  bool waits() {
    asked = false;
    while (!asked && !done) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return !done;
  }

  std::atomic<bool> asked = false, done = false;
  GpuTurn turn;
  std::jthread thread;  ///< last: joined before what it uses goes
};

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
  Other a(*folder), b(*folder);
  ASSERT_TRUE(a.turn.take(Share::shared));
  b.take(Share::exclusive);
  EXPECT_TRUE(b.waits());
  a.turn.end();
  b.thread.join();
  EXPECT_TRUE(b.done);
  EXPECT_GT(b.turn.waited_s(), 0);
  a.take(Share::shared);
  EXPECT_TRUE(a.waits());
  b.turn.end();
}

TEST(GpuTurn, WhoYieldsLetsTheWaitingTimeFirst) {
  auto folder = TempDir::create("turn");
  ASSERT_TRUE(folder);
  Other a(*folder), b(*folder);
  ASSERT_TRUE(a.turn.take(Share::shared));
  b.take(Share::exclusive);
  ASSERT_TRUE(b.waits());
  a.start([](GpuTurn& t) { return t.yield(); });
  b.thread.join();
  EXPECT_TRUE(b.done);
  EXPECT_TRUE(a.waits());
  b.turn.end();
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
  Other a(*folder);
  {
    GpuTurn b = turn_in(*folder);
    ASSERT_TRUE(b.live(Share::shared));
    a.live(Share::exclusive);
    EXPECT_TRUE(a.waits());
    EXPECT_FALSE(b.alone());
  }
  a.thread.join();
  EXPECT_TRUE(a.turn.alone());
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
  Other c(*folder);
  c.live(Share::shared);
  EXPECT_TRUE(c.waits());
  { const GpuTurn gone = std::move(a); }
  c.thread.join();
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
