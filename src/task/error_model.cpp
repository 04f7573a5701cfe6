#include "task/error_model.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/parallel.h"
#include "base/unit_interval.h"
#include "task/node_evaluation.h"
#include "task/plain_products.h"
#include "tensor/convert.h"

namespace fiel::task {

namespace {

/// Perturbed evaluations. Eight signs from the rows of a Hadamard matrix: up to seven sources of
/// error that meet in one element never cancel by chance in all of them, nor do seven neighbours
/// that a sum meets, where random signs of as few trials would leave one element in ten thousand
/// with a sensitivity near zero.
constexpr uint32_t kTrials = 8;
/// Beyond this much work four trials do: three sources apart instead of seven. What an element then
/// lacks by chance, the floor of its row's scale makes up (docs/numerics.md).
constexpr double kFewTrialsFlops = 5e7;
constexpr uint32_t kFewTrials = 4;
constexpr int64_t kGrain = 1 << 16;

uint64_t mix(uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

/// Walks a tensor's elements and names each a row of the matrix, so that the first few neighbours
/// in any dimension have different ones. A sum over two or three elements would else meet two of
/// one row in every fourteenth case, with one sign, and their difference would look insensitive.
class RowWalk {
 public:
  RowWalk(const Shape& shape, int64_t begin) : shape_(shape), at_(unravel(begin, shape)) {
    for (size_t d = 0; d < shape.size(); ++d) place_ += weight(d) * static_cast<uint64_t>(at_[d]);
  }
  uint64_t place() const { return place_; }
  void next() {
    for (size_t d = shape_.size(); d-- > 0;) {
      place_ += weight(d);
      if (++at_[d] < shape_[d]) return;
      place_ -= weight(d) * static_cast<uint64_t>(shape_[d]);
      at_[d] = 0;
    }
  }

 private:
  /// 1 or 2: no multiple of 3 or 7, the numbers of rows.
  uint64_t weight(size_t d) const { return 1 + ((shape_.size() - d - 1) & 1); }

  const Shape& shape_;
  Shape at_;
  uint64_t place_ = 0;
};

/// One trial: v[i] · (1 ± amount · m), signs by source and element, m drawn from 0 to sqrt(3), so
/// that its mean square is 1. With one m for all, two elements of one row and sign would move as
/// one in every trial, wherever they stand: what a softmax makes of the two largest of its row,
/// which is their difference, looked insensitive in every fourteenth row.
class Perturbation {
 public:
  Perturbation(uint64_t seed, uint32_t trial, uint32_t trials)
      : seed_(seed), trial_(trial), rows_(trials - 1) {}

  void apply(Tensor& t, double amount, uint64_t source) const {
    double* v = t.data_as<double>();
    const uint64_t key = mix(seed_ ^ (source * 0x2545f4914f6cdd1dull));
    parallel_for(t.numel(), kGrain, 0, [&](int64_t begin, int64_t end) {
      RowWalk walk(t.shape(), begin);
      for (int64_t i = begin; i < end; ++i, walk.next()) {
        // The row of the Hadamard matrix: different sources at one element take different rows.
        const uint64_t row = 1 + (walk.place() + source) % rows_;
        const bool odd = (std::popcount(row & trial_) & 1) != 0;
        const uint64_t drawn = mix(key ^ static_cast<uint64_t>(i));
        const bool flip = (drawn & 1) != 0;
        const double by = amount * kLargest * unit_interval(mix(drawn + trial_));
        v[i] *= odd != flip ? 1 - by : 1 + by;
      }
    });
  }

 private:
  static constexpr double kLargest =
      1.7320508075688772;  ///< uniform from 0 to sqrt(3): mean square 1

  uint64_t seed_;
  uint32_t trial_, rows_;
};

/// Activations whose usual formula, PyTorch's own too, subtracts numbers near 1 or near x: 1 + erf
/// in gelu, exp - 1 in elu. Their error is relative to that number, not to the small result.
enum class Cancels : uint8_t { no, near_one, near_argument };
Cancels cancellation(const NodePlan& plan) {
  static constexpr std::string_view argument[] = {"gelu", "tanhshrink", "mish"};
  static constexpr std::string_view one[] = {"elu", "selu", "celu", "softplus", "logsigmoid"};
  const std::string_view op = plan.alone.nodes.back().op;
  if (std::find(std::begin(argument), std::end(argument), op) != std::end(argument))
    return Cancels::near_argument;
  return std::find(std::begin(one), std::end(one), op) != std::end(one) ? Cancels::near_one
                                                                        : Cancels::no;
}

/// v[i] ± amount · scale, where scale is 1 or |x[i]|.
void move_cancelled(Tensor& t, const Tensor& x, Cancels kind, double amount, uint64_t key) {
  if (x.dtype() != DType::f64 || x.numel() != t.numel() || !x.is_contiguous()) return;
  double* v = t.data_as<double>();
  const double* a = x.data_as<double>();
  for (int64_t i = 0; i < t.numel(); ++i) {
    if (!std::isfinite(a[i])) continue;
    const double scale = kind == Cancels::near_one ? 1.0 : std::fabs(a[i]);
    v[i] += (mix(key ^ static_cast<uint64_t>(i)) & 1) != 0 ? amount * scale : -amount * scale;
  }
}

double growth(double n, bool systematic) {
  return ErrorModel{.reduction_length = n, .systematic = systematic}.growth();
}

/// Adds (moved - reference)^2 to sum, element by element. Where both are the same infinity or both
/// NaN nothing moved; where one is not finite the element has no bound.
void add_square(const Tensor& reference, const Tensor& moved, Tensor& sum) {
  const std::vector<double> a = reference.to_f64(), b = moved.to_f64();
  double* s = sum.data_as<double>();
  for (size_t i = 0; i < a.size(); ++i) {
    const double d = b[i] - a[i];
    if (a[i] == b[i] || !std::isfinite(a[i])) continue;
    s[i] += d * d;
  }
}

void finish(Tensor& sum, uint32_t trials, double unit) {
  double* s = sum.data_as<double>();
  for (int64_t i = 0; i < sum.numel(); ++i) s[i] = std::sqrt(s[i] / trials) / unit;
}

std::vector<Tensor> zeros_like(const std::vector<Tensor>& reference) {
  std::vector<Tensor> out;
  for (const Tensor& t : reference) out.push_back(Tensor::empty(DType::f64, t.shape()));
  return out;
}

using Amount = std::function<double(const NodePlan&)>;

/// The rms movement of each output element over the trials. `operand` and `result` say by how much
/// a node's operands and result are perturbed.
Result<std::vector<Tensor>> measure(const NodeEvaluation& nodes, const std::vector<Tensor>& inputs,
                                    const std::vector<Tensor>& reference, uint64_t seed,
                                    uint32_t trials, double unit, const Amount& operand,
                                    const Amount& result) {
  std::vector<Tensor> sums = zeros_like(reference);
  for (uint32_t trial = 0; trial < trials; ++trial) {
    const Perturbation p(seed, trial, trials);
    NodeHooks hooks;
    Tensor argument;  // of the node that is being evaluated
    hooks.operand = [&](const NodePlan& plan, size_t slot, const Tensor& v) {
      if (slot == 0) argument = v;
      const double amount = operand(plan);
      if (amount == 0) return v;
      Tensor moved = v.clone();
      p.apply(moved, amount, 1 + 8 * uint64_t{plan.node} + slot);
      return moved;
    };
    hooks.result = [&](const NodePlan& plan, Tensor& v) {
      const double amount = result(plan);
      if (amount <= 0) return;
      p.apply(v, amount, 7 + 8 * uint64_t{plan.node});
      if (const Cancels kind = cancellation(plan); kind != Cancels::no)
        move_cancelled(v, argument, kind, amount, mix(seed + 31 * trial + plan.node));
    };
    FIEL_TRY(const std::vector<Tensor> moved, nodes.run(inputs, hooks));
    for (size_t o = 0; o < sums.size(); ++o) add_square(reference[o], moved[o], sums[o]);
  }
  for (Tensor& s : sums) finish(s, trials, unit);
  return sums;
}

/// Is the sum of the products' squares the same operator on squares?
bool is_product(const NodePlan& plan) {
  static constexpr std::string_view kProducts[] = {"matmul",
                                                   "mm",
                                                   "bmm",
                                                   "mv",
                                                   "dot",
                                                   "linear",
                                                   "conv1d",
                                                   "conv2d",
                                                   "conv3d",
                                                   "conv_transpose1d",
                                                   "conv_transpose2d",
                                                   "conv_transpose3d"};
  const std::string_view op = plan.alone.nodes.back().op;
  return std::find(std::begin(kProducts), std::end(kProducts), op) != std::end(kProducts);
}

bool is_sum(const NodePlan& plan) {
  const std::string_view op = plan.alone.nodes.back().op;
  return op == "sum" || op == "mean";
}

/// Its deviation is known.
bool adds_up(const NodePlan& plan) { return is_product(plan) || is_sum(plan); }

/// What rounding amounts to in each element of a product: sqrt(2 Σ a² b² + y²), or of a sum:
/// sqrt(Σ x² + y²).
Result<Tensor> deviation(const NodePlan& plan, const std::vector<Tensor>& operands,
                         const Tensor& result) {
  std::vector<Tensor> squares;
  for (const Tensor& t : operands) {
    squares.push_back(t.clone());
    double* v = squares.back().data_as<double>();
    for (int64_t i = 0; i < t.numel(); ++i) v[i] *= v[i];
  }
  FIEL_TRY(std::vector<Tensor> sums, graph::evaluate(plan.alone, squares));
  Tensor out = sums.front().clone();
  double* s = out.data_as<double>();
  const double* y = result.data_as<double>();
  double terms = 2;
  if (is_sum(plan))
    terms = plan.alone.nodes.back().op == "mean" ? 1 / std::max(1.0, plan.reduction_length) : 1;
  for (int64_t i = 0; i < out.numel(); ++i) s[i] = std::sqrt(terms * s[i] + y[i] * y[i]);
  return out;
}

/// By how much products and sums are shifted to see what moves beside a kink: by kReach of their
/// own deviations, in the class that they may run in.
///
/// An error reaches 4 units (docs/numerics.md). Of an element that is e units from a clamp's border
/// it lets 4 - e through; shifted by 6 the element moves by (6 - e) / 6, of which a bound allows 8.
constexpr double kReach = 6;

/// Up or down by a drawn sign each, the other way, or all away from zero: so much is what operands
/// that are cut to TF32 amount to, and no average takes it out again.
enum class Shift : uint8_t { one, other, all };

double sign_of(Shift shift, uint64_t key, int64_t i, double y) {
  if (shift == Shift::all) return y < 0 ? -1 : 1;
  const bool up = (mix(key ^ static_cast<uint64_t>(i)) & 1) != 0;
  return up == (shift == Shift::one) ? 1 : -1;
}

Result<std::vector<Tensor>> shifted(const NodeEvaluation& nodes, const std::vector<Tensor>& inputs,
                                    Shift shift, uint64_t seed, const Amount& amount) {
  std::vector<Tensor> operands;
  Status failure;
  NodeHooks hooks;
  hooks.operand = [&](const NodePlan& plan, size_t slot, const Tensor& v) {
    if (slot == 0) operands.clear();
    if (adds_up(plan)) operands.push_back(v);
    return v;
  };
  hooks.result = [&](const NodePlan& plan, Tensor& v) {
    if (!failure || !adds_up(plan) || operands.size() != plan.operands.size()) return;
    Result<Tensor> spread = deviation(plan, operands, v);
    if (!spread) {
      failure = fail(spread.error());
      return;
    }
    const double by = amount(plan);
    const uint64_t key = mix(seed + plan.node);
    double* y = v.data_as<double>();
    const double* s = spread->data_as<double>();
    for (int64_t i = 0; i < v.numel(); ++i)
      if (std::isfinite(s[i])) y[i] += sign_of(shift, key, i, y[i]) * by * s[i];
  };
  FIEL_TRY(std::vector<Tensor> moved, nodes.run(inputs, hooks));
  FIEL_TRY_STATUS(failure);
  return moved;
}

void raise_to(Tensor& sensitivity, const Tensor& least) {
  double* s = sensitivity.data_as<double>();
  const double* other = least.data_as<double>();
  for (int64_t i = 0; i < sensitivity.numel(); ++i) s[i] = std::max(s[i], other[i]);
}

/// How far the outputs move when products and sums alone do, up or down, in units of `unit`. Trials
/// leave an element in millions looking insensitive by chance, and one that a clamp or a maximum
/// hides, though the errors of its class bring it out. `lowered`: how many units that class's are.
Result<std::vector<Tensor>> sums_alone(const NodeEvaluation& nodes,
                                       const std::vector<Tensor>& inputs,
                                       const std::vector<Tensor>& reference, uint64_t seed,
                                       double unit, double lowered, const Amount& rounding) {
  std::vector<Tensor> furthest = zeros_like(reference);
  const double reach = kReach * lowered;
  const Amount amount = [&](const NodePlan& plan) { return reach * rounding(plan); };
  for (const Shift shift : {Shift::one, Shift::other, Shift::all}) {
    FIEL_TRY(const std::vector<Tensor> moved, shifted(nodes, inputs, shift, seed, amount));
    std::vector<Tensor> squares = zeros_like(reference);
    for (size_t o = 0; o < squares.size(); ++o) {
      add_square(reference[o], moved[o], squares[o]);
      finish(squares[o], 1, unit * reach);
      raise_to(furthest[o], squares[o]);
    }
  }
  return furthest;
}

/// One product and nothing else that rounds: what is computed says all.
bool is_product_alone(const NodeEvaluation& nodes, const std::vector<Tensor>& reference) {
  int64_t rounding = 0, products = 0;
  for (const NodePlan& plan : nodes.plans()) {
    rounding += plan.exact ? 0 : 1;
    products += is_product(plan) ? 1 : 0;
  }
  return rounding == 1 && products == 1 &&
         std::all_of(reference.begin(), reference.end(),
                     [](const Tensor& t) { return is_floating(t.dtype()); });
}

bool is_output(const graph::Graph& graph, uint32_t node) {
  return std::any_of(graph.outputs.begin(), graph.outputs.end(),
                     [&](const graph::Output& o) { return o.node == node; });
}

/// Rounding the result itself is the least that an element has, also where an operand's change
/// happens to cancel it in every trial.
void raise_to_own_rounding(const NodeEvaluation& nodes, const std::vector<Tensor>& reference,
                           double unit, const Amount& rounding, std::vector<Tensor>& sensitivity) {
  for (size_t o = 0; o < sensitivity.size(); ++o)
    for (const NodePlan& plan : nodes.plans()) {
      if (plan.node != nodes.graph().outputs[o].node || !is_floating(reference[o].dtype()))
        continue;
      const double share = rounding(plan) / unit;
      const double* y = reference[o].data_as<double>();
      double* s = sensitivity[o].data_as<double>();
      for (int64_t i = 0; i < reference[o].numel(); ++i)
        if (std::isfinite(y[i])) s[i] = std::max(s[i], share * std::abs(y[i]));
    }
}

Result<std::vector<Tensor>> sensitivities(const NodeEvaluation& nodes,
                                          const std::vector<Tensor>& inputs,
                                          const std::vector<Tensor>& reference, uint64_t seed,
                                          uint32_t trials, double unit, double lowered,
                                          const Amount& rounding) {
  if (is_product_alone(nodes, reference))
    return sums_alone(nodes, inputs, reference, seed + 2, unit, lowered, rounding);
  FIEL_TRY(std::vector<Tensor> drawn,
           measure(nodes, inputs, reference, seed, trials, unit, rounding, rounding));
  raise_to_own_rounding(nodes, reference, unit, rounding, drawn);
  if (std::none_of(nodes.plans().begin(), nodes.plans().end(), adds_up)) return drawn;
  FIEL_TRY(const std::vector<Tensor> least,
           sums_alone(nodes, inputs, reference, seed + 2, unit, lowered, rounding));
  for (size_t o = 0; o < drawn.size(); ++o) raise_to(drawn[o], least[o]);
  return drawn;
}

double arithmetic_of(const Instance& instance) {
  const bool doubles = std::any_of(instance.outputs.begin(), instance.outputs.end(),
                                   [](const auto& t) { return t.dtype == DType::f64; });
  return doubles ? 0x1p-53 : 0x1p-24;
}

bool holds_nan(const Tensor& t) {
  const auto is_nan = [](double v) { return std::isnan(v); };
  if (!is_floating(t.dtype())) return false;
  if (t.dtype() == DType::f64 && t.is_contiguous())
    return std::any_of(t.data_as<double>(), t.data_as<double>() + t.numel(), is_nan);
  const std::vector<double> values = t.to_f64();
  return std::any_of(values.begin(), values.end(), is_nan);
}

/// Without a NaN of the reference nothing hangs on the inputs, which nobody then reads for it.
SpecialRule special_rule(const Task& task, const std::vector<Tensor>& inputs,
                         const std::vector<Tensor>& reference) {
  if (task.special_values == "ignore") return SpecialRule::ignore;
  if (std::none_of(reference.begin(), reference.end(), holds_nan)) return SpecialRule::propagate;
  return std::any_of(inputs.begin(), inputs.end(), holds_nan) ? SpecialRule::propagate
                                                              : SpecialRule::indeterminate;
}

ErrorModel plain_model(const Instance& instance, const Task& task, size_t output, bool systematic,
                       SpecialRule special) {
  ErrorModel m;
  m.output = instance.outputs[output].dtype;
  m.unit = arithmetic_of(instance);
  m.reduction_length = instance.cost.reduction_length;
  m.systematic = systematic;
  m.factor = task.tolerance.max_ulp_factor.value_or(1);
  m.relative_rms = task.tolerance.relative_rms;
  m.special = special;
  // A product of f32 matrices may run in TF32, and is then labelled so.
  if (m.output == DType::f32 && has_contraction(instance.graph)) m.lowest = NumericsClass::tf32;
  return m;
}

void round_through(Tensor& t, DType dtype) {
  const Tensor narrow = t.to(dtype);
  to_f64(dtype, narrow.data(), narrow.numel(), t.data_as<double>());
}

}  // namespace

Result<std::vector<ErrorModel>> error_models(const Instance& instance, const Task& task,
                                             const std::vector<Tensor>& inputs,
                                             const std::vector<Tensor>& reference,
                                             const ErrorModelOptions& options) {
  const SpecialRule special = special_rule(task, inputs, reference);
  std::vector<ErrorModel> models;
  for (size_t o = 0; o < instance.outputs.size(); ++o)
    models.push_back(plain_model(instance, task, o, options.systematic, special));
  if (!options.measure) return models;
  FIEL_TRY(const NodeEvaluation nodes, NodeEvaluation::create(instance));
  const double u = arithmetic_of(instance);
  auto rounding = [&](const NodePlan& plan) {
    return plan.exact ? 0 : u * growth(plan.reduction_length, options.systematic);
  };
  const uint32_t trials = instance.cost.flops > kFewTrialsFlops ? kFewTrials : kTrials;
  const double unit = u * growth(instance.cost.reduction_length, options.systematic);
  FIEL_TRY(const bool exact, factors_are_tf32(nodes, inputs));
  const bool may_be_tf32 = std::any_of(models.begin(), models.end(), [](const ErrorModel& m) {
    return m.lowest == NumericsClass::tf32;
  });
  const double tf32_unit = exact ? kExactOperandsUnit : ErrorModel{}.tf32_unit;
  const double lowered = may_be_tf32 ? std::max(1.0, tf32_unit / unit) : 1;
  FIEL_TRY(
      std::vector<Tensor> sensitivity,
      sensitivities(nodes, inputs, reference, mix(options.seed), trials, unit, lowered, rounding));
  for (size_t o = 0; o < models.size(); ++o) {
    models[o].sensitivity = std::move(sensitivity[o]);
    if (exact) models[o].tf32_unit = kExactOperandsUnit;
  }

  // Intermediates that the task's own types round: an eager program stores them.
  auto storing = [&](const NodePlan& plan) {
    const double own = unit_roundoff(plan.type.dtype);
    return plan.exact || own <= u || is_output(nodes.graph(), plan.node) ? 0 : own;
  };
  if (std::none_of(nodes.plans().begin(), nodes.plans().end(),
                   [&](const NodePlan& p) { return storing(p) > 0; }))
    return models;
  FIEL_TRY(std::vector<Tensor> storage, measure(
                                            nodes, inputs, reference, mix(options.seed + 1), trials,
                                            1, [](const NodePlan&) { return 0.0; }, storing));
  for (size_t o = 0; o < models.size(); ++o) models[o].storage = std::move(storage[o]);
  return models;
}

Result<std::vector<Tensor>> evaluate_rounded(const Instance& instance,
                                             const std::vector<Tensor>& inputs,
                                             DType intermediate) {
  FIEL_TRY(const NodeEvaluation nodes, NodeEvaluation::create(instance));
  NodeHooks hooks;
  hooks.operand = [&](const NodePlan& plan, size_t, const Tensor& v) {
    if (plan.exact) return v;
    Tensor rounded = v.clone();
    round_through(rounded, intermediate);
    return rounded;
  };
  hooks.result = [&](const NodePlan& plan, Tensor& v) {
    if (!plan.exact) round_through(v, intermediate);
  };
  FIEL_TRY(std::vector<Tensor> outputs, nodes.run(inputs, hooks));
  for (size_t o = 0; o < outputs.size(); ++o) outputs[o] = outputs[o].to(instance.outputs[o].dtype);
  return outputs;
}

}  // namespace fiel::task
