// A proposer without a model: turns the knobs of a template and learns from what the judge says.
//
//   FIEL_TRY(auto proposer, ScriptedProposer::of(task));    // unsupported: there is no template
//
// Its choices follow from the history and the dice alone. What it learns: a knob that improved a
// kernel is turned further; one whose value made right kernels wrong is left alone; after a wrong
// kernel coarse functions and one-pass variances go first.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "forge/template.h"
#include "search/proposer.h"
#include "task/task.h"

namespace fiel::search {

class ScriptedProposer : public Proposer {
 public:
  /// `start`: knobs to begin with, "threads=64 rows=2"; empty: the template's own.
  static Result<std::unique_ptr<Proposer>> of(const task::Task& task, std::string_view start = {});
  explicit ScriptedProposer(std::unique_ptr<forge::Template> family)
      : family_(std::move(family)), name_("scripted") {}

  Answer propose(const Request& request) override;
  const std::string& name() const override { return name_; }
  Novelty novelty() const override { return Novelty::text; }

 private:
  using Point = forge::Point;
  struct Known;
  std::optional<Point> fresh(const Known& known, Dice dice) const;
  std::optional<Point> neighbour(const Known& known, const Candidate& of) const;
  std::optional<Point> repaired(const Known& known, const Point& at) const;
  std::optional<Point> mutant(const Known& known, const Point& at, Dice dice) const;
  std::optional<Point> child(const Known& known, const Point& a, const Point& b, Dice dice) const;
  bool is_open(const Known& known, const Point& at) const;
  Known learn(const History& history) const;
  std::optional<Point> point_of(const Candidate& c) const;
  std::string difference(const Point& from, const Point& to) const;

  std::unique_ptr<forge::Template> family_;
  std::string name_;
};

}  // namespace fiel::search
