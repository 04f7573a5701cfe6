// The device heap: malloc and free of kernels, inside one arena allocation.
//
//   uint64_t p = heap.allocate(64, executor); … heap.release(p);
//   heap.contains(p, 4)    // inside a live block?
//
// Blocks live until the kernel frees them or the device goes; thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>

namespace fiel::vgpu {

class DeviceHeap {
 public:
  void assign(uint64_t begin, uint64_t bytes);
  uint64_t allocate(uint64_t bytes);  ///< 0 when full
  enum class Freed : uint8_t { yes, never_allocated, twice };
  Freed release(uint64_t address, uint64_t& bytes);
  /// The live block that holds [address, address + bytes), as [begin, end); false when there is
  /// none. `freed`: it lies in a block that was freed.
  bool find(uint64_t address, uint64_t bytes, uint64_t& begin, uint64_t& end, bool& freed) const;
  bool covers(uint64_t address) const { return address >= begin_ && address < end_; }

 private:
  mutable std::mutex mutex_;
  uint64_t begin_ = 0, end_ = 0, next_ = 0;
  struct Block {
    uint64_t end = 0;       ///< exact
    uint64_t span_end = 0;  ///< with the gap behind it
    bool live = true;
  };
  std::map<uint64_t, Block> blocks_;
};

}  // namespace fiel::vgpu
