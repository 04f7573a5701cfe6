// cp.async and mbarrier in whole kernels, right ones and their wrong twins.
#include <gtest/gtest.h>

#include <cmath>

#include "gpu_fixture.h"
#include "isa_builds.h"

namespace fiel::vgpu {
namespace {

uint16_t bf16_of(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  return static_cast<uint16_t>(bits >> 16);
}
/// Integers from -4 to 4: products and sums are exact.
std::vector<uint16_t> bf16_matrix(int rows, int columns, int salt) {
  std::vector<uint16_t> out(static_cast<size_t>(rows * columns));
  for (size_t i = 0; i < out.size(); ++i) {
    const size_t h = (i + 1) * 2654435761u + static_cast<size_t>(salt) * 40503u;
    out[i] = bf16_of(static_cast<float>(static_cast<int>(h >> 13 & 0xffff) % 9 - 4));
  }
  return out;
}
float f32_of(uint16_t bf16) {
  const uint32_t bits = static_cast<uint32_t>(bf16) << 16;
  float x;
  std::memcpy(&x, &bits, 4);
  return x;
}

/// Elements of c = a·b^T that differ from `got`.
int differences(const std::vector<uint16_t>& a, const std::vector<uint16_t>& b, int m, int n, int k,
                const std::vector<float>& got) {
  int different = 0;
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int l = 0; l < k; ++l) {
        sum +=
            f32_of(a[static_cast<size_t>(i * k + l)]) * f32_of(b[static_cast<size_t>(j * k + l)]);
      }
      different += sum != got[static_cast<size_t>(i * n + j)];
    }
  }
  return different;
}

class AsyncPtx : public OnEachBuild {};
INSTANTIATE_TEST_SUITE_P(Build, AsyncPtx, testing::ValuesIn(kBuilds), build_name);

TEST_P(AsyncPtx, ThreeStageGemmEqualsTheReference) {
  constexpr int kK = 128;
  Gpu gpu(read_text("tests/vgpu/kernels/gemm_async.ptx"), GetParam());
  const auto a = bf16_matrix(128, kK, 1), b = bf16_matrix(128, kK, 2);
  const uint64_t pa = gpu.upload(a), pb = gpu.upload(b), pc = gpu.allocate(128 * 128 * 4);
  const LaunchReport report =
      gpu.launch("gemm_async", {1, 1, 1}, {128, 1, 1}, Arguments().add(pa).add(pb).add(pc).add(kK));
  EXPECT_EQ(findings_of(report), "");
  EXPECT_EQ(differences(a, b, 128, 128, kK, gpu.download<float>(pc, 128 * 128)), 0);
}

TEST_P(AsyncPtx, AWaitAfterTheReadIsAReadOfBytesInFlight) {
  constexpr int kK = 64;
  Gpu gpu(read_text("tests/vgpu/kernels/gemm_async.ptx"), GetParam());
  const auto a = bf16_matrix(128, kK, 1), b = bf16_matrix(128, kK, 2);
  const uint64_t pa = gpu.upload(a), pb = gpu.upload(b), pc = gpu.allocate(128 * 128 * 4);
  const LaunchReport report = gpu.launch("gemm_late_wait", {1, 1, 1}, {128, 1, 1},
                                         Arguments().add(pa).add(pb).add(pc).add(kK));
  const Finding* finding = find(report, FindingKind::in_flight_read);
  ASSERT_NE(finding, nullptr) << findings_of(report);
  EXPECT_EQ(finding->grade, Grade::error);
}

TEST_P(AsyncPtx, DoubleBufferedGemmOfTheBenchmarkIsClean) {
  constexpr int kM = 256, kN = 128, kK = 96;
  Gpu gpu(read_text("bench/kernels/gemm_bf16.ptx"), GetParam());
  const auto a = bf16_matrix(kM, kK, 3), b = bf16_matrix(kN, kK, 4);
  const uint64_t pa = gpu.upload(a), pb = gpu.upload(b), pc = gpu.allocate(kM * kN * 4);
  const LaunchReport report =
      gpu.launch("gemm_bf16", {kN / 128, kM / 128, 1}, {256, 1, 1},
                 Arguments().add(pa).add(pb).add(pc).add(kM).add(kN).add(kK));
  EXPECT_EQ(findings_of(report), "");
  EXPECT_EQ(differences(a, b, kM, kN, kK, gpu.download<float>(pc, kM * kN)), 0);
}

TEST_P(AsyncPtx, SourceSizeFillsWithZerosAndReadsNoMore) {
  Gpu gpu(read_text("tests/vgpu/kernels/mbarrier_pipeline.ptx"), GetParam());
  std::vector<float> x(101);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i + 1);
  const uint64_t px = gpu.upload(x), py = gpu.allocate(160 * 4);
  const LaunchReport report =
      gpu.launch("zero_fill", {1, 1, 1}, {32, 1, 1}, Arguments().add(px).add(py).add(101));
  EXPECT_EQ(findings_of(report), "");
  const auto y = gpu.download<float>(py, 160);
  for (size_t i = 0; i < 128; ++i) EXPECT_EQ(y[i], i < 101 ? static_cast<float>(i + 1) : 0.0f) << i;
  for (size_t i = 0; i < 32; ++i) {
    EXPECT_EQ(y[128 + i], i % 2 == 0 ? static_cast<float>(i + 1) : 0.0f) << i;
  }
}

TEST_P(AsyncPtx, ReadingWithoutAnyWaitIsAReadOfBytesInFlight) {
  Gpu gpu(read_text("tests/vgpu/kernels/mbarrier_pipeline.ptx"), GetParam());
  const uint64_t px = gpu.upload(std::vector<float>(128, 1.0f)), py = gpu.allocate(128 * 4);
  const LaunchReport report =
      gpu.launch("no_wait", {1, 1, 1}, {32, 1, 1}, Arguments().add(px).add(py));
  EXPECT_NE(find(report, FindingKind::in_flight_read), nullptr) << findings_of(report);
}

TEST_P(AsyncPtx, MbarrierPipelineIsRightAndClean) {
  constexpr int kTiles = 7;
  Gpu gpu(read_text("tests/vgpu/kernels/mbarrier_pipeline.ptx"), GetParam());
  std::vector<float> x(128 * kTiles);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 61);
  const uint64_t px = gpu.upload(x), py = gpu.allocate(128 * 4);
  const LaunchReport report =
      gpu.launch("pipeline_ok", {1, 1, 1}, {160, 1, 1}, Arguments().add(px).add(py).add(kTiles));
  EXPECT_EQ(findings_of(report), "");
  const auto y = gpu.download<float>(py, 128);
  for (size_t i = 0; i < 128; ++i) {
    float sum = 0;
    for (size_t t = 0; t < kTiles; ++t) sum += x[t * 128 + (i ^ 1)];
    EXPECT_EQ(y[i], sum) << i;
  }
}

TEST_P(AsyncPtx, ABarrierThatExpectsOneArrivalTooManyIsADeadlock) {
  Gpu gpu(read_text("tests/vgpu/kernels/mbarrier_pipeline.ptx"), GetParam());
  const uint64_t px = gpu.upload(std::vector<float>(128 * 4, 1.0f)), py = gpu.allocate(128 * 4);
  const LaunchReport report = gpu.launch("short_count", {1, 1, 1}, {160, 1, 1},
                                         Arguments().add(px).add(py).add(4), 200'000'000);
  EXPECT_EQ(report.status, LaunchStatus::deadlocked) << report.message;
  const Finding* finding = find(report, FindingKind::deadlock);
  ASSERT_NE(finding, nullptr) << findings_of(report);
  EXPECT_NE(finding->detail.find("lacks 1 of 33 arrivals"), std::string::npos) << finding->detail;
}

TEST_P(AsyncPtx, MissingBytesAreNamedInTheDeadlock) {
  Gpu gpu(read_text("tests/vgpu/kernels/mbarrier_pipeline.ptx"), GetParam());
  const uint64_t px = gpu.upload(std::vector<float>(32, 1.0f)), py = gpu.allocate(32 * 4);
  const LaunchReport report =
      gpu.launch("missing_bytes", {1, 1, 1}, {32, 1, 1}, Arguments().add(px).add(py), 200'000'000);
  EXPECT_EQ(report.status, LaunchStatus::deadlocked) << report.message;
  const Finding* finding = find(report, FindingKind::deadlock);
  ASSERT_NE(finding, nullptr) << findings_of(report);
  EXPECT_NE(finding->detail.find("16 of 4096 bytes"), std::string::npos) << finding->detail;
}

// ---- mbarrier, one operation after the other, by one thread ----

/// kernel(out): `body` uses [bar] and appends a value with `put`; returns what was put.
std::vector<uint32_t> run_barrier_steps(IsaChoice isa, const std::vector<std::string>& steps,
                                        std::string& findings) {
  std::string ptx =
      ".version 8.5\n.target sm_90\n.address_size 64\n"
      ".visible .entry kernel(.param .u64 out)\n{\n.shared .align 8 .b64 bar;\n"
      ".reg .b64 %s<8>;\n.reg .b64 %out;\n.reg .b32 %r;\n.reg .pred %p;\n"
      "ld.param.u64 %out, [out];\n";
  size_t results = 0;
  for (const std::string& step : steps) {
    ptx += step + "\n";
    const bool pending = step.find("pending_count") != std::string::npos;
    if (!pending && step.find("_wait") == std::string::npos) continue;
    if (!pending) ptx += "selp.b32 %r, 1, 0, %p;\n";
    ptx += "st.global.b32 [%out+" + std::to_string(4 * results++) + "], %r;\n";
  }
  ptx += "ret;\n}\n";
  Gpu gpu(ptx, isa);
  const uint64_t out = gpu.allocate(256);
  findings = findings_of(gpu.launch("kernel", {1, 1, 1}, {1, 1, 1}, Arguments().add(out)));
  return gpu.download<uint32_t>(out, results);
}

TEST_P(AsyncPtx, MbarrierCountsArrivalsBytesAndPhases) {
  std::string findings;
  const auto got = run_barrier_steps(
      GetParam(),
      {
          "mbarrier.init.shared.b64 [bar], 5;",
          "mbarrier.arrive.shared.b64 %s0, [bar];",
          "mbarrier.pending_count.b64 %r, %s0;",  // 5: before the arrival
          "mbarrier.arrive.noComplete.shared.b64 %s1, [bar], 2;",
          "mbarrier.pending_count.b64 %r, %s1;",                 // 4
          "mbarrier.test_wait.shared.b64 %p, [bar], %s1;",       // 0
          "mbarrier.arrive_drop.shared.b64 %s2, [bar];",         // pending 1, next phases expect 4
          "mbarrier.test_wait.parity.shared.b64 %p, [bar], 0;",  // 0
          "mbarrier.test_wait.parity.shared.b64 %p, [bar], 1;",  // 1: the phase before the first
          "mbarrier.arrive.expect_tx.shared.b64 _, [bar], 16;",  // no arrival is missing, 16 bytes
                                                                 // are
          "mbarrier.test_wait.shared.b64 %p, [bar], %s1;",       // 0
          "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 16;",
          "mbarrier.test_wait.shared.b64 %p, [bar], %s1;",           // 1
          "mbarrier.try_wait.parity.shared.b64 %p, [bar], 0;",       // 1
          "mbarrier.try_wait.parity.shared.b64 %p, [bar], 1, 100;",  // 0, and the hint is ignored
          "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 8;",
          "mbarrier.arrive.release.cta.shared::cta.b64 %s3, [bar], 4;",
          "mbarrier.pending_count.b64 %r, %s3;",                 // 4: one was dropped
          "mbarrier.test_wait.parity.shared.b64 %p, [bar], 1;",  // 0: 8 bytes
          "mbarrier.complete_tx.shared::cta.b64 [bar], 8;",
          "mbarrier.test_wait.parity.acquire.cta.shared::cta.b64 %p, [bar], 1;",  // 1
          "mbarrier.test_wait.shared.b64 %p, [bar], %s3;",                        // 1
          "mbarrier.inval.shared.b64 [bar];",
      },
      findings);
  EXPECT_EQ(findings, "");
  EXPECT_EQ(got, (std::vector<uint32_t>{5, 4, 0, 0, 1, 0, 1, 1, 0, 4, 0, 1, 1}));
}

TEST_P(AsyncPtx, MisusedMbarriersAreFindings) {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"mbarrier.init.shared.b64 [bar], 0;"}, "count outside"},
      {{"mbarrier.init.shared.b64 [bar], 1;", "mbarrier.arrive.shared.b64 _, [bar], 2;"},
       "more arrivals"},
      {{"mbarrier.init.shared.b64 [bar], 1;", "mbarrier.inval.shared.b64 [bar];",
        "mbarrier.arrive.shared.b64 _, [bar];"},
       "no mbarrier is here"},
      {{"mbarrier.init.shared.b64 [bar], 1;", "st.shared.u64 [bar], 0;",
        "mbarrier.test_wait.parity.shared.b64 %p, [bar], 0;"},
       "no mbarrier is here"},
      {{"mbarrier.arrive.shared.b64 _, [bar];"}, "uninitialized-shared-read"},
  };
  for (const auto& [steps, words] : cases) {
    std::string findings;
    run_barrier_steps(GetParam(), steps, findings);
    EXPECT_NE(findings.find(words), std::string::npos) << steps.back() << '\n' << findings;
  }
}

// ---- libcu++ and cooperative groups ----

TEST_P(AsyncPtx, CudaPipelinesAndBarriersRunCleanly) {
  Gpu gpu(read_text("tests/vgpu/kernels/cuda_pipeline.ptx"), GetParam());
  std::vector<float> x(256 * 5);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 7 % 31);
  const uint64_t px = gpu.upload(x), py = gpu.allocate(256 * 4);
  EXPECT_EQ(findings_of(gpu.launch("pipelined", {1, 1, 1}, {256, 1, 1},
                                   Arguments().add(px).add(py).add(5))),
            "");
  const auto y = gpu.download<float>(py, 256);
  for (size_t t = 0; t < 256; ++t) {
    float sum = 0;
    for (size_t tile = 0; tile < 5; ++tile) sum += x[tile * 256 + 255 - t];
    EXPECT_EQ(y[t], sum) << t;
  }

  const uint64_t pz = gpu.allocate(1024 * 4);
  EXPECT_EQ(findings_of(gpu.launch("thread_pipeline", {1, 1, 1}, {64, 1, 1},
                                   Arguments().add(px).add(pz).add(4), 2'000'000'000, 2 * 64 * 16)),
            "");
  const auto z = gpu.download<float>(pz, 1024);
  for (size_t i = 0; i < 1024; ++i) EXPECT_EQ(z[i], x[i] + 1) << i;

  std::vector<int> numbers(1024);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int>(i);
  const uint64_t pn = gpu.upload(numbers), pm = gpu.allocate(4096);
  EXPECT_EQ(
      findings_of(gpu.launch("group_copy", {2, 1, 1}, {256, 1, 1}, Arguments().add(pn).add(pm))),
      "");
  const auto m = gpu.download<int>(pm, 1024);
  for (size_t i = 0; i < 1024; ++i)
    EXPECT_EQ(m[i], static_cast<int>(i / 512 * 512 + 511 - i % 512));

  EXPECT_EQ(
      findings_of(gpu.launch("split_barrier", {1, 1, 1}, {256, 1, 1}, Arguments().add(pm).add(3))),
      "");
  const auto sums = gpu.download<int>(pm, 256);
  for (int t = 0; t < 256; ++t) EXPECT_EQ(sums[static_cast<size_t>(t)], 3 * ((t + 1) % 256) + 3);
}

TEST_P(AsyncPtx, BulkCopiesAreUnsupportedByName) {
  auto device = Device::create({.isa = GetParam()});
  ASSERT_TRUE(device.has_value());
  const auto module =
      (*device)->load_module(read_text("tests/vgpu/kernels/bulk_copy.ptx"), "bulk_copy.cu");
  ASSERT_FALSE(module.has_value());
  EXPECT_EQ(module.error().code, ErrorCode::unsupported);
  EXPECT_NE(module.error().what.find("async"), std::string::npos) << module.error().what;
}

}  // namespace
}  // namespace fiel::vgpu
