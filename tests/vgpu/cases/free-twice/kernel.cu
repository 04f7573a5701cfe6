extern "C" __global__ void twice(int* y) {
  int* p = static_cast<int*>(malloc(16));
  p[0] = 7;
  y[threadIdx.x] = p[0];
  free(p);
  free(p);
}
extern "C" __global__ void foreign(int* y) {
  if (threadIdx.x == 3) free(y);
}
