// Every committed PTX file loads: what nvcc makes of ordinary kernels has a handler.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/files.h"
#include "vgpu/device.h"

namespace fiel::vgpu::test {
namespace {

TEST(Modules, AllFixturesOfTheParserLoad) {
  auto gpu = Device::create({.memory_bytes = 1u << 30});
  ASSERT_TRUE(gpu) << to_string(gpu.error());
  int n = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(FIEL_SOURCE_DIR "/tests/ptx/fixtures")) {
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

}  // namespace
}  // namespace fiel::vgpu::test
