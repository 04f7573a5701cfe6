// The device's own calls: memory, coverage, occupancy, contraction, printf's formats.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>

#include "vgpu/cpu_features.h"
#include "vgpu/device.h"
#include "vgpu/lower.h"
#include "vgpu/occupancy.h"
#include "vgpu/printf_format.h"

namespace fiel::vgpu::test {
namespace {

std::unique_ptr<Device> device(uint32_t threads = 1) {
  auto gpu = Device::create({.memory_bytes = 64u << 20, .threads = threads});
  EXPECT_TRUE(gpu) << to_string(gpu.error());
  return std::move(*gpu);
}

template <typename T>
std::vector<T> read_all(const Device& gpu, uint64_t address, size_t n) {
  std::vector<T> out(n);
  EXPECT_TRUE(gpu.read(address, std::as_writable_bytes(std::span(out))));
  return out;
}

constexpr const char* kCopy = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry copy(.param .u64 to, .param .u64 from) {
  .reg .b32 %r<4>; .reg .b64 %rd<6>;
  ld.param.u64 %rd1, [to]; ld.param.u64 %rd2, [from];
  mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3;
  ld.global.u32 %r2, [%rd5]; st.global.u32 [%rd4], %r2; ret; }
)";

LaunchReport copy(Device& gpu, uint32_t module, uint64_t to, uint64_t from, uint32_t n) {
  LaunchRequest request;
  request.module = module;
  request.kernel = "copy";
  request.block = {n, 1, 1};
  const uint64_t parameters[2] = {to, from};
  const auto* bytes = reinterpret_cast<const uint8_t*>(parameters);
  request.parameters.assign(bytes, bytes + 16);
  return gpu.launch(request);
}

TEST(Device, RunsTheBuildThatIsAskedForOrTheWidestOfTheCpu) {
  const auto name_with = [](IsaChoice isa) -> std::string {
    auto gpu = Device::create({.memory_bytes = 1u << 20, .isa = isa});
    return gpu ? (*gpu)->isa_name() : to_string(gpu.error());
  };
  EXPECT_EQ(name_with(IsaChoice::avx2), "avx2");
  if (cpu_runs_avx512()) {
    EXPECT_EQ(name_with(IsaChoice::avx512), "avx512");
    EXPECT_EQ(name_with(IsaChoice::automatic), "avx512");
  } else {
    EXPECT_NE(name_with(IsaChoice::avx512).find(kNoAvx512), std::string::npos);
    EXPECT_EQ(name_with(IsaChoice::automatic), "avx2");
  }
}

TEST(Device, WatchesAFilledAllocationForWrites) {
  auto gpu = device();
  auto module = gpu->load_module(kCopy, "copy.cu");
  ASSERT_TRUE(module) << to_string(module.error());
  const uint64_t input = *gpu->allocate(128, "input"), other = *gpu->allocate(128, "other");
  const std::vector<float> values(32, 2.f);
  const auto bytes = std::as_bytes(std::span(values));
  ASSERT_TRUE(gpu->write(input, bytes));
  ASSERT_TRUE(gpu->mark_output(input));
  ASSERT_TRUE(gpu->write(other, bytes));
  // Reading is no writing, and what was written before mark_output() counts as initialised.
  EXPECT_TRUE(copy(*gpu, *module, other, input, 32).findings.empty());
  EXPECT_EQ(gpu->coverage(input)->written + gpu->coverage(input)->copied, 0u);
  ASSERT_EQ(gpu->coverage(input)->missing.size(), 1u);
  EXPECT_EQ(gpu->coverage(input)->missing[0].end, 128u);
  EXPECT_TRUE(copy(*gpu, *module, input, other, 3).findings.empty());  // the same values
  EXPECT_EQ(gpu->coverage(input)->written, 12u);
  EXPECT_EQ(gpu->coverage(input)->copied, 0u);
  ASSERT_TRUE(gpu->copy(input + 64, other, 8));
  ASSERT_TRUE(gpu->fill(input + 96, 0, 4));
  ASSERT_TRUE(gpu->write(input, bytes.first(4)));
  EXPECT_EQ(gpu->coverage(input)->written, 12u);
  EXPECT_EQ(gpu->coverage(input)->copied, 16u);
  ASSERT_TRUE(gpu->mark_output(input));
  EXPECT_EQ(gpu->coverage(input)->written + gpu->coverage(input)->copied, 0u);
}

TEST(Device, RefusesMoreThanItsMemory) {
  auto gpu = device();
  auto first = gpu->allocate(40u << 20, "a");
  ASSERT_TRUE(first);
  EXPECT_EQ(*first % 256, 0u);
  auto second = gpu->allocate(40u << 20, "b");
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::limit);
  EXPECT_TRUE(gpu->free(*first));
  EXPECT_TRUE(gpu->allocate(40u << 20, "b"));
  EXPECT_FALSE(gpu->free(*first)) << "a second free";
  EXPECT_EQ(gpu->peak_memory(), 40u << 20);
}

TEST(Device, RefusesHostAccessesOutsideAllocations) {
  auto gpu = device();
  const uint64_t x = *gpu->allocate(100, "x");
  std::vector<std::byte> bytes(101);
  EXPECT_FALSE(gpu->write(x, bytes));
  EXPECT_FALSE(gpu->read(x + 1, std::span(bytes).first(100)));
  EXPECT_FALSE(gpu->fill(x + 100, 0, 1));
  EXPECT_FALSE(gpu->fill(x - 1, 0, 1));
  EXPECT_TRUE(gpu->fill(x, 0, 100));
}

TEST(Device, CopiesCarryInitialisation) {
  auto gpu = device();
  const uint32_t module = *gpu->load_module(kCopy, "copy");
  const uint64_t a = *gpu->allocate(128, "a"), b = *gpu->allocate(128, "b"),
                 c = *gpu->allocate(128, "c");
  ASSERT_TRUE(gpu->fill(a, 1, 64));  // the second half stays uninitialised
  ASSERT_TRUE(gpu->copy(b, a, 128));
  const LaunchReport report = copy(*gpu, module, c, b, 32);
  EXPECT_EQ(report.status, LaunchStatus::completed);
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].kind, FindingKind::uninitialized_global);
  EXPECT_EQ(report.findings[0].count, 16u);
  ASSERT_TRUE(gpu->mark_initialized(b + 64, 64));
  EXPECT_TRUE(copy(*gpu, module, c, b, 32).findings.empty());
  ASSERT_TRUE(gpu->poison(b, 4, 0x7f));
  EXPECT_EQ(copy(*gpu, module, c, b, 32).findings.size(), 1u);
  EXPECT_EQ(read_all<uint32_t>(*gpu, c, 1)[0], 0x7f7f7f7fu);
}

TEST(Device, MapsHostMemoryInBothDirections) {
  auto gpu = device();
  const uint32_t module = *gpu->load_module(kCopy, "copy");
  void* host = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(host, MAP_FAILED);
  auto* words = static_cast<uint32_t*>(host);
  for (uint32_t i = 0; i < 64; ++i) words[i] = i * 3;
  auto at = gpu->map_host(host, 4096, "managed");
  ASSERT_TRUE(at) << to_string(at.error());
  const LaunchReport report = copy(*gpu, module, *at + 256, *at, 32);
  EXPECT_TRUE(report.findings.empty());
  EXPECT_EQ(words[64 + 31], 93u);
  ASSERT_TRUE(gpu->free(*at));
  words[0] = 17;  // the host's own mapping outlives the device's
  EXPECT_EQ(copy(*gpu, module, *at + 256, *at, 32).findings.at(0).kind,
            FindingKind::use_after_free);
  munmap(host, 4096);
}

TEST(Device, SaysWhichKernelsAndParametersAModuleHas) {
  auto gpu = device();
  const uint32_t module = *gpu->load_module(kCopy, "copy");
  EXPECT_EQ(gpu->kernels(module), std::vector<std::string>{"copy"});
  const KernelInfo info = *gpu->kernel(module, "copy");
  EXPECT_EQ(info.parameter_offsets, (std::vector<uint32_t>{0, 8}));
  EXPECT_EQ(info.parameter_block_bytes, 16u);
  EXPECT_FALSE(gpu->kernel(module, "paste"));
  LaunchRequest request;
  request.module = module;
  request.kernel = "copy";
  EXPECT_EQ(gpu->launch(request).refusal, Refusal::invalid_value) << "no parameters";
  request.kernel = "paste";
  EXPECT_EQ(gpu->launch(request).refusal, Refusal::missing_symbol);
}

TEST(Device, StopsWhenTheCallerSaysSo) {
  auto gpu = device();
  const char* const text = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry endless() { $L: bra $L; }
)";
  LaunchRequest request;
  request.module = *gpu->load_module(text, "endless");
  request.kernel = "endless";
  int asked = 0;
  request.cancelled = [&] { return ++asked > 3; };
  EXPECT_EQ(gpu->launch(request).status, LaunchStatus::cancelled);
  request.cancelled = nullptr;
  request.instruction_budget = 100'000;
  EXPECT_EQ(gpu->launch(request).status, LaunchStatus::out_of_budget);
}

TEST(Device, FusesMultiplyAndAddOnlyWhenAsked) {
  auto gpu = device();
  const char* const text = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out, .param .f32 a, .param .f32 c) {
  .reg .f32 %f<8>; .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [out]; ld.param.f32 %f1, [a]; ld.param.f32 %f2, [c];
  mul.f32 %f3, %f1, %f1; add.f32 %f4, %f3, %f2; st.global.f32 [%rd1], %f4;
  mul.rn.f32 %f5, %f1, %f1; add.rn.f32 %f6, %f5, %f2; st.global.f32 [%rd1+4], %f6; ret; }
)";
  const uint64_t out = *gpu->allocate(8, "out");
  LaunchRequest request;
  request.module = *gpu->load_module(text, "k");
  request.kernel = "k";
  request.parameters.resize(16);
  const float a = 1.0f + 0x1p-12f, c = -(1.0f + 0x1p-11f);
  memcpy(request.parameters.data(), &out, 8);
  memcpy(request.parameters.data() + 8, &a, 4);
  memcpy(request.parameters.data() + 12, &c, 4);
  EXPECT_EQ(gpu->launch(request).status, LaunchStatus::completed);
  EXPECT_EQ(read_all<float>(*gpu, out, 2), (std::vector<float>{0.0f, 0.0f}));
  request.contract = Contract::on;
  EXPECT_EQ(gpu->launch(request).status, LaunchStatus::completed);
  EXPECT_EQ(read_all<float>(*gpu, out, 2), (std::vector<float>{0x1p-24f, 0.0f}));
}

TEST(Occupancy, FollowsThePublishedLimitsOfSm90) {
  EXPECT_EQ(blocks_per_multiprocessor(256, 8192, 32), 8u);
  EXPECT_EQ(blocks_per_multiprocessor(32, 0, 0), 32u);
  EXPECT_EQ(blocks_per_multiprocessor(1024, 0, 64), 1u);
  EXPECT_EQ(blocks_per_multiprocessor(1024, 0, 65), 0u);
  EXPECT_EQ(blocks_per_multiprocessor(128, 227 * 1024, 0), 1u);
  EXPECT_EQ(blocks_per_multiprocessor(128, 227 * 1024 + 1, 0), 0u);
  EXPECT_EQ(blocks_per_multiprocessor(256, 0, 255), 1u);
}

TEST(Device, SharedMemorySizesAreAnH200s) {
  auto gpu = device();
  const char* const text = R"(
.version 8.1
.target sm_90
.address_size 64
.visible .entry plain(.param .u64 out) {
  .reg .b32 %r<3>; .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %total_smem_size; mov.u32 %r2, %aggr_smem_size;
  st.global.v2.u32 [%rd1], {%r1, %r2}; ret; }
.visible .entry five(.param .u64 out) {
  .reg .b32 %r<3>; .reg .b64 %rd<2>;
  .shared .align 1 .b8 x[5];
  st.shared.u8 [x], 0;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %total_smem_size; mov.u32 %r2, %aggr_smem_size;
  st.global.v2.u32 [%rd1], {%r1, %r2}; ret; }
)";
  const auto module = gpu->load_module(text, "sizes");
  ASSERT_TRUE(module) << to_string(module.error());
  const uint64_t out = *gpu->allocate(8, "out");
  const auto sizes = [&](const char* kernel, uint32_t dynamic) {
    LaunchRequest request{.module = *module, .kernel = kernel};
    request.dynamic_shared_bytes = dynamic;
    const auto* bytes = reinterpret_cast<const uint8_t*>(&out);
    request.parameters.assign(bytes, bytes + 8);
    EXPECT_EQ(gpu->launch(request).status, LaunchStatus::completed);
    return read_all<uint32_t>(*gpu, out, 2);
  };
  using Sizes = std::vector<uint32_t>;
  EXPECT_EQ(sizes("plain", 0), (Sizes{0, 1024}));
  EXPECT_EQ(sizes("plain", 1), (Sizes{128, 1025}));
  EXPECT_EQ(sizes("plain", 129), (Sizes{256, 1153}));
  EXPECT_EQ(sizes("plain", 200000), (Sizes{200064, 201024}));
  EXPECT_EQ(sizes("five", 0), (Sizes{128, 1040}));
  EXPECT_EQ(sizes("five", 3), (Sizes{128, 1043}));
}

TEST(Printf, FormatsLikeC) {
  std::vector<uint8_t> arguments(40);
  const int32_t width = 5, small = -3;
  const double pi = 3.25;
  const int64_t large = -5'000'000'000;
  memcpy(arguments.data(), &width, 4);
  memcpy(arguments.data() + 4, &small, 4);
  memcpy(arguments.data() + 8, &pi, 8);
  memcpy(arguments.data() + 16, &large, 8);
  arguments[24] = 1;  // the address of a string
  const auto text = [](uint64_t) { return std::string("x"); };
  EXPECT_EQ(format_device("%*d|%8.3e|%lld|%5s|%%|%q", arguments, text),
            "   -3|3.250e+00|-5000000000|    x|%|%q");
  EXPECT_EQ(format_device("%", arguments, text), "%");
  EXPECT_EQ(format_device("%99999999d", arguments, text).size(), 4096u);
}

TEST(Printf, WhatCudaHasNoDirectiveForStandsAndTakesNoArgument) {
  const int32_t arguments[] = {6, -3, 7, 8};
  const auto print = [&](std::string_view format) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(arguments);
    return format_device(format, {bytes, sizeof arguments}, [](uint64_t) { return std::string(); });
  };
  EXPECT_EQ(print("[%*d] [%-*d]"), "[    -3] [8      ]");
  EXPECT_EQ(print("[%*.2d] %d"), "[   -03] 7");
  for (const std::string form : {"%.*f", "%.*d", "%*.*f", "%9.*d", "%.*s", "%5*d", "%*5d", "%zu",
                                 "%td", "%jd", "%Lf", "%qd", "%.-3d"})
    EXPECT_EQ(print("a " + form + " %d %d"), "a " + form + " 6 -3");
}

TEST(Flow, KeepsLoopsContiguousAndExitsBehindThem) {
  const auto module = ptx::parse(R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u32 n) {
  .reg .pred %p<4>; .reg .b32 %r<4>;
  ld.param.u32 %r1, [n]; mov.u32 %r2, 0;
$Outer: setp.ge.u32 %p1, %r2, %r1; @%p1 bra $Exit;
  mov.u32 %r3, 0;
$Inner: add.u32 %r3, %r3, 1; setp.eq.u32 %p2, %r3, 7; @%p2 bra $Exit;
  setp.lt.u32 %p3, %r3, %r2; @%p3 bra $Inner;
  add.u32 %r2, %r2, 1; bra $Outer;
$Exit: ret; }
)");
  ASSERT_TRUE(module) << to_string(module.error());
  const Flow flow = build_flow(module->functions[0]);
  ASSERT_EQ(flow.blocks.size(), 7u);
  EXPECT_EQ(flow.blocks.back().end, module->functions[0].body.size()) << "ret is laid out last";
  for (size_t b = 0; b + 1 < flow.blocks.size(); ++b)
    EXPECT_LT(flow.blocks[b].first, flow.blocks[b + 1].first);
}

}  // namespace
}  // namespace fiel::vgpu::test
