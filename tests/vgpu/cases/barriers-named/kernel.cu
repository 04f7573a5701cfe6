// Several barriers at once, each for some of the warps, with reductions; and barrier.sync that the
// two arms of a branch come to apart.
__device__ void sync(int id, int threads) { asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory"); }
__device__ void arrive(int id, int threads) { asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory"); }

// Two pairs of warps pass a word around; each pair has a barrier of its own, and both meet at a third.
extern "C" __global__ void pairs(int* y) {
  __shared__ int word[2][64], all[128];
  const int t = threadIdx.x, pair = t / 64, i = t % 64;
  int v = t;
  for (int round = 0; round < 5; ++round) {
    word[pair][i] = v;
    sync(1 + pair, 64);
    v = word[pair][(i + 17) % 64] + round;
    sync(1 + pair, 64);
  }
  all[t] = v;
  sync(7, 128);
  y[t] = all[127 - t];
}
// One warp produces, three consume, in turns: full and empty are barriers 2 and 3.
extern "C" __global__ void turns(int* y) {
  __shared__ int stage[32];
  const int t = threadIdx.x, lane = t % 32;
  int sum = 0;
  for (int round = 0; round < 4; ++round) {
    if (t < 32) {
      if (round > 0) sync(3, 128);
      stage[lane] = 100 * round + lane;
      __threadfence_block();
      arrive(2, 128);
    } else {
      sync(2, 128);
      sum += stage[31 - lane];
      if (round < 3) arrive(3, 128);
    }
  }
  y[t] = sum;
}
extern "C" __global__ void reduces(unsigned* y) {
  const unsigned t = threadIdx.x, id = 4 + t / 96, mine = t % 96;
  unsigned count, all, any;
  asm volatile("{ .reg .pred p; setp.lt.u32 p, %1, 40; bar.red.popc.u32 %0, %2, 96, p; }"
               : "=r"(count) : "r"(mine), "r"(id) : "memory");
  asm volatile("{ .reg .pred p, q; setp.lt.u32 p, %1, %3; bar.red.and.pred q, %2, 96, p; selp.u32 %0, 1, 0, q; }"
               : "=r"(all) : "r"(mine), "r"(id), "r"(id == 4 ? 96 : 95) : "memory");
  asm volatile("{ .reg .pred p, q; setp.eq.u32 p, %1, %3; bar.red.or.pred q, %2, 96, !p; selp.u32 %0, 1, 0, q; }"
               : "=r"(any) : "r"(id), "r"(id), "r"(id == 4 ? 4 : 0) : "memory");
  y[t] = count | all << 8 | any << 9;
}
// Not aligned: lanes of one warp wait at two places in the code for the same barrier.
extern "C" __global__ void arms(int* y) {
  __shared__ int s[64];
  const int t = threadIdx.x;
  if (t & 1) {
    s[t] = 3 * t;
    asm volatile("barrier.sync 5, 64;" ::: "memory");
    y[t] = s[t ^ 1];
  } else {
    s[t] = 5 * t;
    asm volatile("barrier.sync 5, 64;" ::: "memory");
    y[t] = s[63 - t];
  }
}
