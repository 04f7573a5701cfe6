// Bare kernels on a real GPU: labelled `gpu`, skipped with the reason where there is none.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>

#include "../worker/kernel_fixture.h"
#include "device/cuda_driver.h"
#include "sandbox/isolation.h"
#include "worker/clock_page.h"
#include "worker/frame_io.h"

namespace fiel::worker {
namespace {

struct GpuTest : KernelTest {
  void SetUp() override {
    auto driver = device::CudaDriver::open();
    if (!driver) GTEST_SKIP() << to_string(driver.error());
    auto found = (*driver)->gpu(0);
    if (!found) GTEST_SKIP() << to_string(found.error());
    gpu = *found;
    KernelTest::SetUp();
  }
  std::unique_ptr<BareSession> start_on_gpu(const std::string& body) {
    auto folder = TempDir::create("fiel-test-kernel");
    auto path = folder->path() / "kernel.cu";
    std::ofstream(path) << "#include <fiel/kernel.h>\n" << body;
    build::CompileOptions compile;
    compile.arch = gpu.architecture();
    compile.machine_code = true;
    auto built = build::compile_kernel(path, compile);
    EXPECT_TRUE(built) << to_string(built.error());
    if (!built) return nullptr;
    BareSessionOptions o = options_for(*built);
    o.where = {0};
    auto session = BareSession::start(o);
    EXPECT_TRUE(session) << to_string(session.error());
    return session ? std::move(*session) : nullptr;
  }
  CallOutcome timed(BareSession& s, CallRequest q) {
    q.timed = true;
    for (int i = 0; i < 3; ++i) (void)s.call(q);
    return s.call(q);
  }
  device::GpuInfo gpu;
};

std::vector<float> ramp(size_t n) {
  std::vector<float> x(n);
  for (size_t i = 0; i < n; ++i) x[i] = static_cast<float>(i % 1000) * 0.5f;
  return x;
}
std::vector<float> twice_plus_one(std::vector<float> x) {
  for (float& v : x) v = 2 * v + 1;
  return x;
}

/// Burns a while on one multiprocessor.
const std::string kSpin =
    "__global__ void spin(float* y, long long cycles) {\n"
    "  long long begin = clock64();\n  while (clock64() - begin < cycles) {}\n  y[0] = 1;\n}\n";

TEST_F(GpuTest, AKernelRunsAndItsOutputIsRead) {
  auto s = start_on_gpu(with_kernel("twice<<<grid, 128, 0, stream>>>(x, y, n);"));
  ASSERT_TRUE(s);
  for (const std::string& line : s->isolation().in_force)
    std::printf("in force: %s\n", line.c_str());
  for (const std::string& line : s->isolation().missing) std::printf("missing: %s\n", line.c_str());
  auto x = ramp(100'000);
  Vectors v = place(*s, x);
  CallOutcome o = s->call(request(v));
  EXPECT_EQ(o.status, CallStatus::returned) << o.message << o.output;
  EXPECT_EQ(o.runtime_error, "");
  EXPECT_EQ(values(*s, v.y), twice_plus_one(x));
  EXPECT_EQ(o.launches.size(), 1u);
}

TEST_F(GpuTest, ATimedCallIsQueuedWholeAndPlausible) {
  auto s = start_on_gpu(with_kernel("twice<<<grid, 128, 0, stream>>>(x, y, n);"));
  ASSERT_TRUE(s);
  Vectors v = place(*s, ramp(16 << 20));
  CallOutcome o = timed(*s, request(v));
  ASSERT_TRUE(o.times) << o.message;
  std::printf("twice, 2 x 64 MiB: device %.1f us, host %.1f us, wall %.1f us\n",
              o.times->device_ns / 1e3, o.times->host_ns / 1e3, o.times->wall_ns / 1e3);
  EXPECT_TRUE(o.times->queued_whole);
  EXPECT_EQ(o.times->batches, 1u);
  EXPECT_GT(o.times->device_ns, 5'000) << "128 MiB in 5 us would be 27 TB/s";
  EXPECT_LT(o.times->device_ns, o.times->wall_ns);
}

TEST_F(GpuTest, StreamsReallyOverlap) {
  const std::string two =
      "  cudaStream_t side; cudaEvent_t e; cudaStreamCreateWithFlags(&side, "
      "cudaStreamNonBlocking);\n"
      "  cudaEventCreate(&e); cudaEventRecord(e, stream); cudaStreamWaitEvent(side, e, 0);\n"
      "  spin<<<1, 1, 0, stream>>>(y, 2000000); spin<<<1, 1, 0, SECOND>>>(y + 1, 2000000);\n"
      "  cudaEventRecord(e, side); cudaStreamWaitEvent(stream, e, 0); cudaStreamDestroy(side);\n";
  double ns[2];
  int i = 0;
  for (const char* second : {"stream", "side"}) {
    std::string host = two;
    host.replace(host.find("SECOND"), 6, second);
    auto s = start_on_gpu(with_kernel(host, kSpin));
    ASSERT_TRUE(s);
    CallOutcome o = timed(*s, request(place(*s, ramp(64))));
    ASSERT_TRUE(o.times) << o.message;
    ns[i++] = o.times->device_ns;
  }
  std::printf("two spins: one stream %.1f us, two streams %.1f us\n", ns[0] / 1e3, ns[1] / 1e3);
  EXPECT_LT(ns[1], 0.7 * ns[0]);
}

TEST_F(GpuTest, GraphBranchesOverlapAndStayInOrder) {
  const std::string host =
      "  cudaStream_t side; cudaEvent_t e; cudaGraph_t g; cudaGraphExec_t x2;\n"
      "  cudaStreamCreate(&side); cudaEventCreate(&e);\n"
      "  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);\n"
      "  twice<<<grid, 128, 0, stream>>>(x, y, n);\n"
      "  cudaEventRecord(e, stream); cudaStreamWaitEvent(side, e, 0);\n"
      "  twice<<<1, 128, 0, side>>>(y, y, n / 2); twice<<<1, 128, 0, stream>>>(y + n / 2, y + n / "
      "2, n / 2);\n"
      "  cudaEventRecord(e, side); cudaStreamWaitEvent(stream, e, 0);\n"
      "  twice<<<grid, 128, 0, stream>>>(y, y, n);\n"
      "  cudaStreamEndCapture(stream, &g); cudaGraphInstantiate(&x2, g, 0);\n"
      "  cudaGraphLaunch(x2, stream); cudaGraphExecDestroy(x2); cudaGraphDestroy(g);\n"
      "  cudaStreamDestroy(side);\n";
  auto s = start_on_gpu(with_kernel(host));
  ASSERT_TRUE(s);
  auto x = ramp(256);
  Vectors v = place(*s, x);
  CallOutcome o = s->call(request(v));
  EXPECT_EQ(o.status, CallStatus::returned) << o.message;
  EXPECT_EQ(o.runtime_error, "");
  EXPECT_EQ(values(*s, v.y), twice_plus_one(twice_plus_one(twice_plus_one(x))));
}

/// The oracle's side of a control page, without PyTorch.
struct ClockedGpuTest : GpuTest {
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    fd = Fd(::memfd_create("control", MFD_CLOEXEC));
    ASSERT_EQ(::ftruncate(fd.get(), kClockPageBytes), 0);
    void* at = ::mmap(nullptr, kClockPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    page = static_cast<ClockPage*>(at);
  }
  bool reaches(BareSession& s, const std::atomic<int64_t>& word, int64_t value) const {
    const int64_t until = monotonic_ns() + 20'000'000'000;
    while (word != value && monotonic_ns() < until && s.pump_clock(0)) {}
    return word == value;
  }
  /// Wall time of a sample, from its release or its go.
  double sample(BareSession& s, int64_t turn, int64_t calls, bool held) const {
    page->calls = calls;
    page->held = held ? 1 : 0;
    page->attend = turn;
    EXPECT_TRUE(reaches(s, page->attending, turn));
    int64_t begin = monotonic_ns();
    page->go = turn;
    if (held) {
      EXPECT_TRUE(reaches(s, page->queued, turn)) << "turn " << turn;
      EXPECT_LT(page->done, turn) << "nothing ends before the release";
      begin = monotonic_ns();
      page->release = turn;
    }
    EXPECT_TRUE(reaches(s, page->reported, turn));
    return static_cast<double>(monotonic_ns() - begin);
  }
  Fd fd;
  ClockPage* page = nullptr;
};

TEST_F(ClockedGpuTest, HeldBatchesWaitForTheReleaseAndAreTimedByTheCall) {
  auto s = start_on_gpu(with_kernel("twice<<<grid, 128, 0, stream>>>(x, y, n);"));
  ASSERT_TRUE(s);
  auto x = ramp(1 << 20);
  ClockRequest q;
  q.page = fd.get();
  std::vector<Vectors> slots;
  for (int i = 0; i < 64; ++i) {
    slots.push_back(place(*s, x));
    q.slots.push_back(request(slots.back()));
  }
  ASSERT_TRUE(s->begin_clock(q));
  int64_t turn = 0;
  for (int warm = 0; warm < 2; ++warm) (void)sample(*s, ++turn, 1, false);
  EXPECT_EQ(page->holds, 1) << "the driver lets a stream wait for a word of the page";
  std::printf("unheld, 1 call: device %.2f us, wall %.1f us, lead %.1f us\n", page->device_ns / 1e3,
              sample(*s, ++turn, 1, false) / 1e3, page->lead_ns / 1e3);
  EXPECT_GT(page->lead_ns, 0);
  for (const int64_t calls : {1, 8, 64}) {
    (void)sample(*s, ++turn, calls, true);
    const double wall = sample(*s, ++turn, calls, true);
    EXPECT_EQ(page->status, 0);
    EXPECT_GT(page->device_ns, 500) << "8 MB";
    EXPECT_LT(page->device_ns * static_cast<double>(calls), wall);
    std::printf("held, %2ld calls: device %.2f us a call, wall %.1f us, gap %.1f us\n",
                static_cast<long>(calls), page->device_ns / 1e3, wall / 1e3,
                (wall - page->device_ns * static_cast<double>(calls)) / 1e3);
  }
  page->go = kLeaveClock;
  const auto end = s->end_clock(20'000);
  ASSERT_TRUE(end) << to_string(end.error());
  EXPECT_EQ(end->last.status, CallStatus::returned) << end->last.message;
  EXPECT_EQ(values(*s, slots[63].y), twice_plus_one(x));
}

TEST_F(ClockedGpuTest, AKernelThatWaitsForItselfStaysOutOfAHold) {
  auto s = start_on_gpu(
      with_kernel("twice<<<grid, 128, 0, stream>>>(x, y, n); cudaStreamSynchronize(stream);"));
  ASSERT_TRUE(s);
  Vectors v = place(*s, ramp(1000));
  ClockRequest q;
  q.page = fd.get();
  q.slots = {request(v)};
  ASSERT_TRUE(s->begin_clock(q));
  (void)sample(*s, 1, 1, false);
  page->held = 1;
  page->attend = 2;
  page->go = 2;
  for (int i = 0; i < 100; ++i) (void)s->pump_clock(1);
  EXPECT_LT(page->queued, 2);
  page->release = 2;
  EXPECT_TRUE(reaches(*s, page->reported, 2));
  EXPECT_EQ(page->status, 0);
  page->go = kLeaveClock;
  EXPECT_TRUE(s->end_clock(20'000));
}

TEST_F(GpuTest, AnIllegalAddressEndsTheSessionAndNotTheNext) {
  auto s = start_on_gpu(with_kernel("twice<<<grid, 128, 0, stream>>>((const float*)16, y, n);"));
  ASSERT_TRUE(s);
  CallOutcome o = s->call(request(place(*s, ramp(64))));
  EXPECT_EQ(o.status, CallStatus::device_fault) << o.message;
  EXPECT_EQ(o.runtime_error, "cudaErrorIllegalAddress");
  EXPECT_NE(o.message.find("twice"), std::string::npos) << o.message;
  EXPECT_FALSE(s->alive());
  auto next = start_on_gpu(with_kernel("twice<<<grid, 128, 0, stream>>>(x, y, n);"));
  ASSERT_TRUE(next);
  EXPECT_EQ(next->call(request(place(*next, ramp(64)))).status, CallStatus::returned);
}

TEST_F(GpuTest, AHangIsATimeOutAndTheGpuIsFreeAgain) {
  const std::string hang = "__global__ void hang(volatile float* y) { while (y[0] != 7) {} }\n";
  {
    auto s = start_on_gpu(with_kernel("hang<<<1, 1, 0, stream>>>(y);", hang));
    ASSERT_TRUE(s);
    CallOutcome o = s->call(request(place(*s, ramp(64)), 1'000));
    EXPECT_EQ(o.status, CallStatus::timeout) << o.message;
  }
  auto next = start_on_gpu(with_kernel("twice<<<grid, 128, 0, stream>>>(x, y, n);"));
  ASSERT_TRUE(next);
  EXPECT_EQ(next->call(request(place(*next, ramp(64)))).status, CallStatus::returned);
}

TEST_F(GpuTest, WhatKernelsPrintIsKept) {
  auto s = start_on_gpu(
      with_kernel("talk<<<1, 1, 0, stream>>>();",
                  "#include <cstdio>\n__global__ void talk() { printf(\"hello %d\\n\", 42); }\n"));
  ASSERT_TRUE(s);
  CallOutcome o = s->call(request(place(*s, ramp(64))));
  EXPECT_NE(o.output.find("hello 42"), std::string::npos) << o.message;
}

TEST_F(GpuTest, PinnedAndManagedMemoryAreShared) {
  const std::string host =
      "  float *m, *p; cudaMallocManaged(&m, 4 * n); cudaMallocHost(&p, 4 * n);\n"
      "  cudaMemcpyAsync(p, x, 4 * n, cudaMemcpyDeviceToHost, stream); "
      "cudaStreamSynchronize(stream);\n"
      "  for (int i = 0; i < n; ++i) m[i] = p[i];\n"
      "  twice<<<grid, 128, 0, stream>>>(m, y, n); cudaStreamSynchronize(stream);\n"
      "  cudaFree(m); cudaFreeHost(p);\n";
  auto s = start_on_gpu(with_kernel(host));
  ASSERT_TRUE(s);
  auto x = ramp(1000);
  Vectors v = place(*s, x);
  CallOutcome o = s->call(request(v));
  EXPECT_EQ(o.status, CallStatus::returned) << o.message;
  EXPECT_EQ(o.runtime_error, "");
  EXPECT_EQ(values(*s, v.y), twice_plus_one(x));
}

TEST_F(GpuTest, CooperativeLaunchesAndLargeSharedMemory) {
  const std::string globals =
      "#include <cooperative_groups.h>\n"
      "__global__ void meet(const float* x, float* y, int n) {\n"
      "  extern __shared__ float tile[];\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
      "  tile[threadIdx.x] = i < n ? x[i] : 0;\n  if (i < n) y[i] = 0;\n"
      "  cooperative_groups::this_grid().sync();\n"
      "  if (i < n) y[n - 1 - i] = 2 * tile[threadIdx.x] + 1;\n}\n";
  const std::string host =
      "  void* args[] = {&x, &y, &n};\n"
      "  cudaFuncSetAttribute((const void*)meet, cudaFuncAttributeMaxDynamicSharedMemorySize, "
      "100000);\n"
      "  cudaError_t e = cudaLaunchCooperativeKernel((const void*)meet, dim3(grid), dim3(128), "
      "args, 100000, stream);\n"
      "  if (e != cudaSuccess) return 1;\n";
  auto s = start_on_gpu(with_kernel(host, globals));
  ASSERT_TRUE(s);
  auto x = ramp(1000);
  Vectors v = place(*s, x);
  CallOutcome o = s->call(request(v));
  EXPECT_EQ(o.status, CallStatus::returned) << o.message;
  EXPECT_EQ(o.return_code, 0);
  auto expected = twice_plus_one(x);
  std::reverse(expected.begin(), expected.end());
  EXPECT_EQ(values(*s, v.y), expected);
}

}  // namespace
}  // namespace fiel::worker
