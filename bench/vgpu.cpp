// How fast the virtual GPU executes: thread-instructions a second beside the floors of the project.
//
//   bench_vgpu [kernel] [--level N] [--threads N] [--repeat N] [--ptx FILE] [--isa avx2|avx512]
//
// Level 0: no checks but bounds; 1: + initialisation and coverage; 2: + metrics; 3: + shared races
// (default 2). Prints the best of `repeat` runs, because other work on the machine only slows.
#include <fmt/core.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>

#include "vgpu/device.h"

namespace {

using namespace fiel;
using namespace fiel::vgpu;

struct Job {
  const char* kernel;
  Dim3 grid, block;
  uint64_t in_bytes, second_bytes, out_bytes;
  int32_t n;
  double floor;  ///< seconds, or 0: 1 G thread-instructions/s
};

const Job kJobs[] = {
    {"vadd4", {4096, 1, 1}, {256, 1, 1}, 16u << 20, 16u << 20, 16u << 20, 1 << 20, 0},
    {"softmax", {4096, 1, 1}, {256, 1, 1}, 64u << 20, 0, 64u << 20, 4096, 3.0},
    {"sgemm", {16, 16, 1}, {256, 1, 1}, 4u << 20, 4u << 20, 4u << 20, 1024, 4.0},
    {"matmul", {16, 16, 1}, {32, 32, 1}, 1u << 20, 1u << 20, 1u << 20, 512, 0},
    {"transpose", {64, 64, 1}, {32, 8, 1}, 16u << 20, 0, 16u << 20, 2048, 0},
    {"transpose_shared", {64, 64, 1}, {32, 8, 1}, 16u << 20, 0, 16u << 20, 2048, 0},
    {"histogram", {64, 1, 1}, {256, 1, 1}, 16u << 20, 0, 1024, 1 << 22, 0},
    {"gemm_bf16", {16, 16, 1}, {128, 1, 1}, 2u << 20, 2u << 20, 4u << 20, 1024, 2.0},
};

struct Options {
  std::string kernel, ptx = FIEL_SOURCE_DIR "/bench/kernels/kernels.ptx";
  int level = 2, repeat = 3;
  uint32_t threads = 0;
  IsaChoice isa = IsaChoice::automatic;
};

std::vector<std::byte> data(uint64_t bytes, bool half) {
  std::vector<std::byte> out(bytes);
  for (uint64_t i = 0; i + 4 <= bytes; i += 4) {
    const uint32_t hash = static_cast<uint32_t>(i) * 2654435761u;
    const float value = static_cast<float>(hash >> 8) / 16777216.0f - 0.5f;
    uint32_t bits = 0;
    memcpy(&bits, &value, 4);
    if (half) bits = (bits >> 16) | (bits & 0xffff0000u);
    memcpy(out.data() + i, &bits, 4);
  }
  return out;
}

/// Processor time of all threads: what other work on the machine does not stretch.
double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

int run(Device& gpu, uint32_t module, const Job& job, const Options& options) {
  const bool half = std::string(job.kernel) == "gemm_bf16";
  LaunchRequest request;
  request.module = module;
  request.kernel = job.kernel;
  request.grid = job.grid;
  request.block = job.block;
  request.checks.initialization = request.checks.coverage = options.level >= 1;
  request.checks.metrics = options.level >= 2;
  request.checks.shared_races = options.level >= 3;
  std::vector<uint64_t> buffers;
  const auto input = [&](uint64_t bytes) {
    if (bytes == 0) return;
    buffers.push_back(*gpu.allocate(bytes, "in"));
    static_cast<void>(gpu.write(buffers.back(), data(bytes, half)));
  };
  input(job.in_bytes);
  input(job.second_bytes);
  buffers.push_back(*gpu.allocate(job.out_bytes, "out"));
  if (std::string(job.kernel) == "histogram")
    static_cast<void>(gpu.fill(buffers.back(), 0, job.out_bytes));
  if (options.level >= 1) static_cast<void>(gpu.mark_output(buffers.back()));
  for (const uint64_t address : buffers) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(&address);
    request.parameters.insert(request.parameters.end(), bytes, bytes + 8);
  }
  const auto* n = reinterpret_cast<const uint8_t*>(&job.n);
  request.parameters.insert(request.parameters.end(), n, n + 4);
  double best = INFINITY, least_processor = INFINITY;
  LaunchReport report;
  for (int i = 0; i < options.repeat; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const double processor = processor_seconds();
    report = gpu.launch(request);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    best = std::min(best, taken.count());
    least_processor = std::min(least_processor, processor_seconds() - processor);
    if (report.status != LaunchStatus::completed) break;
  }
  if (report.status != LaunchStatus::completed || !report.findings.empty()) {
    fmt::print("{:18} failed: {}\n", job.kernel, report.message);
    for (const Finding& finding : report.findings) fmt::print("{}\n", to_string(finding));
    return 1;
  }
  const double rate = static_cast<double>(report.thread_instructions) / best / 1e9;
  const std::string floor = job.floor == 0 ? "1.00 G/s" : fmt::format("{:.0f} s", job.floor);
  fmt::print(
      "{:18} {:9.1f} M thread-instr  {:8.1f} ms  {:6.2f} G/s   processor {:8.1f} ms  {:6.2f} "
      "G/s a core  floor {}\n",
      job.kernel, static_cast<double>(report.thread_instructions) / 1e6, best * 1e3, rate,
      least_processor * 1e3,
      static_cast<double>(report.thread_instructions) / least_processor / 1e9, floor);
  for (const uint64_t address : buffers) static_cast<void>(gpu.free(address));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--level" && i + 1 < argc)
      options.level = std::atoi(argv[++i]);
    else if (word == "--threads" && i + 1 < argc)
      options.threads = static_cast<uint32_t>(std::atoi(argv[++i]));
    else if (word == "--repeat" && i + 1 < argc)
      options.repeat = std::atoi(argv[++i]);
    else if (word == "--isa" && i + 1 < argc)
      options.isa = std::string(argv[++i]) == "avx2" ? IsaChoice::avx2 : IsaChoice::avx512;
    else if (word == "--ptx" && i + 1 < argc)
      options.ptx = argv[++i];
    else
      options.kernel = word;
  }
  DeviceOptions device_options;
  device_options.threads = options.threads;
  device_options.isa = options.isa;
  auto gpu = Device::create(device_options);
  if (!gpu) {
    fmt::print(stderr, "{}\n", to_string(gpu.error()));
    return 3;
  }
  std::ifstream file(options.ptx);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto begin = std::chrono::steady_clock::now();
  auto module = (*gpu)->load_module(text, "kernels.cu");
  if (!module) {
    fmt::print(stderr, "{}\n", to_string(module.error()));
    return 3;
  }
  const std::chrono::duration<double> load = std::chrono::steady_clock::now() - begin;
  fmt::print("{}, {} threads, level {}, module loaded in {:.1f} ms\n", (*gpu)->isa_name(),
             (*gpu)->options().threads, options.level, load.count() * 1e3);
  int failed = 0;
  for (const Job& job : kJobs)
    if (options.kernel.empty() || options.kernel == job.kernel)
      failed += run(**gpu, *module, job, options);
  return failed == 0 ? 0 : 1;
}
