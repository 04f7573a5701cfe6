// The two builds of the instruction handlers, for tests that run on each of them.
//
//   class Half : public OnEachBuild {};
//   INSTANTIATE_TEST_SUITE_P(Build, Half, testing::ValuesIn(kBuilds), build_name);
//   TEST_P(Half, Adds) { Gpu gpu(ptx, GetParam()); … }
//
// A build that this CPU does not run is skipped, with the reason.
#pragma once

#include <gtest/gtest.h>

#include "vgpu/cpu_features.h"
#include "vgpu/device.h"

namespace fiel::vgpu {

inline constexpr IsaChoice kBuilds[] = {IsaChoice::avx2, IsaChoice::avx512};

/// As Device::isa_name() spells it.
inline std::string name_of(IsaChoice isa) { return isa == IsaChoice::avx512 ? "avx512" : "avx2"; }
inline std::string build_name(const testing::TestParamInfo<IsaChoice>& isa) {
  return name_of(isa.param);
}

#define FIEL_SKIP_UNLESS_RUNS(isa) \
  if ((isa) == IsaChoice::avx512 && !cpu_runs_avx512()) GTEST_SKIP() << kNoAvx512

class OnEachBuild : public testing::TestWithParam<IsaChoice> {
 protected:
  void SetUp() override { FIEL_SKIP_UNLESS_RUNS(GetParam()); }
};

}  // namespace fiel::vgpu
