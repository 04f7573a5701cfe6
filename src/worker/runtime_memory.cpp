// The stand-in runtime's memory: allocations, copies, fills, regions shared with the host.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "worker/runtime_server.h"

namespace fiel::worker {
namespace {

constexpr uint64_t kMaxRegionBytes = 4ull << 30;
constexpr size_t kMaxRegions = 4096;
constexpr size_t kMaxAllocations = 1u << 16;
constexpr uint64_t kMaxSnapshotBytes = 256ull << 20;
constexpr uint64_t kMaxCopyBytes = 1ull << 40;

/// Total bytes of a 2-D shape, or nothing when it is impossible.
bool shape_is_sane(uint64_t width, uint64_t height, uint64_t pitch_a, uint64_t pitch_b) {
  if (width > kMaxCopyBytes || height > kMaxCopyBytes) return false;
  if (height > 1 && (pitch_a < width || pitch_b < width)) return false;
  uint64_t pitch = std::max({width, pitch_a, pitch_b});
  return pitch <= kMaxCopyBytes && (pitch == 0 || height <= kMaxCopyBytes / pitch);
}

int32_t to_cuda(const Status& status) {
  if (status) return kCudaSuccess;
  return status.error().code == ErrorCode::limit ? kCudaErrorMemoryAllocation
                                                 : kCudaErrorInvalidValue;
}

}  // namespace

int32_t RuntimeServer::on_hello(WireWriter& out) {
  if (window_) return kCudaErrorNotPermitted;
  window_fd_ = Fd(::memfd_create("fiel-window", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!window_fd_ || ::ftruncate(window_fd_.get(), kRuntimeWindowBytes) != 0 ||
      ::fcntl(window_fd_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return kCudaErrorMemoryAllocation;
  void* p =
      ::mmap(nullptr, kRuntimeWindowBytes, PROT_READ | PROT_WRITE, MAP_SHARED, window_fd_.get(), 0);
  if (p == MAP_FAILED) return kCudaErrorMemoryAllocation;
  window_ = static_cast<std::byte*>(p);
  reply_fd_ = window_fd_.get();
  out.put<uint64_t>(device_.options().memory_bytes);
  out.put<uint32_t>(device_.options().multiprocessors);
  return kCudaSuccess;
}

int32_t RuntimeServer::on_allocate(WireReader& in, WireWriter& out) {
  uint64_t bytes = in.get<uint64_t>();
  if (in.failed()) return -1;
  if (bytes == 0) {
    out.put<uint64_t>(0);
    return kCudaSuccess;
  }
  if (allocations_.size() >= kMaxAllocations) return kCudaErrorMemoryAllocation;
  auto address = device_.allocate(bytes, "cudaMalloc");
  if (!address) return kCudaErrorMemoryAllocation;
  allocations_[*address] = bytes;
  out.put<uint64_t>(*address);
  return kCudaSuccess;
}

int32_t RuntimeServer::on_free(WireReader& in) {
  uint64_t address = in.get<uint64_t>(), stream = in.get<uint64_t>();
  bool ordered = in.get<uint32_t>() != 0;
  if (in.failed()) return -1;
  if (address == 0) return kCudaSuccess;
  if (regions_.count(address)) {  // cudaFree of managed memory
    run_until(timeline_.tail_of_everything());
    (void)device_.free(regions_[address]->device_address);
    region_bytes_ -= regions_[address]->mapped_bytes();
    regions_.erase(address);
    return kCudaSuccess;
  }
  // The judge's tensors are not the candidate's to free.
  if (!allocations_.count(address)) return kCudaErrorInvalidValue;
  if (ordered) {
    Work w;
    w.kind = Work::Kind::free_memory;
    w.address = address;
    return submit(stream, std::move(w));
  }
  int32_t error = run_until(timeline_.tail_of_everything());
  if (error != kCudaSuccess) return error;
  allocations_.erase(address);
  return to_cuda(device_.free(address));
}

HostRegion* RuntimeServer::new_region(uint64_t bytes, PointerKind kind, int32_t& error) {
  error = kCudaErrorMemoryAllocation;
  if (bytes == 0 || bytes > kMaxRegionBytes || region_bytes_ + bytes > kMaxRegionBytes ||
      regions_.size() >= kMaxRegions)
    return nullptr;
  auto region = HostRegion::create(bytes);
  if (!region) return nullptr;
  auto address =
      device_.map_host((*region)->memory(), bytes,
                       kind == PointerKind::managed ? "cudaMallocManaged" : "cudaMallocHost");
  if (!address) return nullptr;
  (*region)->device_address = *address;
  (*region)->kind = static_cast<uint32_t>(kind);
  if (bytes <= HostRegion::kMaxTracked) {
    (void)device_.poison(*address, bytes, 0xff);
    (*region)->fill_with_marks();
  }
  region_bytes_ += (*region)->mapped_bytes();
  error = kCudaSuccess;
  HostRegion* raw = region->get();
  regions_[*address] = std::move(*region);
  return raw;
}

int32_t RuntimeServer::on_allocate_host(WireReader& in, WireWriter& out) {
  uint64_t bytes = in.get<uint64_t>();
  auto kind = static_cast<PointerKind>(in.get<uint32_t>());
  if (in.failed() || (kind != PointerKind::managed && kind != PointerKind::pinned)) return -1;
  int32_t error = kCudaSuccess;
  HostRegion* region = new_region(bytes, kind, error);
  if (!region) return error;
  out.put<uint64_t>(region->device_address);
  out.put<uint64_t>(region->mapped_bytes());
  reply_fd_ = region->fd();
  return kCudaSuccess;
}

int32_t RuntimeServer::on_free_host(WireReader& in) {
  uint64_t address = in.get<uint64_t>();
  if (in.failed()) return -1;
  auto it = regions_.find(address);
  if (it == regions_.end()) return kCudaErrorInvalidValue;
  int32_t error = run_until(timeline_.tail_of_everything());
  if (error != kCudaSuccess) return error;
  (void)device_.free(address);
  region_bytes_ -= it->second->mapped_bytes();
  regions_.erase(it);
  return kCudaSuccess;
}

int32_t RuntimeServer::on_memory_info(WireWriter& out) {
  uint64_t total = device_.options().memory_bytes;
  out.put<uint64_t>(total - std::min(total, device_.memory_in_use()));
  out.put<uint64_t>(total);
  return kCudaSuccess;
}

int32_t RuntimeServer::on_classify(WireReader& in, WireWriter& out) {
  uint64_t address = in.get<uint64_t>();
  if (in.failed()) return -1;
  auto kind = PointerKind::unknown;
  uint64_t base = 0, bytes = 0;
  if (auto r = regions_.upper_bound(address); r != regions_.begin()) {
    const HostRegion& region = *std::prev(r)->second;
    if (address - region.device_address < region.bytes()) {
      kind = static_cast<PointerKind>(region.kind);
      base = region.device_address;
      bytes = region.bytes();
    }
  }
  std::byte probe[1];
  if (kind == PointerKind::unknown && device_.read(address, probe)) kind = PointerKind::device;
  out.put(static_cast<uint32_t>(kind)).put(base).put(bytes);
  return kCudaSuccess;
}

/// Tells the device which bytes of shared regions the host has written by now.
void RuntimeServer::sweep_regions() {
  if (queue_) return;  // a GPU does not track what is initialised
  for (auto& [address, region] : regions_)
    for (auto [begin, end] : region->newly_written())
      (void)device_.mark_initialized(address + begin, end - begin);
}

int32_t RuntimeServer::upload_now(const CopyRequest& c, const std::byte* from) {
  for (uint64_t row = 0; row < c.height; ++row) {
    auto status = device_.write(c.to + row * c.to_pitch, {from + row * c.width, c.width});
    if (!status) return to_cuda(status);
  }
  return kCudaSuccess;
}

int32_t RuntimeServer::on_copy(Rt op, WireReader& in) {
  auto c = in.get<CopyRequest>();
  if (in.failed()) return -1;
  // The window's side of an upload or download is packed.
  if (op == Rt::upload) c.from_pitch = c.width;
  if (op == Rt::download) c.to_pitch = c.width;
  if (c.height > 1 && !shape_is_sane(c.width, c.height, c.to_pitch, c.from_pitch))
    return kCudaErrorInvalidPitchValue;
  if (c.width == 0 || c.height == 0) return kCudaSuccess;
  if (!shape_is_sane(c.width, 1, 0, 0)) return kCudaErrorInvalidValue;
  if ((op == Rt::upload || op == Rt::download) &&
      (!window_ || c.width > kRuntimeWindowBytes || c.height > kRuntimeWindowBytes / c.width))
    return -1;
  if (!timeline_.has_stream(c.stream)) return kCudaErrorInvalidResourceHandle;
  if (op == Rt::copy_deferred && (c.host_side < 1 || c.host_side > 2)) return -1;
  if (op != Rt::copy_deferred) c.host_side = 0;
  Work w;
  w.kind = Work::Kind::copy;
  w.copy = c;
  if (op == Rt::copy || op == Rt::copy_deferred) {
    int32_t error = submit(c.stream, std::move(w));
    if (error == kCudaSuccess && c.wait) error = run_until(timeline_.tail(c.stream));
    return error;
  }
  if (capture_of(c.stream)) return kCudaErrorStreamCaptureUnsupported;
  if (op == Rt::download) {
    int32_t error = run_until(timeline_.tail(c.stream));
    for (uint64_t row = 0; row < c.height && error == kCudaSuccess; ++row)
      error =
          to_cuda(device_.read(c.from + row * c.from_pitch, {window_ + row * c.width, c.width}));
    return error;
  }
  if (c.wait) {
    int32_t error = run_until(timeline_.tail(c.stream));
    return error == kCudaSuccess ? upload_now(c, window_) : error;
  }
  // Pageable memory: CUDA too has taken its copy when the call returns.
  w.snapshot = std::make_shared<std::vector<std::byte>>(window_, window_ + c.width * c.height);
  int32_t error = submit(c.stream, std::move(w));
  if (error == kCudaSuccess && timeline_.snapshot_bytes() > kMaxSnapshotBytes)
    error = run_until(timeline_.tail(c.stream));
  return error;
}

/// A copy whose time has come. Failures are asynchronous errors, as on a GPU.
int32_t RuntimeServer::run_copy(const Work& work) {
  const CopyRequest& c = work.copy;
  if (work.snapshot) return upload_now(c, work.snapshot->data());
  sweep_regions();
  for (uint64_t row = 0; row < c.height; ++row) {
    uint64_t to = c.to + row * c.to_pitch, from = c.from + row * c.from_pitch;
    if (c.host_side == 0) {
      auto status = device_.copy(to, from, c.width);
      if (!status) return to_cuda(status);
      continue;
    }
    if (!window_) return kCudaErrorInvalidValue;
    if (queue_) finish_batch();
    if (sticky_ != kCudaSuccess) return kCudaSuccess;  // said already
    for (uint64_t at = 0; at < c.width; at += kRuntimeWindowBytes) {
      uint64_t n = std::min(kRuntimeWindowBytes, c.width - at);
      CallbackHeader h;
      h.bytes = n;
      h.kind = static_cast<uint32_t>(c.host_side == 1 ? CallbackKind::fetch : CallbackKind::store);
      h.function = (c.host_side == 1 ? from : to) + at;
      if (c.host_side == 2) {
        auto status = device_.read(from + at, {window_, n});
        if (!status) return to_cuda(status);
      }
      if (!callback(h)) return kCudaErrorInvalidValue;
      if (c.host_side == 1) {
        auto status = device_.write(to + at, {window_, n});
        if (!status) return to_cuda(status);
      }
    }
  }
  return kCudaSuccess;
}

int32_t RuntimeServer::on_fill(WireReader& in) {
  auto f = in.get<FillRequest>();
  if (in.failed()) return -1;
  if (f.width == 0 || f.height == 0) return kCudaSuccess;
  if (!shape_is_sane(f.width, f.height, f.pitch, f.pitch) && f.height > 1)
    return kCudaErrorInvalidPitchValue;
  if (!shape_is_sane(f.width, 1, 0, 0)) return kCudaErrorInvalidValue;
  if (!timeline_.has_stream(f.stream)) return kCudaErrorInvalidResourceHandle;
  Work w;
  w.kind = Work::Kind::fill;
  w.fill = f;
  return submit(f.stream, std::move(w));
}

int32_t RuntimeServer::run_fill(const FillRequest& f) {
  for (uint64_t row = 0; row < f.height; ++row) {
    auto status = device_.fill(f.to + row * f.pitch, static_cast<uint8_t>(f.value & 0xff), f.width);
    if (!status) return to_cuda(status);
  }
  return kCudaSuccess;
}

}  // namespace fiel::worker
