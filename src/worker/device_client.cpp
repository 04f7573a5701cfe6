#include "worker/device_client.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "worker/device_process.h"
#include "worker/frame_io.h"
#include "worker/report_codec.h"
#include "worker/settings_codec.h"

namespace fiel::worker {
namespace {

constexpr int kFirstPrivateFd = 64;

/// Only what the loader and the sanitizers need of our environment.
std::vector<std::string> device_environment() {
  std::vector<std::string> out;
  for (const char* name :
       {"LD_LIBRARY_PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS",
        "LLVM_PROFILE_FILE", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"})
    if (const char* value = std::getenv(name)) out.push_back(std::string(name) + "=" + value);
  // For CUDA's driver: no cache of compiled code on disk, nothing loaded at a first launch, and as
  // many hardware queues as there can be, so that streams do not wait for each other.
  for (const char* setting :
       {"CUDA_CACHE_DISABLE=1", "CUDA_MODULE_LOADING=EAGER", "CUDA_DEVICE_MAX_CONNECTIONS=32"})
    out.emplace_back(setting);
  return out;
}

Result<std::vector<vgpu::KernelInfo>> read_kernels(const std::vector<uint8_t>& bytes) {
  WireReader r(bytes);
  std::vector<vgpu::KernelInfo> all(r.count(32, 1u << 16));
  for (vgpu::KernelInfo& k : all) k = read_kernel(r);
  if (!r.complete()) return fail(ErrorCode::io, "the device process answered nonsense");
  return all;
}

template <typename T>
Result<T> single(Result<std::vector<uint8_t>> reply) {
  if (!reply) return fail(std::move(reply).error());
  WireReader r(*reply);
  T value = r.get<T>();
  if (!r.complete()) return fail(ErrorCode::io, "the device process answered nonsense");
  return value;
}

Status nothing(Result<std::vector<uint8_t>> reply) {
  if (!reply) return fail(std::move(reply).error());
  return {};
}

}  // namespace

Status DeviceClient::spawn(int runtime_socket) {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
    return fail(ErrorCode::io, "cannot create a channel to the device process");
  control_ = Fd(pair[0]);
  Fd theirs(pair[1]);
  window_fd_ = Fd(::memfd_create("fiel-control", MFD_CLOEXEC));
  if (!window_fd_ || ::ftruncate(window_fd_.get(), kControlWindowBytes) != 0)
    return fail(ErrorCode::io, "no shared memory for the device process");
  void* p =
      ::mmap(nullptr, kControlWindowBytes, PROT_READ | PROT_WRITE, MAP_SHARED, window_fd_.get(), 0);
  if (p == MAP_FAILED) return fail(ErrorCode::io, "no shared memory for the device process");
  window_ = static_cast<std::byte*>(p);
  int sources[3] = {theirs.get(), window_fd_.get(), runtime_socket};
  Fd high[3];
  for (int i = 0; i < 3; ++i)
    if (sources[i] >= 0) high[i] = Fd(::fcntl(sources[i], F_DUPFD_CLOEXEC, kFirstPrivateFd));
  std::string program = executable_path().string(), verb = kDeviceVerb;
  std::vector<std::string> variables = device_environment();
  std::vector<char*> argv = {program.data(), verb.data(), nullptr}, envp;
  for (std::string& v : variables) envp.push_back(v.data());
  envp.push_back(nullptr);
  pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0)
    return fail(ErrorCode::io,
                std::string("cannot start the device process: ") + std::strerror(errno));
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(127);
    ::setpgid(0, 0);  // the terminal's Ctrl-C is for the judge to handle
    if (::syscall(SYS_close_range, 3u, ~0u, 4u /* CLOSE_RANGE_CLOEXEC */) != 0)
      for (int fd = 3; fd < 65536; ++fd) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    for (int i = 0; i < 3; ++i)
      if (high[i] && ::dup2(high[i].get(), kControlFd + i) < 0) ::_exit(127);
    ::execve("/proc/self/exe", argv.data(), envp.data());
    ::execve(program.c_str(), argv.data(), envp.data());  // no /proc here
    ::_exit(127);
  }
  return {};
}

Status DeviceClient::initialize(const vgpu::DeviceOptions& options, bool with_candidate,
                                device::DeviceName where, sandbox::GpuConfinement confinement) {
  WireWriter w;
  w.put<int32_t>(where.cuda).put(confinement);
  worker::write(w, options);
  w.put<uint8_t>(with_candidate);
  auto reply = ask(Ctl::initialize, w, 60'000);
  if (!reply)
    return fail(
        std::move(reply).error().with_context("starting the device " + device::to_string(where)));
  WireReader r(*reply);
  facts_ = read_device_facts(r);
  if (!r.complete()) return fail(ErrorCode::io, "the device process answered nonsense");
  return {};
}

Result<std::unique_ptr<DeviceClient>> DeviceClient::start(const vgpu::DeviceOptions& options,
                                                          int runtime_socket,
                                                          device::DeviceName where) {
  using sandbox::GpuConfinement;
  std::string loosened;
  for (auto confinement :
       {GpuConfinement::files_and_calls, GpuConfinement::calls, GpuConfinement::none}) {
    std::unique_ptr<DeviceClient> c(new DeviceClient);
    FIEL_TRY_STATUS(c->spawn(runtime_socket));
    Status done = c->initialize(options, runtime_socket >= 0, where, confinement);
    if (done) {
      if (!loosened.empty()) c->facts_.confinement.missing.push_back(loosened);
      return c;
    }
    // A driver that does not work under what is denied here is used with less, and that is said.
    if (!where.is_cuda() || confinement == GpuConfinement::none)
      return fail(std::move(done).error());
    loosened = "device process: the driver does not work confined further: " + done.error().what;
  }
  return fail(ErrorCode::io, "no device");
}

DeviceClient::~DeviceClient() {
  kill();
  if (window_) ::munmap(window_, kControlWindowBytes);
}

void DeviceClient::kill() {
  dead_ = true;
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {}
  pid_ = -1;
}

Status DeviceClient::send(Ctl op, const WireWriter& request, int descriptor) {
  if (dead_) return fail(ErrorCode::io, "the device process has ended");
  IoStatus s = send_frame(control_.get(), static_cast<uint16_t>(op), ++sequence_, request.bytes(),
                          descriptor, monotonic_ns() + 60'000'000'000);
  if (s == IoStatus::ok) return {};
  dead_ = true;
  return fail(ErrorCode::io, "the device process has ended");
}

Result<std::vector<uint8_t>> DeviceClient::receive(int64_t timeout_ms) {
  if (dead_) return fail(ErrorCode::io, "the device process has ended");
  FrameHeader header;
  std::vector<uint8_t> bytes;
  IoStatus s = receive_frame(control_.get(), header, bytes, kMaxControlMessage, nullptr,
                             monotonic_ns() + timeout_ms * 1'000'000);
  if (s != IoStatus::ok || header.sequence != sequence_) {
    dead_ = true;
    return fail(s == IoStatus::timeout ? ErrorCode::limit : ErrorCode::io,
                s == IoStatus::timeout ? "the device process does not answer"
                                       : "the device process has ended");
  }
  WireReader r(bytes);
  if (r.get<uint32_t>() == 1) {
    bytes.erase(bytes.begin(), bytes.begin() + 4);
    return bytes;
  }
  auto code = static_cast<ErrorCode>(r.get<uint32_t>());
  std::string what = r.text(1u << 20), hint = r.text(1u << 20);
  if (!r.complete() || code > ErrorCode::interrupted)
    return fail(ErrorCode::io, "the device process answered nonsense");
  return fail(code, what, hint);
}

Result<std::vector<uint8_t>> DeviceClient::ask(Ctl op, const WireWriter& request,
                                               int64_t timeout_ms) {
  FIEL_TRY_STATUS(send(op, request));
  return receive(timeout_ms);
}

Result<uint64_t> DeviceClient::allocate(uint64_t bytes, std::string_view label) {
  WireWriter w;
  w.put(bytes).text(label.substr(0, 4096));
  return single<uint64_t>(ask(Ctl::allocate, w));
}
Status DeviceClient::free(uint64_t address) {
  WireWriter w;
  w.put(address);
  return nothing(ask(Ctl::free_memory, w));
}
Status DeviceClient::write(uint64_t address, std::span<const std::byte> bytes) {
  for (size_t at = 0; at < bytes.size(); at += kControlWindowBytes) {
    size_t n = std::min<size_t>(kControlWindowBytes, bytes.size() - at);
    std::memcpy(window_, bytes.data() + at, n);
    WireWriter w;
    w.put<uint64_t>(address + at).put<uint64_t>(n);
    FIEL_TRY_STATUS(nothing(ask(Ctl::write, w)));
  }
  return {};
}
Status DeviceClient::read(uint64_t address, std::span<std::byte> bytes) {
  for (size_t at = 0; at < bytes.size(); at += kControlWindowBytes) {
    size_t n = std::min<size_t>(kControlWindowBytes, bytes.size() - at);
    WireWriter w;
    w.put<uint64_t>(address + at).put<uint64_t>(n);
    FIEL_TRY_STATUS(nothing(ask(Ctl::read, w)));
    std::memcpy(bytes.data() + at, window_, n);
  }
  return {};
}
Status DeviceClient::poison(uint64_t address, uint64_t bytes, uint8_t pattern) {
  WireWriter w;
  w.put(address).put(bytes).put(pattern);
  return nothing(ask(Ctl::poison, w));
}
Status DeviceClient::mark_output(uint64_t address) {
  WireWriter w;
  w.put(address);
  return nothing(ask(Ctl::mark_output, w));
}
Result<vgpu::Coverage> DeviceClient::coverage(uint64_t address) {
  WireWriter w;
  w.put(address);
  FIEL_TRY(auto bytes, ask(Ctl::coverage, w));
  WireReader r(bytes);
  vgpu::Coverage c = read_coverage(r);
  if (!r.complete()) return fail(ErrorCode::io, "the device process answered nonsense");
  return c;
}
Result<uint64_t> DeviceClient::import_window(int descriptor, uint64_t bytes) {
  WireWriter w;
  w.put(bytes);
  FIEL_TRY_STATUS(send(Ctl::import_window, w, descriptor));
  return single<uint64_t>(receive(60'000));
}
Status DeviceClient::drop_window(uint64_t address) {
  WireWriter w;
  w.put(address);
  return nothing(ask(Ctl::drop_window, w));
}
Result<std::vector<vgpu::KernelInfo>> DeviceClient::kernels() {
  FIEL_TRY(auto bytes, ask(Ctl::kernels, {}));
  return read_kernels(bytes);
}
Result<uint32_t> DeviceClient::load_module(std::string_view ptx, std::string_view name) {
  WireWriter w;
  w.text(name.substr(0, 4096)).text(ptx);
  return single<uint32_t>(ask(Ctl::load_module, w));
}
Result<std::vector<vgpu::KernelInfo>> DeviceClient::module_kernels(uint32_t module) {
  WireWriter w;
  w.put(module);
  FIEL_TRY(auto bytes, ask(Ctl::module_kernels, w));
  return read_kernels(bytes);
}

}  // namespace fiel::worker
