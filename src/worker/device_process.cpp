#include "worker/device_process.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <utility>

#include "device/cuda_device.h"
#include "sandbox/gpu_confinement.h"
#include "sandbox/seccomp_filter.h"
#include "worker/clock_server.h"
#include "worker/control_protocol.h"
#include "worker/device_facts.h"
#include "worker/report_codec.h"
#include "worker/runtime_server.h"
#include "worker/settings_codec.h"

namespace fiel::worker {
namespace {

int64_t deadline_after(int64_t timeout_ms) {
  return monotonic_ns() + std::max<int64_t>(timeout_ms, 0) * 1'000'000;
}

class DeviceProcess {
 public:
  explicit DeviceProcess(const DeviceFactory& make_device) : make_device_(make_device) {}

  int run() {
    void* p = ::mmap(nullptr, kControlWindowBytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                     kControlWindowFd, 0);
    if (p == MAP_FAILED) return 1;
    window_ = static_cast<std::byte*>(p);
    FrameHeader header;
    std::vector<uint8_t> request;
    int passed = -1;
    while (receive_frame(kControlFd, header, request, kMaxControlMessage, &passed) ==
           IoStatus::ok) {
      passed_ = Fd(std::exchange(passed, -1));
      WireReader in(request);
      WireWriter out;
      out.put<uint32_t>(1);
      Status done = handle(static_cast<Ctl>(header.type), in, out);
      if (done && !in.complete()) done = fail(ErrorCode::parse, "malformed control message");
      if (!done) {
        out.clear();
        out.put<uint32_t>(0).put(static_cast<uint32_t>(done.error().code));
        out.text(done.error().what).text(done.error().hint);
      }
      if (send_frame(kControlFd, static_cast<uint16_t>(Ctl::reply), header.sequence, out.bytes()) !=
          IoStatus::ok)
        break;
    }
    return 0;
  }

 private:
  Status handle(Ctl op, WireReader& in, WireWriter& out) {
    if (op == Ctl::initialize) return initialize(in, out);
    if (!device_) return fail(ErrorCode::usage, "the device is not initialised");
    switch (op) {
      case Ctl::start:
      case Ctl::call:
        return run_candidate(op, in, out);
      case Ctl::kernels: {
        auto all = server_ ? server_->kernels() : std::vector<vgpu::KernelInfo>{};
        write_kernels(all, out);
        return {};
      }
      case Ctl::import_window:
      case Ctl::drop_window:
        return windows(op, in, out);
      case Ctl::clock:
        return run_clock(in, out);
      case Ctl::load_module:
      case Ctl::module_kernels:
      case Ctl::launch:
        return run_plan(op, in, out);
      default:
        return memory(op, in, out);
    }
  }

  Status initialize(WireReader& in, WireWriter& out) {
    auto ordinal = in.get<int32_t>();
    auto confinement = static_cast<sandbox::GpuConfinement>(in.get<uint8_t>());
    vgpu::DeviceOptions options = read_device_options(in);
    bool with_candidate = in.get<uint8_t>() != 0;
    if (in.failed() || device_) return fail(ErrorCode::usage, "cannot initialise the device");
    DeviceFacts facts;
    if (ordinal >= 0) {
      FIEL_TRY_STATUS(own_gpu(ordinal, options, confinement, facts));
    } else {
      FIEL_TRY(device_, make_device_(options));
    }
    if (with_candidate) server_ = std::make_unique<RuntimeServer>(*device_, kRuntimeFd, cuda_);
    if (!cuda_) FIEL_TRY_STATUS(sandbox::confine_to_computation());
    facts.isa = device_->isa_name();
    facts.memory_bytes = device_->options().memory_bytes;
    facts.multiprocessors = device_->options().multiprocessors;
    worker::write(out, facts);
    return {};
  }

  Status own_gpu(int ordinal, const vgpu::DeviceOptions& options,
                 sandbox::GpuConfinement confinement, DeviceFacts& facts) {
    FIEL_TRY(auto driver, device::CudaDriver::open());
    FIEL_TRY(auto gpu, device::CudaDevice::create(std::move(driver), ordinal, options));
    FIEL_TRY_STATUS(gpu->capture_standard_output());
    // The driver cannot start confined; it works so afterwards, or the client tries again with
    // less.
    facts.confinement = sandbox::confine_gpu_process(confinement);
    FIEL_TRY_STATUS(gpu->try_out());
    facts.name = gpu->gpu().name;
    facts.uuid = gpu->gpu().uuid;
    facts.l2_bytes = gpu->gpu().l2_bytes;
    cuda_ = gpu.get();
    device_ = std::move(gpu);
    return {};
  }

  Status memory(Ctl op, WireReader& in, WireWriter& out) {
    uint64_t a = in.get<uint64_t>();
    switch (op) {
      case Ctl::allocate: {
        FIEL_TRY(uint64_t address, device_->allocate(a, in.text(4096)));
        out.put(address);
        return {};
      }
      case Ctl::free_memory:
        return device_->free(a);
      case Ctl::mark_output:
        return device_->mark_output(a);
      case Ctl::coverage: {
        FIEL_TRY(vgpu::Coverage c, device_->coverage(a));
        worker::write(out, c);
        return {};
      }
      case Ctl::write:
      case Ctl::read: {
        uint64_t n = in.get<uint64_t>();
        if (n > kControlWindowBytes) return fail(ErrorCode::limit, "transfer beyond the window");
        if (op == Ctl::write) return device_->write(a, {window_, n});
        return device_->read(a, {window_, n});
      }
      case Ctl::poison: {
        uint64_t n = in.get<uint64_t>();
        return device_->poison(a, n, in.get<uint8_t>());
      }
      default:
        return fail(ErrorCode::parse, "unknown control message");
    }
  }

  Status run_candidate(Ctl op, WireReader& in, WireWriter& out) {
    if (!server_) return fail(ErrorCode::usage, "this session has no candidate");
    RunSettings settings = read_settings(in);
    int64_t deadline = deadline_after(in.get<int64_t>());
    CallRequest request;
    if (op == Ctl::call) request = read_call_request(in);
    if (in.failed()) return fail(ErrorCode::parse, "malformed call");
    worker::write(out, op == Ctl::start ? server_->start(settings, deadline)
                                        : server_->call(request, settings, deadline));
    return {};
  }

  /// Another process's memory: of a GPU, or a memfd that the virtual GPU maps.
  Status windows(Ctl op, WireReader& in, WireWriter& out) {
    uint64_t a = in.get<uint64_t>();
    if (op == Ctl::drop_window) {
      if (cuda_) return cuda_->drop_window(a);
      auto it = mapped_.find(a);
      if (it == mapped_.end()) return fail(ErrorCode::usage, "no such window");
      Status freed = device_->free(a);
      ::munmap(reinterpret_cast<void*>(it->first), it->second);
      mapped_.erase(it);
      return freed;
    }
    if (!passed_ || a == 0) return fail(ErrorCode::usage, "a window needs its descriptor");
    if (cuda_) {
      FIEL_TRY(uint64_t address, cuda_->import_window(passed_.get(), a));
      out.put(address);
      return {};
    }
    FIEL_TRY(uint64_t address, map_window(a));
    out.put(address);
    return {};
  }

  Result<uint64_t> map_window(uint64_t bytes) {
    struct stat st {};
    if (::fstat(passed_.get(), &st) != 0 || static_cast<uint64_t>(st.st_size) < bytes)
      return fail(ErrorCode::usage, "the window is shorter than it should be");
    void* p = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, passed_.get(), 0);
    if (p == MAP_FAILED) return fail(ErrorCode::limit, "the window cannot be mapped");
    auto address = device_->map_host(p, bytes, "window");
    if (!address)
      ::munmap(p, bytes);
    else
      mapped_[*address] = bytes;
    return address;
  }

  Status run_clock(WireReader& in, WireWriter& out) {
    if (!server_) return fail(ErrorCode::usage, "this session has no candidate");
    RunSettings settings = read_settings(in);
    int64_t timeout_ms = in.get<int64_t>();
    std::vector<CallRequest> slots(in.count(10, kMaxClockSlots));
    for (CallRequest& s : slots) s = read_call_request(in);
    if (in.failed() || !passed_) return fail(ErrorCode::parse, "malformed request for a clock");
    FIEL_TRY(ClockOutcome o, serve_clock(*server_, passed_.get(), slots, settings, timeout_ms));
    worker::write(out, o);
    return {};
  }

  Status run_plan(Ctl op, WireReader& in, WireWriter& out) {
    if (op == Ctl::load_module) {
      std::string name = in.text(4096);
      auto ptx = in.blob(kMaxControlMessage);
      FIEL_TRY(uint32_t module,
               device_->load_module({reinterpret_cast<const char*>(ptx.data()), ptx.size()}, name));
      out.put(module);
      return {};
    }
    if (op == Ctl::module_kernels) {
      uint32_t module = in.get<uint32_t>();
      std::vector<vgpu::KernelInfo> all;
      for (const std::string& name : device_->kernels(module))
        if (auto info = device_->kernel(module, name)) all.push_back(std::move(*info));
      write_kernels(all, out);
      return {};
    }
    vgpu::LaunchRequest q = read_launch_request(in);
    int64_t deadline = deadline_after(in.get<int64_t>());
    if (in.failed()) return fail(ErrorCode::parse, "malformed launch");
    std::string printed;
    q.cancelled = [deadline] { return monotonic_ns() > deadline; };
    q.print = [&printed](std::string_view text) {
      printed.append(text.substr(0, (1u << 20) - std::min<size_t>(1u << 20, printed.size())));
    };
    if (cuda_) FIEL_TRY_STATUS(cuda_->place(1, kLegacyStream, {}, false));
    vgpu::LaunchReport report = device_->launch(q);
    if (cuda_) finish(cuda_->drain(deadline), report, q);
    worker::write(out, report);
    out.text(printed).put(device_->peak_memory());
    return {};
  }

  /// What the queue tells when it has run becomes the launch's report.
  static void finish(device::QueueEnd end, vgpu::LaunchReport& report,
                     const vgpu::LaunchRequest& request) {
    if (!end.printed.empty()) request.print(end.printed);
    if (end.cuda_error == 0 || report.status != vgpu::LaunchStatus::completed) return;
    report.status = end.timed_out ? vgpu::LaunchStatus::cancelled : vgpu::LaunchStatus::faulted;
    report.message = std::move(end.message);
  }

  static void write_kernels(const std::vector<vgpu::KernelInfo>& all, WireWriter& out) {
    out.put(static_cast<uint32_t>(all.size()));
    for (const vgpu::KernelInfo& k : all) worker::write(out, k);
  }

  const DeviceFactory& make_device_;
  std::unique_ptr<vgpu::Device> device_;
  device::CudaDevice* cuda_ = nullptr;  ///< device_, when that is a GPU
  std::unique_ptr<RuntimeServer> server_;
  std::byte* window_ = nullptr;
  Fd passed_;                            ///< descriptor that came with the request
  std::map<uint64_t, uint64_t> mapped_;  ///< windows of the virtual GPU: address, bytes
};

}  // namespace

std::optional<int> hidden_verb(int argc, char** argv, const DeviceFactory& make_device) {
  if (argc < 2 || std::strcmp(argv[1], kDeviceVerb) != 0) return std::nullopt;
  ::prctl(PR_SET_DUMPABLE, 0);
  ::signal(SIGPIPE, SIG_IGN);
  rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  return DeviceProcess(make_device).run();
}

}  // namespace fiel::worker
