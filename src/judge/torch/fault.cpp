#include "judge/torch/fault.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "judge/torch/answers.h"
#include "judge/torch/compiler_words.h"

namespace fiel::judge::torch {
namespace {

using worker::Fault;

bool mentions(const worker::WorkerFault& f, std::string_view word) {
  return f.what.find(word) != std::string::npos || f.detail.find(word) != std::string::npos;
}

/// Loading fails by a compiler, by Python's own, or by code that ran.
bool is_compiler(const worker::WorkerFault& f) {
  static constexpr std::array<std::string_view, 8> kWords = {"SyntaxError",
                                                             "IndentationError",
                                                             "Error building extension",
                                                             "CompilationError",
                                                             "defines no ",
                                                             "ModuleNotFoundError",
                                                             "ImportError",
                                                             "nvcc"};
  return std::any_of(kWords.begin(), kWords.end(), [&](auto w) { return mentions(f, w); });
}

/// After these nothing on the device is what it was.
bool broke_context(const worker::WorkerFault& f) {
  static constexpr std::array<std::string_view, 6> kWords = {
      "illegal memory access",      "misaligned address",  "device-side assert",
      "unspecified launch failure", "illegal instruction", "CUBLAS_STATUS_EXECUTION_FAILED"};
  return std::any_of(kWords.begin(), kWords.end(), [&](auto w) { return mentions(f, w); });
}

const char* doing(Stage stage) {
  static constexpr const char* kWords[] = {"starting", "loading", "taking the weights", "a call",
                                           "a timed call"};
  return kWords[static_cast<size_t>(stage)];
}

FaultVerdict complaint(const worker::WorkerFault& f, Stage stage) {
  FaultVerdict v;
  const bool compiler = stage == Stage::loading && is_compiler(f);
  v.status = compiler ? VerdictStatus::compile_error : VerdictStatus::runtime_error;
  const std::string error = compiler ? first_error(f.detail + "\n" + f.output) : std::string();
  v.reason = fmt::format("{} failed: {}", doing(stage), error.empty() ? f.what : error);
  v.refusal = stage == Stage::calling && !broke_context(f);
  // The runner has no room for more than the task returns: other shapes, or a wider dtype.
  if (stage == Stage::calling && mentions(f, "what the task returns has")) {
    v.status = VerdictStatus::incorrect;
    v.reason = "the outputs differ in kind: " + f.what;
    v.refusal = false;
    v.structure = true;
  }
  return v;
}

}  // namespace

FaultVerdict verdict_of(const worker::WorkerFault& f, Stage stage) {
  FaultVerdict v;
  switch (f.kind) {
    case Fault::candidate:
    case Fault::task:  // a candidate's process knows of no faulty task: the oracle opened it
      v = complaint(f, stage);
      break;
    case Fault::memory:
      v.reason = fmt::format("out of memory in {}: {}", doing(stage), f.what);
      break;
    case Fault::crash:
      v.reason = fmt::format("the candidate's process ended in {}: {}", doing(stage), f.what);
      break;
    case Fault::timeout:
      v.status = VerdictStatus::timeout;
      v.reason = fmt::format("{} did not end in time", doing(stage));
      break;
    case Fault::protocol:
      v.status = VerdictStatus::tampering;
      v.reason = "the candidate's process broke the protocol: " + f.what;
      break;
    case Fault::unsupported:
      v.status = VerdictStatus::unsupported;
      v.unsupported_by = "device";
      v.reason = f.what;
      break;
    case Fault::worker:
      v.status =
          stage == Stage::starting ? VerdictStatus::harness_fault : VerdictStatus::runtime_error;
      v.reason = fmt::format("{} failed: {}", doing(stage), f.what);
      break;
  }
  v.reason = printable(v.reason, 600);
  std::string said = f.detail + (f.detail.empty() || f.output.empty() ? "" : "\n") + f.output;
  if (v.status == VerdictStatus::compile_error) said = compiler_words(said);
  v.output = printable(said, 6000);
  return v;
}

std::string words_of(const Error& error, Verdict& v) {
  constexpr size_t kTailBytes = 480;
  Error shown = error;
  for (const std::string& c : error.context) {
    if (c.find('\n') == std::string::npos) continue;
    std::erase(shown.context, c);
    v.findings.push_back(finding(JudgeFinding::worker_traceback, vgpu::Grade::info,
                                 c.substr(c.size() - std::min(c.size(), kTailBytes)),
                                 Probe::task_inputs, kGivenShapes, v.resources.calls));
  }
  return to_string(shown);
}

}  // namespace fiel::judge::torch
