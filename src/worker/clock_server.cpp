#include "worker/clock_server.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <cstddef>

#include "worker/runtime_server.h"

namespace fiel::worker {
namespace {

constexpr int64_t kPatienceNs = 3'000'000'000;   // attention without a call: back to sleep
constexpr int64_t kReleaseNs = 600'000'000'000;  // an oracle that is gone releases nobody
constexpr int kSpins = 2'000;

void nap() {
  timespec pause{0, 200'000};
  ::nanosleep(&pause, nullptr);
}

/// The control page in this process, and where the device sees it; unmapped in the end.
struct Mapping {
  ClockPage* page = nullptr;
  device::Queue* queue = nullptr;
  uint64_t release = 0;  ///< 0: the device cannot wait for the oracle's word
  Mapping() = default;
  Mapping(const Mapping&) = delete;
  ~Mapping() {
    if (release != 0) queue->unmap_page(page);
    if (page) ::munmap(page, kClockPageBytes);
  }
};

Status map_page(int descriptor, Mapping& m) {
  struct stat st {};
  if (::fstat(descriptor, &st) != 0 || st.st_size < static_cast<off_t>(kClockPageBytes))
    return fail(ErrorCode::usage, "the control page is too short");
  void* p = ::mmap(nullptr, kClockPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (p == MAP_FAILED) return fail(ErrorCode::io, "the control page cannot be mapped");
  m.page = static_cast<ClockPage*>(p);
  if (m.queue)
    if (const auto at = m.queue->map_page(p, kClockPageBytes))
      m.release = *at + offsetof(ClockPage, release);
  // The oracle's sign that we live: the kernel drops this lock when the process ends.
  struct flock lock {};
  lock.l_type = F_WRLCK;
  (void)::fcntl(descriptor, F_SETLK, &lock);
  return {};
}

/// The next sample's number, or kLeaveClock.
int64_t next_turn(ClockPage& page) {
  const int64_t last = page.done;
  for (;;) {
    while ((page.go == last || page.go == 0) && (page.attend == last || page.attend == 0)) nap();
    page.attending = page.attend.load();
    const int64_t until = monotonic_ns() + kPatienceNs;
    while (monotonic_ns() < until)
      for (int i = 0; i < kSpins; ++i)
        if (const int64_t go = page.go; go != last && go != 0) return go;
    nap();
  }
}

bool failed(const CallOutcome& o) {
  return o.status != CallStatus::returned || o.return_code != 0 || !o.runtime_error.empty();
}

class ClockLoop {
 public:
  ClockLoop(RuntimeServer& server, Mapping& mapping, const std::vector<CallRequest>& slots,
            const RunSettings& settings, int64_t call_timeout_ms)
      : server_(server),
        page_(*mapping.page),
        release_(mapping.release),
        slots_(slots),
        settings_(settings),
        timeout_ns_(call_timeout_ms * 1'000'000) {}

  ClockOutcome run();

 private:
  struct Figures {
    double device_ns = 0, host_ns = 0, lead_ns = 0;
  };
  const CallRequest& slot(int64_t i) const {
    return slots_[(first_ + static_cast<uint64_t>(i)) % slots_.size()];
  }
  int64_t deadline(int64_t calls = 1) const { return monotonic_ns() + calls * timeout_ns_; }
  Figures one_by_one();
  Figures held(int64_t turn);
  void await_release(int64_t turn) const;

  RuntimeServer& server_;
  ClockPage& page_;
  const uint64_t release_;
  const std::vector<CallRequest>& slots_;
  const RunSettings& settings_;
  const int64_t timeout_ns_;
  uint64_t first_ = 0;
  int64_t calls_ = 1;
  ClockOutcome out_;
};

ClockOutcome ClockLoop::run() {
  page_.holds = release_ != 0 ? 1 : 0;
  page_.ready = 1;
  for (int64_t turn; (turn = next_turn(page_)) != kLeaveClock;) {
    first_ = static_cast<uint64_t>(page_.slot.load());
    calls_ = std::clamp<int64_t>(page_.calls, 1, kMaxClockSlots);
    const Figures f = page_.held == 1 && release_ != 0 ? held(turn) : one_by_one();
    const bool over = failed(out_.last);
    page_.status = over ? 1 : 0;
    page_.device_ns = f.device_ns / static_cast<double>(calls_);
    page_.host_ns = f.host_ns / static_cast<double>(calls_);
    page_.lead_ns = f.lead_ns;
    page_.done = turn;
    page_.reported = turn;
    if (over) break;
  }
  return out_;
}

ClockLoop::Figures ClockLoop::one_by_one() {
  Figures f;
  for (int64_t i = 0; i < calls_; ++i) {
    CallRequest request = slot(i);
    request.timed = true;
    request.cold = false;
    out_.last = server_.call(request, settings_, deadline());
    ++out_.calls;
    const CallTimes times = out_.last.times.value_or(CallTimes{});
    out_.all_queued_whole &= times.queued_whole;
    f.host_ns += times.host_ns;
    f.device_ns += times.device_ns > 0 ? times.device_ns : times.wall_ns;
    if (i == 0) f.lead_ns = times.lead_ns;
    if (failed(out_.last)) break;
  }
  return f;
}

/// All calls handed to a device that waits; the oracle lets it go once their inputs are there.
ClockLoop::Figures ClockLoop::held(int64_t turn) {
  Figures f;
  server_.begin_held({release_, static_cast<uint32_t>(turn)});
  bool broken = false;
  for (int64_t i = 0; i < calls_ && !broken; ++i) {
    out_.last = server_.call_held(slot(i), settings_, deadline());
    ++out_.calls;
    f.host_ns += out_.last.times.value_or(CallTimes{}).host_ns;
    broken = failed(out_.last);
  }
  page_.queued = turn;
  await_release(turn);
  const CallOutcome end = server_.end_held(deadline(calls_));
  if (!broken) out_.last = end;
  const CallTimes times = end.times.value_or(CallTimes{});
  out_.all_queued_whole &= times.queued_whole;
  f.device_ns = times.device_ns;
  return f;
}

/// Awake, so that the end is seen as soon as it is there. The oracle releases also when it leaves.
void ClockLoop::await_release(int64_t turn) const {
  const int64_t until = monotonic_ns() + kReleaseNs;
  while (monotonic_ns() < until)
    for (int i = 0; i < kSpins; ++i)
      if (page_.release >= turn || page_.go == kLeaveClock) return;
}

}  // namespace

Result<ClockOutcome> serve_clock(RuntimeServer& server, int page_descriptor,
                                 const std::vector<CallRequest>& slots, const RunSettings& settings,
                                 int64_t call_timeout_ms) {
  if (slots.empty() || slots.size() > kMaxClockSlots)
    return fail(ErrorCode::usage, "a timed loop needs its slots");
  Mapping mapping;
  mapping.queue = server.queue();
  FIEL_TRY_STATUS(map_page(page_descriptor, mapping));
  ClockLoop loop(server, mapping, slots, settings, call_timeout_ms);
  return loop.run();
}

}  // namespace fiel::worker
