// What an agent is told of a verdict: little, and nothing that it could fit a kernel to.
//
//   Feedback f = feedback_of(verdict, {"small", "irregular"});
//   f.text;           // at most 40 lines
//
// Compiler errors first; the worst element with index, expected and got; medians with intervals.
// Shapes that the task file does not show are only said to pass or fail; seeds are never said.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agent/workspace/ledger.h"
#include "base/json.h"

namespace fiel::agent {

struct Feedback {
  bool good = false;           ///< what was asked for went well
  bool hidden_failed = false;  ///< and why must not be said
  std::string text;
  LedgerEntry entry;  ///< of judged kernels
};

/// From the judge's JSON document (docs/verdict.schema.json).
Feedback feedback_of(const Json& verdict, const std::vector<std::string>& visible_shapes);

inline constexpr size_t kFeedbackLines = 40;
inline constexpr size_t kFeedbackBytes = 6000;
/// The first lines and the last, with what was left out between.
std::string bounded_lines(std::string_view text, size_t max_lines, size_t max_bytes);

}  // namespace fiel::agent
