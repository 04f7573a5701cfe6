// The stand-in's memory calls.
#include <algorithm>
#include <cstring>

#include "kernels.h"

namespace fiel::standin {
namespace {

using namespace worker;

constexpr uint64_t kPitchAlign = 512;

bool is_device_side(const void* p, bool by_kind, int32_t kind) {
  if (find_region(p).kind != 0) return true;
  if (kind != kDefault) return by_kind;
  WireWriter w;
  w.put(reinterpret_cast<uint64_t>(p));
  Reply reply;
  if (call(Rt::classify, w, &reply) != kCudaSuccess) return false;
  return reply.reader().get<uint32_t>() != static_cast<uint32_t>(PointerKind::unknown);
}

Error send_copy(Rt op, const CopyRequest& c) {
  WireWriter w;
  w.put(c);
  return call(op, w);
}

/// Rows [0, height) of pageable memory to or from the device, through the window.
Error bulk(Rt op, CopyRequest c, char* host, uint64_t host_pitch) {
  WindowLock window;
  if (!window.data()) return set_error(kCudaErrorNoDevice);
  bool up = op == Rt::upload;
  uint64_t device = up ? c.to : c.from, device_pitch = up ? c.to_pitch : c.from_pitch;
  // Whole rows where one fits the window, pieces of a row where it does not.
  uint64_t width = std::min(c.width, kRuntimeWindowBytes);
  uint64_t rows_at_once = width < c.width ? 1 : std::max<uint64_t>(kRuntimeWindowBytes / width, 1);
  for (uint64_t row = 0; row < c.height; row += rows_at_once) {
    uint64_t rows = std::min(rows_at_once, c.height - row);
    for (uint64_t at = 0; at < c.width; at += width) {
      CopyRequest part = c;
      part.width = std::min(width, c.width - at);
      part.height = rows;
      (up ? part.to : part.from) = device + row * device_pitch + at;
      auto each_row = [&](auto&& f) {
        for (uint64_t i = 0; i < rows; ++i)
          f(window.data() + i * part.width, host + (row + i) * host_pitch + at);
      };
      if (up) each_row([&](std::byte* w, char* h) { std::memcpy(w, h, part.width); });
      if (Error e = send_copy(op, part); e != kCudaSuccess) return e;
      if (!up) each_row([&](std::byte* w, char* h) { std::memcpy(h, w, part.width); });
    }
  }
  return kCudaSuccess;
}

bool is_capturing(Handle stream) {
  WireWriter w;
  w.put(stream);
  Reply reply;
  if (stream == 0 || call(Rt::stream_info, w, &reply) != kCudaSuccess) return false;
  WireReader r = reply.reader();
  r.get<uint32_t>();
  return r.get<uint32_t>() != 0;
}

struct Copy2D {
  void* to;
  uint64_t to_pitch;
  const void* from;
  uint64_t from_pitch;
  uint64_t width, height;
  int32_t kind;
};

Error copy(const Copy2D& q, Handle stream, bool wait) {
  if (q.width == 0 || q.height == 0) return kCudaSuccess;
  if (q.kind < kHostToHost || q.kind > kDefault) return set_error(kCudaErrorInvalidMemcpyDirection);
  if (!q.to || !q.from) return set_error(kCudaErrorInvalidValue);
  if (q.height > 1 && (q.to_pitch < q.width || q.from_pitch < q.width))
    return set_error(kCudaErrorInvalidPitchValue);
  bool to_device =
      is_device_side(q.to, q.kind == kHostToDevice || q.kind == kDeviceToDevice, q.kind);
  bool from_device =
      is_device_side(q.from, q.kind == kDeviceToHost || q.kind == kDeviceToDevice, q.kind);
  CopyRequest c;
  c.stream = stream;
  c.to = reinterpret_cast<uint64_t>(q.to);
  c.from = reinterpret_cast<uint64_t>(q.from);
  c.to_pitch = q.to_pitch;
  c.from_pitch = q.from_pitch;
  c.width = q.width;
  c.height = q.height;
  if (to_device && from_device) {
    // Between device memory the host does not wait; shared memory it may look at right away.
    c.wait = wait && (find_region(q.to).kind || find_region(q.from).kind);
    return send_copy(Rt::copy, c);
  }
  if (!to_device && !from_device) {
    for (uint64_t i = 0; i < q.height; ++i)
      std::memmove(static_cast<char*>(q.to) + i * q.to_pitch,
                   static_cast<const char*>(q.from) + i * q.from_pitch, q.width);
    return kCudaSuccess;
  }
  if (!wait && is_capturing(stream)) {  // a graph reads and writes host memory when it is launched
    c.host_side = from_device ? 2 : 1;
    return send_copy(Rt::copy_deferred, c);
  }
  c.wait = wait;
  if (to_device)
    return bulk(Rt::upload, c, const_cast<char*>(static_cast<const char*>(q.from)), q.from_pitch);
  return bulk(Rt::download, c, static_cast<char*>(q.to), q.to_pitch);
}

Error copy_symbol(const void* symbol, void* host, size_t count, size_t offset, int32_t kind,
                  Handle stream, bool wait, bool to_symbol) {
  uint64_t address = 0, bytes = 0;
  if (Error e = find_symbol(symbol, address, bytes); e != kCudaSuccess) return e;
  if (offset > bytes || count > bytes - offset) return set_error(kCudaErrorInvalidValue);
  auto* device = reinterpret_cast<void*>(address + offset);
  if (kind == kDefault) kind = to_symbol ? kHostToDevice : kDeviceToHost;
  return to_symbol ? copy({device, count, host, count, count, 1, kind}, stream, wait)
                   : copy({host, count, device, count, count, 1, kind}, stream, wait);
}

Error fill(void* to, uint64_t pitch, int value, uint64_t width, uint64_t height, Handle stream) {
  if (width == 0 || height == 0) return kCudaSuccess;
  if (!to) return set_error(kCudaErrorInvalidValue);
  FillRequest f;
  f.stream = stream;
  f.to = reinterpret_cast<uint64_t>(to);
  f.pitch = pitch;
  f.width = width;
  f.height = height;
  f.value = static_cast<uint8_t>(value);
  WireWriter w;
  w.put(f);
  return call(Rt::fill, w);
}

Error allocate(void** out, size_t bytes) {
  if (!out) return set_error(kCudaErrorInvalidValue);
  WireWriter w;
  w.put<uint64_t>(bytes);
  Reply reply;
  if (Error e = call(Rt::allocate, w, &reply); e != kCudaSuccess) return e;
  *out = reinterpret_cast<void*>(reply.reader().get<uint64_t>());
  return kCudaSuccess;
}

Error free_device(void* p, Handle stream, bool ordered) {
  auto address = reinterpret_cast<uint64_t>(p);
  Region region = find_region(p);
  WireWriter w;
  w.put(address).put(stream).put<uint32_t>(ordered);
  Error e = call(Rt::free_memory, w);
  if (e == kCudaSuccess && region.kind && region.base == address) unmap_region(address);
  return e;
}

Error allocate_region(void** out, size_t bytes, PointerKind kind) {
  if (!out) return set_error(kCudaErrorInvalidValue);
  *out = nullptr;
  if (bytes == 0) return kCudaSuccess;
  WireWriter w;
  w.put<uint64_t>(bytes).put(static_cast<uint32_t>(kind));
  Reply reply;
  if (Error e = call(Rt::allocate_host, w, &reply); e != kCudaSuccess) return e;
  uint64_t address = 0;
  Error e = map_region(reply, bytes, static_cast<uint32_t>(kind), address);
  if (e == kCudaSuccess) *out = reinterpret_cast<void*>(address);
  return e;
}

Handle pt(Handle stream) { return stream == 0 ? kPerThreadStream : stream; }

}  // namespace

FIEL_CUDART Error cudaMalloc(void** p, size_t n) { return allocate(p, n); }
FIEL_CUDART Error cudaMallocAsync(void** p, size_t n, Handle) { return allocate(p, n); }
FIEL_CUDART Error cudaMallocAsync_ptsz(void** p, size_t n, Handle) { return allocate(p, n); }
FIEL_CUDART Error cudaMallocFromPoolAsync(void** p, size_t n, Handle, Handle) {
  return allocate(p, n);
}
FIEL_CUDART Error cudaMallocFromPoolAsync_ptsz(void** p, size_t n, Handle, Handle) {
  return allocate(p, n);
}
FIEL_CUDART Error cudaMallocPitch(void** p, size_t* pitch, size_t width, size_t height) {
  if (!pitch || width > SIZE_MAX / 2) return set_error(kCudaErrorInvalidValue);
  *pitch = (width + kPitchAlign - 1) / kPitchAlign * kPitchAlign;
  size_t bytes = 0;
  if (__builtin_mul_overflow(*pitch, height, &bytes)) return set_error(kCudaErrorInvalidValue);
  return allocate(p, bytes);
}
FIEL_CUDART Error cudaFree(void* p) { return p ? free_device(p, 0, false) : kCudaSuccess; }
FIEL_CUDART Error cudaFreeAsync(void* p, Handle s) { return free_device(p, s, true); }
FIEL_CUDART Error cudaFreeAsync_ptsz(void* p, Handle s) { return free_device(p, pt(s), true); }

FIEL_CUDART Error cudaMallocHost(void** p, size_t n) {
  return allocate_region(p, n, PointerKind::pinned);
}
FIEL_CUDART Error cudaHostAlloc(void** p, size_t n, unsigned) {
  return allocate_region(p, n, PointerKind::pinned);
}
FIEL_CUDART Error cudaMallocManaged(void** p, size_t n, unsigned) {
  return n == 0 ? set_error(kCudaErrorInvalidValue) : allocate_region(p, n, PointerKind::managed);
}
FIEL_CUDART Error cudaFreeHost(void* p) {
  if (!p) return kCudaSuccess;
  WireWriter w;
  w.put(reinterpret_cast<uint64_t>(p));
  Error e = call(Rt::free_host, w);
  if (e == kCudaSuccess) unmap_region(reinterpret_cast<uint64_t>(p));
  return e;
}
FIEL_CUDART Error cudaHostGetDevicePointer(void** device, void* host, unsigned) {
  if (!find_region(host).kind) return set_error(kCudaErrorInvalidValue);
  *device = host;
  return kCudaSuccess;
}
FIEL_CUDART Error cudaHostGetFlags(unsigned* flags, void* host) {
  if (!find_region(host).kind) return set_error(kCudaErrorInvalidValue);
  *flags = 2;  // mapped
  return kCudaSuccess;
}
FIEL_CUDART Error cudaHostRegister(void*, size_t, unsigned) {
  return not_supported("cudaHostRegister");
}
FIEL_CUDART Error cudaHostUnregister(void*) { return set_error(kCudaErrorHostMemoryNotRegistered); }

FIEL_CUDART Error cudaMemGetInfo(size_t* free_bytes, size_t* total) {
  Reply reply;
  if (Error e = call(Rt::memory_info, {}, &reply); e != kCudaSuccess) return e;
  WireReader r = reply.reader();
  *free_bytes = r.get<uint64_t>();
  *total = r.get<uint64_t>();
  return kCudaSuccess;
}

FIEL_CUDART Error cudaPointerGetAttributes(PointerAttributes* a, const void* p) {
  if (!a) return set_error(kCudaErrorInvalidValue);
  *a = {};
  WireWriter w;
  w.put(reinterpret_cast<uint64_t>(p));
  Reply reply;
  if (Error e = call(Rt::classify, w, &reply); e != kCudaSuccess) return e;
  auto kind = static_cast<PointerKind>(reply.reader().get<uint32_t>());
  void* q = const_cast<void*>(p);
  switch (kind) {
    case PointerKind::device:
      a->type = 2;
      break;
    case PointerKind::managed:
      a->type = 3;
      break;
    case PointerKind::pinned:
      a->type = 1;
      break;
    case PointerKind::unknown:
      a->device = -2;
      break;
  }
  if (kind != PointerKind::unknown) a->device_pointer = q;
  if (kind != PointerKind::device) a->host_pointer = q;
  return kCudaSuccess;
}

FIEL_CUDART Error cudaMemcpy(void* to, const void* from, size_t n, int32_t kind) {
  return copy({to, n, from, n, n, 1, kind}, 0, true);
}
FIEL_CUDART Error cudaMemcpy_ptds(void* to, const void* from, size_t n, int32_t kind) {
  return copy({to, n, from, n, n, 1, kind}, kPerThreadStream, true);
}
FIEL_CUDART Error cudaMemcpyAsync(void* to, const void* from, size_t n, int32_t kind, Handle s) {
  return copy({to, n, from, n, n, 1, kind}, s, false);
}
FIEL_CUDART Error cudaMemcpyAsync_ptsz(void* to, const void* from, size_t n, int32_t kind,
                                       Handle s) {
  return copy({to, n, from, n, n, 1, kind}, pt(s), false);
}
FIEL_CUDART Error cudaMemcpyPeer(void* to, int, const void* from, int, size_t n) {
  return copy({to, n, from, n, n, 1, kDeviceToDevice}, 0, true);
}
FIEL_CUDART Error cudaMemcpyPeerAsync(void* to, int, const void* from, int, size_t n, Handle s) {
  return copy({to, n, from, n, n, 1, kDeviceToDevice}, s, false);
}
FIEL_CUDART Error cudaMemcpy2D(void* to, size_t tp, const void* from, size_t fp, size_t w, size_t h,
                               int32_t kind) {
  return copy({to, tp, from, fp, w, h, kind}, 0, true);
}
FIEL_CUDART Error cudaMemcpy2D_ptds(void* to, size_t tp, const void* from, size_t fp, size_t w,
                                    size_t h, int32_t kind) {
  return copy({to, tp, from, fp, w, h, kind}, kPerThreadStream, true);
}
FIEL_CUDART Error cudaMemcpy2DAsync(void* to, size_t tp, const void* from, size_t fp, size_t w,
                                    size_t h, int32_t kind, Handle s) {
  return copy({to, tp, from, fp, w, h, kind}, s, false);
}
FIEL_CUDART Error cudaMemcpy2DAsync_ptsz(void* to, size_t tp, const void* from, size_t fp, size_t w,
                                         size_t h, int32_t kind, Handle s) {
  return copy({to, tp, from, fp, w, h, kind}, pt(s), false);
}

namespace {
Error copy_3d(const Memcpy3DParms* p, Handle stream, bool wait) {
  if (!p) return set_error(kCudaErrorInvalidValue);
  if (p->src_array || p->dst_array) return not_supported("a copy of a CUDA array");
  for (size_t z = 0; z < p->extent.depth; ++z) {
    const PitchedPtr &s = p->src_ptr, &d = p->dst_ptr;
    auto* from = static_cast<char*>(s.ptr) + p->src_pos.x +
                 (p->src_pos.y + (p->src_pos.z + z) * s.ysize) * s.pitch;
    auto* to = static_cast<char*>(d.ptr) + p->dst_pos.x +
               (p->dst_pos.y + (p->dst_pos.z + z) * d.ysize) * d.pitch;
    Error e = copy({to, d.pitch, from, s.pitch, p->extent.width, p->extent.height, p->kind}, stream,
                   wait);
    if (e != kCudaSuccess) return e;
  }
  return kCudaSuccess;
}
}  // namespace
FIEL_CUDART Error cudaMemcpy3D(const Memcpy3DParms* p) { return copy_3d(p, 0, true); }
FIEL_CUDART Error cudaMemcpy3D_ptds(const Memcpy3DParms* p) {
  return copy_3d(p, kPerThreadStream, true);
}
FIEL_CUDART Error cudaMemcpy3DAsync(const Memcpy3DParms* p, Handle s) {
  return copy_3d(p, s, false);
}
FIEL_CUDART Error cudaMemcpy3DAsync_ptsz(const Memcpy3DParms* p, Handle s) {
  return copy_3d(p, pt(s), false);
}

FIEL_CUDART Error cudaMemset(void* p, int v, size_t n) { return fill(p, n, v, n, 1, 0); }
FIEL_CUDART Error cudaMemset_ptds(void* p, int v, size_t n) {
  return fill(p, n, v, n, 1, kPerThreadStream);
}
FIEL_CUDART Error cudaMemsetAsync(void* p, int v, size_t n, Handle s) {
  return fill(p, n, v, n, 1, s);
}
FIEL_CUDART Error cudaMemsetAsync_ptsz(void* p, int v, size_t n, Handle s) {
  return fill(p, n, v, n, 1, pt(s));
}
FIEL_CUDART Error cudaMemset2D(void* p, size_t pitch, int v, size_t w, size_t h) {
  return fill(p, pitch, v, w, h, 0);
}
FIEL_CUDART Error cudaMemset2D_ptds(void* p, size_t pitch, int v, size_t w, size_t h) {
  return fill(p, pitch, v, w, h, kPerThreadStream);
}
FIEL_CUDART Error cudaMemset2DAsync(void* p, size_t pitch, int v, size_t w, size_t h, Handle s) {
  return fill(p, pitch, v, w, h, s);
}
FIEL_CUDART Error cudaMemset2DAsync_ptsz(void* p, size_t pitch, int v, size_t w, size_t h,
                                         Handle s) {
  return fill(p, pitch, v, w, h, pt(s));
}

FIEL_CUDART Error cudaMemcpyToSymbol(const void* symbol, const void* from, size_t n, size_t offset,
                                     int32_t kind) {
  return copy_symbol(symbol, const_cast<void*>(from), n, offset, kind, 0, true, true);
}
FIEL_CUDART Error cudaMemcpyToSymbol_ptds(const void* symbol, const void* from, size_t n,
                                          size_t offset, int32_t kind) {
  return copy_symbol(symbol, const_cast<void*>(from), n, offset, kind, kPerThreadStream, true,
                     true);
}
FIEL_CUDART Error cudaMemcpyToSymbolAsync(const void* symbol, const void* from, size_t n,
                                          size_t offset, int32_t kind, Handle s) {
  return copy_symbol(symbol, const_cast<void*>(from), n, offset, kind, s, false, true);
}
FIEL_CUDART Error cudaMemcpyToSymbolAsync_ptsz(const void* symbol, const void* from, size_t n,
                                               size_t offset, int32_t kind, Handle s) {
  return copy_symbol(symbol, const_cast<void*>(from), n, offset, kind, pt(s), false, true);
}
FIEL_CUDART Error cudaMemcpyFromSymbol(void* to, const void* symbol, size_t n, size_t offset,
                                       int32_t kind) {
  return copy_symbol(symbol, to, n, offset, kind, 0, true, false);
}
FIEL_CUDART Error cudaMemcpyFromSymbol_ptds(void* to, const void* symbol, size_t n, size_t offset,
                                            int32_t kind) {
  return copy_symbol(symbol, to, n, offset, kind, kPerThreadStream, true, false);
}
FIEL_CUDART Error cudaMemcpyFromSymbolAsync(void* to, const void* symbol, size_t n, size_t offset,
                                            int32_t kind, Handle s) {
  return copy_symbol(symbol, to, n, offset, kind, s, false, false);
}
FIEL_CUDART Error cudaMemcpyFromSymbolAsync_ptsz(void* to, const void* symbol, size_t n,
                                                 size_t offset, int32_t kind, Handle s) {
  return copy_symbol(symbol, to, n, offset, kind, pt(s), false, false);
}
FIEL_CUDART Error cudaGetSymbolAddress(void** p, const void* symbol) {
  uint64_t address = 0, bytes = 0;
  Error e = find_symbol(symbol, address, bytes);
  if (e == kCudaSuccess) *p = reinterpret_cast<void*>(address);
  return e;
}
FIEL_CUDART Error cudaGetSymbolSize(size_t* n, const void* symbol) {
  uint64_t address = 0, bytes = 0;
  Error e = find_symbol(symbol, address, bytes);
  if (e == kCudaSuccess) *n = bytes;
  return e;
}

// ---- hints and pools: accepted, nothing to do
FIEL_CUDART Error cudaMemPrefetchAsync(const void*, size_t, MemLocation, unsigned, Handle) {
  return kCudaSuccess;
}
FIEL_CUDART Error cudaMemPrefetchAsync_ptsz(const void*, size_t, MemLocation, unsigned, Handle) {
  return kCudaSuccess;
}
FIEL_CUDART Error cudaMemAdvise(const void*, size_t, int32_t, MemLocation) { return kCudaSuccess; }
FIEL_CUDART Error cudaStreamAttachMemAsync(Handle, void*, size_t, unsigned) { return kCudaSuccess; }
FIEL_CUDART Error cudaDeviceGetDefaultMemPool(Handle* pool, int) {
  *pool = 1;
  return kCudaSuccess;
}
FIEL_CUDART Error cudaDeviceGetMemPool(Handle* pool, int) {
  *pool = 1;
  return kCudaSuccess;
}
FIEL_CUDART Error cudaDeviceSetMemPool(int, Handle) { return kCudaSuccess; }
FIEL_CUDART Error cudaMemPoolCreate(Handle* pool, const void*) {
  *pool = 1;
  return kCudaSuccess;
}
FIEL_CUDART Error cudaMemPoolDestroy(Handle) { return kCudaSuccess; }
FIEL_CUDART Error cudaMemPoolTrimTo(Handle, size_t) { return kCudaSuccess; }
FIEL_CUDART Error cudaMemPoolSetAttribute(Handle, int32_t, void*) { return kCudaSuccess; }
FIEL_CUDART Error cudaMemPoolGetAttribute(Handle, int32_t, void* value) {
  uint64_t zero = 0;
  std::memcpy(value, &zero, sizeof zero);
  return kCudaSuccess;
}
FIEL_CUDART Error cudaMemPoolSetAccess(Handle, const void*, size_t) { return kCudaSuccess; }

}  // namespace fiel::standin
