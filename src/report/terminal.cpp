#include "report/terminal.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/text.h"
#include "judge/shapes.h"
#include "report/terminal_opinion.h"
#include "report/terminal_speed.h"

namespace fiel::report {
namespace {

using judge::FindingRecord;
using judge::ProbeOutcome;
using judge::ProbeResult;
using judge::Verdict;
using judge::VerdictStatus;

constexpr size_t kFindingsShown = 6;

class Painter {
 public:
  explicit Painter(bool color) : color_(color) {}
  std::string bold(std::string_view s) const { return paint("1", s); }
  std::string dim(std::string_view s) const { return paint("2", s); }
  std::string red(std::string_view s) const { return paint("31", s); }
  std::string green(std::string_view s) const { return paint("32", s); }
  std::string yellow(std::string_view s) const { return paint("33", s); }

 private:
  std::string paint(const char* code, std::string_view s) const {
    return color_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, s) : std::string(s);
  }
  bool color_;
};

std::string status_word(const Verdict& v, const Painter& p) {
  std::string word(judge::name_of(v.status));
  std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) {
    return static_cast<char>(c == '_' ? ' ' : std::toupper(c));
  });
  if (v.status == VerdictStatus::correct) return p.bold(p.green(word));
  return judge::exit_code_of(v) == 1 ? p.bold(p.red(word)) : p.bold(p.yellow(word));
}

/// A status that another protocol's rules give is never shown without its name.
std::string by_whom(const Verdict& v) { return v.opinion ? " by " + v.protocol : ""; }

std::string number(double v) {
  return std::isfinite(v) ? fmt::format("{:.3g}", v) : format_double(v);
}

/// All results of one probe as one row.
struct Row {
  judge::Probe probe{};
  uint32_t shapes = 0, calls = 0;
  const ProbeResult* worst = nullptr;
  ProbeOutcome outcome = ProbeOutcome::skipped;
  std::string reason;
};

std::vector<Row> rows_of(const Verdict& v) {
  std::vector<Row> rows;
  for (const ProbeResult& r : v.probes) {
    auto row =
        std::find_if(rows.begin(), rows.end(), [&](const Row& x) { return x.probe == r.probe; });
    if (row == rows.end()) {
      rows.push_back({});
      row = rows.end() - 1;
      row->probe = r.probe;
      row->outcome = r.outcome;
      row->reason = r.reason;
    }
    if (r.outcome == ProbeOutcome::failed) row->outcome = r.outcome, row->reason = r.reason;
    if (r.outcome == ProbeOutcome::passed && row->outcome != ProbeOutcome::failed)
      row->outcome = r.outcome, row->reason.clear();
    if (r.calls == 0) continue;
    ++row->shapes;
    row->calls += r.calls;
    if (row->worst == nullptr || r.worst_ratio > row->worst->worst_ratio) row->worst = &r;
  }
  return rows;
}

std::string probe_table(const Verdict& v, const Painter& p) {
  const std::vector<Row> rows = rows_of(v);
  if (rows.empty()) return "";
  std::string text = p.dim(fmt::format("  {:<18}{:>7}{:>7}{:>13}{:>11}{:>9}\n", "probe", "shapes",
                                       "calls", "worst error", "bound", "of bound"));
  for (const Row& r : rows) {
    text += fmt::format("  {:<18}", judge::name_of(r.probe));
    if (r.calls == 0) {
      text += p.dim(fmt::format("  {}: {}\n", judge::name_of(r.outcome), r.reason));
      continue;
    }
    text += fmt::format("{:>7}{:>7}", r.shapes, r.calls);
    const bool compared = r.worst != nullptr && r.worst->compared > 0;
    if (compared) {
      const double ratio = r.worst->worst_ratio;
      text += fmt::format("{:>13}{:>11}{:>9}", number(r.worst->worst_error),
                          number(r.worst->worst_bound),
                          ratio < 9.995 ? fmt::format("{:.0f} %", 100 * ratio) : "over");
    } else {
      text += fmt::format("{:>13}{:>11}{:>9}", "-", "-", "-");
    }
    text += r.outcome == ProbeOutcome::failed   ? "  " + p.red("failed")
            : r.outcome == ProbeOutcome::passed ? "  " + p.green("ok")
                                                : "  " + p.dim(judge::name_of(r.outcome));
    text += "\n";
  }
  return text;
}

std::string index_text(const std::vector<int64_t>& index) {
  std::string text;
  for (int64_t i : index) text += fmt::format("{}{}", text.empty() ? "" : ", ", i);
  return "[" + text + "]";
}

std::string witness_block(const Verdict& v, const Painter& p) {
  if (!v.witness) return "";
  const judge::Witness& w = *v.witness;
  std::string text = p.bold("  witness\n");
  text += fmt::format("    {} at {}{}, call {}\n", judge::name_of(w.probe), w.shape_set,
                      w.symbols.empty() ? "" : " (" + judge::to_string(w.symbols) + ")", w.call);
  if (w.minimised) text += "    the smallest shape found that shows it\n";
  if (w.flat_index >= 0) {
    text += fmt::format("    {}{}  expected {}  got {}\n", w.output, index_text(w.index),
                        p.green(format_double(w.expected)), p.red(format_double(w.got)));
    text += fmt::format("    error {} where {} is explained by rounding\n", number(w.error),
                        number(w.bound));
  }
  if (!w.note.empty() && w.note != v.reason) text += "    " + w.note + "\n";
  return text + "\n";
}

std::string findings_block(const Verdict& v, const TerminalStyle& style, const Painter& p) {
  if (v.findings.empty()) return "";
  std::vector<const FindingRecord*> order;
  for (const FindingRecord& f : v.findings) order.push_back(&f);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto* a, const auto* b) { return a->grade > b->grade; });
  std::string text = p.bold("  findings\n");
  size_t shown = 0;
  for (const FindingRecord* f : order) {
    if (!style.verbose && shown == kFindingsShown) {
      text += p.dim(fmt::format("    … {} more with -v\n", order.size() - shown));
      break;
    }
    const bool error = f->grade == vgpu::Grade::error;
    const std::string line = f->text.empty() ? f->code + "  " + f->detail : f->text;
    // Continuation lines of a long text keep the indent.
    std::string body;
    for (char c : line) body += c == '\n' ? std::string("\n      ") : std::string(1, c);
    text += "    " + (error ? p.red(body) : f->grade == vgpu::Grade::warn ? p.yellow(body) : body);
    if (f->count > 1) text += p.dim(fmt::format("  ({} times)", format_count(f->count)));
    text += "\n";
    ++shown;
  }
  return text + "\n";
}

std::string facts_block(const Verdict& v, const Painter& p) {
  std::string text;
  const std::string numerics =
      v.numerics ? std::string(fiel::name_of(*v.numerics)) : "not measured";
  const std::string speed =
      v.speed == "not_measured" ? fmt::format("not measured (device {})", v.device) : v.speed;
  text +=
      fmt::format("  {} {:<22}{} {}\n", p.dim("numerics "), numerics, p.dim("speed    "), speed);
  text += fmt::format("  {} {:<22}{} {}\n", p.dim("isolation"), sandbox::name_of(v.isolation.level),
                      p.dim("seed     "), v.seed);
  if (const auto reward = judge::reward_of(v))
    text += fmt::format("  {} {}\n", p.dim("reward   "), *reward);
  if (!v.weights.empty()) text += fmt::format("  {} given by {}\n", p.dim("weights  "), v.weights);
  if (v.resources.calls > 0)
    text += fmt::format(
        "  {} {} compared in full; a defect in {:.2g} % of calls or more would have "
        "been seen (95 %)\n",
        p.dim("calls    "), format_count(v.resources.calls_compared), 100 * v.missed_fraction);
  return text + "\n";
}

std::string shapes_block(const Verdict& v, const Painter& p) {
  std::string text;
  for (const judge::SkippedShape& s : v.skipped_shapes)
    text += p.dim(fmt::format("  not run: {} ({})\n", s.shape_set, s.reason));
  return text.empty() ? text : text + "\n";
}

std::string void_block(const Verdict& v, const Painter& p) {
  if (v.status != VerdictStatus::task_void) return "";
  std::string text = p.bold("  answers that must fail\n");
  for (const judge::VoidCheck& c : v.void_checks)
    text += fmt::format("    {:<32}{}\n", c.impostor,
                        c.rejected ? "rejected by " + c.rejected_by : p.red("accepted everywhere"));
  return text + "\n";
}

std::string indented(std::string_view body) {
  std::string text;
  for (std::string_view line : split(body, '\n'))
    if (!line.empty()) text += fmt::format("    {}\n", line);
  return text;
}

std::string next_block(const Verdict& v, const Painter& p) {
  if (v.status == VerdictStatus::correct) return "";
  std::string words(judge::name_of(v.status));
  if (v.witness) words = std::string(judge::name_of(v.witness->probe));
  for (const FindingRecord& f : v.findings)
    if (f.grade == vgpu::Grade::error) {
      words = f.code;
      break;
    }
  std::string text = p.dim("  next  ") + fmt::format("fiel explain {}\n", words);
  if (v.witness)
    text += p.dim("  again ") + fmt::format("fiel judge {} {} --seed {}{}\n", v.task_file, v.kernel,
                                            v.seed, v.opinion ? " --protocol " + v.protocol : "");
  return text;
}

}  // namespace

std::string render(const Verdict& v, const TerminalStyle& style) {
  const Painter p(style.color);
  std::string text = fmt::format("{}  {} for {}\n  {}\n\n", status_word(v, p) + by_whom(v),
                                 v.kernel, v.task, v.reason);
  text += witness_block(v, p);
  text += findings_block(v, style, p);
  text += void_block(v, p);
  if (!v.compiler_output.empty())
    text += p.bold("  compiler\n") + indented(v.compiler_output) + "\n";
  if (v.opinion) text += render_opinion(*v.opinion);
  if (v.resources.calls > 0 && !v.opinion) text += facts_block(v, p) + probe_table(v, p) + "\n";
  if (v.measurement) text += render_measurement(*v.measurement);
  for (const judge::Measurement& m : v.other_measurements) text += render_measurement(m);
  text += shapes_block(v, p);
  const bool failed = v.status != VerdictStatus::correct;
  if (!v.candidate_output.empty() && (style.verbose || failed))
    text += p.bold("  it printed\n") + indented(v.candidate_output) + "\n";
  if (style.verbose) {
    for (const std::string& s : v.isolation.in_force) text += p.dim("  in force: " + s + "\n");
    for (const std::string& s : v.isolation.missing) text += p.dim("  missing: " + s + "\n");
    text += p.dim(fmt::format("  fiel {} ({}), {}, {}, {}\n\n", v.environment.fiel_version,
                              v.environment.fiel_commit, v.environment.compiler, v.environment.isa,
                              v.environment.host));
  }
  return text + next_block(v, p);
}

std::string render_line(const Verdict& v, const TerminalStyle& style) {
  const Painter p(style.color);
  const std::string word = std::string(judge::name_of(v.status)) + by_whom(v);
  const std::string padded = fmt::format("{:<16}", word);
  const std::string painted = v.status == VerdictStatus::correct ? p.green(padded)
                              : judge::exit_code_of(v) == 1      ? p.red(padded)
                                                                 : p.yellow(padded);
  return fmt::format("{} {:<6} {}  {}\n", painted,
                     v.numerics ? fiel::name_of(*v.numerics) : std::string_view("-"), v.kernel,
                     p.dim(v.reason));
}

}  // namespace fiel::report
