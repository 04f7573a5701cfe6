#include "search/scripted_proposer.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

namespace fiel::search {
namespace {

constexpr int kDraws = 400;  // until a random choice is given up

bool differs_once(const forge::Point& a, const forge::Point& b, size_t& axis) {
  size_t count = 0;
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i] != b[i]) axis = i, ++count;
  return count == 1;
}

}  // namespace

/// What the history says about the knobs.
struct ScriptedProposer::Known {
  std::set<Point> tried;
  /// (axis, value) that turned a right kernel into a wrong one.
  std::set<std::pair<size_t, size_t>> bad;
  /// The last turn of one knob that paid: axis and direction.
  std::optional<std::pair<size_t, int>> trend;
};

Result<std::unique_ptr<Proposer>> ScriptedProposer::of(const task::Task& task,
                                                       std::string_view start) {
  FIEL_TRY(auto family, forge::template_of(task));
  if (!start.empty()) FIEL_TRY_STATUS(family->begin_at(start));
  return std::make_unique<ScriptedProposer>(std::move(family));
}

std::optional<ScriptedProposer::Point> ScriptedProposer::point_of(const Candidate& c) const {
  auto at = family_->parse(c.state);
  if (!at) return {};
  return std::move(*at);
}

ScriptedProposer::Known ScriptedProposer::learn(const History& history) const {
  Known known;
  std::map<uint32_t, Point> points;
  for (const Candidate& c : history) {
    const auto at = point_of(c);
    if (!at) continue;
    known.tried.insert(*at);
    points[c.number] = *at;
    if (c.parents.empty() || !points.contains(c.parents[0])) continue;
    const Point& from = points[c.parents[0]];
    const Candidate& parent = history[c.parents[0] - 1];
    size_t axis = 0;
    if (!differs_once(from, *at, axis) || !parent.outcome.correct()) continue;
    if (!c.outcome.correct())
      known.bad.insert({axis, (*at)[axis]});
    else if (c.outcome.score > parent.outcome.score)
      known.trend = {axis, (*at)[axis] > from[axis] ? 1 : -1};
  }
  return known;
}

bool ScriptedProposer::is_open(const Known& known, const Point& at) const {
  for (size_t i = 0; i < at.size(); ++i)
    if (known.bad.contains({i, at[i]})) return false;
  return !known.tried.contains(at) && family_->possible(at);
}

std::optional<ScriptedProposer::Point> ScriptedProposer::fresh(const Known& known,
                                                               Dice dice) const {
  if (const Point at = family_->start(); is_open(known, at)) return at;
  for (int i = 0; i < kDraws; ++i) {
    Point at;
    for (const forge::Axis& axis : family_->axes()) at.push_back(dice.below(axis.values.size()));
    if (is_open(known, at)) return at;
  }
  return {};
}

/// One knob one notch, the last that paid first; then two notches; then the others' far ends.
std::optional<ScriptedProposer::Point> ScriptedProposer::neighbour(const Known& known,
                                                                   const Candidate& of) const {
  const auto at = point_of(of);
  if (!at) return {};
  const auto turned = [&](size_t axis, int by) -> std::optional<Point> {
    const auto to = static_cast<ptrdiff_t>((*at)[axis]) + by;
    if (to < 0 || to >= static_cast<ptrdiff_t>(family_->axes()[axis].values.size())) return {};
    Point next = *at;
    next[axis] = static_cast<size_t>(to);
    if (!is_open(known, next)) return {};
    return next;
  };
  if (known.trend)
    if (auto next = turned(known.trend->first, known.trend->second)) return next;
  for (int notches = 1; notches < 8; ++notches)
    for (size_t axis = 0; axis < at->size(); ++axis)
      for (int by : {notches, -notches})
        if (auto next = turned(axis, by)) return next;
  return {};
}

/// After a wrong kernel: what is known to cost accuracy goes back to how the template begins.
std::optional<ScriptedProposer::Point> ScriptedProposer::repaired(const Known& known,
                                                                  const Point& at) const {
  Point next = at;
  for (size_t i = 0; i < at.size(); ++i)
    if (family_->axes()[i].name == "math" || family_->axes()[i].name == "variance")
      next[i] = family_->axes()[i].start;
  if (next == at || !is_open(known, next)) return {};
  return next;
}

std::optional<ScriptedProposer::Point> ScriptedProposer::mutant(const Known& known, const Point& at,
                                                                Dice dice) const {
  for (int i = 0; i < kDraws; ++i) {
    Point next = at;
    const size_t changes = 1 + dice.below(2) + (i > kDraws / 2 ? 1 : 0);
    for (size_t c = 0; c < changes; ++c) {
      const size_t axis = dice.below(next.size());
      next[axis] = dice.below(family_->axes()[axis].values.size());
    }
    if (is_open(known, next)) return next;
  }
  return {};
}

std::optional<ScriptedProposer::Point> ScriptedProposer::child(const Known& known, const Point& a,
                                                               const Point& b, Dice dice) const {
  for (int i = 0; i < kDraws; ++i) {
    Point next = a;
    for (size_t axis = 0; axis < a.size(); ++axis)
      if (dice.below(2) == 1) next[axis] = b[axis];
    if (is_open(known, next)) return next;
  }
  return mutant(known, a, dice);
}

std::string ScriptedProposer::difference(const Point& from, const Point& to) const {
  std::string text;
  for (size_t i = 0; i < from.size(); ++i) {
    const forge::Axis& axis = family_->axes()[i];
    if (from[i] != to[i])
      text += fmt::format("{}{} {} -> {}", text.empty() ? "" : ", ", axis.name,
                          axis.values[from[i]], axis.values[to[i]]);
  }
  return text;
}

Answer ScriptedProposer::propose(const Request& q) {
  const Known known = learn(q.history);
  std::optional<Point> at, from;
  const Candidate* parent = nullptr;
  for (const Candidate* p : q.parents)
    if (parent == nullptr || is_better(*p, *parent)) parent = p;
  if (parent != nullptr) from = point_of(*parent);
  if (parent == nullptr || !from) {
    at = fresh(known, q.dice);
  } else if (!parent->outcome.correct()) {
    at = repaired(known, *from);
    if (!at) at = mutant(known, *from, q.dice);
  } else if (q.operation == Operation::cross && q.parents.size() == 2) {
    const auto second = point_of(*(q.parents[0] == parent ? q.parents[1] : q.parents[0]));
    at = second ? child(known, *from, *second, q.dice) : mutant(known, *from, q.dice);
  } else if (q.operation == Operation::mutate) {
    at = mutant(known, *from, q.dice);
  } else {
    at = neighbour(known, *parent);
  }
  Answer answer;
  answer.spent.proposals = 1;
  if (!at) {
    answer.why = "all that lies near was tried";
    answer.nothing_left = parent == nullptr;
    return answer;
  }
  answer.proposal =
      Proposal{family_->source(*at),
               from ? difference(*from, *at)
                    : fmt::format("{} template: {}", family_->family(), family_->name_of(*at)),
               family_->name_of(*at)};
  return answer;
}

}  // namespace fiel::search
