// Arguments beyond 105615 take the Payne-Hanek path: carry chains and high products.
extern "C" __global__ void sines(const float* x, float* s, float* c) {
  s[threadIdx.x] = sinf(x[threadIdx.x]);
  c[threadIdx.x] = cosf(x[threadIdx.x]);
}
#ifdef ON_A_GPU  // nvcc -arch=sm_90 -DON_A_GPU kernel.cu: prints the answers of case.toml
#include <cstdio>
#include <cstring>
int main() {
  const float x[8] = {1e20f, -1e20f, 1e10f, 3.4e38f, 105616.0f, 12345678.0f, 4.2e15f, 1.0f};
  float *dx, *d, h[16];
  cudaMalloc(&dx, sizeof x);
  cudaMalloc(&d, sizeof h);
  cudaMemcpy(dx, x, sizeof x, cudaMemcpyHostToDevice);
  sines<<<1, 8>>>(dx, d, d + 8);
  if (cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost) != cudaSuccess) return 1;
  for (int i = 0; i < 16; ++i) {
    unsigned bits;
    memcpy(&bits, &h[i], 4);
    printf("%u%s", bits, i % 8 == 7 ? "\n" : ", ");
  }
}
#endif
