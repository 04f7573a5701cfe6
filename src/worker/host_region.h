// Memory that the candidate and the virtual device share: pinned and managed allocations.
//
//   FIEL_TRY(auto region, HostRegion::create(bytes));
//   device.map_host(region->memory(), region->bytes(), "managed");
//   for (auto [begin, end] : region->newly_written()) device.mark_initialized(…);
//
// The host's writes are not seen one by one. A fresh region is filled with words that a program
// does not write by chance (quiet NaNs with a hash of their place), and what differs has been
// written. Regions beyond kMaxTracked count as written from the start.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/result.h"

namespace fiel::worker {

class HostRegion {
 public:
  static constexpr uint64_t kMaxTracked = 64ull << 20;

  /// A memfd mapped at an address that the candidate can map too (far from where the kernel puts
  /// programs, heaps and libraries).
  static Result<std::unique_ptr<HostRegion>> create(uint64_t bytes);
  ~HostRegion();
  HostRegion(const HostRegion&) = delete;
  HostRegion& operator=(const HostRegion&) = delete;

  std::byte* memory() const { return memory_; }
  uint64_t bytes() const { return bytes_; }
  uint64_t mapped_bytes() const { return mapped_; }
  int fd() const { return fd_.get(); }
  bool tracked() const { return !written_.empty(); }
  void fill_with_marks();  ///< starts tracking; call after the device has poisoned its shadow
  /// Byte ranges that the host has written since the last call.
  std::vector<std::pair<uint64_t, uint64_t>> newly_written();

  uint64_t device_address = 0;
  uint32_t kind = 0;  ///< PointerKind

 private:
  HostRegion() = default;
  Fd fd_;
  std::byte* memory_ = nullptr;
  uint64_t bytes_ = 0, mapped_ = 0;
  std::vector<bool> written_;  ///< per 4-byte word
  uint64_t unwritten_ = 0;
};

}  // namespace fiel::worker
