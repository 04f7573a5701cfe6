// The stand-in CUDA runtime from the side of ordinary host code. kernels/runtime.cu checks itself
// and returns the line that was wrong; here are the outcomes.
#include <algorithm>

#include "base/process.h"
#include "kernel_fixture.h"
#include "places.h"

namespace fiel::worker {
namespace {

class RuntimeTest : public KernelTest {
 protected:
  struct Ran {
    std::unique_ptr<BareSession> session;
    Vectors v;
    CallOutcome o;
  };
  static Ran run(size_t n) {
    Ran r;
    auto built = build::compile_kernel(in_source("tests/worker/kernels/runtime.cu"), {});
    EXPECT_TRUE(built) << (built ? "" : to_string(built.error()));
    if (!built) return r;
    auto s = BareSession::start(options_for(*built));
    EXPECT_TRUE(s) << (s ? "" : to_string(s.error()));
    if (!s) return r;
    r.session = std::move(*s);
    std::vector<float> x(n);
    for (size_t i = 0; i < n; ++i) x[i] = static_cast<float>(i);
    r.v = place(*r.session, x);
    EXPECT_TRUE(r.session->mark_output(r.v.y.address));
    r.o = r.session->call(request(r.v));
    return r;
  }
  /// It ran as it should, and y = factor x + offset.
  static Ran expect(size_t n, float factor = 0, float offset = 0) {
    Ran r = run(n);
    EXPECT_EQ(r.o.status, CallStatus::returned) << r.o.message << r.o.output;
    EXPECT_EQ(r.o.return_code, 0) << r.o.output;
    EXPECT_EQ(r.o.runtime_error, "") << r.o.message;
    if (factor == 0) return r;
    std::vector<float> wanted(n);
    for (size_t i = 0; i < n; ++i) wanted[i] = factor * static_cast<float>(i) + offset;
    EXPECT_EQ(values(*r.session, r.v.y), wanted);
    return r;
  }
  static size_t findings(const CallOutcome& o, vgpu::FindingKind kind) {
    size_t n = 0;
    for (const LaunchRecord& l : o.launches)
      for (const vgpu::Finding& f : l.report.findings) n += f.kind == kind;
    return n;
  }
};

TEST_F(RuntimeTest, ASideStreamThatIsJoinedIsDone) {
  EXPECT_EQ(expect(8, 2, 2).o.unjoined_work, 0u);
}
TEST_F(RuntimeTest, ASideStreamThatIsForgottenIsNotDone) {
  Ran r = run(9);
  EXPECT_EQ(r.o.status, CallStatus::returned);
  EXPECT_EQ(r.o.unjoined_work, 1u);
  EXPECT_TRUE(r.o.launches.empty());
  auto coverage = r.session->coverage(r.v.y.address);
  ASSERT_TRUE(coverage);
  EXPECT_EQ(coverage->written, 0u);
}
TEST_F(RuntimeTest, TheLegacyStreamAndTheCallsStreamWaitForEachOther) { expect(10, 2, 1); }
TEST_F(RuntimeTest, PollingLoopsEndAndNoTimeIsInvented) {
  EXPECT_TRUE(expect(11, 2, 1).o.asked_for_time);
}
TEST_F(RuntimeTest, ACapturedGraphReplaysOnFreshInputs) {
  Ran r = expect(12, 2, 2);
  std::vector<float> x(12, 4.f);
  ASSERT_TRUE(r.session->write(r.v.x.address, std::as_bytes(std::span(x))));
  CallOutcome o = r.session->call(request(r.v));
  EXPECT_EQ(o.return_code, 0) << o.output;
  EXPECT_EQ(values(*r.session, r.v.y), std::vector<float>(12, 10.f));
  EXPECT_EQ(o.launches.size(), 2u);
}
TEST_F(RuntimeTest, AGraphOfExplicitNodesRuns) { expect(13, 2, 1); }
TEST_F(RuntimeTest, TooManyGraphsAreAnErrorAndNoBreachOfTheProtocol) { expect(29); }
TEST_F(RuntimeTest, SymbolsAreCopiedBothWays) { expect(14); }
TEST_F(RuntimeTest, DynamicSharedMemoryFollowsTheOptInRules) { expect(32, 1, 0); }
TEST_F(RuntimeTest, ARefusedLaunchLeavesTheOutputAlone) {
  Ran r = run(16);
  EXPECT_EQ(r.o.runtime_error, "cudaErrorInvalidConfiguration");
  EXPECT_NE(r.o.message.find("twice"), std::string::npos) << r.o.message;
  EXPECT_EQ(r.o.message.find("shared"), std::string::npos) << r.o.message;
  EXPECT_EQ(r.session->coverage(r.v.y.address)->written, 0u);
}
TEST_F(RuntimeTest, ACooperativeGridThatDoesNotFitIsRefused) { expect(17); }
TEST_F(RuntimeTest, ALaunchInClustersIsBeyondTheDeviceAndNoFaultOfTheKernel) {
  Ran r = run(30);
  EXPECT_EQ(r.o.status, CallStatus::unsupported) << r.o.message << r.o.output;
  EXPECT_EQ(r.o.beyond_device, "a launch in clusters of 2x1x1 blocks");
  EXPECT_EQ(r.o.return_code, 0) << r.o.output;
  EXPECT_TRUE(r.o.launches.empty());
}
TEST_F(RuntimeTest, AKernelThatDoesWithoutClustersIsTakenByWhatItDid) {
  Ran r = expect(31, 2, 1);
  EXPECT_EQ(r.o.launches.size(), 1u);
}
TEST_F(RuntimeTest, PinnedMemoryIsCopiedWhenItsTurnComes) { expect(18); }
TEST_F(RuntimeTest, ManagedMemoryWrittenByTheHostIsInitialised) {
  Ran r = expect(19, 2, 1);
  EXPECT_EQ(findings(r.o, vgpu::FindingKind::uninitialized_global), 0u);
}
TEST_F(RuntimeTest, ManagedMemoryHalfWrittenIsFoundOut) {
  Ran r = run(20);
  EXPECT_EQ(r.o.return_code, 0) << r.o.output;
  EXPECT_EQ(findings(r.o, vgpu::FindingKind::uninitialized_global), 1u);
  for (const LaunchRecord& l : r.o.launches)
    for (const vgpu::Finding& f : l.report.findings) {
      EXPECT_EQ(f.count, 10u);
      EXPECT_EQ(f.thread.x, 10u);
      EXPECT_NE(f.detail.find("byte 40 of "), std::string::npos) << f.detail;
    }
}
TEST_F(RuntimeTest, PinnedMappedMemoryWrittenByTheHostIsInitialised) {
  Ran r = expect(27, 2, 1);
  EXPECT_EQ(findings(r.o, vgpu::FindingKind::uninitialized_global), 0u);
}
TEST_F(RuntimeTest, PinnedMappedMemoryHalfWrittenIsFoundOut) {
  Ran r = run(28);
  EXPECT_EQ(r.o.return_code, 0) << r.o.output;
  EXPECT_EQ(findings(r.o, vgpu::FindingKind::uninitialized_global), 1u);
  for (const LaunchRecord& l : r.o.launches)
    for (const vgpu::Finding& f : l.report.findings) {
      EXPECT_EQ(f.count, 14u);
      EXPECT_EQ(f.thread.x, 14u);
      EXPECT_NE(f.detail.find("byte 56 of "), std::string::npos) << f.detail;
    }
}
TEST_F(RuntimeTest, AManagedVariableIsSharedAroundLaunches) {
  Ran r = expect(21);
  EXPECT_EQ(values(*r.session, r.v.y)[3], 5.f);
}
TEST_F(RuntimeTest, PitchedAndLargeCopiesArriveWhole) { expect(22); }
TEST_F(RuntimeTest, HostFunctionsRunInOrder) { expect(23, 2, 1); }
TEST_F(RuntimeTest, TheDeviceDescribesItselfAsAnH200) { expect(24); }
TEST_F(RuntimeTest, AFaultSticks) {
  Ran r = run(25);
  EXPECT_EQ(r.o.status, CallStatus::device_fault) << r.o.message;
  EXPECT_EQ(r.o.runtime_error, "cudaErrorIllegalAddress");
  EXPECT_EQ(r.o.return_code, 0) << r.o.output;
  EXPECT_GE(findings(r.o, vgpu::FindingKind::out_of_bounds), 1u);
  EXPECT_FALSE(r.session->alive());
}
TEST_F(RuntimeTest, StructuresHaveTheToolkitsLayout) {
  auto cuda = build::find_toolchain();
  ASSERT_TRUE(cuda);
  auto folder = TempDir::create("fiel-test-abi");
  ProcessRequest q;
  const std::string source = in_source("");
  q.arguments = {cuda->nvcc.string(),
                 "-std=c++20",
                 "-arch=compute_90",
                 "-cuda",
                 "-I" + source + "src",
                 source + "tests/worker/abi.cu",
                 "-o",
                 (folder->path() / "abi.ii").string()};
  q.timeout_ms = 120'000;
  auto r = run_process(q);
  ASSERT_TRUE(r);
  EXPECT_TRUE(r->ok()) << r->out << r->err;
}
TEST_F(RuntimeTest, ExtensibleLaunchesAreLaunches) { expect(26, 2, 1); }
TEST_F(RuntimeTest, AnUnsupportedShapeIsSaidSo) {
  Ran r = run(3);
  EXPECT_EQ(r.o.status, CallStatus::unsupported);
  EXPECT_TRUE(r.session->alive());
}

}  // namespace
}  // namespace fiel::worker
