extern "C" __global__ void read(const int* x, int* y, int offset) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[i + offset];
}
extern "C" __global__ void write(int* y, int offset) {
  y[blockIdx.x * blockDim.x + threadIdx.x + offset] = 7;
}
extern "C" __global__ void wide(const float4* x, float4* y) { y[threadIdx.x] = x[threadIdx.x]; }
extern "C" __global__ void shared_index(int* y, int i) {
  __shared__ int s[32];
  s[threadIdx.x] = 3;
  __syncthreads();
  y[threadIdx.x] = s[threadIdx.x + i];
}
extern "C" __global__ void shared_unwritten(int* y, int n) {
  __shared__ int s[32];
  if (threadIdx.x < n) s[threadIdx.x] = 3;
  __syncthreads();
  y[threadIdx.x] = s[threadIdx.x];
}
extern "C" __global__ void half_words(unsigned short* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = static_cast<unsigned short>(i);
}
extern "C" __global__ void twice(int* y) {
  y[threadIdx.x] = 1;
  __syncthreads();
  y[blockDim.x - 1 - threadIdx.x] = 2;
}
