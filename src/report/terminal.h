// A verdict for a person at a terminal: short, aligned, and with the evidence first.
//
//   context.print(report::render(verdict, {.color = true, .verbose = false}));
//
// The same facts as the JSON, summed over shapes. Everything a candidate wrote was made printable
// before it got into the verdict.
#pragma once

#include <string>

#include "judge/verdict.h"

namespace fiel::report {

struct TerminalStyle {
  bool color = false;
  bool verbose = false;  ///< probes by shape, every finding, the environment
};

std::string render(const judge::Verdict& verdict, const TerminalStyle& style);

/// One line for each of several kernels: status, numerics, name, reason.
std::string render_line(const judge::Verdict& verdict, const TerminalStyle& style);

}  // namespace fiel::report
