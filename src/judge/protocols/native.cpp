#include "judge/protocols/native.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "judge/probe_inputs.h"
#include "judge/protocols/buffers.h"
#include "judge/time_limit.h"

namespace fiel::judge {
namespace {

using Inputs = std::vector<Tensor>;

/// The one shape: what --shapes names, else the first declared set that is not for timing alone.
Result<task::ShapeSet> one_shape(const task::Task& task, const JudgeOptions& options) {
  for (const task::ShapeSet& s : task.shape_sets) {
    if (options.shapes.empty() ? !s.benchmark : options.shapes.front() == s.name) return s;
  }
  if (options.shapes.empty() && !task.shape_sets.empty()) return task.shape_sets.front();
  std::vector<std::string> names;
  for (const task::ShapeSet& s : task.shape_sets) names.push_back(s.name);
  const std::string word = options.shapes.empty() ? "" : options.shapes.front();
  return fail(ErrorCode::usage, fmt::format("the task has no shape set '{}'", printable(word, 80)),
              fmt::format("did you mean '{}'?", did_you_mean(word, names)));
}

struct Trial {
  std::string inputs;
  uint64_t seed = 0;
  double scale = 1;
  bool hidden = false;
};

std::vector<Trial> trials_of(const ProtocolRules& rules, uint64_t secret) {
  std::vector<Trial> trials;
  for (uint32_t t = 0; t < rules.trials; ++t) {
    switch (rules.seeding) {
      case Seeding::repeated:
        trials.push_back({fmt::format("seed {}, again", rules.seed), rules.seed, 1, false});
        break;
      case Seeding::derived:
        trials.push_back({fmt::format("seed {} of {}", t + 1, rules.seed),
                          derive_seed(rules.seed, t), 1, false});
        break;
      case Seeding::unseeded:
        trials.push_back({"unseeded", derive_seed(secret, t), 1, false});
        break;
    }
  }
  for (size_t i = 0; i < rules.hidden_scales.size(); ++i)
    trials.push_back({fmt::format("times {:g}", rules.hidden_scales[i]),
                      derive_seed(secret, 1000 + i), rules.hidden_scales[i], true});
  return trials;
}

/// Floating inputs times `scale`, whatever values they may legally hold.
void scale_inputs(const task::Instance& at, double scale, Inputs& inputs) {
  if (scale == 1) return;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (at.input_specs[i].parameter || !is_floating(inputs[i].dtype())) continue;
    inputs[i] = inputs[i].clone();
    for (int64_t e = 0; e < inputs[i].numel(); ++e)
      inputs[i].set_flat(e, inputs[i].at_flat(e) * scale);
  }
}

class NativeCourse {
 public:
  NativeCourse(const task::Task& task, const ProtocolRules& rules, const JudgeOptions& options,
               Verdict& verdict)
      : task_(task), rules_(rules), options_(options), verdict_(verdict) {}

  Status run(const SessionStarter& starter);

 private:
  Result<Inputs> draw(const Trial& trial) const;
  Result<Inputs> answer(const Inputs& inputs) const;
  /// False: the protocol stops here.
  Result<bool> run_trial(PlainBuffers& buffers, const Trial& trial);
  bool compare(const Trial& trial, const Inputs& expected, const Call& call);
  bool no_answer(const Trial& trial, const Call& call);
  void witness(const Trial& trial, uint64_t call, std::string note);
  Status poll(size_t done, size_t total) const;
  void conclude();

  const task::Task& task_;
  const ProtocolRules& rules_;
  const JudgeOptions& options_;
  Verdict& verdict_;
  std::shared_ptr<const task::Instance> at_;
  Symbols symbols_;
  Opinion opinion_;
  Inputs weights_, current_;
  std::optional<Fault> fault_;
};

/// Parameters are the module's: they stay, and only their constructor's seed chose them.
Result<Inputs> NativeCourse::draw(const Trial& trial) const {
  FIEL_TRY(auto made, make_inputs(*at_, {Probe::task_inputs, 0, trial.seed, 1}));
  if (!made) return fail(ErrorCode::unsupported, "the task's own inputs cannot be drawn");
  Inputs inputs = std::move(*made);
  for (size_t i = 0; i < inputs.size() && i < weights_.size(); ++i)
    if (at_->input_specs[i].parameter) inputs[i] = weights_[i];
  scale_inputs(*at_, trial.scale, inputs);
  return inputs;
}

/// The reference as PyTorch would give it: rounded to the output's type.
Result<Inputs> NativeCourse::answer(const Inputs& inputs) const {
  FIEL_TRY(Inputs exact, at_->reference(inputs));
  for (size_t i = 0; i < exact.size(); ++i)
    if (is_floating(at_->outputs[i].dtype)) exact[i] = exact[i].to(at_->outputs[i].dtype);
  return exact;
}

Status NativeCourse::poll(size_t done, size_t total) const {
  if (options_.progress)
    options_.progress({fmt::format("{}: {}", name_of(rules_.protocol), task_.name),
                       static_cast<uint32_t>(done), static_cast<uint32_t>(total)});
  FIEL_TRY_STATUS(not_stopped(options_));
  if (options_.limit && options_.limit->is_up()) return fail(options_.limit->error());
  return {};
}

void NativeCourse::witness(const Trial& trial, uint64_t call, std::string note) {
  if (verdict_.witness) return;
  Witness w;
  w.probe = Probe::task_inputs;
  w.shape_set = at_->shape_set;
  w.symbols = symbols_;
  w.seed = trial.seed;
  w.call = call;
  w.note = std::move(note);
  verdict_.witness = std::move(w);
}

bool NativeCourse::no_answer(const Trial& trial, const Call& call) {
  const bool refused = !call.fault;
  fault_ =
      refused ? Fault{VerdictStatus::unsupported, "the kernel refuses this shape"} : *call.fault;
  opinion_.trials.push_back({trial.inputs, false, false, 0, fault_->reason});
  if (!refused) witness(trial, call.number, fault_->reason);
  return false;
}

bool NativeCourse::compare(const Trial& trial, const Inputs& expected, const Call& call) {
  OpinionTrial row{trial.inputs, true, false, 0, {}};
  for (size_t o = 0; o < expected.size(); ++o) {
    const DType dtype = at_->outputs[o].dtype;
    const ToleranceRule& tolerance =
        is_floating(dtype) && size_of(dtype) == 2 ? rules_.half : rules_.fp32;
    const std::vector<double> want = expected[o].to_f64(), got = call.outputs[o].to_f64();
    uint64_t wrong = 0;
    for (size_t i = 0; i < want.size(); ++i) {
      const double difference = std::fabs(got[i] - want[i]);
      if (difference > row.max_difference) row.max_difference = difference;
      if (within(tolerance, rules_.relative, want[i], got[i])) continue;
      if (++wrong > 1 || !row.passed) continue;
      row.passed = false;
      row.why = fmt::format("expected {}, got {}", format_double(want[i]), format_double(got[i]));
      witness(trial, call.number, {});
      Witness& w = *verdict_.witness;
      if (w.flat_index >= 0) continue;
      w.output = at_->graph.outputs[o].name;
      w.flat_index = static_cast<int64_t>(i);
      w.index = unravel(w.flat_index, at_->outputs[o].shape);
      w.expected = want[i];
      w.got = got[i];
      w.error = difference;
      const double scale = rules_.relative == RelativeTo::candidate ? got[i] : want[i];
      w.bound = tolerance.atol + tolerance.rtol * std::fabs(scale);
      w.elements = want.size();
    }
    if (wrong > 0 && verdict_.witness && verdict_.witness->wrong_elements == 0)
      verdict_.witness->wrong_elements = wrong;
  }
  ++verdict_.resources.calls_compared;
  const bool passed = row.passed;
  opinion_.trials.push_back(std::move(row));
  return passed || !rules_.stops_at_first;
}

Result<bool> NativeCourse::run_trial(PlainBuffers& buffers, const Trial& trial) {
  const bool again = rules_.seeding == Seeding::repeated && !current_.empty();
  if (!again) {
    FIEL_TRY(current_, draw(trial));
    FIEL_TRY_STATUS(buffers.write(current_));
  }
  Inputs expected;
  if (rules_.reference_first) {
    FIEL_TRY(expected, answer(current_));
  }
  const auto finite = [](const Tensor& t) {
    const auto v = t.to_f64();
    return std::all_of(v.begin(), v.end(), [](double x) { return std::isfinite(x); });
  };
  if (trial.hidden && !std::all_of(expected.begin(), expected.end(), finite)) {
    opinion_.trials.push_back({trial.inputs, true, true, 0, "the reference is not finite on it"});
    return true;
  }
  CallOptions call_options;
  call_options.shape_set = at_->shape_set;
  call_options.timeout_ms = options_.call_timeout_ms;
  FIEL_TRY(const Call call, buffers.call(call_options));
  ++verdict_.resources.calls;
  verdict_.resources.launches += call.launches;
  verdict_.resources.thread_instructions += call.thread_instructions;
  if (verdict_.candidate_output.size() < 4000) verdict_.candidate_output += call.output;
  if (call.fault || call.status == worker::CallStatus::unsupported) return no_answer(trial, call);
  if (!rules_.reference_first) {
    // The same tensors: what the candidate did to them, the reference is given.
    FIEL_TRY(const Inputs now, buffers.read_inputs());
    FIEL_TRY(expected, answer(now));
  }
  return compare(trial, expected, call);
}

void NativeCourse::conclude() {
  const bool all = std::all_of(opinion_.trials.begin(), opinion_.trials.end(),
                               [](const OpinionTrial& t) { return t.passed; });
  opinion_.accepted = all && !opinion_.trials.empty() && !fault_;
  verdict_.status = opinion_.accepted ? VerdictStatus::correct
                    : fault_          ? fault_->status
                                      : VerdictStatus::incorrect;
  if (verdict_.status == VerdictStatus::unsupported)
    verdict_.unsupported_by = fault_->reason.starts_with("the kernel") ? "kernel" : "device";
  if (opinion_.accepted) verdict_.witness.reset();
  verdict_.reason = summary(opinion_);
  if (verdict_.witness && verdict_.witness->note.empty()) verdict_.witness->note = verdict_.reason;
  verdict_.opinion = std::move(opinion_);
}

Status NativeCourse::run(const SessionStarter& starter) {
  FIEL_TRY(const task::ShapeSet shape, one_shape(task_, options_));
  FIEL_TRY(task::Instance instance, task_.instantiate(shape));
  at_ = std::make_shared<const task::Instance>(std::move(instance));
  symbols_ = shape.symbols;
  opinion_.protocol = std::string(name_of(rules_.protocol));
  opinion_.source = std::string(rules_.source);
  opinion_.notes = {"native task: correctness only, at the shape set '" + shape.name + "'",
                    "the reference is float64 rounded to the output's type"};
  FIEL_TRY(weights_, draw({"weights", derive_seed(rules_.seed, 77), 1, false}));
  FIEL_TRY(PlainBuffers buffers, PlainBuffers::start(starter, at_));
  verdict_.isolation = buffers.isolation();
  const std::vector<Trial> trials = trials_of(rules_, options_.seed);
  for (size_t t = 0; t < trials.size(); ++t) {
    // KernelBench-Verified asks its hidden inputs only of what passed the public ones.
    if (trials[t].hidden &&
        std::any_of(opinion_.trials.begin(), opinion_.trials.end(),
                    [](const auto& r) { return !r.passed; }) &&
        !trials[t - 1].hidden)
      break;
    FIEL_TRY_STATUS(poll(t, trials.size()));
    FIEL_TRY(const bool go_on, run_trial(buffers, trials[t]));
    if (!go_on) break;
  }
  conclude();
  return {};
}

}  // namespace

Status run_native(const task::Task& task, const ProtocolRules& rules, const SessionStarter& starter,
                  const JudgeOptions& options, Verdict& verdict) {
  NativeCourse course(task, rules, options, verdict);
  return course.run(starter);
}

}  // namespace fiel::judge
