#include <cassert>
#include <cstdio>
extern "C" __global__ void local_array(const int* x, int* out) {
  int a[8];
  for (int i = 0; i < 8; ++i) a[i] = x[i] * (i + 1);
  out[threadIdx.x] = a[x[threadIdx.x & 7] & 7] + a[threadIdx.x & 7];
}
extern "C" __global__ void print(int n, const char* name) {
  if (threadIdx.x < 2)
    printf("t %d of %s: %5.2f|%-4d|%04x|%lld|%c|%%|%*d|%s\n", threadIdx.x, name, 1.5 * n, n, n,
           -1234567890123ll, 'z', 6, n, "lit");
}
extern "C" __global__ void check(int n, int* out) {
  assert(n > 0);
  out[threadIdx.x] = n;
}
extern "C" __global__ void heap(int n, int* out) {
  int* p = static_cast<int*>(malloc(sizeof(int) * n));
  if (p == nullptr) {
    out[threadIdx.x] = -1;
    return;
  }
  for (int i = 0; i < n; ++i) p[i] = i * threadIdx.x;
  int s = 0;
  for (int i = 0; i < n; ++i) s += p[i];
  free(p);
  out[threadIdx.x] = s;
}
extern "C" __global__ void trapping(int n) {
  if (n < 0) __trap();
}
