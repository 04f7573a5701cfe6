#include "vgpu/heap.h"

#include <iterator>

namespace fiel::vgpu {
namespace {
constexpr uint64_t kGap = 32;  ///< between blocks, so that overruns of small blocks are seen
}

void DeviceHeap::assign(uint64_t begin, uint64_t bytes) {
  begin_ = next_ = begin;
  end_ = begin + bytes;
  blocks_.clear();
}

uint64_t DeviceHeap::allocate(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes == 0 || bytes > end_ - begin_) return 0;
  const uint64_t span = (bytes + 15) / 16 * 16 + kGap;
  if (end_ - next_ >= span) {
    const uint64_t at = next_;
    next_ += span;
    blocks_[at] = Block{at + bytes, at + span, true};
    return at;
  }
  // Room is short: the first freed block that is large enough.
  for (auto& [at, block] : blocks_)
    if (!block.live && block.span_end - at >= span) {
      block.live = true;
      block.end = at + bytes;
      return at;
    }
  return 0;
}

DeviceHeap::Freed DeviceHeap::release(uint64_t address, uint64_t& bytes) {
  const std::lock_guard lock(mutex_);
  const auto it = blocks_.find(address);
  if (it == blocks_.end()) return Freed::never_allocated;
  if (!it->second.live) return Freed::twice;
  it->second.live = false;
  bytes = it->second.end - address;
  return Freed::yes;
}

bool DeviceHeap::find(uint64_t address, uint64_t bytes, uint64_t& begin, uint64_t& end,
                      bool& freed) const {
  const std::lock_guard lock(mutex_);
  freed = false;
  auto it = blocks_.upper_bound(address);
  if (it == blocks_.begin()) return false;
  --it;
  begin = it->first;
  end = it->second.end;
  if (address + bytes > end) return false;
  freed = !it->second.live;
  return it->second.live;
}

}  // namespace fiel::vgpu
