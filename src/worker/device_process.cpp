#include "worker/device_process.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstring>

#include "sandbox/seccomp_filter.h"
#include "worker/control_protocol.h"
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
    while (receive_frame(kControlFd, header, request, kMaxControlMessage) == IoStatus::ok) {
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
      case Ctl::load_module:
      case Ctl::module_kernels:
      case Ctl::launch:
        return run_plan(op, in, out);
      default:
        return memory(op, in, out);
    }
  }

  Status initialize(WireReader& in, WireWriter& out) {
    vgpu::DeviceOptions options = read_device_options(in);
    bool with_candidate = in.get<uint8_t>() != 0;
    if (in.failed() || device_) return fail(ErrorCode::usage, "cannot initialise the device");
    FIEL_TRY(device_, make_device_(options));
    if (with_candidate) server_ = std::make_unique<RuntimeServer>(*device_, kRuntimeFd);
    FIEL_TRY_STATUS(sandbox::confine_to_computation());
    out.text(device_->isa_name());
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
    if (op == Ctl::call) {
      request.inputs.resize(in.count(20, kMaxTensors));
      for (DeviceTensor& t : request.inputs) t = read_tensor(in);
      request.outputs.resize(in.count(20, kMaxTensors));
      for (DeviceTensor& t : request.outputs) t = read_tensor(in);
    }
    if (in.failed()) return fail(ErrorCode::parse, "malformed call");
    worker::write(out, op == Ctl::start ? server_->start(settings, deadline)
                                        : server_->call(request, settings, deadline));
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
    worker::write(out, device_->launch(q));
    out.text(printed).put(device_->peak_memory());
    return {};
  }

  static void write_kernels(const std::vector<vgpu::KernelInfo>& all, WireWriter& out) {
    out.put(static_cast<uint32_t>(all.size()));
    for (const vgpu::KernelInfo& k : all) worker::write(out, k);
  }

  const DeviceFactory& make_device_;
  std::unique_ptr<vgpu::Device> device_;
  std::unique_ptr<RuntimeServer> server_;
  std::byte* window_ = nullptr;
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
