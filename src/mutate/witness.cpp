#include "mutate/witness.h"

#include <algorithm>

#include "judge/course.h"
#include "judge/probe_inputs.h"

namespace fiel::mutate {
namespace {

using judge::derive_seed;

/// Orders that strict does not use, one a call.
vgpu::Schedule schedule_of(uint64_t seed, uint64_t call) {
  vgpu::Schedule s;
  if (call % 3 == 0) return s;
  s.seed = derive_seed(seed, 40'000 + call) | 1;
  if (call % 3 == 2) s.quantum = 1 + static_cast<uint32_t>(derive_seed(seed, 50'000 + call) % 40);
  return s;
}

std::string fault_name(const judge::Call& call) {
  for (const judge::FindingRecord& f : call.findings)
    if (f.grade == vgpu::Grade::error) return f.code;
  const auto& cause = call.fault ? call.fault : call.breach;
  return cause ? std::string(judge::name_of(cause->status)) : std::string();
}

/// One kernel on the inputs, in a process that is replaced where it dies.
class Walk {
 public:
  Walk(const WitnessInputs& inputs, const judge::SessionStarter& starter)
      : inputs_(inputs), starter_(starter) {}

  /// Empty: right. "refused" where it says that it does not take the shape.
  Result<std::string> fault_on(const WitnessInput& in) {
    if (inputs_.options.poll) FIEL_TRY_STATUS(inputs_.options.poll());
    FIEL_TRY_STATUS(place(in.shape));
    judge::CallOptions options;
    options.shape_set = inputs_.shapes[in.shape].name;
    options.poison = calls_ % 2 == 0 ? 0xff : 0x5a;
    options.schedule = schedule_of(inputs_.options.seed, calls_);
    options.timeout_ms = inputs_.options.call_timeout_ms;
    ++calls_;
    FIEL_TRY(const judge::Call call, rig_->call(in.expectation->inputs(), options));
    if (call.fault || !rig_->alive()) rig_.reset();
    if (call.fault || call.breach) return fault_name(call);
    if (call.status == worker::CallStatus::unsupported) return std::string("refused");
    FIEL_TRY(const bool right, in.expectation->accepts(
                                   call.outputs, judge::lowest_class(judge::NumericsPolicy::tf32)));
    return std::string(right ? "" : "values");
  }
  uint32_t calls() const { return calls_; }

 private:
  Status place(size_t shape) {
    if (rig_ != nullptr && placed_ == shape) return {};
    if (rig_ == nullptr) {
      judge::SessionWish wish;
      wish.global_races = true;
      FIEL_TRY(rig_, judge::Rig::start(starter_, wish));
    }
    placed_ = shape;
    return rig_->place(inputs_.shapes[shape].instance, judge::Placement::exact);
  }

  const WitnessInputs& inputs_;
  const judge::SessionStarter& starter_;
  std::unique_ptr<judge::Rig> rig_;
  size_t placed_ = 0;
  uint32_t calls_ = 0;
};

Result<std::shared_ptr<const judge::Expectation>> expect(const task::Task& task,
                                                         const judge::PlannedShape& shape,
                                                         Style style, uint64_t seed) {
  FIEL_TRY(auto values, witness_inputs(*shape.instance, style, seed));
  judge::ExpectationOptions options;
  options.seed = derive_seed(seed, 61);
  options.systematic = is_systematic(style);
  FIEL_TRY(judge::Expectation e,
           judge::Expectation::create(task, shape.instance, std::move(values), options));
  if (!is_special(style) && !e.finite()) return nullptr;
  return std::make_shared<const judge::Expectation>(std::move(e));
}

}  // namespace

Result<WitnessInputs> WitnessInputs::make(const task::Task& task, const judge::ShapePlan& plan,
                                          const WitnessOptions& options) {
  WitnessInputs w;
  w.options = options;
  WitnessShapeOptions shapes;
  shapes.seed = options.seed;
  shapes.count = options.shapes;
  w.shapes = witness_shapes(task, plan, shapes);
  for (size_t s = 0; s < w.shapes.size(); ++s)
    for (uint32_t draw = 0; draw < options.draws; ++draw)
      for (int k = 0; k < kStyleCount; ++k) {
        const auto style = static_cast<Style>(k);
        if (is_special(style) && task.special_values == "ignore") continue;
        if (options.poll) FIEL_TRY_STATUS(options.poll());
        const uint64_t seed = derive_seed(derive_seed(options.seed, 100 + s), draw);
        FIEL_TRY(auto expectation, expect(task, w.shapes[s], style, seed));
        if (expectation) w.inputs.push_back({s, style, draw, std::move(expectation)});
      }
  if (w.inputs.empty())
    return fail(ErrorCode::unsupported,
                "no witness inputs can be made for task '" + task.name + "'");
  return w;
}

Result<WitnessSearch> WitnessSearch::create(const WitnessInputs& inputs,
                                            const judge::SessionStarter& original) {
  WitnessSearch search(inputs);
  Walk walk(inputs, original);
  for (const WitnessInput& in : inputs.inputs) {
    FIEL_TRY(const std::string fault, walk.fault_on(in));
    search.sound_.push_back(fault.empty());
  }
  return search;
}

Result<SearchResult> WitnessSearch::find(const judge::SessionStarter& mutant) const {
  SearchResult result;
  Walk walk(*inputs_, mutant);
  for (size_t i = 0; i < inputs_->inputs.size(); ++i) {
    if (!sound_[i]) continue;
    const WitnessInput& in = inputs_->inputs[i];
    FIEL_TRY(const std::string fault, walk.fault_on(in));
    result.calls = walk.calls();
    if (fault.empty()) continue;
    result.witness = FoundWitness{fault, inputs_->shapes[in.shape].name,
                                  std::string(name_of(in.style)), in.draw, result.calls};
    return result;
  }
  return result;
}

size_t WitnessSearch::sound() const {
  return static_cast<size_t>(std::count(sound_.begin(), sound_.end(), true));
}

}  // namespace fiel::mutate
