// Which of the two builds of the handlers (isa/) this CPU runs. No code of either is needed to ask.
#pragma once

namespace fiel::vgpu {

inline bool cpu_runs_avx2() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("f16c");
}
inline bool cpu_runs_avx512() {
  return cpu_runs_avx2() && __builtin_cpu_supports("avx512f") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd");
}
inline constexpr const char* kNoAvx2 = "the virtual GPU needs a CPU with AVX2, FMA, BMI2 and F16C";
inline constexpr const char* kNoAvx512 = "this CPU has no AVX-512 (F, BW, DQ, VL, CD)";

}  // namespace fiel::vgpu
