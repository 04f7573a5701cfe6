#include "worker/runtime_server.h"

#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "worker/request_number.h"

namespace fiel::worker {
namespace {

constexpr size_t kMaxStrayRequests = 4096;

WireTensor to_wire(const DeviceTensor& t) {
  WireTensor w;
  w.data = t.address;
  w.dtype = static_cast<int32_t>(t.dtype);
  w.rank = static_cast<int32_t>(std::min<size_t>(t.shape.size(), 8));
  for (int i = 0; i < w.rank; ++i) {
    w.shape[i] = t.shape[i];
    w.stride[i] = static_cast<size_t>(i) < t.strides.size() ? t.strides[i] : 0;
  }
  return w;
}

/// Requests that are answered even after a sticky error: they only tidy up.
bool survives_sticky(Rt op) {
  return op == Rt::unregister_module || op == Rt::stream_destroy || op == Rt::event_destroy ||
         op == Rt::graph_destroy || op == Rt::exec_destroy || op == Rt::elapsed_time_asked;
}

}  // namespace

RuntimeServer::RuntimeServer(vgpu::Device& device, int channel_fd, device::Queue* queue)
    : device_(device), queue_(queue), channel_(channel_fd) {
  stream_ = timeline_.create_stream(false);
}

RuntimeServer::~RuntimeServer() {
  if (window_) ::munmap(window_, kRuntimeWindowBytes);
}

void RuntimeServer::end(IoStatus status, const std::string& why) {
  if (end_ != End::none) return;
  end_ = status == IoStatus::closed    ? End::closed
         : status == IoStatus::timeout ? End::timeout
                                       : End::malformed;
  end_reason_ = why;
}

bool RuntimeServer::send(FromDevice type, std::span<const uint8_t> payload, int fd,
                         uint32_t sequence) {
  IoStatus s =
      send_frame(channel_, static_cast<uint16_t>(type), sequence, payload, fd, deadline_ns_);
  if (s != IoStatus::ok) end(s, "the candidate does not read its channel");
  return s == IoStatus::ok;
}

bool RuntimeServer::receive(FrameHeader& header) {
  IoStatus s = receive_frame(channel_, header, message_, kMaxRuntimeMessage, nullptr, deadline_ns_);
  if (s != IoStatus::ok) end(s, "bytes on the channel that are no message");
  return s == IoStatus::ok;
}

void RuntimeServer::reply(int32_t error, const WireWriter& results) {
  WireWriter w;
  w.put<int32_t>(error);
  std::vector<uint8_t> bytes(w.bytes().begin(), w.bytes().end());
  bytes.insert(bytes.end(), results.bytes().begin(), results.bytes().end());
  send(FromDevice::reply, bytes, reply_fd_);
}

bool RuntimeServer::callback(const CallbackHeader& header) {
  WireWriter w;
  w.put(header);
  if (!send(FromDevice::callback, w.bytes())) return false;
  FrameHeader h;
  if (!receive(h)) return false;
  WireReader r(message_);
  bool ok = r.get<uint32_t>() != 0;
  if (static_cast<Rt>(h.type) != Rt::callback_done || !r.complete()) {
    end(IoStatus::malformed, "a request in the middle of a callback");
    return false;
  }
  return ok;
}

bool RuntimeServer::serve_one() {
  FrameHeader header;
  if (!receive(header)) return false;
  std::vector<uint8_t> request;
  request.swap(message_);  // a callback within the request reads into message_
  WireReader in(request);
  auto op = static_cast<Rt>(header.type);
  switch (op) {
    case Rt::ready:
      if (ready_) end(IoStatus::malformed, "`ready` for a second time");
      ready_ = true;
      return in.complete() && end_ == End::none;
    case Rt::load_failed:
      load_failure_ = in.text(4096);
      return false;
    case Rt::returned:
      return_code_ = in.get<int32_t>();
      last_error_ = in.get<int32_t>();
      returned_ = true;
      if (!in.complete()) end(IoStatus::malformed, "a malformed `returned`");
      if (header.sequence != call_number_)
        end(IoStatus::malformed, "a `returned` that is no answer to this call");
      return false;
    default:
      break;
  }
  WireWriter out;
  reply_fd_ = -1;
  int32_t error = sticky_ != kCudaSuccess && !survives_sticky(op) ? sticky_ : -1;
  if (error == -1) {
    error = dispatch(op, in, out);
    // A request refused for another reason, such as too many graphs, is not read to its end.
    if (error == -1 || in.failed() || (error == kCudaSuccess && !in.complete()))
      end(IoStatus::malformed, fmt::format("malformed request {}", header.type));
    if (sticky_ != kCudaSuccess) error = sticky_;
  }
  if (end_ != End::none) return false;
  reply(error, error == kCudaSuccess || error == kCudaErrorNotReady ? out : WireWriter{});
  return end_ == End::none;
}

int32_t RuntimeServer::dispatch(Rt op, WireReader& in, WireWriter& out) {
  switch (op) {
    case Rt::hello:
      return on_hello(out);
    case Rt::register_module:
      return on_register_module(in, out);
    case Rt::unregister_module:
      return on_unregister_module(in);
    case Rt::kernel:
      return on_kernel(in, out);
    case Rt::symbol:
      return on_symbol(in, out);
    case Rt::managed_symbol:
      return on_managed_symbol(in, out);
    case Rt::allocate:
      return on_allocate(in, out);
    case Rt::free_memory:
      return on_free(in);
    case Rt::allocate_host:
      return on_allocate_host(in, out);
    case Rt::free_host:
      return on_free_host(in);
    case Rt::memory_info:
      return on_memory_info(out);
    case Rt::classify:
      return on_classify(in, out);
    case Rt::copy:
    case Rt::upload:
    case Rt::download:
    case Rt::copy_deferred:
      return on_copy(op, in);
    case Rt::fill:
      return on_fill(in);
    case Rt::launch:
      return on_launch(in);
    case Rt::host_function:
      return on_host_function(in);
    case Rt::stream_create:
    case Rt::stream_destroy:
    case Rt::stream_synchronize:
    case Rt::stream_query:
    case Rt::stream_wait_event:
    case Rt::stream_info:
    case Rt::device_synchronize:
      return on_stream(op, in, out);
    case Rt::event_create:
    case Rt::event_destroy:
    case Rt::event_record:
    case Rt::event_synchronize:
    case Rt::event_query:
      return on_event(op, in, out);
    case Rt::occupancy:
      return on_occupancy(in, out);
    case Rt::set_kernel_attribute:
      return on_set_kernel_attribute(in);
    case Rt::capture_begin:
    case Rt::capture_end:
      return on_capture(op, in, out);
    case Rt::graph_create:
    case Rt::graph_destroy:
    case Rt::graph_instantiate:
    case Rt::graph_launch:
    case Rt::graph_clone:
    case Rt::exec_destroy:
      return on_graph(op, in, out);
    case Rt::graph_add:
      return on_graph_add(in, out);
    case Rt::graph_set_node:
      return on_graph_set_node(in);
    case Rt::graph_nodes:
      return on_graph_nodes(in, out);
    case Rt::exec_update:
      return on_exec_update(in);
    case Rt::graph_add_edges:
      return on_graph_add_edges(in);
    case Rt::elapsed_time_asked:
      outcome_.asked_for_time = true;
      return kCudaSuccess;
    case Rt::not_supported: {
      const std::string what = in.text(200);
      return in.failed() ? -1 : not_supported(what);
    }
    default:
      return -1;
  }
}

int32_t RuntimeServer::not_supported(const std::string& what) {
  if (beyond_.empty()) beyond_ = what;
  return kCudaErrorNotSupported;
}

/// The call failed for want of what the device does not do: no fault of the kernel. One that went
/// another way instead, and cleared the error, is judged by what it did.
bool RuntimeServer::needed_more_than_there_is() const {
  const bool unloaded = std::any_of(modules_.begin(), modules_.end(),
                                    [](const Module& m) { return !m.error.empty(); });
  return (unloaded && (return_code_ != 0 || outcome_.launches.empty() ||
                       last_error_ == kCudaErrorInvalidPtx)) ||
         (!beyond_.empty() && (return_code_ != 0 || last_error_ == kCudaErrorNotSupported));
}

void RuntimeServer::begin_outcome() {
  outcome_ = {};
  metric_lines_ = 0;
  returned_ = timed_out_ = false;
  return_code_ = last_error_ = 0;
  beyond_.clear();
  device_.reset_peak();
}

CallOutcome RuntimeServer::finish_outcome() {
  CallOutcome& o = outcome_;
  o.return_code = return_code_;
  o.unjoined_work = timeline_.pending_work();
  for (const auto& capture : captures_)
    for (const Graph::Node& n : capture->graph->nodes)
      if (n.kind != NodeKind::empty) ++o.unjoined_work;
  o.peak_device_bytes = device_.peak_memory();
  for (const auto& [address, bytes] : allocations_) o.candidate_allocated_bytes += bytes;
  for (const Module& m : modules_)
    if (!m.error.empty() && o.beyond_device.empty()) o.beyond_device = m.error;
  if (o.beyond_device.empty()) o.beyond_device = beyond_;
  if (int32_t e = sticky_ != kCudaSuccess ? sticky_ : last_error_; e != kCudaSuccess)
    o.runtime_error = cuda_error_name(e);
  if (timed_out_ || end_ == End::timeout) {
    o.status = CallStatus::timeout;
    o.message = timed_out_ ? "a launch was still running when the time was over"
                           : "the host code was still running when the time was over";
  } else if (end_ == End::malformed) {
    o.status = CallStatus::protocol;
    o.message = end_reason_;
  } else if (end_ == End::closed || !load_failure_.empty()) {
    o.status = CallStatus::crashed;
    o.message = load_failure_.empty() ? "the candidate closed its channel" : load_failure_;
  } else if (sticky_ != kCudaSuccess) {
    o.status = CallStatus::device_fault;
    if (o.message.empty()) o.message = cuda_error_text(sticky_);
  } else if (needed_more_than_there_is()) {
    o.status = CallStatus::unsupported;
    o.message = o.beyond_device;
  } else if (returned_ && return_code_ == -1) {
    o.status = CallStatus::unsupported;
    o.message = "the kernel does not handle these shapes or dtypes (FIEL_UNSUPPORTED)";
  } else if (return_code_ != 0) {
    o.message = fmt::format("fiel_run returned {}", return_code_);
  }
  return o;
}

CallOutcome RuntimeServer::start(const RunSettings& settings, int64_t deadline_ns) {
  settings_ = settings;
  deadline_ns_ = deadline_ns;
  begin_outcome();
  while (!ready_ && serve_one()) {}
  if (returned_) end(IoStatus::malformed, "`returned` before any call");
  return finish_outcome();
}

/// Answers what background threads sent since the last call; false when there is too much of it.
bool RuntimeServer::refuse_stray_requests() {
  uint64_t n = 0;
  pollfd p{channel_, POLLIN, 0};
  while (end_ == End::none && ::poll(&p, 1, 0) > 0) {
    FrameHeader header;
    if (!receive(header)) break;
    if (++n > kMaxStrayRequests) {
      end(IoStatus::malformed, "a flood of requests outside a call");
      break;
    }
    auto op = static_cast<Rt>(header.type);
    if (op == Rt::returned || op == Rt::ready || op == Rt::load_failed || op == Rt::callback_done) {
      end(IoStatus::malformed, "an answer that nobody asked for");
      break;
    }
    reply_fd_ = -1;
    reply(kCudaErrorNotPermitted, {});
  }
  outcome_.stray_requests = n;
  return end_ == End::none;
}

/// Cold caches where asked, then the device's clock. False: the device is of no use any more.
bool RuntimeServer::begin_timed(const CallRequest& request) {
  if (!queue_) return true;  // the virtual GPU says nothing about time
  if (request.cold)
    if (Status flushed = queue_->flush_l2(); !flushed) {
      sticky_ = kCudaErrorLaunchFailure;
      outcome_.message = to_string(flushed.error());
      return false;
    }
  queue_->begin_times();
  return true;
}

void RuntimeServer::end_timed(int64_t host_ns, int64_t wall_ns) {
  if (!queue_) return;
  device::DeviceTimes t = queue_->end_times();
  const int64_t lead_ns = first_work_ns_ > 0 ? first_work_ns_ - call_begin_ns_ : host_ns;
  outcome_.times = CallTimes{t.span_ns,
                             t.busy_ns,
                             static_cast<double>(host_ns),
                             static_cast<double>(lead_ns),
                             static_cast<double>(wall_ns),
                             t.batches,
                             t.queued_whole};
}

/// Every launch was given to the device in the order of its record.
void RuntimeServer::end_profiled() {
  const std::vector<double> ns = queue_->end_launch_times();
  for (size_t i = 0; i < std::min(ns.size(), outcome_.launches.size()); ++i)
    outcome_.launches[i].device_ns = ns[i];
}

/// A GPU would have finished by now what the last call left unjoined.
bool RuntimeServer::settle_leftovers() {
  if (timeline_.pending_work() == 0)
    timeline_.drop_all();  // marks: waiting for them would wait for what is held
  else
    run_until(timeline_.tail_of_everything());
  captures_.clear();
  return sticky_ == kCudaSuccess && refuse_stray_requests();
}

bool RuntimeServer::run_host_code(const CallRequest& request) {
  outcome_.launches.clear();
  call_begin_ns_ = monotonic_ns();
  first_work_ns_ = 0;
  WireWriter w;
  w.put(stream_);
  w.put(static_cast<uint32_t>(request.inputs.size()));
  w.put(static_cast<uint32_t>(request.outputs.size()));
  for (const DeviceTensor& t : request.inputs) w.put(to_wire(t));
  for (const DeviceTensor& t : request.outputs) w.put(to_wire(t));
  call_number_ = draw_request_number(call_number_);
  if (!send(FromDevice::run, w.bytes(), -1, call_number_)) return false;
  while (serve_one()) {}
  return true;
}

/// What fiel_run's work is waited for by.
Timeline::OpId RuntimeServer::end_of(const CallRequest& request) {
  return request.every_stream ? timeline_.tail_of_everything() : timeline_.tail(stream_);
}

CallOutcome RuntimeServer::call(const CallRequest& request, const RunSettings& settings,
                                int64_t deadline_ns) {
  settings_ = settings;
  deadline_ns_ = deadline_ns;
  begin_outcome();
  if (!usable() || !ready_ || !settle_leftovers()) return finish_outcome();
  if (request.timed && !begin_timed(request)) return finish_outcome();
  const bool profiled = request.profiled && !request.timed && queue_;
  if (profiled) queue_->begin_launch_times();
  if (!run_host_code(request)) return finish_outcome();
  const int64_t returned = monotonic_ns();
  if (returned_ && end_ == End::none) run_until(end_of(request));
  if (profiled) end_profiled();
  if (request.timed) end_timed(returned - call_begin_ns_, monotonic_ns() - call_begin_ns_);
  return finish_outcome();
}

void RuntimeServer::begin_held(const device::Hold& hold) { queue_->begin_times(hold); }

CallOutcome RuntimeServer::call_held(const CallRequest& request, const RunSettings& settings,
                                     int64_t deadline_ns) {
  settings_ = settings;
  deadline_ns_ = deadline_ns;
  begin_outcome();
  if (!usable() || !ready_ || !settle_leftovers()) return finish_outcome();
  if (!run_host_code(request)) return finish_outcome();
  const auto host_ns = static_cast<double>(monotonic_ns() - call_begin_ns_);
  if (returned_ && end_ == End::none) queue_batch(timeline_.due_with_order(end_of(request)));
  if (Status closed = queue_->next_call(); !closed && sticky_ == kCudaSuccess) {
    sticky_ = kCudaErrorLaunchFailure;
    outcome_.message = to_string(closed.error());
  }
  outcome_.times = CallTimes{.host_ns = host_ns};
  return finish_outcome();
}

CallOutcome RuntimeServer::end_held(int64_t deadline_ns) {
  deadline_ns_ = deadline_ns;
  finish_batch();
  end_timed(0, 0);
  return finish_outcome();
}

std::vector<vgpu::KernelInfo> RuntimeServer::kernels() const {
  std::vector<vgpu::KernelInfo> out;
  for (const Module& m : modules_) {
    if (!m.loaded) continue;
    for (const std::string& name : device_.kernels(m.device_module))
      if (auto info = device_.kernel(m.device_module, name)) out.push_back(std::move(*info));
  }
  return out;
}

}  // namespace fiel::worker
