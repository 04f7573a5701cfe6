// shfl, vote, match, redux, activemask: against per-lane models written from the manual's
// pseudocode.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "bench_warp.h"
#include "operands.h"

namespace fiel::vgpu::alu {
namespace {

class WarpOp {
 public:
  explicit WarpOp(const std::string& text) {
    Result<Parsed> parsed = parse_one(text);
    EXPECT_TRUE(parsed) << text;
    parsed_ = std::move(*parsed);
    parsed_.instruction = &parsed_.module.functions[0].body[0];
    const Selection s = bench.prepare(parsed_);
    EXPECT_NE(s.handler, nullptr) << text << (s.unsupported ? s.unsupported : "");
    reports().clear();
  }
  template <typename F>
  void source(size_t index, F f) {
    for (int i = 0; i < kLanes; ++i) bench.set_source(index, i, static_cast<uint64_t>(f(i)));
  }
  uint32_t d(int lane) const { return static_cast<uint32_t>(bench.destination(lane)); }

  Bench bench;

 private:
  Parsed parsed_;
};
constexpr auto constant(uint64_t x) {
  return [x](int) { return x; };
}

// The lane that `lane` reads, or nothing where it keeps its own value.
std::optional<int> source_lane(const std::string& mode, int lane, uint32_t b, uint32_t c) {
  const int segment_mask = static_cast<int>(c >> 8 & 31), clamp = static_cast<int>(c & 31);
  const int offset = static_cast<int>(b & 31);
  const int top = (lane & segment_mask) | (clamp & ~segment_mask), bottom = lane & segment_mask;
  int j = 0;
  bool inside = false;
  if (mode == "up") {
    j = lane - offset;
    inside = j >= top;
  } else if (mode == "down") {
    j = lane + offset;
    inside = j <= top;
  } else if (mode == "bfly") {
    j = lane ^ offset;
    inside = j <= top;
  } else {
    j = bottom | (offset & ~segment_mask);
    inside = j <= top;
  }
  return inside ? std::optional<int>(j) : std::nullopt;
}

TEST(Shuffle, FollowsTheManualForAllSegments) {
  Random random(1);
  for (const std::string mode : {"up", "down", "bfly", "idx"}) {
    WarpOp op("shfl.sync." + mode + ".b32 %r0|%p0, %r1, %s2, %s3, %s4;");
    for (int round = 0; round < 400; ++round) {
      const uint32_t width = 1u << random.below(6);
      const uint32_t c = round % 3 == 0 ? static_cast<uint32_t>(random.next()) & 0x1f1fu
                                        : (32 - width) << 8 | (mode == "up" ? 0u : 31u);
      const bool uniform = random.below(2);
      const uint32_t b = static_cast<uint32_t>(random.next());
      op.source(0, [&](int) { return static_cast<uint32_t>(random.next()); });
      op.source(1, [&](int) { return uniform ? b : static_cast<uint32_t>(random.next()); });
      op.source(2, constant(c));
      op.source(3, constant(kFullMask));
      uint32_t a[kLanes];
      for (int i = 0; i < kLanes; ++i) a[i] = static_cast<uint32_t>(op.bench.source(0, i));
      const bool in_place = random.below(2);
      if (in_place) op.bench.alias_destination(0);
      op.bench.run(kFullMask);
      for (int i = 0; i < kLanes; ++i) {
        const auto j = source_lane(mode, i, static_cast<uint32_t>(op.bench.source(1, i)), c);
        ASSERT_EQ(op.d(i), a[j.value_or(i)]) << mode << " lane " << i << " c " << c;
        ASSERT_EQ(op.bench.destination2(i), j.has_value()) << mode << " lane " << i;
      }
    }
    EXPECT_TRUE(reports().empty());
  }
}

TEST(Shuffle, KnownPatterns) {
  const auto shuffled = [](const char* mode, uint32_t b, uint32_t c) {
    WarpOp op(std::string("shfl.sync.") + mode + ".b32 %r0, %r1, %s2, %s3, %s4;");
    op.source(0, [](int i) { return i * 10; });
    op.source(1, constant(b));
    op.source(2, constant(c));
    op.source(3, constant(kFullMask));
    op.bench.run(kFullMask);
    std::vector<int> out;
    for (int i = 0; i < kLanes; ++i) out.push_back(static_cast<int>(op.d(i)));
    return out;
  };
  const auto down = shuffled("down", 16, 31), broadcast = shuffled("idx", 35, 31),
             up = shuffled("up", 1, 24 << 8), exchange = shuffled("bfly", 9, 24 << 8 | 31);
  for (int l = 0; l < kLanes; ++l) {
    const auto i = static_cast<size_t>(l);
    EXPECT_EQ(down[i], l < 16 ? (l + 16) * 10 : l * 10);
    EXPECT_EQ(broadcast[i], 30);  // 35 mod 32
    EXPECT_EQ(up[i], l % 8 ? (l - 1) * 10 : l * 10);
    EXPECT_EQ(exchange[i], l & 8 ? (l ^ 9) * 10 : l * 10);  // an earlier segment, never a later one
  }
}

TEST(Shuffle, ButterflySumReachesEveryLane) {
  WarpOp op("shfl.sync.bfly.b32 %r0, %r1, %s2, %s3, %s4;");
  std::vector<uint32_t> sum(kLanes);
  for (uint32_t i = 0; i < 32; ++i) sum[i] = i;
  for (uint32_t step = 16; step; step /= 2) {
    op.source(0, [&](int i) { return sum[static_cast<size_t>(i)]; });
    op.source(1, constant(step));
    op.source(2, constant(31));
    op.source(3, constant(kFullMask));
    op.bench.run(kFullMask);
    for (int i = 0; i < kLanes; ++i) sum[static_cast<size_t>(i)] += op.d(i);
  }
  for (const uint32_t s : sum) EXPECT_EQ(s, 496u);
}

TEST(Shuffle, ReadingALaneThatIsNotThereIsReported) {
  // A warp of 8 threads, mask 0xff, down by 4: lanes 4..7 read lanes 8..11.
  WarpOp op("shfl.sync.down.b32 %r0, %r1, %s2, %s3, %s4;");
  op.source(0, constant(1));
  op.source(1, constant(4));
  op.source(2, constant(31));
  op.source(3, constant(0xff));
  op.bench.run(0xff);
  ASSERT_EQ(reports().size(), 1u);
  EXPECT_EQ(reports()[0].kind, FindingKind::inactive_lane_read);
  EXPECT_EQ(reports()[0].lanes, 0xf0u);
}

TEST(Shuffle, AMaskWithoutTheCallerIsReported) {
  WarpOp op("shfl.sync.idx.b32 %r0, %r1, %s2, %s3, %s4;");
  op.source(0, constant(1));
  op.source(1, constant(0));
  op.source(2, constant(31));
  op.source(3, constant(0x7fffffff));
  op.bench.run(kFullMask);
  ASSERT_EQ(reports().size(), 1u);
  EXPECT_EQ(reports()[0].kind, FindingKind::bad_shuffle_mask);
  EXPECT_EQ(reports()[0].lanes, 0x80000000u);
}

TEST(Vote, AllAnyUniBallotOverRandomMasks) {
  Random random(2);
  for (const std::string mode : {"all", "any", "uni", "ballot"}) {
    for (const bool negated : {false, true}) {
      WarpOp op("vote.sync." + mode + (mode == "ballot" ? ".b32 %r0, " : ".pred %p0, ") +
                (negated ? "!" : "") + "%p1, %s2;");
      for (int round = 0; round < 200; ++round) {
        const uint32_t mask = round % 2 ? kFullMask : static_cast<uint32_t>(random.next()) | 4u;
        const uint64_t kind = random.below(4);
        const uint32_t p = kind == 0   ? 0
                           : kind == 1 ? kFullMask
                                       : static_cast<uint32_t>(random.next());
        op.source(0, [&](int i) { return p >> i & 1u; });
        op.source(1, constant(mask));
        for (int i = 0; i < kLanes; ++i) op.bench.set_destination(i, 0);
        op.bench.run(mask);
        const uint32_t yes = (negated ? ~p : p) & mask;
        for (int i = 0; i < kLanes; ++i) {
          if (!(mask >> i & 1u)) {
            ASSERT_EQ(op.d(i), 0u);
            continue;
          }
          const uint32_t want = mode == "ballot" ? yes
                                : mode == "all"  ? yes == mask
                                : mode == "any"  ? yes != 0
                                                 : yes == mask || yes == 0;
          ASSERT_EQ(op.d(i), want) << mode;
        }
      }
    }
  }
}

TEST(Vote, TilesWithTheirOwnMasksDoNotMix) {
  WarpOp op("vote.sync.ballot.b32 %r0, %p1, %s2;");
  op.source(0, [](int i) { return i % 3 == 0; });
  op.source(1, [](int i) { return 0xffu << (i / 8 * 8); });
  op.bench.run(kFullMask);
  for (int i = 0; i < kLanes; ++i) EXPECT_EQ(op.d(i), 0x49249249u & 0xffu << (i / 8 * 8));
  EXPECT_TRUE(reports().empty());
}

TEST(Match, AnyAndAll) {
  for (const std::string type : {"b32", "b64"}) {
    const std::string r = type == "b64" ? "%l1" : "%r1";
    WarpOp any("match.any.sync." + type + " %r0, " + r + ", %s2;");
    any.source(0, [](int i) { return i & 3; });
    any.source(1, constant(kFullMask));
    any.bench.run(kFullMask);
    for (int i = 0; i < kLanes; ++i) EXPECT_EQ(any.d(i), 0x11111111u << (i & 3));

    WarpOp all("match.all.sync." + type + " %r0|%p0, " + r + ", %s2;");
    const uint32_t mask = 0x00ffff00;
    all.source(0, [](int i) { return i >= 8 && i < 24 ? 5 : i; });
    all.source(1, constant(mask));
    all.bench.run(mask);
    EXPECT_EQ(all.d(10), mask);
    EXPECT_EQ(all.bench.destination2(10), 1u);
    all.bench.set_source(0, 20, 6);
    all.bench.run(mask);
    EXPECT_EQ(all.d(10), 0u);
    EXPECT_EQ(all.bench.destination2(10), 0u);
  }
  WarpOp wide("match.any.sync.b64 %r0, %l1, %s2;");  // equal low words only
  wide.source(0, [](int i) { return static_cast<uint64_t>(i & 1) << 32; });
  wide.source(1, constant(kFullMask));
  wide.bench.run(kFullMask);
  EXPECT_EQ(wide.d(0), 0x55555555u);
}

TEST(Redux, EveryOperationOverRandomMasks) {
  Random random(3);
  struct Case {
    const char* text;
    uint32_t (*combine)(uint32_t, uint32_t);
  };
  const Case cases[] = {
      {"add.u32", [](uint32_t a, uint32_t b) { return a + b; }},
      {"add.s32", [](uint32_t a, uint32_t b) { return a + b; }},
      {"min.u32", [](uint32_t a, uint32_t b) { return std::min(a, b); }},
      {"max.u32", [](uint32_t a, uint32_t b) { return std::max(a, b); }},
      {"min.s32",
       [](uint32_t a, uint32_t b) {
         return static_cast<uint32_t>(std::min(static_cast<int32_t>(a), static_cast<int32_t>(b)));
       }},
      {"max.s32",
       [](uint32_t a, uint32_t b) {
         return static_cast<uint32_t>(std::max(static_cast<int32_t>(a), static_cast<int32_t>(b)));
       }},
      {"and.b32", [](uint32_t a, uint32_t b) { return a & b; }},
      {"or.b32", [](uint32_t a, uint32_t b) { return a | b; }},
      {"xor.b32", [](uint32_t a, uint32_t b) { return a ^ b; }},
  };
  for (const Case& c : cases) {
    WarpOp op(std::string("redux.sync.") + c.text + " %r0, %r1, %s2;");
    for (int round = 0; round < 100; ++round) {
      const uint32_t mask = round % 2 ? kFullMask : static_cast<uint32_t>(random.next()) | 1u;
      op.source(0, [&](int) { return integer_value(random, 32); });
      op.source(1, constant(mask));
      std::optional<uint32_t> want;
      for (int i = 0; i < kLanes; ++i) {
        if (!(mask >> i & 1u)) continue;
        const auto x = static_cast<uint32_t>(op.bench.source(0, i));
        want = want ? c.combine(*want, x) : x;
      }
      op.bench.run(mask);
      for (int i = 0; i < kLanes; ++i)
        ASSERT_TRUE(!(mask >> i & 1u) || op.d(i) == *want) << c.text << " lane " << i;
    }
  }
  WarpOp sum("redux.sync.add.u32 %r0, %r1, %s2;");
  sum.source(0, [](int i) { return i; });
  sum.source(1, constant(kFullMask));
  sum.bench.run(kFullMask);
  EXPECT_EQ(sum.d(7), 496u);
}

TEST(Activemask, IsTheLanesThatExecuteIt) {
  WarpOp op("activemask.b32 %r0;");
  for (int i = 0; i < kLanes; ++i) op.bench.set_destination(i, 9);
  op.bench.run(0x10010);
  EXPECT_EQ(op.d(4), 0x10010u);
  EXPECT_EQ(op.d(16), 0x10010u);
  EXPECT_EQ(op.d(0), 9u);
}

}  // namespace
}  // namespace fiel::vgpu::alu
