// Every committed PTX file loads: what nvcc makes of ordinary kernels has a handler.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <sstream>

#include "base/files.h"
#include "places.h"
#include "vgpu/device.h"

namespace fiel::vgpu::test {
namespace {

TEST(Modules, AllFixturesOfTheParserLoad) {
  auto gpu = Device::create({.memory_bytes = 1u << 30});
  ASSERT_TRUE(gpu) << to_string(gpu.error());
  int n = 0;
  for (const auto& entry : std::filesystem::directory_iterator(in_source("tests/ptx/fixtures"))) {
    if (entry.path().extension() != ".ptx") continue;
    auto text = read_file(entry.path());
    ASSERT_TRUE(text);
    auto module = (*gpu)->load_module(*text, entry.path().filename().string());
    EXPECT_TRUE(module) << to_string(module.error());
    if (module) {
      EXPECT_FALSE((*gpu)->kernels(*module).empty());
      EXPECT_TRUE((*gpu)->unload_module(*module));
    }
    ++n;
  }
  EXPECT_GT(n, 20);
  EXPECT_EQ((*gpu)->memory_in_use(), 0u);
}

TEST(Modules, WhatIsReadButDoesNotRunIsUnsupportedByNameAndLine) {
  auto gpu = Device::create({.memory_bytes = 1u << 20});
  ASSERT_TRUE(gpu) << to_string(gpu.error());
  for (const std::string instruction : {"alloca.u64 %l1, %l2, 16;", "alloca.u64 %l1, %l2;"}) {
    auto module = (*gpu)->load_module(
        ".version 8.7\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n"
        ".reg .b32 %r<3>; .reg .b64 %l<3>;\n" +
            instruction + "\nret;\n}\n",
        "k.ptx");
    ASSERT_FALSE(module) << instruction;
    EXPECT_EQ(module.error().code, ErrorCode::unsupported) << to_string(module.error());
    EXPECT_NE(module.error().what.find("line 7: " + instruction.substr(0, instruction.size() - 1)),
              std::string::npos)
        << module.error().what;
  }
}

/// xorshift: the same mutations everywhere.
class Random {
 public:
  uint32_t below(size_t n) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<uint32_t>(state_ % n);
  }

 private:
  uint64_t state_ = 0x9e3779b97f4a7c15ull;
};

/// Exchanges, drops and repeats lines, and changes digits: text that often still parses.
std::string mutated(std::string text, Random& random) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  for (uint32_t k = random.below(6) + 1; k > 0; --k) {
    const size_t a = random.below(lines.size()), b = random.below(lines.size());
    switch (random.below(4)) {
      case 0:
        std::swap(lines[a], lines[b]);
        break;
      case 1:
        lines[a] = lines[b];
        break;
      case 2:
        lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(a));
        break;
      default:
        for (char& c : lines[a])
          if (c >= '0' && c <= '9' && random.below(3) == 0)
            c = static_cast<char>('0' + random.below(10));
        break;
    }
  }
  text.clear();
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

TEST(Modules, WhatMutatedKernelsDoStaysInsideTheDevice) {
  // No result is asked for: the process must live, and every launch must end.
  Random random;
  int loaded = 0, launched = 0;
  for (const char* name : {"softmax", "histogram", "calls", "transpose", "cub_block", "half",
                           "cooperative", "mma_async", "barrier_pipeline", "wmma"}) {
    const auto text = read_file(in_source("tests/ptx/fixtures/") + name + ".sm_90.ptx");
    ASSERT_TRUE(text);
    for (int i = 0; i < 12; ++i) {
      auto gpu = Device::create(
          {.memory_bytes = 1u << 24, .heap_bytes = 1u << 16, .stack_bytes = 4096, .threads = 1});
      ASSERT_TRUE(gpu);
      auto module = (*gpu)->load_module(mutated(*text, random), name);
      if (!module) continue;
      ++loaded;
      const uint64_t buffer = *(*gpu)->allocate(1u << 20, "buffer");
      static_cast<void>((*gpu)->fill(buffer, 0, 1u << 19));
      for (const std::string& kernel : (*gpu)->kernels(*module)) {
        LaunchRequest request;
        request.module = *module;
        request.kernel = kernel;
        request.grid = {2, 1, 1};
        request.block = {64, 1, 1};
        request.dynamic_shared_bytes = 4096;
        request.checks.global_races = i % 2 == 0;
        request.instruction_budget = 20'000;
        request.schedule.seed = static_cast<uint64_t>(i);
        request.schedule.quantum = i % 3 == 0 ? 7 : 0;
        const KernelInfo info = *(*gpu)->kernel(*module, kernel);
        request.parameters.resize(info.parameter_block_bytes);
        for (size_t p = 0; p < info.parameter_offsets.size(); ++p)
          if (info.parameter_bytes[p] == 8)
            memcpy(request.parameters.data() + info.parameter_offsets[p], &buffer, 8);
          else if (info.parameter_bytes[p] > 0)
            request.parameters[info.parameter_offsets[p]] = 33;
        const LaunchReport report = (*gpu)->launch(request);
        for (const Finding& finding : report.findings) EXPECT_FALSE(to_string(finding).empty());
        ++launched;
      }
    }
  }
  EXPECT_GT(loaded, 10);
  EXPECT_GT(launched, 20);
}

}  // namespace
}  // namespace fiel::vgpu::test
