// cp.async of 4, 8 and 16 bytes through both caches, groups that are waited for one after the other,
// and zeros behind what is read. Each thread reads its own bytes only: no barrier is needed.
#include <cstdint>

__device__ uint32_t shared_address(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}
template <int kGroups>
__device__ void wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kGroups) : "memory");
}
__device__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Word i of a group g of a thread is x[16 g + i]; what is read after its wait is summed.
extern "C" __global__ void groups(const uint32_t* x, uint32_t* y) {
  __shared__ __align__(16) uint32_t stage[4][32][4];
  const int t = threadIdx.x;
  for (int g = 0; g < 4; ++g) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;"
                 ::"r"(shared_address(stage[g][t])), "l"(x + (g * 32 + t) * 4) : "memory");
    commit();
  }
  const auto sum = [&](int g) { return stage[g][t][0] + stage[g][t][1] + stage[g][t][2] + stage[g][t][3]; };
  wait<3>();
  y[t] = sum(0);
  wait<2>();
  y[32 + t] = sum(1);
  commit();  // an empty group counts
  wait<1>();
  y[64 + t] = sum(2) + sum(3);
  // A stage is used again while a younger group is still under way.
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;"
               ::"r"(shared_address(stage[0][t])), "l"(x + 4 * t + 4) : "memory");
  commit();
  asm volatile("cp.async.ca.shared.global.L2::64B [%0], [%1], 8;"
               ::"r"(shared_address(&stage[1][t][2])), "l"(x + 2 * t) : "memory");
  commit();
  wait<1>();
  y[96 + t] = sum(0);
  asm volatile("cp.async.wait_all;" ::: "memory");
  y[128 + t] = sum(1);
}

// Sizes: `have` bytes are read, the rest of the 4, 8 or 16 becomes zero.
extern "C" __global__ void zero_fill(const uint32_t* x, uint32_t* y) {
  __shared__ __align__(16) uint32_t to[32][8];
  const int t = threadIdx.x;
  for (int i = 0; i < 8; ++i) to[t][i] = 0xeeeeeeee;
  const uint32_t at = shared_address(to[t]);
  const uint32_t have = t & 15;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(x + 8 * t), "r"(have) : "memory");
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(at + 16), "l"(x + 8 * t + 4), "r"(have & 7)
               : "memory");
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(at + 24), "l"(x + 8 * t + 6), "r"(have & 3)
               : "memory");
  asm volatile("cp.async.wait_all;" ::: "memory");
  for (int i = 0; i < 8; ++i) y[8 * t + i] = to[t][i];
}

// The barrier's phase ends when 32 lanes' copies have come.
extern "C" __global__ void arrives(const uint32_t* x, uint32_t* y) {
  __shared__ __align__(16) uint32_t tile[256];
  __shared__ __align__(8) uint64_t barrier;
  const int t = threadIdx.x;
  const uint32_t b = shared_address(&barrier);
  if (t == 0) asm volatile("mbarrier.init.shared.b64 [%0], 32;" ::"r"(b) : "memory");
  __syncthreads();
  for (uint32_t round = 0; round < 3; ++round) {
    if (t < 32) {
      for (int i = 0; i < 2; ++i)
        asm volatile("cp.async.ca.shared.global [%0], [%1], 16;"
                     ::"r"(shared_address(tile + 4 * (t + 32 * i))), "l"(x + 256 * round + 4 * (t + 32 * i))
                     : "memory");
      asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(b) : "memory");
    }
    asm volatile(
        "{ .reg .pred p;\n"
        "again: mbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n"
        "@!p bra again; }" ::"r"(b), "r"(round & 1) : "memory");
    y[256 * round + t] = tile[255 - t];
    __syncthreads();
  }
}
