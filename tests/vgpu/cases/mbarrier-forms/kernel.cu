// mbarrier by hand: arrivals by one and by several, drops, bytes that are expected, phases by token
// and by parity, and how many arrivals a state lacks.
#include <cstdint>

__device__ uint32_t address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }
__device__ void init(uint32_t b, uint32_t count) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(b), "r"(count) : "memory");
}
__device__ uint64_t arrive(uint32_t b, uint32_t count) {
  uint64_t state;
  asm volatile("mbarrier.arrive.release.cta.shared.b64 %0, [%1], %2;" : "=l"(state) : "r"(b), "r"(count) : "memory");
  return state;
}
__device__ uint32_t pending(uint64_t state) {
  uint32_t n;
  asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(n) : "l"(state));
  return n;
}
__device__ bool over(uint32_t b, uint64_t state) {
  uint32_t done;
  asm volatile("{ .reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
               : "=r"(done) : "r"(b), "l"(state) : "memory");
  return done;
}
__device__ bool over_parity(uint32_t b, uint32_t parity) {
  uint32_t done;
  asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.acquire.cta.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
               : "=r"(done) : "r"(b), "r"(parity) : "memory");
  return done;
}
__device__ void wait(uint32_t b, uint32_t parity) {
  asm volatile(
      "{ .reg .pred p;\n"
      "again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
      "@!p bra again; }" ::"r"(b), "r"(parity) : "memory");
}

// One thread, so that all that is asked has one answer.
extern "C" __global__ void alone(uint32_t* y) {
  __shared__ __align__(8) uint64_t barrier[3];
  const uint32_t b = address(barrier);
  init(b, 5);
  y[0] = over_parity(b, 0), y[1] = over_parity(b, 1);
  const uint64_t first = arrive(b, 1);
  y[2] = pending(first), y[3] = over(b, first);
  const uint64_t second = arrive(b, 3);
  y[4] = pending(second), y[5] = over(b, second);
  const uint64_t third = arrive(b, 1);
  y[6] = pending(third), y[7] = over(b, third), y[8] = over(b, first);
  y[9] = over_parity(b, 0), y[10] = over_parity(b, 1);
  // A drop lowers the next phase's count to 4; that phase is over after 4 more.
  uint64_t dropped, held;
  asm volatile("mbarrier.arrive_drop.shared.b64 %0, [%1];" : "=l"(dropped) : "r"(b) : "memory");
  y[11] = pending(dropped);
  y[12] = pending(arrive(b, 4));
  y[13] = over(b, dropped), y[14] = over_parity(b, 1);
  asm volatile("mbarrier.arrive.noComplete.shared.b64 %0, [%1], 3;" : "=l"(held) : "r"(b) : "memory");
  y[15] = pending(held), y[16] = over(b, held);
  y[17] = pending(arrive(b, 1)), y[18] = over(b, held);
  // Bytes: the phase waits for them, too.
  const uint32_t c = address(barrier + 1);
  init(c, 1);
  uint64_t bytes;
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 %0, [%1], 96;" : "=l"(bytes) : "r"(c) : "memory");
  y[19] = over(c, bytes);
  asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], 64;" ::"r"(c) : "memory");
  y[20] = over(c, bytes);
  asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], 32;" ::"r"(c) : "memory");
  y[21] = over(c, bytes), y[22] = over_parity(c, 0);
  asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(c) : "memory");
  init(c, 2);
  y[23] = over_parity(c, 0), y[24] = over_parity(c, 1);
}
// Sixty-four threads, two halves of which hand 32 words to one another six times.
extern "C" __global__ void halves(uint32_t* y) {
  __shared__ __align__(8) uint64_t barrier[2];
  __shared__ uint32_t words[2][32];
  const uint32_t t = threadIdx.x, half = t / 32, i = t % 32;
  if (t < 2) init(address(barrier + t), 32);
  __syncthreads();
  uint32_t v = t;
  for (uint32_t round = 0; round < 6; ++round) {
    words[half][i] = v;
    arrive(address(barrier + half), 1);
    wait(address(barrier + (half ^ 1)), round & 1);
    v = words[half ^ 1][(i + 5) % 32] + round;
    __syncthreads();
  }
  y[t] = v;
}
// 160 threads of which 32 leave after each of four phases.
extern "C" __global__ void leaving(uint32_t* y) {
  __shared__ __align__(8) uint64_t barrier;
  __shared__ uint32_t here;
  const uint32_t t = threadIdx.x, b = address(&barrier);
  if (t == 0) init(b, 160), here = 0;
  __syncthreads();
  for (uint32_t phase = 0; phase < 5; ++phase) {
    atomicAdd(&here, 1);
    uint64_t state;
    const bool last = t / 32 == phase;
    if (last)
      asm volatile("mbarrier.arrive_drop.release.cta.shared.b64 %0, [%1];" : "=l"(state) : "r"(b) : "memory");
    else
      state = arrive(b, 1);
    if (last) break;
    while (!over(b, state)) {
    }
  }
  if (t / 32 == 4) {
    __syncwarp();
    if (t == 159) y[0] = atomicAdd(&here, 0);
  }
  y[1 + t] = t / 32;
}
