#include "report/terminal_opinion.h"

#include <fmt/core.h>

#include "base/text.h"

namespace fiel::report {
namespace {

std::string times(const judge::Opinion& o) {
  if (!o.kernel_ns || !o.reference_ns) return "";
  std::string text = fmt::format("  kernel {}, reference {}", format_duration_ns(*o.kernel_ns),
                                 format_duration_ns(*o.reference_ns));
  if (o.compiled_ns) text += ", compiled " + format_duration_ns(*o.compiled_ns);
  return text + fmt::format(" ({})\n", o.clock);
}

}  // namespace

std::string render_opinion(const judge::Opinion& o) {
  std::string text = fmt::format("  after {}\n", o.source);
  for (const judge::OpinionTrial& t : o.trials)
    text += fmt::format("    {:<24}{:<9}largest difference {:.3g}{}\n", t.inputs,
                        t.dropped  ? "dropped"
                        : t.passed ? "passed"
                                   : "failed",
                        t.max_difference, t.why.empty() ? "" : "  " + t.why);
  text += times(o);
  if (o.kernel_peak_bytes && o.reference_peak_bytes)
    text += fmt::format("  peak memory {}, reference {}\n", format_bytes(*o.kernel_peak_bytes),
                        format_bytes(*o.reference_peak_bytes));
  for (const std::string& n : o.notes) text += fmt::format("  note: {}\n", n);
  return text + "\n";
}

}  // namespace fiel::report
