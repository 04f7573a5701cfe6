// A cluster of one block is a block.
extern "C" __global__ void __cluster_dims__(1, 1, 1) alone(int* y) {
  y[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}
