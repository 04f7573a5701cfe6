#include "report/profile.h"

#include <gtest/gtest.h>

namespace fiel::report {
namespace {

using vgpu::LineMetrics;

Profile one_launch(const vgpu::KernelMetrics& metrics) {
  Profile p{.task = "transpose", .shapes = "N=2048", .kernel_file = "t.cu"};
  p.launches.push_back(
      {.kernel = "k", .grid = {1024, 1, 1}, .block = {256, 1, 1}, .metrics = metrics});
  return p;
}

vgpu::KernelMetrics busy() {
  vgpu::KernelMetrics m;
  m.total.warp_instructions = 1000;
  m.total.thread_instructions = 32'000;
  m.total.mix[static_cast<size_t>(vgpu::MixClass::fp32)] = 32'000;
  m.total.flops = 32'000;
  m.total.global_loads = {100, 400, 400, 12'800};
  m.unique_global_bytes_read = 12'800;
  return m;
}

std::vector<std::string> codes(const Profile& p) {
  std::vector<std::string> out;
  for (const Cause& c : likely_causes(p)) out.push_back(c.code);
  return out;
}

TEST(Profile, ACleanKernelHasNoCause) {
  EXPECT_TRUE(likely_causes(one_launch(busy())).empty());
  EXPECT_NE(profile_text(one_launch(busy())).find("no likely cause"), std::string::npos);
}

TEST(Profile, UncoalescedAccessNamesTheWorstLine) {
  vgpu::KernelMetrics m = busy();
  m.total.global_stores = {100, 3200, 400, 12'800};
  LineMetrics good{.file = "t.cu", .line = 7}, bad{.file = "t.cu", .line = 9};
  good.global_loads = m.total.global_loads;
  bad.global_stores = m.total.global_stores;
  m.lines = {good, bad};
  std::vector<Cause> causes = likely_causes(one_launch(m));
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_EQ(causes[0].code, "uncoalesced-access");
  EXPECT_EQ(causes[0].where, "t.cu:9");
  EXPECT_NEAR(causes[0].severity, 1.0 - 800.0 / 3600.0, 1e-12);
  EXPECT_NE(causes[0].text.find("32.0 sectors a request where 4.0"), std::string::npos)
      << causes[0].text;
}

TEST(Profile, BankConflictsDivergenceAndLocalMemoryAreTold) {
  vgpu::KernelMetrics m = busy();
  m.total.shared_loads = {10, 320, 10};
  m.total.warp_instructions = 4000;  // 8 lanes on average
  m.total.local_memory = {10, 400, 400, 12'800};
  auto found = codes(one_launch(m));
  EXPECT_EQ(found, (std::vector<std::string>{"bank-conflicts", "divergence", "local-memory"}));
}

TEST(Profile, OccupancyIsUnknownWithoutPtxasAndJudgedWithIt) {
  Profile p = one_launch(busy());
  EXPECT_NE(profile_text(p).find("unknown (needs ptxas)"), std::string::npos);
  p.launches[0].occupancy = Occupancy{.blocks = 1, .warps = 8, .limited_by = "shared memory"};
  EXPECT_EQ(codes(p), (std::vector<std::string>{"low-occupancy"}));
}

TEST(Profile, IntermediatesNeedTwoLaunchesAndExtraTraffic) {
  Profile p = one_launch(busy());
  p.task_bytes_compulsory = 12'800;
  EXPECT_TRUE(codes(p).empty());
  p.launches[0].times = 2;
  EXPECT_EQ(codes(p), (std::vector<std::string>{"materialised-intermediates"}));
  p.task_bytes_compulsory = 25'600;
  EXPECT_TRUE(codes(p).empty());
}

TEST(Profile, RepeatedReadsAndContentionAndSmallGrids) {
  vgpu::KernelMetrics m = busy();
  m.unique_global_bytes_read = 1280;
  m.total.atomics = {10, 10, 10, 1280};
  m.total.atomic_contention = 32;
  m.total.mix[static_cast<size_t>(vgpu::MixClass::atomic)] = 3'200;
  Profile p = one_launch(m);
  p.launches[0].grid = {33, 1, 1};
  EXPECT_EQ(codes(p),
            (std::vector<std::string>{"atomic-contention", "repeated-reads", "small-grid"}));
}

TEST(Profile, JsonAndTextAgree) {
  Profile p = one_launch(busy());
  Json j = profile_json(p);
  EXPECT_EQ(j["launches"].items()[0]["total"]["global_loads"]["sectors"].as_int(), 400);
  EXPECT_EQ(j["launches"].items()[0]["roofline_side"].as_string(), "memory");
  EXPECT_TRUE(j["launches"].items()[0]["registers"].is_null());
  EXPECT_NE(profile_text(p).find("2.50 FLOP/byte"), std::string::npos);
  EXPECT_NE(profile_text(p).find("4.00 sectors each (ideal 4.00)"), std::string::npos);
}

TEST(Profile, NothingLaunchedIsSaid) {
  Profile p{.task = "t", .shapes = "", .kernel_file = "k.cu"};
  EXPECT_NE(profile_text(p).find("no kernel was launched"), std::string::npos);
}

}  // namespace
}  // namespace fiel::report
