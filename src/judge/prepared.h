// An input set and what the reference says to it, made before any candidate runs.
//
//   FIEL_TRY(Preparation p, prepare(task, shape.instance, recipe));
//   if (!p.expectation) note(p.dropped);                  // why this probe says nothing here
#pragma once

#include <memory>
#include <string>

#include "judge/expectation.h"
#include "judge/probe_inputs.h"
#include "task/task.h"

namespace fiel::judge {

struct Preparation {
  ProbeRecipe recipe;
  std::shared_ptr<const Expectation> expectation;  ///< empty: see dropped
  std::string dropped;
};

/// Offsets and scales are reduced, up to three times, where the reference overflows on them.
Result<Preparation> prepare(const task::Task& task,
                            const std::shared_ptr<const task::Instance>& instance,
                            ProbeRecipe recipe);

/// The same for inputs that are given.
Result<Preparation> prepare_given(const task::Task& task,
                                  const std::shared_ptr<const task::Instance>& instance,
                                  std::vector<Tensor> inputs, const ProbeRecipe& recipe);

}  // namespace fiel::judge
