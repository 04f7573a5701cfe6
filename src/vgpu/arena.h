// Device memory: one reserved region, its allocations, and the shadow that knows which bytes hold
// data.
//
//   Arena arena; FIEL_TRY_STATUS(arena.reserve(bytes));
//   uint64_t x = *arena.allocate(4096, "x", 256);
//   const Allocation* a = arena.find(x + 12);
//
// The shadow has one byte for each aligned 4-byte word, two bits for each byte of it: 0 never
// written, 1 initialised, 2 written once since mark_output(), 3 written more often. An access of
// whole words is then a plain vector operation on shadow bytes, and two threads that write
// neighbouring words never share one. Not thread-safe, except that launches only read the table.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace fiel::vgpu {

inline constexpr uint64_t kRedZone = 4096;
inline constexpr uint8_t kShadowInitialized = 0x55;  ///< all four bytes of a word

struct Allocation {
  uint64_t begin = 0, end = 0;  ///< exact bytes
  std::string label;
  bool live = true;
  bool read_only = false;  ///< constant memory, parameter block
  bool filled = false;     ///< every byte initialised: loads need not look at the shadow
  bool output = false;     ///< coverage is counted
  uint64_t copied = 0;     ///< output: bytes that copies and memsets have written meanwhile
  bool host = false;       ///< maps host memory
  bool heap = false;       ///< the device heap: blocks inside it are malloc's
  uint64_t reserved_begin = 0, reserved_end = 0;  ///< with red zones, page multiples
};

class Arena {
 public:
  Arena() = default;
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  Status reserve(uint64_t capacity);
  Result<uint64_t> allocate(uint64_t bytes, std::string_view label);
  Result<uint64_t> map_host(void* memory, uint64_t bytes, std::string_view label);
  Status release(uint64_t address);

  /// The live or freed allocation that contains the address, or nothing.
  const Allocation* find(uint64_t address) const;
  Allocation* find(uint64_t address) {
    return const_cast<Allocation*>(static_cast<const Arena*>(this)->find(address));
  }
  /// "4 bytes past the end of 'x' (1024 bytes at 0x…)"
  std::string describe(uint64_t address) const;

  uint64_t base() const { return base_; }
  uint64_t end() const { return base_ + capacity_; }
  uint8_t* shadow_of(uint64_t address) const { return shadow_ + ((address - base_) >> 2); }
  /// Sets the two-bit state of each byte of a range.
  void set_state(uint64_t address, uint64_t bytes, uint8_t state);
  /// Carries states to another place (device-to-device copies).
  void copy_state(uint64_t to, uint64_t from, uint64_t bytes);
  uint8_t state_of(uint64_t address) const {
    return (*shadow_of(address) >> (2 * (address & 3))) & 3;
  }

  uint64_t in_use() const { return in_use_; }
  uint64_t peak() const { return peak_; }
  void reset_peak() { peak_ = in_use_; }

 private:
  Result<uint64_t> place(uint64_t bytes, std::string_view label);
  void reuse_freed();

  uint64_t base_ = 0, capacity_ = 0, next_ = 0;
  uint8_t* shadow_ = nullptr;
  uint64_t in_use_ = 0, peak_ = 0;
  std::map<uint64_t, Allocation> table_;              ///< by reserved_begin
  std::vector<std::pair<uint64_t, uint64_t>> holes_;  ///< recycled spans [begin, end)
};

}  // namespace fiel::vgpu
