// Batches of work on a GPU's streams, and the times of a call.
//
// A timed batch: its first stream waits for a word in pinned memory (the gate), then records an
// event; every other stream waits for that event first; when all is queued the first stream joins
// them, records the end, and the gate opens. Launch latency is thus outside. Work that has to reach
// the host before it goes on opens the gate early, and the times say so.
//
// Under a hold the word is another process's, which no one here can write: several calls are queued
// behind it, each between its own two events. Work that has to reach the host waits for the
// release.
#include <fmt/core.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "device/cuda_device.h"

namespace fiel::device {
namespace {

/// A hardware queue takes about a thousand entries; a batch that fills it behind a closed gate
/// would never end.
constexpr uint32_t kMaxHeld = 256;
constexpr size_t kMaxEvents = 8192;

int64_t now_ns() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

double elapsed_ns(const CudaDriver& cu, CUevent from, CUevent to) {
  if (from == nullptr || to == nullptr) return 0;
  float ms = 0;
  return cu.event_elapsed(&ms, from, to) == kCuSuccess ? static_cast<double>(ms) * 1e6 : 0;
}

}  // namespace

CUresult CudaDevice::wait_for(CUstream stream, int64_t deadline_ns) const {
  for (int64_t turns = 0;; ++turns) {
    CUresult r = cu_->stream_query(stream);
    if (r != kCuNotReady) return r;
    if (now_ns() > deadline_ns) return kCuNotReady;
    // Short work is awaited without sleeping, and what is timed; long work without burning a core.
    if (turns > 20'000 && !timing_) {
      timespec pause{0, 200'000};
      ::nanosleep(&pause, nullptr);
    }
  }
}

Result<CUstream> CudaDevice::stream_for(uint64_t number) {
  if (auto it = streams_.find(number); it != streams_.end()) return it->second;
  CUstream s = nullptr;
  // A program with more streams shares them: some order too much, never too little.
  if (streams_.size() >= kMaxRealStreams)
    return std::next(streams_.begin(), static_cast<long>(number % kMaxRealStreams))->second;
  FIEL_TRY_STATUS(check(cu_->stream_create(&s, kCuStreamNonBlocking), "cuStreamCreate"));
  streams_[number] = s;
  return s;
}

Result<CUevent> CudaDevice::take_event() {
  if (events_taken_ < events_.size()) return events_[events_taken_++];
  if (events_.size() >= kMaxEvents)
    return fail(ErrorCode::limit, "too many orders between streams");
  CUevent e = nullptr;
  FIEL_TRY_STATUS(check(cu_->event_create(&e, kCuEventDisableTiming), "cuEventCreate"));
  events_.push_back(e);
  ++events_taken_;
  return e;
}

Result<CUevent> CudaDevice::take_timed_event() {
  if (timed_events_taken_ == timed_events_.size()) {
    if (timed_events_.size() >= kMaxEvents)
      return fail(ErrorCode::limit, "too many timed calls in a batch");
    CUevent e = nullptr;
    FIEL_TRY_STATUS(check(cu_->event_create(&e, 0), "cuEventCreate"));
    timed_events_.push_back(e);
  }
  return timed_events_[timed_events_taken_++];
}

/// Timed work stands behind the hold or the gate, on the stream that is the batch's first.
Status CudaDevice::begin_batch(CUstream stream) {
  queued_ = 1;
  if (!timing_) return {};
  ++times_.batches;
  held_ = true;
  if (hold_)
    return check(cu_->stream_wait_value(stream, hold_->address, hold_->value, kCuWaitGeq),
                 "waiting for the release");
  *gate_ = 0;
  __sync_synchronize();
  FIEL_TRY_STATUS(
      check(cu_->stream_wait_value(stream, gate_address_, 1, kCuWaitGeq), "closing the gate"));
  gate_closed_ = true;
  return {};
}

/// On the stream itself: an event on another one would add the way there and back to the span.
Status CudaDevice::begin_span(CUstream stream) {
  const bool follows = !spans_.empty() && spans_.back().end != nullptr && lead_ != stream;
  if (follows)
    FIEL_TRY_STATUS(
        check(cu_->stream_wait_event(stream, spans_.back().end, 0), "cuStreamWaitEvent"));
  FIEL_TRY(CUevent begin, take_timed_event());
  spans_.push_back({begin, nullptr, call_});
  lead_ = stream;
  in_span_ = {stream};
  span_open_ = true;
  ++queued_;
  return check(cu_->event_record(begin, stream), "cuEventRecord");
}

/// Joins the span's streams behind its end.
Status CudaDevice::end_span() {
  if (!span_open_) return {};
  span_open_ = false;
  for (CUstream s : in_span_) {
    if (s == lead_) continue;
    FIEL_TRY(CUevent e, take_event());
    FIEL_TRY_STATUS(check(cu_->event_record(e, s), "cuEventRecord"));
    FIEL_TRY_STATUS(check(cu_->stream_wait_event(lead_, e, 0), "cuStreamWaitEvent"));
  }
  FIEL_TRY(CUevent end, take_timed_event());
  spans_.back().end = end;
  ++queued_;
  return check(cu_->event_record(end, lead_), "cuEventRecord");
}

/// The first work of a stream in a call follows the call's begin.
Status CudaDevice::enter_batch(CUstream stream) {
  if (queued_ == 0) FIEL_TRY_STATUS(begin_batch(stream));
  if (std::find(used_.begin(), used_.end(), stream) == used_.end()) used_.push_back(stream);
  if (!timing_) return {};
  if (!span_open_) return begin_span(stream);
  if (std::find(in_span_.begin(), in_span_.end(), stream) != in_span_.end()) return {};
  in_span_.push_back(stream);
  return check(cu_->stream_wait_event(stream, spans_.back().begin, 0), "cuStreamWaitEvent");
}

Status CudaDevice::close_operation() {
  if (!awaited_) return {};
  awaited_ = false;
  FIEL_TRY(CUevent e, take_event());
  FIEL_TRY_STATUS(check(cu_->event_record(e, current_), "cuEventRecord"));
  done_[operation_] = e;
  return {};
}

Status CudaDevice::place(uint64_t operation, uint64_t stream, std::span<const uint64_t> after,
                         bool awaited) {
  FIEL_TRY_STATUS(usable());
  FIEL_TRY_STATUS(close_operation());
  FIEL_TRY(CUstream s, stream_for(stream));
  FIEL_TRY_STATUS(enter_batch(s));
  for (uint64_t a : after)
    if (auto it = done_.find(a); it != done_.end())
      FIEL_TRY_STATUS(check(cu_->stream_wait_event(s, it->second, 0), "cuStreamWaitEvent"));
  current_ = s;
  operation_ = operation;
  awaited_ = awaited;
  return {};
}

void CudaDevice::count_queued() {
  if (queued_ == 0) return;
  if (++queued_ > kMaxHeld && gate_closed_) open_gate();
}

void CudaDevice::open_gate() const {
  if (!gate_closed_) return;
  held_ = false;
  gate_closed_ = false;
  __sync_synchronize();
  *gate_ = 1;
}

std::string CudaDevice::take_printed() {
  if (printed_fd_ < 0) return {};
  ::fflush(stdout);
  std::string text;
  off_t size = ::lseek(printed_fd_, 0, SEEK_END);
  if (size <= 0) return text;
  text.resize(static_cast<size_t>(std::min<off_t>(size, 1 << 20)));
  ssize_t n = ::pread(printed_fd_, text.data(), text.size(), 0);
  text.resize(n > 0 ? static_cast<size_t>(n) : 0);
  if (::ftruncate(printed_fd_, 0) != 0) printed_fd_ = -1;
  (void)::lseek(printed_fd_, 0, SEEK_SET);
  return text;
}

QueueEnd CudaDevice::lose(CUresult result) {
  lost_ = result;
  QueueEnd end;
  end.cuda_error = result;
  std::string names;
  for (const std::string& k : running_) names += (names.empty() ? "" : ", ") + k;
  end.message = fmt::format("{}{}", names.empty() ? "" : names + ": ",
                            to_string(cu_->error(result, "on the GPU")));
  return end;
}

QueueEnd CudaDevice::drain(int64_t deadline_ns) {
  QueueEnd end;
  if (lost_ != kCuSuccess) return lose(lost_);
  if (queued_ == 0) return end;
  const Status joined = end_span();
  times_.queued_whole = held_ && times_.batches == 1;
  open_gate();
  if (!joined) {
    end = lose(kCuInvalidValue);
    end.message = to_string(joined.error());
    return end;
  }
  awaited_ = false;
  for (CUstream s : used_) {
    CUresult r = wait_for(s, deadline_ns);
    if (r == kCuNotReady) {
      end = lose(kCuLaunchTimeout);
      end.timed_out = true;
      return end;
    }
    if (r != kCuSuccess) return lose(r);
  }
  // Device printf is flushed by waiting for the context, which is idle now.
  if (CUresult r = cu_->context_synchronize(); r != kCuSuccess) return lose(r);
  end.printed = take_printed();
  queued_ = 0;
  used_.clear();
  done_.clear();
  running_.clear();
  events_taken_ = 0;
  current_ = clock_;
  for (uint64_t address : std::exchange(doomed_, {})) (void)free(address);
  return end;
}

void CudaDevice::begin_times(std::optional<Hold> hold) {
  times_ = {};
  hold_ = hold;
  spans_.clear();
  timed_events_taken_ = 0;
  call_ = 0;
  timing_ = true;
}

Status CudaDevice::next_call() {
  FIEL_TRY_STATUS(usable());
  FIEL_TRY_STATUS(close_operation());
  ++call_;
  return end_span();
}

DeviceTimes CudaDevice::end_times() {
  timing_ = false;
  hold_.reset();
  for (size_t i = 0, first = 0; i < spans_.size(); ++i) {
    if (spans_[i].call != spans_[first].call) first = i;
    times_.busy_ns += elapsed_ns(*cu_, spans_[i].begin, spans_[i].end);
    const bool last = i + 1 == spans_.size() || spans_[i + 1].call != spans_[i].call;
    if (last) times_.span_ns += elapsed_ns(*cu_, spans_[first].begin, spans_[i].end);
  }
  return times_;
}

void CudaDevice::begin_launch_times() {
  launch_spans_.clear();
  timed_events_taken_ = 0;
  timing_launches_ = true;
}

CUresult CudaDevice::launch_timed(const CuLaunchConfig& config, CUfunction function, void** extra) {
  if (!timing_launches_) return cu_->launch(&config, function, nullptr, extra);
  launch_spans_.push_back({});
  auto begin = take_timed_event(), end = take_timed_event();
  if (!begin || !end) return cu_->launch(&config, function, nullptr, extra);
  if (CUresult r = cu_->event_record(*begin, config.stream); r != kCuSuccess) return r;
  if (CUresult r = cu_->launch(&config, function, nullptr, extra); r != kCuSuccess) return r;
  launch_spans_.back() = {*begin, *end, 0};
  return cu_->event_record(*end, config.stream);
}

std::vector<double> CudaDevice::end_launch_times() {
  timing_launches_ = false;
  std::vector<double> ns;
  for (const Span& s : std::exchange(launch_spans_, {}))
    ns.push_back(elapsed_ns(*cu_, s.begin, s.end));
  return ns;
}

Result<uint64_t> CudaDevice::map_page(void* page, uint64_t bytes) {
  FIEL_TRY_STATUS(usable());
  FIEL_TRY_STATUS(
      check(cu_->host_register(page, bytes, kCuHostPortable | kCuHostDeviceMap), "pinning a page"));
  CUdeviceptr at = 0;
  if (CUresult r = cu_->host_pointer(&at, page, 0); r != kCuSuccess) {
    (void)cu_->host_unregister(page);
    return fail(cu_->error(r, "cuMemHostGetDevicePointer"));
  }
  return at;
}

void CudaDevice::unmap_page(void* page) { (void)cu_->host_unregister(page); }

Status CudaDevice::flush_l2() {
  FIEL_TRY_STATUS(usable());
  uint64_t bytes = 2 * std::max<uint64_t>(gpu_.l2_bytes, 16ull << 20);
  if (flush_buffer_ == 0) {
    CUdeviceptr at = 0;
    FIEL_TRY_STATUS(check(cu_->allocate(&at, bytes), "a buffer to flush the cache with"));
    flush_buffer_ = at;
  }
  if (cu_->reset_persisting_l2) (void)cu_->reset_persisting_l2();
  FIEL_TRY_STATUS(check(cu_->fill_async(flush_buffer_, 0, bytes, clock_), "flushing the cache"));
  return settle();
}

}  // namespace fiel::device
