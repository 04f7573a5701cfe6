// Pairs of halves and of bfloat16s: arithmetic, fused with .relu and .sat, comparisons, conversions.
#include <cstdint>

#define ONE(text) asm volatile(text " %0, %1;" : "=r"(d) : "r"(a)); y[32 * n++ + t] = d;
#define TWO(text) asm volatile(text " %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b)); y[32 * n++ + t] = d;
#define THREE(text) asm volatile(text " %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c)); y[32 * n++ + t] = d;
#define FLOATS(text) asm volatile(text " %0, %1, %2;" : "=r"(d) : "f"(f), "f"(g)); y[32 * n++ + t] = d;

// a and b are below 2, c may be large: sums overflow, products fall below the normal numbers.
extern "C" __global__ void halves(const uint32_t* x, uint32_t* y) {
  const int t = threadIdx.x;
  int n = 0;
  uint32_t d, a = x[t] & 0xbfffbfff, b = x[32 + t] & 0xbfffbfff, c = x[64 + t] & 0xfbfffbff;
  TWO("add.rn.f16x2")
  TWO("sub.f16x2")
  TWO("mul.rn.f16x2")
  TWO("min.f16x2")
  TWO("max.NaN.f16x2")
  THREE("fma.rn.f16x2")
  THREE("fma.rn.relu.f16x2")
  THREE("fma.rn.sat.f16x2")
  THREE("fma.rn.ftz.f16x2")
  ONE("neg.f16x2")
  ONE("abs.f16x2")
  TWO("set.lt.f16x2.f16x2")
  TWO("set.ge.u32.f16x2")
  a = c;
  TWO("add.rn.f16x2")
  TWO("sub.sat.f16x2")
  TWO("mul.rn.f16x2")
  const float f = __uint_as_float(0x30000000 + (x[t] & 0x17ffffff)), g = -3.1f * f;
  FLOATS("cvt.rn.f16x2.f32")
  FLOATS("cvt.rz.f16x2.f32")
  FLOATS("cvt.rn.relu.f16x2.f32")
}
extern "C" __global__ void bfloats(const uint32_t* x, uint32_t* y) {
  const int t = threadIdx.x;
  int n = 0;
  uint32_t d, a = x[t] & 0xff7fff7f, b = x[32 + t] & 0xff7fff7f, c = x[64 + t] & 0xff7fff7f;
  TWO("add.rn.bf16x2")
  TWO("sub.rn.bf16x2")
  TWO("mul.rn.bf16x2")
  TWO("min.NaN.bf16x2")
  TWO("max.bf16x2")
  THREE("fma.rn.bf16x2")
  THREE("fma.rn.relu.bf16x2")
  ONE("neg.bf16x2")
  ONE("abs.bf16x2")
  TWO("set.gt.bf16x2.bf16x2")
  const float f = __uint_as_float(x[t] & 0xff7fffff), g = -f;
  FLOATS("cvt.rn.bf16x2.f32")
  FLOATS("cvt.rz.bf16x2.f32")
  FLOATS("cvt.rz.relu.bf16x2.f32")
}
