#include "judge/expectation.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace fiel::judge {
namespace {

// Beyond this much work the output's own scale stands in for eight more evaluations.
constexpr double kMeasuredWork = 1e9;

bool is_finite_at(const Tensor& t, DType dtype) {
  if (!is_floating(t.dtype())) return true;
  const std::vector<double> exact = t.to_f64();
  if (!std::all_of(exact.begin(), exact.end(), [](double v) { return std::isfinite(v); }))
    return false;
  const std::vector<double> rounded = t.to(dtype).to_f64();
  return std::all_of(rounded.begin(), rounded.end(), [](double v) { return std::isfinite(v); });
}

}  // namespace

Result<Expectation> Expectation::create(const task::Task& task,
                                        std::shared_ptr<const task::Instance> instance,
                                        std::vector<Tensor> inputs,
                                        const ExpectationOptions& options) {
  Expectation e;
  e.task_ = &task;
  e.instance_ = std::move(instance);
  e.inputs_ = std::move(inputs);
  e.options_ = options;
  e.models_ = std::make_shared<std::vector<ErrorModel>>();
  FIEL_TRY(e.values_, e.instance_->reference(e.inputs_));
  for (size_t i = 0; i < e.values_.size(); ++i) {
    if (!e.values_[i].is_contiguous()) e.values_[i] = e.values_[i].clone();
    if (!is_finite_at(e.values_[i], e.instance_->outputs[i].dtype)) e.finite_ = false;
  }
  return e;
}

Result<const std::vector<ErrorModel>*> Expectation::models() const {
  if (models_->empty()) {
    task::ErrorModelOptions options;
    options.seed = options_.seed;
    options.systematic = options_.systematic;
    options.measure = instance_->cost.flops + instance_->cost.bytes_compulsory < kMeasuredWork;
    FIEL_TRY(*models_, task::error_models(*instance_, *task_, inputs_, values_, options));
  }
  return models_.get();
}

Result<fiel::Comparison> Expectation::compare(size_t output, const Tensor& got,
                                              NumericsClass lowest) const {
  FIEL_CHECK(output < values_.size(), "comparing an output that the task does not have");
  FIEL_TRY(const std::vector<ErrorModel>* all, models());
  ErrorModel model = (*all)[output];
  if (model.lowest == NumericsClass::tf32 && lowest == NumericsClass::fp32)
    model.lowest = NumericsClass::fp32;
  return fiel::compare(values_[output], got, model);
}

Result<bool> Expectation::accepts(const std::vector<Tensor>& got, NumericsClass lowest) const {
  for (size_t o = 0; o < got.size(); ++o) {
    FIEL_TRY(const fiel::Comparison c, compare(o, got[o], lowest));
    if (!c.accepted()) return false;
  }
  return true;
}

}  // namespace fiel::judge
