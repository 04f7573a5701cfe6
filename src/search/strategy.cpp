#include "search/strategy.h"

#include <fmt/core.h>

#include "base/text.h"

namespace fiel::search {

const std::vector<std::string>& strategy_names() {
  static const std::vector<std::string> names = {"best-of-n", "refine", "scale",
                                                 "evolve",    "beam",   "climb"};
  return names;
}

Result<std::unique_ptr<Strategy>> make_strategy(std::string_view name,
                                                const StrategyOptions& options) {
  if (name == "best-of-n") return best_of_n();
  if (name == "refine") return refinement(options);
  if (name == "scale") return scaling(options);
  if (name == "evolve") return evolution(options);
  if (name == "beam") return beam(options);
  if (name == "climb") return climbing();
  const std::string near = did_you_mean(name, strategy_names());
  return fail(ErrorCode::usage, fmt::format("there is no strategy '{}'", printable(name, 60)),
              near.empty() ? "best-of-n, refine, scale, evolve, beam, climb"
                           : fmt::format("did you mean '{}'?", near));
}

}  // namespace fiel::search
