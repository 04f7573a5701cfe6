// A GPU's memory: allocations between red zones, poison, mapped host memory, windows.
#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "device/cuda_device.h"

namespace fiel::device {
namespace {

constexpr uint64_t kRedZone = 4096;
constexpr size_t kMaxRuns = 64;

}  // namespace

/// The block that holds all of [address, address + bytes), or nothing: what the driver may see.
CudaDevice::Block* CudaDevice::block_at(uint64_t address, uint64_t bytes) const {
  auto it = blocks_.upper_bound(address);
  if (it == blocks_.begin()) return nullptr;
  --it;
  uint64_t offset = address - it->first;
  if (offset > it->second.bytes || bytes > it->second.bytes - offset) return nullptr;
  return &it->second;
}

Result<uint64_t> CudaDevice::allocate(uint64_t bytes, std::string_view label) {
  FIEL_TRY_STATUS(usable());
  if (bytes > options_.memory_bytes || in_use_ > options_.memory_bytes - bytes)
    return fail(ErrorCode::limit, fmt::format("no room for {} bytes ({})", bytes, label));
  Block b;
  b.bytes = bytes;
  b.mapped = (bytes + 255) / 256 * 256 + 2 * kRedZone;
  CUdeviceptr base = 0;
  FIEL_TRY_STATUS(check(cu_->allocate(&base, b.mapped), "cuMemAlloc"));
  b.base = base;
  // On a stream that no batch uses: what is queued, and may be held, is not waited for.
  FIEL_TRY_STATUS(check(cu_->fill_async(base, 0xff, b.mapped, clock_), "poisoning"));
  if (CUresult r = wait_for(clock_, INT64_MAX); r != kCuSuccess) {
    lost_ = r;
    return fail(cu_->error(r, "waiting for the GPU"));
  }
  uint64_t address = base + kRedZone;
  blocks_[address] = b;
  in_use_ += bytes;
  peak_ = std::max(peak_, in_use_);
  return address;
}

Result<uint64_t> CudaDevice::map_host(void* memory, uint64_t bytes, std::string_view label) {
  FIEL_TRY_STATUS(usable());
  uint64_t mapped = (bytes + 4095) / 4096 * 4096;
  FIEL_TRY_STATUS(check(cu_->host_register(memory, mapped, kCuHostPortable | kCuHostDeviceMap),
                        "pinning host memory"));
  CUdeviceptr at = 0;
  CUresult r = cu_->host_pointer(&at, memory, 0);
  // The candidate maps it at its own address: only where both agree can pointers be shared.
  if (r != kCuSuccess || at != reinterpret_cast<uint64_t>(memory)) {
    (void)cu_->host_unregister(memory);
    return fail(ErrorCode::unsupported,
                fmt::format("{}: this GPU sees host memory at another address", label));
  }
  blocks_[at] = Block{bytes, BlockKind::host, at, mapped};
  return at;
}

Status CudaDevice::give_back(uint64_t address, const Block& block) {
  switch (block.kind) {
    case BlockKind::device:
      in_use_ -= block.bytes;
      return check(cu_->release(block.base), "cuMemFree");
    case BlockKind::host:
      return check(cu_->host_unregister(reinterpret_cast<void*>(address)), "cuMemHostUnregister");
    case BlockKind::window:
      (void)cu_->unmap(address, block.mapped);
      (void)cu_->address_free(address, block.mapped);
      return check(cu_->release_handle(block.handle), "cuMemRelease");
    case BlockKind::symbol:
      return {};
  }
  return {};
}

Status CudaDevice::free(uint64_t address) {
  FIEL_TRY_STATUS(usable());
  auto it = blocks_.find(address);
  if (it == blocks_.end() || it->second.kind == BlockKind::symbol)
    return fail(ErrorCode::usage, "not an allocation");
  if (queued_ > 0) {  // freeing waits for the GPU, and the GPU may wait for the gate
    doomed_.push_back(address);
    return {};
  }
  Block block = it->second;
  blocks_.erase(it);
  return give_back(address, block);
}

/// Waits until what was queued on the present stream is over. Used between batches; inside one it
/// opens the gate, because the work waited for may stand behind it.
Status CudaDevice::settle() const {
  open_gate();
  CUresult r = wait_for(current_, INT64_MAX);
  if (r == kCuSuccess && current_ != clock_) r = wait_for(clock_, INT64_MAX);
  if (r != kCuSuccess) lost_ = r;
  return check(r, "waiting for the GPU");
}

Status CudaDevice::write(uint64_t address, std::span<const std::byte> bytes) {
  FIEL_TRY_STATUS(usable());
  if (bytes.empty()) return {};
  if (!block_at(address, bytes.size())) return fail(ErrorCode::usage, "outside any allocation");
  open_gate();
  FIEL_TRY_STATUS(check(
      cu_->copy_async(address, reinterpret_cast<uint64_t>(bytes.data()), bytes.size(), current_),
      "copying to the GPU"));
  return settle();
}

Status CudaDevice::read(uint64_t address, std::span<std::byte> bytes) const {
  FIEL_TRY_STATUS(usable());
  if (bytes.empty()) return {};
  if (!block_at(address, bytes.size())) return fail(ErrorCode::usage, "outside any allocation");
  open_gate();
  FIEL_TRY_STATUS(check(
      cu_->copy_async(reinterpret_cast<uint64_t>(bytes.data()), address, bytes.size(), current_),
      "copying from the GPU"));
  return settle();
}

Status CudaDevice::fill(uint64_t address, uint8_t value, uint64_t bytes) {
  FIEL_TRY_STATUS(usable());
  if (bytes == 0) return {};
  if (!block_at(address, bytes)) return fail(ErrorCode::usage, "outside any allocation");
  FIEL_TRY_STATUS(check(cu_->fill_async(address, value, bytes, current_), "filling"));
  count_queued();
  return {};
}

Status CudaDevice::copy(uint64_t to, uint64_t from, uint64_t bytes) {
  FIEL_TRY_STATUS(usable());
  if (bytes == 0) return {};
  if (!block_at(to, bytes) || !block_at(from, bytes))
    return fail(ErrorCode::usage, "outside any allocation");
  FIEL_TRY_STATUS(check(cu_->copy_async(to, from, bytes, current_), "copying"));
  count_queued();
  return {};
}

Status CudaDevice::poison(uint64_t address, uint64_t bytes, uint8_t pattern) {
  FIEL_TRY_STATUS(usable());
  if (bytes == 0) return {};
  Block* block = block_at(address, bytes);
  if (!block) return fail(ErrorCode::usage, "outside any allocation");
  block->pattern = pattern;
  FIEL_TRY_STATUS(check(cu_->fill_async(address, pattern, bytes, current_), "poisoning"));
  return settle();
}

Status CudaDevice::mark_output(uint64_t address) {
  if (!blocks_.count(address)) return fail(ErrorCode::usage, "not an allocation");
  return {};
}

/// Hardware counts no writes: what still holds the poison was not written, or with just that value.
Result<vgpu::Coverage> CudaDevice::coverage(uint64_t address) const {
  auto it = blocks_.find(address);
  if (it == blocks_.end()) return fail(ErrorCode::usage, "not an allocation");
  const Block& block = it->second;
  std::vector<std::byte> bytes(block.bytes);
  FIEL_TRY_STATUS(read(address, bytes));
  vgpu::Coverage c;
  c.bytes = c.written = block.bytes;
  auto poison = std::byte{block.pattern};
  // By words of four bytes: the elements that the pattern can be told from are no smaller.
  for (uint64_t at = 0; at + 4 <= bytes.size();) {
    auto is_poison = [&](uint64_t i) {
      return i + 4 <= bytes.size() && bytes[i] == poison && bytes[i + 1] == poison &&
             bytes[i + 2] == poison && bytes[i + 3] == poison;
    };
    if (!is_poison(at)) {
      at += 4;
      continue;
    }
    uint64_t end = at;
    while (is_poison(end)) end += 4;
    c.written -= end - at;
    if (c.missing.size() < kMaxRuns) c.missing.push_back({at, end});
    at = end;
  }
  return c;
}

Result<uint64_t> CudaDevice::import_window(int descriptor, uint64_t bytes) {
  FIEL_TRY_STATUS(usable());
  if (!cu_->import_handle || !cu_->granularity || !cu_->address_reserve || !cu_->map ||
      !cu_->set_access)
    return fail(ErrorCode::environment, "the driver has no virtual memory management");
  // A window is said to have the bytes that were asked for; it was made of whole granules.
  const CuMemProperties properties{1, kCuHandlePosixFd, {1, gpu_.ordinal}, nullptr, {}};
  size_t granule = 0;
  FIEL_TRY_STATUS(check(cu_->granularity(&granule, &properties, 0), "asking for the granularity"));
  if (granule == 0 || bytes == 0 || bytes > UINT64_MAX - granule)
    return fail(ErrorCode::usage, "a window of no or too many bytes");
  const uint64_t mapped = (bytes + granule - 1) / granule * granule;
  Block b{bytes, BlockKind::window, 0, mapped};
  void* name = reinterpret_cast<void*>(static_cast<intptr_t>(descriptor));
  FIEL_TRY_STATUS(check(cu_->import_handle(&b.handle, name, kCuHandlePosixFd),
                        "importing another process's memory"));
  CUdeviceptr at = 0;
  CUresult r = cu_->address_reserve(&at, mapped, 0, 0, 0);
  if (r == kCuSuccess && (r = cu_->map(at, mapped, 0, b.handle, 0)) != kCuSuccess)
    (void)cu_->address_free(at, mapped);
  if (r == kCuSuccess) {
    CuMemAccess access{{1, gpu_.ordinal}, 3};
    if ((r = cu_->set_access(at, mapped, &access, 1)) != kCuSuccess) {
      (void)cu_->unmap(at, mapped);
      (void)cu_->address_free(at, mapped);
    }
  }
  if (r != kCuSuccess) {
    (void)cu_->release_handle(b.handle);
    return fail(cu_->error(r, "mapping another process's memory"));
  }
  b.base = at;
  blocks_[at] = b;
  return at;
}

Status CudaDevice::drop_window(uint64_t address) {
  FIEL_TRY_STATUS(usable());
  auto it = blocks_.find(address);
  if (it == blocks_.end() || it->second.kind != BlockKind::window)
    return fail(ErrorCode::usage, "no such window");
  FIEL_TRY_STATUS(settle());
  Block block = it->second;
  blocks_.erase(it);
  return give_back(address, block);
}

}  // namespace fiel::device
