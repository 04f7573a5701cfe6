__device__ __forceinline__ int quotient(int a, int b) {
  return a / b;
}
__device__ __forceinline__ int shifted(int a, int b) {
  return quotient(a, b) + 1;
}
extern "C" __global__ void divide(const int* a, const int* b, int* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = shifted(a[i], b[i]);
}
extern "C" __global__ void remainder_wide(const long long* a, const long long* b, long long* y) {
  const int i = threadIdx.x;
  y[i] = b[i] == 3 ? a[i] : a[i] % b[i];
}
