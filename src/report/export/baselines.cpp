// What tasks cost in PyTorch itself: one row a task of a run of `fiel judge --self`, where the
// reference stands in the kernel's place and the ratio says how far the clock can be trusted.
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "report/export.h"
#include "report/foreign_text.h"
#include "report/measured.h"

namespace fiel::report {
namespace {

constexpr std::array<const char*, 3> kPolicies = {"fp32", "default", "tf32"};
constexpr std::array<const char*, 2> kBaselines = {"eager", "compile"};

std::string cell(const std::optional<double>& v, double unit = 1) {
  return v ? fmt::format("{:.6g}", *v / unit) : "";
}

/// "level1/23" of KernelBench's "1/23"; else the problem's or the task's own name.
std::string task_name(const store::Entry& entry, const Json& verdict) {
  if (entry.problem.empty()) return verdict["task"].as_string();
  const bool level = entry.problem.find('/') != std::string::npos;
  return level ? "level" + entry.problem : entry.problem;
}

/// A task without products runs the same program under every policy: once.
std::optional<double> time_of(const Measured& m, const std::string& name, std::string policy) {
  const bool one = std::none_of(m.sides.begin(), m.sides.end(), [](const MeasuredSide& s) {
    return s.policy == "fp32" || s.policy == "tf32";
  });
  if (one) policy = "default";
  for (const MeasuredSide& s : m.sides)
    if (s.name == name && s.policy == policy && s.unavailable.empty()) return s.median_ns;
  return std::nullopt;
}

/// The control runs as PyTorch is by default, and so does what it is compared with: beside it, not
/// on another day.
const MeasuredRatio* control_of(const Measured& m) {
  for (const MeasuredRatio& r : m.ratios)
    if (r.against == "eager" && r.policy == "default" && !r.cached) return &r;
  return nullptr;
}

std::string note_of(const Json& verdict, const Measured& m) {
  if (verdict["status"].as_string() != "correct") return verdict["reason"].as_string();
  std::string note = m.why;
  for (const MeasuredSide& s : m.sides)
    if (!s.unavailable.empty())
      note += fmt::format("{}{} {}: {}", note.empty() ? "" : "; ", s.name, s.policy, s.unavailable);
  return note;
}

std::string row(const store::Entry& entry, const Json& verdict) {
  const Measured m = measured_of(verdict).value_or(Measured{});
  const auto text = [](std::string_view t) { return csv_field(t, 600); };
  std::string line =
      fmt::format("{},{},", text(task_name(entry, verdict)), text(verdict["status"].as_string()));
  const MeasuredRatio* control = control_of(m);
  line += control != nullptr
              ? fmt::format("{:.6g},{:.6g},{:.6g},", control->value, control->low, control->high)
              : ",,,";
  for (const char* baseline : kBaselines)
    for (const char* policy : kPolicies) line += cell(time_of(m, baseline, policy), 1e6) + ",";
  line += fmt::format("{},{},{},{},", cell(m.bytes), cell(m.operations), cell(m.floor_ns, 1e6),
                      cell(m.baseline_peak_bytes));
  return line + text(note_of(verdict, m)) + "\r\n";
}

}  // namespace

std::string to_baselines(const store::RunRecord& run) {
  std::string text = "task,status,control_ratio,control_low,control_high";
  for (const char* baseline : kBaselines)
    for (const char* policy : kPolicies) text += fmt::format(",{}_{}_ms", baseline, policy);
  text += ",floor_bytes,floor_operations,floor_ms,peak_bytes,note\r\n";
  for (const store::Evidence& e : run.verdicts)
    text += row(e.place < run.entries.size() ? run.entries[e.place] : store::Entry{}, e.verdict);
  return text;
}

}  // namespace fiel::report
