#include <algorithm>
#include <bit>
#include <cstring>

#include "vgpu/race.h"

namespace fiel::vgpu {

bool BlockClocks::start_block(uint32_t n_warps) {
  base_ = std::max(base_, highest_);
  if (base_ > kMaxClock / 2) return false;
  n_warps_ = n_warps;
  overflowed_ = false;
  // Own clocks start one above everything that earlier blocks did, and know all of that.
  for (uint32_t w = 0; w < n_warps; ++w) {
    rows_[w].fill(base_);
    rows_[w][w] = base_ + 1;
    fenced_[0][w].fill(base_);
    fenced_[1][w].fill(base_);
    floor_[w] = base_;
  }
  highest_ = base_ + 1;
  return true;
}

void BlockClocks::update_floor(uint32_t warp) {
  uint32_t low = ~0u;
  for (uint32_t r = 0; r < n_warps_; ++r)
    if (r != warp) low = std::min(low, rows_[warp][r]);
  // A lone warp is ordered after itself only up to its last tick.
  floor_[warp] = std::min(low, rows_[warp][warp] - 1);
}

void BlockClocks::barrier(uint32_t arriving, uint32_t leaving) {
  ClockRow joined{}, fenced{};
  uint32_t highest = 0;
  for (uint32_t m = arriving | leaving; m != 0; m &= m - 1)
    highest = std::max(highest, own(static_cast<uint32_t>(std::countr_zero(m))));
  for (uint32_t m = arriving; m != 0; m &= m - 1) {
    uint32_t a = static_cast<uint32_t>(std::countr_zero(m));
    for (uint32_t i = 0; i < n_warps_; ++i) joined[i] = std::max(joined[i], rows_[a][i]);
    for (uint32_t i = 0; i < n_warps_; ++i) fenced[i] = std::max(fenced[i], fenced_[1][a][i]);
  }
  // All that the arriving warps did so far has a clock <= highest, all they will do a greater one:
  // one common number keeps floor() high, and with it the fast path of SharedRaces.
  for (uint32_t m = arriving; m != 0; m &= m - 1)
    joined[static_cast<uint32_t>(std::countr_zero(m))] = highest;
  uint32_t next = std::min(highest + 1, kMaxClock);
  overflowed_ = overflowed_ || next == kMaxClock;
  highest_ = std::max(highest_, next);
  for (uint32_t m = leaving; m != 0; m &= m - 1) {
    uint32_t w = static_cast<uint32_t>(std::countr_zero(m));
    for (uint32_t i = 0; i < n_warps_; ++i) rows_[w][i] = std::max(rows_[w][i], joined[i]);
    rows_[w][w] = next;
    // bar.sync orders like a fence of block scope, not of device scope.
    fenced_[0][w] = rows_[w];
    fenced_[0][w][w] = next - 1;
    // What each thread has fenced at device scope before the barrier, one of them publishes after
    // it: every thread stores and fences, thread 0 counts the block in.
    for (uint32_t i = 0; i < n_warps_; ++i)
      fenced_[1][w][i] = std::max(fenced_[1][w][i], fenced[i]);
    update_floor(w);
  }
  for (uint32_t m = arriving & ~leaving; m != 0; m &= m - 1) {
    uint32_t w = static_cast<uint32_t>(std::countr_zero(m));
    rows_[w][w] = next;
    update_floor(w);
  }
}

void BlockClocks::tick(uint32_t warp) {
  uint32_t next = std::min(rows_[warp][warp] + 1, kMaxClock);
  overflowed_ = overflowed_ || next == kMaxClock;
  rows_[warp][warp] = next;
  highest_ = std::max(highest_, next);
  if (n_warps_ == 1) floor_[warp] = next - 1;
}

void BlockClocks::fence(uint32_t warp, bool device_scope) {
  fenced_[0][warp] = rows_[warp];
  if (device_scope) fenced_[1][warp] = rows_[warp];
  tick(warp);
}

void BlockClocks::join(uint32_t warp, const ClockRow& other) {
  uint32_t mine = rows_[warp][warp];
  for (uint32_t i = 0; i < n_warps_; ++i) rows_[warp][i] = std::max(rows_[warp][i], other[i]);
  rows_[warp][warp] = mine;
  update_floor(warp);
}

bool find_lanes_that_meet(const RaceRequest& request, uint32_t& lane, uint32_t& other) {
  // A 256-bit filter first: distinct bits mean distinct addresses.
  uint64_t seen[4] = {};
  bool collision = false;
  int shift = std::countr_zero(request.bytes);
  for (uint32_t m = request.mask; m != 0; m &= m - 1) {
    uint64_t unit = request.addresses[std::countr_zero(m)] >> shift;
    uint64_t bit = uint64_t{1} << (unit & 63);
    collision = collision || (seen[unit >> 6 & 3] & bit) != 0;
    seen[unit >> 6 & 3] |= bit;
  }
  if (!collision) return false;
  for (uint32_t m = request.mask; m != 0; m &= m - 1) {
    lane = static_cast<uint32_t>(std::countr_zero(m));
    for (uint32_t n = m & (m - 1); n != 0; n &= n - 1) {
      other = static_cast<uint32_t>(std::countr_zero(n));
      if (request.addresses[lane] == request.addresses[other]) return true;
    }
  }
  return false;
}

bool lanes_write_equal_values(const RaceRequest& request, uint32_t lane, uint32_t other) {
  return request.values != nullptr &&
         std::memcmp(request.values + size_t{lane} * request.value_stride,
                     request.values + size_t{other} * request.value_stride,
                     std::min(request.bytes, request.value_stride)) == 0;
}

}  // namespace fiel::vgpu
