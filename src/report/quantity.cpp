#include "report/quantity.h"

#include <fmt/core.h>

#include <cmath>

#include "base/text.h"

namespace fiel::report {

std::string times_text(double ratio) {
  if (ratio >= 100) return fmt::format("{:.0f}x", ratio);
  if (ratio >= 10) return fmt::format("{:.1f}x", ratio);
  return ratio >= 0.1 ? fmt::format("{:.2f}x", ratio) : fmt::format("{:.2g}x", ratio);
}

std::string ratio_text(const MeasuredRatio& r) {
  const auto bare = [](double v) {
    std::string text = times_text(v);
    text.pop_back();
    return text;
  };
  return fmt::format("{} [{}, {}]", times_text(r.value), bare(r.low), bare(r.high));
}

std::string time_text(const std::optional<double>& ns) {
  return ns ? format_duration_ns(*ns) : "not measured";
}

std::string bytes_text(const std::optional<double>& bytes) {
  // Counts of bytes are far below 2^63; anything else is a damaged record.
  return bytes && *bytes < 9e18 ? format_bytes(static_cast<uint64_t>(*bytes)) : "not measured";
}

std::string number_text(double v) {
  return std::isfinite(v) ? fmt::format("{:.3g}", v) : format_double(v);
}

}  // namespace fiel::report
