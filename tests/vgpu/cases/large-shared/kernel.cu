// More dynamic shared memory than fits without asking for it, up to the last byte.
extern "C" __global__ void reverse(const unsigned* x, unsigned* y, int n) {
  extern __shared__ unsigned words[];
  for (int i = threadIdx.x; i < n; i += blockDim.x) words[i] = x[i % 256] + i;
  __syncthreads();
  unsigned sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) sum = sum * 31 + words[n - 1 - i];
  y[threadIdx.x] = sum;
}
