// How many memory transactions one warp-level request needs, from its addresses alone.
//
//   SectorCount s = count_sectors(addresses, mask, 4);        // global: 32-byte sectors
//   uint32_t w = count_wavefronts(offsets, mask, 16);         // shared: passes over the 32 banks
//
// Sectors: distinct 32-byte lines of all lanes (CUDA C++ Best Practices Guide, coalesced access).
// Wavefronts: a shared-memory pass serves one 4-byte word of each of 32 banks, any number of lanes
// of the same word; 8-byte accesses take the warp in two halves, 16-byte ones in four quarters.
#pragma once

#include <bit>
#include <cstdint>

namespace fiel::vgpu {

struct SectorCount {
  uint32_t sectors = 0;
  uint32_t ideal = 0;  ///< sectors that the distinct bytes would fill without gaps
};

/// A set of at most 64 keys, open addressing, on the stack.
class SmallSet {
 public:
  bool insert(uint64_t key) {
    uint32_t at = static_cast<uint32_t>((key * 0x9e3779b97f4a7c15ull) >> 57);
    for (;; at = (at + 1) & 127) {
      uint64_t bit = uint64_t{1} << (at & 63);
      if ((used_[at >> 6] & bit) == 0) {
        used_[at >> 6] |= bit;
        keys_[at] = key;
        return true;
      }
      if (keys_[at] == key) return false;
    }
  }

 private:
  uint64_t used_[2] = {0, 0};
  uint64_t keys_[128];
};

constexpr uint32_t sectors_of_range(uint64_t begin, uint64_t bytes) {
  return static_cast<uint32_t>(((begin + bytes - 1) >> 5) - (begin >> 5) + 1);
}

/// `bytes` of each lane, naturally aligned or not, up to 64.
inline SectorCount count_sectors(const uint64_t* addresses, uint32_t mask, uint32_t bytes) {
  SectorCount count;
  uint64_t previous = 0, last_sector = 0;
  uint32_t distinct = 0;
  bool first = true;
  for (uint32_t m = mask; m != 0; m &= m - 1) {  // ascending lanes, ascending addresses: one pass
    uint64_t a = addresses[std::countr_zero(m)];
    if (!first && a < previous) goto unordered;
    distinct += first || a != previous;
    uint64_t begin = a >> 5, end = (a + bytes - 1) >> 5;
    if (first || begin > last_sector)
      count.sectors += static_cast<uint32_t>(end - begin + 1);
    else if (end > last_sector)
      count.sectors += static_cast<uint32_t>(end - last_sector);
    if (first || end > last_sector) last_sector = end;
    previous = a;
    first = false;
  }
  count.ideal = (distinct * bytes + 31) / 32;
  return count;
unordered:
  SmallSet sectors, starts;
  count.sectors = distinct = 0;
  for (uint32_t m = mask; m != 0; m &= m - 1) {
    uint64_t a = addresses[std::countr_zero(m)];
    if (!starts.insert(a)) continue;
    ++distinct;
    for (uint64_t s = a >> 5; s <= (a + bytes - 1) >> 5; ++s) count.sectors += sectors.insert(s);
  }
  count.ideal = (distinct * bytes + 31) / 32;
  return count;
}

/// One phase: the lanes of `mask`, each with `words` consecutive 4-byte words.
inline uint32_t wavefronts_of_phase(const uint64_t* offsets, uint32_t mask, uint32_t words) {
  // Words seen in each bank, as a list through `next`; most banks hold one or two.
  uint64_t word[64];
  uint8_t head[32], next[64], depth[32];
  uint32_t used = 0, n = 0, deepest = 0;
  for (uint32_t m = mask; m != 0; m &= m - 1) {
    uint64_t base = offsets[std::countr_zero(m)] >> 2;
    for (uint32_t i = 0; i < words; ++i) {
      uint64_t w = base + i;
      uint32_t bank = static_cast<uint32_t>(w & 31), bit = 1u << bank;
      if ((used & bit) == 0) {
        used |= bit;
        head[bank] = 0xff;
        depth[bank] = 0;
      }
      uint8_t at = head[bank];
      while (at != 0xff && word[at] != w) at = next[at];
      if (at != 0xff || n == 64) continue;
      word[n] = w;
      next[n] = head[bank];
      head[bank] = static_cast<uint8_t>(n++);
      if (++depth[bank] > deepest) deepest = depth[bank];
    }
  }
  return deepest;
}

/// Eight aligned 16-byte accesses: each takes four neighbouring banks whole, so that what is
/// distinct in one of them is distinct in all four.
inline uint32_t wavefronts_of_quads(const uint64_t* offsets, uint32_t mask) {
  uint64_t seen[8][8];
  uint8_t depth[8] = {};
  uint32_t deepest = 0;
  for (uint32_t m = mask; m != 0; m &= m - 1) {
    const uint64_t quad = offsets[std::countr_zero(m)] >> 4;
    const uint32_t group = static_cast<uint32_t>(quad & 7);
    uint32_t i = 0;
    while (i < depth[group] && seen[group][i] != quad) ++i;
    if (i < depth[group]) continue;
    seen[group][depth[group]++] = quad;
    if (depth[group] > deepest) deepest = depth[group];
  }
  return deepest;
}

inline uint32_t count_wavefronts(const uint64_t* offsets, uint32_t mask, uint32_t bytes) {
  if (mask == 0) return 0;
  uint32_t words = bytes < 4 ? 1 : bytes / 4;
  if (bytes == 16) {
    uint64_t low = 0;
    for (uint32_t m = mask; m != 0; m &= m - 1) low |= offsets[std::countr_zero(m)];
    uint32_t total = 0;
    if ((low & 15) == 0) {
      for (uint32_t from = 0; from < 32; from += 8)
        if ((mask & (0xffu << from)) != 0)
          total += wavefronts_of_quads(offsets, mask & (0xffu << from));
      return total;
    }
  }
  if (words == 1) return wavefronts_of_phase(offsets, mask, 1);
  uint32_t lanes_a_phase = words == 2 ? 16 : 8, total = 0;
  for (uint32_t from = 0; from < 32; from += lanes_a_phase) {
    uint32_t phase = mask & (((1u << lanes_a_phase) - 1) << from);
    if (phase != 0) total += wavefronts_of_phase(offsets, phase, words > 4 ? 4 : words);
  }
  return total;
}

/// What the same lanes would need without conflicts.
inline uint32_t ideal_wavefronts(uint32_t mask, uint32_t bytes) {
  if (mask == 0) return 0;
  if (bytes <= 4) return 1;
  uint32_t lanes_a_phase = bytes == 8 ? 16 : 8, total = 0;
  for (uint32_t from = 0; from < 32; from += lanes_a_phase)
    total += (mask & (((1u << lanes_a_phase) - 1) << from)) != 0;
  return total;
}

}  // namespace fiel::vgpu
