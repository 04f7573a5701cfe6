// A producer warp fills two stages with cp.async, 128 consumers sum them; full and empty mbarriers
// order the two. no_wait leaves the wait for a full stage out; short_count expects one arrival more
// than there is; missing_bytes expects 16 bytes that never come.
#include <cstdint>

namespace {
constexpr int kStages = 2, kTile = 128;

__device__ uint32_t address(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}
__device__ void init(uint64_t* b, uint32_t count) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(address(b)), "r"(count) : "memory");
}
__device__ void arrive(uint64_t* b) {
  asm volatile("{ .reg .b64 s; mbarrier.arrive.shared.b64 s, [%0]; }" ::"r"(address(b)) : "memory");
}
__device__ void wait(uint64_t* b, uint32_t parity) {
  asm volatile(
      "{ .reg .pred p;\n"
      "again: mbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n"
      "@!p bra again; }" ::"r"(address(b)),
      "r"(parity)
      : "memory");
}

template <bool Wait, int Extra>
__device__ void pipeline(const float* x, float* y, int tiles) {
  __shared__ __align__(16) float stage[kStages][kTile];
  __shared__ __align__(8) uint64_t full[kStages], empty[kStages];
  const int thread = threadIdx.x;
  if (thread == 0) {
    for (int s = 0; s < kStages; ++s) {
      init(&full[s], 32 + Extra);
      init(&empty[s], 128);
    }
  }
  __syncthreads();
  if (thread >= 128) {  // the producer
    const int lane = thread - 128;
    for (int t = 0; t < tiles; ++t) {
      const int s = t % kStages;
      if (t >= kStages) wait(&empty[s], (t / kStages - 1) & 1);
      asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(address(&stage[s][lane * 4])),
                   "l"(x + t * kTile + lane * 4)
                   : "memory");
      asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(address(&full[s]))
                   : "memory");
    }
  } else {
    float sum = 0;
    for (int t = 0; t < tiles; ++t) {
      const int s = t % kStages;
      if (Wait) wait(&full[s], t / kStages & 1);
      sum += stage[s][thread ^ 1];
      arrive(&empty[s]);
    }
    y[thread] = sum;
  }
}
}  // namespace

extern "C" __global__ void pipeline_ok(const float* x, float* y, int tiles) {
  pipeline<true, 0>(x, y, tiles);
}
extern "C" __global__ void short_count(const float* x, float* y, int tiles) {
  pipeline<true, 1>(x, y, tiles);
}
// The first tile's bytes are in flight when this thread reads its own: no wait at all.
extern "C" __global__ void no_wait(const float* x, float* y) {
  __shared__ __align__(16) float tile[128];
  const int thread = threadIdx.x;
  asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(address(&tile[thread * 4])),
               "l"(x + thread * 4)
               : "memory");
  y[thread] = tile[thread * 4];
}
extern "C" __global__ void missing_bytes(const float* x, float* y) {
  __shared__ __align__(8) uint64_t barrier;
  if (threadIdx.x == 0) {
    init(&barrier, 1);
    asm volatile("{ .reg .b64 s; mbarrier.arrive.expect_tx.shared.b64 s, [%0], 4096; }" ::"r"(
                     address(&barrier))
                 : "memory");
    asm volatile(
        "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], 4080;" ::"r"(address(&barrier))
        : "memory");
  }
  __syncthreads();
  wait(&barrier, 0);
  y[threadIdx.x] = x[threadIdx.x];
}
// Bytes past `have` must come out as zeros; lanes with `ignore` read nothing.
extern "C" __global__ void zero_fill(const float* x, float* y, int have) {
  __shared__ __align__(16) float tile[256];
  const int thread = threadIdx.x;
  const int left = have - thread * 4;
  const int bytes = left <= 0 ? 0 : left >= 4 ? 16 : left * 4;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address(&tile[thread * 4])),
               "l"(x + (left <= 0 ? 0 : thread * 4)), "r"(bytes)
               : "memory");
  asm volatile(
      "{ .reg .pred p; setp.ne.u32 p, %2, 0;\n"
      "cp.async.ca.shared.global [%0], [%1], 4, p; }" ::"r"(address(&tile[128 + thread])),
      "l"(x + thread), "r"(thread & 1)
      : "memory");
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
  for (int i = thread; i < 160; i += 32) y[i] = tile[i];
}
