#include "judge/strict.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "judge/course.h"
#include "judge/minimise.h"
#include "judge/state_probes.h"
#include "judge/void_task.h"
#include "task/plain_products.h"

namespace fiel::judge {
namespace {

/// Probes of a tier and how many variants of each.
uint32_t variants_at(Tier tier, Probe probe) {
  if (tier == Tier::full) return variants_of(probe);
  const bool own = probe == Probe::task_inputs, mixed = probe == Probe::mixed_signs;
  if (tier == Tier::few) return own || mixed ? 1 : 0;
  const bool telling = probe == Probe::offset_mean || probe == Probe::scale_range ||
                       probe == Probe::outliers || probe == Probe::exact_products;
  return own ? 3 : mixed || telling ? 1 : 0;
}

/// The value probes that have something to ask of this task.
std::vector<Probe> probes_of(const PlannedShape& shape) {
  std::vector<Probe> list = value_probes();
  if (!task::has_plain_products(*shape.instance)) std::erase(list, Probe::exact_products);
  return list;
}

uint64_t shape_seed(const JudgeOptions& options, const PlannedShape& shape) {
  uint64_t h = options.seed;
  for (const auto& [name, value] : shape.symbols) h = derive_seed(h, static_cast<uint64_t>(value));
  return h;
}

/// Natural order, reversed blocks, reversed warps, then seeded: correct kernels never notice.
vgpu::Schedule schedule_for(uint64_t seed, uint64_t number) {
  vgpu::Schedule s;
  switch (number % 4) {
    case 1:
      s.reverse_blocks = true;
      break;
    case 2:
      s.reverse_warps = true;
      break;
    case 3:
      s.seed = derive_seed(seed, number) | 1;
      break;
    default:
      break;
  }
  return s;
}

Result<std::vector<Preparation>> prepare_values(Course& course, const PlannedShape& shape,
                                                Probe probe) {
  return course.inputs(shape, probe, 0, [&]() -> Result<std::vector<Preparation>> {
    std::vector<Preparation> list;
    for (uint32_t v = 0; v < variants_at(shape.tier, probe); ++v) {
      FIEL_TRY_STATUS(
          course.poll(fmt::format("{} at {}: reference", course.task().name, shape.name)));
      ProbeRecipe recipe{probe, v, derive_seed(shape_seed(course.options(), shape), 10 + v), 1};
      FIEL_TRY(Preparation p, prepare(course.task(), shape.instance, recipe));
      list.push_back(std::move(p));
    }
    return list;
  });
}

/// All input sets of one probe at one shape. False: decided, or refused.
Result<bool> run_value_probe(Course& course, Rig& rig, const PlannedShape& shape, Probe probe,
                             const std::vector<Preparation>& prepared) {
  ProbeResult result = blank(shape, probe);
  bool go_on = true;
  for (const Preparation& p : prepared) {
    if (!p.expectation) {
      result.reason = p.dropped;
      continue;
    }
    CallOptions call;
    call.probe = probe;
    call.shape_set = shape.name;
    call.poison = rig.calls() % 2 == 0 ? 0xff : 0x5a;
    call.schedule = schedule_for(course.options().seed, rig.calls());
    call.timeout_ms = course.options().call_timeout_ms;
    FIEL_TRY(go_on, course.check_call(rig, shape, p, call, result));
    if (!go_on) break;
  }
  if (result.calls == 0) {
    result.outcome = prepared.empty() ? ProbeOutcome::skipped : ProbeOutcome::dropped;
    if (prepared.empty()) result.reason = "a large shape is given the telling probes only";
    if (prepared.empty() && shape.generated) return go_on;
  } else if (course.refused(shape.name)) {
    result.outcome = ProbeOutcome::skipped;
    result.reason = "the kernel refused this shape";
  } else {
    result.reason.clear();
  }
  course.finish(std::move(result));
  return go_on;
}

/// The value probes of the cheapest declared shape, made first: they say whether the task can tell
/// right from wrong at all.
struct Opening {
  const PlannedShape* shape = nullptr;
  std::map<Probe, std::vector<Preparation>> prepared;
};
Result<Opening> open_task(Course& course, const ShapePlan& plan) {
  Opening opening;
  for (const PlannedShape& s : plan.shapes)
    if (!s.generated && opening.shape == nullptr) opening.shape = &s;
  if (opening.shape == nullptr) return opening;
  std::vector<Preparation> all;
  for (Probe probe : probes_of(*opening.shape)) {
    FIEL_TRY(opening.prepared[probe], prepare_values(course, *opening.shape, probe));
    // Special values are left out: a constant misses the NaN of any task, degenerate or not.
    if (probe == Probe::special_values) continue;
    for (const Preparation& p : opening.prepared[probe]) all.push_back(p);
  }
  FIEL_TRY(course.verdict().void_checks,
           check_task(all, lowest_class(course.options().numerics), opening.shape->name));
  return opening;
}

bool is_void(Course& course) {
  Verdict& v = course.verdict();
  const VoidCheck* hole = first_hole(v.void_checks);
  const bool nothing = v.void_checks.empty();
  if (hole == nullptr && !nothing) return false;
  v.status = VerdictStatus::task_void;
  v.reason = nothing ? "the reference is not finite on any input set"
                     : fmt::format("{} would be accepted as right on every probe", hole->impostor);
  return true;
}

/// True where a survey goes on with the next probe at this shape. What a fault left behind is not
/// gone on with: the next shape gets a fresh process.
Result<bool> next_in_survey(Course& course, std::unique_ptr<Rig>& rig, const PlannedShape& shape) {
  const bool fault = course.last_call().fault.has_value() || !rig->alive();
  if (!course.reopen()) return false;
  if (fault) {
    FIEL_TRY(rig, Rig::start(course.starter(), {}));
  }
  FIEL_TRY_STATUS(rig->place(shape.instance, Placement::exact));
  return !fault;
}

/// False: decided. A refusal only ends the shape.
Result<bool> run_shape(Course& course, std::unique_ptr<Rig>& rig, const PlannedShape& shape,
                       const Opening& opening) {
  FIEL_TRY_STATUS(rig->place(shape.instance, Placement::exact));
  const bool opens = &shape == opening.shape;
  for (Probe probe : probes_of(shape)) {
    std::vector<Preparation> prepared;
    if (opens) {
      prepared = opening.prepared.at(probe);
    } else {
      FIEL_TRY(prepared, prepare_values(course, shape, probe));
    }
    FIEL_TRY(bool go_on, run_value_probe(course, *rig, shape, probe, prepared));
    if (!go_on) {
      FIEL_TRY(go_on, next_in_survey(course, rig, shape));
    }
    if (!go_on) return !course.decided();
  }
  if (!opens) return true;
  for (StateProbe probe : state_probes()) {
    FIEL_TRY(bool go_on, probe(course, *rig, shape));
    if (!go_on) {
      FIEL_TRY(go_on, next_in_survey(course, rig, shape));
    }
    if (!go_on) return !course.decided();
  }
  return true;
}

uint32_t repeated_calls(Effort effort) {
  return effort == Effort::quick ? 32 : effort == Effort::standard ? 128 : 1024;
}

void conclude(Course& course, const ShapePlan& plan) {
  Verdict& v = course.verdict();
  const auto n = static_cast<double>(std::max<uint64_t>(v.resources.calls_compared, 1));
  v.missed_fraction = 1 - std::pow(0.05, 1 / n);
  if (course.decided()) return;
  std::string refused;
  for (const PlannedShape& s : plan.shapes)
    if (!s.generated && course.refused(s.name)) refused += (refused.empty() ? "" : ", ") + s.name;
  if (!refused.empty()) {
    v.status = VerdictStatus::unsupported;
    v.unsupported_by = "kernel";
    v.reason = "the kernel refuses shape sets that the task asks for: " + refused;
    return;
  }
  v.status = VerdictStatus::correct;
  v.reason = fmt::format("{} calls compared in full, none wrong",
                         format_count(v.resources.calls_compared));
  if (v.resources.launches == 0) {
    FindingRecord r;
    r.code = std::string(name_of(JudgeFinding::no_launch));
    r.grade = vgpu::Grade::warn;
    r.detail = "no call launched a kernel: copies did it, or the host computed the answer";
    r.text = "WARN no-kernel-launched  " + r.detail;
    v.findings.push_back(std::move(r));
  }
  if (v.refused_shapes.empty()) return;
  FindingRecord r;
  r.code = std::string(name_of(JudgeFinding::shape_refused));
  r.grade = vgpu::Grade::info;
  r.detail = "it is specialised: it answers FIEL_UNSUPPORTED at shapes the task does not list";
  for (const std::string& s : v.refused_shapes)
    r.detail += (&s == v.refused_shapes.data() ? ": " : ", ") + s;
  r.text = "INFO shape-refused  " + r.detail;
  v.findings.push_back(std::move(r));
}

Result<bool> run_all(Course& course, std::unique_ptr<Rig>& rig, const ShapePlan& plan,
                     const Opening& opening) {
  const PlannedShape* tiny = nullptr;
  for (const PlannedShape& shape : plan.shapes) {
    // A survey asks what dear shapes and many calls find that nothing else does.
    if (course.failed_before() && shape.tier != Tier::full) continue;
    FIEL_TRY(const bool go_on, run_shape(course, rig, shape, opening));
    if (!go_on) return false;
    // With a size of 1 many an operator's answer does not depend on its input at all.
    const bool telling = std::all_of(shape.symbols.begin(), shape.symbols.end(),
                                     [](const auto& s) { return s.second > 1; });
    if (!course.refused(shape.name) && tiny == nullptr && telling) tiny = &shape;
  }
  if (tiny == nullptr) return true;
  if (!course.failed_before()) {
    FIEL_TRY(bool steady,
             run_repeated_calls(course, *rig, *tiny, repeated_calls(course.options().effort)));
    if (!steady) {
      FIEL_TRY(steady, next_in_survey(course, rig, *tiny));
    }
    if (!steady) return false;
  }
  const bool opened = opening.shape != nullptr && !course.refused(opening.shape->name);
  return opened ? run_schedules(course, *opening.shape) : Result<bool>(true);
}

Result<std::shared_ptr<const ShapePlan>> plan_of(const task::Task& task,
                                                 const JudgeOptions& options) {
  const auto make = [&] { return plan_shapes(task, options); };
  if (options.groundwork) return options.groundwork->plan(make);
  FIEL_TRY(ShapePlan plan, make());
  return std::make_shared<const ShapePlan>(std::move(plan));
}

}  // namespace

Status run_strict(const task::Task& task, const SessionStarter& starter,
                  const JudgeOptions& options, Verdict& verdict) {
  FIEL_TRY(const auto planned, plan_of(task, options));
  const ShapePlan& plan = *planned;
  verdict.skipped_shapes = plan.skipped;
  if (plan.shapes.empty()) {
    verdict.status = VerdictStatus::undecided;
    verdict.reason = "no shape set fits the budget; choose one with --shapes or raise --budget";
    return {};
  }
  Course course(task, starter, options, verdict);
  for (const PlannedShape& s : plan.shapes)
    for (Probe probe : value_probes()) course.expect_steps(2 * variants_at(s.tier, probe));
  course.expect_steps(repeated_calls(options.effort) + kStateSteps);
  FIEL_TRY(const Opening opening, open_task(course, plan));
  if (is_void(course)) return {};
  FIEL_TRY(auto rig, Rig::start(starter, {}));
  verdict.isolation = rig->session().isolation();
  FIEL_TRY(const bool passed, run_all(course, rig, plan, opening));
  rig.reset();
  course.close_survey();
  if (!passed && !options.survey) FIEL_TRY_STATUS(minimise(course));
  conclude(course, plan);
  return {};
}

}  // namespace fiel::judge
