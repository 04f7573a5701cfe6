#include "judge/probe_inputs.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/unit_interval.h"
#include "tensor/random.h"

namespace fiel::judge {
namespace {

using task::Domain;
using task::InputSpec;

/// Uniform in [0, 1) from a seed and a purpose: for the parameters of a probe, not its elements.
double uniform_of(uint64_t seed, uint64_t purpose) {
  return unit_interval(derive_seed(seed, purpose));
}

/// Types with few exponent bits get gentler probes: 1000 in f16 sums overflows at 65 terms.
bool is_narrow(DType t) { return t == DType::f16 || t == DType::e4m3 || t == DType::e5m2; }

struct Request {
  const InputSpec& spec;
  DType dtype;
  Shape shape;
  int64_t bound = 0;
  Stream stream;
};

Result<Tensor> make(const Request& r, DistributionKind kind, double a = 0, double b = 1) {
  return generate(Distribution{kind, a, b}, r.dtype, r.shape, r.stream);
}

/// Every element through f, rounded once to the type.
template <typename F>
void transform(Tensor& t, F f) {
  const int64_t n = t.numel(), step = size_of(t.dtype());
  std::byte* at = t.data();
  for (int64_t i = 0; i < n; ++i, at += step)
    store_from_f64(t.dtype(), at, f(load_as_f64(t.dtype(), at), i));
}

/// Whole numbers of seven bits and a sign, in steps of 1/32: exact in TF32, bf16 and fp16, as are
/// the sums of a few that Winograd's and Strassen's forms multiply.
Result<Tensor> short_numbers(const Request& r) {
  FIEL_TRY(Tensor t, make(r, DistributionKind::indices, 255));
  transform(t, [](double v, int64_t) { return (v - 127) / 32; });
  return t;
}

/// Nothing left at zeros and ones: a weight is drawn anew for every probe.
Result<Tensor> parameter(const Request& r, const ProbeRecipe& recipe) {
  if (recipe.probe == Probe::exact_products) return short_numbers(r);
  if (recipe.probe == Probe::task_inputs && recipe.variant == 0) {
    FIEL_TRY(const Distribution own, parse_distribution(r.spec.distribution));
    const bool degenerate = own.kind == DistributionKind::constant;
    if (!degenerate) return generate(own, r.dtype, r.shape, r.stream);
  }
  return make(r, DistributionKind::normal, 0.1, 0.7);
}

/// In standard deviations, which the type still tells apart there. Where it can, beyond what exp()
/// takes to the ends of f32 (88 and -104): a softmax must start from its row's own maximum.
double offset_size(DType t, double u) {
  if (t == DType::f16) return std::pow(10.0, 2.05 + 0.55 * u);
  return std::pow(10.0, is_narrow(t) ? 0.8 + 0.6 * u : 2.5 + 0.7 * u);
}

/// A continuous range, neither powers of two nor round numbers: up, down, and up to where fp16 has
/// no numbers left (65504): factors that were rounded to it have TF32's bits and not its range.
double scale_exponent(DType t, uint32_t variant, double u) {
  if (is_narrow(t)) return (variant == 1 ? -1 : 1) * (1.0 + 2.0 * u);
  if (variant == 2) return 15.0 + 5.0 * u;
  return (variant == 1 ? -1 : 1) * (3.0 + 5.0 * u);
}

Result<Tensor> real_input(const Request& r, const ProbeRecipe& recipe) {
  const double narrow = is_narrow(r.dtype) ? 1.0 : 0.0;
  const double u = uniform_of(recipe.seed, 100 + recipe.variant), s = recipe.amplitude;
  switch (recipe.probe) {
    case Probe::mixed_signs:
      return recipe.variant == 0 ? make(r, DistributionKind::normal)
                                 : make(r, DistributionKind::mixed_sign, 2.0);
    case Probe::offset_mean: {
      const double sign = recipe.variant == 0 ? 1 : -1;
      return make(r, DistributionKind::offset, sign * s * offset_size(r.dtype, u), 1.0);
    }
    case Probe::scale_range: {
      const double exponent = scale_exponent(r.dtype, recipe.variant, u);
      return make(r, DistributionKind::normal, 0, std::exp2(exponent) * (exponent > 0 ? s : 1));
    }
    case Probe::outliers:
      return make(r, DistributionKind::outliers, 0.004, s * (narrow > 0 ? 20 : 300) * (1 + u));
    case Probe::ties:
      return make(r, DistributionKind::ties, 4);
    case Probe::constant:
      return make(r, DistributionKind::constant, (u < 0.5 ? -1 : 1) * (0.3 + u));
    case Probe::one_hot:
      return make(r, DistributionKind::one_hot);
    case Probe::exact_products:
      return short_numbers(r);
    default: {
      FIEL_TRY(const Distribution own, parse_distribution(r.spec.distribution));
      return generate(own, r.dtype, r.shape, r.stream);
    }
  }
}

/// The same purpose within (0, ∞).
Result<Tensor> positive_input(const Request& r, const ProbeRecipe& recipe) {
  if (recipe.probe == Probe::task_inputs || recipe.probe == Probe::special_values) {
    FIEL_TRY(const Distribution own, parse_distribution(r.spec.distribution));
    FIEL_TRY(Tensor t, generate(own, r.dtype, r.shape, r.stream));
    transform(t, [](double v, int64_t) { return v == 0 ? 0.5 : std::fabs(v); });
    return t;
  }
  FIEL_TRY(Tensor t, real_input(r, recipe));
  transform(t, [](double v, int64_t) { return std::fabs(v) + 0.0625; });
  return t;
}

Result<Tensor> probability_input(const Request& r, const ProbeRecipe& recipe) {
  FIEL_TRY(Tensor t, make(r, DistributionKind::probability));
  if (recipe.probe == Probe::constant || recipe.probe == Probe::ties) {
    const double n = r.shape.empty() ? 1 : static_cast<double>(r.shape.back());
    transform(t, [&](double, int64_t) { return 1 / n; });
  }
  return t;
}

Result<Tensor> index_input(const Request& r, const ProbeRecipe& recipe) {
  const double bound = static_cast<double>(std::max<int64_t>(r.bound, 1));
  if (recipe.probe == Probe::constant) return make(r, DistributionKind::constant, bound - 1);
  if (recipe.probe == Probe::ties) return make(r, DistributionKind::indices, std::min(bound, 2.0));
  if (recipe.probe == Probe::one_hot) return make(r, DistributionKind::constant, 0);
  FIEL_TRY(Tensor t, make(r, DistributionKind::indices, bound));
  // The ends of the range are where an index goes wrong, and random draws may miss them.
  if (t.numel() >= 2) t.set_flat(t.numel() - 1, bound - 1), t.set_flat(0, 0);
  return t;
}

Result<Tensor> mask_input(const Request& r, const ProbeRecipe& recipe) {
  if (recipe.probe == Probe::constant) return make(r, DistributionKind::constant, 1);
  return make(r, DistributionKind::mask, 0.25 + 0.5 * uniform_of(recipe.seed, 7));
}

/// A few special values at random places; most rows stay clean, so that a kernel that answers NaN
/// everywhere shows.
void plant_special(Tensor& t, const ProbeRecipe& recipe, uint64_t stream) {
  static constexpr double inf = std::numeric_limits<double>::infinity();
  static constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  static constexpr double sets[][3] = {{nan, nan, -0.0}, {inf, -inf, -0.0}};
  const int64_t n = t.numel();
  if (n == 0) return;
  for (uint64_t k = 0; k < 3; ++k) {
    const uint64_t place = derive_seed(recipe.seed, 1000 + stream * 16 + k);
    t.set_flat(static_cast<int64_t>(place % static_cast<uint64_t>(n)), sets[recipe.variant % 2][k]);
  }
}

Result<Tensor> make_input(const Request& r, const ProbeRecipe& recipe) {
  switch (r.spec.domain) {
    case Domain::index:
      return index_input(r, recipe);
    case Domain::mask:
      return mask_input(r, recipe);
    case Domain::probability:
      return probability_input(r, recipe);
    case Domain::positive:
      return positive_input(r, recipe);
    case Domain::real:
      return r.spec.parameter ? parameter(r, recipe) : real_input(r, recipe);
  }
  return fail(ErrorCode::unsupported, "unknown domain of input '" + r.spec.name + "'");
}

}  // namespace

uint64_t derive_seed(uint64_t seed, uint64_t purpose) {
  uint64_t x = seed + 0x9e3779b97f4a7c15ull * (purpose + 1);
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

const std::vector<Probe>& value_probes() {
  static const std::vector<Probe> order = {
      Probe::task_inputs,    Probe::mixed_signs,   Probe::offset_mean, Probe::scale_range,
      Probe::exact_products, Probe::outliers,      Probe::ties,        Probe::constant,
      Probe::one_hot,        Probe::special_values};
  return order;
}

uint32_t variants_of(Probe probe) {
  switch (probe) {
    case Probe::task_inputs:  // seeds
    case Probe::scale_range:
      return 3;
    case Probe::mixed_signs:
    case Probe::offset_mean:
    case Probe::special_values:
      return 2;
    default:
      return 1;
  }
}

bool is_systematic(Probe probe) {
  return probe == Probe::constant || probe == Probe::ties || probe == Probe::one_hot;
}

Result<std::optional<std::vector<Tensor>>> make_inputs(const task::Instance& instance,
                                                       const ProbeRecipe& recipe) {
  // Probes about memory and repetition work on the task's own inputs, whatever they are.
  const std::vector<Probe>& own = value_probes();
  bool applies = recipe.probe == Probe::task_inputs ||
                 std::find(own.begin(), own.end(), recipe.probe) == own.end();
  std::vector<Tensor> inputs;
  // No two probes may draw the same values: a cache keyed by content would never be asked again.
  const uint64_t purpose = 1 + recipe.variant + 4096 * static_cast<uint64_t>(recipe.probe);
  for (size_t i = 0; i < instance.inputs.size(); ++i) {
    const InputSpec& spec = instance.input_specs[i];
    const Request request{spec, instance.inputs[i].dtype, instance.inputs[i].shape,
                          i < instance.index_bounds.size() ? instance.index_bounds[i] : 0,
                          Stream{derive_seed(recipe.seed, purpose), i}};
    auto made = make_input(request, recipe);
    if (!made)
      return fail(std::move(made.error()).with_context("making input '" + spec.name + "'"));
    Tensor t = std::move(*made);
    const bool real = spec.domain == Domain::real && is_floating(request.dtype);
    if (recipe.probe == Probe::special_values && real && !spec.parameter &&
        request.dtype != DType::e4m3) {
      plant_special(t, recipe, i);
      applies = true;
    }
    if (recipe.probe != Probe::special_values && !spec.parameter) {
      const bool values = real || spec.domain == Domain::positive;
      const bool pattern = recipe.probe == Probe::ties || recipe.probe == Probe::constant;
      applies |= values || pattern;
    }
    inputs.push_back(std::move(t));
  }
  if (!applies) return std::optional<std::vector<Tensor>>();
  return std::optional(std::move(inputs));
}

double changed_value(task::Domain domain, DType dtype, double value, int64_t bound, uint64_t seed) {
  switch (domain) {
    case Domain::index: {
      const auto n = static_cast<double>(std::max<int64_t>(bound, 1));
      return std::fmod(value + 1 + std::floor(uniform_of(seed, 3) * (n - 1)), n);
    }
    case Domain::mask:
      return value != 0 ? 0 : 1;
    case Domain::positive:
      return value * 3 + 1;
    case Domain::probability:
      return value * 0.5;
    case Domain::real:
      break;
  }
  if (!is_floating(dtype)) return value == 0 ? 1 : 0;
  const double step = 3 + 2 * uniform_of(seed, 4);
  return value > 0 ? value - step * 2 : value + step;
}

}  // namespace fiel::judge
