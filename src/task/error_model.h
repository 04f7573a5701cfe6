// What an honest implementation of a task may differ by on given inputs: the sensitivities that
// tensor/compare.h needs, measured by perturbing the reference (Monte Carlo arithmetic).
//
//   FIEL_TRY(auto reference, instance.reference(inputs));
//   FIEL_TRY(auto models, error_models(instance, inputs, reference, {.seed = seed}));
//   FIEL_TRY(Comparison c, compare(reference[0], actual, models[0]));
//
// Costs up to ten more evaluations of the reference (eighteen where intermediates are
// low-precision). docs/numerics.md derives it. It does not decide: compare() does.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "task/task.h"
#include "tensor/compare.h"

namespace fiel::task {

struct ErrorModelOptions {
  uint64_t seed = 0;
  bool systematic = false;  ///< inputs hold few distinct values: constants, ties, one-hot
  bool measure = true;      ///< false: no perturbation, the output's own scale stands in
};

/// One for each output. `reference` is what instance.reference(inputs) gave.
Result<std::vector<ErrorModel>> error_models(const Instance& instance, const Task& task,
                                             const std::vector<Tensor>& inputs,
                                             const std::vector<Tensor>& reference,
                                             const ErrorModelOptions& options);

/// The task as a plain sequence of kernels would compute it: every operand and result of a rounding
/// operator goes through `intermediate` (f32: an eager f32 program; f16: one that cheats). Outputs
/// have their declared types. For controls: the f32 form must be accepted wherever the task is.
Result<std::vector<Tensor>> evaluate_rounded(const Instance& instance,
                                             const std::vector<Tensor>& inputs, DType intermediate);

}  // namespace fiel::task
