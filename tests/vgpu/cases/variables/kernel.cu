__constant__ int table[4] = {1, 2, 3, 4};
__device__ float scale[3] = {0.5f, 1.5f, 2.5f};
__device__ const int* cursor = &table[0];
__device__ int counter = 40;
extern "C" __global__ void use(float* o) {
  extern __shared__ float dynamic[];
  __shared__ float fixed[5];
  const int t = threadIdx.x;
  fixed[t] = table[t];
  dynamic[t] = scale[t];
  __syncthreads();
  o[t] = fixed[2 - t] * dynamic[2 - t] + atomicAdd(&counter, 1) * 0 + counter;
}
extern "C" __global__ void __launch_bounds__(64) bounded(float* o) { o[threadIdx.x] = 1; }
