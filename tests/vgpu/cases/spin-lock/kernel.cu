// Lanes of one warp compete for a lock: only independent thread scheduling gets them through.
extern "C" __global__ void spin(int* lock, volatile int* n, int rounds) {
  for (int k = 0; k < rounds; ++k) {
    while (atomicCAS(lock, 0, 1) != 0) {
    }
    *n = *n + 1;
    __threadfence();
    atomicExch(lock, 0);
  }
}
