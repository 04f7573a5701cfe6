#include <cooperative_groups.h>
extern "C" __global__ void shift(float* x, float* y, int n) {
  auto grid = cooperative_groups::this_grid();
  const int i = static_cast<int>(grid.thread_rank());
  x[i] *= 2;
  grid.sync();
  y[i] = x[i] + x[(i + 1) % n];
}
