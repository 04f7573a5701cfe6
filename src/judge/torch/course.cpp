#include "judge/torch/course.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "base/text.h"
#include "judge/course.h"
#include "judge/time_limit.h"
#include "judge/torch/bare_side.h"
#include "judge/torch/runner_side.h"
#include "judge/torch/seeds.h"

namespace fiel::judge::torch {
namespace {

constexpr size_t kMaxFindings = 64;
constexpr size_t kMaxPrinted = 4000;

std::string shape_text(const Json& shape) { return shape.is_null() ? "none" : shape.dump(); }

}  // namespace

ProbeResult blank(Probe probe, const std::string& shape_set) {
  ProbeResult r;
  r.probe = probe;
  r.shape_set = shape_set;
  return r;
}

std::string shape_set_of(const Case& c) {
  return c.wish.shape_variant.empty() ? std::string(kGivenShapes) : c.wish.shape_variant;
}

Status TorchCourse::poll(const std::string& what) {
  ++steps_;
  const JudgeOptions& o = request_.options;
  if (o.progress) o.progress({what, steps_, std::max(total_steps_, steps_)});
  FIEL_TRY_STATUS(not_stopped(o));
  if (o.limit && o.limit->is_up()) return fail(o.limit->error());
  return {};
}

void TorchCourse::decide(VerdictStatus status, std::string reason) {
  decided_ = true;
  verdict_.status = status;
  verdict_.reason = std::move(reason);
}

void TorchCourse::note(FindingRecord finding) {
  for (FindingRecord& known : verdict_.findings)
    if (known.code == finding.code && known.detail == finding.detail) {
      ++known.count;
      return;
    }
  const bool error = finding.grade == vgpu::Grade::error;
  if (verdict_.findings.size() < (error ? 2 : 1) * kMaxFindings)
    verdict_.findings.push_back(std::move(finding));
}

bool TorchCourse::refused(const std::string& shape_set) const {
  const auto& all = verdict_.refused_shapes;
  return std::find(all.begin(), all.end(), shape_set) != all.end();
}

/// Turns a fault into a verdict, or into a refusal of a shape that the task does not list.
Result<bool> TorchCourse::fault(const worker::WorkerFault& f, Stage stage, const Case* c) {
  // What our limit ended has not failed, and what was to follow finds no process.
  const auto& limit = request_.options.limit;
  const bool ended = f.kind == worker::Fault::worker || f.kind == worker::Fault::crash;
  if (ended && limit && limit->has_cut()) return fail(limit->error());
  FaultVerdict v = verdict_of(f, stage);
  if (candidate_) candidate_->spoil();
  if (is_bare() && f.kind == worker::Fault::worker) {  // no Python of the candidate's is there
    decide(VerdictStatus::harness_fault, printable(f.what, 600));
    return false;
  }
  const std::string shape = c != nullptr ? shape_set_of(*c) : oracle_.main_shapes();
  if (v.refusal && shape != oracle_.main_shapes() && answered_.count(shape) == 0) {
    if (!refused(shape)) verdict_.refused_shapes.push_back(shape);
    note(finding(JudgeFinding::shape_refused, vgpu::Grade::info,
                 fmt::format("at {}: {}", shape, printable(f.what, 200)), Probe::other_shapes,
                 shape, verdict_.resources.calls));
    return false;
  }
  if (v.structure)
    note(finding(JudgeFinding::structure_differs, vgpu::Grade::error, v.reason, c->probe, shape,
                 verdict_.resources.calls));
  if (f.kind == worker::Fault::memory) lacked_memory();
  decide(v.status, v.reason);
  verdict_.unsupported_by = v.unsupported_by;
  (v.status == VerdictStatus::compile_error ? verdict_.compiler_output
                                            : verdict_.candidate_output) += v.output;
  if (c == nullptr || v.status == VerdictStatus::unsupported) return false;
  verdict_.witness = witness_of(*c, v.reason);
  return false;
}

/// A case that shows it without a single element to blame.
Witness TorchCourse::witness_of(const Case& c, std::string note) const {
  Witness w;
  w.probe = c.probe;
  w.shape_set = shape_set_of(c);
  name_inputs(c, w);
  w.call = verdict_.resources.calls;
  w.note = std::move(note);
  return w;
}

Status TorchCourse::confirm() {
  const bool answered =
      verdict_.status == VerdictStatus::correct || verdict_.status == VerdictStatus::incorrect;
  if (!candidate_ || !answered) return {};
  const auto last = candidate_->confirm();
  if (last || last.error().kind != worker::Fault::protocol) return {};
  return fault(last.error(), Stage::calling, nullptr).transform([](bool) {});
}

Result<bool> TorchCourse::load() {
  FIEL_TRY_STATUS(poll("loading " + verdict_.kernel));
  return compiling_.valid() ? load_bare() : load_module();
}

Result<bool> TorchCourse::load_bare() {
  oracle_.turn().end();
  const auto begin = std::chrono::steady_clock::now();
  FIEL_TRY(compiled_, compiling_.get());
  setup_ms_ =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  describe(*compiled_, verdict_);
  decided_ = !compiled_->start;
  if (decided_) return false;
  FIEL_TRY_STATUS(oracle_.turn().take(Share::shared));
  return restart({});
}

Result<bool> TorchCourse::restart(const SessionWish& wish) {
  if (!is_bare()) return false;
  candidate_.reset();
  FIEL_TRY(auto session, compiled_->start(wish));
  verdict_.isolation = session->isolation();
  const bool reference_writes = oracle_.task().raw["writes_inputs"].as_bool();
  candidate_ = std::make_unique<BareSide>(std::move(session),
                                          BareSettings{!request_.on_virtual(), !reference_writes});
  weights_given_.reset();
  weights_known_ = false;
  return true;
}

Result<bool> TorchCourse::load_module() {
  oracle_.turn().end();
  FIEL_TRY(auto confined, workers_.candidate(oracle_.machine().device_uuid));
  verdict_.isolation = confined.worker->isolation();
  stage_ = std::make_unique<TempDir>(std::move(confined.stage));
  const bool trusted = confined.worker->trusted();
  auto side = std::make_unique<RunnerSide>(std::move(confined.worker), confined.device,
                                           trusted ? workers_.give_back : GiveBack());
  RunnerSide& runner = *side;
  candidate_ = std::move(side);
  RunnerSettings s;
  const bool self = request_.kernel_path.empty();
  std::error_code ignored;
  const bool folder = std::filesystem::is_directory(request_.kernel_path, ignored);
  s.kind = self ? "reference" : folder ? "folder" : "module";
  s.task_path = confined.task;
  s.path = self ? confined.task : confined.candidate;
  s.mode = request_.mode;
  s.init_seed = init_seed(request_.options.seed);
  s.load_timeout_ms = request_.load_timeout_ms;
  s.call_timeout_ms = request_.options.call_timeout_ms;
  const auto loaded = runner.load(s);
  if (!loaded) return fault(loaded.error(), Stage::loading, nullptr);
  setup_ms_ = loaded->build_ms;
  FIEL_TRY_STATUS(oracle_.turn().take(Share::shared));
  return true;
}

void TorchCourse::keep_unmatched(const worker::CopiedWeights& copied) {
  weights_known_ = true;
  unmatched_ = copied.unmatched;
  for (const char* how : {"state_dict", "by_shape", "seed_replay"})
    if (copied.how == how) verdict_.weights = how;
  if (copied.how == "by_shape")
    note(finding(JudgeFinding::weights_by_shape, vgpu::Grade::info,
                 "parameters of other names were given by their shapes", Probe::task_inputs,
                 oracle_.main_shapes(), 0));
  for (const auto& u : unmatched_)
    note(finding(JudgeFinding::weights_unmatched, vgpu::Grade::warn,
                 fmt::format("'{}' {} has no counterpart (the candidate's shape: {})", u.name,
                             shape_text(u.shape), shape_text(u.candidate_shape)),
                 Probe::task_inputs, oracle_.main_shapes(), 0));
}

/// Buffers may have changed by the last call: where there are any, they are given anew each time.
Result<bool> TorchCourse::give_weights(const Case& c) {
  if (!has_weights_) return true;
  if (weights_known_ && !oracle_.has_buffers() && weights_given_ == c.wish.weights_seed)
    return true;
  FIEL_TRY(const OracleSide::WeightsAt at, oracle_.weights(c));
  has_weights_ = at.any;
  if (!at.any) return true;
  const auto copied = candidate_->take(at);
  if (!copied) return fault(copied.error(), Stage::weights, &c);
  weights_count_ = copied->copied.size();
  if (!weights_known_) keep_unmatched(*copied);
  weights_given_ = c.wish.weights_seed;
  return true;
}

/// Buffers as the call left them, behind the outputs in their window; null where the task has none.
/// What a runner does not or cannot say is an empty value: missing buffers are wrong ones.
worker::Answer<Json> TorchCourse::state_after(const Input& input) {
  if (!oracle_.has_buffers() || request_.mode != "train") return Json();
  const uint64_t begin = input.region.offset + input.region.bytes + 65'536;
  if (begin >= input.out->bytes) return Json();
  auto state = candidate_->state(*input.out, {begin, input.out->bytes - begin});
  if (!state && state.error().kind >= worker::Fault::crash) return state;
  return state && state->is_object() ? std::move(*state) : Json::object();
}

void TorchCourse::wrong(JudgedAnswer answer) {
  for (FindingRecord& f : answer.findings) note(std::move(f));
  verdict_.witness = std::move(answer.witness);
  const bool only_values = answer.findings.empty() && verdict_.witness.has_value();
  if (unmatched_.empty() || !only_values) {
    decide(answer.status, std::move(answer.reason));
    return;
  }
  const auto& u = unmatched_.front();
  decide(VerdictStatus::unsupported,
         fmt::format("it cannot be given the reference's weights: '{}' {} has no counterpart in it "
                     "(shape there: {}), so its answers cannot be compared",
                     printable(u.name, 100), shape_text(u.shape), shape_text(u.candidate_shape)));
  verdict_.unsupported_by = "kernel";
}

void TorchCourse::keep_errors(const Case& c, const worker::Verified& seen) {
  ProbeError e{std::string(name_of(c.probe))};
  const bool known = std::any_of(probe_errors_.begin(), probe_errors_.end(),
                                 [&](const ProbeError& k) { return k.probe == e.probe; });
  if (!c.wish.shape_variant.empty() || known) return;
  for (const worker::Comparison& v : seen.outputs) {
    e.relative_rms = std::max(e.relative_rms, v.relative_rms);
    e.componentwise = std::max(e.componentwise, v.componentwise);
  }
  probe_errors_.push_back(std::move(e));
}

Result<bool> TorchCourse::compare(const Case& c, const Input& input,
                                  const worker::CalledModule& called, ProbeResult& result) {
  const auto state = state_after(input);
  if (!state) return fault(state.error(), Stage::calling, &c);
  FIEL_TRY(const worker::Verified seen,
           oracle_.verify(c, called.outputs, lowest_class(request_.options.numerics), *state));
  const AnswerContext context{request_.options.numerics, verdict_.resources.calls, shape_set_of(c)};
  JudgedAnswer answer = judge_answer(seen, c, called.aliases, context);
  note_strides(c, seen);
  ++verdict_.resources.calls_compared;
  ++result.compared;
  result.relative_rms = std::max(result.relative_rms, answer.errors.relative_rms);
  if (answer.worst_ratio > result.worst_ratio) {
    result.worst_ratio = answer.worst_ratio;
    result.worst_error = answer.worst_error;
    result.worst_bound = answer.worst_bound;
  }
  if (!seen.outputs.empty()) {
    errors_.take(answer.errors);
    verdict_.numerics = errors_.numerics;
    keep_errors(c, seen);
  }
  if (answer.right) return true;
  wrong(std::move(answer));
  return false;
}

/// Who writes where it is told to has no choice of strides.
void TorchCourse::note_strides(const Case& c, const worker::Verified& seen) {
  if (candidate_->writes_in_place()) return;
  for (const std::string& what : seen.notes)
    note(finding(JudgeFinding::strides_differ, vgpu::Grade::info, what, c.probe, shape_set_of(c),
                 verdict_.resources.calls));
}

/// What the oracle had to do to the bound or the reference. A milder probe is a probe.
void TorchCourse::note_of_preparation(const Case& c) {
  const std::string& said = c.prepared.raw["note"].as_string();
  if (said.empty() || said.starts_with("milder")) return;
  const bool widened = said.find("widened") != std::string::npos;
  note(finding(widened ? JudgeFinding::bound_widened : JudgeFinding::task_warning,
               vgpu::Grade::warn, fmt::format("{}: {}", name_of(c.probe), said), c.probe,
               shape_set_of(c), verdict_.resources.calls));
}

Result<bool> TorchCourse::check(const Case& c, const Slots& slots, ProbeResult& result) {
  FIEL_TRY_STATUS(
      poll(fmt::format("{} at {}: {}", verdict_.task, shape_set_of(c), name_of(c.probe))));
  FIEL_TRY_STATUS(oracle_.turn().yield());
  note_of_preparation(c);
  FIEL_TRY(const bool given, give_weights(c));
  if (!given) return false;
  FIEL_TRY(const Input input, oracle_.place(c, slots));
  ++verdict_.resources.calls;
  ++result.calls;
  const CallOptions options = options_for(c, slots);
  const auto called = candidate_->call(input, options);
  if (!called) return fault(called.error(), Stage::calling, &c);
  if (verdict_.candidate_output.size() < kMaxPrinted)
    verdict_.candidate_output += printable(called->answer.printed, kMaxPrinted);
  FIEL_TRY(const bool answered, seen(c, called->seen, options.timeout_ms));
  if (!answered) return false;
  answered_.insert(shape_set_of(c));
  FIEL_TRY(const bool right, compare(c, input, called->answer, result));
  if (!right || !called->seen.breach) return right;
  // A rule was broken although the values are right.
  broke(c, *called->seen.breach);
  return false;
}

CallOptions TorchCourse::options_for(const Case& c, const Slots& slots) const {
  CallOptions o;
  o.probe = c.probe;
  o.shape_set = shape_set_of(c);
  o.poison = slots.poison;
  o.schedule = schedule_;
  o.contract = contract_;
  o.keep_outputs = keep_outputs_;
  o.timeout_ms = within_limit(request_.options, request_.options.call_timeout_ms);
  return o;
}

/// What the device saw of a bare kernel's call. False: decided, or refused at this shape.
Result<bool> TorchCourse::seen(const Case& c, const Call& call, int64_t timeout_ms) {
  if (keep_outputs_) last_seen_ = call;
  Resources& r = verdict_.resources;
  r.launches += call.launches;
  r.thread_instructions += call.thread_instructions;
  r.peak_device_bytes = std::max(r.peak_device_bytes, call.peak_device_bytes);
  r.candidate_device_bytes = std::max(r.candidate_device_bytes, call.candidate_device_bytes);
  for (const FindingRecord& f : call.findings) note(f);
  // Cut short by the judgement's limit, not by the call's.
  const auto& limit = request_.options.limit;
  const bool cut = timeout_ms < request_.options.call_timeout_ms && limit && limit->is_up();
  if (cut && call.fault && call.fault->status == VerdictStatus::timeout)
    return fail(limit->error());
  if (call.fault) {
    broke(c, *call.fault);
    return false;
  }
  return call.status != worker::CallStatus::unsupported || refusal(c);
}

/// FIEL_UNSUPPORTED: of the task's own shapes the kernel's limit, of others no fault.
bool TorchCourse::refusal(const Case& c) {
  const std::string shape = shape_set_of(c);
  if (answered_.count(shape) != 0) {
    const std::string what = "it refuses a shape that it has answered before";
    note(finding(JudgeFinding::refused_late, vgpu::Grade::error, what, c.probe, shape,
                 verdict_.resources.calls));
    broke(c, {VerdictStatus::incorrect, what});
    return false;
  }
  if (!refused(shape)) verdict_.refused_shapes.push_back(shape);
  if (shape != oracle_.main_shapes()) return false;
  decide(VerdictStatus::unsupported,
         fmt::format("the kernel answers FIEL_UNSUPPORTED: fiel_run got {} inputs and {} outputs",
                     inputs_of(c), c.prepared.outputs.size()));
  verdict_.unsupported_by = "kernel";
  return false;
}

size_t TorchCourse::inputs_of(const Case& c) const {
  return c.prepared.inputs.size() + weights_count_;
}

void TorchCourse::broke(const Case& c, const Fault& fault) {
  decide(fault.status, fault.reason);
  if (fault.status == VerdictStatus::unsupported) {
    verdict_.unsupported_by = "device";
    return;
  }
  verdict_.witness = witness_of(c, fault.reason);
}

void TorchCourse::finish(ProbeResult result) {
  if (decided_ && result.outcome == ProbeOutcome::passed) {
    result.outcome = ProbeOutcome::failed;
    result.reason = verdict_.reason;
  }
  verdict_.probes.push_back(std::move(result));
}

}  // namespace fiel::judge::torch
