#include "vgpu/race.h"

#include <gtest/gtest.h>

#include <vector>

namespace fiel::vgpu {
namespace {

/// A block on the bench: requests by hand, hits collected.
struct Bench {
  BlockClocks clocks;
  SharedRaces shared;
  GlobalRaces global;
  std::vector<RaceHit> hits;

  explicit Bench(uint32_t warps = 2) {
    EXPECT_TRUE(clocks.start_block(warps));
    shared.start_block(4096);
  }
  RaceRequest request(const std::vector<uint64_t>& addresses, bool write, uint32_t op) {
    address_.assign(kMaxWarps, 0);
    RaceRequest r{.op = op, .mask = 0, .write = write};
    for (size_t i = 0; i < addresses.size(); ++i) {
      address_[i] = addresses[i];
      r.mask |= 1u << i;
    }
    r.addresses = address_.data();
    return r;
  }
  RaceRequest consecutive(uint64_t base, bool write, uint32_t op, uint32_t bytes = 4) {
    address_.resize(kMaxWarps);
    for (uint32_t i = 0; i < kMaxWarps; ++i) address_[i] = base + uint64_t{i} * bytes;
    return {.op = op,
            .bytes = bytes,
            .mask = ~0u,
            .write = write,
            .contiguous = true,
            .addresses = address_.data()};
  }
  void on_shared(uint32_t warp, const RaceRequest& r) {
    shared.access(clocks, warp, r, [&](const RaceHit& h) { hits.push_back(h); });
  }
  void on_global(BlockClocks& c, uint32_t block, uint32_t warp, const RaceRequest& r) {
    global.access(c, block, warp, r, [&](const RaceHit& h) { hits.push_back(h); });
  }

 private:
  std::vector<uint64_t> address_;
};

TEST(SharedRaces, ABarrierOrdersWriteAndReadAndItsAbsenceDoesNot) {
  for (bool barrier : {true, false}) {
    Bench b;
    b.on_shared(0, b.consecutive(0, true, 1));
    if (barrier) b.clocks.barrier(3, 3);
    b.on_shared(1, b.consecutive(0, false, 2));
    ASSERT_EQ(b.hits.empty(), barrier);
    if (barrier) continue;
    EXPECT_EQ(b.hits.size(), 32u);
    EXPECT_EQ(b.hits[5].kind, FindingKind::shared_race);
    EXPECT_EQ(b.hits[5].grade, Grade::error);
    EXPECT_EQ(b.hits[5].address, 20u);
    EXPECT_EQ(b.hits[5].other_op, 1u);
    EXPECT_EQ(b.hits[5].other_warp, 0u);
    EXPECT_EQ(b.hits[5].other_lane, 5u);
    EXPECT_TRUE(b.hits[5].other_wrote);
  }
}

TEST(SharedRaces, AWriteAfterAnUnorderedReadIsFound) {
  Bench b;
  b.on_shared(0, b.consecutive(128, false, 1));
  b.on_shared(1, b.consecutive(128, true, 2));
  ASSERT_EQ(b.hits.size(), 32u);
  EXPECT_FALSE(b.hits[0].other_wrote);
  EXPECT_EQ(b.hits[0].grade, Grade::error);
}

TEST(SharedRaces, ManyReadersAreAllRemembered) {
  Bench b(4);
  b.clocks.barrier(15, 15);
  for (uint32_t w : {0u, 1u, 2u}) b.on_shared(w, b.consecutive(0, false, 1 + w));
  // Warps 2 and 3 meet: only 0 and 1 are unordered against the write of 3.
  b.clocks.barrier(12, 12);
  b.on_shared(3, b.consecutive(0, true, 9));
  ASSERT_EQ(b.hits.size(), 32u);
  EXPECT_EQ(b.hits[0].other_warp, 0u);
}

TEST(SharedRaces, ARepeatedReadDoesNotForgetOtherReaders) {
  Bench b(2);
  b.clocks.barrier(3, 3);
  b.on_shared(1, b.consecutive(0, false, 1));
  b.on_shared(0, b.consecutive(0, false, 2));
  b.on_shared(0, b.consecutive(0, false, 2));
  b.on_shared(0, b.consecutive(0, true, 3));
  ASSERT_FALSE(b.hits.empty());
  EXPECT_EQ(b.hits[0].other_warp, 1u);
}

TEST(SharedRaces, ArriveReleasesButDoesNotAcquire) {
  Bench b;
  b.on_shared(0, b.consecutive(0, true, 1));  // producer fills
  b.clocks.barrier(3, 2);                     // 0 arrives, 1 syncs
  b.on_shared(1, b.consecutive(0, false, 2));
  EXPECT_TRUE(b.hits.empty());
  b.on_shared(0, b.consecutive(0, true, 3));  // refills without waiting for the consumer
  EXPECT_EQ(b.hits.size(), 32u);
}

TEST(SharedRaces, LockStepIsAWarningAndASyncOperationRemovesIt) {
  for (bool sync : {true, false}) {
    Bench b(1);
    b.on_shared(0, b.consecutive(0, true, 1));
    if (sync) b.clocks.tick(0);
    b.on_shared(0, b.request({4, 8, 12}, false, 2));  // lane i reads what lane i+1 wrote
    EXPECT_EQ(b.hits.size(), sync ? 0u : 3u);
    for (const RaceHit& h : b.hits) {
      EXPECT_EQ(h.kind, FindingKind::warp_synchronous);
      EXPECT_EQ(h.grade, Grade::warn);
    }
  }
}

TEST(SharedRaces, OwnLaneIsAlwaysOrdered) {
  Bench b(2);
  for (int i = 0; i < 3; ++i) {
    b.on_shared(0, b.consecutive(0, true, 1));
    b.on_shared(0, b.consecutive(0, false, 2));
  }
  EXPECT_TRUE(b.hits.empty());
}

TEST(SharedRaces, LanesOfOneStoreAgreeOrClash) {
  uint32_t values[2] = {7, 7};
  for (uint32_t second : {7u, 8u}) {
    values[1] = second;
    Bench b;
    RaceRequest r = b.request({16, 16}, true, 4);
    r.values = reinterpret_cast<const uint8_t*>(values);
    r.value_stride = 4;
    b.on_shared(0, r);
    ASSERT_EQ(b.hits.size(), 1u);
    EXPECT_EQ(b.hits[0].grade, second == 7 ? Grade::info : Grade::error);
    EXPECT_EQ(b.hits[0].kind,
              second == 7 ? FindingKind::same_value_race : FindingKind::shared_race);
  }
}

TEST(SharedRaces, NeighbouringBytesOfOneWordDoNotRace) {
  Bench b;
  auto bytes = [&](uint64_t base, uint32_t op) {
    RaceRequest r = b.request({base}, true, op);
    r.bytes = 1;
    return r;
  };
  b.on_shared(0, b.consecutive(0, true, 1));
  b.clocks.barrier(3, 3);
  b.on_shared(0, bytes(8, 2));
  b.on_shared(1, bytes(9, 3));
  EXPECT_TRUE(b.hits.empty());
  b.on_shared(1, bytes(8, 4));
  EXPECT_EQ(b.hits.size(), 1u);
  b.hits.clear();
  b.on_shared(0, b.consecutive(0, false, 5, 16));
  EXPECT_EQ(b.hits.size(), 2u) << "a wide read meets both bytes that warp 1 wrote";
}

TEST(SharedRaces, AtomicsDoNotRaceWithEachOtherButWithPlainWrites) {
  Bench b;
  RaceRequest atomic = b.request({0}, true, 1);
  atomic.synchronizing = atomic.acquire = true;
  b.on_shared(0, atomic);
  b.on_shared(1, atomic);
  EXPECT_TRUE(b.hits.empty());
  b.on_shared(1, b.request({64}, true, 2));
  RaceRequest other = b.request({64}, true, 3);
  other.synchronizing = other.acquire = true;
  b.on_shared(0, other);
  EXPECT_EQ(b.hits.size(), 1u);
}

TEST(SharedRaces, AFenceAndAFlagPublish) {
  for (bool fence : {true, false}) {
    Bench b;
    b.on_shared(0, b.request({0}, true, 1));
    if (fence) b.clocks.fence(0, false);
    RaceRequest flag = b.request({512}, true, 2);
    flag.synchronizing = true;
    b.on_shared(0, flag);
    RaceRequest poll = b.request({512}, false, 3);
    poll.synchronizing = poll.acquire = true;
    b.on_shared(1, poll);
    b.on_shared(1, b.request({0}, false, 4));
    EXPECT_EQ(b.hits.size(), fence ? 0u : 1u);
  }
}

TEST(SharedRaces, MbarrierReleaseAndAcquireOrder) {
  Bench b;
  b.on_shared(0, b.consecutive(0, true, 1));
  b.shared.release(b.clocks, 0, 2048);
  b.shared.acquire(b.clocks, 1, 2048);
  b.on_shared(1, b.consecutive(0, false, 2));
  EXPECT_TRUE(b.hits.empty());
  b.on_shared(0, b.consecutive(0, true, 3));
  EXPECT_EQ(b.hits.size(), 32u) << "written again after the release";
}

TEST(SharedRaces, TheNextBlockStartsClean) {
  Bench b;
  b.on_shared(0, b.consecutive(0, true, 1));
  b.on_shared(1, b.consecutive(1024, false, 1));
  ASSERT_TRUE(b.clocks.start_block(2));
  b.shared.start_block(4096);
  b.on_shared(1, b.consecutive(0, false, 2));
  b.on_shared(0, b.consecutive(1024, true, 3));
  EXPECT_TRUE(b.hits.empty());
}

TEST(BlockClocks, SayWhenTheyOverflow) {
  BlockClocks c;
  ASSERT_TRUE(c.start_block(2));
  for (uint32_t i = 0; i <= kMaxClock && !c.overflowed(); ++i) c.tick(0);
  EXPECT_TRUE(c.overflowed());
  EXPECT_FALSE(c.start_block(2));
  c.reset();
  EXPECT_TRUE(c.start_block(2));
}

struct TwoBlocks : Bench {
  BlockClocks other;
  TwoBlocks() { EXPECT_TRUE(other.start_block(2)); }
};

TEST(GlobalRaces, TwoBlocksThatWriteOneAddressRace) {
  TwoBlocks b;
  b.on_global(b.clocks, 0, 0, b.request({0x1000}, true, 1));
  b.on_global(b.other, 1, 0, b.request({0x1000}, true, 1));
  ASSERT_EQ(b.hits.size(), 1u);
  EXPECT_EQ(b.hits[0].kind, FindingKind::global_race);
  EXPECT_EQ(b.hits[0].other_block, 0u);
}

TEST(GlobalRaces, NeighbouringHalvesDoNotRace) {
  TwoBlocks b;
  RaceRequest r = b.request({0x1002}, true, 1);
  r.bytes = 2;
  b.on_global(b.clocks, 0, 0, r);
  r = b.request({0x1000}, true, 1);
  r.bytes = 2;
  b.on_global(b.other, 1, 0, r);
  EXPECT_TRUE(b.hits.empty());
}

/// The last-block pattern: data, fence, ticket; the other block takes the ticket, then reads.
TEST(GlobalRaces, TheLastBlockPatternNeedsItsFence) {
  for (bool fence : {true, false}) {
    TwoBlocks b;
    b.on_global(b.clocks, 0, 0, b.request({0x1000}, true, 1));
    if (fence) {
      b.clocks.fence(0, true);
      b.global.fence(0, 0);
    }
    RaceRequest ticket = b.request({0x2000}, true, 2);
    ticket.synchronizing = ticket.acquire = true;
    b.on_global(b.clocks, 0, 0, ticket);
    b.on_global(b.other, 1, 0, ticket);
    b.other.barrier(3, 3);  // the ticket's taker tells its block
    b.global.barrier(1, 3, 3);
    b.on_global(b.other, 1, 1, b.request({0x1000}, false, 3));
    EXPECT_EQ(b.hits.size(), fence ? 0u : 1u);
  }
}

TEST(GlobalRaces, ABlockScopeFenceDoesNotPublishToOtherBlocks) {
  TwoBlocks b;
  b.on_global(b.clocks, 0, 0, b.request({0x1000}, true, 1));
  b.clocks.fence(0, false);
  RaceRequest ticket = b.request({0x2000}, true, 2);
  ticket.synchronizing = ticket.acquire = true;
  b.on_global(b.clocks, 0, 0, ticket);
  b.on_global(b.other, 1, 0, ticket);
  b.on_global(b.other, 1, 0, b.request({0x1000}, false, 3));
  EXPECT_EQ(b.hits.size(), 1u);
}

TEST(GlobalRaces, OrderIsTransitiveThroughAThirdBlock) {
  TwoBlocks b;
  BlockClocks third;
  ASSERT_TRUE(third.start_block(1));
  auto atomic = [&](uint64_t a) {
    RaceRequest r = b.request({a}, true, 2);
    r.synchronizing = r.acquire = r.release = true;
    return r;
  };
  b.on_global(b.clocks, 0, 0, b.request({0x1000}, true, 1));
  b.on_global(b.clocks, 0, 0, atomic(0x2000));
  b.on_global(third, 2, 0, atomic(0x2000));
  b.on_global(third, 2, 0, atomic(0x3000));
  b.on_global(b.other, 1, 0, atomic(0x3000));
  b.on_global(b.other, 1, 0, b.request({0x1000}, false, 3));
  EXPECT_TRUE(b.hits.empty());
}

/// Block 1 acquires what `others` addresses published, then reads what block 0 wrote.
std::vector<RaceHit> read_after_atomics(uint64_t others) {
  TwoBlocks b;
  RaceRequest r;
  b.on_global(b.clocks, 0, 0, b.request({0x1000}, true, 1));
  for (uint64_t i = 0; i < others; ++i) {
    r = b.request({0x100000 + 4 * i}, true, 2);
    r.synchronizing = r.acquire = true;
    b.on_global(b.other, 1, 0, r);
    b.on_global(b.other, 1, 0, r);
  }
  b.on_global(b.other, 1, 0, b.request({0x1000}, false, 3));
  return b.hits;
}

TEST(GlobalRaces, AnOrderThatIsTooFarToFollowIsAWarning) {
  const std::vector<RaceHit> near = read_after_atomics(100), far = read_after_atomics(5000);
  ASSERT_EQ(near.size(), 1u);
  EXPECT_EQ(near[0].grade, Grade::error);
  ASSERT_EQ(far.size(), 1u);
  EXPECT_EQ(far[0].kind, FindingKind::global_race);
  EXPECT_EQ(far[0].grade, Grade::warn);
}

TEST(GlobalRaces, InPlaceStencilIsFoundFromEitherSide) {
  TwoBlocks b;
  b.on_global(b.clocks, 0, 0, b.request({0x1000}, false, 1));
  b.on_global(b.other, 1, 0, b.request({0x1000}, false, 1));
  b.on_global(b.other, 1, 0, b.request({0x1000}, true, 2));
  ASSERT_EQ(b.hits.size(), 1u);
  EXPECT_EQ(b.hits[0].other_block, 0u);
}

TEST(GlobalRaces, ALockOrdersItsHoldersEvenInsideAWarp) {
  TwoBlocks b;
  auto lock = [&](BlockClocks& c, uint32_t block, uint32_t lane) {
    std::vector<uint64_t> where(lane + 1, 0x2000);
    RaceRequest cas = b.request(where, true, 1);
    cas.mask = 1u << lane;
    cas.synchronizing = cas.acquire = true;
    b.on_global(c, block, 0, cas);
    std::vector<uint64_t> n(lane + 1, 0x1000);
    for (bool write : {false, true}) {
      RaceRequest r = b.request(n, write, 2 + write);
      r.mask = 1u << lane;
      b.on_global(c, block, 0, r);
    }
    c.fence(0, true);
    b.global.fence(block, 0);
    RaceRequest unlock = b.request(where, true, 4);
    unlock.mask = 1u << lane;
    unlock.synchronizing = unlock.acquire = true;
    b.on_global(c, block, 0, unlock);
  };
  lock(b.clocks, 0, 0);
  lock(b.clocks, 0, 7);
  lock(b.other, 1, 3);
  lock(b.clocks, 0, 1);
  EXPECT_TRUE(b.hits.empty());
}

}  // namespace
}  // namespace fiel::vgpu
