// Input sets with a purpose: what each probe feeds to a task, legal for every input's domain.
//
//   ProbeRecipe recipe{Probe::outliers, /*variant=*/0, seed};
//   FIEL_TRY(auto inputs, make_inputs(instance, recipe));
//   if (!inputs) …                        // this probe has nothing to do with this task's inputs
//
// A recipe and an instance give the same bytes everywhere. Whether the reference is finite on them
// is the caller's question; `amplitude` below 1 asks for a milder version of the same probe.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "judge/codes.h"
#include "task/task.h"

namespace fiel::judge {

struct ProbeRecipe {
  Probe probe = Probe::task_inputs;
  uint32_t variant = 0;  ///< several input sets of one kind: seeds, scales up and down …
  uint64_t seed = 0;
  double amplitude = 1;  ///< multiplies offsets, scales and outliers
};

/// The probes that are input sets of their own, in the order in which they are run; the others
/// (same-address …) reuse the task's inputs.
const std::vector<Probe>& value_probes();

/// Input sets that a value probe consists of.
uint32_t variants_of(Probe probe);

/// Nothing where the probe does not apply: no real-valued input to plant a NaN in …
Result<std::optional<std::vector<Tensor>>> make_inputs(const task::Instance& instance,
                                                       const ProbeRecipe& recipe);

/// Sums of equal or tied values round the same way each time.
bool is_systematic(Probe probe);

/// Another legal value for one element: far enough that the reference moves.
double changed_value(task::Domain domain, DType dtype, double value, int64_t bound, uint64_t seed);

/// Derived seeds, so that no two uses of one seed meet.
uint64_t derive_seed(uint64_t seed, uint64_t purpose);

}  // namespace fiel::judge
