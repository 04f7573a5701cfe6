#include "judge/void_task.h"

#include <fmt/core.h>

#include <cmath>
#include <functional>
#include <optional>

namespace fiel::judge {
namespace {

Tensor filled(const graph::TensorType& type, double value) {
  Tensor t = Tensor::empty(type.dtype, type.shape);
  for (int64_t i = 0; i < t.numel(); ++i)
    store_from_f64(type.dtype, t.data() + i * size_of(type.dtype), value);
  return t;
}

double mean_of(const Tensor& t) {
  double sum = 0;
  int64_t n = 0;
  for (double v : t.to_f64())
    if (std::isfinite(v)) sum += v, ++n;
  return n == 0 ? 0 : sum / static_cast<double>(n);
}

/// An impostor's answer to probe `p` for one output, or nothing where it has none.
using Impostor = std::function<std::optional<Tensor>(size_t p)>;

Result<VoidCheck> try_impostor(const std::vector<Preparation>& prepared, size_t output,
                               NumericsClass lowest, const std::string& shape_set,
                               const std::string& name, const Impostor& answer) {
  VoidCheck check{name, false, {}};
  bool tried = false;
  for (size_t p = 0; p < prepared.size() && !check.rejected; ++p) {
    if (!prepared[p].expectation) continue;
    const std::optional<Tensor> got = answer(p);
    if (!got) continue;
    tried = true;
    FIEL_TRY(const fiel::Comparison c, prepared[p].expectation->compare(output, *got, lowest));
    if (c.accepted()) continue;
    check.rejected = true;
    check.rejected_by = fmt::format("{} at {}", name_of(prepared[p].recipe.probe), shape_set);
  }
  if (!tried) {
    check.rejected = true;
    check.rejected_by = "its shape";
  }
  return check;
}

}  // namespace

Result<std::vector<VoidCheck>> check_task(const std::vector<Preparation>& prepared,
                                          NumericsClass lowest, const std::string& shape_set) {
  std::vector<VoidCheck> checks;
  const Expectation* any = nullptr;
  for (const Preparation& p : prepared)
    if (p.expectation && any == nullptr) any = p.expectation.get();
  if (any == nullptr) return checks;
  const task::Instance& at = any->instance();
  for (size_t o = 0; o < at.outputs.size(); ++o) {
    const graph::TensorType type = at.outputs[o];
    const std::string suffix =
        at.outputs.size() > 1 ? fmt::format(" as '{}'", at.graph.outputs[o].name) : "";
    auto attempt = [&](const std::string& name, const Impostor& answer) -> Status {
      FIEL_TRY(VoidCheck c, try_impostor(prepared, o, lowest, shape_set, name + suffix, answer));
      checks.push_back(std::move(c));
      return {};
    };
    FIEL_TRY_STATUS(attempt("zeros", [&](size_t) { return filled(type, 0); }));
    const double mean = mean_of(any->values()[o]);
    FIEL_TRY_STATUS(attempt("a constant", [&](size_t) { return filled(type, mean); }));
    for (size_t i = 0; i < at.inputs.size(); ++i) {
      if (numel(at.inputs[i].shape) != numel(type.shape)) continue;
      FIEL_TRY_STATUS(attempt(fmt::format("input '{}'", at.input_specs[i].name), [&, i](size_t p) {
        return std::optional(
            prepared[p].expectation->inputs()[i].reshaped(type.shape).to(type.dtype));
      }));
    }
    FIEL_TRY_STATUS(attempt("the answer to other inputs", [&](size_t p) -> std::optional<Tensor> {
      for (size_t q = p; q-- > 0;)
        if (prepared[q].expectation) return prepared[q].expectation->values()[o].to(type.dtype);
      return std::nullopt;
    }));
  }
  return checks;
}

const VoidCheck* first_hole(const std::vector<VoidCheck>& checks) {
  for (const VoidCheck& c : checks)
    if (!c.rejected) return &c;
  return nullptr;
}

}  // namespace fiel::judge
