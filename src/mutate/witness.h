// Is a mutant wrong at all? A search for a witness: an input on which the kernel that it was made
// from is right and the mutant is not, or on which the device finds a fault in the mutant alone.
//
//   FIEL_TRY(WitnessInputs inputs, WitnessInputs::make(task, plan, {.seed = seed}));   // a task
//   FIEL_TRY(WitnessSearch search, WitnessSearch::create(inputs, original));           // a kernel
//   FIEL_TRY(SearchResult r, search.find(mutant));  if (r.witness) …
//
// Far more input sets than strict has, none of them strict's. The bound is the honest one that
// strict uses: what an input shows is independent, what counts as wrong is not.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "judge/expectation.h"
#include "judge/rig.h"
#include "mutate/witness_inputs.h"

namespace fiel::mutate {

struct WitnessOptions {
  uint64_t seed = 0;
  uint32_t draws = 2;  ///< of each style at each shape
  size_t shapes = 24;
  int64_t call_timeout_ms = 60'000;
  std::function<Status()> poll;  ///< between calls; an error ends the search
};

struct WitnessInput {
  size_t shape = 0;  ///< of WitnessInputs::shapes
  Style style{};
  uint32_t draw = 0;
  std::shared_ptr<const judge::Expectation> expectation;
};

/// What a task's kernels are looked at with; made once for all of them.
struct WitnessInputs {
  std::vector<judge::PlannedShape> shapes;
  std::vector<WitnessInput> inputs;  ///< shape by shape
  WitnessOptions options;

  static Result<WitnessInputs> make(const task::Task& task, const judge::ShapePlan& plan,
                                    const WitnessOptions& options);
};

struct FoundWitness {
  std::string how;  ///< "values", or the finding or status: "shared-race", "runtime_error"
  std::string shape, style;
  uint32_t draw = 0, call = 0;
};
struct SearchResult {
  std::optional<FoundWitness> witness;
  uint32_t calls = 0;
};

class WitnessSearch {
 public:
  /// Runs the original on everything; inputs on which it is not right are no evidence and left out.
  static Result<WitnessSearch> create(const WitnessInputs& inputs,
                                      const judge::SessionStarter& original);
  Result<SearchResult> find(const judge::SessionStarter& mutant) const;
  size_t sound() const;  ///< input sets on which the original is right
  size_t size() const { return sound_.size(); }

 private:
  explicit WitnessSearch(const WitnessInputs& inputs) : inputs_(&inputs) {}
  const WitnessInputs* inputs_;
  std::vector<bool> sound_;
};

}  // namespace fiel::mutate
