// exch and cas of 16, 32 and 64 bits, and additions of halves, alone and in pairs.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cstdint>

// A thread's own words; what came back, then what is there.
template <typename T>
__device__ void exchange(T* own, T* y) {
  const int t = threadIdx.x;
  y[t] = atomicExch(own + t, static_cast<T>(1000 + t));
  y[64 + t] = atomicCAS(own + t, static_cast<T>(1000 + (t & ~1)), static_cast<T>(5 * t));
  y[128 + t] = own[t];
}
extern "C" __global__ void words(uint32_t* own, uint32_t* y) {
  __shared__ uint32_t s[64];
  s[threadIdx.x] = own[threadIdx.x];
  exchange(own, y);
  exchange(s, y + 192);
}
extern "C" __global__ void wide(unsigned long long* own, unsigned long long* y) {
  __shared__ unsigned long long s[64];
  s[threadIdx.x] = own[threadIdx.x];
  exchange(own, y);
  exchange(s, y + 192);
}
// Halves of a word: the neighbour's must stay.
extern "C" __global__ void halves(unsigned short* own, unsigned short* y) {
  __shared__ unsigned short s[64];
  const int t = threadIdx.x;
  s[t] = own[t];
  __syncthreads();
  y[t] = atomicCAS(own + t, static_cast<unsigned short>(100 + (t & ~3)), static_cast<unsigned short>(7 * t));
  y[64 + t] = atomicCAS(s + t, static_cast<unsigned short>(100 + (t | 1)), static_cast<unsigned short>(9 * t));
  __syncthreads();
  y[128 + t] = own[t];
  y[192 + t] = s[t];
}
// Sixteen lanes add to one word; small integers are exact in any order.
extern "C" __global__ void additions(__half* h, __half2* h2, __nv_bfloat16* b, __nv_bfloat162* b2) {
  __shared__ __half sh[4];
  __shared__ __half2 sh2[4];
  __shared__ __nv_bfloat16 sb[4];
  __shared__ __nv_bfloat162 sb2[4];
  const int t = threadIdx.x, i = t / 16;
  if (t < 4) {
    sh[t] = __float2half(t);
    sh2[t] = __floats2half2_rn(t, -t);
    sb[t] = __float2bfloat16(2 * t);
    sb2[t] = __floats2bfloat162_rn(-t, t);
  }
  __syncthreads();
  const float v = t % 16;
  atomicAdd(h + i, __float2half(v));
  atomicAdd(h2 + i, __floats2half2_rn(v, 2 * v));
  atomicAdd(b + i, __float2bfloat16(v));
  atomicAdd(b2 + i, __floats2bfloat162_rn(-v, v));
  atomicAdd(sh + i, __float2half(v));
  atomicAdd(sh2 + i, __floats2half2_rn(v, 2 * v));
  atomicAdd(sb + i, __float2bfloat16(v));
  atomicAdd(sb2 + i, __floats2bfloat162_rn(-v, v));
  __syncthreads();
  if (t < 4) h[4 + t] = sh[t], h2[4 + t] = sh2[t], b[4 + t] = sb[t], b2[4 + t] = sb2[t];
}
// A counter that hands out numbers: each is given once, whoever is first.
extern "C" __global__ void tickets(unsigned* counter, unsigned* taken) {
  const unsigned mine = atomicAdd(counter, 1);
  atomicAdd(taken + mine, 1);
}
