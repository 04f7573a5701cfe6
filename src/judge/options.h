// How to judge: what the caller may choose. Everything has a default that needs no thought.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "judge/codes.h"
#include "judge/protocols/protocol.h"
#include "judge/replay_call.h"

namespace fiel::judge {

class Groundwork;
class TimeLimit;

/// Work that the virtual device is given: which shapes are run, and how many calls are repeated.
enum class Effort : uint8_t { quick, standard, thorough };
std::string_view name_of(Effort effort);
/// Wall time of a whole judgement where the caller names none: a bound for kernels whose every call
/// is slow, far beyond what the native tasks need.
constexpr int64_t default_time_limit_ms(Effort effort) {
  return effort == Effort::quick ? 300'000 : effort == Effort::standard ? 900'000 : 7'200'000;
}

/// Which measured classes an f32 task accepts. docs/protocol.md#numerics
enum class NumericsPolicy : uint8_t {
  fp32,  ///< only fp32
  tf32,  ///< fp32, and tf32 where the task multiplies matrices (the verdict names it)
  any,   ///< down to bf16
};
std::string_view name_of(NumericsPolicy policy);

struct Progress {
  std::string what;  ///< "softmax at rows=255, cols=511: outliers"
  uint32_t done = 0, total = 0;
};

struct JudgeOptions {
  Protocol protocol = Protocol::strict;
  std::optional<ReplayCall> replay;  ///< this call alone
  uint64_t seed = 0;                 ///< secret until the verdict is written; the caller draws it
  std::vector<std::string> shapes;   ///< names of shape sets; empty: by cost
  Effort effort = Effort::standard;
  NumericsPolicy numerics = NumericsPolicy::tf32;
  int64_t call_timeout_ms = 60'000;
  int64_t time_limit_ms = 0;      ///< of the whole judgement, then `undecided`; 0: by effort
  uint64_t gpu_memory_bytes = 0;  ///< of a real GPU; 0 on the virtual one
  /// Strict, native tasks: a failure ends its probe at that shape, not the judgement, so that the
  /// verdict's probes say which of them see the fault. Status and witness are the first failure's.
  bool survey = false;
  std::shared_ptr<Groundwork> groundwork;         ///< may be empty: everything is made anew
  std::function<void(const Progress&)> progress;  ///< may be empty
  std::function<bool()> interrupted;              ///< may be empty; polled between calls
  std::function<int64_t()> now_ms;                ///< a clock that never goes back; empty: ours
  std::shared_ptr<TimeLimit> limit;  ///< begun with this judgement; empty: it begins where it does
};

/// ErrorCode::interrupted where the user has stopped us: no verdict may come of what follows.
inline Status not_stopped(const JudgeOptions& options) {
  if (!options.interrupted || !options.interrupted()) return {};
  return fail(ErrorCode::interrupted, "stopped before the verdict was reached");
}

}  // namespace fiel::judge
