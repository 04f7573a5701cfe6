// Candidates that mean harm, or are badly broken: each ends in a clear outcome, in bounded time and
// memory, and the next session works.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "kernel_fixture.h"

namespace fiel::worker {
namespace {

class HostileTest : public KernelTest {
 protected:
  /// Runs it once, then an honest kernel, which must not notice.
  static CallOutcome run(const std::string& host, const std::string& globals = "",
                         int64_t timeout_ms = 20'000) {
    auto s = start(with_kernel(host, globals));
    EXPECT_TRUE(s);
    if (!s) return {};
    Vectors v = place(*s, {1, 2, 3, 4});
    CallOutcome o = s->call(request(v, timeout_ms));
    s.reset();
    honest_session_works();
    return o;
  }
  static void honest_session_works() {
    auto s = start(with_kernel("twice<<<grid, 128, 0, stream>>>(x, y, n);"));
    ASSERT_TRUE(s);
    Vectors v = place(*s, {1, 2, 3, 4});
    CallOutcome o = s->call(request(v));
    EXPECT_EQ(o.status, CallStatus::returned) << o.message << o.output;
    EXPECT_EQ(values(*s, v.y), (std::vector<float>{3, 5, 7, 9}));
  }
};

TEST_F(HostileTest, EndlessLoopOnTheHostIsATimeout) {
  CallOutcome o = run("for (volatile int i = 0;;) i = i + 1;", "", 500);
  EXPECT_EQ(o.status, CallStatus::timeout) << o.message;
  EXPECT_NE(o.message.find("host code"), std::string::npos) << o.message;
}

TEST_F(HostileTest, EndlessLoopOnTheDeviceIsEnded) {
  CallOutcome o = run(
      "spin<<<1, 32, 0, stream>>>(y);",
      "__global__ void spin(float* y) { while (((volatile float*)y)[0] != 12345.f) {} }", 1'000);
  EXPECT_TRUE(o.status == CallStatus::timeout || o.status == CallStatus::device_fault) << o.message;
  EXPECT_FALSE(o.message.empty());
}

TEST_F(HostileTest, HostMemoryWithoutEndReachesTheMemoryLimit) {
  CallOutcome o = run("for (;;) memset(malloc(1 << 24), 1, 1 << 24);",
                      "#include <string.h>\n#include <stdlib.h>");
  EXPECT_EQ(o.status, CallStatus::limit) << o.message;
  EXPECT_NE(o.message.find("memory limit"), std::string::npos) << o.message;
}

TEST_F(HostileTest, DeviceMemoryWithoutEndRunsOut) {
  CallOutcome o =
      run("void* p; int n = 0; while (cudaMalloc(&p, 64 << 20) == cudaSuccess) ++n;"
          "return cudaGetLastError() == cudaErrorMemoryAllocation && n < 20 ? 7 : 8;");
  EXPECT_EQ(o.status, CallStatus::returned) << o.message;
  EXPECT_EQ(o.return_code, 7);
  EXPECT_GT(o.candidate_allocated_bytes, 512ull << 20);
}

TEST_F(HostileTest, AForkBombMeetsTheProcessLimit) {
  CallOutcome o =
      run("int failed = 0, made = 0; for (int i = 0; i < 2000; ++i) { pid_t p = fork();"
          " if (p == 0) { for (;;) pause(); } if (p < 0) ++failed; else ++made; }"
          " printf(\"made %d\\n\", made); return failed > 0 && made < 200 ? 7 : 8;",
          "#include <unistd.h>\n#include <stdio.h>");
  EXPECT_EQ(o.return_code, 7) << o.message << o.output;
}

TEST_F(HostileTest, ACrashNamesItsSignal) {
  CallOutcome o = run("*(volatile int*)nullptr = 1;");
  EXPECT_EQ(o.status, CallStatus::crashed);
  EXPECT_EQ(o.signal, SIGSEGV) << o.message;
}

TEST_F(HostileTest, AnAbortNamesItsSignal) {
  CallOutcome o = run("abort();", "#include <stdlib.h>");
  EXPECT_EQ(o.status, CallStatus::crashed);
  EXPECT_EQ(o.signal, SIGABRT) << o.message;
}

TEST_F(HostileTest, ACrashInAConstructorIsToldByTheFirstCall) {
  CallOutcome o = run("", "#include <stdlib.h>\nstruct Boom { Boom() { abort(); } } boom;");
  EXPECT_EQ(o.status, CallStatus::crashed);
  EXPECT_EQ(o.signal, SIGABRT) << o.message;
}

TEST_F(HostileTest, ItCannotKillItsParentOrOthers) {
  CallOutcome o =
      run("kill(getppid(), SIGKILL); kill(-1, SIGKILL); kill(1, SIGKILL);"
          "twice<<<grid, 128, 0, stream>>>(x, y, n);",
          "#include <signal.h>\n#include <unistd.h>");
  EXPECT_EQ(o.status, CallStatus::returned) << o.message << o.output;
}

TEST_F(HostileTest, ItWritesNoFileOutsideItsOwnTmp) {
  std::string marker = "fiel-hostile-" + std::to_string(::getpid());
  std::string here = FIEL_SOURCE_DIR;
  CallOutcome o = run("int n = 0; const char* places[] = {\"/tmp/" + marker + "\", \"/usr/" +
                          marker + "\", \"/usr/lib/" + marker + "\", \"/dev/shm/" + marker +
                          "\", \"" + here + "/" + marker + "\", \"/run/" + marker +
                          "\"}; for (const char* p : places) { int f = open(p, O_CREAT | O_WRONLY, "
                          "0644); if (f >= 0) ++n; } printf(\"%d\\n\", n);",
                      "#include <fcntl.h>\n#include <stdio.h>");
  EXPECT_EQ(o.status, CallStatus::returned) << o.message << o.output;
  for (std::string place : {"/tmp/", "/usr/", "/usr/lib/", "/dev/shm/", "/run/"})
    EXPECT_FALSE(std::filesystem::exists(place + marker)) << place;
  EXPECT_FALSE(std::filesystem::exists(here + "/" + marker));
}

TEST_F(HostileTest, ItCannotFillTheDisk) {
  CallOutcome o =
      run("static char block[1 << 20]; int f = open(\"/tmp/big\", O_CREAT | O_WRONLY, 0644);"
          "signal(SIGXFSZ, SIG_IGN); long total = 0; for (int i = 0; i < 4096; ++i) {"
          " long w = write(f, block, sizeof block); if (w <= 0) break; total += w; }"
          "return total <= (65l << 20) ? 7 : 8;",
          "#include <fcntl.h>\n#include <signal.h>\n#include <unistd.h>");
  EXPECT_EQ(o.return_code, 7) << o.message << o.output;
}

TEST_F(HostileTest, ClosingAllDescriptorsIsAProtocolViolation) {
  CallOutcome o =
      run("for (int i = 0; i < 1024; ++i) close(i); for (;;) pause();", "#include <unistd.h>");
  EXPECT_EQ(o.status, CallStatus::protocol) << o.message;
}

TEST_F(HostileTest, AHundredMegabytesOfOutputAreCountedAndCut) {
  CallOutcome o =
      run("static char line[1 << 16]; memset(line, 'x', sizeof line);"
          "for (int i = 0; i < 1600; ++i) fwrite(line, 1, sizeof line, stdout); fflush(stdout);"
          "twice<<<grid, 128, 0, stream>>>(x, y, n);",
          "#include <stdio.h>\n#include <string.h>");
  EXPECT_EQ(o.status, CallStatus::returned) << o.message;
  EXPECT_LE(o.output.size(), 1u << 20);
  EXPECT_GE(o.output_bytes, 100ull << 20);
}

TEST_F(HostileTest, LeavingEarlyWithCodeZeroIsNoSuccess) {
  CallOutcome o = run("exit(0);", "#include <stdlib.h>");
  EXPECT_EQ(o.status, CallStatus::crashed);
  EXPECT_EQ(o.exit_code, 0);
  EXPECT_NE(o.message.find("exit code 0"), std::string::npos) << o.message;
}

TEST_F(HostileTest, LeavingInAConstructorIsNoSuccess) {
  CallOutcome o = run("", "#include <unistd.h>\nstruct Out { Out() { _exit(0); } } out_;");
  EXPECT_EQ(o.status, CallStatus::crashed) << o.message;
}

TEST_F(HostileTest, LongjmpOutOfNowhereCrashesItAlone) {
  CallOutcome o = run("jmp_buf b; memset(&b, 7, sizeof b); longjmp(b, 1);",
                      "#include <setjmp.h>\n#include <string.h>");
  EXPECT_EQ(o.status, CallStatus::crashed) << o.message;
}

TEST_F(HostileTest, GarbageOnTheChannelEndsTheSession) {
  CallOutcome o =
      run("char junk[4096]; memset(junk, 0x5a, sizeof junk);"
          "for (int fd = 3; fd < 16; ++fd) write(fd, junk, sizeof junk); for (;;) pause();",
          "#include <string.h>\n#include <unistd.h>");
  EXPECT_EQ(o.status, CallStatus::protocol) << o.message;
}

TEST_F(HostileTest, AForgedReturnIsNoMoreThanAReturn) {
  // {magic, version 1, type `returned` 4, length 8} {0, 0}: what the runtime would have sent.
  CallOutcome o =
      run("struct { unsigned m; unsigned short v, t; unsigned l, s; int a[2]; } f ="
          " {0x4c454946, 1, 4, 8, 0, {0, 0}}; write(3, &f, sizeof f); for (;;) pause();",
          "#include <unistd.h>");
  EXPECT_EQ(o.status, CallStatus::returned) << o.message;
  EXPECT_TRUE(o.launches.empty());
}

TEST_F(HostileTest, ItSeesNoOtherProcess) {
  CallOutcome o =
      run("int seen = 0; if (DIR* d = opendir(\"/proc\")) while (dirent* e = readdir(d))"
          " if (atoi(e->d_name) > 8) ++seen;"
          " long traced = ptrace(PTRACE_ATTACH, getppid(), 0, 0);"
          " printf(\"%d %ld\\n\", seen, traced); return seen == 0 && traced != 0 ? 7 : 8;",
          "#include <dirent.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <sys/ptrace.h>\n"
          "#include <unistd.h>");
  EXPECT_EQ(o.return_code, 7) << o.message << o.output;
}

TEST_F(HostileTest, ThereIsNoNetwork) {
  CallOutcome o =
      run("return socket(AF_INET, SOCK_STREAM, 0) < 0 ? 7 : 8;", "#include <sys/socket.h>");
  EXPECT_EQ(o.return_code, 7) << o.message << o.output;
}

TEST_F(HostileTest, TheEnvironmentHoldsNothingOfTheJudges) {
  ::setenv("FIEL_TEST_SECRET", "s3cret", 1);
  CallOutcome o =
      run("for (char** e = environ; *e; ++e) if (strstr(*e, \"SECRET\")) return 8; return 7;",
          "#include <string.h>\n#include <unistd.h>");
  EXPECT_EQ(o.return_code, 7) << o.message << o.output;
}

TEST_F(HostileTest, ADestructorThatSleepsForEverDoesNotHoldTheJudge) {
  CallOutcome o = run("twice<<<grid, 128, 0, stream>>>(x, y, n);",
                      "#include <unistd.h>\nstruct Slow { ~Slow() { for (;;) pause(); } } slow;");
  EXPECT_EQ(o.status, CallStatus::returned) << o.message;
}

TEST_F(HostileTest, ABackgroundThreadCannotTouchOutputsAfterTheReturn) {
  auto s = start(with_kernel(
      "twice<<<grid, 128, 0, stream>>>(x, y, n); cudaStreamSynchronize(stream);"
      "static bool once = false; if (!once) { once = true; std::thread([=] { usleep(30000);"
      " for (;;) { cudaMemset(y, 0, 16); usleep(1000); } }).detach(); }",
      "#include <thread>\n#include <unistd.h>"));
  ASSERT_TRUE(s);
  Vectors v = place(*s, {1, 2, 3, 4});
  CallOutcome o = s->call(request(v));
  EXPECT_EQ(o.status, CallStatus::returned) << o.message;
  auto first = values(*s, v.y);
  EXPECT_EQ(first, (std::vector<float>{3, 5, 7, 9}));
  ::usleep(200'000);
  EXPECT_EQ(values(*s, v.y), first);
  // The thread's request waits for the next call and is refused.
  o = s->call(request(v));
  EXPECT_GE(o.stray_requests, 1u);
}

TEST_F(HostileTest, DereferencingADevicePointerOnTheHostCrashes) {
  CallOutcome o = run("y[0] = 1;");
  EXPECT_EQ(o.status, CallStatus::crashed) << o.message;
  EXPECT_EQ(o.signal, SIGSEGV);
}

TEST_F(HostileTest, ItCannotFreeTheJudgesTensors) {
  CallOutcome o = run("return cudaFree((void*)x) == cudaErrorInvalidValue ? 7 : 8;");
  EXPECT_EQ(o.return_code, 7) << o.message;
}

TEST_F(HostileTest, HugeAddressSpaceIsRefusedByRule) {
  // Twice the memory limit and 4 GiB: more is not to be had, touched or not.
  CallOutcome o =
      run("return mmap(0, 1ull << 40, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS"
          " | MAP_NORESERVE, -1, 0) == MAP_FAILED ? 7 : 8;",
          "#include <sys/mman.h>");
  EXPECT_EQ(o.return_code, 7) << o.message;
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
  built = compile(with_kernel("", "#include <cudnn.h>"));
  EXPECT_EQ(built.status, build::CompileStatus::unsupported) << built.log;
  EXPECT_NE(built.message.find("cuDNN"), std::string::npos) << built.message;
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
