// Plans run on the virtual GPU from PTX text: no compiler, no host code.
#include <gtest/gtest.h>

#include <fstream>

#include "base/files.h"
#include "kernel/kernel.h"

namespace fiel::kernel {
namespace {

const char* kPtx = R"ptx(.version 8.0
.target sm_90
.address_size 64
.visible .entry scale(.param .u64 x, .param .u64 y, .param .u32 n, .param .f32 f)
{
  .reg .pred %p<2>;
  .reg .b32 %r<6>;
  .reg .f32 %f<4>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [x];
  ld.param.u64 %rd2, [y];
  ld.param.u32 %r1, [n];
  ld.param.f32 %f1, [f];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  setp.ge.s32 %p1, %r5, %r1;
  @%p1 bra DONE;
  cvta.to.global.u64 %rd3, %rd1;
  cvta.to.global.u64 %rd4, %rd2;
  mul.wide.s32 %rd5, %r5, 4;
  add.s64 %rd6, %rd3, %rd5;
  ld.global.f32 %f2, [%rd6];
  mul.f32 %f3, %f2, %f1;
  add.s64 %rd7, %rd4, %rd5;
  st.global.f32 [%rd7], %f3;
DONE:
  ret;
}
)ptx";
const char* kPlan = R"toml(source = "k.ptx"
[symbols]
N = "in0.numel"
[scratch]
half = "4 * N"
[[launch]]
kernel = "scale"
grid = ["ceil_div(N, 32)"]
block = [32]
args = ["in0", "half", "i32:N", "f32:0.5"]
[[launch]]
kernel = "scale"
grid = ["ceil_div(N, 32)"]
block = [32]
args = ["half", "out0", "i32:N", "f32:6"]
)toml";

struct PlanSessionTest : ::testing::Test {
  TempDir folder = *TempDir::create("fiel-test-plan");
  std::unique_ptr<worker::BareSession> start(const std::string& ptx, const std::string& plan) {
    std::ofstream(folder.path() / "k.ptx") << ptx;
    std::ofstream(folder.path() / "k.plan.toml") << plan;
    auto kernel = load_kernel(folder.path() / "k.plan.toml");
    EXPECT_TRUE(kernel) << (kernel ? "" : to_string(kernel.error()));
    auto built = compile(*kernel, {});
    EXPECT_TRUE(built);
    worker::BareSessionOptions options;
    options.device.memory_bytes = 64u << 20;
    options.device.threads = 1;
    auto s = start_session(*kernel, *built, options);
    EXPECT_TRUE(s) << (s ? "" : to_string(s.error()));
    return std::move(*s);
  }
  static worker::CallRequest place(worker::BareSession& s, const std::vector<float>& x) {
    worker::CallRequest q;
    auto n = static_cast<int64_t>(x.size());
    q.inputs = {{*s.allocate(x.size() * 4, "x"), DType::f32, {n}, {1}}};
    q.outputs = {{*s.allocate(x.size() * 4, "y"), DType::f32, {n}, {1}}};
    EXPECT_TRUE(s.write(q.inputs[0].address, std::as_bytes(std::span(x))));
    return q;
  }
};

TEST_F(PlanSessionTest, LaunchesFollowEachOtherThroughScratchMemory) {
  auto s = start(kPtx, kPlan);
  std::vector<float> x(100), y(100);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  auto q = place(*s, x);
  worker::CallOutcome o = s->call(q);
  EXPECT_EQ(o.status, worker::CallStatus::returned) << o.message;
  EXPECT_EQ(o.return_code, 0) << o.message;
  ASSERT_TRUE(s->read(q.outputs[0].address, std::as_writable_bytes(std::span(y))));
  for (size_t i = 0; i < x.size(); ++i) EXPECT_EQ(y[i], 3 * x[i]);
  EXPECT_EQ(o.launches.size(), 2u);
  EXPECT_EQ(s->kernels().size(), 1u);
}

TEST_F(PlanSessionTest, APlanThatDoesNotFitItsKernelIsARuntimeError) {
  std::string plan = kPlan;
  plan.replace(plan.find("\"f32:0.5\""), 9, "\"f64:0.5\"");
  auto s = start(kPtx, plan);
  worker::CallOutcome o = s->call(place(*s, {1, 2}));
  EXPECT_NE(o.return_code, 0);
  EXPECT_NE(o.message.find("argument 4"), std::string::npos) << o.message;
}

TEST_F(PlanSessionTest, PtxThatTheDeviceRefusesIsUnsupported) {
  std::string ptx = kPtx;
  ptx.replace(ptx.find("mul.f32"), 7, "zap.f32");
  auto s = start(ptx, kPlan);
  worker::CallOutcome o = s->call(place(*s, {1, 2}));
  EXPECT_EQ(o.status, worker::CallStatus::unsupported);
  EXPECT_NE(o.message.find("zap"), std::string::npos) << o.message;
}

TEST_F(PlanSessionTest, AFaultIsADeviceFault) {
  std::string plan = kPlan;
  plan.replace(plan.find("half = \"4 * N\""), 14, "half = \"4\"");
  auto s = start(kPtx, plan);
  worker::CallOutcome o = s->call(place(*s, std::vector<float>(64, 1.f)));
  EXPECT_EQ(o.status, worker::CallStatus::device_fault) << o.message;
  ASSERT_FALSE(o.launches.empty());
  EXPECT_FALSE(o.launches.back().report.findings.empty());
}

}  // namespace
}  // namespace fiel::kernel
