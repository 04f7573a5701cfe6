// layer, rms, group, instance and batch norm, and normalize.
#include <fmt/core.h>

#include <cmath>

#include "graph/norms.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/strided.h"
#include "graph/sum.h"

namespace fiel::graph {
namespace {

using Values = std::vector<Value>;

Status need_all_floating(const Call& c) {
  for (size_t slot = 0; slot < c.inputs.size(); ++slot) FIEL_TRY_STATUS(need_floating(c, slot));
  return {};
}

Status need_vector(const Call& c, size_t slot, int64_t length, const char* of) {
  if (!c.given(slot) || (c.shape(slot).size() == 1 && c.shape(slot)[0] == length)) return {};
  return refuse(fmt::format("{} must have shape ({}), the number of {}, not {}",
                            argument_name(c, slot), length, of, fiel::to_string(c.shape(slot))));
}

const double* reals_or_null(const Evaluation& e, size_t slot) {
  return e.call.given(slot) ? e.inputs[slot]->reals() : nullptr;
}

// --- over the last dimensions

Result<Types> infer_last_dims(const Call& c) {
  FIEL_TRY_STATUS(need_all_floating(c));
  std::vector<int64_t> normalized = c.integers("normalized_shape");
  const Shape& x = c.shape(0);
  bool ends = !normalized.empty() && normalized.size() <= x.size() &&
              std::equal(normalized.rbegin(), normalized.rend(), x.rbegin());
  if (!ends)
    return refuse(fmt::format("input {} does not end in normalized_shape {}", fiel::to_string(x),
                              fiel::to_string(normalized)));
  for (size_t slot = 1; slot < c.inputs.size(); ++slot)
    if (c.given(slot) && c.shape(slot) != normalized)
      return refuse(fmt::format("{} must have shape {}, not {}", argument_name(c, slot),
                                fiel::to_string(normalized), fiel::to_string(c.shape(slot))));
  return one(c.type(0).dtype, x);
}

/// Rows of normalized elements: f(row, out, n).
template <typename F>
Value over_rows(const Evaluation& e, int64_t n, F f) {
  const Value& x = *e.inputs[0];
  Value out = Value::make(e.call.results[0]);
  int64_t rows = n == 0 ? 0 : x.count() / n;
  parallel_for(rows, std::max<int64_t>(1, 4096 / std::max<int64_t>(n, 1)), e.threads,
               [&](int64_t from, int64_t to) {
                 for (int64_t r = from; r < to; ++r) f(x.reals() + r * n, out.reals() + r * n, r);
               });
  return out;
}

Result<Values> evaluate_layer_norm(const Evaluation& e) {
  double eps = e.call.real("eps");
  int64_t n = numel(e.call.integers("normalized_shape"));
  const double *weight = reals_or_null(e, 1), *bias = reals_or_null(e, 2);
  return Values{over_rows(e, n, [&](const double* x, double* y, int64_t) {
    Moments m = moments(x, n);
    double scale = 1 / std::sqrt(m.squares / static_cast<double>(n) + eps);
    for (int64_t i = 0; i < n; ++i)
      y[i] = (x[i] - m.mean) * scale * (weight ? weight[i] : 1) + (bias ? bias[i] : 0);
  })};
}

Result<Values> evaluate_rms_norm(const Evaluation& e) {
  // PyTorch's default is the epsilon of the input's dtype.
  double eps = e.call.has("eps") ? e.call.real("eps") : 2 * unit_roundoff(e.call.type(0).dtype);
  int64_t n = numel(e.call.integers("normalized_shape"));
  const double* weight = reals_or_null(e, 1);
  return Values{over_rows(e, n, [&](const double* x, double* y, int64_t) {
    double squares = sum_over(0, n, [x](int64_t i) { return x[i] * x[i]; });
    double scale = 1 / std::sqrt(squares / static_cast<double>(n) + eps);
    for (int64_t i = 0; i < n; ++i) y[i] = x[i] * scale * (weight ? weight[i] : 1);
  })};
}

// --- over channels

Result<Types> infer_group_norm(const Call& c) {
  FIEL_TRY_STATUS(need_all_floating(c));
  const Shape& x = c.shape(0);
  int64_t groups = c.integer("num_groups");
  if (x.size() < 2) return refuse("input must have at least two dimensions");
  if (groups < 1 || x[1] % groups)
    return refuse(fmt::format("{} channels do not divide into {} groups", x[1], groups));
  FIEL_TRY_STATUS(need_vector(c, 1, x[1], "channels"));
  FIEL_TRY_STATUS(need_vector(c, 2, x[1], "channels"));
  return one(c.type(0).dtype, x);
}

Value normalize_groups(const Evaluation& e, int64_t groups, double eps, const double* weight,
                       const double* bias) {
  const Value& x = *e.inputs[0];
  int64_t channels = x.size(1), plane = axis_of(x.shape(), 1).inner;
  int64_t per_group = channels / groups, n = per_group * plane;
  return over_rows(e, n, [&](const double* from, double* to, int64_t row) {
    Moments m = moments(from, n);
    double scale = 1 / std::sqrt(m.squares / static_cast<double>(n) + eps);
    for (int64_t i = 0; i < n; ++i) {
      int64_t channel = row % groups * per_group + i / plane;
      to[i] =
          (from[i] - m.mean) * scale * (weight ? weight[channel] : 1) + (bias ? bias[channel] : 0);
    }
  });
}
Result<Values> evaluate_group_norm(const Evaluation& e) {
  return Values{normalize_groups(e, e.call.integer("num_groups"), e.call.real("eps"),
                                 reals_or_null(e, 1), reals_or_null(e, 2))};
}

Result<Types> infer_channel_norm(const Call& c, size_t least_rank) {
  FIEL_TRY_STATUS(need_all_floating(c));
  const Shape& x = c.shape(0);
  if (x.size() < least_rank)
    return refuse(fmt::format("input must have at least {} dimensions", least_rank));
  for (size_t slot = 1; slot <= 4; ++slot) FIEL_TRY_STATUS(need_vector(c, slot, x[1], "channels"));
  return one(c.type(0).dtype, x);
}
Status need_running_statistics(const Call& c) {
  if (c.given(1) && c.given(2)) return {};
  return refuse("without batch statistics, running_mean and running_var must be given");
}

/// y = (x − mean[channel]) / sqrt(var[channel] + eps) · weight + bias.
Value apply_statistics(const Evaluation& e, const double* mean, const double* variance) {
  const Value& x = *e.inputs[0];
  const double *weight = reals_or_null(e, 3), *bias = reals_or_null(e, 4);
  double eps = e.call.real("eps");
  int64_t channels = x.size(1), plane = axis_of(x.shape(), 1).inner;
  return over_rows(e, plane, [&](const double* from, double* to, int64_t row) {
    int64_t channel = row % channels;
    double scale = 1 / std::sqrt(variance[channel] + eps) * (weight ? weight[channel] : 1);
    for (int64_t i = 0; i < plane; ++i)
      to[i] = (from[i] - mean[channel]) * scale + (bias ? bias[channel] : 0);
  });
}

Result<Types> infer_batch_norm(const Call& c) {
  FIEL_TRY(Types types, infer_channel_norm(c, 2));
  const Shape& x = c.shape(0);
  if (!c.flag("training"))
    FIEL_TRY_STATUS(need_running_statistics(c));
  else if (saturating_product(x) <= x[1])
    return refuse("training needs more than one value a channel");
  return types;
}
Result<Values> evaluate_batch_norm(const Evaluation& e) {
  const Value& x = *e.inputs[0];
  if (!e.call.flag("training"))
    return Values{apply_statistics(e, e.inputs[1]->reals(), e.inputs[2]->reals())};
  std::vector<int64_t> dims;
  for (size_t i = 0; i < x.rank(); ++i)
    if (i != 1) dims.push_back(static_cast<int64_t>(i));
  Value rows = rows_of(x, dims, e.threads);
  std::vector<double> mean(static_cast<size_t>(x.size(1))), variance = mean;
  parallel_for(rows.size(0), 1, e.threads, [&](int64_t from, int64_t to) {
    for (int64_t channel = from; channel < to; ++channel) {
      Moments m = moments(rows.reals() + channel * rows.size(1), rows.size(1));
      mean[static_cast<size_t>(channel)] = m.mean;
      variance[static_cast<size_t>(channel)] = m.squares / static_cast<double>(rows.size(1));
    }
  });
  return Values{apply_statistics(e, mean.data(), variance.data())};
}

Result<Types> infer_instance_norm(const Call& c) {
  FIEL_TRY(Types types, infer_channel_norm(c, 3));
  const Shape& x = c.shape(0);
  if (!c.flag("use_input_stats"))
    FIEL_TRY_STATUS(need_running_statistics(c));
  else if (saturating_product(Shape(x.begin() + 2, x.end())) <= 1)
    return refuse("needs more than one value a channel");
  return types;
}
Result<Values> evaluate_instance_norm(const Evaluation& e) {
  if (!e.call.flag("use_input_stats"))
    return Values{apply_statistics(e, e.inputs[1]->reals(), e.inputs[2]->reals())};
  return Values{normalize_groups(e, e.inputs[0]->size(1), e.call.real("eps"), reals_or_null(e, 3),
                                 reals_or_null(e, 4))};
}

// --- normalize, local_response_norm

Result<Types> infer_normalize(const Call& c) {
  FIEL_TRY_STATUS(need_floating(c, 0));
  FIEL_TRY_STATUS(normalize_dims(c.integers("dim"), c.shape(0).size()).map([](const auto&) {}));
  return one(c.type(0).dtype, c.shape(0));
}
Result<Values> evaluate_normalize(const Evaluation& e) {
  const Value& x = *e.inputs[0];
  double p = e.call.real("p"), eps = e.call.real("eps");
  auto dims = normalize_dims(e.call.integers("dim"), x.rank()).value();
  Value rows = rows_of(x, dims, e.threads);
  Shape kept = x.shape();
  for (int64_t d : dims) kept[static_cast<size_t>(d)] = 1;
  Value norms = Value::make({DType::f64, kept});
  int64_t n = rows.size(1);
  parallel_for(rows.size(0), std::max<int64_t>(1, 4096 / std::max<int64_t>(n, 1)), e.threads,
               [&](int64_t from, int64_t to) {
                 for (int64_t r = from; r < to; ++r)
                   norms.reals()[r] = p_norm(rows.reals() + r * n, n, p);
               });
  // clamp_min keeps a NaN norm NaN.
  auto f = [eps](double v, double norm) { return v / (norm < eps ? eps : norm); };
  return Values{map_reals(e, e.call.results[0], f, x, norms)};
}

Result<Types> infer_local_response_norm(const Call& c) {
  FIEL_TRY_STATUS(need_floating(c, 0));
  if (c.shape(0).size() < 3) return refuse("input must have at least three dimensions");
  if (c.integer("size") < 1 || c.integer("size") > (int64_t{1} << 31))
    return refuse("size must be at least 1");
  return one(c.type(0).dtype, c.shape(0));
}
Result<Values> evaluate_local_response_norm(const Evaluation& e) {
  const Value& x = *e.inputs[0];
  int64_t size = e.call.integer("size"), channels = x.size(1), plane = axis_of(x.shape(), 1).inner;
  double alpha = e.call.real("alpha"), beta = e.call.real("beta"), k = e.call.real("k");
  Value out = Value::make(e.call.results[0]);
  parallel_for(x.size(0) * channels, 1, e.threads, [&](int64_t from, int64_t to) {
    for (int64_t row = from; row < to; ++row) {
      int64_t channel = row % channels;
      int64_t first = std::max<int64_t>(0, channel - size / 2);
      int64_t last = std::min(channels - 1, channel + (size - 1) / 2);
      for (int64_t i = 0; i < plane; ++i) {
        double squares = 0;
        for (int64_t other = first; other <= last; ++other) {
          double v = x.reals()[(row - channel + other) * plane + i];
          squares += v * v;
        }
        double scale = k + alpha * (squares / static_cast<double>(size));
        out.reals()[row * plane + i] = x.reals()[row * plane + i] / std::pow(scale, beta);
      }
    }
  });
  return Values{std::move(out)};
}

// --- costs: mean, variance, scaling and shift are about eight operations an element

Work rows_cost(const Call& c) {
  return {8 * static_cast<double>(saturating_product(c.shape(0))),
          static_cast<double>(saturating_product(c.integers("normalized_shape")))};
}
Work channel_cost(const Call& c) {
  const Shape& x = c.shape(0);
  double n = static_cast<double>(saturating_product(x));
  return {8 * n, n / static_cast<double>(std::max<int64_t>(x[1], 1))};
}
Work group_cost(const Call& c) {
  const Shape& x = c.shape(0);
  double n = static_cast<double>(saturating_product(x)), batch = static_cast<double>(x[0]);
  return {8 * n, n / std::max(1.0, batch * static_cast<double>(c.integer("num_groups")))};
}
Work instance_cost(const Call& c) {
  const Shape& x = c.shape(0);
  return {8 * static_cast<double>(saturating_product(x)),
          static_cast<double>(saturating_product(Shape(x.begin() + 2, x.end())))};
}
Work normalize_cost(const Call& c) {
  double n = 1;
  const auto dims = normalize_dims(c.integers("dim"), c.shape(0).size());
  for (int64_t d : *dims) n *= static_cast<double>(c.shape(0)[static_cast<size_t>(d)]);
  return {3 * static_cast<double>(saturating_product(c.shape(0))), n};
}
Work response_cost(const Call& c) {
  double size = static_cast<double>(c.integer("size"));
  return {(2 * size + 4) * static_cast<double>(saturating_product(c.shape(0))), size};
}

}  // namespace

std::vector<Operator> normalization_operators() {
  return {
      {"layer_norm(input, normalized_shape: int[], weight?, bias?, eps: float = 1e-05)",
       "over the last dimensions: (x − mean) / sqrt(var + eps) · weight + bias", infer_last_dims,
       evaluate_layer_norm, rows_cost},
      {"rms_norm(input, normalized_shape: int[], weight?, eps: float = None)",
       "x / sqrt(mean(x²) + eps) · weight; eps defaults to the epsilon of the dtype",
       infer_last_dims, evaluate_rms_norm, rows_cost},
      {"group_norm(input, num_groups: int, weight?, bias?, eps: float = 1e-05)",
       "each group of channels of each sample normalised", infer_group_norm, evaluate_group_norm,
       group_cost},
      {"batch_norm(input, running_mean?, running_var?, weight?, bias?, training: bool = False, "
       "momentum: float = 0.1, eps: float = 1e-05)",
       "by the running statistics, or in training by the batch's own; running statistics are not "
       "updated",
       infer_batch_norm, evaluate_batch_norm, channel_cost},
      {"instance_norm(input, running_mean?, running_var?, weight?, bias?, use_input_stats: bool = "
       "True, momentum: float = 0.1, eps: float = 1e-05)",
       "each channel of each sample normalised", infer_instance_norm, evaluate_instance_norm,
       instance_cost},
      {"normalize(input, p: float = 2.0, dim: int[] = 1, eps: float = 1e-12)",
       "x / max(‖x‖_p, eps) along dim", infer_normalize, evaluate_normalize, normalize_cost},
      {"local_response_norm(input, size: int, alpha: float = 0.0001, beta: float = 0.75, k: float "
       "= 1.0)",
       "x / (k + alpha · mean of x² over neighbouring channels)^beta", infer_local_response_norm,
       evaluate_local_response_norm, response_cost},
  };
}

}  // namespace fiel::graph
