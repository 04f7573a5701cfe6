// redux, match and vote, by whole warps and by the two arms of a branch at once.
__device__ unsigned redux(unsigned x, unsigned mask, unsigned* y) {
  const int l = threadIdx.x;
  unsigned d[7];
  asm volatile("redux.sync.add.u32 %0, %1, %2;" : "=r"(d[0]) : "r"(x), "r"(mask));
  asm volatile("redux.sync.min.u32 %0, %1, %2;" : "=r"(d[1]) : "r"(x), "r"(mask));
  asm volatile("redux.sync.max.s32 %0, %1, %2;" : "=r"(d[2]) : "r"(x), "r"(mask));
  asm volatile("redux.sync.and.b32 %0, %1, %2;" : "=r"(d[3]) : "r"(x | 0xf0f0), "r"(mask));
  asm volatile("redux.sync.or.b32 %0, %1, %2;" : "=r"(d[4]) : "r"(x & 0x70707070), "r"(mask));
  asm volatile("redux.sync.xor.b32 %0, %1, %2;" : "=r"(d[5]) : "r"(x), "r"(mask));
  asm volatile("redux.sync.min.s32 %0, %1, %2;" : "=r"(d[6]) : "r"(x), "r"(mask));
  for (int i = 0; i < 7; ++i) y[i * 32 + l] = d[i];
  return d[0];
}
extern "C" __global__ void reduces(const unsigned* x, unsigned* y) {
  const unsigned v = x[threadIdx.x];
  redux(v, ~0u, y);
  if (threadIdx.x % 3 == 0)
    redux(v * 5, 0x49249249u, y + 224);
  else
    redux(v ^ 0x80000000u, ~0x49249249u, y + 224);
}
extern "C" __global__ void matches(const unsigned* x, unsigned* y) {
  const unsigned l = threadIdx.x, v = x[l];
  int same;
  y[l] = __match_any_sync(~0u, v % 5);
  y[32 + l] = __match_any_sync(~0u, static_cast<unsigned long long>(v % 3) << 32 | 7);
  if (l & 4) {
    y[64 + l] = __match_any_sync(0xf0f0f0f0u, l & 9);
    y[96 + l] = __match_all_sync(0xf0f0f0f0u, 4u | v, &same);
    y[128 + l] = same;
    y[160 + l] = __match_all_sync(0xf0f0f0f0u, 1ull << 40, &same) + same;
  } else {
    y[64 + l] = __match_any_sync(0x0f0f0f0fu, static_cast<unsigned long long>(l >> 3));
    y[96 + l] = __match_all_sync(0x0f0f0f0fu, l & 4, &same);
    y[128 + l] = same;
    y[160 + l] = __match_all_sync(0x0f0f0f0fu, v & 1, &same) + same;
  }
}
#define VOTE(number, mode, sign)                                                                      \
  {                                                                                                   \
    unsigned d;                                                                                       \
    asm volatile("{ .reg .pred p, q; setp.gt.u32 p, %1, %2; vote.sync." mode ".pred q, " sign "p, %3;\n" \
                 "  selp.u32 %0, 1, 0, q; }" : "=r"(d) : "r"(v), "r"(limit), "r"(mask));              \
    bits |= d << number;                                                                              \
  }
__device__ unsigned votes_of(unsigned v, unsigned limit, unsigned mask) {
  unsigned bits = 0;
  VOTE(0, "all", "")
  VOTE(1, "all", "!")
  VOTE(2, "any", "")
  VOTE(3, "any", "!")
  VOTE(4, "uni", "")
  VOTE(5, "uni", "!")
  return bits;
}
extern "C" __global__ void votes(const unsigned* x, unsigned* y) {
  const unsigned l = threadIdx.x, v = x[l];
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned limit = i * 40;
    y[96 * i + l] = votes_of(v, limit, ~0u);
    y[96 * i + 32 + l] = l < 11 ? votes_of(v, limit, 0x7ffu) : votes_of(v + 8, limit, 0xfffff800u);
    y[96 * i + 64 + l] = l & 1 ? __ballot_sync(0xaaaaaaaau, v > limit) : __ballot_sync(0x55555555u, v <= limit);
  }
}
