struct S {
  long a[6];
};
__device__ __noinline__ long f1(S s, int i) { return s.a[i] + 1; }
__device__ __noinline__ long f2(S s, int i) { return s.a[i] * 2; }
__device__ __noinline__ long f3(S s, int i) { return f1(s, i) - f2(s, (i + 1) % 6); }
typedef long (*Function)(S, int);
__device__ Function table[3] = {f1, f2, f3};
extern "C" __global__ void indirect(long* o, S s) {
  const int i = threadIdx.x;
  o[i] = table[i % 3](s, i % 6);
}
__device__ __noinline__ int fibonacci(int n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
extern "C" __global__ void recursive(int* o) { o[threadIdx.x] = fibonacci(threadIdx.x % 11); }
__device__ __noinline__ int deep(int n, int* o) {
  int a[8];
  for (int i = 0; i < 8; ++i) a[i] = o[i] + n;
  return n == 0 ? a[o[0] & 7] : deep(n - 1, a) + a[n & 7];
}
extern "C" __global__ void endless(int* o, int n) { o[8] = deep(n, o); }
extern "C" __global__ void wild(long* o, Function f, S s) { o[threadIdx.x] = f(s, 0); }
extern "C" __global__ void selecting(int* o, int n) {
  const int i = threadIdx.x;
  int r = 0;
  switch ((i + n) % 9) {
    case 0: r = 4; break;
    case 1: r = 7 * i; break;
    case 2: r = i * i; break;
    case 3: r = 1000 / (i + 1); break;
    case 4: r = n; for (int k = 0; k < i; ++k) r ^= k * n; break;
    case 5: r = i << 2; break;
    case 6: r = -i; break;
    default: r = 99;
  }
  o[i] = r;
}
