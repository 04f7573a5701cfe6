#include "forge/ways.h"

#include <algorithm>
#include <array>

namespace fiel::forge {
namespace {

constexpr std::array kVariances = {Variance::welford, Variance::two_pass, Variance::shifted,
                                   Variance::one_pass};
const std::vector<std::string> kVarianceNames = {"welford", "two_pass", "shifted", "one_pass"};
const std::vector<std::string> kSoftmaxNames = {"online", "passes"};

size_t place(const std::vector<std::string>& names, std::string_view name) {
  const auto at = std::find(names.begin(), names.end(), name);
  return at == names.end() ? 0 : static_cast<size_t>(at - names.begin());
}

}  // namespace

Result<std::vector<Program>> programs_of(const task::Task& task, const Program& first) {
  std::vector<Program> programs;
  for (size_t v = 0; v < (first.has_variance ? kVariances.size() : 1); ++v)
    for (size_t s = 0; s < (first.has_softmax ? kSoftmaxNames.size() : 1); ++s) {
      FIEL_TRY(Program p, program_of(task, {kVariances[v], s == 0}));
      programs.push_back(std::move(p));
    }
  return programs;
}

std::vector<Axis> ways_axes(const Program& first) {
  std::vector<Axis> axes;
  if (first.has_variance) axes.push_back({"variance", kVarianceNames, 0});
  if (first.has_softmax) axes.push_back({"softmax", kSoftmaxNames, 0});
  return axes;
}

size_t ways_index(std::string_view variance, std::string_view softmax, const Program& first) {
  const size_t ways = first.has_softmax ? kSoftmaxNames.size() : 1;
  return (first.has_variance ? place(kVarianceNames, variance) : 0) * ways +
         (first.has_softmax ? place(kSoftmaxNames, softmax) : 0);
}

}  // namespace fiel::forge
