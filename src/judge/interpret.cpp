#include "judge/interpret.h"

#include <fmt/core.h>

#include "base/text.h"
#include "judge/readable.h"

namespace fiel::judge {
namespace {

using worker::CallOutcome;
using worker::CallStatus;
using worker::LaunchRecord;

void add(Call& call, const CallOptions& options, JudgeFinding finding, vgpu::Grade grade,
         std::string text) {
  FindingRecord r;
  r.code = std::string(name_of(finding));
  r.grade = grade;
  const char* label = grade == vgpu::Grade::error  ? "ERROR"
                      : grade == vgpu::Grade::warn ? "WARN"
                                                   : "INFO";
  r.text = fmt::format("{} {}  {}", label, r.code, text);
  r.probe = options.probe;
  r.shape_set = options.shape_set;
  r.call = call.number;
  call.findings.push_back(std::move(r));
}

std::string dim(const vgpu::Dim3& d) { return fmt::format("({},{},{})", d.x, d.y, d.z); }

std::string launch_text(const LaunchRecord& l) {
  return fmt::format("{}<<<{}, {}, {}>>>", printable(demangled(l.kernel), 120), dim(l.grid),
                     dim(l.block), l.dynamic_shared_bytes);
}

/// A launch that did not complete says why before anything else does.
void interpret_launch(const LaunchRecord& launch, const CallOptions& options, Call& call) {
  for (const vgpu::Finding& finding : launch.report.findings) {
    FindingRecord r = to_record(finding, options.probe, options.shape_set, call.number);
    if (r.grade == vgpu::Grade::error && !call.breach)
      call.breach =
          Fault{status_of(finding.kind),
                fmt::format("{} in {}", r.code, printable(demangled(launch.kernel), 120))};
    call.findings.push_back(std::move(r));
  }
  if (call.fault) return;
  switch (launch.report.status) {
    case vgpu::LaunchStatus::completed:
      return;
    case vgpu::LaunchStatus::invalid:
      add(call, options, JudgeFinding::launch_refused, vgpu::Grade::error,
          fmt::format("{}: {}", launch_text(launch), printable(launch.report.message, 300)));
      call.fault = Fault{VerdictStatus::runtime_error,
                         "a launch was refused: " + printable(launch.report.message, 300)};
      return;
    case vgpu::LaunchStatus::out_of_budget:
    case vgpu::LaunchStatus::cancelled:
      call.fault =
          Fault{VerdictStatus::timeout, fmt::format("{} did not end: {}", launch_text(launch),
                                                    printable(launch.report.message, 300))};
      return;
    case vgpu::LaunchStatus::deadlocked:
    case vgpu::LaunchStatus::faulted: {
      // The finding that stopped it names the place; the launch's message only repeats it.
      const bool deadlocked = launch.report.status == vgpu::LaunchStatus::deadlocked;
      VerdictStatus status = deadlocked    ? VerdictStatus::runtime_error
                             : call.breach ? call.breach->status
                                           : VerdictStatus::runtime_error;
      if (status == VerdictStatus::incorrect) status = VerdictStatus::runtime_error;
      call.fault = Fault{status, fmt::format("{} stopped: {}", launch_text(launch),
                                             printable(launch.report.message, 300))};
      return;
    }
  }
}

void interpret_returned(const CallOutcome& outcome, const CallOptions& options, Call& call) {
  if (!outcome.runtime_error.empty()) {
    add(call, options, JudgeFinding::cuda_error, vgpu::Grade::error,
        "the call left " + printable(outcome.runtime_error, 120) + " behind");
    // The error's name alone does not say which launch or argument it was.
    std::string reason = printable(outcome.runtime_error, 120);
    if (!outcome.message.empty() &&
        outcome.message.find(outcome.runtime_error) == std::string::npos)
      reason += ": " + printable(outcome.message, 300);
    call.fault = Fault{VerdictStatus::runtime_error, std::move(reason)};
  } else if (outcome.return_code != 0) {
    add(call, options, JudgeFinding::nonzero_return, vgpu::Grade::error,
        fmt::format("fiel_run returned {}", outcome.return_code));
    call.fault = Fault{VerdictStatus::runtime_error,
                       fmt::format("fiel_run returned {}", outcome.return_code)};
  } else if (outcome.unjoined_work > 0) {
    add(call, options, JudgeFinding::work_not_joined, vgpu::Grade::error,
        fmt::format("{} launches or copies were left on streams that `stream` does not wait for",
                    outcome.unjoined_work));
    if (!call.breach)
      call.breach =
          Fault{VerdictStatus::incorrect, "work was left on a stream that nobody waits for"};
  }
}

}  // namespace

VerdictStatus status_of(vgpu::FindingKind kind) {
  using K = vgpu::FindingKind;
  switch (kind) {
    case K::out_of_bounds:
    case K::misaligned:
    case K::use_after_free:
    case K::deadlock:
    case K::stack_overflow:
    case K::invalid_free:
    case K::assertion:
    case K::trap:
    case K::bad_branch_index:
    case K::bad_call_target:
    case K::write_to_const:
      return VerdictStatus::runtime_error;
    case K::runaway:
      return VerdictStatus::timeout;
    default:
      return VerdictStatus::incorrect;
  }
}

void interpret(const CallOutcome& outcome, const CallOptions& options, Call& call) {
  call.status = outcome.status;
  call.launches = outcome.launches.size() + outcome.launches_dropped;
  call.output = printable(outcome.output, 4000);
  call.peak_device_bytes = outcome.peak_device_bytes;
  call.candidate_device_bytes = outcome.candidate_allocated_bytes;
  for (const LaunchRecord& launch : outcome.launches) {
    call.thread_instructions += launch.report.thread_instructions;
    interpret_launch(launch, options, call);
  }
  if (outcome.output_bytes > outcome.output.size() + (64u << 10))
    add(call, options, JudgeFinding::output_flood, vgpu::Grade::warn,
        fmt::format("it printed {}; {} were kept", format_bytes(outcome.output_bytes),
                    format_bytes(outcome.output.size())));
  const std::string message = printable(outcome.message, 400);
  switch (outcome.status) {
    case CallStatus::returned:
      if (!call.fault) interpret_returned(outcome, options, call);
      break;
    case CallStatus::unsupported:
      call.fault.reset();
      if (!outcome.beyond_device.empty())  // the device's limit, not the kernel's refusal
        call.fault =
            Fault{VerdictStatus::unsupported, "the device does not execute this: " +
                                                  printable(readable(outcome.beyond_device), 400)};
      break;
    case CallStatus::crashed:
      call.fault = Fault{VerdictStatus::runtime_error, "its process died: " + message};
      break;
    case CallStatus::timeout:
      call.fault = Fault{VerdictStatus::timeout, "no answer in time: " + message};
      break;
    case CallStatus::device_fault:
      if (!call.fault) call.fault = Fault{VerdictStatus::runtime_error, message};
      break;
    case CallStatus::limit:
      call.fault = Fault{VerdictStatus::runtime_error, "a limit was reached: " + message};
      break;
    case CallStatus::protocol:
      add(call, options, JudgeFinding::protocol_broken, vgpu::Grade::error, message);
      call.fault = Fault{VerdictStatus::tampering, "it broke the runtime's protocol: " + message};
      break;
  }
}

}  // namespace fiel::judge
