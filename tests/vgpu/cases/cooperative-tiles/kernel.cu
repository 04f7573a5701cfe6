// Tiles of every size, groups that a branch or a label makes, and what they compute together.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;

template <unsigned kSize>
__device__ int* tile_of(const int* x, int* y) {
  auto tile = cg::tiled_partition<kSize>(cg::this_thread_block());
  const int t = threadIdx.x, v = x[t];
  y[t] = cg::reduce(tile, v, cg::plus<int>());
  y[64 + t] = cg::reduce(tile, v, cg::greater<int>());
  y[128 + t] = cg::inclusive_scan(tile, v);
  y[192 + t] = cg::exclusive_scan(tile, v, cg::bit_xor<int>());
  y[256 + t] = tile.shfl(v, tile.num_threads() - 1) + tile.shfl_xor(v, 1) + tile.shfl_up(v, 1);
  y[320 + t] = static_cast<int>(tile.ballot(v & 1)) + tile.all(v > 0) + 2 * tile.any(v > 90) + 4 * tile.meta_group_rank();
  return y + 384;
}
extern "C" __global__ void tiles(const int* x, int* y) {
  y = tile_of<32>(x, y);
  y = tile_of<16>(x, y);
  y = tile_of<8>(x, y);
  y = tile_of<4>(x, y);
  y = tile_of<2>(x, y);
}
extern "C" __global__ void groups(const int* x, int* y) {
  const int t = threadIdx.x, v = x[t];
  auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  auto same = cg::labeled_partition(tile, v % 5);
  y[t] = cg::reduce(same, v, cg::plus<int>()) * 100 + static_cast<int>(same.thread_rank());
  auto half = cg::binary_partition(tile, (v & 2) != 0);
  y[64 + t] = static_cast<int>(half.num_threads()) * 1000 + half.shfl(v, 0);
  y[128 + t] = 0;
  if (v % 3 != 0) {
    auto active = cg::coalesced_threads();
    y[128 + t] = static_cast<int>(active.num_threads()) * 1000 + cg::reduce(active, v, cg::bit_or<int>());
    if (active.thread_rank() & 1) {
      auto odd = cg::coalesced_threads();
      y[128 + t] += 100000 * static_cast<int>(odd.num_threads()) + 10000000 * static_cast<int>(odd.match_any(v & 3) != 0);
    }
  }
}
// Tiles whose lanes come to one shuffle at different times: the lanes 12 to 15 wait for what the first
// tile does behind it, while the other half of their tile is there already.
extern "C" __global__ void apart(int* y) {
  __shared__ volatile int turn;
  const int t = threadIdx.x;
  auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  if (t == 0) turn = 0;
  cg::this_thread_block().sync();
  int v = 10 * t;
  while (t >= 12 && turn < t / 8) {
  }
  v += tile.shfl(v, (tile.thread_rank() + 3) % 8);
  if (tile.thread_rank() == 0) turn = t / 8 + 1;
  y[t] = v;
}
