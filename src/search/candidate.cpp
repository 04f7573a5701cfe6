#include "search/candidate.h"

#include <algorithm>
#include <array>

namespace fiel::search {
namespace {

constexpr std::array<std::string_view, 6> kOperations = {"fresh",  "refine", "respond",
                                                         "mutate", "cross",  "climb"};
constexpr std::array<std::string_view, 3> kMeasures = {"nothing", "speed_up", "stand_in"};

template <typename Enum, size_t N>
std::optional<Enum> parse(const std::array<std::string_view, N>& names, std::string_view name) {
  const auto it = std::find(names.begin(), names.end(), name);
  if (it == names.end()) return {};
  return static_cast<Enum>(it - names.begin());
}

}  // namespace

std::string_view name_of(Operation o) { return kOperations[static_cast<size_t>(o)]; }
std::string_view name_of(Measure m) { return kMeasures[static_cast<size_t>(m)]; }
std::optional<Operation> parse_operation(std::string_view name) {
  return parse<Operation>(kOperations, name);
}
std::optional<Measure> parse_measure(std::string_view name) {
  return parse<Measure>(kMeasures, name);
}

Spent& Spent::operator+=(const Spent& o) {
  proposals += o.proposals;
  input_tokens += o.input_tokens;
  output_tokens += o.output_tokens;
  cost += o.cost;
  return *this;
}

bool is_better(const Candidate& a, const Candidate& b) {
  if (a.outcome.correct() != b.outcome.correct()) return a.outcome.correct();
  if (a.outcome.score != b.outcome.score) return a.outcome.score > b.outcome.score;
  return a.number < b.number;
}

const Candidate* best_of(const History& history) {
  const auto it = std::min_element(history.begin(), history.end(), is_better);
  return it == history.end() ? nullptr : &*it;
}

std::vector<uint32_t> ranked(const History& history) {
  std::vector<const Candidate*> right;
  for (const Candidate& c : history)
    if (c.outcome.correct()) right.push_back(&c);
  std::sort(right.begin(), right.end(),
            [](const Candidate* a, const Candidate* b) { return is_better(*a, *b); });
  std::vector<uint32_t> numbers;
  for (const Candidate* c : right) numbers.push_back(c->number);
  return numbers;
}

// splitmix64 (Steele, Lea and Flood, 2014).
uint64_t Dice::next() {
  uint64_t z = state_ += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

}  // namespace fiel::search
