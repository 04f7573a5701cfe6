// Access patterns whose transactions are known by arithmetic.
extern "C" __global__ void loads(const float* x, float* y, int stride, int offset) {
  y[threadIdx.x] = x[threadIdx.x * stride + offset];
}
extern "C" __global__ void shared_column(float* y, int pitch) {
  __shared__ volatile float s[32 * 33];
  const int t = threadIdx.x;
  s[t * pitch] = t;
  __syncwarp();
  y[t] = s[t * pitch];
}
extern "C" __global__ void shared_float4(float4* y, int) {
  __shared__ float4 s[32];
  const int t = threadIdx.x;
  s[t] = make_float4(4 * t, 4 * t + 1, 4 * t + 2, 4 * t + 3);
  __syncwarp();
  y[t] = s[t];
}
extern "C" __global__ void one_address(int* p) { atomicAdd(p, 1); }
extern "C" __global__ void quads(const float4* x, float4* y) { y[threadIdx.x] = x[threadIdx.x / 4]; }
extern "C" __global__ void every_second(float4* y) {
  y[2 * threadIdx.x] = make_float4(1, 2, 3, 4);
}
