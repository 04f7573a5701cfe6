// gtest's main, but a CPU that does not run this build of the handlers skips whatever is asked for.
#include <gtest/gtest.h>

#include <cstdio>

#include "vgpu/cpu_features.h"

namespace {

#ifdef FIEL_ISA_avx512
bool runs_here() { return fiel::vgpu::cpu_runs_avx512(); }
constexpr const char* kWhyNot = fiel::vgpu::kNoAvx512;
#else
bool runs_here() { return fiel::vgpu::cpu_runs_avx2(); }
constexpr const char* kWhyNot = fiel::vgpu::kNoAvx2;
#endif

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (!testing::GTEST_FLAG(list_tests) && !runs_here()) {
    std::printf("[  SKIPPED ] %s\n", kWhyNot);
    return 0;
  }
  return RUN_ALL_TESTS();
}
