// One kernel after another: refine (a summary is kept, reasoning is not), scale (the judge's words
// become the next prompt), climb (the smallest change of the best).
#include <algorithm>

#include "search/strategy.h"

namespace fiel::search {
namespace {

uint32_t best_among(const History& h, size_t begin, size_t end) {
  const auto from = h.begin() + static_cast<ptrdiff_t>(begin);
  return std::min_element(from, h.begin() + static_cast<ptrdiff_t>(end), is_better)->number;
}

/// Trajectories of `turns` kernels; each turn sees the last kernel and the trajectory's best.
class Refinement : public Strategy {
 public:
  explicit Refinement(uint32_t turns) : turns_(std::max(turns, 1u)) {}
  Plan next(const History& h, uint32_t misses) const override {
    const size_t turn = h.size() % turns_;
    const uint32_t trajectory = static_cast<uint32_t>(h.size() / turns_);
    Plan plan{.step = static_cast<uint32_t>(turn), .island = trajectory};
    // A trajectory that leads nowhere new begins anew.
    if (turn == 0 || misses > 2) return plan;
    plan.operation = Operation::refine;
    plan.parents = {h.back().number};
    const uint32_t best = best_among(h, h.size() - turn, h.size());
    if (best != plan.parents[0]) plan.parents.push_back(best);
    return plan;
  }

 private:
  uint32_t turns_;
};

/// Rounds of `width` kernels, each from the best so far and what the judge said of it.
class Scaling : public Strategy {
 public:
  explicit Scaling(uint32_t width) : width_(std::max(width, 1u)) {}
  Plan next(const History& h, uint32_t misses) const override {
    const size_t round = h.size() / width_;
    Plan plan{.step = static_cast<uint32_t>(round)};
    if (round == 0) return plan;
    plan.operation = Operation::respond;
    // The first rounds may hold nothing right: what the judge said of the last round then leads on.
    const std::vector<uint32_t> right =
        ranked({h.begin(), h.begin() + static_cast<ptrdiff_t>(round * width_)});
    const uint32_t best = right.empty() ? best_among(h, (round - 1) * width_, round * width_)
                                        : right[std::min<size_t>(misses / 2, right.size() - 1)];
    plan.parents = {best};
    return plan;
  }

 private:
  uint32_t width_;
};

class Climbing : public Strategy {
 public:
  Plan next(const History& h, uint32_t misses) const override {
    Plan plan{.step = static_cast<uint32_t>(h.size())};
    const std::vector<uint32_t> right = ranked(h);
    if (right.empty() || misses >= right.size()) return plan;
    plan.operation = Operation::climb;
    // Where all around the best was tried, the next best is the ground to climb from.
    plan.parents = {right[misses]};
    return plan;
  }
};

}  // namespace

std::unique_ptr<Strategy> refinement(const StrategyOptions& o) {
  return std::make_unique<Refinement>(o.turns);
}
std::unique_ptr<Strategy> scaling(const StrategyOptions& o) {
  return std::make_unique<Scaling>(o.width);
}
std::unique_ptr<Strategy> climbing() { return std::make_unique<Climbing>(); }

}  // namespace fiel::search
