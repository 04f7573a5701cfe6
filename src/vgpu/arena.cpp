#include "vgpu/arena.h"

#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace fiel::vgpu {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kSmallestArena = 1ull << 30;

uint64_t round_up(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

void* reserve_pages(uint64_t bytes) {
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return at == MAP_FAILED ? nullptr : at;
}

}  // namespace

Arena::~Arena() {
  if (base_ != 0) munmap(reinterpret_cast<void*>(base_), capacity_);
  if (shadow_ != nullptr) munmap(shadow_, capacity_ / 4);
}

Status Arena::reserve(uint64_t capacity) {
  // Address space may be limited (sandboxes): take what there is, allocate() still says "limit".
  for (capacity = round_up(capacity, 1u << 20); capacity >= kSmallestArena; capacity /= 2) {
    void* memory = reserve_pages(capacity);
    if (memory == nullptr) continue;
    void* shadow = reserve_pages(capacity / 4);
    if (shadow == nullptr) {
      munmap(memory, capacity);
      continue;
    }
    base_ = reinterpret_cast<uint64_t>(memory);
    shadow_ = static_cast<uint8_t*>(shadow);
    capacity_ = capacity;
    next_ = base_ + kRedZone;
    return {};
  }
  return fail(ErrorCode::environment, "cannot reserve address space for device memory",
              "raise the limit on address space (ulimit -v)");
}

Result<uint64_t> Arena::place(uint64_t bytes, std::string_view label) {
  const uint64_t span = round_up(bytes == 0 ? 1 : bytes, kPage) + kRedZone;
  uint64_t at = 0;
  for (size_t i = 0; i < holes_.size(); ++i) {
    auto& [begin, end] = holes_[i];
    if (end - begin < span) continue;
    at = begin;
    begin += span;
    if (begin == end) holes_.erase(holes_.begin() + static_cast<std::ptrdiff_t>(i));
    break;
  }
  if (at == 0) {
    if (span > base_ + capacity_ - next_) reuse_freed();
    if (span > base_ + capacity_ - next_) {
      for (const auto& [begin, end] : holes_)
        if (end - begin >= span) return place(bytes, label);
      return fail(ErrorCode::limit,
                  fmt::format("out of device address space for {} bytes ('{}')", bytes, label));
    }
    at = next_;
    next_ += span;
  }
  Allocation entry;
  entry.begin = at;
  entry.end = at + bytes;
  entry.label = label;
  entry.reserved_begin = at;
  entry.reserved_end = at + span;
  table_.emplace(at, std::move(entry));
  in_use_ += bytes;
  if (in_use_ > peak_) peak_ = in_use_;
  return at;
}

/// Freed spans stay poisoned as long as there is room elsewhere; now there is none.
void Arena::reuse_freed() {
  for (auto it = table_.begin(); it != table_.end();) {
    if (it->second.live) {
      ++it;
      continue;
    }
    holes_.emplace_back(it->second.reserved_begin, it->second.reserved_end);
    it = table_.erase(it);
  }
  std::sort(holes_.begin(), holes_.end());
  std::vector<std::pair<uint64_t, uint64_t>> joined;
  for (const auto& hole : holes_) {
    if (!joined.empty() && joined.back().second == hole.first)
      joined.back().second = hole.second;
    else
      joined.push_back(hole);
  }
  holes_ = std::move(joined);
}

Result<uint64_t> Arena::allocate(uint64_t bytes, std::string_view label) {
  if (bytes > capacity_)
    return fail(ErrorCode::limit, fmt::format("'{}' of {} bytes is more than the device address "
                                              "space of {} bytes",
                                              label, bytes, capacity_));
  FIEL_TRY(const uint64_t at, place(bytes, label));
  set_state(at, bytes, 0);
  return at;
}

Result<uint64_t> Arena::map_host(void* memory, uint64_t bytes, std::string_view label) {
  const auto from = reinterpret_cast<uintptr_t>(memory);
  if (from % kPage != 0) return fail(ErrorCode::usage, "host memory to map must start at a page");
  FIEL_TRY(const uint64_t at, allocate(bytes, label));
  // mremap with a length of 0 gives a second mapping of a shared region, in our place.
  const uint64_t span = round_up(bytes, kPage);
  void* mapped =
      mremap(memory, 0, span, MREMAP_MAYMOVE | MREMAP_FIXED, reinterpret_cast<void*>(at));
  if (mapped == MAP_FAILED) {
    static_cast<void>(release(at));
    return fail(ErrorCode::io, "cannot map host memory as device memory",
                "the region must be MAP_SHARED");
  }
  Allocation& entry = table_.find(at)->second;
  entry.host = true;
  entry.filled = true;
  set_state(at, bytes, 1);
  return at;
}

Status Arena::release(uint64_t address) {
  const auto it = table_.find(address);
  if (it == table_.end())
    return fail(ErrorCode::usage,
                fmt::format("free of 0x{:x}, which is not the start of an allocation", address));
  Allocation& entry = it->second;
  if (!entry.live) return fail(ErrorCode::usage, fmt::format("second free of '{}'", entry.label));
  entry.live = false;
  in_use_ -= entry.end - entry.begin;
  const uint64_t span = round_up(entry.end - entry.begin, kPage);
  if (span != 0) {
    // Gives the pages back (and unmaps host memory); what reads them later reads zeros, with a
    // finding.
    void* at = reinterpret_cast<void*>(entry.begin);
    mmap(at, span, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
         -1, 0);
    set_state(entry.begin, entry.end - entry.begin, 0);
  }
  return {};
}

const Allocation* Arena::find(uint64_t address) const {
  auto it = table_.upper_bound(address);
  if (it == table_.begin()) return nullptr;
  --it;
  return address < it->second.end ? &it->second : nullptr;
}

std::string Arena::describe(uint64_t address) const {
  const auto size_text = [](const Allocation& a) {
    return fmt::format("'{}' ({} bytes at 0x{:x})", a.label, a.end - a.begin, a.begin);
  };
  const auto after = table_.upper_bound(address);
  const Allocation* below = nullptr;
  if (after != table_.begin()) below = &std::prev(after)->second;
  if (below != nullptr && address < below->end)
    return below->live
               ? fmt::format("byte {} of {}", address - below->begin, size_text(*below))
               : fmt::format("byte {} of freed {}", address - below->begin, size_text(*below));
  const uint64_t past = below != nullptr ? address - below->end : ~0ull;
  const uint64_t before = after != table_.end() ? after->second.begin - address : ~0ull;
  constexpr uint64_t kNear = 1u << 20;
  if (past <= before && past < kNear)
    return fmt::format("{} bytes past the end of {}", past, size_text(*below));
  if (before < kNear)
    return fmt::format("{} bytes before the start of {}", before, size_text(after->second));
  if (address < kPage) return "near the null pointer";
  return "not in any allocation";
}

void Arena::set_state(uint64_t address, uint64_t bytes, uint8_t state) {
  const auto whole = static_cast<uint8_t>(state * 0x55);
  const auto set_byte = [&](uint64_t at) {
    uint8_t& word = *shadow_of(at);
    const uint32_t shift = 2 * (at & 3);
    word = static_cast<uint8_t>((word & ~(3u << shift)) | static_cast<uint32_t>(state) << shift);
  };
  while (bytes > 0 && (address & 3) != 0) {
    set_byte(address++);
    --bytes;
  }
  const uint64_t words = bytes / 4;
  // Untouched shadow pages are zero: clearing large ranges gives the pages back instead.
  if (whole == 0 && words > (1u << 20)) {
    const uint64_t begin = round_up(reinterpret_cast<uint64_t>(shadow_of(address)), kPage);
    const uint64_t end = (reinterpret_cast<uint64_t>(shadow_of(address)) + words) / kPage * kPage;
    memset(shadow_of(address), 0, begin - reinterpret_cast<uint64_t>(shadow_of(address)));
    madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
    memset(reinterpret_cast<void*>(end), 0,
           reinterpret_cast<uint64_t>(shadow_of(address)) + words - end);
  } else {
    memset(shadow_of(address), whole, words);
  }
  address += words * 4;
  for (uint64_t i = 0; i < (bytes & 3); ++i) set_byte(address + i);
}

void Arena::copy_state(uint64_t to, uint64_t from, uint64_t bytes) {
  if (((to ^ from) & 3) == 0 && (to & 3) == 0) {
    memmove(shadow_of(to), shadow_of(from), bytes / 4);
    for (uint64_t i = bytes & ~3ull; i < bytes; ++i) set_state(to + i, 1, state_of(from + i));
    return;
  }
  const bool backwards = to > from;
  for (uint64_t k = 0; k < bytes; ++k) {
    const uint64_t i = backwards ? bytes - 1 - k : k;
    set_state(to + i, 1, state_of(from + i));
  }
}

}  // namespace fiel::vgpu
