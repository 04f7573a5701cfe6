// What a search knows: the kernels that were judged, in order, each with where it came from.
//
//   History history;                    // append-only; strategies and proposers read nothing else
//   const Candidate* best = best_of(history);
//
// A search that was killed goes on from its history alone, so everything that a strategy decides
// follows from it and from the seed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/unit_interval.h"

namespace fiel::search {

/// What a proposer is asked for.
enum class Operation : uint8_t {
  fresh,    ///< from nothing
  refine,   ///< from the last kernel, with a summary of all that was tried
  respond,  ///< from a kernel and the judge's words about it alone
  mutate,   ///< a change of one kernel
  cross,    ///< what is good of two
  climb,    ///< the smallest change of one kernel that was not tried yet
};
std::string_view name_of(Operation operation);
std::optional<Operation> parse_operation(std::string_view name);

/// What kernels are compared by. Never mixed within one search.
enum class Measure : uint8_t {
  nothing,   ///< only right or wrong
  speed_up,  ///< measured on a GPU, against torch.compile where that was timed
  stand_in,  ///< counted on the virtual GPU; says nothing about time
};
std::string_view name_of(Measure measure);
std::optional<Measure> parse_measure(std::string_view name);

struct Outcome {
  std::string status;    ///< of the verdict
  std::string reason;    ///< as a proposer may read it: nothing of hidden shapes
  std::string feedback;  ///< the judge's words, bounded
  std::string speed = "not_measured";
  Measure measure = Measure::nothing;
  double score = 0;                 ///< larger is better; 0: none
  double score_low = 0;             ///< end of its 95 % interval; 0: none
  std::vector<std::string> causes;  ///< of slowness, by the profile: codes, worst first
  int64_t judge_ms = 0;
  Json verdict;  ///< the whole document; not for proposers
  bool correct() const { return status == "correct"; }
};

/// What it took to have a kernel proposed, refused proposals before it included.
struct Spent {
  uint32_t proposals = 0;
  int64_t input_tokens = 0, output_tokens = 0;
  double cost = 0;  ///< in the currency of the prices
  Spent& operator+=(const Spent& o);
};

struct Candidate {
  uint32_t number = 0;  ///< from 1, in the order of judging
  Operation operation = Operation::fresh;
  uint32_t step = 0, island = 0;  ///< the strategy's own counts
  std::vector<uint32_t> parents;  ///< numbers, at most two
  std::string source, note;
  std::string state;  ///< the proposer's own: a template's choices
  Outcome outcome;
  Spent spent;
};
using History = std::vector<Candidate>;

/// Right before wrong, then the larger score, then the earlier one.
bool is_better(const Candidate& a, const Candidate& b);
const Candidate* best_of(const History& history);
/// Numbers of the right ones, best first.
std::vector<uint32_t> ranked(const History& history);

/// A draw that depends on the search's seed and on what it is for, and on nothing else.
class Dice {
 public:
  Dice(uint64_t seed, uint64_t purpose) : state_(seed * 0x9e3779b97f4a7c15u + purpose + 1) {}
  uint64_t next();
  size_t below(size_t n) { return n == 0 ? 0 : static_cast<size_t>(next() % n); }
  double share() { return unit_interval(next()); }

 private:
  uint64_t state_;
};

}  // namespace fiel::search
