// A search: plan, propose, judge, keep, until the budget of judged kernels is used up.
//
//   Search search(strategy, proposer, judge, {.budget = 30, .seed = 7});
//   search.restore(history);                       // of one that was stopped or killed
//   FIEL_TRY(SearchResult r, search.run());
//
// Budgets are counted in judged kernels, so that strategies compare. Every judged kernel is handed
// to `keep` before the next is asked for. The best one is judged once more, and both are reported.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "search/candidate.h"
#include "search/kernel_judge.h"
#include "search/proposer.h"
#include "search/strategy.h"

namespace fiel::search {

enum class Ended : uint8_t {
  budget,           ///< all judged
  nothing_new,      ///< the proposer has no more
  proposer_failed,  ///< its endpoint, say
  interrupted,
};
std::string_view name_of(Ended ended);

struct SearchOptions {
  uint32_t budget = 30;
  uint64_t seed = 1;
  uint32_t max_misses = 12;  ///< proposals in a row that are none or not new
  bool judge_best_again = true;
  std::function<Status(const Candidate&)> keep;  ///< may be empty
  std::function<void(const Candidate&, const Candidate& best)> on_judged;
  std::function<void(const std::string& why)> on_miss;
  std::function<bool()> interrupted;
};

struct SearchResult {
  Ended ended = Ended::budget;
  std::string detail;
  History history;
  std::optional<Outcome> best_again;  ///< of the best one, judged once more
  Spent spent;                        ///< with what came after the last judged kernel
};

class Search {
 public:
  Search(const Strategy& strategy, Proposer& proposer, KernelJudge& judge, SearchOptions options)
      : strategy_(strategy), proposer_(proposer), judge_(judge), options_(std::move(options)) {}
  void restore(History history) { history_ = std::move(history); }
  Result<SearchResult> run();

 private:
  Result<std::optional<Ended>> step();
  bool is_worth_judging(const Proposal& proposal, std::string& why) const;
  Result<std::optional<Ended>> take(const Plan& plan, Proposal proposal);
  Result<SearchResult> finish(Ended ended);

  const Strategy& strategy_;
  Proposer& proposer_;
  KernelJudge& judge_;
  SearchOptions options_;
  History history_;
  std::string detail_;
  Spent since_;  ///< since the last judged kernel
  uint32_t misses_ = 0;
};

}  // namespace fiel::search
