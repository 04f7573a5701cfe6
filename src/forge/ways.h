// Programs of one task that differ in how variances and softmaxes are computed, as knobs.
#pragma once

#include <string_view>
#include <vector>

#include "forge/template.h"

namespace fiel::forge {

/// A program for each way, the one of the first knobs first.
Result<std::vector<Program>> programs_of(const task::Task& task, const Program& first);
std::vector<Axis> ways_axes(const Program& first);
size_t ways_index(std::string_view variance, std::string_view softmax, const Program& first);

}  // namespace fiel::forge
