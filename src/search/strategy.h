// Which kernel to ask for next, given all that were judged.
//
//   FIEL_TRY(auto strategy, make_strategy("evolve", {.seed = 7}));
//   const Plan plan = strategy->next(history, misses);
//
// Strategies hold no state: the same history gives the same plan, whichever proposer fills it in
// and however often the search was interrupted. `misses`: proposals since the last judged kernel
// that were not new; a strategy then looks elsewhere.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "search/candidate.h"

namespace fiel::search {

struct Plan {
  Operation operation = Operation::fresh;
  std::vector<uint32_t> parents;  ///< numbers
  uint32_t step = 0, island = 0;
};

struct StrategyOptions {
  uint64_t seed = 1;
  uint32_t turns = 8;     ///< refine: of one trajectory
  uint32_t width = 4;     ///< scale: kernels a round; beam: kernels that are kept
  uint32_t branch = 2;    ///< beam: from each of them
  uint32_t islands = 2;   ///< evolve
  uint32_t archive = 20;  ///< evolve: kernels of an island that may become parents
};

class Strategy {
 public:
  virtual ~Strategy() = default;
  virtual Plan next(const History& history, uint32_t misses) const = 0;
};

Result<std::unique_ptr<Strategy>> make_strategy(std::string_view name,
                                                const StrategyOptions& options);
const std::vector<std::string>& strategy_names();

std::unique_ptr<Strategy> best_of_n();
std::unique_ptr<Strategy> refinement(const StrategyOptions& options);
std::unique_ptr<Strategy> scaling(const StrategyOptions& options);
std::unique_ptr<Strategy> evolution(const StrategyOptions& options);
std::unique_ptr<Strategy> beam(const StrategyOptions& options);
std::unique_ptr<Strategy> climbing();

}  // namespace fiel::search
