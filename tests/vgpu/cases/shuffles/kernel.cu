extern "C" __global__ void shuffles(int* a, int* b, int* c, int* d, int* e, int* f) {
  const int t = threadIdx.x, l = t & 31, v = l * 10;
  a[t] = __shfl_down_sync(~0u, v, 16);
  b[t] = __shfl_sync(~0u, v, 35);
  c[t] = __shfl_up_sync(~0u, v, 1, 8);
  d[t] = __shfl_xor_sync(~0u, v, 9, 8);
  int r = v, p;
  asm volatile(
      "{ .reg .pred q; shfl.sync.down.b32 %0|q, %0, 1, 31, -1; selp.b32 %1, 1, 0, q; }"
      : "+r"(r), "=r"(p));
  e[t] = r;
  f[t] = p;
}
extern "C" __global__ void outside(int* a) {
  const int t = threadIdx.x;
  if (t >= 32) a[t] = __shfl_down_sync(0xff, t, 4);
}
extern "C" __global__ void votes(unsigned* o) {
  const int l = threadIdx.x;
  o[l] = __ballot_sync(~0u, l % 3 == 0);
  o[32 + l] = __match_any_sync(~0u, l & 3);
  o[64 + l] = __reduce_add_sync(~0u, l);
  int x = l;
  for (int k = 16; k > 0; k >>= 1) x += __shfl_xor_sync(~0u, x, k);
  o[96 + l] = x;
}
extern "C" __global__ void exited(unsigned* o) {
  if (threadIdx.x >= 20) return;
  o[threadIdx.x] = __ballot_sync(~0u, 1);
}
extern "C" __global__ void arms(unsigned* o) {
  // Both arms meet at one __syncwarp and one shuffle.
  unsigned v = threadIdx.x;
  if (v & 1) {
    v = v * 3;
    o[v & 31] = 0;
  } else {
    v = v + 1;
  }
  __syncwarp();
  o[threadIdx.x] = __shfl_sync(~0u, v, threadIdx.x ^ 1);
}
