// Many kernels at once: evolve (islands, an archive, mutation and crossover), beam (the best few,
// each led on).
#include <algorithm>

#include "search/strategy.h"

namespace fiel::search {
namespace {

/// Shares of the operations; what is missing to 1 is fresh blood.
constexpr double kMutations = 0.6, kCrossings = 0.3;
/// Kernels of an island before it breeds.
constexpr uint32_t kFounders = 2;
/// Every so many kernels a parent comes from another island.
constexpr uint32_t kMigration = 5;
constexpr size_t kTournament = 3;

class Evolution : public Strategy {
 public:
  explicit Evolution(const StrategyOptions& o)
      : seed_(o.seed), islands_(std::max(o.islands, 1u)), archive_(std::max(o.archive, 2u)) {}

  Plan next(const History& h, uint32_t misses) const override {
    const auto n = static_cast<uint32_t>(h.size());
    Plan plan{.step = n / islands_, .island = n % islands_};
    if (n < kFounders * islands_) return plan;
    Dice dice(seed_, (uint64_t{n} << 16) + misses);
    const double draw = dice.share();
    const std::vector<uint32_t> own = archive_of(h, plan.island);
    if (own.empty() || draw >= kMutations + kCrossings) return plan;
    plan.operation = draw < kMutations ? Operation::mutate : Operation::cross;
    plan.parents = {picked(own, dice)};
    if (plan.operation == Operation::cross) {
      const uint32_t from =
          plan.step % kMigration == 0 && islands_ > 1 ? (plan.island + 1) % islands_ : plan.island;
      const std::vector<uint32_t> others = archive_of(h, from);
      const uint32_t second = others.empty() ? plan.parents[0] : picked(others, dice);
      if (second == plan.parents[0])
        plan.operation = Operation::mutate;
      else
        plan.parents.push_back(second);
    }
    return plan;
  }

 private:
  std::vector<uint32_t> archive_of(const History& h, uint32_t island) const {
    History own;
    for (const Candidate& c : h)
      if (c.island == island) own.push_back(c);
    std::vector<uint32_t> best = ranked(own);
    if (best.size() > archive_) best.resize(archive_);
    return best;
  }
  /// The best of a few drawn: `from` is sorted.
  static uint32_t picked(const std::vector<uint32_t>& from, Dice& dice) {
    size_t at = from.size();
    for (size_t i = 0; i < kTournament; ++i) at = std::min(at, dice.below(from.size()));
    return from[at];
  }
  uint64_t seed_;
  uint32_t islands_, archive_;
};

class Beam : public Strategy {
 public:
  Beam(uint32_t width, uint32_t branch)
      : width_(std::max(width, 1u)), branch_(std::max(branch, 1u)) {}
  Plan next(const History& h, uint32_t misses) const override {
    const uint32_t a_round = width_ * branch_;
    const auto n = static_cast<uint32_t>(h.size());
    Plan plan{.step = n / a_round};
    if (plan.step == 0) return plan;
    const std::vector<uint32_t> kept =
        ranked({h.begin(), h.begin() + static_cast<ptrdiff_t>(plan.step * a_round)});
    if (kept.empty()) return plan;
    plan.operation = Operation::mutate;
    const size_t width = std::min<size_t>(width_, kept.size());
    plan.parents = {kept[(n % a_round / branch_ + misses) % width]};
    return plan;
  }

 private:
  uint32_t width_, branch_;
};

}  // namespace

std::unique_ptr<Strategy> evolution(const StrategyOptions& o) {
  return std::make_unique<Evolution>(o);
}
std::unique_ptr<Strategy> beam(const StrategyOptions& o) {
  return std::make_unique<Beam>(o.width, o.branch);
}

}  // namespace fiel::search
