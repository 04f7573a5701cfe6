#include "mutate/witness_inputs.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "base/unit_interval.h"
#include "judge/probe_inputs.h"
#include "tensor/random.h"

namespace fiel::mutate {
namespace {

using judge::derive_seed;
using judge::Symbols;
using task::Domain;
using task::InputSpec;

/// Two independent uniforms and a normal value for each element, and a few for the whole tensor.
class Draws {
 public:
  explicit Draws(const Stream& stream) : stream_(stream) {}
  double uniform(int64_t i) const { return pair(i).first; }
  double normal(int64_t i) const {
    const auto [u, v] = pair(i);
    return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
  }
  double whole(uint64_t purpose) const {
    return unit_interval(derive_seed(stream_.seed, 900 + 64 * stream_.stream_id + purpose));
  }
  double between(uint64_t purpose, double low, double high) const {
    return low + (high - low) * whole(purpose);
  }
  bool coin(uint64_t purpose) const { return whole(purpose) < 0.5; }
  int64_t below(uint64_t purpose, int64_t n) const {
    return std::min<int64_t>(n - 1, static_cast<int64_t>(whole(purpose) * static_cast<double>(n)));
  }

 private:
  std::pair<double, double> pair(int64_t i) const {
    const auto w = draw(stream_, static_cast<uint64_t>(i));
    return {uniform01(w[0], w[1]), uniform01(w[2], w[3])};
  }
  Stream stream_;
};

bool is_narrow(DType t) { return t == DType::f16 || t == DType::e4m3 || t == DType::e5m2; }

struct Field {
  int64_t n = 1, columns = 1;
  bool narrow = false;
};

/// Element i of a tensor in a style; special values are planted afterwards.
double value_of(Style style, const Draws& d, const Field& f, int64_t i) {
  const double span = f.narrow ? 0.7 : 1;  // fewer exponent bits; what overflows is left out
  const int64_t row = i / f.columns;
  switch (style) {
    case Style::symmetric:
    case Style::one_special:
    case Style::row_of_special:
      return 2 * d.uniform(i) - 1;
    case Style::gaussian:
      return d.normal(i);
    case Style::positive:
      return d.uniform(i);
    case Style::negative:
      return -d.uniform(i);
    case Style::large:
      return d.normal(i) * std::exp2(span * d.between(0, 4, 13));
    case Style::tiny:
      return d.normal(i) * std::exp2(-span * d.between(0, 4, 20));
    case Style::wide:
      return (d.normal(i) < 0 ? -1 : 1) * std::exp2(span * 24 * (d.uniform(i) - 0.5));
    case Style::heavy_tails:
      return std::clamp(std::tan(std::numbers::pi * (d.uniform(i) - 0.5)), -2e3 * span, 2e3 * span);
    case Style::shifted:
      return d.normal(i) + (d.coin(1) ? 1 : -1) * std::pow(10, span * d.between(0, 0, 4.5));
    case Style::rows: {
      const double scale = std::exp2(span * (12 * d.uniform(f.n + 2 * row) - 6));
      return scale * (d.normal(i) + 20 * (d.uniform(f.n + 2 * row + 1) - 0.5));
    }
    case Style::sparse:
      return d.uniform(i) < 0.1 ? d.normal(i) * 3 : 0;
    case Style::ramp: {
      const double t = static_cast<double>(i % f.columns) / static_cast<double>(f.columns);
      return (d.coin(1) ? t : 1 - t) * d.between(0, 0.5, 12) - 2;
    }
    case Style::alternating:
      return (i % 2 == 0 ? 1 : -1) * (d.between(0, 1, 40 * span) + 0.01 * d.normal(i));
    case Style::equal_but_one:
      return i == d.below(2, f.n) ? d.between(1, -9, 9) : d.between(0, -3, 3);
    case Style::lattice:
      return std::floor(7 * d.uniform(i)) - 3;
    case Style::near_one:
      return (d.coin(1) ? 1 : -1) + 1e-3 * d.normal(i);
    case Style::saturated:
      return 60 * (d.uniform(i) - 0.5);
  }
  return 0;
}

void plant(Tensor& t, Style style, const Draws& d, const Field& f) {
  static constexpr double inf = std::numeric_limits<double>::infinity();
  static constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const double values[] = {nan, inf, -inf, 0.0};
  const double value = values[d.below(4, 4)];
  if (style == Style::one_special) return t.set_flat(d.below(5, f.n), value);
  const int64_t row = d.below(6, f.n / f.columns);
  const bool infinite = d.coin(7);
  for (int64_t c = 0; c < f.columns; ++c) t.set_flat(row * f.columns + c, infinite ? -inf : value);
}

Tensor real(const InputSpec& spec, const graph::TensorType& type, Style style, const Draws& d) {
  Tensor t = Tensor::empty(type.dtype, type.shape);
  const Field f{t.numel(), type.shape.empty() ? 1 : std::max<int64_t>(type.shape.back(), 1),
                is_narrow(type.dtype)};
  // Weights are mostly ordinary, whatever the data is; sometimes they are as wild.
  const bool tame = spec.parameter && d.whole(10) < 0.7;
  const Style own = tame ? (d.coin(11) ? Style::gaussian : Style::symmetric) : style;
  for (int64_t i = 0; i < f.n; ++i) t.set_flat(i, value_of(own, d, f, i));
  if (is_special(own) && f.n > 0 && type.dtype != DType::e4m3) plant(t, own, d, f);
  return t;
}

Tensor positive(const graph::TensorType& type, Style style, const Draws& d) {
  Tensor t = Tensor::empty(type.dtype, type.shape);
  const Field f{t.numel(), type.shape.empty() ? 1 : std::max<int64_t>(type.shape.back(), 1),
                is_narrow(type.dtype)};
  for (int64_t i = 0; i < f.n; ++i)
    t.set_flat(i, std::fabs(value_of(is_special(style) ? Style::positive : style, d, f, i)) + 1e-3);
  return t;
}

Tensor indices(const graph::TensorType& type, int64_t bound, const Draws& d) {
  Tensor t = Tensor::empty(type.dtype, type.shape);
  const int64_t n = t.numel(), top = std::max<int64_t>(bound, 1);
  const int64_t way = d.below(0, 5);
  for (int64_t i = 0; i < n; ++i) {
    const auto any =
        std::min(top - 1, static_cast<int64_t>(d.uniform(i) * static_cast<double>(top)));
    const int64_t v = way == 0   ? d.below(1, top)
                      : way == 1 ? i % top
                      : way == 2 ? top - 1 - i % std::min<int64_t>(top, 3)
                                 : any;
    t.set_flat(i, static_cast<double>(v));
  }
  return t;
}

Tensor mask(const graph::TensorType& type, const Draws& d) {
  Tensor t = Tensor::empty(type.dtype, type.shape);
  const double p = d.coin(0) ? d.whole(1) : (d.coin(2) ? 1 : 0);
  for (int64_t i = 0; i < t.numel(); ++i) t.set_flat(i, d.uniform(i) < p ? 1 : 0);
  return t;
}

/// Rows between uniform and almost one-hot.
Tensor probabilities(const graph::TensorType& type, const Draws& d) {
  std::vector<double> values(static_cast<size_t>(numel(type.shape)));
  const auto columns = static_cast<size_t>(type.shape.empty() ? 1 : type.shape.back());
  const double sharpness = d.between(0, 0, 6);
  for (size_t row = 0; row < values.size(); row += columns) {
    double sum = 0;
    for (size_t c = row; c < row + columns; ++c)
      sum += values[c] = std::exp(sharpness * d.normal(static_cast<int64_t>(c)));
    for (size_t c = row; c < row + columns; ++c) values[c] /= sum;
  }
  return Tensor::from_f64(type.dtype, type.shape, values);
}

std::shared_ptr<const task::Instance> instance_at(const task::Task& task, const std::string& name,
                                                  const Symbols& symbols) {
  auto made = task.instantiate({name, symbols, false});
  if (!made) return nullptr;
  for (const auto* list : {&made->inputs, &made->outputs})
    for (const graph::TensorType& t : *list)
      if (numel(t.shape) == 0) return nullptr;
  return std::make_shared<const task::Instance>(std::move(*made));
}

constexpr std::array<int64_t, 37> kSizes = {
    1,  2,  3,  4,  5,  6,   8,   12,  15,  16,  20,  24,  27,  31,  32,  33,  40,  47,  48,
    63, 64, 65, 80, 96, 100, 127, 128, 129, 160, 255, 256, 257, 384, 512, 513, 777, 1025};
constexpr std::array<int64_t, 3> kLongSizes = {2052, 4099, 9001};

std::vector<Symbols> candidates(const Symbols& names, const WitnessShapeOptions& options) {
  std::vector<Symbols> list;
  for (int64_t size : kLongSizes)
    for (const auto& [name, value] : names) {
      Symbols s;
      for (const auto& [other, unused] : names) s[other] = other == name ? size : 3;
      list.push_back(std::move(s));
    }
  for (uint64_t k = 0; k < 40 * options.count; ++k) {
    Symbols s;
    uint64_t i = 0;
    for (const auto& [name, value] : names)
      s[name] = kSizes[derive_seed(derive_seed(options.seed, 7000 + k), i++) % kSizes.size()];
    list.push_back(std::move(s));
  }
  return list;
}

}  // namespace

std::string_view name_of(Style style) {
  static constexpr std::array<std::string_view, kStyleCount> names = {
#define FIEL_X(id, name) name,
      FIEL_STYLES(FIEL_X)
#undef FIEL_X
  };
  return names[static_cast<size_t>(style)];
}

Result<std::vector<Tensor>> witness_inputs(const task::Instance& instance, Style style,
                                           uint64_t seed) {
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < instance.inputs.size(); ++i) {
    const InputSpec& spec = instance.input_specs[i];
    const graph::TensorType& type = instance.inputs[i];
    const Draws d(Stream{derive_seed(seed, 31 + static_cast<uint64_t>(style)), i});
    const int64_t bound = i < instance.index_bounds.size() ? instance.index_bounds[i] : 0;
    switch (spec.domain) {
      case Domain::index:
        inputs.push_back(indices(type, bound, d));
        break;
      case Domain::mask:
        inputs.push_back(mask(type, d));
        break;
      case Domain::probability:
        inputs.push_back(probabilities(type, d));
        break;
      case Domain::positive:
        inputs.push_back(positive(type, style, d));
        break;
      case Domain::real:
        inputs.push_back(real(spec, type, style, d));
        break;
    }
  }
  return inputs;
}

std::vector<judge::PlannedShape> witness_shapes(const task::Task& task,
                                                const judge::ShapePlan& plan,
                                                const WitnessShapeOptions& options) {
  std::vector<judge::PlannedShape> shapes;
  if (task.shape_sets.empty()) return shapes;
  const std::vector<Symbols> wanted = candidates(task.shape_sets.front().symbols, options);
  size_t drawn = 0;
  for (const Symbols& symbols : wanted) {
    const bool is_long =
        &symbols - wanted.data() <
        static_cast<ptrdiff_t>(kLongSizes.size() * task.shape_sets.front().symbols.size());
    if (!is_long && drawn >= options.count) break;
    const auto same = [&](const judge::PlannedShape& s) { return s.symbols == symbols; };
    if (std::any_of(plan.shapes.begin(), plan.shapes.end(), same) ||
        std::any_of(shapes.begin(), shapes.end(), same))
      continue;
    auto instance = instance_at(task, judge::to_string(symbols), symbols);
    if (instance == nullptr) continue;
    const double work = judge::estimated_work(*instance);
    if (work > (is_long ? options.long_work : options.work)) continue;
    drawn += is_long ? 0 : 1;
    shapes.push_back(
        {judge::to_string(symbols), symbols, std::move(instance), true, judge::Tier::full, work});
  }
  std::stable_sort(shapes.begin(), shapes.end(),
                   [](const auto& a, const auto& b) { return a.work < b.work; });
  return shapes;
}

}  // namespace fiel::mutate
