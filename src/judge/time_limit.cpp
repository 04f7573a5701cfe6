#include "judge/time_limit.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>

namespace fiel::judge {
namespace {

int64_t system_ms() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
}

}  // namespace

TimeLimit::TimeLimit(int64_t limit_ms, std::function<int64_t()> now_ms)
    : limit_ms_(limit_ms),
      now_ms_(now_ms ? std::move(now_ms) : std::function<int64_t()>(system_ms)),
      begin_ms_(now_ms_()) {}

int64_t TimeLimit::left_ms() const {
  const int64_t since_ms = paused_since_ms_;
  const int64_t now_ms = since_ms == kNever ? now_ms_() : since_ms;
  return limit_ms_ - (now_ms - begin_ms_ - paused_ms_);
}

bool TimeLimit::cuts() {
  const bool up = is_up();
  if (up) has_cut_ = true;
  return up;
}

Error TimeLimit::error() const {
  return {ErrorCode::timeout,
          fmt::format("the judgement's {} s are used up and nothing was wrong so far",
                      limit_ms_ / 1000),
          "give it more with --time-limit, or less work with --budget or --shapes",
          {}};
}

TimeLimit::Pause::Pause(TimeLimit* limit) : limit_(limit) {
  if (limit_ != nullptr) limit_->paused_since_ms_ = limit_->now_ms_();
}

TimeLimit::Pause::~Pause() {
  if (limit_ == nullptr) return;
  limit_->paused_ms_ += limit_->now_ms_() - limit_->paused_since_ms_;
  limit_->paused_since_ms_ = kNever;
}

std::shared_ptr<TimeLimit> begin_limit(const JudgeOptions& options) {
  if (options.limit) return options.limit;
  const int64_t limit_ms =
      options.time_limit_ms > 0 ? options.time_limit_ms : default_time_limit_ms(options.effort);
  return std::make_shared<TimeLimit>(limit_ms, options.now_ms);
}

int64_t within_limit(const JudgeOptions& options, int64_t timeout_ms) {
  if (!options.limit) return timeout_ms;
  return std::clamp<int64_t>(options.limit->left_ms(), 1, std::max<int64_t>(timeout_ms, 1));
}

Status or_limit(const JudgeOptions& options, Status done) {
  if (!done && options.limit && options.limit->has_cut()) return fail(options.limit->error());
  return done;
}

}  // namespace fiel::judge
