// Whether one more judgement fits into a piece of a run: `--stop-after`.
//
//   StopRule rule(limit);
//   if (!rule.fits_another(elapsed)) …;      rule.took(duration);
//
// A guess: judgements take what most of them took. One that waited for others on its GPU, or whose
// kernel hung, is no reason to leave the rest of the piece unused.
#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

namespace fiel::cli {

class StopRule {
 public:
  using Duration = std::chrono::steady_clock::duration;
  /// Zero: no limit.
  explicit StopRule(Duration limit) : limit_(limit) {}

  /// The first always does: a piece in which nothing is judged would be repeated for ever.
  bool fits_another(Duration elapsed) const {
    if (limit_ == Duration::zero() || took_.empty()) return true;
    return elapsed + median() <= limit_;
  }
  void took(Duration duration) { took_.push_back(duration); }

 private:
  Duration median() const {
    std::vector<Duration> sorted = took_;
    const auto middle = sorted.begin() + static_cast<ptrdiff_t>((sorted.size() - 1) / 2);
    std::nth_element(sorted.begin(), middle, sorted.end());
    return *middle;
  }

  Duration limit_;
  std::vector<Duration> took_;
};

}  // namespace fiel::cli
