#include "vgpu/isa/transactions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "vgpu/request_pattern.h"

namespace fiel::vgpu {
namespace {

std::vector<uint64_t> lanes(const std::function<uint64_t(uint64_t)>& at) {
  std::vector<uint64_t> out(32);
  for (uint64_t i = 0; i < 32; ++i) out[i] = at(i);
  return out;
}
uint32_t sectors(const std::vector<uint64_t>& a, uint32_t bytes, uint32_t mask = ~0u) {
  return count_sectors(a.data(), mask, bytes).sectors;
}
uint32_t ideal(const std::vector<uint64_t>& a, uint32_t bytes, uint32_t mask = ~0u) {
  return count_sectors(a.data(), mask, bytes).ideal;
}
uint32_t waves(const std::vector<uint64_t>& a, uint32_t bytes, uint32_t mask = ~0u) {
  return count_wavefronts(a.data(), mask, bytes);
}

TEST(Sectors, KnownPatternsOfFloats) {
  EXPECT_EQ(sectors(lanes([](auto i) { return 4 * i; }), 4), 4u);
  EXPECT_EQ(sectors(lanes([](auto i) { return 8 * i; }), 4), 8u);
  EXPECT_EQ(ideal(lanes([](auto i) { return 8 * i; }), 4), 4u);
  EXPECT_EQ(sectors(lanes([](auto i) { return 128 * i; }), 4), 32u);
  EXPECT_EQ(sectors(lanes([](auto) { return 256; }), 4), 1u);
  EXPECT_EQ(ideal(lanes([](auto) { return 256; }), 4), 1u);
  EXPECT_EQ(sectors(lanes([](auto i) { return 4 + 4 * i; }), 4), 5u);
  EXPECT_EQ(sectors(lanes([](auto i) { return 4 * (31 - i); }), 4), 4u);
}

TEST(Sectors, VectorAccesses) {
  EXPECT_EQ(sectors(lanes([](auto i) { return 16 * i; }), 16), 16u);
  EXPECT_EQ(sectors(lanes([](auto i) { return 16 * (i / 4); }), 16), 4u);
  EXPECT_EQ(ideal(lanes([](auto i) { return 16 * (i / 4); }), 16), 4u);
  EXPECT_EQ(sectors(lanes([](auto i) { return 32 * i; }), 16), 32u);
  EXPECT_EQ(ideal(lanes([](auto i) { return 32 * i; }), 16), 16u);
}

TEST(Wavefronts, KnownPatterns) {
  EXPECT_EQ(waves(lanes([](auto i) { return 4 * i; }), 4), 1u);
  EXPECT_EQ(waves(lanes([](auto) { return 64; }), 4), 1u);
  EXPECT_EQ(waves(lanes([](auto i) { return 128 * i; }), 4), 32u);  // column of [32][32]
  EXPECT_EQ(waves(lanes([](auto i) { return 132 * i; }), 4), 1u);   // column of [32][33]
  EXPECT_EQ(waves(lanes([](auto i) { return 8 * i; }), 4), 2u);     // stride 2
  EXPECT_EQ(waves(lanes([](auto i) { return 16 * i; }), 16), 4u);   // float4
  EXPECT_EQ(waves(lanes([](auto i) { return 8 * i; }), 8), 2u);
  EXPECT_EQ(waves(lanes([](auto i) { return i; }), 1), 1u);  // bytes of 8 words
  EXPECT_EQ(waves(lanes([](auto i) { return 128 * i; }), 16),
            32u);  // 8 rows of one bank group a phase
  EXPECT_EQ(waves(lanes([](auto i) { return 128 * i; }), 4, 0xff), 8u);
  EXPECT_EQ(ideal_wavefronts(~0u, 16), 4u);
  EXPECT_EQ(ideal_wavefronts(0xff, 16), 1u);
}

/// Sets and maps instead of one pass: slow and plainly right.
TEST(Transactions, AgreeWithSetsOnRandomRequests) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 20'000; ++round) {
    uint32_t bytes = 1u << (random() % 5), mask = static_cast<uint32_t>(random());
    uint64_t spread = uint64_t{1} << (5 + random() % 12);
    auto a = lanes([&](auto) { return random() % spread * bytes; });
    if (round % 3 == 0) std::sort(a.begin(), a.end());
    std::set<uint64_t> sector_set, start_set;
    uint32_t expected_waves = 0;
    uint32_t group = bytes <= 4 ? 32 : bytes == 8 ? 16 : 8;
    for (uint32_t from = 0; from < 32; from += group) {
      std::map<uint64_t, std::set<uint64_t>> banks;
      for (uint32_t i = from; i < from + group; ++i) {
        if ((mask >> i & 1) == 0) continue;
        start_set.insert(a[i]);
        for (uint32_t b = 0; b < bytes; ++b) {
          sector_set.insert((a[i] + b) / 32);
          banks[(a[i] + b) / 4 % 32].insert((a[i] + b) / 4);
        }
      }
      size_t deepest = 0;
      for (auto& [bank, words] : banks) deepest = std::max(deepest, words.size());
      expected_waves += static_cast<uint32_t>(deepest);
    }
    ASSERT_EQ(sectors(a, bytes, mask), sector_set.size());
    ASSERT_EQ(ideal(a, bytes, mask), (start_set.size() * bytes + 31) / 32);
    ASSERT_EQ(waves(a, bytes, mask), expected_waves);
  }
}

TEST(RequestPattern, RecallsOnlyWhatCostsTheSame) {
  std::mt19937_64 random(11);
  RequestPattern last;
  int recalled = 0;
  for (int round = 0; round < 20'000; ++round) {
    static std::vector<uint64_t> a;
    static uint32_t mask = ~0u, bytes = 4;
    if (round % 4 == 0) {
      bytes = 1u << (random() % 5);
      mask = static_cast<uint32_t>(random()) | 1u << (random() % 32);
      a = lanes([&](auto) { return random() % 512 * bytes; });
    } else {  // the same lanes, moved together by a few bytes, a bank cycle, or out of 32 bits
      const uint64_t step = random() % 3 == 0 ? 128 * (random() % 9) : bytes * (random() % 40);
      for (uint64_t& at : a) at += step;
      if (random() % 8 == 0) a[random() % 32] += uint64_t{1} << 32;
    }
    const uint32_t expected = waves(a, bytes, mask);
    if (last.recall(a.data(), mask, bytes, 127)) {
      ++recalled;
      ASSERT_EQ(last.cost[0], expected);
    } else {
      last.cost = {expected, 0};
    }
  }
  EXPECT_GT(recalled, 2000);
}

}  // namespace
}  // namespace fiel::vgpu
