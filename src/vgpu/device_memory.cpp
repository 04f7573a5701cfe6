// Memory calls of the device: bounds against allocations, and what they mean for the shadow.
#include <fmt/core.h>

#include <cstring>

#include "vgpu/device_impl.h"

namespace fiel::vgpu {
namespace {

uint8_t* host(uint64_t address) { return reinterpret_cast<uint8_t*>(address); }

}  // namespace

Result<const Allocation*> VirtualDevice::range(uint64_t address, uint64_t bytes,
                                               std::string_view what) const {
  const Allocation* allocation = arena_.find(address);
  if (allocation == nullptr && bytes == 0) allocation = arena_.find(address - 1);
  if (allocation == nullptr || !allocation->live)
    return fail(ErrorCode::usage,
                fmt::format("{} at 0x{:x}: {}", what, address, arena_.describe(address)));
  if (bytes > allocation->end - address)
    return fail(ErrorCode::usage,
                fmt::format("{} of {} bytes runs {} bytes past the end of '{}' ({} bytes)", what,
                            bytes, bytes - (allocation->end - address), allocation->label,
                            allocation->end - allocation->begin));
  return allocation;
}

Result<Allocation*> VirtualDevice::range(uint64_t address, uint64_t bytes, std::string_view what) {
  FIEL_TRY(const Allocation* found,
           static_cast<const VirtualDevice*>(this)->range(address, bytes, what));
  return const_cast<Allocation*>(found);
}

Result<uint64_t> VirtualDevice::allocate(uint64_t bytes, std::string_view label) {
  if (bytes > options_.memory_bytes || memory_in_use() > options_.memory_bytes - bytes)
    return fail(ErrorCode::limit,
                fmt::format("out of device memory: '{}' wants {} bytes, {} of {} are in use", label,
                            bytes, memory_in_use(), options_.memory_bytes));
  FIEL_TRY(const uint64_t at, arena_.allocate(bytes, label));
  memset(host(at), 0xff, bytes);
  return at;
}

Result<uint64_t> VirtualDevice::map_host(void* memory, uint64_t bytes, std::string_view label) {
  return arena_.map_host(memory, bytes, label);
}

Status VirtualDevice::free(uint64_t address) {
  if (address == 0) return {};
  return arena_.release(address);
}

Status VirtualDevice::write(uint64_t address, std::span<const std::byte> bytes) {
  FIEL_TRY(Allocation * allocation, range(address, bytes.size(), "write"));
  if (!bytes.empty()) memcpy(host(address), bytes.data(), bytes.size());
  allocation->copied += bytes.size();
  return mark_initialized(address, bytes.size());
}

Status VirtualDevice::read(uint64_t address, std::span<std::byte> bytes) const {
  FIEL_TRY_STATUS(range(address, bytes.size(), "read").map([](const Allocation*) {}));
  if (!bytes.empty()) memcpy(bytes.data(), host(address), bytes.size());
  return {};
}

Status VirtualDevice::fill(uint64_t address, uint8_t value, uint64_t bytes) {
  FIEL_TRY(Allocation * allocation, range(address, bytes, "fill"));
  memset(host(address), value, bytes);
  allocation->copied += bytes;
  return mark_initialized(address, bytes);
}

Status VirtualDevice::copy(uint64_t to, uint64_t from, uint64_t bytes) {
  FIEL_TRY(Allocation * target, range(to, bytes, "copy to"));
  FIEL_TRY(Allocation * source, range(from, bytes, "copy from"));
  memmove(host(to), host(from), bytes);
  target->copied += bytes;
  if (source->filled) return mark_initialized(to, bytes);
  if (target->filled) {
    // From now on the target's own shadow must tell.
    target->filled = false;
    if (!target->output) arena_.set_state(target->begin, target->end - target->begin, 1);
  }
  arena_.copy_state(to, from, bytes);
  return {};
}

Status VirtualDevice::poison(uint64_t address, uint64_t bytes, uint8_t pattern) {
  FIEL_TRY(Allocation * allocation, range(address, bytes, "poison"));
  if (allocation->filled) {
    allocation->filled = false;
    arena_.set_state(allocation->begin, allocation->end - allocation->begin, 1);
  }
  memset(host(address), pattern, bytes);
  arena_.set_state(address, bytes, 0);
  return {};
}

Status VirtualDevice::mark_initialized(uint64_t address, uint64_t bytes) {
  FIEL_TRY(Allocation * allocation, range(address, bytes, "mark_initialized"));
  if (allocation->filled) return {};
  if (!allocation->output && address == allocation->begin && bytes == allocation->end - address) {
    allocation->filled = true;
    return {};
  }
  // Of an output, what was counted as written stays counted.
  if (!allocation->output) {
    arena_.set_state(address, bytes, 1);
    return {};
  }
  for (uint64_t i = 0; i < bytes; ++i)
    if (arena_.state_of(address + i) == 0) arena_.set_state(address + i, 1, 1);
  return {};
}

Status VirtualDevice::mark_output(uint64_t address) {
  FIEL_TRY(Allocation * allocation, range(address, 0, "mark_output"));
  const uint64_t bytes = allocation->end - allocation->begin;
  allocation->copied = 0;
  if (allocation->filled) {
    // It stays filled: loads need not look, and stores count in a shadow that tells the truth.
    allocation->output = true;
    arena_.set_state(allocation->begin, bytes, 1);
    return {};
  }
  allocation->output = true;
  // 2 and 3 (counted before) become 1.
  uint8_t* shadow = arena_.shadow_of(allocation->begin);
  for (uint64_t i = 0; i < (bytes + 3) / 4; ++i)
    shadow[i] = static_cast<uint8_t>((shadow[i] | shadow[i] >> 1) & 0x55);
  return {};
}

Result<Coverage> VirtualDevice::coverage(uint64_t address) const {
  FIEL_TRY(const Allocation* allocation, range(address, 0, "coverage"));
  if (!allocation->output)
    return fail(ErrorCode::usage,
                fmt::format("'{}' was not declared an output", allocation->label));
  constexpr size_t kMaxRuns = 64;
  Coverage coverage;
  coverage.bytes = allocation->end - allocation->begin;
  coverage.copied = allocation->copied;
  bool open = false, full = false;
  for (uint64_t i = 0; i < coverage.bytes; ++i) {
    const uint64_t at = allocation->begin + i;
    if ((at & 3) == 0 && i + 4 <= coverage.bytes) {
      const uint8_t word = *arena_.shadow_of(at);
      if ((word & 0xAA) == 0xAA) {
        coverage.written += 4;
        coverage.written_more_than_once += static_cast<uint64_t>(__builtin_popcount(word & 0x55));
        open = false;
        i += 3;
        continue;
      }
      if ((word & 0xAA) == 0 && open) {  // inputs: not one byte of them is to be written
        i += 3;
        if (!full) coverage.missing.back().end = i + 1;
        continue;
      }
    }
    const uint8_t state = arena_.state_of(at);
    if (state >= 2) {
      ++coverage.written;
      coverage.written_more_than_once += state == 3 ? 1 : 0;
      open = false;
      continue;
    }
    if (open) {
      if (!full) coverage.missing.back().end = i + 1;
      continue;
    }
    open = true;
    full = coverage.missing.size() >= kMaxRuns;
    if (!full) coverage.missing.push_back({i, i + 1});
  }
  return coverage;
}

}  // namespace fiel::vgpu
