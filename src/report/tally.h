// The score of many verdicts: pass rate, faster rate, fast_p, geometric mean, memory.
//
//   const Tally t = tally_of(run);  context.print(render(t));
//
// Shares are of the kernels that could be judged; what could not be is counted beside them. fast_p
// is KernelBench's: right, and more than p times as fast as the baseline. Kernels whose speed was
// not measured count as not faster, and the text says how many they are.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "store/store.h"

namespace fiel::report {

inline constexpr double kFastThresholds[] = {0, 1, 1.2, 1.5, 2};

struct Tally {
  size_t total = 0;   ///< verdicts
  size_t judged = 0;  ///< of these, accepted or refused: not void, not a fault of the machine
  size_t accepted = 0;
  size_t faster = 0;    ///< speed "faster": the whole interval is above the margin
  size_t measured = 0;  ///< accepted, with a ratio against a comparable baseline
  std::map<std::string, size_t> statuses;
  std::vector<std::pair<double, size_t>> fast;  ///< p, and how many kernels are beyond it
  std::vector<double> ratios;                   ///< the headline ratios of accepted kernels
  std::optional<double> ratio_geomean;
  std::map<std::string, size_t> left_out;  ///< accepted, but not in the mean: why, how many
  std::optional<double> memory_geomean;
  size_t memory_measured = 0;
};

Tally tally_of(const store::RunRecord& run);

/// A few lines for a terminal, ending with a line break.
std::string render(const Tally& tally);
Json to_json(const Tally& tally);

/// "12.5 %"; "-" of nothing.
std::string share_text(size_t part, size_t whole);

}  // namespace fiel::report
