#include "judge/course.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "judge/time_limit.h"

namespace fiel::judge {
namespace {

constexpr size_t kHistory = 6;
constexpr size_t kMaxFindings = 64;

bool allowed(const fiel::Comparison& c, NumericsPolicy policy) {
  if (c.accepted()) return true;
  const bool a_class = c.numerics != NumericsClass::below && c.numerics <= NumericsClass::bf16;
  return policy == NumericsPolicy::any && a_class && c.nan_mismatches + c.infinity_mismatches == 0;
}

/// Two records that a person would call the same finding.
bool same_finding(const FindingRecord& a, const FindingRecord& b) {
  return a.code == b.code && a.kernel == b.kernel && a.file == b.file && a.line == b.line &&
         a.instruction == b.instruction && a.grade == b.grade;
}

void note_worst(const Tensor& expected, const Tensor& got, const fiel::Comparison& c,
                ProbeResult& result) {
  if (c.worst_ratio <= result.worst_ratio || c.worst_index < 0) return;
  result.worst_ratio = c.worst_ratio;
  result.worst_error = std::fabs(got.at_flat(c.worst_index) - expected.at_flat(c.worst_index));
  result.worst_bound = result.worst_error / c.worst_ratio;
}

std::string expected_got(const Witness& w) {
  return fmt::format("expected {}, got {}", format_double(w.expected), format_double(w.got));
}

}  // namespace

ProbeResult blank(const PlannedShape& shape, Probe probe) {
  ProbeResult r;
  r.probe = probe;
  r.shape_set = shape.name;
  r.symbols = shape.symbols;
  return r;
}

NumericsClass lowest_class(NumericsPolicy policy) {
  return policy == NumericsPolicy::fp32 ? NumericsClass::fp32 : NumericsClass::tf32;
}

Course::Course(const task::Task& task, const SessionStarter& starter, const JudgeOptions& options,
               Verdict& verdict)
    : task_(task),
      starter_(starter),
      options_(options),
      verdict_(verdict),
      limit_(begin_limit(options)) {}

int64_t Course::left_ms() const { return limit_->left_ms(); }

Status Course::poll(const std::string& what) {
  ++steps_;
  if (options_.progress) options_.progress({what, steps_, std::max(total_steps_, steps_)});
  FIEL_TRY_STATUS(not_stopped(options_));
  if (!decided_ && left_ms() <= 0) return fail(limit_->error());
  return {};
}

bool Course::refused(const std::string& shape_set) const {
  const auto& list = verdict_.refused_shapes;
  return std::find(list.begin(), list.end(), shape_set) != list.end();
}

void Course::add_finding(FindingRecord finding) {
  for (FindingRecord& known : verdict_.findings) {
    if (!same_finding(known, finding)) continue;
    known.count += finding.count;
    return;
  }
  // Errors are never crowded out by notes.
  if (verdict_.findings.size() >= kMaxFindings && finding.grade != vgpu::Grade::error) return;
  if (verdict_.findings.size() < 4 * kMaxFindings) verdict_.findings.push_back(std::move(finding));
}

void Course::keep(const Call& call) {
  Resources& r = verdict_.resources;
  ++r.calls;
  r.launches += call.launches;
  r.thread_instructions += call.thread_instructions;
  r.peak_device_bytes = std::max(r.peak_device_bytes, call.peak_device_bytes);
  r.candidate_device_bytes = std::max(r.candidate_device_bytes, call.candidate_device_bytes);
  if (verdict_.candidate_output.size() < 4000) verdict_.candidate_output += call.output;
  for (const FindingRecord& f : call.findings) add_finding(f);
}

void Course::decide(VerdictStatus status, std::string reason, const PlannedShape& shape,
                    const Preparation& prepared, uint64_t call) {
  decided_ = true;
  failed_ = prepared;
  verdict_.status = status;
  verdict_.reason = std::move(reason);
  Witness w;
  w.probe = prepared.recipe.probe;
  w.shape_set = shape.name;
  w.symbols = shape.symbols;
  w.seed = prepared.recipe.seed;
  w.variant = prepared.recipe.variant;
  w.amplitude = prepared.recipe.amplitude;
  w.call = call;
  w.note = verdict_.reason;
  verdict_.witness = std::move(w);
  if (status != VerdictStatus::unsupported) return;
  verdict_.unsupported_by = "device";
  verdict_.witness.reset();
}

Status Course::note_stale(const Call& call, const PlannedShape& shape, Probe probe) {
  for (auto past = history_.rbegin(); past != history_.rend(); ++past) {
    const Expectation& e = *past->expectation;
    if (&e.instance() != shape.instance.get() || e.values().size() != call.outputs.size()) continue;
    FIEL_TRY(const bool answers, e.accepts(call.outputs, NumericsClass::tf32));
    if (!answers) continue;
    FindingRecord r;
    r.code = std::string(name_of(JudgeFinding::stale_output));
    r.grade = vgpu::Grade::error;
    r.detail =
        fmt::format("the outputs of call {} are the answer to call {}", call.number, past->call);
    r.text = "ERROR stale-output  " + r.detail;
    r.probe = probe;
    r.shape_set = shape.name;
    r.call = call.number;
    add_finding(r);
    if (verdict_.witness) verdict_.witness->note = r.detail;
    verdict_.reason = "it answered with the result of an earlier call";
    return {};
  }
  return {};
}

Result<bool> Course::wrong(const Call& call, const PlannedShape& shape, const Preparation& prepared,
                           size_t output, const fiel::Comparison& comparison) {
  const task::Instance& at = *shape.instance;
  decide(VerdictStatus::incorrect, "", shape, prepared, call.number);
  Witness& w = *verdict_.witness;
  w.output = at.graph.outputs[output].name;
  w.flat_index = comparison.first_failing;
  w.index = unravel(w.flat_index, at.outputs[output].shape);
  w.expected = comparison.expected_first;
  w.got = comparison.actual_first;
  w.error = std::fabs(w.got - w.expected);
  w.bound = comparison.bound_first;
  w.wrong_elements = static_cast<uint64_t>(comparison.failing);
  w.elements = static_cast<uint64_t>(comparison.elements);
  // A few wrong elements among right ones are no question of precision.
  const bool widespread = 20 * w.wrong_elements > w.elements || comparison.rms_failed;
  const NumericsClass measured = widespread ? comparison.numerics : NumericsClass::below;
  verdict_.numerics = worse(measured, verdict_.numerics.value_or(measured));
  verdict_.reason = fmt::format("wrong values on the {} probe: {}", name_of(prepared.recipe.probe),
                                expected_got(w));
  if (measured != NumericsClass::below && measured != NumericsClass::integer)
    verdict_.reason = fmt::format("accurate to {} only, which this task does not accept",
                                  fiel::name_of(measured));
  w.note = comparison.failing > 0
               ? fmt::format("{} of {} elements are wrong", format_count(w.wrong_elements),
                             format_count(w.elements))
               : comparison.reason(at.outputs[output].shape);
  if (!std::isfinite(w.expected)) {
    FindingRecord r;
    r.code = std::string(name_of(JudgeFinding::special_value_lost));
    r.detail = fmt::format("the reference has {} at element {} of '{}', the kernel {}",
                           format_double(w.expected), w.flat_index, w.output, format_double(w.got));
    r.text = "ERROR special-value-lost  " + r.detail;
    r.probe = prepared.recipe.probe;
    r.shape_set = shape.name;
    r.call = call.number;
    add_finding(r);
    verdict_.reason = "a NaN or infinity in the input does not reach the output as it must";
  }
  FIEL_TRY_STATUS(note_stale(call, shape, prepared.recipe.probe));
  return false;
}

Result<bool> Course::judge_outputs(const Call& call, const PlannedShape& shape,
                                   const Preparation& prepared, ProbeResult& result) {
  const Expectation& expectation = *prepared.expectation;
  NumericsClass measured = NumericsClass::integer;
  std::optional<size_t> bad;
  std::vector<fiel::Comparison> comparisons;
  for (size_t o = 0; o < call.outputs.size(); ++o) {
    FIEL_TRY(fiel::Comparison c,
             expectation.compare(o, call.outputs[o], lowest_class(options_.numerics)));
    measured = worse(measured, c.numerics);
    if (!allowed(c, options_.numerics) && !bad) bad = o;
    result.relative_rms = std::max(result.relative_rms, c.relative_rms);
    note_worst(expectation.values()[o], call.outputs[o], c, result);
    comparisons.push_back(c);
  }
  ++verdict_.resources.calls_compared;
  ++result.compared;
  if (!bad) {
    verdict_.numerics = worse(measured, verdict_.numerics.value_or(measured));
    history_.push_back({call.number, prepared.expectation});
    if (history_.size() > kHistory) history_.pop_front();
    return true;
  }
  return wrong(call, shape, prepared, *bad, comparisons[*bad]);
}

bool Course::refused_late(const PlannedShape& shape, const Preparation& prepared) {
  decide(VerdictStatus::incorrect, "it refuses a shape that it has answered before", shape,
         prepared, last_.number);
  FindingRecord r;
  r.code = std::string(name_of(JudgeFinding::refused_late));
  r.grade = vgpu::Grade::error;
  r.detail = fmt::format("call {} at {} gave FIEL_UNSUPPORTED, an earlier one an answer",
                         last_.number, shape.name);
  r.text = "ERROR refused-late  " + r.detail;
  r.probe = prepared.recipe.probe;
  r.shape_set = shape.name;
  r.call = last_.number;
  verdict_.witness->note = r.detail;
  add_finding(std::move(r));
  return false;
}

Result<bool> Course::check_call(Rig& rig, const PlannedShape& shape, const Preparation& prepared,
                                const CallOptions& call_options, ProbeResult& result) {
  FIEL_TRY_STATUS(
      poll(fmt::format("{} at {}: {}", task_.name, shape.name, name_of(call_options.probe))));
  CallOptions timed = call_options;
  const int64_t left = std::max<int64_t>(left_ms(), 1);
  timed.timeout_ms = std::min(timed.timeout_ms, left);
  FIEL_TRY(last_, rig.call(prepared.expectation->inputs(), timed));
  ++result.calls;
  keep(last_);
  Preparation named = prepared;
  named.recipe.probe = call_options.probe;
  if (last_.status == worker::CallStatus::unsupported && !last_.fault) {
    if (answered_.count(shape.name) != 0) return refused_late(shape, named);
    if (!refused(shape.name)) verdict_.refused_shapes.push_back(shape.name);
    return false;
  }
  answered_.insert(shape.name);
  // Cut short by our own limit, not by the call's.
  if (last_.fault && last_.fault->status == VerdictStatus::timeout && left_ms() <= 0 &&
      timed.timeout_ms < call_options.timeout_ms)
    return fail(limit_->error());
  if (last_.fault && last_.fault->status == VerdictStatus::timeout &&
      verdict_.device.starts_with("virtual") && shape.work > kMostCertainWork) {
    decide(
        VerdictStatus::undecided,
        fmt::format("a call at '{}' was ended at its limit, and a plain kernel needs about {:.1g} "
                    "thread instructions there: {}",
                    shape.name, shape.work, last_.fault->reason),
        shape, named, last_.number);
    verdict_.witness.reset();
    return false;
  }
  if (last_.fault) {
    decide(last_.fault->status, last_.fault->reason, shape, named, last_.number);
    failed_ = prepared;
    return false;
  }
  FIEL_TRY(const bool right, judge_outputs(last_, shape, named, result));
  if (!last_.breach) return right;
  // The rule it broke is the cause; an element that is wrong as well stays as evidence.
  if (right) decide(last_.breach->status, last_.breach->reason, shape, named, last_.number);
  verdict_.status = last_.breach->status;
  verdict_.reason = last_.breach->reason;
  failed_ = prepared;
  return false;
}

bool Course::reopen() {
  if (!decided_ || !options_.survey) return false;
  if (!first_)
    first_ = {verdict_.status, verdict_.reason, verdict_.unsupported_by, verdict_.witness};
  // What does not end, or breaks the channel, has nothing more to tell.
  if (verdict_.status == VerdictStatus::timeout || verdict_.status == VerdictStatus::tampering)
    return false;
  decided_ = false;
  verdict_.witness.reset();
  return true;
}

void Course::close_survey() {
  if (!first_) return;
  decided_ = true;
  verdict_.status = first_->status;
  verdict_.reason = first_->reason;
  verdict_.unsupported_by = first_->unsupported_by;
  verdict_.witness = first_->witness;
}

Result<std::vector<Preparation>> Course::inputs(const PlannedShape& shape, Probe probe,
                                                uint32_t part, const Groundwork::Make& make) {
  if (!options_.groundwork) return make();
  return options_.groundwork->inputs(fmt::format("{} {} {}", shape.name, name_of(probe), part),
                                     make);
}

void Course::note_once(FindingRecord finding) {
  for (const FindingRecord& known : verdict_.findings)
    if (known.code == finding.code) return;
  verdict_.findings.push_back(std::move(finding));
}

void Course::finish(ProbeResult result) {
  if (decided_ && result.outcome == ProbeOutcome::passed && verdict_.witness &&
      verdict_.witness->probe == result.probe && verdict_.witness->shape_set == result.shape_set) {
    result.outcome = ProbeOutcome::failed;
    result.reason = verdict_.reason;
  }
  verdict_.probes.push_back(std::move(result));
}

}  // namespace fiel::judge
