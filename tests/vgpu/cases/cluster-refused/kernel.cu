extern "C" __global__ void __cluster_dims__(2, 1, 1) pair(int* y) {
  y[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}
