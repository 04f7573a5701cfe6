#include "judge/verdict.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "judge/readable.h"

namespace fiel::judge {
namespace {

Json dim(const vgpu::Dim3& d) {
  Json j = Json::array();
  j.push_back(d.x);
  j.push_back(d.y);
  j.push_back(d.z);
  return j;
}

Json symbols_json(const Symbols& symbols) {
  Json j = Json::object();
  for (const auto& [name, value] : symbols) j[name] = value;
  return j;
}

Json strings(const std::vector<std::string>& values) {
  Json j = Json::array();
  for (const std::string& v : values) j.push_back(v);
  return j;
}

// Seeds use all 64 bits; JSON readers keep 53, so they travel as text.
std::string seed_text(uint64_t seed) { return fmt::format("{}", seed); }

Json to_json(const ProbeResult& p) {
  Json j = Json::object();
  j["probe"] = name_of(p.probe);
  j["shape_set"] = p.shape_set;
  j["symbols"] = symbols_json(p.symbols);
  j["outcome"] = name_of(p.outcome);
  j["reason"] = p.reason;
  j["calls"] = p.calls;
  j["calls_compared"] = p.compared;
  j["worst_ratio"] = p.worst_ratio;
  j["worst_error"] = p.worst_error;
  j["worst_bound"] = p.worst_bound;
  j["relative_rms"] = p.relative_rms;
  return j;
}

// Values that JSON cannot hold (NaN, infinities) are null in the number; the text says which.
Json to_json(const Witness& w) {
  Json j = Json::object();
  j["probe"] = name_of(w.probe);
  j["shape_set"] = w.shape_set;
  j["symbols"] = symbols_json(w.symbols);
  j["seed"] = seed_text(w.seed);
  j["variant"] = w.variant;
  j["amplitude"] = w.amplitude;
  j["weights"] = w.weights;
  j["output"] = w.output;
  j["flat_index"] = w.flat_index >= 0 ? Json(w.flat_index) : Json();
  j["index"] = Json::array();
  for (int64_t i : w.index) j["index"].push_back(i);
  j["expected"] = w.expected;
  j["expected_text"] = format_double(w.expected);
  j["got"] = w.got;
  j["got_text"] = format_double(w.got);
  j["error"] = w.error;
  j["bound"] = w.bound;
  j["call"] = w.call;
  j["wrong_elements"] = w.wrong_elements;
  j["elements"] = w.elements;
  j["minimised"] = w.minimised;
  j["note"] = w.note;
  return j;
}

Json to_json(const FindingRecord& f) {
  Json j = Json::object();
  j["code"] = f.code;
  j["grade"] = vgpu::name_of(f.grade);
  j["text"] = f.text;
  j["detail"] = f.detail;
  j["kernel"] = f.kernel;
  j["instruction"] = f.instruction;
  j["file"] = f.file;
  j["line"] = f.line;
  j["block"] = f.has_place ? dim(f.block) : Json();
  j["thread"] = f.has_place ? dim(f.thread) : Json();
  j["count"] = f.count;
  j["probe"] = name_of(f.probe);
  j["shape_set"] = f.shape_set;
  j["call"] = f.call;
  return j;
}

Json to_json(const sandbox::IsolationReport& r) {
  Json j = Json::object();
  j["level"] = sandbox::name_of(r.level);
  j["in_force"] = strings(r.in_force);
  j["missing"] = strings(r.missing);
  return j;
}

Json to_json(const Environment& e) {
  Json j = Json::object();
  j["fiel_version"] = e.fiel_version;
  j["fiel_commit"] = e.fiel_commit;
  j["compiler"] = e.compiler;
  j["device"] = e.device;
  j["isa"] = e.isa;
  j["host"] = e.host;
  j["torch"] = e.torch;
  j["python"] = e.python;
  j["cuda"] = e.cuda;
  j["driver"] = e.driver;
  j["device_uuid"] = e.device_uuid;
  j["notes"] = strings(e.notes);
  return j;
}

Json to_json(const Resources& r) {
  Json j = Json::object();
  j["calls"] = r.calls;
  j["calls_compared"] = r.calls_compared;
  j["launches"] = r.launches;
  j["thread_instructions"] = r.thread_instructions;
  j["peak_device_bytes"] = r.peak_device_bytes;
  j["candidate_device_bytes"] = r.candidate_device_bytes;
  j["registers"] = r.registers;
  j["spill_bytes"] = r.spill_bytes;
  return j;
}

Json to_json(const VoidCheck& c) {
  Json j = Json::object();
  j["impostor"] = c.impostor;
  j["rejected"] = c.rejected;
  j["rejected_by"] = c.rejected_by;
  return j;
}

Json to_json(const SkippedShape& s) {
  Json j = Json::object();
  j["shape_set"] = s.shape_set;
  j["reason"] = s.reason;
  return j;
}

template <typename T>
Json list(const std::vector<T>& values) {
  Json j = Json::array();
  for (const T& v : values) j.push_back(to_json(v));
  return j;
}

}  // namespace

std::string_view name_of(ProbeOutcome outcome) {
  static constexpr std::string_view names[] = {"passed", "failed", "dropped", "skipped"};
  return names[static_cast<size_t>(outcome)];
}

int exit_code_of(const Verdict& verdict) {
  if (verdict.status == VerdictStatus::unsupported && verdict.unsupported_by == "device") return 3;
  return exit_code_of(verdict.status);
}

std::optional<int> reward_of(const Verdict& verdict) {
  switch (exit_code_of(verdict)) {
    case 0:
      return verdict.measurement ? std::max(verdict.measurement->reward, 1) : 1;
    case 1:
      return -1;
    default:
      return std::nullopt;
  }
}

Json to_json(const Verdict& v) {
  Json j = Json::object();
  j["schema_version"] = kSchemaVersion;
  j["status"] = name_of(v.status);
  j["status_number"] = number_of(v.status);
  j["accepted"] = v.status == VerdictStatus::correct;
  j["exit_code"] = exit_code_of(v);
  j["reason"] = v.reason;
  j["unsupported_by"] = v.unsupported_by;
  j["task"] = v.task;
  j["task_file"] = v.task_file;
  j["task_digest"] = v.task_digest;
  j["kernel"] = v.kernel;
  j["kernel_digest"] = v.kernel_digest;
  j["protocol"] = v.protocol;
  j["device"] = v.device;
  j["seed"] = seed_text(v.seed);
  j["numerics"] = v.numerics ? Json(fiel::name_of(*v.numerics)) : Json();
  j["numerics_policy"] = v.numerics_policy;
  j["weights"] = v.weights;
  j["speed"] = v.speed;
  const std::optional<int> reward = reward_of(v);
  j["reward"] = reward ? Json(*reward) : Json();
  j["measurement"] = v.measurement ? to_json(*v.measurement, false) : Json();
  j["other_measurements"] = Json::array();
  for (const Measurement& m : v.other_measurements)
    j["other_measurements"].push_back(to_json(m, false));
  j["witness"] = v.witness ? to_json(*v.witness) : Json();
  j["opinion"] = v.opinion ? to_json(*v.opinion) : Json();
  j["probes"] = list(v.probes);
  j["findings"] = list(v.findings);
  j["void_checks"] = list(v.void_checks);
  j["skipped_shapes"] = list(v.skipped_shapes);
  j["refused_shapes"] = strings(v.refused_shapes);
  j["missed_fraction"] = v.missed_fraction;
  j["isolation"] = to_json(v.isolation);
  j["environment"] = to_json(v.environment);
  j["resources"] = to_json(v.resources);
  j["candidate_output"] = v.candidate_output;
  j["compiler_output"] = v.compiler_output;
  return j;
}

FindingRecord to_record(const vgpu::Finding& finding, Probe probe, std::string_view shape_set,
                        uint64_t call) {
  FindingRecord r;
  r.code = std::string(vgpu::code_of(finding.kind));
  r.grade = finding.grade;
  r.text = printable(readable(vgpu::to_string(finding)), 1500);
  r.detail = printable(readable(finding.detail), 500);
  r.kernel = printable(demangled(finding.kernel), 200);
  r.instruction = printable(finding.instruction, 200);
  if (!finding.source.empty()) {
    r.file = printable(readable(finding.source.front().file), 300);
    r.line = finding.source.front().line;
  }
  r.block = finding.block;
  r.thread = finding.thread;
  r.has_place = true;
  r.count = finding.count;
  r.probe = probe;
  r.shape_set = std::string(shape_set);
  r.call = call;
  return r;
}

}  // namespace fiel::judge
