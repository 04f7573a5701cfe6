#include "worker/clock_server.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include <algorithm>

#include "worker/runtime_server.h"

namespace fiel::worker {
namespace {

constexpr int64_t kPatienceNs = 3'000'000'000;  // attention without a call: back to sleep
constexpr int kSpins = 2'000;

void nap() {
  timespec pause{0, 200'000};
  ::nanosleep(&pause, nullptr);
}

struct Mapping {
  ClockPage* page = nullptr;
  ~Mapping() {
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

}  // namespace

Result<ClockOutcome> serve_clock(RuntimeServer& server, int page_descriptor,
                                 const std::vector<CallRequest>& slots, const RunSettings& settings,
                                 int64_t call_timeout_ms) {
  if (slots.empty() || slots.size() > kMaxClockSlots)
    return fail(ErrorCode::usage, "a timed loop needs its slots");
  Mapping mapping;
  FIEL_TRY_STATUS(map_page(page_descriptor, mapping));
  ClockPage& page = *mapping.page;
  ClockOutcome out;
  page.ready = 1;
  for (int64_t turn; (turn = next_turn(page)) != kLeaveClock;) {
    const uint64_t first = static_cast<uint64_t>(page.slot.load());
    const int64_t calls = std::clamp<int64_t>(page.calls, 1, kMaxClockSlots);
    double device_ns = 0, host_ns = 0;
    bool failed = false;
    for (int64_t i = 0; i < calls && !failed; ++i) {
      CallRequest request = slots[(first + static_cast<uint64_t>(i)) % slots.size()];
      request.timed = true;
      request.cold = false;
      out.last = server.call(request, settings, monotonic_ns() + call_timeout_ms * 1'000'000);
      ++out.calls;
      failed = out.last.status != CallStatus::returned || out.last.return_code != 0 ||
               !out.last.runtime_error.empty();
      out.all_queued_whole &= out.last.times && out.last.times->queued_whole;
      const double wall = out.last.times ? out.last.times->wall_ns : 0;
      host_ns += out.last.times ? out.last.times->host_ns : 0;
      device_ns +=
          out.last.times && out.last.times->device_ns > 0 ? out.last.times->device_ns : wall;
    }
    page.device_ns = device_ns / static_cast<double>(calls);
    page.host_ns = host_ns / static_cast<double>(calls);
    page.status = failed ? 1 : 0;
    page.done = turn;
    page.reported = turn;
    if (failed) break;
  }
  return out;
}

}  // namespace fiel::worker
