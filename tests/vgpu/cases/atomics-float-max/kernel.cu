extern "C" __global__ void float_max(const float* x, int n, float* top) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int* word = reinterpret_cast<int*>(top);
  int old = *reinterpret_cast<volatile int*>(word), assumed;
  do {
    assumed = old;
    if (__int_as_float(assumed) >= x[i]) break;
    old = atomicCAS(word, assumed, __float_as_int(x[i]));
  } while (old != assumed);
}
