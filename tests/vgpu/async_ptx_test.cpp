// cp.async and mbarrier in whole kernels, right ones and their wrong twins.
#include <gtest/gtest.h>

#include <cmath>

#include "gpu_fixture.h"

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

TEST(AsyncPtx, ThreeStageGemmEqualsTheReference) {
  constexpr int kK = 128;
  Gpu gpu(read_text("tests/vgpu/kernels/gemm_async.ptx"));
  const auto a = bf16_matrix(128, kK, 1), b = bf16_matrix(128, kK, 2);
  const uint64_t pa = gpu.upload(a), pb = gpu.upload(b), pc = gpu.allocate(128 * 128 * 4);
  const LaunchReport report =
      gpu.launch("gemm_async", {1, 1, 1}, {128, 1, 1}, Arguments().add(pa).add(pb).add(pc).add(kK));
  EXPECT_EQ(findings_of(report), "");
  EXPECT_EQ(differences(a, b, 128, 128, kK, gpu.download<float>(pc, 128 * 128)), 0);
}

TEST(AsyncPtx, AWaitAfterTheReadIsAReadOfBytesInFlight) {
  constexpr int kK = 64;
  Gpu gpu(read_text("tests/vgpu/kernels/gemm_async.ptx"));
  const auto a = bf16_matrix(128, kK, 1), b = bf16_matrix(128, kK, 2);
  const uint64_t pa = gpu.upload(a), pb = gpu.upload(b), pc = gpu.allocate(128 * 128 * 4);
  const LaunchReport report = gpu.launch("gemm_late_wait", {1, 1, 1}, {128, 1, 1},
                                         Arguments().add(pa).add(pb).add(pc).add(kK));
  const Finding* finding = find(report, FindingKind::in_flight_read);
  ASSERT_NE(finding, nullptr) << findings_of(report);
  EXPECT_EQ(finding->grade, Grade::error);
}

TEST(AsyncPtx, DoubleBufferedGemmOfTheBenchmarkIsClean) {
  constexpr int kM = 256, kN = 128, kK = 96;
  Gpu gpu(read_text("bench/kernels/gemm_bf16.ptx"));
  const auto a = bf16_matrix(kM, kK, 3), b = bf16_matrix(kN, kK, 4);
  const uint64_t pa = gpu.upload(a), pb = gpu.upload(b), pc = gpu.allocate(kM * kN * 4);
  const LaunchReport report =
      gpu.launch("gemm_bf16", {kN / 128, kM / 128, 1}, {256, 1, 1},
                 Arguments().add(pa).add(pb).add(pc).add(kM).add(kN).add(kK));
  EXPECT_EQ(findings_of(report), "");
  EXPECT_EQ(differences(a, b, kM, kN, kK, gpu.download<float>(pc, kM * kN)), 0);
}

TEST(AsyncPtx, SourceSizeFillsWithZerosAndReadsNoMore) {
  Gpu gpu(read_text("tests/vgpu/kernels/mbarrier_pipeline.ptx"));
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

TEST(AsyncPtx, ReadingWithoutAnyWaitIsAReadOfBytesInFlight) {
  Gpu gpu(read_text("tests/vgpu/kernels/mbarrier_pipeline.ptx"));
  const uint64_t px = gpu.upload(std::vector<float>(128, 1.0f)), py = gpu.allocate(128 * 4);
  const LaunchReport report =
      gpu.launch("no_wait", {1, 1, 1}, {32, 1, 1}, Arguments().add(px).add(py));
  EXPECT_NE(find(report, FindingKind::in_flight_read), nullptr) << findings_of(report);
}

TEST(AsyncPtx, MbarrierPipelineIsRightAndClean) {
  constexpr int kTiles = 7;
  Gpu gpu(read_text("tests/vgpu/kernels/mbarrier_pipeline.ptx"));
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

TEST(AsyncPtx, ABarrierThatExpectsOneArrivalTooManyIsADeadlock) {
  Gpu gpu(read_text("tests/vgpu/kernels/mbarrier_pipeline.ptx"));
  const uint64_t px = gpu.upload(std::vector<float>(128 * 4, 1.0f)), py = gpu.allocate(128 * 4);
  const LaunchReport report = gpu.launch("short_count", {1, 1, 1}, {160, 1, 1},
                                         Arguments().add(px).add(py).add(4), 200'000'000);
  EXPECT_EQ(report.status, LaunchStatus::deadlocked) << report.message;
  const Finding* finding = find(report, FindingKind::deadlock);
  ASSERT_NE(finding, nullptr) << findings_of(report);
  EXPECT_NE(finding->detail.find("lacks 1 of 33 arrivals"), std::string::npos) << finding->detail;
}

TEST(AsyncPtx, MissingBytesAreNamedInTheDeadlock) {
  Gpu gpu(read_text("tests/vgpu/kernels/mbarrier_pipeline.ptx"));
  const uint64_t px = gpu.upload(std::vector<float>(32, 1.0f)), py = gpu.allocate(32 * 4);
  const LaunchReport report =
      gpu.launch("missing_bytes", {1, 1, 1}, {32, 1, 1}, Arguments().add(px).add(py), 200'000'000);
  EXPECT_EQ(report.status, LaunchStatus::deadlocked) << report.message;
  const Finding* finding = find(report, FindingKind::deadlock);
  ASSERT_NE(finding, nullptr) << findings_of(report);
  EXPECT_NE(finding->detail.find("16 of 4096 bytes"), std::string::npos) << finding->detail;
}

}  // namespace
}  // namespace fiel::vgpu
