#include "judge/torch/answers.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace fiel::judge::torch {
namespace {

std::string place_of(const std::string& path) {
  return path.empty() ? "the output" : "'" + path + "'";
}

void fail_with(JudgedAnswer& a, JudgeFinding kind, std::string detail, const Case& c,
               const AnswerContext& at) {
  a.right = false;
  if (a.reason.empty()) a.reason = detail;
  a.findings.push_back(
      finding(kind, vgpu::Grade::error, std::move(detail), c.probe, at.shape_set, at.call));
}

/// What is wrong about an answer whatever its values.
void judge_conduct(const worker::Verified& seen, const Case& c,
                   const std::vector<std::string>& aliases, const AnswerContext& at,
                   JudgedAnswer& a) {
  for (const auto& m : seen.inputs_modified)
    fail_with(a, JudgeFinding::input_modified,
              fmt::format("input '{}' was changed by the call, first at element {}: {} became {}",
                          m.path, m.element.dump(), m.was.dump(), m.is.dump()),
              c, at);
  for (const auto& g : seen.guards)
    fail_with(a, JudgeFinding::guard_overwritten,
              fmt::format("the bytes {} '{}' were overwritten", g.side, g.path), c, at);
  if (seen.structure)
    fail_with(a, JudgeFinding::structure_differs, "the outputs differ in kind: " + *seen.structure,
              c, at);
  for (const auto& u : seen.unwritten) {
    a.right = false;
    std::string text = fmt::format("{} elements of {} were never written", format_count(u.elements),
                                   place_of(u.path));
    if (a.reason.empty()) a.reason = text;
    FindingRecord r = finding(JudgeFinding::structure_differs, vgpu::Grade::error, std::move(text),
                              c.probe, at.shape_set, at.call);
    r.code = "output-not-covered";
    r.text = "ERROR output-not-covered  " + r.detail;
    a.findings.push_back(std::move(r));
  }
  for (const std::string& path : aliases)
    fail_with(a, JudgeFinding::output_aliases,
              fmt::format("{} shares memory with an input", place_of(path)), c, at);
}

const worker::Leaf* leaf_at(const Case& c, const std::string& path) {
  for (const worker::Leaf& leaf : c.prepared.outputs)
    if (leaf.path == path) return &leaf;
  return nullptr;
}

Witness witness_of(const worker::Comparison& v, const Case& c, const AnswerContext& at) {
  Witness w;
  w.probe = c.probe;
  w.shape_set = at.shape_set;
  name_inputs(c, w);
  w.output = v.path.empty() ? "output" : v.path;
  w.flat_index = v.first_failing.as_int(-1);
  if (const worker::Leaf* leaf = leaf_at(c, v.path); leaf != nullptr && w.flat_index >= 0) {
    int64_t elements = 1;
    for (int64_t n : leaf->shape) elements *= n;
    if (w.flat_index < elements) w.index = unravel(w.flat_index, leaf->shape);
  }
  w.expected = v.expected;
  w.got = v.got;
  w.error = std::fabs(v.got - v.expected);
  w.bound = v.bound;
  w.call = at.call;
  w.wrong_elements = v.failing;
  w.elements = v.elements;
  w.note = v.failing > 0 ? fmt::format("{} of {} elements are wrong", format_count(v.failing),
                                       format_count(v.elements))
                         : fmt::format("rms error {} of a limit of {}", format_double(v.rms_error),
                                       format_double(v.rms_limit));
  return w;
}

std::string words_for(const Witness& w, const worker::Comparison& v, NumericsClass measured) {
  const bool widespread = 20 * v.failing > v.elements || v.rms_failed;
  if (!std::isfinite(w.expected))
    return "a NaN or infinity in the input does not reach the output as it must";
  if (widespread && measured != NumericsClass::below && measured != NumericsClass::integer)
    return fmt::format("accurate to {} only, which this task does not accept",
                       fiel::name_of(measured));
  return fmt::format("wrong values on the {} probe: expected {}, got {}", name_of(w.probe),
                     format_double(w.expected), format_double(w.got));
}

void judge_values(const worker::Verified& seen, const Case& c, const AnswerContext& at,
                  JudgedAnswer& a) {
  for (const worker::Comparison& v : seen.outputs) {
    const NumericsClass measured = parse_numerics(v.numerics_class).value_or(NumericsClass::below);
    a.errors.take({measured, v.relative_rms, 0});
    if (v.worst_ratio > a.worst_ratio) {
      a.worst_ratio = v.worst_ratio;
      a.worst_error = v.max_abs;
      a.worst_bound = v.worst_ratio > 0 ? v.max_abs / v.worst_ratio : 0;
    }
    if (accepted(v, at.numerics) || a.witness) continue;
    a.right = false;
    a.witness = witness_of(v, c, at);
    const std::string words = words_for(*a.witness, v, measured);
    if (a.reason.empty()) a.reason = words;
    if (!std::isfinite(v.expected))
      a.findings.push_back(finding(JudgeFinding::special_value_lost, vgpu::Grade::error, words,
                                   c.probe, at.shape_set, at.call));
  }
}

void judge_state(const worker::Verified& seen, const Case& c, const AnswerContext& at,
                 JudgedAnswer& a) {
  for (const worker::Comparison& v : seen.state) {
    if (accepted(v, at.numerics)) continue;
    const std::string words = fmt::format("buffer '{}' after the call: expected {}, got {}", v.path,
                                          format_double(v.expected), format_double(v.got));
    fail_with(a, JudgeFinding::state_differs, words, c, at);
    if (a.witness) continue;
    a.witness = witness_of(v, c, at);
    a.witness->probe = Probe::module_state;
  }
}

}  // namespace

std::optional<NumericsClass> parse_numerics(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(NumericsClass::below); ++i)
    if (fiel::name_of(static_cast<NumericsClass>(i)) == name) return static_cast<NumericsClass>(i);
  return std::nullopt;
}

void Errors::take(const Errors& other) {
  numerics = worse(numerics, other.numerics);
  if (std::isfinite(other.relative_rms)) relative_rms = std::max(relative_rms, other.relative_rms);
  if (std::isfinite(other.componentwise))
    componentwise = std::max(componentwise, other.componentwise);
}

bool accepted(const worker::Comparison& c, NumericsPolicy policy) {
  const bool special = c.nan_mismatches + c.infinity_mismatches > 0;
  if (c.failing == 0 && !c.rms_failed && !special) return true;
  const auto measured = parse_numerics(c.numerics_class);
  return policy == NumericsPolicy::any && measured && *measured <= NumericsClass::bf16 && !special;
}

FindingRecord finding(JudgeFinding kind, vgpu::Grade grade, std::string detail, Probe probe,
                      const std::string& shape_set, uint64_t call) {
  FindingRecord r;
  r.code = std::string(name_of(kind));
  r.grade = grade;
  r.detail = printable(detail, 500);
  const char* word = grade == vgpu::Grade::error  ? "ERROR"
                     : grade == vgpu::Grade::warn ? "WARN"
                                                  : "INFO";
  r.text = fmt::format("{} {}  {}", word, r.code, r.detail);
  r.probe = probe;
  r.shape_set = shape_set;
  r.call = call;
  return r;
}

JudgedAnswer judge_answer(const worker::Verified& seen, const Case& c,
                          const std::vector<std::string>& aliases, const AnswerContext& context) {
  JudgedAnswer a;
  judge_conduct(seen, c, aliases, context, a);
  if (!seen.structure) {
    judge_values(seen, c, context, a);
    judge_state(seen, c, context, a);
  }
  if (!a.right && !a.witness) {
    Witness w;
    w.probe = c.probe;
    w.shape_set = context.shape_set;
    name_inputs(c, w);
    w.call = context.call;
    w.note = a.reason;
    a.witness = std::move(w);
  }
  if (!a.right && !seen.stale.is_null()) {
    a.reason = "it answered with the result of an earlier call";
    a.findings.push_back(
        finding(JudgeFinding::stale_output, vgpu::Grade::error,
                fmt::format("the outputs of call {} are the answer to other inputs", context.call),
                c.probe, context.shape_set, context.call));
    if (a.witness) a.witness->note = a.findings.back().detail;
  }
  return a;
}

}  // namespace fiel::judge::torch
