// Adds to what is there; the second kernel stores it again.
extern "C" __global__ void add_all(int* y) { atomicAdd(&y[threadIdx.x & 7], 1); }
extern "C" __global__ void add_and_store(int* y) {
  const int old = atomicAdd(&y[threadIdx.x], 1);
  if (threadIdx.x < 4) y[threadIdx.x] = old + 5;
}
