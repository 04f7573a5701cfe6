// What a candidate's silence, crash or complaint makes of the verdict.
//
//   if (!called) return decide(verdict, verdict_of(called.error(), Stage::calling));
//
// A candidate's own words are claims: they choose between statuses that are all not accepted.
#pragma once

#include <string>

#include "judge/codes.h"
#include "judge/verdict.h"
#include "worker/torch_fault.h"

namespace fiel::judge::torch {

enum class Stage : uint8_t { starting, loading, weights, calling, timing };

struct FaultVerdict {
  VerdictStatus status = VerdictStatus::runtime_error;
  std::string reason;
  std::string unsupported_by;  ///< of status unsupported
  std::string output;          ///< what it printed or traced, made printable
  /// An exception about this input, without harm to the process: a shape may be refused by it.
  bool refusal = false;
  bool structure = false;  ///< the outputs are not of the task's kind
};

FaultVerdict verdict_of(const worker::WorkerFault& fault, Stage stage);

/// An error of ours in a line. The traceback that came with it becomes a finding, by its end.
std::string words_of(const Error& error, Verdict& verdict);

}  // namespace fiel::judge::torch
