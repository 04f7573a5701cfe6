// Whole kernels with an answer that another program gives: the host's compiler, or a generator
// written here from its paper.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>
#include <set>

#include "gpu_fixture.h"
#include "kernels/control_flow.h"

namespace fiel::vgpu {
namespace {

TEST(Answers, FourMillionFloatsAreBitEqualAtSixteenSectorsARequest) {
  constexpr uint32_t kFloats = 4u << 20, kQuads = kFloats / 4;
  Gpu gpu(read_text("bench/kernels/kernels.ptx"));
  std::mt19937 random(1);
  std::vector<float> a(kFloats), b(kFloats);
  for (size_t i = 0; i < kFloats; ++i) {
    a[i] = static_cast<float>(static_cast<int32_t>(random())) * 0x1p-20f;
    b[i] = static_cast<float>(static_cast<int32_t>(random())) * 0x1p-25f;
  }
  const uint64_t pa = gpu.upload(a), pb = gpu.upload(b), pc = gpu.allocate(kFloats * 4);
  const LaunchReport report = gpu.launch("vadd4", {kQuads / 256, 1, 1}, {256, 1, 1},
                                         Arguments().add(pa).add(pb).add(pc).add(kQuads));
  EXPECT_EQ(findings_of(report), "");
  const std::vector<float> c = gpu.download<float>(pc, kFloats);
  size_t different = 0;
  for (size_t i = 0; i < kFloats; ++i) different += a[i] + b[i] != c[i];
  EXPECT_EQ(different, 0u);
  const LineMetrics& total = report.metrics.total;
  EXPECT_EQ(total.global_loads.sectors, 16 * total.global_loads.requests);
  EXPECT_EQ(total.global_stores.sectors, 16 * total.global_stores.requests);
  EXPECT_EQ(total.global_loads.requests, 2u * kQuads / 32);
  // 18 of a quad's instructions compute, that is 4.5 a float; the text also holds four loads of
  // parameters and three cvta, which cost a GPU next to nothing.
  EXPECT_EQ(report.thread_instructions, (18u + 4u + 3u) * kQuads);
}

TEST(Answers, AThousandRandomInputsBranchAsOnTheHost) {
  constexpr int kCount = 1000;
  Gpu gpu(read_text("tests/vgpu/kernels/control_flow.ptx"));
  std::mt19937 random(2);
  std::vector<uint32_t> x(kCount), wanted;
  for (uint32_t& value : x) value = static_cast<uint32_t>(random());
  for (const uint32_t value : x) wanted.push_back(flow(value));
  EXPECT_GT(std::set<uint32_t>(wanted.begin(), wanted.end()).size(), 900u);
  const uint64_t px = gpu.upload(x), py = gpu.allocate(4 * kCount);
  const LaunchReport report =
      gpu.launch("control_flow", {4, 1, 1}, {256, 1, 1}, Arguments().add(px).add(py).add(kCount));
  EXPECT_EQ(findings_of(report), "");
  EXPECT_EQ(gpu.download<uint32_t>(py, kCount), wanted);
  EXPECT_GT(report.metrics.total.divergent_branches, 100u);
}

using Words = std::array<uint32_t, 4>;
/// Philox4x32-10 of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3".
Words philox(Words counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t left = 0xD2511F53ull * counter[0], right = 0xCD9E8D57ull * counter[2];
    counter = {
        static_cast<uint32_t>(right >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(right),
        static_cast<uint32_t>(left >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(left)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return counter;
}

TEST(Answers, UniformNumbersOfPhiloxAreThoseOfTheHost) {
  // Known answers that the paper's library publishes.
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));

  constexpr uint32_t kThreads = 256;
  Gpu gpu(read_text("tests/ptx/fixtures/curand_philox.sm_90.ptx"));
  for (const uint64_t seed : {1234ull, 0x123456789abcdefull}) {
    const uint64_t out = gpu.allocate(kThreads * 32);
    const LaunchReport report = gpu.launch("_Z6philoxP6float4y", {1, 1, 1}, {kThreads, 1, 1},
                                           Arguments().add(out).add(seed));
    EXPECT_EQ(findings_of(report), "");
    const std::vector<float> got = gpu.download<float>(out, kThreads * 8);
    for (uint32_t i = 0; i < kThreads; ++i) {
      const Words words =
          philox({0, 0, i, 0}, {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
      for (uint32_t k = 0; k < 4; ++k)
        ASSERT_EQ(got[i * 8 + k],
                  std::fma(static_cast<float>(words[k]), 2.3283064e-10f, 2.3283064e-10f / 2.0f))
            << "subsequence " << i << ", number " << k;
    }
  }
}

TEST(Answers, EightBlocksOf256ThreadsAnd8KilobytesFitAMultiprocessor) {
  const char* const text = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry k() { .shared .align 4 .b8 s[8192]; ret; }
)";
  auto gpu = Device::create({});
  ASSERT_TRUE(gpu);
  const auto module = (*gpu)->load_module(text, "k");
  ASSERT_TRUE(module) << to_string(module.error());
  EXPECT_EQ((*gpu)->occupancy(*module, "k", 256, 0, 32).value_or(0), 8u);  // all 2048 threads
  EXPECT_EQ((*gpu)->occupancy(*module, "k", 256, 0, 64).value_or(0), 4u);  // registers
  EXPECT_EQ((*gpu)->occupancy(*module, "k", 256, 65536, 32).value_or(0), 3u);
}

TEST(Answers, SchedulesOfThreeSeedsShowThatTwoBlocksRaceAndThatAnAtomicDoesNot) {
  auto gpu = Device::create({});
  ASSERT_TRUE(gpu);
  const auto module =
      (*gpu)->load_module(read_text("tests/vgpu/cases/races/kernel.ptx"), "races.cu");
  ASSERT_TRUE(module);
  const auto outcomes = [&](const char* kernel) {
    std::set<int32_t> seen;
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      const uint64_t y = *(*gpu)->allocate(4, "y");
      EXPECT_TRUE((*gpu)->fill(y, 0, 4));
      LaunchRequest request;
      request.module = *module;
      request.kernel = kernel;
      request.grid = {2, 1, 1};
      request.block = {1, 1, 1};
      request.parameters = Arguments().add(y).bytes();
      request.schedule.seed = seed;
      EXPECT_EQ((*gpu)->launch(request).status, LaunchStatus::completed);
      int32_t value = 0;
      EXPECT_TRUE((*gpu)->read(y, std::as_writable_bytes(std::span(&value, 1))));
      seen.insert(value);
    }
    return seen;
  };
  EXPECT_EQ(outcomes("two_blocks_write"), (std::set<int32_t>{1, 2}));
  EXPECT_EQ(outcomes("two_blocks_add"), (std::set<int32_t>{2}));
}

}  // namespace
}  // namespace fiel::vgpu
