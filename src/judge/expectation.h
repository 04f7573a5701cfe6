// What the reference says to one input set, and how far from it an honest kernel may be.
//
//   FIEL_TRY(auto e, Expectation::create(task, instance, inputs, {.seed = seed}));
//   FIEL_TRY(fiel::Comparison c, e.compare(0, got, NumericsClass::tf32));
//   if (!c.accepted()) show(c.first_failing);
//
// The bound comes from task/error_model.h: the reference is evaluated again with roundings
// imitated, so it knows reduction length, condition and scale. It is measured when first asked for.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "task/error_model.h"
#include "task/task.h"
#include "tensor/compare.h"
#include "tensor/tensor.h"

namespace fiel::judge {

struct ExpectationOptions {
  uint64_t seed = 0;
  bool systematic = false;  ///< few distinct values: sums round the same way each time
};

class Expectation {
 public:
  static Result<Expectation> create(const task::Task& task,
                                    std::shared_ptr<const task::Instance> instance,
                                    std::vector<Tensor> inputs, const ExpectationOptions& options);

  const std::vector<Tensor>& values() const { return values_; }  ///< f64, or integers
  const std::vector<Tensor>& inputs() const { return inputs_; }
  const task::Instance& instance() const { return *instance_; }
  bool finite() const { return finite_; }  ///< no NaN or infinity in any output at its dtype

  /// One output of a kernel. `lowest`: the worst class let pass where the task multiplies matrices.
  Result<fiel::Comparison> compare(size_t output, const Tensor& got, NumericsClass lowest) const;

  /// True where all outputs are accepted.
  Result<bool> accepts(const std::vector<Tensor>& got, NumericsClass lowest) const;

 private:
  Result<const std::vector<ErrorModel>*> models() const;

  const task::Task* task_ = nullptr;  ///< outlives the judgement
  std::shared_ptr<const task::Instance> instance_;
  std::vector<Tensor> inputs_, values_;
  ExpectationOptions options_;
  bool finite_ = true;
  std::shared_ptr<std::vector<ErrorModel>> models_;
};

}  // namespace fiel::judge
