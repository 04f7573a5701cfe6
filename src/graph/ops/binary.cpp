// Operators of several tensors, element by element: arithmetic, comparison, logic, selection.
#include <fmt/core.h>

#include <cmath>
#include <limits>

#include "graph/ops/elementwise.h"

namespace fiel::graph {
namespace {

using Values = std::vector<Value>;

Result<Types> promoted(const Call& c) {
  FIEL_TRY(Shape shape, broadcast_all(c));
  return one(promote_all(c), std::move(shape));
}
Result<Types> promoted_numbers(const Call& c) {
  FIEL_TRY(Types types, promoted(c));
  if (types[0].dtype == DType::boolean)
    return refuse("is not defined on bools", "use logical_xor, or cast: to(x, \"f32\")");
  return types;
}
Result<Types> promoted_floating(const Call& c) {
  FIEL_TRY(Types types, promoted(c));
  types[0].dtype = floating_or_default(types[0].dtype);
  return types;
}
Result<Types> promoted_floating_only(const Call& c) {
  FIEL_TRY(Types types, promoted(c));
  if (!is_floating(types[0].dtype)) return refuse("is defined on floating tensors only");
  return types;
}
Result<Types> promoted_integers_only(const Call& c) {
  FIEL_TRY(Types types, promoted(c));
  if (is_floating(types[0].dtype)) return refuse("is defined on integers and bools only");
  return types;
}
Result<Types> promoted_integers_without_bools(const Call& c) {
  FIEL_TRY(Types types, promoted_integers_only(c));
  if (types[0].dtype == DType::boolean) return refuse("is not defined on bools");
  return types;
}
Result<Types> promoted_to_f64(const Call& c) {
  FIEL_TRY(Types types, promoted(c));
  types[0].dtype = DType::f64;
  return types;
}
/// As PyTorch: one dtype. A number as `values` takes the input's.
Result<Types> infer_heaviside(const Call& c) {
  FIEL_TRY(Types types, promoted(c));
  const DType input = c.type(0).dtype;
  if (c.inputs[0].weak) return refuse("input must be a tensor");
  if (types[0].dtype != input || (!c.inputs[1].weak && c.type(1).dtype != input))
    return refuse("input and values must have one dtype", "cast: to(values, \"f32\")");
  return types;
}
Result<Types> comparison(const Call& c) {
  FIEL_TRY(Shape shape, broadcast_all(c));
  return one(DType::boolean, std::move(shape));
}

/// Integers in, integers out, broadcast; wrapped to the result's dtype. Operands must not be
/// floating.
///
/// PyTorch converts the operands to their common dtype first: an i16 of rank 0 wraps where it meets
/// a u8 tensor.
template <typename F>
Value map_integers(const Evaluation& e, const TensorType& type, F f) {
  DType common = promote_slots(e.call, {0, 1});
  const Value a = e.inputs[0]->cast(common), b = e.inputs[1]->cast(common);
  std::array<Shape, 2> strides{broadcast_strides(a.shape(), type.shape),
                               broadcast_strides(b.shape(), type.shape)};
  Value out = Value::make(type);
  for_each_row<2>(e.threads, type.shape, strides,
                  [&](int64_t at, int64_t count, const std::array<int64_t, 2>& offset,
                      const std::array<int64_t, 2>& step) {
                    const int64_t *x = a.integers() + offset[0], *y = b.integers() + offset[1];
                    for (int64_t i = 0; i < count; ++i)
                      out.integers()[at + i] =
                          wrap_integer(type.dtype, f(x[i * step[0]], y[i * step[1]]));
                  });
  return out;
}

template <double (*Real)(double, double)>
Result<Values> real_only(const Evaluation& e) {
  return Values{map_reals(
      e, e.call.results[0], [](double a, double b) { return Real(a, b); }, *e.inputs[0],
      *e.inputs[1])};
}

template <double (*Real)(double, double), int64_t (*Integer)(int64_t, int64_t)>
Result<Values> arithmetic(const Evaluation& e) {
  if (is_floating(e.call.results[0].dtype)) return real_only<Real>(e);
  return Values{map_integers(e, e.call.results[0], Integer)};
}

template <bool (*Real)(double, double), bool (*Integer)(int64_t, int64_t)>
Result<Values> compare(const Evaluation& e) {
  const Value &a = *e.inputs[0], &b = *e.inputs[1];
  const TensorType& type = e.call.results[0];
  if (!a.floating() && !b.floating())
    return Values{
        map_integers(e, type, [](int64_t x, int64_t y) -> int64_t { return Integer(x, y); })};
  Value wide = map_reals(
      e, {DType::f64, type.shape}, [](double x, double y) { return Real(x, y) ? 1.0 : 0.0; }, a, b);
  return Values{wide.cast(DType::boolean)};
}

uint64_t u(int64_t v) { return static_cast<uint64_t>(v); }
int64_t s(uint64_t v) { return static_cast<int64_t>(v); }
int64_t i_mul(int64_t a, int64_t b) { return s(u(a) * u(b)); }

Result<Types> infer_scaled(const Call& c) {
  FIEL_TRY(Types types, promoted(c));
  double alpha = c.real("alpha");
  if (!is_floating(types[0].dtype) && alpha != std::trunc(alpha))
    return refuse("alpha must be an integer for integer tensors");
  return types;
}
template <int Sign>
Result<Values> add_scaled(const Evaluation& e) {
  double alpha = Sign * e.call.real("alpha");
  const TensorType& type = e.call.results[0];
  if (is_floating(type.dtype))
    return Values{map_reals(
        e, type, [alpha](double a, double b) { return a + alpha * b; }, *e.inputs[0],
        *e.inputs[1])};
  auto factor = static_cast<int64_t>(alpha);
  return Values{map_integers(
      e, type, [factor](int64_t a, int64_t b) { return s(u(a) + u(i_mul(factor, b))); })};
}
Result<Types> infer_sub(const Call& c) {
  for (size_t slot : {0u, 1u})
    if (c.type(slot).dtype == DType::boolean)
      return refuse("is not defined on bools", "use logical_xor or bitwise_xor");
  return infer_scaled(c);
}

double f_mul(double a, double b) { return a * b; }
double f_div(double a, double b) { return a / b; }

/// Python's floor division and remainder on doubles, as PyTorch's div_floor_floating.
double f_floor_divide(double a, double b) {
  if (b == 0) return a / b;
  double mod = std::fmod(a, b), quotient = (a - mod) / b;
  if (mod != 0 && (b < 0) != (mod < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(0.0, a / b);
  double floored = std::floor(quotient);
  return quotient - floored > 0.5 ? floored + 1 : floored;
}
double f_remainder(double a, double b) {
  double mod = std::fmod(a, b);
  return mod != 0 && (b < 0) != (mod < 0) ? mod + b : mod;
}
double f_trunc_divide(double a, double b) { return std::trunc(a / b); }
double f_fmod(double a, double b) { return std::fmod(a, b); }
double f_pow(double a, double b) { return std::pow(a, b); }
double f_maximum(double a, double b) {
  return std::isnan(a) ? a : std::isnan(b) ? b : a > b ? a : b;
}
double f_minimum(double a, double b) {
  return std::isnan(a) ? a : std::isnan(b) ? b : a < b ? a : b;
}
double f_fmax(double a, double b) { return std::fmax(a, b); }
double f_fmin(double a, double b) { return std::fmin(a, b); }
double f_atan2(double a, double b) { return std::atan2(a, b); }
double f_hypot(double a, double b) { return std::hypot(a, b); }
double f_copysign(double a, double b) { return std::copysign(a, b); }
double f_logaddexp(double a, double b) {
  if (std::isinf(a) && a == b) return a;
  double m = std::fmax(a, b);
  return std::isnan(a) || std::isnan(b) ? a + b : m + std::log1p(std::exp(-std::fabs(a - b)));
}
double f_logaddexp2(double a, double b) {
  if (std::isinf(a) && a == b) return a;
  double m = std::fmax(a, b);
  return std::isnan(a) || std::isnan(b) ? a + b
                                        : m + std::log1p(std::exp2(-std::fabs(a - b))) / M_LN2;
}
double f_heaviside(double a, double b) { return a == 0 ? b : a > 0 ? 1 : 0; }  // NaN gives 0
double f_xlogy(double a, double b) { return std::isnan(b) ? b : a == 0 ? 0 : a * std::log(b); }

// Division by an integer zero: PyTorch throws; so does the evaluation (checked before), here 0.
int64_t i_floor_divide(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return s(0 - u(a));
  int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}
int64_t i_trunc_divide(int64_t a, int64_t b) { return b == 0 ? 0 : b == -1 ? s(0 - u(a)) : a / b; }
int64_t i_remainder(int64_t a, int64_t b) {
  if (b == 0 || b == -1) return 0;
  int64_t m = a % b;
  return m != 0 && (m < 0) != (b < 0) ? m + b : m;
}
int64_t i_fmod(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a % b; }
int64_t i_pow(int64_t base, int64_t exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
  uint64_t result = 1, square = u(base);
  for (; exponent; exponent >>= 1, square *= square)
    if (exponent & 1) result *= square;
  return s(result);
}
int64_t i_maximum(int64_t a, int64_t b) { return std::max(a, b); }
int64_t i_minimum(int64_t a, int64_t b) { return std::min(a, b); }
int64_t i_heaviside(int64_t a, int64_t b) { return a == 0 ? b : a > 0; }
int64_t i_and(int64_t a, int64_t b) { return a & b; }
int64_t i_or(int64_t a, int64_t b) { return a | b; }
int64_t i_xor(int64_t a, int64_t b) { return a ^ b; }

template <double (*Real)(double, double), int64_t (*Integer)(int64_t, int64_t)>
Result<Values> divide(const Evaluation& e) {
  if (is_floating(e.call.results[0].dtype)) return real_only<Real>(e);
  const Value& divisor = *e.inputs[1];
  for (int64_t i = 0; i < divisor.count(); ++i)
    if (divisor.integers()[i] == 0) return fail(ErrorCode::usage, "an integer is divided by zero");
  return Values{map_integers(e, e.call.results[0], Integer)};
}

Result<Types> infer_div(const Call& c) {
  std::string mode = c.text("rounding_mode");
  if (mode.empty()) return promoted_floating(c);
  if (mode != "trunc" && mode != "floor")
    return refuse(fmt::format("rounding_mode must be \"trunc\" or \"floor\", not \"{}\"", mode));
  return promoted_numbers(c);
}
Result<Values> evaluate_div(const Evaluation& e) {
  std::string mode = e.call.text("rounding_mode");
  if (mode == "trunc") return divide<f_trunc_divide, i_trunc_divide>(e);
  if (mode == "floor") return divide<f_floor_divide, i_floor_divide>(e);
  return real_only<f_div>(e);
}

/// PyTorch's shifts: by less than nothing or by all bits and more, nothing of the number is left
/// (to the right: its sign).
template <bool Left>
Result<Values> shift(const Evaluation& e) {
  const TensorType& type = e.call.results[0];
  const int64_t bits = 8 * size_of(type.dtype);
  return Values{map_integers(e, type, [bits](int64_t a, int64_t by) -> int64_t {
    const bool beyond = by < 0 || by >= bits;
    if constexpr (Left) return beyond ? 0 : s(u(a) << by);
    return beyond ? (a < 0 ? -1 : 0) : a >> by;
  })};
}

bool r_lt(double a, double b) { return a < b; }
bool r_le(double a, double b) { return a <= b; }
bool r_gt(double a, double b) { return a > b; }
bool r_ge(double a, double b) { return a >= b; }
bool r_eq(double a, double b) { return a == b; }
bool r_ne(double a, double b) { return a != b; }
bool r_and(double a, double b) { return a != 0 && b != 0; }
bool r_or(double a, double b) { return a != 0 || b != 0; }
bool r_xor(double a, double b) { return (a != 0) != (b != 0); }
bool i_lt(int64_t a, int64_t b) { return a < b; }
bool i_le(int64_t a, int64_t b) { return a <= b; }
bool i_gt(int64_t a, int64_t b) { return a > b; }
bool i_ge(int64_t a, int64_t b) { return a >= b; }
bool i_eq(int64_t a, int64_t b) { return a == b; }
bool i_ne(int64_t a, int64_t b) { return a != b; }
bool l_and(int64_t a, int64_t b) { return a && b; }
bool l_or(int64_t a, int64_t b) { return a || b; }
bool l_xor(int64_t a, int64_t b) { return !a != !b; }

// --- selection

Result<Types> infer_where(const Call& c) {
  if (c.type(0).dtype != DType::boolean && c.type(0).dtype != DType::u8)
    return refuse(fmt::format("condition must be bool, not {}", name_of(c.type(0).dtype)),
                  "compare: where(x > 0, a, b)");
  FIEL_TRY(Shape shape, broadcast_all(c));
  return one(promote_slots(c, {1, 2}), std::move(shape));
}

/// out = condition ? a : b with exact integers.
Value select(const Evaluation& e, const TensorType& type, const Value& condition, Value a,
             Value b) {
  a = a.cast(type.dtype);
  b = b.cast(type.dtype);
  Value out = Value::make(type);
  std::array<Shape, 3> strides{broadcast_strides(condition.shape(), type.shape),
                               broadcast_strides(a.shape(), type.shape),
                               broadcast_strides(b.shape(), type.shape)};
  for_each_row<3>(e.threads, type.shape, strides,
                  [&](int64_t at, int64_t count, const std::array<int64_t, 3>& offset,
                      const std::array<int64_t, 3>& step) {
                    const int64_t* mask = condition.integers() + offset[0];
                    for (int64_t i = 0; i < count; ++i) {
                      bool first = mask[i * step[0]] != 0;
                      int64_t from = first ? offset[1] + i * step[1] : offset[2] + i * step[2];
                      if (out.floating())
                        out.reals()[at + i] = (first ? a : b).reals()[from];
                      else
                        out.integers()[at + i] = (first ? a : b).integers()[from];
                    }
                  });
  return out;
}
Result<Values> evaluate_where(const Evaluation& e) {
  return Values{select(e, e.call.results[0], *e.inputs[0], *e.inputs[1], *e.inputs[2])};
}

Result<Types> infer_masked_fill(const Call& c) {
  if (c.type(1).dtype != DType::boolean) return refuse("mask must be bool");
  if (!c.shape(2).empty()) return refuse("value must be a number or a tensor of rank 0");
  FIEL_TRY(Shape shape, broadcast(c.shape(0), c.shape(1)));
  return one(c.type(0).dtype, std::move(shape));
}
Result<Values> evaluate_masked_fill(const Evaluation& e) {
  return Values{select(e, e.call.results[0], *e.inputs[1], *e.inputs[2], *e.inputs[0])};
}

Result<Types> infer_clamp(const Call& c) {
  if (!c.given(1) && !c.given(2)) return refuse("needs min or max");
  return promoted_numbers(c);
}
Result<Values> evaluate_clamp(const Evaluation& e) {
  const TensorType& type = e.call.results[0];
  Value out = e.inputs[0]->cast(type.dtype);
  auto apply = [&](const Value& bound, double (*real)(double, double),
                   int64_t (*integer)(int64_t, int64_t)) {
    if (out.floating()) {
      out = map_reals(e, type, real, out, bound);
      return;
    }
    Value other = bound.cast(type.dtype);
    Evaluation pair{e.call, {&out, &other}, e.threads, 0};
    out = map_integers(pair, type, integer);
  };
  if (e.call.given(1)) apply(*e.inputs[1], f_maximum, i_maximum);
  if (e.call.given(2)) apply(*e.inputs[2], f_minimum, i_minimum);
  return Values{out.shape() == type.shape ? out : out.reshaped(type.shape)};
}

Result<Values> evaluate_lerp(const Evaluation& e) {
  // The two branches are PyTorch's: exact at both ends.
  auto f = [](double a, double b, double w) {
    return std::fabs(w) < 0.5 ? a + w * (b - a) : b - (b - a) * (1 - w);
  };
  return Values{map_reals(e, e.call.results[0], f, *e.inputs[0], *e.inputs[1], *e.inputs[2])};
}
Result<Values> evaluate_addcmul(const Evaluation& e) {
  double value = e.call.real("value");
  auto f = [value](double a, double b, double c) { return a + value * b * c; };
  return Values{map_reals(e, e.call.results[0], f, *e.inputs[0], *e.inputs[1], *e.inputs[2])};
}
Result<Values> evaluate_addcdiv(const Evaluation& e) {
  double value = e.call.real("value");
  auto f = [value](double a, double b, double c) { return a + value * b / c; };
  return Values{map_reals(e, e.call.results[0], f, *e.inputs[0], *e.inputs[1], *e.inputs[2])};
}

Result<Types> infer_prelu(const Call& c) {
  FIEL_TRY_STATUS(need_floating(c, 0));
  FIEL_TRY_STATUS(need_rank(c, 1, 0, 1));
  int64_t n = numel(c.shape(1)), channels = c.shape(0).size() >= 2 ? c.shape(0)[1] : 1;
  if (n != 1 && n != channels)
    return refuse(fmt::format("weight has {} elements for {} channels", n, channels));
  return one(c.type(0).dtype, c.shape(0));
}
Result<Values> evaluate_prelu(const Evaluation& e) {
  const Value& x = *e.inputs[0];
  Shape shape(x.rank(), 1);
  int64_t n = e.inputs[1]->count();
  if (x.rank() >= 2) shape[1] = n;
  auto f = [](double v, double w) { return v > 0 ? v : v * w; };
  return Values{map_reals(e, e.call.results[0], f, x, e.inputs[1]->reshaped(shape))};
}

Result<Types> infer_glu(const Call& c) {
  FIEL_TRY_STATUS(need_floating(c, 0));
  if (c.shape(0).empty()) return refuse("input must have a dimension");
  FIEL_TRY(int64_t dim, normalize_dim(c.integer("dim"), c.shape(0).size()));
  Shape shape = c.shape(0);
  if (shape[static_cast<size_t>(dim)] % 2)
    return refuse(
        fmt::format("dimension {} must be even, not {}", dim, shape[static_cast<size_t>(dim)]));
  shape[static_cast<size_t>(dim)] /= 2;
  return one(c.type(0).dtype, std::move(shape));
}
Result<Values> evaluate_glu(const Evaluation& e) {
  const Value& x = *e.inputs[0];
  auto dim = static_cast<size_t>(normalize_dim(e.call.integer("dim"), x.rank()).value());
  int64_t inner = 1;
  for (size_t i = dim; i < x.rank(); ++i) inner *= x.size(i);
  int64_t half = inner / 2;
  Value out = Value::make(e.call.results[0]);
  parallel_for(inner ? x.count() / inner : 0,
               std::max<int64_t>(1, 8192 / std::max<int64_t>(1, half)), e.threads,
               [&](int64_t from, int64_t to) {
                 for (int64_t o = from; o < to; ++o)
                   for (int64_t i = 0; i < half; ++i) {
                     double a = x.reals()[o * inner + i], b = x.reals()[o * inner + half + i];
                     out.reals()[o * half + i] = a * (1 / (1 + std::exp(-b)));
                   }
               });
  return Values{std::move(out)};
}

Operator row(const char* signature, const char* doc, Infer infer, Evaluate evaluate) {
  return {signature, doc, infer, evaluate, elementwise_cost};
}

std::vector<Operator> arithmetic_rows() {
  return {
      row("add(input, other, alpha: float = 1.0)", "input + alpha · other", infer_scaled,
          add_scaled<1>),
      row("sub(input, other, alpha: float = 1.0)", "input − alpha · other", infer_sub,
          add_scaled<-1>),
      row("mul(input, other)", "product", promoted, arithmetic<f_mul, i_mul>),
      row("div(input, other, rounding_mode: str = None)",
          "quotient; rounding_mode \"trunc\" or \"floor\" keeps integers", infer_div, evaluate_div),
      row("floor_divide(input, other)", "floor of the quotient", promoted_numbers,
          divide<f_floor_divide, i_floor_divide>),
      row("remainder(input, other)", "Python's %: the sign of the divisor", promoted_numbers,
          divide<f_remainder, i_remainder>),
      row("fmod(input, other)", "C's fmod: the sign of the dividend", promoted_numbers,
          divide<f_fmod, i_fmod>),
      row("pow(input, exponent)", "power", promoted_numbers, arithmetic<f_pow, i_pow>),
      row("maximum(input, other)", "larger of the two; NaN wins", promoted,
          arithmetic<f_maximum, i_maximum>),
      row("minimum(input, other)", "smaller of the two; NaN wins", promoted,
          arithmetic<f_minimum, i_minimum>),
      row("fmax(input, other)", "larger of the two; NaN loses", promoted,
          arithmetic<f_fmax, i_maximum>),
      row("fmin(input, other)", "smaller of the two; NaN loses", promoted,
          arithmetic<f_fmin, i_minimum>),
      row("atan2(input, other)", "angle of the point (other, input)", promoted_floating,
          real_only<f_atan2>),
      row("hypot(input, other)", "sqrt(input² + other²) without overflow", promoted_floating_only,
          real_only<f_hypot>),
      row("copysign(input, other)", "magnitude of input, sign of other", promoted_floating,
          real_only<f_copysign>),
      row("logaddexp(input, other)", "log(exp(input) + exp(other))", promoted_floating_only,
          real_only<f_logaddexp>),
      row("logaddexp2(input, other)", "log2(2^input + 2^other)", promoted_floating_only,
          real_only<f_logaddexp2>),
      row("float_power(input, exponent)", "power in double, of integers too", promoted_to_f64,
          real_only<f_pow>),
      row("heaviside(input, values)", "0 below 0, 1 above, values at 0; one dtype", infer_heaviside,
          arithmetic<f_heaviside, i_heaviside>),
      row("xlogy(input, other)", "input · log(other), 0 where input is 0", promoted_floating,
          real_only<f_xlogy>),
  };
}

std::vector<Operator> comparison_rows() {
  return {
      row("lt(input, other)", "input < other", comparison, compare<r_lt, i_lt>),
      row("le(input, other)", "input <= other", comparison, compare<r_le, i_le>),
      row("gt(input, other)", "input > other", comparison, compare<r_gt, i_gt>),
      row("ge(input, other)", "input >= other", comparison, compare<r_ge, i_ge>),
      row("eq(input, other)", "input == other", comparison, compare<r_eq, i_eq>),
      row("ne(input, other)", "input != other", comparison, compare<r_ne, i_ne>),
      row("logical_and(input, other)", "both differ from 0", comparison, compare<r_and, l_and>),
      row("logical_or(input, other)", "either differs from 0", comparison, compare<r_or, l_or>),
      row("logical_xor(input, other)", "exactly one differs from 0", comparison,
          compare<r_xor, l_xor>),
      row("bitwise_and(input, other)", "bits of both", promoted_integers_only,
          arithmetic<f_mul, i_and>),
      row("bitwise_or(input, other)", "bits of either", promoted_integers_only,
          arithmetic<f_mul, i_or>),
      row("bitwise_xor(input, other)", "bits of exactly one", promoted_integers_only,
          arithmetic<f_mul, i_xor>),
      row("bitwise_left_shift(input, other)", "input · 2^other, bits beyond the dtype lost",
          promoted_integers_without_bools, shift<true>),
      row("bitwise_right_shift(input, other)", "floor(input / 2^other)",
          promoted_integers_without_bools, shift<false>),
  };
}

std::vector<Operator> selection_rows() {
  return {
      row("where(condition, input, other)", "input where the condition holds, else other",
          infer_where, evaluate_where),
      row("masked_fill(input, mask, value)", "value where the mask holds, else input",
          infer_masked_fill, evaluate_masked_fill),
      row("clamp(input, min?, max?)", "input limited to [min, max]; max wins where min > max",
          infer_clamp, evaluate_clamp),
      row("lerp(input, end, weight)", "input + weight · (end − input)", promoted_floating_only,
          evaluate_lerp),
      row("addcmul(input, tensor1, tensor2, value: float = 1.0)",
          "input + value · tensor1 · tensor2", promoted_floating_only, evaluate_addcmul),
      row("addcdiv(input, tensor1, tensor2, value: float = 1.0)",
          "input + value · tensor1 / tensor2", promoted_floating_only, evaluate_addcdiv),
      row("prelu(input, weight)", "x where x > 0, else weight of its channel · x", infer_prelu,
          evaluate_prelu),
      row("glu(input, dim: int = -1)", "first half · sigmoid(second half) along dim", infer_glu,
          evaluate_glu),
  };
}

}  // namespace

std::vector<Operator> binary_operators() {
  std::vector<Operator> rows = arithmetic_rows();
  for (auto* more : {comparison_rows, selection_rows})
    for (Operator& op : more()) rows.push_back(std::move(op));
  return rows;
}

}  // namespace fiel::graph
