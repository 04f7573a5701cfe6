// Many phases of a grid, each of which reads what other blocks wrote in the one before.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

// The sums of all prefixes, by doubling strides between two buffers.
extern "C" __global__ void prefix(int* x, int* z, int n) {
  auto grid = cg::this_grid();
  const int i = static_cast<int>(grid.thread_rank());
  int* from = x;
  int* to = z;
  for (int stride = 1; stride < n; stride *= 2) {
    if (i < n) to[i] = from[i] + (i >= stride ? from[i - stride] : 0);
    grid.sync();
    int* const other = from;
    from = to;
    to = other;
  }
  if (i < n) to[i] = -from[i];
}
// Blocks of three dimensions; one reduces what all left, in turns.
extern "C" __global__ void turns(unsigned* partial, unsigned* y) {
  __shared__ unsigned sum;
  auto grid = cg::this_grid();
  auto block = cg::this_thread_block();
  for (unsigned turn = 0; turn < grid.num_blocks(); ++turn) {
    if (block.thread_rank() == 0) sum = 0;
    block.sync();
    atomicAdd(&sum, block.thread_rank() * (turn + 1) + blockIdx.x + 10 * blockIdx.y + 100 * blockIdx.z);
    block.sync();
    if (block.thread_rank() == 0) partial[grid.block_rank()] = sum;
    grid.sync();
    if (grid.block_rank() == turn && block.thread_rank() == 0) {
      unsigned all = 0;
      for (unsigned b = 0; b < grid.num_blocks(); ++b) all = all * 7 + partial[b];
      y[turn] = all;
    }
    grid.sync();
  }
}
