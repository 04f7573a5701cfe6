// Losses of torch.nn.functional, and distances.
#include "graph/ops/loss.h"

#include <fmt/core.h>

#include <cmath>

#include "graph/norms.h"
#include "graph/ops/elementwise.h"
#include "graph/sum.h"

namespace fiel::graph {

Status check_reduction(const Call& c, bool batchmean) {
  std::string r = c.text("reduction");
  if (r == "none" || r == "mean" || r == "sum" || (batchmean && r == "batchmean")) return {};
  return refuse(fmt::format("reduction must be none, mean or sum{}, not '{}'",
                            batchmean ? " or batchmean" : "", r));
}
Result<Types> reduced_loss(const Call& c, DType dtype, Shape shape) {
  if (c.text("reduction") != "none") shape.clear();
  return one(dtype, std::move(shape));
}
std::vector<Value> reduce_loss(const Evaluation& e, Value each, double divisor) {
  std::string r = e.call.text("reduction");
  if (r == "none")
    return {each.as_dtype(e.call.results[0].dtype).reshaped(e.call.results[0].shape)};
  double total = sum(each.reals(), each.count());
  if (r != "sum") total /= divisor;
  return {Value::scalar(e.call.results[0].dtype, total, 0)};
}

namespace {

using Values = std::vector<Value>;

/// Input and target, broadcast, floating; the reduction is checked.
Result<Types> infer_pair(const Call& c) {
  FIEL_TRY_STATUS(check_reduction(c, c.op->name == "kl_div"));
  FIEL_TRY(Shape shape, broadcast_all(c));
  DType dtype = promote_all(c);
  if (!is_floating(dtype)) return refuse("is defined on floating tensors only");
  return reduced_loss(c, dtype, std::move(shape));
}
Shape pair_shape(const Evaluation& e) { return broadcast_all(e.call).value(); }

template <typename F>
Result<Values> pair_loss(const Evaluation& e, F f) {
  Value each = map_reals(e, {DType::f64, pair_shape(e)}, f, *e.inputs[0], *e.inputs[1]);
  auto n = static_cast<double>(each.count());
  return reduce_loss(e, std::move(each), n);
}

Result<Values> evaluate_mse(const Evaluation& e) {
  return pair_loss(e, [](double x, double y) { return (x - y) * (x - y); });
}
Result<Values> evaluate_l1(const Evaluation& e) {
  return pair_loss(e, [](double x, double y) { return std::fabs(x - y); });
}
Result<Types> infer_smooth_l1(const Call& c) {
  if (c.real("beta") < 0) return refuse("beta must not be negative");
  return infer_pair(c);
}
Result<Values> evaluate_smooth_l1(const Evaluation& e) {
  double beta = e.call.real("beta");
  return pair_loss(e, [beta](double x, double y) {
    double d = std::fabs(x - y);
    return d < beta ? 0.5 * d * d / beta : d - 0.5 * beta;
  });
}
Result<Types> infer_huber(const Call& c) {
  if (c.real("delta") <= 0) return refuse("delta must be positive");
  return infer_pair(c);
}
Result<Values> evaluate_huber(const Evaluation& e) {
  double delta = e.call.real("delta");
  return pair_loss(e, [delta](double x, double y) {
    double d = std::fabs(x - y);
    return d <= delta ? 0.5 * d * d : delta * (d - 0.5 * delta);
  });
}
double xlogy(double x, double y) { return std::isnan(y) ? y : x == 0 ? 0 : x * std::log(y); }
Result<Values> evaluate_kl_div(const Evaluation& e) {
  bool log_target = e.call.flag("log_target");
  Value each = map_reals(
      e, {DType::f64, pair_shape(e)},
      [log_target](double x, double y) {
        return log_target ? std::exp(y) * (y - x) : xlogy(y, y) - y * x;
      },
      *e.inputs[0], *e.inputs[1]);
  auto n = static_cast<double>(each.count());
  if (e.call.text("reduction") == "batchmean" && !e.call.shape(0).empty())
    n = static_cast<double>(e.call.shape(0)[0]);
  return reduce_loss(e, std::move(each), n);
}
Result<Values> evaluate_poisson(const Evaluation& e) {
  bool log_input = e.call.flag("log_input"), full = e.call.flag("full");
  double eps = e.call.real("eps");
  return pair_loss(e, [=](double x, double y) {
    double v = log_input ? std::exp(x) - y * x : x - y * std::log(x + eps);
    // Stirling's approximation of log(y!), as PyTorch adds it.
    return full && y > 1 ? v + y * std::log(y) - y + 0.5 * std::log(2 * M_PI * y) : v;
  });
}
Result<Values> evaluate_soft_margin(const Evaluation& e) {
  return pair_loss(e, [](double x, double y) { return std::log1p(std::exp(-y * x)); });
}
Result<Values> evaluate_hinge_embedding(const Evaluation& e) {
  double margin = e.call.real("margin");
  return pair_loss(e, [margin](double x, double y) {
    double apart = margin - x;
    double positive = y == -1 ? 0 : x, negative = y == 1 ? 0 : apart < 0 ? 0 : apart;
    return positive + negative;
  });
}

// --- with weights

Result<Types> infer_same_shape(const Call& c) {
  FIEL_TRY_STATUS(check_reduction(c, false));
  FIEL_TRY_STATUS(need_floating(c, 0));
  FIEL_TRY_STATUS(need_floating(c, 1));
  if (c.shape(0) != c.shape(1)) return refuse("input and target must have the same shape");
  for (size_t slot = 2; slot < c.inputs.size(); ++slot) {
    if (!c.given(slot)) continue;
    FIEL_TRY(Shape shape, broadcast(c.shape(0), c.shape(slot)));
    if (shape != c.shape(0))
      return refuse(fmt::format("{} does not fit the input", argument_name(c, slot)));
  }
  return reduced_loss(c, promote_slots(c, {0, 1}), c.shape(0));
}
const Value& weight_or_one(const Evaluation& e, size_t slot, const Value& unit) {
  return e.call.given(slot) ? *e.inputs[slot] : unit;
}
Result<Values> evaluate_bce(const Evaluation& e) {
  Value unit = Value::scalar(DType::f64, 1, 1);
  // PyTorch bounds the logarithms from below by -100.
  auto f = [](double x, double y, double w) {
    double a = std::log(x), b = std::log1p(-x);
    a = a < -100 ? -100 : a;
    b = b < -100 ? -100 : b;
    return w * ((y - 1) * b - y * a);
  };
  Value each = map_reals(e, {DType::f64, e.call.shape(0)}, f, *e.inputs[0], *e.inputs[1],
                         weight_or_one(e, 2, unit));
  auto n = static_cast<double>(each.count());
  return reduce_loss(e, std::move(each), n);
}
Result<Values> evaluate_bce_logits(const Evaluation& e) {
  Value unit = Value::scalar(DType::f64, 1, 1);
  auto f = [](double x, double y, double w, double p) {
    double log_sigmoid = x > 0 ? -std::log1p(std::exp(-x)) : x - std::log1p(std::exp(x));
    return w * ((1 - y) * x - ((p - 1) * y + 1) * log_sigmoid);
  };
  Value each = map_reals(e, {DType::f64, e.call.shape(0)}, f, *e.inputs[0], *e.inputs[1],
                         weight_or_one(e, 2, unit), weight_or_one(e, 3, unit));
  auto n = static_cast<double>(each.count());
  return reduce_loss(e, std::move(each), n);
}

// --- of three tensors

Result<Types> infer_margin_ranking(const Call& c) {
  FIEL_TRY_STATUS(check_reduction(c, false));
  FIEL_TRY(Shape shape, broadcast_all(c));
  return reduced_loss(c, floating_or_default(promote_all(c)), std::move(shape));
}
Result<Values> evaluate_margin_ranking(const Evaluation& e) {
  double margin = e.call.real("margin");
  auto f = [margin](double a, double b, double y) {
    double v = -y * (a - b) + margin;
    return v < 0 ? 0 : v;
  };
  Value each =
      map_reals(e, {DType::f64, pair_shape(e)}, f, *e.inputs[0], *e.inputs[1], *e.inputs[2]);
  auto n = static_cast<double>(each.count());
  return reduce_loss(e, std::move(each), n);
}
Result<Types> infer_gaussian(const Call& c) {
  FIEL_TRY_STATUS(check_reduction(c, false));
  FIEL_TRY(Shape shape, broadcast(c.shape(0), c.shape(1)));
  FIEL_TRY(Shape all, broadcast(shape, c.shape(2)));
  if (all != shape) return refuse("var does not fit the input");
  return reduced_loss(c, promote_all(c), std::move(shape));
}
Result<Values> evaluate_gaussian(const Evaluation& e) {
  double eps = e.call.real("eps"), constant = e.call.flag("full") ? 0.5 * std::log(2 * M_PI) : 0;
  auto f = [=](double x, double y, double v) {
    v = v < eps ? eps : v;
    return 0.5 * (std::log(v) + (x - y) * (x - y) / v) + constant;
  };
  Value each =
      map_reals(e, {DType::f64, pair_shape(e)}, f, *e.inputs[0], *e.inputs[1], *e.inputs[2]);
  auto n = static_cast<double>(each.count());
  return reduce_loss(e, std::move(each), n);
}

/// One operation or so an element; the chain is what the mean or the sum adds up.
Work loss_cost(const Call& c) {
  double n = static_cast<double>(saturating_product(c.shape(0)));
  return {4 * n, c.text("reduction") == "none" ? 0 : n};
}

}  // namespace

std::vector<Operator> loss_operators() {
  auto pair = [](const char* signature, const char* doc, Evaluate evaluate,
                 Infer infer = infer_pair) -> Operator {
    return {signature, doc, infer, evaluate, loss_cost};
  };
  std::vector<Operator> rows = {
      pair("mse_loss(input, target, reduction: str = \"mean\")", "(x − y)²", evaluate_mse),
      pair("l1_loss(input, target, reduction: str = \"mean\")", "\\|x − y\\|", evaluate_l1),
      pair("smooth_l1_loss(input, target, reduction: str = \"mean\", beta: float = 1.0)",
           "d² / (2 beta) where d = \\|x − y\\| < beta, else d − beta / 2", evaluate_smooth_l1,
           infer_smooth_l1),
      pair("huber_loss(input, target, reduction: str = \"mean\", delta: float = 1.0)",
           "d² / 2 where d = \\|x − y\\| <= delta, else delta · (d − delta / 2)", evaluate_huber,
           infer_huber),
      pair("kl_div(input, target, reduction: str = \"mean\", log_target: bool = False)",
           "y · (log y − x), x a log-probability; reduction may be batchmean", evaluate_kl_div),
      pair("poisson_nll_loss(input, target, log_input: bool = True, full: bool = False, eps: float "
           "= 1e-08, reduction: str = \"mean\")",
           "exp(x) − y · x, or of the rate itself", evaluate_poisson),
      pair("soft_margin_loss(input, target, reduction: str = \"mean\")", "log(1 + exp(−y · x))",
           evaluate_soft_margin),
      pair("hinge_embedding_loss(input, target, margin: float = 1.0, reduction: str = \"mean\")",
           "x where y = 1, max(0, margin − x) where y = −1", evaluate_hinge_embedding),
      pair("binary_cross_entropy(input, target, weight?, reduction: str = \"mean\")",
           "−(y log x + (1 − y) log(1 − x)), logarithms not below −100", evaluate_bce,
           infer_same_shape),
      pair("binary_cross_entropy_with_logits(input, target, weight?, reduction: str = \"mean\", "
           "pos_weight?)",
           "binary_cross_entropy of sigmoid(x), stable", evaluate_bce_logits, infer_same_shape),
      pair("margin_ranking_loss(input1, input2, target, margin: float = 0.0, reduction: str = "
           "\"mean\")",
           "max(0, −y · (x1 − x2) + margin)", evaluate_margin_ranking, infer_margin_ranking),
      pair("gaussian_nll_loss(input, target, var, full: bool = False, eps: float = 1e-06, "
           "reduction: str = \"mean\")",
           "(log v + (x − y)² / v) / 2", evaluate_gaussian, infer_gaussian),
  };
  for (Operator& op : class_loss_operators()) rows.push_back(std::move(op));
  for (Operator& op : distance_operators()) rows.push_back(std::move(op));
  return rows;
}

}  // namespace fiel::graph
