// Losses over classes: cross_entropy, nll_loss and the margins.
#include <fmt/core.h>

#include <cmath>

#include "graph/ops/elementwise.h"
#include "graph/ops/loss.h"
#include "graph/ops/strided.h"
#include "graph/sum.h"

namespace fiel::graph {
namespace {

using Values = std::vector<Value>;

/// Input (N, C, d…) or (C): which dimension holds the classes, and the target's shape.
struct Classes {
  size_t dim = 0;
  int64_t count = 0;
  Shape target;
};
Result<Classes> classes_of(const Call& c) {
  const Shape& x = c.shape(0);
  if (x.empty()) return refuse("input must have a dimension of classes");
  Classes k;
  k.dim = x.size() == 1 ? 0 : 1;
  k.count = x[k.dim];
  k.target = x;
  k.target.erase(k.target.begin() + static_cast<std::ptrdiff_t>(k.dim));
  return k;
}

Status check_class_weight(const Call& c, int64_t classes) {
  FIEL_TRY_STATUS(need_floating(c, 2));
  if (c.given(2) && c.shape(2) != Shape{classes})
    return refuse(fmt::format("weight must have shape ({})", classes));
  return {};
}

bool probabilities(const Call& c) { return is_floating(c.type(1).dtype); }

Result<Types> infer_nll(const Call& c) {
  FIEL_TRY_STATUS(check_reduction(c, false));
  FIEL_TRY_STATUS(need_floating(c, 0));
  FIEL_TRY(Classes k, classes_of(c));
  FIEL_TRY_STATUS(check_class_weight(c, k.count));
  FIEL_TRY_STATUS(need_integer(c, 1));
  if (c.shape(1) != k.target)
    return refuse(fmt::format("target must have shape {}, not {}", fiel::to_string(k.target),
                              fiel::to_string(c.shape(1))));
  return reduced_loss(c, c.type(0).dtype, k.target);
}

Result<Types> infer_cross_entropy(const Call& c) {
  double smoothing = c.real("label_smoothing");
  if (!(smoothing >= 0 && smoothing <= 1)) return refuse("label_smoothing must be in [0, 1]");
  if (!probabilities(c)) return infer_nll(c);
  FIEL_TRY_STATUS(check_reduction(c, false));
  FIEL_TRY_STATUS(need_floating(c, 0));
  FIEL_TRY(Classes k, classes_of(c));
  FIEL_TRY_STATUS(check_class_weight(c, k.count));
  if (c.shape(1) != c.shape(0))
    return refuse("a target of probabilities must have the input's shape");
  return reduced_loss(c, c.type(0).dtype, k.target);
}

Status check_targets(const Value& target, int64_t classes, int64_t ignore) {
  for (int64_t i = 0; i < target.count(); ++i) {
    int64_t t = target.integers()[i];
    if (t != ignore && (t < 0 || t >= classes))
      return fail(ErrorCode::usage,
                  fmt::format("target {} at position {} is no class of {}", t, i, classes));
  }
  return {};
}

/// Each loss and its weight in the mean, from rows of log-probabilities [positions, classes].
struct Losses {
  Value each;
  double weight = 0;
};

struct Targets {
  const Value* target;
  const double* weight;  ///< per class, or null
  int64_t ignore;
  double smoothing;
  uint32_t threads;
};

Losses class_losses(const double* logs, int64_t positions, int64_t classes, const Targets& t) {
  Losses out{Value::make({DType::f64, {positions}}), 0};
  std::vector<double> weights(static_cast<size_t>(positions));
  auto one_loss = [&](int64_t p) {
    const double* row = logs + p * classes;
    int64_t k = t.target->integers()[p];
    double& loss = out.each.reals()[p];
    loss = 0;
    if (k == t.ignore) return;
    double w = t.weight ? t.weight[k] : 1;
    weights[static_cast<size_t>(p)] = w;
    loss = -row[k] * w;
    if (t.smoothing == 0) return;
    double all =
        sum_over(0, classes, [&](int64_t c) { return -row[c] * (t.weight ? t.weight[c] : 1); });
    loss = (1 - t.smoothing) * loss + t.smoothing / static_cast<double>(classes) * all;
  };
  parallel_for(positions, 256, t.threads, [&](int64_t from, int64_t to) {
    for (int64_t p = from; p < to; ++p) one_loss(p);
  });
  out.weight = sum(weights.data(), positions);
  return out;
}

Losses probability_losses(const double* logs, const double* target, int64_t positions,
                          int64_t classes, const Targets& t) {
  Losses out{Value::make({DType::f64, {positions}}), static_cast<double>(positions)};
  double even = t.smoothing / static_cast<double>(classes);
  parallel_for(positions, 16, t.threads, [&](int64_t from, int64_t to) {
    for (int64_t p = from; p < to; ++p)
      out.each.reals()[p] = sum_over(0, classes, [&](int64_t c) {
        double y = target[p * classes + c];
        if (t.smoothing > 0) y = y * (1 - t.smoothing) + even;
        return -logs[p * classes + c] * y * (t.weight ? t.weight[c] : 1);
      });
  });
  return out;
}

/// [positions, classes] rows, log_softmax applied where asked.
Value class_rows(const Evaluation& e, const Value& x, const Classes& k, bool log_softmax) {
  Value rows = rows_of(x, {static_cast<int64_t>(k.dim)}, e.threads);
  if (!log_softmax) return rows;
  Value out = Value::make(rows.type());
  int64_t n = k.count;
  parallel_for(rows.size(0), std::max<int64_t>(1, 4096 / std::max<int64_t>(n, 1)), e.threads,
               [&](int64_t from, int64_t to) {
                 for (int64_t r = from; r < to; ++r) {
                   const double* x_row = rows.reals() + r * n;
                   double m = -INFINITY;
                   for (int64_t i = 0; i < n; ++i)
                     m = x_row[i] > m || std::isnan(x_row[i]) ? x_row[i] : m;
                   double total =
                       std::log(sum_over(0, n, [&](int64_t i) { return std::exp(x_row[i] - m); }));
                   for (int64_t i = 0; i < n; ++i) out.reals()[r * n + i] = x_row[i] - m - total;
                 }
               });
  return out;
}

Result<Values> evaluate_class_loss(const Evaluation& e, bool log_softmax, double smoothing) {
  Classes k = classes_of(e.call).value();
  Value rows = class_rows(e, *e.inputs[0], k, log_softmax);
  int64_t positions = rows.size(0), ignore = e.call.integer("ignore_index");
  Targets t{e.inputs[1], e.call.given(2) ? e.inputs[2]->reals() : nullptr, ignore, smoothing,
            e.threads};
  Losses losses;
  if (probabilities(e.call)) {
    Value target = class_rows(e, *e.inputs[1], k, false);
    losses = probability_losses(rows.reals(), target.reals(), positions, k.count, t);
  } else {
    FIEL_TRY_STATUS(check_targets(*e.inputs[1], k.count, ignore));
    losses = class_losses(rows.reals(), positions, k.count, t);
  }
  return reduce_loss(e, std::move(losses.each), losses.weight);
}
Result<Values> evaluate_cross_entropy(const Evaluation& e) {
  return evaluate_class_loss(e, true, e.call.real("label_smoothing"));
}
Result<Values> evaluate_nll(const Evaluation& e) { return evaluate_class_loss(e, false, 0); }

// --- margins over classes

Result<Types> infer_multi_margin(const Call& c) {
  FIEL_TRY_STATUS(check_reduction(c, false));
  FIEL_TRY_STATUS(need_floating(c, 0));
  FIEL_TRY_STATUS(need_integer(c, 1));
  FIEL_TRY_STATUS(need_rank(c, 0, 1, 2));
  FIEL_TRY(Classes k, classes_of(c));
  FIEL_TRY_STATUS(check_class_weight(c, k.count));
  if (c.integer("p") != 1 && c.integer("p") != 2) return refuse("p must be 1 or 2");
  if (c.shape(1) != k.target)
    return refuse(fmt::format("target must have shape {}", fiel::to_string(k.target)));
  return reduced_loss(c, c.type(0).dtype, k.target);
}
Result<Values> evaluate_multi_margin(const Evaluation& e) {
  Classes k = classes_of(e.call).value();
  const Value &x = *e.inputs[0], &target = *e.inputs[1];
  FIEL_TRY_STATUS(check_targets(target, k.count, -1 - k.count));
  const double* weight = e.call.given(2) ? e.inputs[2]->reals() : nullptr;
  double margin = e.call.real("margin");
  bool square = e.call.integer("p") == 2;
  Value each = Value::make({DType::f64, {target.count()}});
  for (int64_t r = 0; r < target.count(); ++r) {
    const double* row = x.reals() + r * k.count;
    int64_t y = target.integers()[r];
    double total = sum_over(0, k.count, [&](int64_t i) {
      double z = margin - row[y] + row[i];
      if (i == y || !(z > 0)) return 0.0;
      return (square ? z * z : z) * (weight ? weight[y] : 1);
    });
    each.reals()[r] = total / static_cast<double>(k.count);
  }
  auto n = static_cast<double>(each.count());
  return reduce_loss(e, std::move(each), n);
}

Work class_cost(const Call& c) {
  double n = static_cast<double>(saturating_product(c.shape(0)));
  double classes = static_cast<double>(c.shape(0)[c.shape(0).size() == 1 ? 0 : 1]);
  double positions = n / std::max(classes, 1.0);
  return {5 * n, classes + (c.text("reduction") == "none" ? 0 : positions)};
}

}  // namespace

std::vector<Operator> class_loss_operators() {
  return {
      {"cross_entropy(input, target, weight?, ignore_index: int = -100, reduction: str = \"mean\", "
       "label_smoothing: float = 0.0)",
       "−log softmax of the target class (integers), or against probabilities (floating)",
       infer_cross_entropy, evaluate_cross_entropy, class_cost},
      {"nll_loss(input, target, weight?, ignore_index: int = -100, reduction: str = \"mean\")",
       "−input of the target class", infer_nll, evaluate_nll, class_cost},
      {"multi_margin_loss(input, target, p: int = 1, margin: float = 1.0, weight?, reduction: str "
       "= \"mean\")",
       "mean over classes of max(0, margin − x[target] + x)^p", infer_multi_margin,
       evaluate_multi_margin, class_cost},
  };
}

}  // namespace fiel::graph
