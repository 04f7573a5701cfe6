// Batches of work on a GPU's streams, and the times of a call.
//
// A timed batch: the clock's stream waits for a word in pinned memory (the gate), then records an
// event; every stream that the batch uses waits for that event first; when all is queued the
// clock's stream joins them, records the end, and the gate opens. Launch latency is thus outside.
// Work that has to reach the host before it goes on opens the gate early, and the times say so.
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
  float ms = 0;
  return cu.event_elapsed(&ms, from, to) == kCuSuccess ? static_cast<double>(ms) * 1e6 : 0;
}

}  // namespace

CUresult CudaDevice::wait_for(CUstream stream, int64_t deadline_ns) const {
  for (int64_t turns = 0;; ++turns) {
    CUresult r = cu_->stream_query(stream);
    if (r != kCuNotReady) return r;
    if (now_ns() > deadline_ns) return kCuNotReady;
    // Short work is awaited without sleeping; long work without burning a core.
    if (turns > 20'000) {
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

Status CudaDevice::begin_batch() {
  queued_ = 1;
  if (!timing_) return {};
  ++times_.batches;
  held_ = true;
  *gate_ = 0;
  __sync_synchronize();
  FIEL_TRY_STATUS(
      check(cu_->stream_wait_value(clock_, gate_address_, 1, kCuWaitGeq), "closing the gate"));
  gate_closed_ = true;
  CUevent begin = times_.batches == 1 ? call_begin_ : batch_begin_;
  return check(cu_->event_record(begin, clock_), "cuEventRecord");
}

/// The first work of a stream in a batch follows the batch's begin.
Status CudaDevice::enter_batch(CUstream stream) {
  if (queued_ == 0) FIEL_TRY_STATUS(begin_batch());
  if (std::find(used_.begin(), used_.end(), stream) != used_.end()) return {};
  used_.push_back(stream);
  if (!timing_) return {};
  CUevent begin = times_.batches == 1 ? call_begin_ : batch_begin_;
  return check(cu_->stream_wait_event(stream, begin, 0), "cuStreamWaitEvent");
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

/// Joins all streams behind the end event; then lets the batch run.
Status CudaDevice::end_batch_timing() {
  Status joined;
  for (CUstream s : used_) {
    FIEL_TRY(CUevent e, take_event());
    FIEL_TRY_STATUS(check(cu_->event_record(e, s), "cuEventRecord"));
    FIEL_TRY_STATUS(check(cu_->stream_wait_event(clock_, e, 0), "cuStreamWaitEvent"));
  }
  FIEL_TRY_STATUS(check(cu_->event_record(batch_end_, clock_), "cuEventRecord"));
  bool whole = held_;
  open_gate();
  times_.queued_whole = whole && times_.batches == 1;
  return {};
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
  if (timing_)
    if (Status joined = end_batch_timing(); !joined) {
      open_gate();
      end = lose(kCuInvalidValue);
      end.message = to_string(joined.error());
      return end;
    }
  open_gate();
  awaited_ = false;
  std::vector<CUstream> all = used_;
  if (timing_) all.push_back(clock_);
  for (CUstream s : all) {
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
  if (timing_) {
    CUevent begin = times_.batches == 1 ? call_begin_ : batch_begin_;
    times_.busy_ns += elapsed_ns(*cu_, begin, batch_end_);
    times_.span_ns = elapsed_ns(*cu_, call_begin_, batch_end_);
    if (times_.batches > 1) times_.queued_whole = false;
  }
  queued_ = 0;
  used_.clear();
  done_.clear();
  running_.clear();
  events_taken_ = 0;
  current_ = clock_;
  for (uint64_t address : std::exchange(doomed_, {})) (void)free(address);
  return end;
}

void CudaDevice::begin_times() {
  times_ = {};
  timing_ = true;
}

DeviceTimes CudaDevice::end_times() {
  timing_ = false;
  return times_;
}

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
