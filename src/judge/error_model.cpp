#include "judge/error_model.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "judge/noisy_evaluation.h"
#include "tensor/dtype.h"

namespace fiel::judge {
namespace {

// Multiples of the measured movement that an honest kernel may be off by. Measured over the honest
// examples at all probes: the largest ratio seen is below 0.5 (docs/protocol.md#error).
constexpr double kSafety = 6;
// The share of a row's large movements that every element of it is granted: an element may stand
// still in all samples by luck, and results near a kink (relu at 0) move only one way.
constexpr double kRowShare = 0.3;
// Elements moved at most: beyond this much work one sample is taken instead of three.
constexpr double kManySamplesWork = 3e6;

double smallest_normal(DType t) {
  switch (t) {
    case DType::f64:
      return std::numeric_limits<double>::min();
    case DType::f16:
      return 0x1p-24;  // CUDA keeps f16 subnormals
    case DType::e4m3:
      return 0x1p-9;
    case DType::e5m2:
      return 0x1p-16;
    default:
      return std::numeric_limits<float>::min();  // -use_fast_math flushes below this
  }
}

double largest_finite(DType t) {
  switch (t) {
    case DType::f64:
      return std::numeric_limits<double>::max();
    case DType::f16:
      return 65504;
    case DType::e4m3:
      return 448;
    case DType::e5m2:
      return 57344;
    case DType::bf16:
      return bf16_to_f64(0x7f7f);
    default:
      return std::numeric_limits<float>::max();
  }
}

double roundoff_of(Numerics n) {
  static constexpr double u[] = {0x1p-53, 0x1p-24, 0x1p-24, 0x1p-11, 0x1p-8, 0x1p-4};
  return u[static_cast<size_t>(n)];
}

Noise noise_of(Numerics n, bool systematic) {
  Noise noise;
  noise.rounding = roundoff_of(n);
  // Half-precision classes still accumulate in fp32: accumulating in half is `below`.
  noise.accumulate = n == Numerics::fp64 ? 0x1p-53 : 0x1p-24;
  if (n == Numerics::tf32) noise.contraction = 0x1p-11;
  noise.systematic = systematic;
  return noise;
}

/// Value at the 90th percentile of |v| in each row, spread over the row.
void grant_row_share(std::vector<double>& movement, const Shape& shape) {
  const size_t n = movement.size();
  if (n == 0) return;
  const size_t last = shape.empty() ? 1 : static_cast<size_t>(shape.back());
  const size_t row = last >= 32 ? last : n;
  std::vector<double> sorted(row);
  for (size_t begin = 0; begin < n; begin += row) {
    const size_t end = std::min(n, begin + row);
    sorted.assign(movement.begin() + static_cast<ptrdiff_t>(begin),
                  movement.begin() + static_cast<ptrdiff_t>(end));
    const size_t rank = (sorted.size() * 9) / 10;
    const auto nth = sorted.begin() + static_cast<ptrdiff_t>(std::min(rank, sorted.size() - 1));
    std::nth_element(sorted.begin(), nth, sorted.end());
    const double share = kRowShare * *nth;
    for (size_t i = begin; i < end; ++i) movement[i] += share;
  }
}

double rms(const std::vector<double>& v) {
  double sum = 0;
  for (double x : v) sum += x * x;
  return v.empty() ? 0 : std::sqrt(sum / static_cast<double>(v.size()));
}

bool is_finite_at(const Tensor& t, DType dtype) {
  if (t.dtype() != DType::f64) return true;
  const double limit = largest_finite(dtype);
  const double* v = t.data_as<double>();
  return std::all_of(v, v + t.numel(), [&](double x) { return std::fabs(x) <= limit; });
}

/// An expected NaN must be NaN, an expected infinity that infinity.
bool same_special(double expected, double got) {
  if (std::isnan(expected)) return std::isnan(got);
  return expected == got;
}

}  // namespace

Numerics native_numerics(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return Numerics::fp64;
    case DType::f16:
      return Numerics::fp16;
    case DType::bf16:
      return Numerics::bf16;
    case DType::tf32:
      return Numerics::tf32;
    default:
      return Numerics::fp32;
  }
}

bool has_contraction(const graph::Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [](const graph::Node& n) { return is_contraction(n.op); });
}

Result<Expectation> Expectation::create(std::shared_ptr<const task::Instance> instance,
                                        std::vector<Tensor> inputs,
                                        const ExpectationOptions& options) {
  Expectation e;
  e.instance_ = std::move(instance);
  e.inputs_ = std::move(inputs);
  e.options_ = options;
  e.cache_ = std::make_shared<std::map<Numerics, Bounds>>();
  FIEL_TRY(e.values_, graph::evaluate(e.instance_->graph, e.inputs_));
  for (size_t i = 0; i < e.values_.size(); ++i) {
    if (!e.values_[i].is_contiguous()) e.values_[i] = e.values_[i].clone();
    if (!is_finite_at(e.values_[i], e.instance_->outputs[i].dtype)) e.finite_ = false;
  }
  return e;
}

Result<const Expectation::Bounds*> Expectation::bounds(Numerics numerics) const {
  if (auto known = cache_->find(numerics); known != cache_->end()) return &known->second;
  Bounds b;
  for (const Tensor& v : values_) {
    b.movement.emplace_back(v.dtype() == DType::f64 ? static_cast<size_t>(v.numel()) : 0, 0.0);
    b.undetermined.emplace_back(v.dtype() == DType::f64 ? 0 : static_cast<size_t>(v.numel()), 0);
  }
  const task::Instance& at = *instance_;
  const bool integers = std::any_of(values_.begin(), values_.end(),
                                    [](const Tensor& v) { return v.dtype() != DType::f64; });
  // Ties among integers show only when a sample happens to break them the other way.
  const int samples =
      at.cost.flops + at.cost.bytes_compulsory > kManySamplesWork ? 1 : integers ? 9 : 3;
  Noise noise = noise_of(numerics, options_.growth == Growth::systematic);
  for (int s = 0; s < samples; ++s) {
    noise.seed = options_.seed * 8 + static_cast<uint64_t>(s);
    FIEL_TRY(const std::vector<Tensor> moved, evaluate_noisy(at.graph, at.inputs, inputs_, noise));
    for (size_t o = 0; o < values_.size(); ++o) {
      if (values_[o].dtype() != DType::f64) {
        const std::vector<double> was = values_[o].to_f64(), is = moved[o].to_f64();
        for (size_t i = 0; i < was.size(); ++i) b.undetermined[o][i] |= was[i] != is[i];
        continue;
      }
      const double* was = values_[o].data_as<double>();
      const double* is = moved[o].data_as<double>();
      std::vector<double>& m = b.movement[o];
      for (size_t i = 0; i < m.size(); ++i) {
        const double d = std::fabs(is[i] - was[i]);
        if (std::isfinite(d)) m[i] = std::max(m[i], d);
      }
    }
  }
  for (size_t o = 0; o < values_.size(); ++o) grant_row_share(b.movement[o], values_[o].shape());
  return &cache_->emplace(numerics, std::move(b)).first->second;
}

Result<Comparison> Expectation::compare(size_t output, const Tensor& got, Numerics numerics) const {
  FIEL_CHECK(output < values_.size(), "comparing an output that the task does not have");
  FIEL_TRY(const Bounds* b, bounds(numerics));
  const DType dtype = instance_->outputs[output].dtype;
  const bool floating = values_[output].dtype() == DType::f64;
  const std::vector<double> expected = values_[output].to_f64(), actual = got.to_f64();
  FIEL_CHECK(expected.size() == actual.size(), "outputs of another size than the reference's");
  const double tiny = smallest_normal(dtype), limit = largest_finite(dtype);
  const double own = unit_roundoff(is_floating(dtype) ? dtype : DType::f64);
  Comparison c;
  c.elements = expected.size();
  double error_square = 0;
  const double scale = rms(expected);
  for (size_t i = 0; i < expected.size(); ++i) {
    const double e = expected[i], g = actual[i];
    double error = 0, bound = 0;
    if (!floating) {
      if (b->undetermined[output][i] != 0) {
        ++c.undetermined;
        continue;
      }
      error = std::fabs(e - g);
      bound = 0.5;
    } else if (!std::isfinite(e)) {
      const bool same = same_special(e, g);
      c.special_lost |= !same;
      error = same ? 0 : std::numeric_limits<double>::infinity();
      bound = 1;
    } else {
      bound = options_.factor * (kSafety * b->movement[output][i] + own * std::fabs(e) + tiny);
      const double nearest = std::clamp(e, -limit, limit);
      error = std::fabs(e) > limit && std::isinf(g) && (g > 0) == (e > 0) ? 0
                                                                          : std::fabs(g - nearest);
      if (std::isnan(error)) error = std::numeric_limits<double>::infinity();
      error_square += error * error;
    }
    const double ratio = error / bound;
    if (ratio > c.worst_ratio) c.worst_ratio = ratio, c.worst_error = error, c.worst_bound = bound;
    if (ratio > 1 && c.wrong++ == 0)
      c.first_wrong = {static_cast<int64_t>(i), e, g, error, bound};
  }
  if (floating && scale > 0 && !expected.empty())
    c.relative_rms = std::sqrt(error_square / static_cast<double>(expected.size())) / scale;
  if (options_.relative_rms && c.wrong == 0 && c.relative_rms > *options_.relative_rms) {
    c.wrong = 1;
    c.worst_ratio = std::max(c.worst_ratio, c.relative_rms / *options_.relative_rms);
    c.first_wrong = {0, expected[0], actual[0], c.worst_error, c.worst_bound};
  }
  return c;
}

Result<Numerics> Expectation::classify(const std::vector<Tensor>& got, Numerics best) const {
  const bool contraction = has_contraction(instance_->graph);
  for (int n = static_cast<int>(best); n < static_cast<int>(Numerics::below); ++n) {
    const auto numerics = static_cast<Numerics>(n);
    if (numerics == Numerics::tf32 && !contraction) continue;
    bool holds = true;
    for (size_t o = 0; o < got.size() && holds; ++o) {
      FIEL_TRY(const Comparison c, compare(o, got[o], numerics));
      holds = c.wrong == 0;
    }
    if (holds) return numerics;
  }
  return Numerics::below;
}

}  // namespace fiel::judge
