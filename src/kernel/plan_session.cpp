#include "kernel/plan_session.h"

#include <fmt/core.h>

#include "base/files.h"
#include "worker/device_client.h"
#include "worker/frame_io.h"
#include "worker/report_codec.h"
#include "worker/settings_codec.h"

namespace fiel::kernel {
namespace {

using worker::CallOutcome;
using worker::CallRequest;
using worker::CallStatus;

constexpr uint64_t kMaxPtx = 64ull << 20;
constexpr int64_t kGraceMs = 5'000;

class PlanSession final : public worker::BareSession {
 public:
  PlanSession(const LaunchPlan& plan, const worker::BareSessionOptions& options,
              std::unique_ptr<worker::DeviceClient> device)
      : plan_(plan), options_(options), device_(std::move(device)) {
    isolation_.level = sandbox::Level::namespaces;
    isolation_.in_force = {"no host code of the kernel runs", "device process without files"};
  }

  /// A module that the device refuses is the kernel's fate, told by its first call.
  void load(std::string_view ptx) {
    auto module = device_->load_module(ptx, plan_.source.filename().string());
    if (module) {
      module_ = *module;
      if (auto entries = device_->module_kernels(module_)) entries_ = std::move(*entries);
      return;
    }
    CallOutcome o;
    o.status = CallStatus::unsupported;
    o.message = o.beyond_device = to_string(module.error());
    fate_ = std::move(o);
  }

  Result<uint64_t> allocate(uint64_t bytes, std::string_view label) override {
    return device_->allocate(bytes, label);
  }
  Status free(uint64_t address) override { return device_->free(address); }
  Status write(uint64_t address, std::span<const std::byte> bytes) override {
    return device_->write(address, bytes);
  }
  Status read(uint64_t address, std::span<std::byte> bytes) override {
    return device_->read(address, bytes);
  }
  Status poison(uint64_t address, uint64_t bytes, uint8_t pattern) override {
    return device_->poison(address, bytes, pattern);
  }
  Status mark_output(uint64_t address) override { return device_->mark_output(address); }
  Result<vgpu::Coverage> coverage(uint64_t address) override { return device_->coverage(address); }
  bool counts_writes() const override { return !options_.where.is_cuda(); }
  bool alive() const override { return !fate_ && device_->alive(); }
  const sandbox::IsolationReport& isolation() const override { return isolation_; }
  std::vector<vgpu::KernelInfo> kernels() override { return entries_; }

  CallOutcome call(const CallRequest& request) override {
    if (fate_) return *fate_;
    int64_t begin = worker::monotonic_ns();
    CallOutcome o;
    std::vector<uint64_t> scratch;
    Status done = run(request, o, scratch, begin + request.timeout_ms * 1'000'000);
    for (uint64_t address : scratch) (void)device_->free(address);
    if (!done) {
      // The plan does not fit its kernel: the author's mistake, as a wrong launch in host code is.
      o.status = device_->alive() ? CallStatus::returned : CallStatus::device_fault;
      o.return_code = 1;
      o.runtime_error = "cudaErrorInvalidValue";
      o.message = to_string(done.error());
    }
    if (o.status != CallStatus::returned) fate_ = o;
    o.wall_ns = worker::monotonic_ns() - begin;
    return o;
  }

 private:
  Status allocate_scratch(const NameLookup& names, std::vector<uint64_t>& scratch) {
    for (const auto& [name, bytes] : plan_.scratch) {
      FIEL_TRY(int64_t n, bytes.evaluate(names));
      if (n <= 0) return fail(ErrorCode::usage, fmt::format("scratch {} of {} bytes", name, n));
      FIEL_TRY(uint64_t address, device_->allocate(static_cast<uint64_t>(n), name));
      scratch.push_back(address);
    }
    return {};
  }

  static Result<vgpu::Dim3> dimensions(const std::vector<Expression>& all,
                                       const NameLookup& names) {
    vgpu::Dim3 d;
    uint32_t* out[3] = {&d.x, &d.y, &d.z};
    for (size_t i = 0; i < all.size(); ++i) {
      FIEL_TRY(int64_t v, all[i].evaluate(names));
      if (v < 1 || v > 0x7fffffff)
        return fail(ErrorCode::usage, fmt::format("{} is {}: out of range", all[i].text(), v));
      *out[i] = static_cast<uint32_t>(v);
    }
    return d;
  }

  Result<vgpu::LaunchRequest> prepare(const PlanLaunch& l, const CallRequest& request,
                                      std::span<const uint64_t> scratch, const NameLookup& names) {
    FIEL_TRY(const vgpu::KernelInfo* entry, find_entry(entries_, l.kernel));
    vgpu::LaunchRequest q;
    q.module = module_;
    q.kernel = entry->name;
    FIEL_TRY(q.grid, dimensions(l.grid, names));
    FIEL_TRY(q.block, dimensions(l.block, names));
    FIEL_TRY(int64_t shared, l.shared.evaluate(names));
    if (shared < 0 || shared > 227 * 1024)
      return fail(ErrorCode::usage, fmt::format("{} bytes of dynamic shared memory", shared));
    q.dynamic_shared_bytes = static_cast<uint32_t>(shared);
    q.cooperative = l.cooperative;
    FIEL_TRY(q.parameters, pack_arguments(l, *entry, request, scratch, names));
    q.checks = options_.checks;
    q.schedule = request.schedule ? *request.schedule : options_.schedule;
    q.contract = request.contract.value_or(options_.contract);
    q.instruction_budget = options_.instruction_budget;
    return q;
  }

  Status run(const CallRequest& request, CallOutcome& o, std::vector<uint64_t>& scratch,
             int64_t deadline_ns) {
    NameLookup names = names_of(plan_, request);
    FIEL_TRY_STATUS(allocate_scratch(names, scratch));
    for (const PlanLaunch& l : plan_.launches) {
      FIEL_TRY(vgpu::LaunchRequest q, prepare(l, request, scratch, names));
      int64_t left_ms = (deadline_ns - worker::monotonic_ns()) / 1'000'000;
      worker::WireWriter w;
      worker::write(w, q);
      w.put<int64_t>(left_ms);
      FIEL_TRY(auto reply, device_->ask(worker::Ctl::launch, w, left_ms + kGraceMs));
      worker::WireReader r(reply);
      vgpu::LaunchReport report = worker::read_report(r);
      std::string printed = r.text(1u << 20);
      o.peak_device_bytes = r.get<uint64_t>();
      if (!r.complete()) return fail(ErrorCode::io, "the device process answered nonsense");
      o.output += printed;
      o.output_bytes += printed.size();
      auto status = report.status;
      std::string message = fmt::format("{}: {}", l.kernel, report.message);
      o.launches.push_back({q.kernel, q.grid, q.block, q.dynamic_shared_bytes, std::move(report)});
      if (status == vgpu::LaunchStatus::completed) continue;
      o.message = message;
      if (status == vgpu::LaunchStatus::invalid) return fail(ErrorCode::usage, message);
      o.status =
          status == vgpu::LaunchStatus::cancelled ? CallStatus::timeout : CallStatus::device_fault;
      return {};
    }
    return {};
  }

  LaunchPlan plan_;
  worker::BareSessionOptions options_;
  std::unique_ptr<worker::DeviceClient> device_;
  sandbox::IsolationReport isolation_;
  uint32_t module_ = 0;
  std::vector<vgpu::KernelInfo> entries_;
  std::optional<CallOutcome> fate_;
};

}  // namespace

Result<std::unique_ptr<worker::BareSession>> start_plan_session(
    const LaunchPlan& plan, const std::filesystem::path& ptx,
    const worker::BareSessionOptions& options) {
  FIEL_TRY(std::string text, read_file(ptx, kMaxPtx));
  FIEL_TRY(auto device, worker::DeviceClient::start(options.device, -1, options.where));
  auto session = std::make_unique<PlanSession>(plan, options, std::move(device));
  session->load(text);
  return session;
}

}  // namespace fiel::kernel
