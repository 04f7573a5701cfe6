#include "search/search.h"

#include <fmt/core.h>

#include <array>

#include "base/text.h"
#include "search/novelty.h"

namespace fiel::search {

std::string_view name_of(Ended ended) {
  constexpr std::array<std::string_view, 4> names = {"budget", "nothing_new", "proposer_failed",
                                                     "interrupted"};
  return names[static_cast<size_t>(ended)];
}

bool Search::is_worth_judging(const Proposal& proposal, std::string& why) const {
  if (std::string no = judge_.refusal(proposal.source); !no.empty()) {
    why = std::move(no);
    return false;
  }
  const Likeness like = likeness(proposal.source, history_, proposer_.novelty());
  if (like.share < kTooAlike) return true;
  why = fmt::format("as good as kernel {} ({:.1f} % alike)", like.number, 100 * like.share);
  return false;
}

Result<std::optional<Ended>> Search::take(const Plan& plan, Proposal proposal) {
  Candidate c;
  c.number = static_cast<uint32_t>(history_.size() + 1);
  c.operation = plan.operation;
  c.step = plan.step;
  c.island = plan.island;
  c.parents = plan.parents;
  c.source = std::move(proposal.source);
  c.note = printable(proposal.note, 300);
  c.state = std::move(proposal.state);
  auto outcome = judge_.judge(c.source);
  // Interrupted in the middle of a judgement: it was not the kernel's fault.
  if (options_.interrupted && options_.interrupted()) return std::optional(Ended::interrupted);
  if (!outcome) return fail(outcome.error());
  c.outcome = std::move(*outcome);
  c.spent = since_;
  if (options_.keep) FIEL_TRY_STATUS(options_.keep(c));
  since_ = {};
  misses_ = 0;
  history_.push_back(std::move(c));
  if (options_.on_judged) options_.on_judged(history_.back(), *best_of(history_));
  return std::optional<Ended>();
}

Result<std::optional<Ended>> Search::step() {
  const Plan plan = strategy_.next(history_, misses_);
  Request request{plan.operation,
                  {},
                  history_,
                  Dice(options_.seed, (uint64_t{history_.size()} << 20) + misses_ + 1)};
  for (uint32_t number : plan.parents) request.parents.push_back(&history_[number - 1]);
  Answer answer = proposer_.propose(request);
  since_ += answer.spent;
  if (options_.interrupted && options_.interrupted()) return std::optional(Ended::interrupted);
  if (answer.failed) {
    detail_ = answer.why;
    return std::optional(Ended::proposer_failed);
  }
  std::string why = answer.why;
  if (answer.proposal && is_worth_judging(*answer.proposal, why))
    return take(plan, std::move(*answer.proposal));
  if (options_.on_miss) options_.on_miss(why);
  detail_ = why;
  if (answer.nothing_left || ++misses_ >= options_.max_misses)
    return std::optional(Ended::nothing_new);
  return std::optional<Ended>();
}

Result<SearchResult> Search::finish(Ended ended) {
  SearchResult result;
  result.ended = ended;
  if (ended != Ended::budget) result.detail = detail_;
  for (const Candidate& c : history_) result.spent += c.spent;
  result.spent += since_;
  const Candidate* best = best_of(history_);
  if (options_.judge_best_again && ended != Ended::interrupted && best != nullptr &&
      best->outcome.correct()) {
    FIEL_TRY(result.best_again, judge_.judge(best->source));
  }
  result.history = std::move(history_);
  return result;
}

Result<SearchResult> Search::run() {
  uint32_t proposals = 0;
  for (const Candidate& c : history_) proposals += c.spent.proposals;
  proposer_.skip(proposals);
  while (history_.size() < options_.budget) {
    if (options_.interrupted && options_.interrupted()) return finish(Ended::interrupted);
    FIEL_TRY(const std::optional<Ended> ended, step());
    if (ended) return finish(*ended);
  }
  return finish(Ended::budget);
}

}  // namespace fiel::search
