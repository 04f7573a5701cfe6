// Sums and ratios over a launch's counters that both halves of the profile need.
#pragma once

#include <string>

#include "report/profile.h"

namespace fiel::report {

double ratio(uint64_t a, uint64_t b);                             ///< 0 where b is 0
vgpu::MemoryCounters global_traffic(const vgpu::LineMetrics& m);  ///< loads + stores + atomics
vgpu::SharedCounters shared_traffic(const vgpu::LineMetrics& m);
uint64_t count_of(const vgpu::LineMetrics& m, vgpu::MixClass c);
/// "softmax.cu:31", "softmax (PTX line 90)", or the kernel's name.
std::string place(const vgpu::LineMetrics& line, const std::string& kernel);

}  // namespace fiel::report
