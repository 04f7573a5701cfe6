#include "channel.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cstdio>
#include <mutex>
#include <vector>

#include "worker/frame_io.h"

namespace fiel::standin {
namespace {

using worker::CallbackHeader;
using worker::CallbackKind;
using worker::FrameHeader;
using worker::FromDevice;
using worker::IoStatus;

struct State {
  // Recursive: WindowLock is held around the calls that use the window.
  std::recursive_mutex mutex;
  int fd = -1;
  bool tried = false, dead = false;
  std::byte* window = nullptr;
  DeviceFacts facts;
  std::vector<uint8_t> stashed_run;  ///< a `run` that arrived while a thread waited for its reply
  uint32_t stashed_number = 0;
  bool has_stashed_run = false;
};

State& state() {
  static State* s = new State;  // never destroyed: static destructors of the kernel may call us
  return *s;
}
thread_local Error last_error = worker::kCudaSuccess;
thread_local bool in_callback = false;

void run_callback(State& s, const CallbackHeader& h) {
  bool ok = true;
  in_callback = true;
  switch (static_cast<CallbackKind>(h.kind)) {
    case CallbackKind::host_function:
      reinterpret_cast<void (*)(void*)>(h.function)(reinterpret_cast<void*>(h.data));
      break;
    case CallbackKind::stream_callback:
      reinterpret_cast<void (*)(Handle, Error, void*)>(h.function)(h.stream, h.error,
                                                                   reinterpret_cast<void*>(h.data));
      break;
    case CallbackKind::fetch:
      if ((ok = s.window && h.bytes <= worker::kRuntimeWindowBytes))
        std::memcpy(s.window, reinterpret_cast<const void*>(h.function), h.bytes);
      break;
    case CallbackKind::store:
      if ((ok = s.window && h.bytes <= worker::kRuntimeWindowBytes))
        std::memcpy(reinterpret_cast<void*>(h.function), s.window, h.bytes);
      break;
  }
  in_callback = false;
  WireWriter w;
  w.put<uint32_t>(ok);
  if (worker::send_frame(s.fd, static_cast<uint16_t>(Rt::callback_done), 0, w.bytes()) !=
      IoStatus::ok)
    s.dead = true;
}

/// Serves callbacks and keeps a `run` for later until a reply is there.
Error wait_reply(State& s, Reply& reply) {
  for (;;) {
    FrameHeader header;
    if (worker::receive_frame(s.fd, header, reply.bytes, worker::kMaxRuntimeMessage, &reply.fd) !=
        IoStatus::ok) {
      s.dead = true;
      return worker::kCudaErrorUnknown;
    }
    WireReader r(reply.bytes);
    switch (static_cast<FromDevice>(header.type)) {
      case FromDevice::callback:
        run_callback(s, r.get<CallbackHeader>());
        break;
      case FromDevice::run:
        s.stashed_run.swap(reply.bytes);
        s.stashed_number = header.sequence;
        s.has_stashed_run = true;
        break;
      default:
        return r.get<int32_t>();
    }
  }
}

Error exchange(State& s, Rt op, const WireWriter& request, Reply& reply) {
  if (worker::send_frame(s.fd, static_cast<uint16_t>(op), 0, request.bytes()) != IoStatus::ok) {
    s.dead = true;
    return worker::kCudaErrorUnknown;
  }
  return wait_reply(s, reply);
}

void after_fork_in_child() {
  State& s = state();
  s.dead = true;
  new (&s.mutex) std::recursive_mutex;
  if (s.fd >= 0) ::close(s.fd);
  s.fd = -1;
}

/// Called with the lock held.
bool connected(State& s) {
  if (s.tried) return !s.dead;
  s.tried = true;
  s.dead = true;
  struct stat st {};
  if (::fstat(worker::kCandidateChannelFd, &st) != 0 || !S_ISSOCK(st.st_mode)) return false;
  s.fd = worker::kCandidateChannelFd;
  ::fcntl(s.fd, F_SETFD, FD_CLOEXEC);
  pthread_atfork(nullptr, nullptr, after_fork_in_child);
  Reply reply;
  if (exchange(s, Rt::hello, {}, reply) != worker::kCudaSuccess || reply.fd < 0) return false;
  void* p =
      ::mmap(nullptr, worker::kRuntimeWindowBytes, PROT_READ | PROT_WRITE, MAP_SHARED, reply.fd, 0);
  ::close(reply.fd);
  if (p == MAP_FAILED) return false;
  s.window = static_cast<std::byte*>(p);
  WireReader r = reply.reader();
  s.facts.memory_bytes = r.get<uint64_t>();
  s.facts.multiprocessors = r.get<uint32_t>();
  s.dead = false;
  return true;
}

struct Run {
  uint32_t number = 0;  ///< the device's: `returned` must carry it
  Handle stream = 0;
  std::vector<worker::WireTensor> inputs, outputs;
};

bool parse_run(const std::vector<uint8_t>& bytes, Run& run) {
  WireReader r(bytes);
  run.stream = r.get<uint64_t>();
  uint32_t n_in = r.get<uint32_t>(), n_out = r.get<uint32_t>();
  if (n_in > worker::kMaxTensors || n_out > worker::kMaxTensors) return false;
  for (uint32_t i = 0; i < n_in; ++i) run.inputs.push_back(r.get<worker::WireTensor>());
  for (uint32_t i = 0; i < n_out; ++i) run.outputs.push_back(r.get<worker::WireTensor>());
  return r.complete();
}

/// The next `run`; false when the channel is gone.
bool next_run(State& s, Run& run) {
  for (;;) {
    pollfd p{s.fd, POLLIN, 0};
    // The time-out is for a `run` that another thread has taken off the socket and stashed.
    ::poll(&p, 1, 50);
    std::lock_guard lock(s.mutex);
    if (s.dead) return false;
    std::vector<uint8_t> bytes;
    if (s.has_stashed_run) {
      s.has_stashed_run = false;
      bytes.swap(s.stashed_run);
      run.number = s.stashed_number;
      return parse_run(bytes, run);
    }
    p.revents = 0;
    if (::poll(&p, 1, 0) <= 0) continue;
    FrameHeader header;
    if (worker::receive_frame(s.fd, header, bytes, worker::kMaxRuntimeMessage) != IoStatus::ok)
      return false;
    run.number = header.sequence;
    if (static_cast<FromDevice>(header.type) == FromDevice::run) return parse_run(bytes, run);
    if (static_cast<FromDevice>(header.type) != FromDevice::callback) return false;
    WireReader r(bytes);
    run_callback(s, r.get<CallbackHeader>());
  }
}

}  // namespace

Error call(Rt op, const WireWriter& request, Reply* reply) {
  // CUDA forbids its own calls inside host functions.
  if (in_callback) return set_error(worker::kCudaErrorNotPermitted);
  State& s = state();
  std::lock_guard lock(s.mutex);
  if (!connected(s))
    return set_error(s.fd < 0 ? worker::kCudaErrorNoDevice : worker::kCudaErrorCudartUnloading);
  Reply local;
  Error e = exchange(s, op, request, reply ? *reply : local);
  if (!reply && local.fd >= 0) ::close(local.fd);
  return e == worker::kCudaErrorNotReady ? e : set_error(e);
}

Error post(Rt op, const WireWriter& request, uint32_t number) {
  State& s = state();
  std::lock_guard lock(s.mutex);
  if (!connected(s)) return worker::kCudaErrorNoDevice;
  bool ok =
      worker::send_frame(s.fd, static_cast<uint16_t>(op), number, request.bytes()) == IoStatus::ok;
  if (!ok) s.dead = true;
  return ok ? worker::kCudaSuccess : worker::kCudaErrorUnknown;
}

void serve(int (*fiel_run)(const void*, int, void*, int, void*)) {
  State& s = state();
  if (post(Rt::ready, {}) != worker::kCudaSuccess) return;
  for (Run run; next_run(s, run); run = {}) {
    int code = fiel_run(run.inputs.data(), static_cast<int>(run.inputs.size()), run.outputs.data(),
                        static_cast<int>(run.outputs.size()), reinterpret_cast<void*>(run.stream));
    std::fflush(stdout);
    WireWriter w;
    w.put<int32_t>(code).put<int32_t>(take_error());
    if (post(Rt::returned, w, run.number) != worker::kCudaSuccess) return;
  }
}

WindowLock::WindowLock() {
  state().mutex.lock();
  connected(state());
}
WindowLock::~WindowLock() { state().mutex.unlock(); }
std::byte* WindowLock::data() const { return state().dead ? nullptr : state().window; }

DeviceFacts device_facts() {
  State& s = state();
  std::lock_guard lock(s.mutex);
  connected(s);
  return s.facts;
}

Error set_error(Error error) {
  if (error != worker::kCudaSuccess) last_error = error;
  return error;
}
Error not_supported(std::string_view what) {
  WireWriter w;
  w.text(what);
  Error e = call(Rt::not_supported, w);
  return set_error(e == worker::kCudaSuccess ? worker::kCudaErrorNotSupported : e);
}
Error take_error() {
  Error e = last_error;
  last_error = worker::kCudaSuccess;
  return e;
}
Error peek_error() { return last_error; }

}  // namespace fiel::standin

/// What the runner calls.
FIEL_CUDART void __fielServe(int (*fiel_run)(const void*, int, void*, int, void*)) {
  fiel::standin::serve(fiel_run);
}
FIEL_CUDART void __fielLoadFailed(const char* message) {
  fiel::standin::WireWriter w;
  w.text(std::string_view(message).substr(0, 4000));
  fiel::standin::post(fiel::standin::Rt::load_failed, w);
}
