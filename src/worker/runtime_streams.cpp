// The stand-in runtime's streams, events and the running of what is due.
#include <algorithm>

#include "worker/runtime_server.h"

namespace fiel::worker {
namespace {

constexpr size_t kMaxStreams = 4096, kMaxEvents = 1u << 16;
constexpr size_t kMaxPending = 1u << 14;
constexpr uint32_t kNonBlocking = 1;

}  // namespace

RuntimeServer::Capture* RuntimeServer::capture_of(uint64_t stream) {
  stream = Timeline::normal(stream);
  for (auto& c : captures_)
    if (c->last.count(stream)) return c.get();
  return nullptr;
}

int32_t RuntimeServer::submit(uint64_t stream, Work work) {
  if (!timeline_.has_stream(stream)) return kCudaErrorInvalidResourceHandle;
  if (Capture* c = capture_of(stream)) {
    if (c->graph->nodes.size() >= kMaxPending) return kCudaErrorMemoryAllocation;
    capture_work(*c, Timeline::normal(stream), std::move(work));
    return kCudaSuccess;
  }
  if (Timeline::normal(stream) == kLegacyStream)
    for (const auto& c : captures_)
      if (!timeline_.is_non_blocking(c->origin)) return kCudaErrorStreamCaptureImplicit;
  Timeline::OpId op = timeline_.submit(stream, std::move(work));
  // A flood of launches must not grow without bound: what is oldest runs, as on a full queue.
  if (timeline_.pending_count() > kMaxPending) return run_until(op);
  return kCudaSuccess;
}

int32_t RuntimeServer::run_until(Timeline::OpId op) {
  if (queue_)
    run_batch(timeline_.due_with_order(op));
  else
    run_all(timeline_.due(op));
  return sticky_;
}

void RuntimeServer::run_all(std::vector<Work> work) {
  for (Work& w : work) {
    if (sticky_ != kCudaSuccess || end_ != End::none) break;
    run(w);
  }
  if (sticky_ != kCudaSuccess) timeline_.drop_all();
}

void RuntimeServer::run(Work& w) {
  int32_t error = kCudaSuccess;
  switch (w.kind) {
    case Work::Kind::marker:
      break;
    case Work::Kind::launch:
      run_launch(w);
      break;
    case Work::Kind::copy:
      error = run_copy(w);
      break;
    case Work::Kind::fill:
      error = run_fill(w.fill);
      break;
    case Work::Kind::host:
      if (queue_) finish_batch();
      if (sticky_ == kCudaSuccess) (void)callback(w.host);
      break;
    case Work::Kind::free_memory:
      if (allocations_.erase(w.address)) (void)device_.free(w.address);
      break;
    case Work::Kind::graph:
      for (size_t i : w.graph->order()) {
        if (sticky_ != kCudaSuccess || end_ != End::none) break;
        Work node = w.graph->nodes[i].work;
        run(node);
      }
      break;
  }
  if (error != kCudaSuccess && sticky_ == kCudaSuccess) {
    sticky_ = kCudaErrorIllegalAddress;
    if (outcome_.message.empty())
      outcome_.message = w.kind == Work::Kind::fill
                             ? "cudaMemset outside any allocation of the device"
                             : "cudaMemcpy outside any allocation of the device";
  }
}

int32_t RuntimeServer::on_stream(Rt op, WireReader& in, WireWriter& out) {
  if (op == Rt::stream_create) {
    uint32_t flags = in.get<uint32_t>();
    if (in.failed()) return -1;
    if (timeline_.streams() >= kMaxStreams) return kCudaErrorMemoryAllocation;
    out.put(timeline_.create_stream((flags & kNonBlocking) != 0));
    return kCudaSuccess;
  }
  if (op == Rt::device_synchronize) {
    if (in.failed()) return -1;
    if (!captures_.empty()) return kCudaErrorStreamCaptureUnsupported;
    return run_until(timeline_.tail_of_everything());
  }
  uint64_t stream = Timeline::normal(in.get<uint64_t>());
  uint64_t event = op == Rt::stream_wait_event ? in.get<uint64_t>() : 0;
  if (in.failed()) return -1;
  if (!timeline_.has_stream(stream)) return kCudaErrorInvalidResourceHandle;
  Capture* capture = capture_of(stream);
  switch (op) {
    case Rt::stream_destroy:
      if (stream == stream_ || stream < kFirstHandle) return kCudaErrorInvalidResourceHandle;
      timeline_.destroy_stream(stream);
      return kCudaSuccess;
    case Rt::stream_synchronize:
      if (capture) return kCudaErrorStreamCaptureUnsupported;
      return run_until(timeline_.tail(stream));
    case Rt::stream_query: {
      if (capture) return kCudaErrorStreamCaptureUnsupported;
      size_t before = timeline_.pending_count();
      int32_t error = run_until(timeline_.tail(stream));
      // Busy the first time it is asked after new work, done the next: polling loops both run and
      // end.
      return error == kCudaSuccess && timeline_.pending_count() < before ? kCudaErrorNotReady
                                                                         : error;
    }
    case Rt::stream_wait_event: {
      auto it = events_.find(event);
      if (it == events_.end()) return kCudaErrorInvalidResourceHandle;
      if (it->second.capture) {  // the event belongs to a capture: this stream joins it
        if (capture && capture != it->second.capture.get()) return kCudaErrorIllegalState;
        auto& last = it->second.capture->last[stream];
        last.insert(last.end(), it->second.nodes.begin(), it->second.nodes.end());
        return kCudaSuccess;
      }
      if (!capture) timeline_.wait(stream, it->second.op);
      return kCudaSuccess;
    }
    case Rt::stream_info: {
      out.put<uint32_t>(timeline_.is_non_blocking(stream) ? kNonBlocking : 0);
      out.put<uint32_t>(capture != nullptr);
      return kCudaSuccess;
    }
    default:
      return -1;
  }
}

int32_t RuntimeServer::on_event(Rt op, WireReader& in, WireWriter& out) {
  if (op == Rt::event_create) {
    if (in.failed()) return -1;
    if (events_.size() >= kMaxEvents) return kCudaErrorMemoryAllocation;
    uint64_t handle = next_handle_;
    next_handle_ += kHandleStep;
    events_[handle] = {};
    out.put(handle);
    return kCudaSuccess;
  }
  uint64_t stream = op == Rt::event_record ? Timeline::normal(in.get<uint64_t>()) : 0;
  uint64_t event = in.get<uint64_t>();
  if (in.failed()) return -1;
  auto it = events_.find(event);
  if (it == events_.end()) return kCudaErrorInvalidResourceHandle;
  switch (op) {
    case Rt::event_destroy:
      events_.erase(it);
      return kCudaSuccess;
    case Rt::event_record: {
      if (!timeline_.has_stream(stream)) return kCudaErrorInvalidResourceHandle;
      for (auto& c : captures_)
        if (auto last = c->last.find(stream); last != c->last.end()) {
          it->second = {0, c, last->second};
          return kCudaSuccess;
        }
      it->second = {timeline_.tail(stream), nullptr, {}};
      return kCudaSuccess;
    }
    case Rt::event_synchronize:
    case Rt::event_query: {
      if (it->second.capture) return kCudaErrorStreamCaptureUnsupported;
      bool was_pending = timeline_.pending(it->second.op);
      int32_t error = run_until(it->second.op);
      return error == kCudaSuccess && op == Rt::event_query && was_pending ? kCudaErrorNotReady
                                                                           : error;
    }
    default:
      return -1;
  }
}

int32_t RuntimeServer::on_host_function(WireReader& in) {
  uint64_t stream = in.get<uint64_t>();
  Work w;
  w.kind = Work::Kind::host;
  w.host.function = in.get<uint64_t>();
  w.host.data = in.get<uint64_t>();
  uint32_t style = in.get<uint32_t>();
  if (in.failed()) return -1;
  w.host.stream = stream;
  w.host.kind = static_cast<uint32_t>(style == 1 ? CallbackKind::stream_callback
                                                 : CallbackKind::host_function);
  return submit(stream, std::move(w));
}

}  // namespace fiel::worker
