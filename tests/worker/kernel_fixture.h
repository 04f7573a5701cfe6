// Compiles a kernel given as text and runs it in a session: what most tests here need.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "base/files.h"
#include "build/compile.h"
#include "build/toolchain.h"
#include "worker/bare_session.h"

namespace fiel::worker {

/// Tests below need nvcc. Where there is none they are skipped, unless FIEL_REQUIRE_NVCC=1 says
/// that there has to be one (CI does).
class KernelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto cuda = build::find_toolchain();
    if (cuda) return;
    const char* required = std::getenv("FIEL_REQUIRE_NVCC");
    if (required && *required == '1') FAIL() << to_string(cuda.error());
    GTEST_SKIP() << to_string(cuda.error());
  }

  static build::CompileOutcome compile(const std::string& body) {
    auto folder = TempDir::create("fiel-test-kernel");
    EXPECT_TRUE(folder);
    auto path = folder->path() / "kernel.cu";
    std::ofstream(path) << "#include <fiel/kernel.h>\n" << body;
    auto built = build::compile_kernel(path, {});
    EXPECT_TRUE(built) << (built ? "" : to_string(built.error()));
    return built ? *built : build::CompileOutcome{};
  }

  static BareSessionOptions options_for(const build::CompileOutcome& built) {
    EXPECT_EQ(built.status, build::CompileStatus::compiled) << built.message << "\n" << built.log;
    BareSessionOptions o;
    o.shared_object = built.kernel.shared_object;
    o.isolation.limits.memory_bytes = 512ull << 20;
    o.device.memory_bytes = 1ull << 30;
    o.device.threads = 1;
    return o;
  }

  static std::unique_ptr<BareSession> start(const std::string& body) {
    auto session = BareSession::start(options_for(compile(body)));
    EXPECT_TRUE(session) << (session ? "" : to_string(session.error()));
    return session ? std::move(*session) : nullptr;
  }

  /// One float vector in, one out.
  struct Vectors {
    DeviceTensor x, y;
    int64_t n = 0;
  };
  static Vectors place(BareSession& s, const std::vector<float>& x) {
    Vectors v;
    v.n = static_cast<int64_t>(x.size());
    v.x = {*s.allocate(x.size() * 4, "x"), DType::f32, {v.n}, {1}};
    v.y = {*s.allocate(x.size() * 4, "y"), DType::f32, {v.n}, {1}};
    EXPECT_TRUE(s.write(v.x.address, std::as_bytes(std::span(x))));
    return v;
  }
  static std::vector<float> values(BareSession& s, const DeviceTensor& t) {
    std::vector<float> out(static_cast<size_t>(numel(t.shape)));
    EXPECT_TRUE(s.read(t.address, std::as_writable_bytes(std::span(out))));
    return out;
  }
  static CallRequest request(const Vectors& v, int64_t timeout_ms = 20'000) {
    CallRequest q;
    q.inputs = {v.x};
    q.outputs = {v.y};
    q.timeout_ms = timeout_ms;
    return q;
  }
};

/// y = 2 x + 1, launched by `host`, which sees x, y, n, grid and stream.
inline std::string with_kernel(const std::string& host, const std::string& globals = "") {
  return "__global__ void twice(const float* x, float* y, int n) {\n"
         "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
         "  if (i < n) y[i] = 2 * x[i] + 1;\n}\n" +
         globals +
         "\nFIEL_KERNEL int fiel_run(const fiel_tensor* in, int, fiel_tensor* out, int, "
         "cudaStream_t "
         "stream) {\n"
         "  const float* x = fiel_data(const float, in[0]);\n"
         "  float* y = fiel_data(float, out[0]);\n"
         "  int n = (int)fiel_numel(&in[0]), grid = (n + 127) / 128;\n"
         "  (void)x; (void)y; (void)n; (void)grid;\n" +
         host + "\n  return 0;\n}\n";
}

}  // namespace fiel::worker
