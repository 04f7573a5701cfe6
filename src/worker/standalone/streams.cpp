// The stand-in's streams and events.
#include "channel.h"

namespace fiel::standin {
namespace {

using namespace worker;

Handle pt(Handle stream) { return stream == 0 ? kPerThreadStream : stream; }

Error with_handle(Rt op, Handle h) {
  WireWriter w;
  w.put(h);
  return call(op, w);
}
Error create(Rt op, Handle* out, const WireWriter& w) {
  if (!out) return set_error(kCudaErrorInvalidValue);
  Reply reply;
  Error e = call(op, w, &reply);
  if (e == kCudaSuccess) *out = reply.reader().get<uint64_t>();
  return e;
}
Error create_stream(Handle* out, unsigned flags) {
  WireWriter w;
  w.put<uint32_t>(flags);
  return create(Rt::stream_create, out, w);
}
Error wait_event(Handle stream, Handle event) {
  WireWriter w;
  w.put(stream).put(event);
  return call(Rt::stream_wait_event, w);
}
Error record(Handle stream, Handle event) {
  WireWriter w;
  w.put(stream).put(event);
  return call(Rt::event_record, w);
}
Error host_function(Handle stream, uint64_t function, void* data, uint32_t style) {
  if (!function) return set_error(kCudaErrorInvalidValue);
  WireWriter w;
  w.put(stream).put(function).put(reinterpret_cast<uint64_t>(data)).put(style);
  return call(Rt::host_function, w);
}
Error info(Handle stream, uint32_t& flags, uint32_t& capturing) {
  WireWriter w;
  w.put(stream);
  Reply reply;
  if (Error e = call(Rt::stream_info, w, &reply); e != kCudaSuccess) return e;
  WireReader r = reply.reader();
  flags = r.get<uint32_t>();
  capturing = r.get<uint32_t>();
  return kCudaSuccess;
}

}  // namespace

FIEL_CUDART Error cudaDeviceSynchronize() { return call(Rt::device_synchronize, {}); }
FIEL_CUDART Error cudaStreamCreate(Handle* s) { return create_stream(s, 0); }
FIEL_CUDART Error cudaStreamCreateWithFlags(Handle* s, unsigned flags) {
  return flags > 1 ? set_error(kCudaErrorInvalidValue) : create_stream(s, flags);
}
FIEL_CUDART Error cudaStreamCreateWithPriority(Handle* s, unsigned flags, int) {
  return flags > 1 ? set_error(kCudaErrorInvalidValue) : create_stream(s, flags);
}
FIEL_CUDART Error cudaStreamDestroy(Handle s) { return with_handle(Rt::stream_destroy, s); }
FIEL_CUDART Error cudaStreamSynchronize(Handle s) { return with_handle(Rt::stream_synchronize, s); }
FIEL_CUDART Error cudaStreamSynchronize_ptsz(Handle s) {
  return with_handle(Rt::stream_synchronize, pt(s));
}
FIEL_CUDART Error cudaStreamQuery(Handle s) { return with_handle(Rt::stream_query, s); }
FIEL_CUDART Error cudaStreamQuery_ptsz(Handle s) { return with_handle(Rt::stream_query, pt(s)); }
FIEL_CUDART Error cudaStreamWaitEvent(Handle s, Handle e, unsigned) { return wait_event(s, e); }
FIEL_CUDART Error cudaStreamWaitEvent_ptsz(Handle s, Handle e, unsigned) {
  return wait_event(pt(s), e);
}
FIEL_CUDART Error cudaStreamAddCallback(Handle s, void (*f)(Handle, Error, void*), void* data,
                                        unsigned) {
  return host_function(s, reinterpret_cast<uint64_t>(f), data, 1);
}
FIEL_CUDART Error cudaStreamAddCallback_ptsz(Handle s, void (*f)(Handle, Error, void*), void* data,
                                             unsigned) {
  return host_function(pt(s), reinterpret_cast<uint64_t>(f), data, 1);
}
FIEL_CUDART Error cudaLaunchHostFunc(Handle s, void (*f)(void*), void* data) {
  return host_function(s, reinterpret_cast<uint64_t>(f), data, 0);
}
FIEL_CUDART Error cudaLaunchHostFunc_ptsz(Handle s, void (*f)(void*), void* data) {
  return host_function(pt(s), reinterpret_cast<uint64_t>(f), data, 0);
}
FIEL_CUDART Error cudaStreamGetFlags(Handle s, unsigned* flags) {
  uint32_t capturing = 0;
  return info(s, *flags, capturing);
}
FIEL_CUDART Error cudaStreamGetFlags_ptsz(Handle s, unsigned* flags) {
  uint32_t capturing = 0;
  return info(pt(s), *flags, capturing);
}
FIEL_CUDART Error cudaStreamGetPriority(Handle, int* priority) {
  *priority = 0;
  return kCudaSuccess;
}
FIEL_CUDART Error cudaStreamGetPriority_ptsz(Handle, int* priority) {
  *priority = 0;
  return kCudaSuccess;
}
FIEL_CUDART Error cudaStreamGetId(Handle s, unsigned long long* id) {
  *id = s;
  return kCudaSuccess;
}
FIEL_CUDART Error cudaStreamGetDevice(Handle, int* device) {
  *device = 0;
  return kCudaSuccess;
}
FIEL_CUDART Error cudaStreamSetAttribute(Handle, int32_t, const void*) { return kCudaSuccess; }
FIEL_CUDART Error cudaStreamSetAttribute_ptsz(Handle, int32_t, const void*) { return kCudaSuccess; }
FIEL_CUDART Error cudaStreamCopyAttributes(Handle, Handle) { return kCudaSuccess; }
FIEL_CUDART Error cudaStreamIsCapturing(Handle s, int32_t* status) {
  uint32_t flags = 0, capturing = 0;
  Error e = s == 0 ? kCudaSuccess : info(s, flags, capturing);
  *status = capturing ? 1 : 0;
  return e;
}
FIEL_CUDART Error cudaStreamIsCapturing_ptsz(Handle s, int32_t* status) {
  return cudaStreamIsCapturing(pt(s), status);
}
FIEL_CUDART Error cudaStreamGetCaptureInfo(Handle s, int32_t* status, unsigned long long* id,
                                           Handle* graph, const Handle** dependencies,
                                           const void** edges, size_t* n_dependencies) {
  // Whether a capture is on is told; its inside is not (nodes are added by capturing only).
  if (graph || dependencies || edges || n_dependencies)
    return not_supported("the inside of a stream's capture");
  if (id) *id = s;
  return cudaStreamIsCapturing(s, status);
}
FIEL_CUDART Error cudaThreadExchangeStreamCaptureMode(int32_t* mode) {
  *mode = 0;
  return kCudaSuccess;
}

FIEL_CUDART Error cudaEventCreate(Handle* e) { return create(Rt::event_create, e, {}); }
FIEL_CUDART Error cudaEventCreateWithFlags(Handle* e, unsigned) {
  return create(Rt::event_create, e, {});
}
FIEL_CUDART Error cudaEventDestroy(Handle e) { return with_handle(Rt::event_destroy, e); }
FIEL_CUDART Error cudaEventRecord(Handle e, Handle s) { return record(s, e); }
FIEL_CUDART Error cudaEventRecord_ptsz(Handle e, Handle s) { return record(pt(s), e); }
FIEL_CUDART Error cudaEventRecordWithFlags(Handle e, Handle s, unsigned) { return record(s, e); }
FIEL_CUDART Error cudaEventRecordWithFlags_ptsz(Handle e, Handle s, unsigned) {
  return record(pt(s), e);
}
FIEL_CUDART Error cudaEventSynchronize(Handle e) { return with_handle(Rt::event_synchronize, e); }
FIEL_CUDART Error cudaEventQuery(Handle e) { return with_handle(Rt::event_query, e); }
FIEL_CUDART Error cudaEventElapsedTime(float* ms, Handle, Handle) {
  // There is no time on a device that executes on the CPU; a plausible one would be a lie.
  if (ms) *ms = 0;
  return call(Rt::elapsed_time_asked, {});
}

}  // namespace fiel::standin
