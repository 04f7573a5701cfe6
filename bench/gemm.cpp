// A bf16 GEMM on tensor cores on the virtual GPU (kernels/gemm_bf16.ptx), with all checks or some.
//
//   bench_gemm [size [threads]]          // 1024, a multiple of 128; all cores
//
// Prints for each set of checks the best of three launches, by the clock and by processor time
// (which other work on the machine disturbs less), and the floor: what the mma arithmetic alone
// takes.
#define FIEL_ISA avx2
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <sstream>
#include <vector>

#include "vgpu/device.h"
#include "vgpu/isa/mma.h"

namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Seconds of one m16n8k16 of bf16 on operands near 1.
double seconds_of_mma() {
  namespace isa = fiel::vgpu::avx2;
  using fiel::ptx::Type;
  fiel::vgpu::MmaForm form;
  form.a = form.b = Type::bf16;
  form.c = form.d = Type::f32;
  const fiel::vgpu::MmaFunction mma = isa::find_mma(form);
  std::vector<uint16_t> factors(6 * 64);
  for (size_t i = 0; i < factors.size(); ++i) factors[i] = static_cast<uint16_t>(0x3f80 + i % 97);
  std::vector<float> sums(8 * 32);
  fiel::vgpu::MmaFragments f = {};
  const auto* a = reinterpret_cast<const uint8_t*>(factors.data());
  auto* c = reinterpret_cast<uint8_t*>(sums.data());
  for (int i = 0; i < 4; ++i) {
    f.a[i] = a + 128 * i;
    f.c[i] = c + 128 * i;
    f.d[i] = c + 512 + 128 * i;
  }
  f.b[0] = a + 512;
  f.b[1] = a + 640;
  double best = 1;
  for (int round = 0; round < 50; ++round) {
    const auto start = Clock::now();
    for (int i = 0; i < 1000; ++i) mma(f);
    best = std::min(best, seconds_since(start) / 1000);
  }
  return best;
}

template <typename T>
void append(std::vector<uint8_t>& bytes, T value) {
  bytes.resize(bytes.size() + sizeof(T));
  std::memcpy(bytes.data() + bytes.size() - sizeof(T), &value, sizeof(T));
}

struct Setting {
  const char* name;
  fiel::vgpu::Checks checks;
};

}  // namespace

int main(int argc, char** argv) {
  using namespace fiel::vgpu;
  const int size = argc > 1 ? std::atoi(argv[1]) : 1024;
  if (size <= 0 || size > 8192 || size % 128 != 0) {
    std::fprintf(stderr,
                 "bench_gemm: the size is a multiple of 128, at most 8192: its tiles are\n");
    return 2;
  }
  DeviceOptions options;
  options.threads = argc > 2 ? static_cast<uint32_t>(std::atoi(argv[2])) : 0;
  auto device = Device::create(options);
  std::ifstream file(FIEL_SOURCE_DIR "/bench/kernels/gemm_bf16.ptx");
  std::ostringstream text;
  text << file.rdbuf();
  auto module = (*device)->load_module(text.str(), "gemm_bf16.cu");
  if (!module) {
    std::fprintf(stderr, "%s\n", to_string(module.error()).c_str());
    return 1;
  }
  const size_t elements = static_cast<size_t>(size) * static_cast<size_t>(size);
  std::vector<uint16_t> values(elements);
  uint32_t state = 1;
  for (uint16_t& v : values) {
    state = state * 1664525u + 1013904223u;
    v = static_cast<uint16_t>(0x3c00u | (state >> 16 & 0x80ff));  // either sign, 2^-7 … 2^-6
  }
  const uint64_t a = *(*device)->allocate(elements * 2, "a"),
                 b = *(*device)->allocate(elements * 2, "b");
  const uint64_t c = *(*device)->allocate(elements * 4, "c");
  if (!(*device)->write(a, std::as_bytes(std::span(values)))) return 1;
  if (!(*device)->write(b, std::as_bytes(std::span(values)))) return 1;
  std::vector<uint8_t> arguments;
  for (const uint64_t pointer : {a, b, c}) append(arguments, pointer);
  for (int i = 0; i < 3; ++i) append(arguments, size);

  const Setting settings[] = {
      {"bounds", {false, false, false, false, false}},
      {"+ initialisation, coverage", {true, true, false, false, false}},
      {"+ metrics", {true, true, false, false, true}},
      {"+ shared races", {true, true, true, false, true}},
      {"+ global races", {true, true, true, true, true}},
  };
  const double tiles = static_cast<double>(size) * size * size / 2048;
  std::printf("gemm_bf16 %d^3 on %s: %.0f mma.m16n8k16\n", size, (*device)->isa_name().c_str(),
              tiles);
  const double mma = seconds_of_mma();
  std::printf("%-30s %.3f s on one thread (%.0f ns each)\n", "mma arithmetic alone", mma * tiles,
              mma * 1e9);
  for (const Setting& setting : settings) {
    LaunchRequest request;
    request.module = *module;
    request.kernel = "gemm_bf16";
    request.grid = {static_cast<uint32_t>(size / 128), static_cast<uint32_t>(size / 128), 1};
    request.block = {256, 1, 1};
    request.parameters = arguments;
    request.checks = setting.checks;
    double best = 1e9, processor = 1e9;
    uint64_t instructions = 0;
    for (int i = 0; i < 3; ++i) {
      const auto start = Clock::now();
      const std::clock_t before = std::clock();
      const LaunchReport report = (*device)->launch(request);
      best = std::min(best, seconds_since(start));
      processor = std::min(processor, static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC);
      instructions = report.thread_instructions;
      for (const Finding& f : report.findings) std::fprintf(stderr, "%s\n", to_string(f).c_str());
      if (report.status != LaunchStatus::completed || !report.findings.empty()) {
        std::fprintf(stderr, "bench_gemm: a right kernel was stopped or found fault with\n");
        return 1;
      }
    }
    std::printf("%-30s %.3f s, %.3f s of processor time (%.0f M thread-instructions)\n",
                setting.name, best, processor, static_cast<double>(instructions) / 1e6);
  }
  return 0;
}
