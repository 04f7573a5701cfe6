#include "judge/prepared.h"

#include "task/plain_products.h"

namespace fiel::judge {

Result<Preparation> prepare_given(const task::Task& task,
                                  const std::shared_ptr<const task::Instance>& instance,
                                  std::vector<Tensor> inputs, const ProbeRecipe& recipe) {
  Preparation p;
  p.recipe = recipe;
  ExpectationOptions options;
  options.seed = derive_seed(recipe.seed, 77 + recipe.variant);
  options.systematic = is_systematic(recipe.probe);
  const bool special = recipe.probe == Probe::special_values;
  FIEL_TRY(Expectation e, Expectation::create(task, instance, std::move(inputs), options));
  if (!special && !e.finite()) {
    p.dropped = "the reference is not finite on this input";
    return p;
  }
  p.expectation = std::make_shared<const Expectation>(std::move(e));
  return p;
}

Result<Preparation> prepare(const task::Task& task,
                            const std::shared_ptr<const task::Instance>& instance,
                            ProbeRecipe recipe) {
  Preparation p;
  p.recipe = recipe;
  if (recipe.probe == Probe::special_values && task.special_values == "ignore") {
    p.dropped = "the task declares special_values = \"ignore\"";
    return p;
  }
  if (recipe.probe == Probe::exact_products && !task::has_plain_products(*instance)) {
    p.dropped = "the task has no f32 product whose factors a kernel must take as they are";
    return p;
  }
  const bool adjustable = recipe.probe == Probe::offset_mean ||
                          recipe.probe == Probe::scale_range || recipe.probe == Probe::outliers;
  for (int attempt = 0; attempt < (adjustable ? 4 : 1); ++attempt) {
    FIEL_TRY(auto inputs, make_inputs(*instance, recipe));
    if (!inputs) {
      p.dropped = "the task has no input that this probe could change";
      return p;
    }
    FIEL_TRY(p, prepare_given(task, instance, std::move(*inputs), recipe));
    if (p.expectation) return p;
    recipe.amplitude /= 8;
  }
  return p;
}

}  // namespace fiel::judge
