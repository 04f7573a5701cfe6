extern "C" __global__ void stuck(int* lock, int* n) {
  while (atomicCAS(lock, 0, 1) != 0) {
  }
  *n = *n + 1;  // nobody gives the lock back
}
extern "C" __global__ void endless(int* n) {
  if (threadIdx.x == 0)
    while (true) n[1] += 1;
}
