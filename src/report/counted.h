// What Nsight Compute counted of a candidate's launches: hostile CSV in, a digest out.
//
//   const auto launches = read_counted(text);             // nothing where there is no table
//   if (launches.empty()) say(why_not_counted(text));
//   std::fputs(counted_text(launches).c_str(), stdout);   // at most 40 lines a kernel
//
// The candidate ran beside the profiler and may have made all of it up: for its author, no
// evidence.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "report/profile.h"

namespace fiel::report {

struct CountedLaunch {
  std::string kernel, grid, block;
  std::map<std::string, double> values;  ///< by ncu's names; what it did not give is not there
};

/// ncu's names, as of sm_90.
const std::vector<std::string>& counted_metrics();
/// Bounded in launches, columns and the length of names; lines that do not fit are left out.
std::vector<CountedLaunch> read_counted(std::string_view output);
/// In one line: what ncu says is wrong, with what would help where that is known.
std::string why_not_counted(std::string_view output);
/// Those of `metrics` that an error names, with or without what follows their first point: another
/// GPU has other counters.
std::vector<std::string> unknown_metrics(std::string_view output,
                                         const std::vector<std::string>& metrics);
/// Its last lines, at most 4 KiB and printable: what there is to go by where nothing was counted.
std::string last_words(std::string_view output);

/// Worst first.
std::vector<Cause> counted_causes(const CountedLaunch& launch);
/// Equal launches are one entry, the longest kernels come first.
std::string counted_text(const std::vector<CountedLaunch>& launches);
Json counted_json(const std::vector<CountedLaunch>& launches);

}  // namespace fiel::report
