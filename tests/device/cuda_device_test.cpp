// A GPU's device class on a driver that needs no GPU (libfakecuda.so, built beside this test).
#include "device/cuda_device.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace fiel::device {
namespace {

constexpr const char* kKernels = "fill 8 4 4\nillegal 8\nhang\nrefuse\n";
constexpr int64_t kSoon = INT64_MAX;

struct CudaDeviceTest : ::testing::Test {
  void SetUp() override {
    auto driver = CudaDriver::open(FIEL_FAKE_CUDA);
    ASSERT_TRUE(driver) << to_string(driver.error());
    auto created = CudaDevice::create(*driver, 0, {});
    ASSERT_TRUE(created) << to_string(created.error());
    gpu = std::move(*created);
    module = *gpu->load_module(kKernels, "test");
  }
  vgpu::LaunchReport launch(const std::string& kernel, std::vector<uint8_t> parameters = {},
                            uint32_t shared = 0) {
    vgpu::LaunchRequest q;
    q.module = module;
    q.kernel = kernel;
    q.grid = q.block = {1, 1, 1};
    q.parameters = std::move(parameters);
    q.dynamic_shared_bytes = shared;
    return gpu->launch(q);
  }
  vgpu::LaunchReport fill(uint64_t to, uint32_t value, uint32_t count) {
    std::vector<uint8_t> p(16);
    std::memcpy(p.data(), &to, 8);
    std::memcpy(p.data() + 8, &value, 4);
    std::memcpy(p.data() + 12, &count, 4);
    return launch("fill", p);
  }
  std::vector<uint32_t> words(uint64_t at, size_t n) {
    std::vector<uint32_t> w(n);
    EXPECT_TRUE(gpu->read(at, std::as_writable_bytes(std::span(w))));
    return w;
  }
  std::unique_ptr<CudaDevice> gpu;
  uint32_t module = 0;
};

TEST_F(CudaDeviceTest, TellsWhatItIs) {
  EXPECT_EQ(gpu->gpu().name, "Fake GPU");
  EXPECT_EQ(gpu->gpu().uuid, "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f");
  EXPECT_EQ(gpu->isa_name(), "sm_90a");
  EXPECT_EQ(gpu->options().multiprocessors, 4u);
}

TEST_F(CudaDeviceTest, KernelsAndTheirParameters) {
  EXPECT_EQ(gpu->kernels(module), (std::vector<std::string>{"fill", "hang", "illegal", "refuse"}));
  auto k = gpu->kernel(module, "fill");
  ASSERT_TRUE(k);
  EXPECT_EQ(k->parameter_offsets, (std::vector<uint32_t>{0, 8, 12}));
  EXPECT_EQ(k->parameter_block_bytes, 16u);
  EXPECT_EQ(gpu->kernel(module, "absent").error().code, ErrorCode::not_found);
  EXPECT_EQ(gpu->load_module("garbage", "bad").error().code, ErrorCode::unsupported);
}

TEST_F(CudaDeviceTest, AFatBinaryThatLiesAboutItsLengthIsRefused) {
  std::vector<uint8_t> bytes(64);
  uint32_t magic = 0xBA55ED50;
  uint64_t claimed = 49;
  std::memcpy(bytes.data(), &magic, 4);
  std::memcpy(bytes.data() + 8, &claimed, 8);
  auto refused = gpu->load_fat_binary(bytes, "liar");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::parse);
}

TEST_F(CudaDeviceTest, FreshMemoryIsPoisonAndBounded) {
  uint64_t x = *gpu->allocate(64, "x");
  EXPECT_EQ(x % 256, 0u);
  EXPECT_EQ(words(x, 16), std::vector<uint32_t>(16, 0xffffffff));
  std::byte b[8] = {};
  EXPECT_FALSE(gpu->write(x + 60, b));
  EXPECT_FALSE(gpu->read(x - 1, b));
  EXPECT_FALSE(gpu->fill(x, 0, 65));
  EXPECT_FALSE(gpu->copy(x, x + 32, 40));
  EXPECT_FALSE(gpu->write(0, b));
  EXPECT_EQ(gpu->allocate(1ull << 40, "huge").error().code, ErrorCode::limit);
  EXPECT_EQ(gpu->memory_in_use(), 64u);
  EXPECT_TRUE(gpu->free(x));
  EXPECT_FALSE(gpu->free(x));
  EXPECT_FALSE(gpu->read(x, b));
  EXPECT_EQ(gpu->memory_in_use(), 0u);
  EXPECT_EQ(gpu->peak_memory(), 64u);
}

TEST_F(CudaDeviceTest, CoverageIsGuessedFromThePoison) {
  uint64_t x = *gpu->allocate(64, "x");
  ASSERT_TRUE(gpu->poison(x, 64, 0x5a));
  ASSERT_TRUE(gpu->mark_output(x));
  EXPECT_EQ(fill(x + 16, 1, 4).status, vgpu::LaunchStatus::completed);
  EXPECT_EQ(gpu->drain(kSoon).cuda_error, 0);
  auto c = gpu->coverage(x);
  ASSERT_TRUE(c);
  EXPECT_EQ(c->written, 16u);
  ASSERT_EQ(c->missing.size(), 2u);
  EXPECT_EQ(c->missing[1].begin, 32u);
  EXPECT_EQ(c->missing[1].end, 64u);
}

TEST_F(CudaDeviceTest, AWindowOfOddSizeIsMappedInWholeGranules) {
  const int shared = ::memfd_create("window", MFD_CLOEXEC);
  ASSERT_EQ(::ftruncate(shared, 2 << 20), 0);
  auto* ours = static_cast<uint32_t*>(
      ::mmap(nullptr, 2 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, shared, 0));
  auto at = gpu->import_window(shared, 1000);
  ASSERT_TRUE(at) << to_string(at.error());
  fill(*at, 77, 250);
  EXPECT_EQ(ours[249], 77u);
  EXPECT_EQ(ours[250], 0u);
  EXPECT_TRUE(gpu->drop_window(*at));
  EXPECT_FALSE(gpu->import_window(shared, 0));
  ::munmap(ours, 2 << 20);
  ::close(shared);
}

TEST_F(CudaDeviceTest, VariablesOfAModuleAreMemory) {
  auto s = gpu->symbol(module, "variable");
  ASSERT_TRUE(s);
  EXPECT_EQ(words(s->address, 1), std::vector<uint32_t>{7});
  EXPECT_FALSE(gpu->free(s->address));
  EXPECT_FALSE(gpu->symbol(module, "other"));
}

TEST_F(CudaDeviceTest, StreamsAreOrderedWhereAskedOnly) {
  uint64_t x = *gpu->allocate(64, "x");
  gpu->begin_times();
  ASSERT_TRUE(gpu->place(1, 100, {}, true));
  fill(x, 1, 16);
  ASSERT_TRUE(gpu->place(2, 200, std::vector<uint64_t>{1}, false));
  ASSERT_TRUE(gpu->copy(x + 32, x, 4));
  EXPECT_EQ(gpu->drain(kSoon).cuda_error, 0);
  EXPECT_EQ(words(x, 9)[8], 1u);
  DeviceTimes t = gpu->end_times();
  EXPECT_EQ(t.batches, 1u);
  EXPECT_FALSE(t.queued_whole) << "a first launch may wait for the GPU: the gate was open";
}

TEST_F(CudaDeviceTest, TheGateHoldsACallUntilItIsQueued) {
  uint64_t x = *gpu->allocate(64, "x");
  fill(x, 0, 16);
  gpu->drain(kSoon);
  gpu->begin_times();
  ASSERT_TRUE(gpu->place(1, 100, {}, false));
  fill(x, 5, 16);
  fill(x, 6, 16);
  EXPECT_EQ(gpu->drain(kSoon).cuda_error, 0);
  DeviceTimes t = gpu->end_times();
  EXPECT_TRUE(t.queued_whole);
  EXPECT_NEAR(t.span_ns, 20'000, 10) << "two kernels of the fake clock";
  EXPECT_EQ(words(x, 1)[0], 6u);
}

TEST_F(CudaDeviceTest, WaitingForTheHostSplitsTheTimesAndSaysSo) {
  uint64_t x = *gpu->allocate(64, "x");
  fill(x, 0, 16);
  gpu->drain(kSoon);
  gpu->begin_times();
  ASSERT_TRUE(gpu->place(1, 100, {}, false));
  fill(x, 1, 1);
  gpu->drain(kSoon);
  ASSERT_TRUE(gpu->place(2, 100, {}, false));
  fill(x, 2, 1);
  uint32_t value = 3;
  ASSERT_TRUE(gpu->write(x, std::as_bytes(std::span(&value, 1)))) << "opens the gate, or hangs";
  gpu->drain(kSoon);
  DeviceTimes t = gpu->end_times();
  EXPECT_EQ(t.batches, 2u);
  EXPECT_FALSE(t.queued_whole);
  EXPECT_LE(t.busy_ns, t.span_ns + 1);
  EXPECT_EQ(words(x, 1)[0], 3u);
}

TEST_F(CudaDeviceTest, ALongQueueOpensTheGate) {
  uint64_t x = *gpu->allocate(64, "x");
  fill(x, 0, 1);
  gpu->drain(kSoon);
  gpu->begin_times();
  ASSERT_TRUE(gpu->place(1, 100, {}, false));
  for (uint32_t i = 0; i < 1000; ++i) fill(x, i, 1);
  EXPECT_EQ(gpu->drain(kSoon).cuda_error, 0);
  EXPECT_FALSE(gpu->end_times().queued_whole);
  EXPECT_EQ(words(x, 1)[0], 999u);
}

TEST_F(CudaDeviceTest, StreamsOfOneCallAreAllWithinItsTimes) {
  uint64_t x = *gpu->allocate(64, "x");
  fill(x, 0, 16);
  gpu->drain(kSoon);
  gpu->begin_times();
  ASSERT_TRUE(gpu->place(1, 100, {}, false));
  fill(x, 1, 1);
  ASSERT_TRUE(gpu->place(2, 200, {}, false));
  fill(x + 4, 2, 1);
  EXPECT_EQ(gpu->drain(kSoon).cuda_error, 0);
  EXPECT_NEAR(gpu->end_times().span_ns, 20'000, 10) << "the fake clock runs one after the other";
}

/// A page that the GPU sees, as the oracle's control page.
struct HeldTest : CudaDeviceTest {
  void SetUp() override {
    CudaDeviceTest::SetUp();
    x = *gpu->allocate(64, "x");
    fill(x, 9, 16);
    gpu->drain(kSoon);
    auto at = gpu->map_page(page, sizeof page);
    ASSERT_TRUE(at) << to_string(at.error());
    hold = {*at + 8, 3};
  }
  void release() { page[2] = hold.value; }
  /// Without the device's own read, which would wait for what is held.
  uint32_t first() const { return *reinterpret_cast<volatile uint32_t*>(x); }

  alignas(4096) uint32_t page[1024] = {};
  uint64_t x = 0;
  Hold hold;
};

TEST_F(HeldTest, CallsRunWhenTheyAreReleasedAndEachIsTimed) {
  gpu->begin_times(hold);
  for (uint32_t call = 1; call <= 3; ++call) {
    ASSERT_TRUE(gpu->place(call, 100, {}, false));
    fill(x, call, 16);
    ASSERT_TRUE(gpu->next_call());
  }
  EXPECT_EQ(first(), 9u) << "nothing runs before the release";
  page[2] = hold.value - 1;
  EXPECT_TRUE(gpu->allocate(64, "y")) << "memory is had without waiting for what is held";
  EXPECT_EQ(first(), 9u);
  release();
  EXPECT_EQ(gpu->drain(kSoon).cuda_error, 0);
  EXPECT_EQ(first(), 3u);
  const DeviceTimes t = gpu->end_times();
  EXPECT_TRUE(t.queued_whole);
  EXPECT_EQ(t.batches, 1u);
  EXPECT_NEAR(t.span_ns, 30'000, 30) << "three kernels of the fake clock";
  EXPECT_NEAR(t.busy_ns, t.span_ns, 30);
}

TEST_F(HeldTest, ACallOnAnotherStreamFollowsTheOneBefore) {
  gpu->begin_times(hold);
  ASSERT_TRUE(gpu->place(1, 200, {}, false));
  fill(x, 5, 1);
  ASSERT_TRUE(gpu->next_call());
  ASSERT_TRUE(gpu->place(2, 100, {}, false));  // a stream that the fake driver runs first
  ASSERT_TRUE(gpu->copy(x + 32, x, 4));
  ASSERT_TRUE(gpu->next_call());
  release();
  EXPECT_EQ(gpu->drain(kSoon).cuda_error, 0);
  EXPECT_EQ(words(x, 9)[8], 5u);
}

TEST_F(HeldTest, ALongQueueStaysHeld) {
  gpu->begin_times(hold);
  ASSERT_TRUE(gpu->place(1, 100, {}, false));
  for (uint32_t i = 0; i < 1000; ++i) fill(x, i, 1);
  EXPECT_EQ(first(), 9u) << "there is no gate that it could open";
  release();
  EXPECT_EQ(gpu->drain(kSoon).cuda_error, 0);
  EXPECT_EQ(first(), 999u);
}

TEST_F(HeldTest, AnUnheldCallAfterwardsHasItsGateAgain) {
  gpu->begin_times(hold);
  ASSERT_TRUE(gpu->place(1, 100, {}, false));
  fill(x, 1, 1);
  release();
  gpu->drain(kSoon);
  (void)gpu->end_times();
  page[2] = 0;
  gpu->begin_times();
  ASSERT_TRUE(gpu->place(2, 100, {}, false));
  fill(x, 2, 1);
  EXPECT_EQ(gpu->drain(kSoon).cuda_error, 0);
  EXPECT_NEAR(gpu->end_times().span_ns, 10'000, 10);
  gpu->unmap_page(page);
}

TEST_F(CudaDeviceTest, WhatIsFreedInABatchLivesUntilItsEnd) {
  uint64_t x = *gpu->allocate(64, "x");
  ASSERT_TRUE(gpu->place(1, 100, {}, false));
  fill(x, 1, 16);
  ASSERT_TRUE(gpu->free(x));
  EXPECT_EQ(gpu->memory_in_use(), 64u);
  gpu->drain(kSoon);
  EXPECT_EQ(gpu->memory_in_use(), 0u);
}

TEST_F(CudaDeviceTest, RefusedLaunchesAreNotSticky) {
  ASSERT_TRUE(gpu->place(1, 100, {}, false));
  auto r = launch("refuse");
  EXPECT_EQ(r.status, vgpu::LaunchStatus::invalid);
  EXPECT_EQ(r.refusal, vgpu::Refusal::too_many_resources);
  EXPECT_EQ(launch("fill", std::vector<uint8_t>(16), 228 << 10).status,
            vgpu::LaunchStatus::invalid);
  EXPECT_EQ(gpu->drain(kSoon).cuda_error, 0);
}

TEST_F(CudaDeviceTest, EachLaunchHasATimeOfItsOwn) {
  uint64_t x = *gpu->allocate(64, "x");
  gpu->begin_launch_times();
  ASSERT_TRUE(gpu->place(1, 100, {}, true));
  fill(x, 1, 16);
  EXPECT_EQ(launch("refuse").status, vgpu::LaunchStatus::invalid);
  ASSERT_TRUE(gpu->place(2, 200, std::vector<uint64_t>{1}, false));
  fill(x, 2, 16);
  gpu->drain(kSoon);
  const std::vector<double> ns = gpu->end_launch_times();
  ASSERT_EQ(ns.size(), 3u);
  EXPECT_NEAR(ns[0], 10'000, 10) << "a kernel of the fake clock";
  EXPECT_EQ(ns[1], 0);
  EXPECT_NEAR(ns[2], 10'000, 10);
  fill(x, 3, 16);
  gpu->drain(kSoon);
  EXPECT_TRUE(gpu->end_launch_times().empty());
}

// Last in the file: a hang and a sticky error stay with the fake driver's process.
TEST_F(CudaDeviceTest, ZzAHangIsATimeOutAndTheDeviceIsLost) {
  EXPECT_EXIT(
      {
        (void)gpu->place(1, 100, {}, false);
        launch("hang");
        QueueEnd end = gpu->drain(0);
        bool ok = end.timed_out && end.cuda_error == kCuLaunchTimeout && !gpu->allocate(8, "x");
        std::exit(ok ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST_F(CudaDeviceTest, ZzAnIllegalAddressIsStickyAndNamesItsKernel) {
  EXPECT_EXIT(
      {
        (void)gpu->place(1, 100, {}, false);
        launch("illegal", std::vector<uint8_t>(8));
        QueueEnd end = gpu->drain(kSoon);
        std::byte b[4];
        bool ok = end.cuda_error == 700 && !gpu->read(1, b) &&
                  end.message.find("illegal: on the GPU: CUDA_ERROR_ILLEGAL_ADDRESS") == 0;
        std::exit(ok ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace fiel::device
