// Candidates that mean harm, or are badly broken: each ends in a clear outcome, in bounded time and
// memory, and the next session works.
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "kernel_fixture.h"
#include "places.h"

namespace fiel::worker {
namespace {

constexpr int kYes = 7;  ///< what a case of kernels/hostile.cu returns when it was contained
/// The cases of kernels/hostile.cu, chosen by the length of the input.
enum Case : size_t {
  kEndlessHost = 1,
  kEndlessDevice,
  kMemory,
  kDeviceMemory,
  kForkBomb,
  kSegmentation,
  kAbort,
  kKillOthers,
  kWriteFiles,
  kFillDisk,
  kCloseAll,
  kPrintMuch,
  kExitZero,
  kLongjmp,
  kGarbage,
  kForgedReturn,
  kLookAround,
  kNetwork,
  kEnvironment,
  kSleepingDestructor,
  kBackground,
  kDevicePointer,
  kFreeInput,
  kHugeMap,
  kHonest,
};

class HostileTest : public KernelTest {
 protected:
  static std::unique_ptr<BareSession> start_hostile() {
    auto built = build::compile_kernel(in_source("tests/worker/kernels/hostile.cu"), {});
    EXPECT_TRUE(built) << (built ? "" : to_string(built.error()));
    if (!built) return nullptr;
    auto s = BareSession::start(options_for(*built));
    EXPECT_TRUE(s) << (s ? "" : to_string(s.error()));
    return s ? std::move(*s) : nullptr;
  }
  static Vectors place_case(BareSession& s, size_t which) {
    std::vector<float> x(which);
    for (size_t i = 0; i < which; ++i) x[i] = static_cast<float>(i);
    return place(s, x);
  }
  /// Runs a case once, then an honest one in a new session, which must not notice.
  static CallOutcome run(Case which, int64_t timeout_ms = 20'000) {
    auto s = start_hostile();
    if (!s) return {};
    CallOutcome o = s->call(request(place_case(*s, which), timeout_ms));
    s.reset();
    auto next = start_hostile();
    if (!next) return o;
    Vectors v = place_case(*next, kHonest);
    CallOutcome honest = next->call(request(v));
    EXPECT_EQ(honest.status, CallStatus::returned) << honest.message << honest.output;
    EXPECT_EQ(values(*next, v.y)[3], 7.f);
    return o;
  }
  static void expect_contained(Case which) {
    CallOutcome o = run(which);
    EXPECT_EQ(o.status, CallStatus::returned) << o.message << o.output;
    EXPECT_EQ(o.return_code, kYes) << o.output;
  }
};

TEST_F(HostileTest, EndlessLoopOnTheHostIsATimeout) {
  CallOutcome o = run(kEndlessHost, 500);
  EXPECT_EQ(o.status, CallStatus::timeout) << o.message;
  EXPECT_NE(o.message.find("host code"), std::string::npos) << o.message;
}
TEST_F(HostileTest, EndlessLoopOnTheDeviceIsEnded) {
  CallOutcome o = run(kEndlessDevice, 1'000);
  EXPECT_TRUE(o.status == CallStatus::timeout || o.status == CallStatus::device_fault) << o.message;
  EXPECT_FALSE(o.message.empty());
}
TEST_F(HostileTest, HostMemoryWithoutEndReachesTheMemoryLimit) {
  CallOutcome o = run(kMemory);
  EXPECT_EQ(o.status, CallStatus::limit) << o.message;
  EXPECT_NE(o.message.find("memory limit"), std::string::npos) << o.message;
}
TEST_F(HostileTest, DeviceMemoryWithoutEndRunsOut) {
  CallOutcome o = run(kDeviceMemory);
  EXPECT_EQ(o.return_code, kYes) << o.message;
  EXPECT_GT(o.candidate_allocated_bytes, 512ull << 20);
}
TEST_F(HostileTest, AForkBombMeetsTheProcessLimit) { expect_contained(kForkBomb); }
TEST_F(HostileTest, ACrashNamesItsSignal) {
  CallOutcome o = run(kSegmentation);
  EXPECT_EQ(o.status, CallStatus::crashed);
  EXPECT_EQ(o.signal, SIGSEGV) << o.message;
}
TEST_F(HostileTest, AnAbortNamesItsSignal) {
  CallOutcome o = run(kAbort);
  EXPECT_EQ(o.status, CallStatus::crashed);
  EXPECT_EQ(o.signal, SIGABRT) << o.message;
}
TEST_F(HostileTest, ItCannotKillItsParentOrOthers) { expect_contained(kKillOthers); }
TEST_F(HostileTest, ItWritesNoFileOutsideItsOwnTmp) {
  expect_contained(kWriteFiles);
  for (std::string place :
       {"/tmp/", "/usr/", "/usr/lib/", "/dev/shm/", "/run/", "/", "/etc/", "/home/"})
    EXPECT_FALSE(std::filesystem::exists(place + "fiel-hostile")) << place;
}
TEST_F(HostileTest, ItCannotFillTheDisk) { expect_contained(kFillDisk); }
TEST_F(HostileTest, ClosingAllDescriptorsIsAProtocolViolation) {
  CallOutcome o = run(kCloseAll);
  EXPECT_EQ(o.status, CallStatus::protocol) << o.message;
}
TEST_F(HostileTest, AHundredMegabytesOfOutputAreCountedAndCut) {
  CallOutcome o = run(kPrintMuch);
  EXPECT_EQ(o.return_code, kYes) << o.message;
  EXPECT_LE(o.output.size(), 1u << 20);
  EXPECT_GE(o.output_bytes, 100ull << 20);
}
TEST_F(HostileTest, LeavingEarlyWithCodeZeroIsNoSuccess) {
  CallOutcome o = run(kExitZero);
  EXPECT_EQ(o.status, CallStatus::crashed);
  EXPECT_EQ(o.exit_code, 0);
  EXPECT_NE(o.message.find("exit code 0"), std::string::npos) << o.message;
}
TEST_F(HostileTest, LongjmpOutOfNowhereCrashesItAlone) {
  EXPECT_EQ(run(kLongjmp).status, CallStatus::crashed);
}
TEST_F(HostileTest, GarbageOnTheChannelEndsTheSession) {
  CallOutcome o = run(kGarbage);
  EXPECT_EQ(o.status, CallStatus::protocol) << o.message;
}
TEST_F(HostileTest, AForgedReturnHasNotTheNumberOfTheCall) {
  CallOutcome o = run(kForgedReturn);
  EXPECT_EQ(o.status, CallStatus::protocol) << o.message;
  EXPECT_NE(o.message.find("no answer to this call"), std::string::npos) << o.message;
}
TEST_F(HostileTest, ItSeesNoOtherProcess) { expect_contained(kLookAround); }
TEST_F(HostileTest, ThereIsNoNetwork) { expect_contained(kNetwork); }
TEST_F(HostileTest, TheEnvironmentHoldsNothingOfTheJudges) {
  ::setenv("FIEL_TEST_SECRET", "s3cret", 1);
  expect_contained(kEnvironment);
}
TEST_F(HostileTest, ADestructorThatSleepsForEverDoesNotHoldTheJudge) {
  expect_contained(kSleepingDestructor);
}
TEST_F(HostileTest, ABackgroundThreadCannotTouchOutputsAfterTheReturn) {
  auto s = start_hostile();
  ASSERT_TRUE(s);
  Vectors v = place_case(*s, kBackground);
  CallOutcome o = s->call(request(v));
  EXPECT_EQ(o.return_code, kYes) << o.message;
  auto first = values(*s, v.y);
  EXPECT_EQ(first[1], 3.f);
  ::usleep(1'500'000);  // a second of its sleep, and it asks
  EXPECT_EQ(values(*s, v.y), first);
  // The thread's request waits for the next call and is refused.
  uint64_t stray = 0;
  for (int tries = 0; tries < 600 && stray == 0; ++tries) {
    if (tries > 0) ::usleep(100'000);  // it had no processor yet
    o = s->call(request(v));
    ASSERT_EQ(o.status, CallStatus::returned) << o.message;
    stray = o.stray_requests;
  }
  EXPECT_GE(stray, 1u);
}
TEST_F(HostileTest, DereferencingADevicePointerOnTheHostCrashes) {
  CallOutcome o = run(kDevicePointer);
  EXPECT_EQ(o.status, CallStatus::crashed) << o.message;
  EXPECT_EQ(o.signal, SIGSEGV);
}
TEST_F(HostileTest, ItCannotFreeTheJudgesTensors) { expect_contained(kFreeInput); }
TEST_F(HostileTest, HugeAddressSpaceIsRefusedByRule) { expect_contained(kHugeMap); }

TEST_F(HostileTest, ACrashInAConstructorIsToldByTheFirstCall) {
  auto s = start(with_kernel("", "#include <stdlib.h>\nstruct Boom { Boom() { abort(); } } boom;"));
  ASSERT_TRUE(s);
  EXPECT_FALSE(s->alive());
  CallOutcome o = s->call(request(place(*s, {1})));
  EXPECT_EQ(o.status, CallStatus::crashed);
  EXPECT_EQ(o.signal, SIGABRT) << o.message;
}
TEST_F(HostileTest, LeavingInAConstructorIsNoSuccess) {
  auto s = start(with_kernel("", "#include <unistd.h>\nstruct Out { Out() { _exit(0); } } out_;"));
  ASSERT_TRUE(s);
  CallOutcome o = s->call(request(place(*s, {1})));
  EXPECT_EQ(o.status, CallStatus::crashed) << o.message;
}

TEST_F(HostileTest, AMissingEntryIsACompileError) {
  auto built = compile("__global__ void k() {}\n");
  EXPECT_EQ(built.status, build::CompileStatus::compile_error);
  EXPECT_NE(built.message.find("fiel_run"), std::string::npos);
}
TEST_F(HostileTest, WhatDoesNotCompileIsACompileErrorWithTheFirstErrorFirst) {
  auto built = compile(with_kernel("int unused_a = 1; this is not C++;"));
  EXPECT_EQ(built.status, build::CompileStatus::compile_error);
  EXPECT_NE(built.log.substr(0, 200).find("error"), std::string::npos) << built.log;
}
TEST_F(HostileTest, AnUndefinedFunctionIsNamed) {
  auto built = compile(with_kernel("return nowhere_defined();", "int nowhere_defined();"));
  EXPECT_EQ(built.status, build::CompileStatus::compile_error);
  EXPECT_NE(built.message.find("nowhere_defined"), std::string::npos) << built.message;
}
TEST_F(HostileTest, LibrariesAreUnsupportedByName) {
  auto built = compile(with_kernel("return cublasCreate_v2((void**)0);",
                                   "extern \"C\" int cublasCreate_v2(void**);"));
  EXPECT_EQ(built.status, build::CompileStatus::unsupported) << built.log;
  EXPECT_NE(built.message.find("cuBLAS"), std::string::npos) << built.message;
}
TEST_F(HostileTest, ARuntimeFunctionThatIsNotProvidedIsNamedAtCompileTime) {
  auto built =
      compile(with_kernel("cudaArray_t a; cudaChannelFormatDesc d = {};"
                          "return cudaMallocArray(&a, &d, 4, 4);"));
  EXPECT_EQ(built.status, build::CompileStatus::unsupported) << built.log;
  EXPECT_NE(built.message.find("cudaMallocArray"), std::string::npos) << built.message;
}
TEST_F(HostileTest, TheCompilerReadsNoFileOfTheMachine) {
  auto built = compile(with_kernel("", "#include \"/etc/passwd\""));
  EXPECT_EQ(built.status, build::CompileStatus::compile_error);
  EXPECT_EQ(built.log.find("root:"), std::string::npos) << built.log;
}

}  // namespace
}  // namespace fiel::worker
