// The measurement of one kernel beside its baselines: who is started, timed again, shown from the
// cache, kept for others.
//
//   Measuring measuring(course, std::move(baselines));  // processes that were started
//   FIEL_TRY_STATUS(measuring.run());                    // sides, ratios, headline; may decide
//   measuring.show();                                    // what was spared, labelled
//   measuring.keep();                                    // the kernel's process ends with it
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "judge/calibration.h"
#include "judge/torch/baseline_choice.h"
#include "judge/torch/timed_session.h"

namespace fiel::judge::torch {

/// Baselines start, are compared and timed beside the kernel: all of them, or all but those that
/// the cache spares, and then the rest as well where the cache turns out not to hold.
class Measuring {
 public:
  Measuring(TorchCourse& course, std::vector<Contestant> baselines)
      : course_(course), wish_(course.request().baseline_cache), reserve_(std::move(baselines)) {}

  Status run();
  void keep();

  std::vector<Contestant>& all() { return all_; }
  const TimedSession* session() const { return session_ ? &*session_ : nullptr; }
  const std::optional<Calibration>& calibration() const { return calibration_; }
  void show();

 private:
  Status run_sides();
  void look_up(const std::vector<std::string>& policies);
  void choose(const CachedBaselines& known);
  std::vector<Contestant> from_reserve(const std::vector<BaselineName>& names);
  Status bring(const std::vector<BaselineName>& names);
  Status time(SessionPlan plan);
  std::optional<std::string> refutation(const std::vector<BaselineName>& spared) const;
  bool is_known() const;
  void discard(const std::string& why);
  const CachedTiming* timing_of_mode() const;
  std::vector<BaselineName> left_of(std::vector<BaselineName> asked) const;
  BaselineCacheUse& report() { return course_.verdict().measurement->baseline_cache; }
  int64_t now_ms() const { return wish_.now_ms ? wish_.now_ms() : 0; }

  TorchCourse& course_;
  const BaselineCacheWish& wish_;
  std::optional<BaselineCache> cache_;  ///< none where it is off
  CachedBaselines known_;
  std::vector<BaselineName> spared_;
  std::vector<Contestant> reserve_;  ///< started, and not needed so far
  std::vector<Contestant> all_;      ///< the kernel first
  std::optional<Contestant> gauge_;  ///< beside a bare kernel, while that is timed
  std::optional<TimedSession> session_;
  std::optional<Calibration> calibration_;
};

}  // namespace fiel::judge::torch
