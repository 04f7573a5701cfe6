// The charts of a page. Each gives "" where there is nothing to draw.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "report/measured.h"
#include "report/tally.h"

namespace fiel::report {

/// Every sample of each side: a strip, and above it the share of samples up to that time.
std::string samples_chart(const std::vector<SideSamples>& sides);
/// Kernel against each baseline with its interval; 1x is the line.
std::string ratios_chart(const std::vector<MeasuredRatio>& ratios);
/// Largest error a probe as a share of its bound.
std::string errors_chart(const Json& probes);
std::string memory_chart(const Measured& m);
/// Where the kernel is below the machine's ceilings, log-log.
std::string roofline_chart(const Measured& m);

/// Campaigns: all speed-ups in order, and fast_p over p.
std::string speedups_chart(std::vector<double> ratios);
std::string fast_chart(const Tally& tally);

}  // namespace fiel::report
