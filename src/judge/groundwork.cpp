#include "judge/groundwork.h"

namespace fiel::judge {

Result<std::vector<Preparation>> Groundwork::inputs(const std::string& name, const Make& make) {
  const auto known = inputs_.find(name);
  if (known != inputs_.end()) return known->second;
  FIEL_TRY(std::vector<Preparation> made, make());
  inputs_.emplace(name, made);
  return made;
}

Result<std::shared_ptr<const ShapePlan>> Groundwork::plan(const Plan& make) {
  if (plan_ == nullptr) {
    FIEL_TRY(ShapePlan made, make());
    plan_ = std::make_shared<const ShapePlan>(std::move(made));
  }
  return plan_;
}

}  // namespace fiel::judge
