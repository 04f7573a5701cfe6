// The wall time that one judgement may take, whatever its processes are doing when it is over.
//
//   options.limit = begin_limit(options);              // --time-limit, or by effort
//   process->stop_when([limit] { return limit->cuts(); });
//   request.timeout_ms = within_limit(options, request.timeout_ms);
//   return or_limit(options, done);                    // what was cut short looks like a failure
//
// Waiting for a GPU that others use is not counted. Any thread may ask.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "base/result.h"
#include "judge/options.h"

namespace fiel::judge {

class TimeLimit {
 public:
  /// `now_ms` never goes back; empty: the system's.
  TimeLimit(int64_t limit_ms, std::function<int64_t()> now_ms);

  int64_t left_ms() const;
  bool is_up() const { return left_ms() <= 0; }
  /// For who would go on waiting: true is remembered, since the answer will be missing.
  bool cuts();
  bool has_cut() const { return has_cut_; }
  Error error() const;  ///< ErrorCode::timeout: nothing was wrong so far

  /// While it lives, the time is nobody's. One at a time.
  class Pause {
   public:
    explicit Pause(TimeLimit* limit);
    ~Pause();
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    TimeLimit* limit_;
  };

 private:
  static constexpr int64_t kNever = -1;
  const int64_t limit_ms_;
  const std::function<int64_t()> now_ms_;
  const int64_t begin_ms_;
  std::atomic<int64_t> paused_ms_ = 0, paused_since_ms_ = kNever;
  std::atomic<bool> has_cut_ = false;
};

/// That of the options, or one that begins now.
std::shared_ptr<TimeLimit> begin_limit(const JudgeOptions& options);

/// No longer than the judgement may still take, and never nothing.
int64_t within_limit(const JudgeOptions& options, int64_t timeout_ms);

/// The limit's error in place of what came of cutting an answer short.
Status or_limit(const JudgeOptions& options, Status done);

}  // namespace fiel::judge
