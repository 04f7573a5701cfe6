#include "worker/bare_session.h"

#include <fmt/core.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "build/runtime_files.h"
#include "sandbox/spawn.h"
#include "worker/device_client.h"
#include "worker/frame_io.h"
#include "worker/report_codec.h"
#include "worker/runtime_protocol.h"
#include "worker/settings_codec.h"

namespace fiel::worker {
namespace {

/// The device process ends a call by itself at its deadline; when it does not, this much later we
/// do.
constexpr int64_t kGraceMs = 5'000;
constexpr uint64_t kNowhere = uint64_t{1} << 46;  ///< aligned as every allocation is
/// After the channel has closed, a candidate that does not end was not crashing but playing dead.
constexpr int64_t kDyingMs = 2'000;

struct Candidate {
  std::unique_ptr<sandbox::Child> process;
  uint64_t shown = 0;        ///< of its output, by earlier calls
  uint64_t shown_bytes = 0;  ///< of its counted output
};

class Session final : public BareSession {
 public:
  Session(const BareSessionOptions& options, std::unique_ptr<DeviceClient> device,
          std::unique_ptr<sandbox::Child> process)
      : options_(options), device_(std::move(device)) {
    candidate_.process = std::move(process);
    isolation_ = candidate_.process->isolation();
    const auto& confinement = device_->facts().confinement;
    auto append = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
    append(isolation_.in_force, confinement.in_force);
    append(isolation_.missing, confinement.missing);
    settings_ = {options.checks, options.schedule, options.contract, options.instruction_budget};
  }

  // A session whose kernel never came to be loaded, and whose device was ended for it, takes what
  // it is given: the first call says what became of it, and nobody mistakes it for a broken device.
  Result<uint64_t> allocate(uint64_t bytes, std::string_view label) override {
    return stillborn() ? Result<uint64_t>(kNowhere) : device_->allocate(bytes, label);
  }
  Status free(uint64_t address) override { return stillborn() ? Status() : device_->free(address); }
  Status write(uint64_t address, std::span<const std::byte> bytes) override {
    return stillborn() ? Status() : device_->write(address, bytes);
  }
  Status read(uint64_t address, std::span<std::byte> bytes) override {
    return device_->read(address, bytes);
  }
  Status poison(uint64_t address, uint64_t bytes, uint8_t pattern) override {
    return stillborn() ? Status() : device_->poison(address, bytes, pattern);
  }
  Status mark_output(uint64_t address) override {
    return stillborn() ? Status() : device_->mark_output(address);
  }
  Result<vgpu::Coverage> coverage(uint64_t address) override { return device_->coverage(address); }
  bool counts_writes() const override { return !options_.where.is_cuda(); }
  bool alive() const override { return !ended_; }
  const sandbox::IsolationReport& isolation() const override { return isolation_; }
  std::vector<vgpu::KernelInfo> kernels() override {
    auto all = device_->kernels();
    return all ? std::move(*all) : std::vector<vgpu::KernelInfo>{};
  }

  /// Runs the candidate until its kernel is loaded; a failure is kept for the first call.
  void load() {
    WireWriter w;
    worker::write(w, settings_);
    w.put(options_.start_timeout_ms);
    CallOutcome o = run(Ctl::start, w, options_.start_timeout_ms);
    if (o.status != CallStatus::returned) {
      if (o.status == CallStatus::timeout)
        o.message = "the kernel's library was still loading when the time was over";
      else if (o.status == CallStatus::crashed && !o.message.empty())
        o.message = "while the kernel was loaded: " + o.message;
      fate_ = std::move(o);
      ended_ = true;
    }
  }

  Result<uint64_t> import_window(int descriptor, uint64_t bytes) override {
    return device_->import_window(descriptor, bytes);
  }
  Status drop_window(uint64_t address) override { return device_->drop_window(address); }

  Status begin_clock(const ClockRequest& request) override {
    if (ended_) return fail(ErrorCode::usage, "the session has ended");
    WireWriter w;
    worker::write(w, settings_);
    w.put(request.call_timeout_ms).put(static_cast<uint32_t>(request.slots.size()));
    for (const CallRequest& slot : request.slots) worker::write(w, slot);
    return device_->send(Ctl::clock, w, request.page);
  }
  bool pump_clock(int timeout_ms) override {
    return !candidate_.process->pump(timeout_ms, device_->descriptor());
  }
  Result<ClockOutcome> end_clock(int64_t timeout_ms) override {
    const int64_t deadline = monotonic_ns() + timeout_ms * 1'000'000;
    while (pump_clock(20) && monotonic_ns() < deadline) {}
    auto reply = device_->receive(std::max<int64_t>(1, (deadline - monotonic_ns()) / 1'000'000));
    if (!reply) {  // a device that does not stop is of no more use
      ended_ = true;
      device_->kill();
      candidate_.process->kill();
      return fail(std::move(reply).error().with_context("the timed loop"));
    }
    WireReader r(*reply);
    ClockOutcome o = read_clock_outcome(r);
    if (!r.complete()) return fail(ErrorCode::io, "the device process answered nonsense");
    if (o.calls == 0) return o;
    add_process_facts(o.last);
    if (o.last.status != CallStatus::returned) {
      ended_ = true;
      candidate_.process->kill();
    }
    return o;
  }

  CallOutcome call(const CallRequest& request) override {
    if (ended_) return fate_ ? *fate_ : dead();
    if (request.inputs.size() > kMaxTensors || request.outputs.size() > kMaxTensors) {
      CallOutcome o;
      o.status = CallStatus::limit;
      o.message = fmt::format("more than {} tensors", kMaxTensors);
      return o;
    }
    RunSettings settings = settings_;
    if (request.schedule) settings.schedule = *request.schedule;
    if (request.contract) settings.contract = *request.contract;
    WireWriter w;
    worker::write(w, settings);
    w.put(request.timeout_ms);
    worker::write(w, request);
    CallOutcome o = run(Ctl::call, w, request.timeout_ms);
    bool session_goes_on = o.status == CallStatus::returned || o.status == CallStatus::unsupported;
    if (!session_goes_on) {
      ended_ = true;
      candidate_.process->kill();
    }
    return o;
  }

 private:
  bool stillborn() const { return fate_ && !device_->alive(); }

  static CallOutcome dead() {
    CallOutcome o;
    o.status = CallStatus::crashed;
    o.message = "the session ended with an earlier call";
    return o;
  }

  /// Sends a request that runs candidate code and watches both processes until it is over.
  CallOutcome run(Ctl op, const WireWriter& request, int64_t timeout_ms) {
    int64_t begin = monotonic_ns();
    sandbox::Child& child = *candidate_.process;
    CallOutcome o;
    if (!device_->send(op, request)) {
      o.status = CallStatus::device_fault;
      o.message = "the device's process has ended";
      return o;
    }
    int64_t deadline = begin + (timeout_ms + kGraceMs) * 1'000'000;
    bool answered = false;
    while (!(answered = child.pump(20, device_->descriptor())) && monotonic_ns() < deadline) {}
    if (!answered) {  // a device that does not stop: neither side is of use any more
      device_->kill();
      o.status = CallStatus::timeout;
      o.message = "the device did not stop in time and was ended";
    } else {
      auto reply = device_->receive(kGraceMs);
      if (reply) {
        WireReader r(*reply);
        o = read_outcome(r);
        if (!r.complete()) o.status = CallStatus::device_fault;
      } else {
        o.status = CallStatus::device_fault;
        o.message = "the device: " + to_string(reply.error());
      }
    }
    add_process_facts(o);
    o.wall_ns = monotonic_ns() - begin;
    return o;
  }

  /// What the candidate's process did meanwhile, as the operating system tells it.
  void add_process_facts(CallOutcome& o) {
    sandbox::Child& child = *candidate_.process;
    child.pump(0);
    bool ours = o.status == CallStatus::timeout || o.status == CallStatus::protocol;
    if (o.status == CallStatus::crashed) {
      child.wait(kDyingMs);
      explain_end(o);
    } else if (ours) {
      child.kill();
      child.wait(kDyingMs);
    }
    if (!child.limit.empty()) {
      o.status = CallStatus::limit;
      o.message = "the candidate reached the " + child.limit;
    }
    std::string printed =
        child.output.substr(std::min<uint64_t>(candidate_.shown, child.output.size()));
    o.output = printed + o.output;
    if (o.output.size() > options_.isolation.limits.output_bytes)
      o.output.resize(options_.isolation.limits.output_bytes);
    o.output_bytes += child.output_bytes - candidate_.shown_bytes;
    candidate_.shown = child.output.size();
    candidate_.shown_bytes = child.output_bytes;
  }

  void explain_end(CallOutcome& o) {
    sandbox::Child& child = *candidate_.process;
    o.signal = child.signal;
    o.exit_code = child.exit_code;
    if (child.killed_by_us && child.limit.empty()) {
      o.status = CallStatus::protocol;
      o.signal = 0;
      o.message = "the candidate closed its channel and went on running";
      return;
    }
    bool load_failure = !o.message.empty() && o.message != "the candidate closed its channel";
    if (child.signal != 0)
      o.message = fmt::format("the candidate died of signal {} ({})", child.signal,
                              ::strsignal(child.signal));
    else if (!load_failure)
      o.message = fmt::format(
          "the candidate ended itself with exit code {} before fiel_run returned", child.exit_code);
    if (child.output.find("std::bad_alloc") != std::string::npos)
      o.message +=
          ", out of memory (limit " + format_bytes(options_.isolation.limits.memory_bytes) + ")";
  }

  BareSessionOptions options_;
  RunSettings settings_;
  std::unique_ptr<DeviceClient> device_;
  Candidate candidate_;
  sandbox::IsolationReport isolation_;
  std::optional<CallOutcome> fate_;
  bool ended_ = false;
};

}  // namespace

Result<std::unique_ptr<BareSession>> BareSession::start(const BareSessionOptions& options) {
  FIEL_TRY(build::RuntimeFiles files, build::runtime_files());
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
    return fail(ErrorCode::io, "cannot create the candidate's channel");
  Fd ours(pair[0]), theirs(pair[1]);
  FIEL_TRY(auto device, DeviceClient::start(options.device, ours.get(), options.where));
  ours.reset();
  sandbox::SpawnRequest q;
  q.arguments = {"/run/fiel-runner", "/run/kernel.so",
                 std::to_string(options.isolation.limits.processes)};
  q.environment = {{"PATH", "/usr/bin:/bin"}, {"HOME", "/tmp"}, {"TMPDIR", "/tmp"}, {"LANG", "C"}};
  q.descriptors = {{theirs.get(), kCandidateChannelFd}};
  q.files = {{files.runner, "/run/fiel-runner"},
             {files.library, "/run/libcudart.so.13"},
             {options.shared_object, "/run/kernel.so"}};
  FIEL_TRY(auto child, sandbox::spawn(q, options.isolation));
  theirs.reset();
  auto session = std::make_unique<Session>(options, std::move(device), std::move(child));
  session->load();
  return session;
}

}  // namespace fiel::worker
