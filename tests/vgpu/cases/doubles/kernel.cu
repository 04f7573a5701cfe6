// f64: the four roundings of all arithmetic, conversions, remainders, and functions whose code has no
// approximation in it.
#define ROUNDED(name, ...)                                                  \
  y[64 * n++ + t] = __##name##_rn(__VA_ARGS__);                             \
  y[64 * n++ + t] = __##name##_rz(__VA_ARGS__);                             \
  y[64 * n++ + t] = __##name##_rd(__VA_ARGS__);                             \
  y[64 * n++ + t] = __##name##_ru(__VA_ARGS__);

extern "C" __global__ void arithmetic(const double* x, double* y) {
  const int t = threadIdx.x;
  int n = 0;
  const double a = x[t], b = x[64 + t], c = x[128 + t];
  ROUNDED(dadd, a, b)
  ROUNDED(dmul, a, b)
  ROUNDED(fma, a, b, c)
  ROUNDED(ddiv, a, b)
  ROUNDED(dsqrt, fabs(a))
  ROUNDED(drcp, b)
  y[64 * n++ + t] = fmin(a, b) + fmax(b, c);
  y[64 * n++ + t] = floor(a) + ceil(b);
  y[64 * n++ + t] = trunc(a) - rint(b);
  y[64 * n++ + t] = copysign(a, b);
}
extern "C" __global__ void conversions(const double* x, long long* l, int* i, float* f, double* d) {
  const int t = threadIdx.x;
  const double a = x[t] * 1e9;
  int n = 0;
#define OUT(to, value) to[64 * n++ + t] = value;
  OUT(l, __double2ll_rn(a)) OUT(l, __double2ll_rz(a)) OUT(l, __double2ll_rd(a)) OUT(l, __double2ll_ru(a))
  OUT(l, __double2ull_rz(fabs(a) * 1e9)) OUT(l, __double_as_longlong(a))
  n = 0;
  OUT(i, __double2int_rn(x[t])) OUT(i, __double2int_rd(x[t])) OUT(i, __double2int_ru(a)) OUT(i, __double2uint_rz(fabs(a)))
  OUT(i, __double2hiint(a)) OUT(i, __double2loint(a))
  n = 0;
  OUT(f, __double2float_rn(a)) OUT(f, __double2float_rz(a)) OUT(f, __double2float_rd(a)) OUT(f, __double2float_ru(a))
  const long long whole = __double_as_longlong(a);
  n = 0;
  OUT(d, __ll2double_rn(whole)) OUT(d, __ll2double_rd(whole)) OUT(d, __ull2double_ru(whole)) OUT(d, __int2double_rn(int(whole)))
}
// No expected values: the recorded text has them.
extern "C" __global__ void functions(const double* x, double* y) {
  const int t = threadIdx.x;
  const double a = x[t], b = x[64 + t];
  int n = 0;
  OUT(y, sin(a)) OUT(y, cos(a * 1e6)) OUT(y, exp(a)) OUT(y, expm1(b)) OUT(y, exp2(b)) OUT(y, sinh(a))
  OUT(y, sinpi(a)) OUT(y, cospi(b)) OUT(y, fmod(a * 1e5, b)) OUT(y, remainder(a, b)) OUT(y, atan2(a, b))
  OUT(y, ldexp(a, t - 20)) OUT(y, nextafter(a, b)) OUT(y, round(b)) OUT(y, fdim(a, b)) OUT(y, logb(a))
}
