// shfl.sync in segments of every width: what a lane gets, and whether it got it from another's
// segment. The word that is shuffled is 3 l + 1; bit 31 of y is the predicate.
template <typename Shuffle>
__device__ void offsets(unsigned* y, Shuffle shuffle) {
  const unsigned b[4] = {1, 3, 9, 31};
#pragma unroll
  for (int i = 0; i < 4; ++i) y[32 * i + threadIdx.x] = shuffle(b[i]);
}
#define MODE(name, clamp)                                                                           \
  offsets(y, [&](unsigned b) {                                                                      \
    unsigned d, p;                                                                                  \
    asm volatile("{ .reg .pred q; shfl.sync." name ".b32 %0|q, %2, %3, %4, -1; selp.u32 %1, 1, 0, q; }" \
                 : "=r"(d), "=r"(p) : "r"(3 * threadIdx.x + 1), "r"(b), "r"((32 - width) << 8 | (clamp))); \
    return d | p << 31;                                                                             \
  });                                                                                               \
  y += 128;

extern "C" __global__ void segments(unsigned* y) {
  for (unsigned width = 32; width >= 2; width /= 2) {
    MODE("up", 0)
    MODE("down", 31)
    MODE("bfly", 31)
    MODE("idx", 31)
  }
}
// A source that differs from lane to lane, clamps in the middle of a segment, and 64 bits at once.
extern "C" __global__ void others(unsigned* y, double* d, long long* n) {
  const unsigned l = threadIdx.x;
  unsigned r, p;
  asm volatile("{ .reg .pred q; shfl.sync.idx.b32 %0|q, %2, %3, 0x181f, -1; selp.u32 %1, 1, 0, q; }"
               : "=r"(r), "=r"(p) : "r"(l), "r"(l * l));
  y[l] = r | p << 31;
  asm volatile("{ .reg .pred q; shfl.sync.down.b32 %0|q, %2, 2, 0x1005, -1; selp.u32 %1, 1, 0, q; }"
               : "=r"(r), "=r"(p) : "r"(l));
  y[32 + l] = r | p << 31;
  asm volatile("{ .reg .pred q; shfl.sync.up.b32 %0|q, %2, 3, 0x0004, -1; selp.u32 %1, 1, 0, q; }"
               : "=r"(r), "=r"(p) : "r"(l));
  y[64 + l] = r | p << 31;
  d[l] = __shfl_down_sync(~0u, 0.1 * l, 5, 16);
  n[l] = __shfl_xor_sync(~0u, 0x100000001ll * l, 7);
}
// Two arms shuffle at the same time, each its own lanes; then sums within segments.
extern "C" __global__ void arms(int* y) {
  const int l = threadIdx.x;
  int v = 10 * l;
  if (l < 12)
    v = __shfl_sync(0x00000fffu, v, (l + 5) % 12);
  else
    v = __shfl_xor_sync(0xfffff000u, v, 3) + 1;
  y[l] = v;
  for (int k = 4; k > 0; k /= 2) v += __shfl_down_sync(~0u, v, k, 8);
  y[32 + l] = v;
}
