// Remembers what the last request of an instruction cost: in a loop the lanes' addresses move
// together, and what counts are their distances and where the first one lies.
//
//   RequestPattern& last = patterns[op];
//   if (!last.recall(addresses, mask, bytes, 127)) last.cost = {count_wavefronts(…), 0};
//   use(last.cost);
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

namespace fiel::vgpu {

class RequestPattern {
 public:
  std::array<uint32_t, 2> cost{};

  /// True when this request is the last one moved by a multiple of phase_mask + 1 bytes: `cost`
  /// still holds. False: it is remembered now, and the caller sets `cost`.
  [[gnu::target("avx2")]] bool recall(const uint64_t* addresses, uint32_t mask, uint32_t bytes,
                                      uint64_t phase_mask) {
    const uint64_t base = addresses[std::countr_zero(mask)];
    uint32_t relative[32];
    uint64_t far = 0;
    for (int i = 0; i < 32; ++i) {
      const uint64_t active = 0 - uint64_t{mask >> i & 1};
      const uint64_t distance = (addresses[i] - base) & active;
      far |= (distance + (uint64_t{1} << 31)) >> 32;
      relative[i] = static_cast<uint32_t>(distance);
    }
    const uint32_t phase = static_cast<uint32_t>(base & phase_mask);
    if (mask == mask_ && bytes == bytes_ && phase == phase_ && far == 0 &&
        std::memcmp(relative, relative_, sizeof relative) == 0)
      return true;
    mask_ = far == 0 ? mask : 0;
    bytes_ = bytes;
    phase_ = phase;
    std::memcpy(relative_, relative, sizeof relative);
    return false;
  }

 private:
  uint32_t mask_ = 0, bytes_ = 0, phase_ = 0;  // mask 0: nothing is remembered
  uint32_t relative_[32] = {};
};

}  // namespace fiel::vgpu
