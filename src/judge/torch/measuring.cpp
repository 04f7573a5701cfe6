#include "judge/torch/measuring.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/files.h"
#include "judge/course.h"
#include "judge/torch/gauge.h"

namespace fiel::judge::torch {
namespace {

using CacheMode = BaselineCacheWish::Mode;

/// Calibrated once a device and driver; nothing on the CPU.
std::optional<Calibration> calibration_for(TorchCourse& course) {
  const worker::TorchFacts& m = course.oracle().machine();
  if (m.device_uuid.empty()) return std::nullopt;
  if (auto known = load_calibration(cache_dir(), m.device_uuid, m.driver)) return known;
  const auto figures = course.oracle().oracle().measure();
  if (!figures) return std::nullopt;
  const Calibration fresh = parse_calibration(*figures);
  (void)save_calibration(cache_dir(), m.device_uuid, m.driver, fresh);
  return fresh;
}

/// Takes the eager side's memory from an earlier judgement, where this one has no eager side.
void show_memory(const CachedMemory& cached, MemoryUse& m) {
  if (m.baseline_peak_bytes > 0) return;
  m.baseline_cached = true;
  m.baseline_persistent_bytes = cached.persistent_bytes;
  m.baseline_transient_bytes = cached.transient_bytes;
  m.baseline_allocator_peak_bytes = cached.allocator_peak_bytes;
  m.baseline_peak_bytes = cached.persistent_bytes + cached.transient_bytes;
  if (m.kernel_peak_bytes > 0 && m.baseline_peak_bytes > 0)
    m.efficiency =
        static_cast<double>(m.baseline_peak_bytes) / static_cast<double>(m.kernel_peak_bytes);
}

std::optional<CachedMemory> memory_of(const MemoryUse& m) {
  if (m.baseline_peak_bytes == 0 || m.baseline_cached) return std::nullopt;
  return CachedMemory{m.baseline_persistent_bytes, m.baseline_transient_bytes,
                      m.baseline_allocator_peak_bytes};
}

/// Nothing of a side whose time is not known well: wide intervals would hide every drift.
std::optional<CachedBaseline> row_of(const Contestant& c) {
  const TimedSide& s = c.side;
  const bool known = s.low_ns > 0 && s.high_ns - s.low_ns <= 2 * kDriftTolerance * s.median_ns;
  if (!c.present() || !known || !std::isfinite(s.relative_rms + s.componentwise))
    return std::nullopt;
  return CachedBaseline{s.name,     s.policy,           s.median_ns,      s.low_ns,
                        s.high_ns,  s.device_median_ns, s.host_median_ns, s.wall_median_ns,
                        s.numerics, s.relative_rms,     s.componentwise,  c.errors};
}

}  // namespace

void Measuring::look_up(const std::vector<std::string>& policies) {
  BaselineCacheUse& use = report();
  use.mode = std::string(name_of(wish_.mode));
  use.why = "the cache of baselines is off";
  if (wish_.mode == CacheMode::off) return;
  const OracleSide& oracle = course_.oracle();
  cache_.emplace(wish_.folder, key_of(course_.request(), policies, oracle.task(), oracle.machine()),
                 now_ms());
  use.key = cache_->key();
  use.why = "they were to be measured anew";
  if (wish_.mode == CacheMode::refresh) return;
  LoadedBaselines found = cache_->load();
  use.why = found.why;
  if (found.distrust) discard(found.why);
  if (!found.entry) return;
  known_ = std::move(*found.entry);
  if (is_audit(course_.request().options.seed))
    use.why = "one judgement in sixteen measures all of them anew";
  else
    choose(known_);
}

void Measuring::choose(const CachedBaselines& known) {
  Sparing s = choose_spared(known.timings.front(), course_.probe_errors());
  spared_ = std::move(s.spared);
  report().why = std::move(s.why);
  if (!spared_.empty()) report().outcome = BaselineCacheUse::Outcome::cached;
}

void Measuring::discard(const std::string& why) {
  if (cache_) cache_->discard();
  spared_.clear();
  report().outcome = BaselineCacheUse::Outcome::discarded;
  report().why = why;
  course_.note(finding(JudgeFinding::baselines_discarded, vgpu::Grade::warn,
                       "times of baselines from earlier judgements were not used: " + why,
                       Probe::timed_calls, kGivenShapes, course_.verdict().resources.calls));
}

std::vector<BaselineName> Measuring::left_of(std::vector<BaselineName> asked) const {
  std::erase_if(asked, [this](const BaselineName& b) {
    return std::find(spared_.begin(), spared_.end(), b) != spared_.end();
  });
  return asked;
}

std::vector<Contestant> Measuring::from_reserve(const std::vector<BaselineName>& names) {
  std::vector<Contestant> chosen, rest;
  for (Contestant& c : reserve_) {
    const BaselineName name{c.side.name, c.side.policy};
    const bool wanted = std::find(names.begin(), names.end(), name) != names.end();
    (wanted ? chosen : rest).push_back(std::move(c));
  }
  reserve_ = std::move(rest);
  return chosen;
}

/// Loads them, and has their errors on the inputs that those who were there before had.
Status Measuring::bring(const std::vector<BaselineName>& names) {
  GpuTurn& turn = course_.oracle().turn();
  turn.end();
  FIEL_TRY_STATUS(course_.poll("loading the baselines"));
  std::vector<Contestant> fresh = from_reserve(names);
  load_baselines(course_.request(), fresh);
  if (all_.empty()) fresh.insert(fresh.begin(), kernel_of(course_));
  FIEL_TRY_STATUS(turn.take(Share::shared));
  FIEL_TRY_STATUS(compare_accuracy(course_, fresh));
  FIEL_TRY_STATUS(turn.take(Share::exclusive));
  std::move(fresh.begin(), fresh.end(), std::back_inserter(all_));
  return {};
}

Status Measuring::time(SessionPlan plan) {
  plan.gauge = gauge_ ? &*gauge_ : nullptr;
  session_.emplace(course_, all_, std::move(plan));
  const Status timed = session_->run();
  for (const Contestant& c : all_)
    if (c.out_of_memory) course_.lacked_memory();
  FIEL_TRY_STATUS(timed);
  constexpr Use kTimed[] = {Use::timed_inputs, Use::timed_outputs};
  drop_windows(course_, all_, kTimed);
  return {};
}

/// Of the session's mode; none where it ended because there is none.
const CachedTiming* Measuring::timing_of_mode() const {
  if (session_->foreign_mode()) return nullptr;
  for (const CachedTiming& t : known_.timings)
    if (TimedMode{t.held, t.calls} == session_->mode()) return &t;
  return nullptr;
}

/// Why what is cached does not hold beside what was just measured; nothing where it does, or where
/// there is nothing to compare it with.
std::optional<std::string> Measuring::refutation(const std::vector<BaselineName>& spared) const {
  const Measurement& m = *course_.verdict().measurement;
  if (m.sides.empty() || m.sides.front().median_ns <= 0) return std::nullopt;
  std::vector<LiveBaseline> live;
  for (size_t i = 1; i < all_.size(); ++i)
    live.push_back({&all_[i].side, comparable(all_.front().errors, all_[i].errors)});
  return refuted(*timing_of_mode(), spared, live, all_.front().errors);
}

Status Measuring::run() {
  gauge_ = start_gauge(course_);
  const Status done = run_sides();
  // The kernel is then credited against the baselines' gap, which is another's.
  if (gauge_ && !gauge_->side.unavailable.empty())
    course_.verdict().environment.notes.push_back(
        "no gauge beside the kernel, whose times are judged by the baselines' gap: " +
        gauge_->side.unavailable);
  gauge_.reset();
  return done;
}

Status Measuring::run_sides() {
  const Policies policies = policies_for(course_.request(), course_.oracle().task());
  for (const std::string& why : policies.left_out)
    course_.note(finding(JudgeFinding::policy_left_out, vgpu::Grade::info,
                         "no baseline under the policy " + why, Probe::timed_calls, kGivenShapes,
                         course_.verdict().resources.calls));
  const auto asked = baselines_for(course_.request(), policies.chosen);
  look_up(policies.chosen);
  FIEL_TRY_STATUS(bring(left_of(asked)));
  calibration_ = calibration_for(course_);
  SessionPlan plan;
  if (!spared_.empty()) {
    plan.hold = known_.holds;
    for (const CachedTiming& t : known_.timings) plan.known.push_back({t.held, t.calls});
  }
  FIEL_TRY_STATUS(time(std::move(plan)));
  if (spared_.empty() || course_.decided() || session_->timed_case().prepared.dropped) return {};
  const auto rest = spared_;
  if (timing_of_mode() == nullptr) {  // nothing speaks against them
    spared_.clear();
    report().outcome = BaselineCacheUse::Outcome::measured;
    report().why = "those that are cached were not taken in the mode that this kernel is timed in";
  } else if (const auto why = refutation(spared_)) {
    discard(*why);
  } else {
    return {};
  }
  FIEL_TRY_STATUS(bring(rest));
  return time({.number = 1});
}

/// Beside what was measured: what was spared.
void Measuring::show() {
  if (spared_.empty() || course_.decided()) return;
  Measurement& m = *course_.verdict().measurement;
  if (const CachedTiming* timing = timing_of_mode())
    show_cached(*timing, spared_, now_ms(), all_.front().errors, m);
  if (known_.memory) show_memory(*known_.memory, m.memory);
}

/// Times of this mode are there already, and today's agree with them.
bool Measuring::is_known() const {
  if (wish_.mode != CacheMode::use || is_audit(course_.request().options.seed)) return false;
  return timing_of_mode() != nullptr && !refutation({});
}

/// The times that later judgements are shown: taken again without the kernel, whose process has
/// ended, so that no kernel has a say in what others are compared with. A failure costs the cache
/// an entry and the verdict nothing.
void Measuring::keep() {
  if (!cache_ || course_.decided() || all_.size() < 2) return;
  if (!session_ || session_->timed_case().prepared.dropped) return;
  if (!spared_.empty() || is_known()) {
    report().kept = true;
    return;
  }
  const std::optional<CachedMemory> memory = memory_of(course_.verdict().measurement->memory);
  const TimedMode mode = session_->mode();
  session_.reset();
  all_.erase(all_.begin());
  course_.dismiss();
  if (!course_.oracle().turn().take(Share::exclusive)) return;
  TimedSession alone(course_, all_, {.number = 2});
  const Status timed = alone.run_alone(mode);
  CachedTiming timing{alone.mode().held, alone.mode().calls, now_ms(), {}};
  for (const Contestant& c : all_)
    if (auto row = row_of(c)) timing.rows.push_back(std::move(*row));
  if (!timed || timing.rows.empty()) return;
  report().kept = cache_->keep(timing, alone.could_hold(), memory).has_value();
}

}  // namespace fiel::judge::torch
