// f32: the four roundings of all arithmetic, and functions of math.h whose code has no approximation
// in it (no .approx in kernel.ptx).
#define ROUNDED(name, ...)                                                  \
  y[64 * n++ + t] = __##name##_rn(__VA_ARGS__);                             \
  y[64 * n++ + t] = __##name##_rz(__VA_ARGS__);                             \
  y[64 * n++ + t] = __##name##_rd(__VA_ARGS__);                             \
  y[64 * n++ + t] = __##name##_ru(__VA_ARGS__);
#define OUT(value) y[64 * n++ + t] = value;

extern "C" __global__ void arithmetic(const float* x, float* y) {
  const int t = threadIdx.x;
  int n = 0;
  const float a = x[t], b = x[64 + t], c = x[128 + t];
  ROUNDED(fadd, a, b)
  ROUNDED(fmul, a, b)
  ROUNDED(fmaf, a, b, c)
  ROUNDED(fdiv, a, b)
  ROUNDED(fsqrt, fabsf(a))
  ROUNDED(frcp, b)
  OUT(floorf(a) + ceilf(b))
  OUT(truncf(a) - rintf(b))
  OUT(fminf(a, b) + fmaxf(b, c))
  OUT(__saturatef(a))
}
// No expected values: the recorded text has them.
extern "C" __global__ void functions(const float* x, float* y) {
  const int t = threadIdx.x;
  int n = 0;
  const float a = x[t], b = x[64 + t];
  OUT(sinf(a)) OUT(cosf(b * 1e7f)) OUT(logf(fabsf(a))) OUT(log2f(fabsf(b))) OUT(log10f(fabsf(a))) OUT(log1pf(fabsf(b)))
  OUT(sinpif(a)) OUT(cospif(b)) OUT(atan2f(a, b)) OUT(hypotf(a, b)) OUT(nextafterf(a, b)) OUT(fdimf(a, b))
  OUT(logbf(a)) OUT(roundf(b)) OUT(ldexpf(a, t - 30)) OUT(static_cast<float>(lrintf(a * 1000)))
}
