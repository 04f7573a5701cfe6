#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/text.h"
#include "kernel/work_folder.h"
#include "report/foreign_text.h"
#include "report/measured.h"
#include "report/page/charts.h"
#include "report/page/page.h"
#include "report/page/render.h"
#include "report/page/source_colour.h"
#include "report/page/template.h"
#include "report/quantity.h"

namespace fiel::report {
namespace {

constexpr size_t kSourceLines = 3000, kFindings = 50, kProbes = 300;

using List = kainjow::mustache::data;
List new_list() { return List(kainjow::mustache::data::type::list); }

std::string spaced(std::string word) {
  std::replace(word.begin(), word.end(), '_', ' ');
  return word;
}

List facts_of(const Json& v, const std::optional<Measured>& m) {
  List facts = new_list();
  facts << fact("numerics", v["numerics"].is_string() ? v["numerics"].as_string() : "not measured");
  const std::string mode = m ? mode_suffix(*m) : "";
  if (m && m->headline) {
    facts << fact("speed-up over " + m->headline->against + " " + m->headline->policy + mode,
                  ratio_text(*m->headline));
  } else {
    facts << fact("speed", spaced(v["speed"].as_string()));
  }
  if (m && !m->shape_set.empty() && m->shape_set != "given")
    facts << fact("timed at", m->shape_set);
  if (m && !m->sides.empty() && m->sides.front().median_ns)
    facts << fact("one call" + mode, time_text(m->sides.front().median_ns));
  if (m && m->light_share)
    facts << fact("of the speed of light (" + m->bound_by + ")",
                  fmt::format("{:.0f} %", 100 * *m->light_share));
  if (m && m->memory_efficiency)
    facts << fact("memory efficiency", times_text(*m->memory_efficiency));
  if (m && m->own_share)
    facts << fact("of its device time in own kernels",
                  fmt::format("{:.0f} %", 100 * *m->own_share));
  else if (m && !m->evidence_missing.empty())
    facts << fact("launched kernels", "not seen: " + m->evidence_missing);
  if (const auto reward = reward_of(v)) facts << fact("reward", std::to_string(*reward));
  facts << fact("device", v["environment"]["device"].as_string().empty()
                              ? v["device"].as_string()
                              : v["environment"]["device"].as_string());
  if (v["resources"]["calls_compared"].as_int() > 0)
    facts << fact("calls compared in full",
                  format_count(static_cast<uint64_t>(v["resources"]["calls_compared"].as_int())));
  for (const auto& [name, value] : {std::pair{"protocol", &v["protocol"]},
                                    {"isolation", &v["isolation"]["level"]},
                                    {"seed", &v["seed"]}})
    if (!value->as_string().empty()) facts << fact(name, value->as_string());
  return facts;
}

/// What `fiel replay` draws the call's inputs from.
std::string inputs_of(const Json& w) {
  std::string text = "seed " + w["seed"].as_string();
  if (w["variant"].as_int() > 0) text += fmt::format(", variant {}", w["variant"].as_int());
  if (w["amplitude"].as_double(1) != 1)
    text += ", amplitude " + number_text(w["amplitude"].as_double());
  if (!w["weights"].as_string().empty()) text += ", weights " + w["weights"].as_string();
  return text;
}

/// `again`: the command that makes the call again, alone.
List witness_of(const Json& w, const std::string& again) {
  List rows = new_list();
  if (!w.is_object()) return rows;
  std::string index;
  for (const Json& i : w["index"].items())
    index += fmt::format("{}{}", index.empty() ? "" : ", ", i.as_int());
  std::string symbols;
  for (const auto& [name, value] : w["symbols"].members())
    symbols += fmt::format(" {}={}", name, value.as_int());
  rows << fact("probe", w["probe"].as_string() + " at " + w["shape_set"].as_string() + symbols);
  if (w["flat_index"].is_integer()) {
    rows << fact("element", w["output"].as_string() + "[" + index + "]");
    rows << fact("expected", w["expected_text"].as_string());
    rows << fact("got", w["got_text"].as_string());
    if (w["error"].is_number())
      rows << fact("error", number_text(w["error"].as_double()) + " where " +
                                number_text(w["bound"].as_double()) + " is explained by rounding");
  }
  if (w["wrong_elements"].as_int() > 0)
    rows << fact("wrong elements",
                 fmt::format("{} of {}", w["wrong_elements"].as_int(), w["elements"].as_int()));
  rows << fact("call", std::to_string(w["call"].as_int()));
  if (!w["note"].as_string().empty()) rows << fact("note", w["note"].as_string());
  if (!w["seed"].as_string().empty()) rows << fact("inputs", inputs_of(w));
  rows << fact("again, alone", again);
  return rows;
}

List findings_of(const Json& findings) {
  List rows = new_list();
  std::vector<const Json*> order;
  for (const Json& f : findings.items()) order.push_back(&f);
  std::stable_partition(order.begin(), order.end(),
                        [](const Json* f) { return (*f)["grade"].as_string() == "ERROR"; });
  for (size_t i = 0; i < order.size() && i < kFindings; ++i) {
    const Json& f = *order[i];
    List row;
    const std::string& grade = f["grade"].as_string();
    row.set("grade", grade == "ERROR" ? "error" : grade == "WARN" ? "warn" : "info");
    row.set("code", shown(f["code"].as_string(), 100));
    row.set("text", shown(f["text"].as_string()));
    if (f["count"].as_int() > 1)
      row.set("count", format_count(static_cast<uint64_t>(f["count"].as_int())));
    else
      row.set("count", List(false));
    rows << row;
  }
  return rows;
}

std::string interval_text(const MeasuredSide& s) {
  if (!s.low_ns || !s.high_ns) return "";
  return fmt::format("{} – {}", time_text(s.low_ns), time_text(s.high_ns));
}

List sides_of(const Measured& m) {
  List rows = new_list();
  for (const MeasuredSide& s : m.sides) {
    List row;
    row.set("name",
            shown(s.name + " " + s.policy + mode_suffix(s) + (s.cached ? " (cached)" : ""), 100));
    row.set("median", s.median_ns || s.unavailable.empty() ? Values(time_text(s.median_ns))
                                                           : shown(s.unavailable, 200));
    row.set("interval", interval_text(s));
    row.set("device", s.device_median_ns ? time_text(s.device_median_ns) : "");
    row.set("host", s.host_median_ns ? time_text(s.host_median_ns) : "");
    std::string ratio;
    for (const MeasuredRatio& r : m.ratios)
      if (r.against == s.name && r.policy == s.policy)
        ratio = ratio_text(r) + (r.comparable ? "" : " (less accurate)");
    row.set("ratio", ratio);
    rows << row;
  }
  return rows;
}

List kernels_of(const Measured& m) {
  List rows = new_list();
  for (size_t i = 0; i < m.kernels.size() && i < 100; ++i) {
    const MeasuredKernel& k = m.kernels[i];
    List row;
    row.set("name", shown(k.name, 300));
    row.set("origin", shown(k.origin + (k.tensor_core ? ", tensor cores" : ""), 100));
    row.set("launches", std::to_string(k.launches));
    row.set("time", k.device_ns ? time_text(k.device_ns) : "");
    rows << row;
  }
  return rows;
}

List probes_of(const Json& probes) {
  List rows = new_list();
  for (size_t i = 0; i < probes.items().size() && i < kProbes; ++i) {
    const Json& p = probes.items()[i];
    const bool compared = p["calls_compared"].as_int() > 0;
    const std::string& outcome = p["outcome"].as_string();
    List row;
    row.set("probe", shown(p["probe"].as_string(), 100));
    row.set("shape", shown(p["shape_set"].as_string(), 100));
    row.set("tone", outcome == "passed" ? "good" : outcome == "failed" ? "bad" : "warn");
    row.set("outcome", shown(p["reason"].as_string().empty() || outcome == "passed"
                                 ? outcome
                                 : outcome + ": " + p["reason"].as_string(),
                             300));
    row.set("calls", std::to_string(p["calls"].as_int()));
    const auto number = [&](const Json& j) {
      return !compared ? std::string() : j.is_number() ? number_text(j.as_double()) : "not finite";
    };
    row.set("error", number(p["worst_error"]));
    row.set("bound", number(p["worst_bound"]));
    rows << row;
  }
  return rows;
}

/// Line number -> what was found there, for findings in that file of the kernel.
std::map<int64_t, std::string> notes_of(const Json& v, const std::string& path) {
  const auto own = std::filesystem::path(path).filename();
  std::map<int64_t, std::string> notes;
  for (const Json& f : v["findings"].items()) {
    if (f["line"].as_int() <= 0) continue;
    if (std::filesystem::path(f["file"].as_string()).filename() != own) continue;
    std::string& note = notes[f["line"].as_int()];
    const std::string text = f["code"].as_string() + "  " + f["detail"].as_string();
    if (note.find(text) == std::string::npos) note += (note.empty() ? "" : "\n") + text;
  }
  return notes;
}

/// Appends the lines of a file, at most so many; how many there were is the answer.
size_t add_lines(List& rows, std::string_view text, const std::string& path,
                 const std::map<int64_t, std::string>& notes, size_t at_most) {
  const auto lines = coloured_lines(text, language_of(path), at_most);
  for (size_t i = 0; i < lines.size(); ++i) {
    const auto note = notes.find(static_cast<int64_t>(i + 1));
    List row;
    row.set("number", std::to_string(i + 1));
    row.set("html", lines[i]);
    row.set("hit", List(note != notes.end()));
    row.set("note", note == notes.end() ? List(false) : shown(note->second, 600));
    rows << row;
  }
  return lines.size();
}

List source_of(const std::string& text, const std::string& path,
               const std::map<int64_t, std::string>& notes) {
  List rows = new_list();
  add_lines(rows, text, path, notes, kSourceLines);
  return rows;
}

/// A file, or the files of a work folder, each under its name.
List kernel_source_of(const store::Evidence& e) {
  const Json& v = e.verdict;
  const std::string& path = v["kernel"].as_string();
  const auto files = kernel::work_files(e.kernel_source);
  if (files.empty()) return source_of(e.kernel_source, path, notes_of(v, path));
  List rows = new_list();
  size_t room = kSourceLines;
  for (const kernel::WorkFile& file : files) {
    List name;
    name.set("number", "");
    name.set("html", "<strong>" + xml_text(file.path, 300) + "</strong>" +
                         (file.kept ? "" : " (not kept)"));
    name.set("hit", List(false));
    name.set("note", List(false));
    rows << name;
    if (room > 0)
      room -= std::min(room, add_lines(rows, file.text, file.path, notes_of(v, file.path), room));
  }
  return rows;
}

List charts_of(const store::Evidence& e, const std::optional<Measured>& m) {
  List charts = new_list();
  const auto add = [&](const char* caption, const std::string& svg) {
    if (!svg.empty()) charts << chart(caption, svg);
  };
  if (m) add("Speed-up against each baseline, 95 % intervals", ratios_chart(m->ratios));
  add("Samples: share up to each time, and every one", samples_chart(samples_of(e.samples)));
  add("Largest error of each probe, as a share of its bound", errors_chart(e.verdict["probes"]));
  if (m) add("Roofline, ceilings as calibrated", roofline_chart(*m));
  if (m) add("Device memory", memory_chart(*m));
  return charts;
}

std::string footer_of(const Json& v) {
  const Json& e = v["environment"];
  std::string text = "fiel";
  for (const char* key : {"fiel_version", "fiel_commit", "compiler", "isa", "host"})
    if (const std::string& word = e[key].as_string(); !word.empty()) text += " · " + word;
  return text;
}

}  // namespace

std::string verdict_page(const store::RunRecord& run, size_t index) {
  const store::Evidence& e = run.verdicts.at(index);
  const Json& v = e.verdict;
  const auto m = measured_of(v);
  Values page;
  page.set("title", shown(v["status"].as_string() + ": " + v["kernel"].as_string(), 300));
  page.set("tone", tone_of(v));
  page.set("status", shown(spaced(v["status"].as_string()), 60));
  page.set("task", shown(v["task"].as_string(), 300));
  page.set("kernel", shown(v["kernel"].as_string(), 500));
  page.set("reason", shown(v["reason"].as_string()));
  page.set("facts", facts_of(v, m));
  set_list(
      page, "witness",
      witness_of(v["witness"], fmt::format("fiel replay {} {}", run.header.name, e.place + 1)));
  set_list(page, "findings", findings_of(v["findings"]));
  page.set("why", m ? (m->why.empty() ? List(false) : shown(m->why))
                    : Values("Speed and memory were not measured: a GPU is needed, and a kernel "
                             "that was found right."));
  page.set("charts", charts_of(e, m));
  set_list(page, "sides", m ? sides_of(*m) : new_list());
  set_list(page, "kernels", m ? kernels_of(*m) : new_list());
  set_list(page, "probes", probes_of(v["probes"]));
  const auto text_or_none = [](const std::string& t) {
    return t.empty() ? List(false) : shown(t, 64u << 10);
  };
  page.set("compiler", text_or_none(v["compiler_output"].as_string()));
  page.set("printed", text_or_none(v["candidate_output"].as_string()));
  set_list(page, "source", kernel_source_of(e));
  const auto lines =
      static_cast<size_t>(std::count(e.kernel_source.begin(), e.kernel_source.end(), '\n'));
  page.set("cut", lines > kSourceLines ? Values(fmt::format("{} lines more", lines - kSourceLines))
                                       : List(false));
  set_list(page, "task_source", source_of(e.task_source, v["task_file"].as_string(), {}));
  page.set("footer", shown(footer_of(v), 500));
  return render_page(kVerdictBody, page);
}

}  // namespace fiel::report
