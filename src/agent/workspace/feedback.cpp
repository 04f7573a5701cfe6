#include "agent/workspace/feedback.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"

namespace fiel::agent {
namespace {

std::string symbols_text(const Json& symbols) {
  std::string out;
  for (const auto& [name, value] : symbols.members())
    out += fmt::format("{}{}={}", out.empty() ? "" : " ", name, value.as_int());
  return out;
}

std::string witness_text(const Json& w) {
  std::string index;
  for (const Json& i : w["index"].items())
    index += (index.empty() ? "" : ", ") + std::to_string(i.as_int());
  const std::string where =
      fmt::format("probe {}, shape {}{}{}", w["probe"].as_string(), w["shape_set"].as_string(),
                  w["symbols"].size() > 0 ? ": " : "", symbols_text(w["symbols"]));
  if (w["flat_index"].is_null()) return fmt::format("{} ({})", w["note"].as_string(), where);
  return fmt::format(
      "worst element: {}[{}] expected {}, got {} (error {:.3g}, bound {:.3g})\n"
      "wrong elements: {} of {}; {}",
      w["output"].as_string(), index, w["expected_text"].as_string(), w["got_text"].as_string(),
      w["error"].as_double(), w["bound"].as_double(), w["wrong_elements"].as_int(),
      w["elements"].as_int(), where);
}

std::string duration(const Json& side) {
  return fmt::format("{} [{}, {}]", format_duration_ns(side["median_ns"].as_double()),
                     format_duration_ns(side["low_ns"].as_double()),
                     format_duration_ns(side["high_ns"].as_double()));
}

void add_speed(const Json& m, Feedback& f) {
  for (const Json& side : m["sides"].items())
    if (side["unavailable"].as_string().empty())
      f.text +=
          fmt::format("time {}{}{}: median {} (95 %){}\n", side["name"].as_string(),
                      side["policy"].as_string().empty() ? "" : " ", side["policy"].as_string(),
                      duration(side), side["cached"].is_object() ? ", cached" : "");
  for (const Json& r : m["ratios"].items()) {
    f.text += fmt::format("against {} {}: {:.3f}x [{:.3f}, {:.3f}] {}\n", r["against"].as_string(),
                          r["policy"].as_string(), r["value"].as_double(), r["low"].as_double(),
                          r["high"].as_double(), r["decision"].as_string());
    if (r["comparable"].as_bool() && !r["cached"].as_bool() &&
        (f.entry.ratio == 0 || r["low"].as_double() < f.entry.ratio_low)) {
      f.entry.ratio = r["value"].as_double();
      f.entry.ratio_low = r["low"].as_double();
    }
  }
  if (!m["why"].as_string().empty()) f.text += "speed: " + m["why"].as_string() + "\n";
}

bool is_hidden(const std::string& shape, const std::vector<std::string>& visible) {
  return !shape.empty() && std::find(visible.begin(), visible.end(), shape) == visible.end();
}

void add_findings(const Json& verdict, const std::vector<std::string>& visible, Feedback& f) {
  size_t shown = 0;
  for (const Json& finding : verdict["findings"].items()) {
    const std::string& shape = finding["shape_set"].as_string();
    if (is_hidden(shape, visible) || ++shown > 8) continue;
    f.text += fmt::format("{}: {}", finding["grade"].as_string(), finding["text"].as_string());
    if (finding["line"].as_int() > 0) f.text += fmt::format(" (line {})", finding["line"].as_int());
    f.text += "\n";
  }
}

/// Whether what decided the verdict happened at a shape that the agent does not see.
bool decided_by_hidden(const Json& verdict, const std::vector<std::string>& visible) {
  if (const Json& w = verdict["witness"]; w.is_object())
    return is_hidden(w["shape_set"].as_string(), visible);
  bool any = false;
  for (const Json& p : verdict["probes"].items()) {
    if (p["outcome"].as_string() != "failed") continue;
    if (!is_hidden(p["shape_set"].as_string(), visible)) return false;
    any = true;
  }
  return any;
}

/// Whether the kernel ran at hidden shapes at all: what it printed could then hold their sizes.
bool saw_hidden(const Json& verdict, const std::vector<std::string>& visible) {
  for (const Json& p : verdict["probes"].items())
    if (p["calls"].as_int() > 0 && is_hidden(p["shape_set"].as_string(), visible)) return true;
  return false;
}

}  // namespace

std::string bounded_lines(std::string_view text, size_t max_lines, size_t max_bytes) {
  std::string out;
  size_t lines = 0, left_out = 0;
  for (const std::string_view line : split(trim(text), '\n')) {
    if (lines == max_lines || out.size() + line.size() > max_bytes) {
      ++left_out;
      continue;
    }
    out += printable(line, 400);
    out += '\n';
    ++lines;
  }
  if (left_out > 0) out += fmt::format("… {} more lines\n", left_out);
  return out;
}

Feedback feedback_of(const Json& verdict, const std::vector<std::string>& visible_shapes) {
  Feedback f;
  f.entry.status = verdict["status"].as_string();
  f.entry.speed = verdict["speed"].as_string();
  f.good = f.entry.correct();
  f.text = "verdict: " + f.entry.status + "\n";
  if (f.entry.status == "compile_error") {
    f.entry.reason = "it does not compile";
    f.entry.reward = -1;
    const std::string& words = verdict["compiler_output"].as_string();
    f.text += trim(words).empty() ? printable(verdict["reason"].as_string(), 300) : words;
    f.text = bounded_lines(f.text, kFeedbackLines, kFeedbackBytes);
    return f;
  }
  if (!f.good && decided_by_hidden(verdict, visible_shapes)) {
    f.hidden_failed = true;
    f.entry.reason = "a hidden shape fails";
    f.entry.reward = -1;
    f.text += "a hidden shape fails\n";
    f.text = bounded_lines(f.text, kFeedbackLines, kFeedbackBytes);
    return f;
  }
  f.entry.reason = printable(verdict["reason"].as_string(), 300);
  if (!f.entry.reason.empty()) f.text += f.entry.reason + "\n";
  if (verdict["witness"].is_object()) f.text += witness_text(verdict["witness"]) + "\n";
  add_findings(verdict, visible_shapes, f);
  f.entry.reward = static_cast<int>(verdict["reward"].as_int());
  if (verdict["measurement"].is_object())
    add_speed(verdict["measurement"], f);
  else if (f.good)
    f.text += "speed: not measured on this device\n";
  if (const std::string& out = verdict["candidate_output"].as_string();
      !out.empty() && !f.good && !saw_hidden(verdict, visible_shapes))
    f.text += "the kernel printed:\n" + bounded_lines(out, 8, 1000);
  f.text = bounded_lines(f.text, kFeedbackLines, kFeedbackBytes);
  return f;
}

}  // namespace fiel::agent
