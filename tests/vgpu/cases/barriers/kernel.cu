extern "C" __global__ void early(int* out) {
  __shared__ int s[64];
  const int t = threadIdx.x;
  if (t >= 40) return;
  s[t] = t;
  __syncthreads();
  out[t] = s[39 - t];
}
extern "C" __global__ void counting(int* out) {
  const int t = threadIdx.x;
  const int a = __syncthreads_count(t & 1);
  const int b = __syncthreads_or(t == 3);
  const int c = __syncthreads_and(t == 3);
  const int d = __syncthreads_and(t < 1000);
  if (t == 200) {
    out[0] = a;
    out[1] = b;
    out[2] = c;
    out[3] = d;
  }
}
// Warp 0 produces, warp 1 consumes: bar.arrive and bar.sync on barrier 1.
extern "C" __global__ void pipeline(int* out) {
  __shared__ int s[32];
  const int t = threadIdx.x;
  if (t < 32) {
    s[t] = 5 * t;
    __threadfence_block();
    asm volatile("bar.arrive 1, 64;" ::: "memory");
  } else {
    asm volatile("bar.sync 1, 64;" ::: "memory");
    out[t - 32] = s[63 - t];
  }
}
extern "C" __global__ void divergent(int* out) {
  const int t = threadIdx.x;
  if (t < 16) __syncthreads();
  out[t] = t;
}
extern "C" __global__ void deadlock(int* out) {
  if (threadIdx.x < 32)
    asm volatile("bar.sync 1, 64;" ::: "memory");
  else
    asm volatile("bar.sync 2, 64;" ::: "memory");
  out[threadIdx.x] = 1;
}
extern "C" __global__ void bad_count(int n, int* out) {
  asm volatile("bar.sync 1, %0;" ::"r"(n) : "memory");
  out[threadIdx.x] = 1;
}
