// Operators of one tensor, element by element: activations and common mathematics.
#include <cmath>
#include <limits>

#include "graph/ops/elementwise.h"
#include "graph/special_functions.h"

namespace fiel::graph {
namespace {

using P = const double*;
constexpr double kInf = std::numeric_limits<double>::infinity();

Result<Types> same_type(const Call& c) { return one(c.type(0).dtype, c.shape(0)); }
Result<Types> to_floating(const Call& c) {
  return one(floating_or_default(c.type(0).dtype), c.shape(0));
}
Result<Types> floating_only(const Call& c) {
  FIEL_TRY_STATUS(need_floating(c, 0));
  return same_type(c);
}
Result<Types> to_bool(const Call& c) { return one(DType::boolean, c.shape(0)); }
Result<Types> integers_only(const Call& c) {
  if (is_floating(c.type(0).dtype))
    return refuse("input must hold integers or bools", "cast it: to(x, \"i32\")");
  return same_type(c);
}
Result<Types> numbers_only(const Call& c) {
  if (c.type(0).dtype == DType::boolean)
    return refuse("is not defined on bools", "use logical_not, or cast: to(x, \"f32\")");
  return same_type(c);
}

/// Attributes of the call as doubles, in the signature's order (bools and strings left out).
std::vector<double> parameters_of(const Call& c) {
  std::vector<double> out;
  for (const Parameter& p : c.op->parameters) {
    if (p.kind != ParameterKind::attribute) continue;
    if (p.type == AttributeType::real) out.push_back(c.has(p.name) ? c.real(p.name) : NAN);
    if (p.type == AttributeType::integer) out.push_back(static_cast<double>(c.integer(p.name)));
  }
  out.push_back(0);
  return out;
}

/// `Real` computes; `Integer` (may be null: then integers pass through) serves integer results.
template <double (*Real)(double, P), int64_t (*Integer)(int64_t) = nullptr>
Result<std::vector<Value>> apply(const Evaluation& e) {
  const Value& x = *e.inputs[0];
  const TensorType& type = e.call.results[0];
  std::vector<double> p = parameters_of(e.call);
  if (is_floating(type.dtype))
    return std::vector<Value>{map_reals(
        e, type, [&](double v) { return Real(v, p.data()); }, x)};
  if constexpr (Integer == nullptr) return std::vector<Value>{x.as_dtype(type.dtype)};
  Value out = Value::make(type);
  if constexpr (Integer != nullptr)
    for (int64_t i = 0; i < x.count(); ++i)
      out.integers()[i] = wrap_integer(type.dtype, Integer(x.integers()[i]));
  return std::vector<Value>{std::move(out)};
}

template <bool (*Test)(double)>
Result<std::vector<Value>> test(const Evaluation& e) {
  const Value& x = *e.inputs[0];
  Value out = Value::make(e.call.results[0]);
  for (int64_t i = 0; i < x.count(); ++i) out.integers()[i] = Test(x.real_at(i));
  return std::vector<Value>{std::move(out)};
}

// --- activations, as torch.nn.functional computes them (NaN and infinities included)
double relu(double x, P) { return x < 0 ? 0 : x; }
double relu6(double x, P) { return x < 0 ? 0 : x > 6 ? 6 : x; }
double leaky_relu(double x, P p) { return x > 0 ? x : x * p[0]; }
double elu(double x, P p) { return x <= 0 ? p[0] * std::expm1(x) : x; }
double selu(double x, P) {
  constexpr double kAlpha = 1.6732632423543772848170429916717;
  constexpr double kScale = 1.0507009873554804934193349852946;
  return x <= 0 ? kScale * kAlpha * std::expm1(x) : kScale * x;
}
double celu(double x, P p) { return x <= 0 ? p[0] * std::expm1(x / p[0]) : x; }
double gelu_exact(double x, P) { return x * 0.5 * std::erfc(-x * M_SQRT1_2); }
double gelu_tanh(double x, P) {
  double inner = M_SQRT2 * M_2_SQRTPI * 0.5 * (x + 0.044715 * x * x * x);
  return 0.5 * x * (1 + std::tanh(inner));
}
double sigmoid(double x, P) { return 1 / (1 + std::exp(-x)); }
double silu(double x, P) { return x / (1 + std::exp(-x)); }
double softplus_of(double x) {
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}
double mish(double x, P) { return x * std::tanh(softplus_of(x)); }
double softplus(double x, P p) {
  double scaled = x * p[0];
  return scaled > p[1] ? x : std::log1p(std::exp(scaled)) / p[0];
}
double softsign(double x, P) { return x / (1 + std::fabs(x)); }
double softshrink(double x, P p) {
  return std::isnan(x) ? x : x > p[0] ? x - p[0] : x < -p[0] ? x + p[0] : 0 * x;
}
double hardshrink(double x, P p) { return x >= -p[0] && x <= p[0] ? 0 : x; }
double tanhshrink(double x, P) { return x - std::tanh(x); }
double hardtanh(double x, P p) { return x < p[0] ? p[0] : x > p[1] ? p[1] : x; }
double hardsigmoid(double x, P) {
  double y = x + 3;
  return (y < 0 ? 0 : y > 6 ? 6 : y) / 6;
}
double hardswish(double x, P) {
  double y = x + 3;
  return x * (y < 0 ? 0 : y > 6 ? 6 : y) / 6;
}
double threshold(double x, P p) { return x <= p[0] ? p[1] : x; }
double logsigmoid(double x, P) { return -softplus_of(-x); }
double rrelu(double x, P p) { return x >= 0 ? x : x * ((p[0] + p[1]) / 2); }

// --- mathematics
double f_exp(double x, P) { return std::exp(x); }
double f_exp2(double x, P) { return std::exp2(x); }
double f_expm1(double x, P) { return std::expm1(x); }
double f_log(double x, P) { return std::log(x); }
double f_log2(double x, P) { return std::log2(x); }
double f_log10(double x, P) { return std::log10(x); }
double f_log1p(double x, P) { return std::log1p(x); }
double f_sqrt(double x, P) { return std::sqrt(x); }
double f_rsqrt(double x, P) { return 1 / std::sqrt(x); }
double f_sin(double x, P) { return std::sin(x); }
double f_cos(double x, P) { return std::cos(x); }
double f_tan(double x, P) { return std::tan(x); }
double f_asin(double x, P) { return std::asin(x); }
double f_acos(double x, P) { return std::acos(x); }
double f_atan(double x, P) { return std::atan(x); }
double f_sinh(double x, P) { return std::sinh(x); }
double f_cosh(double x, P) { return std::cosh(x); }
double f_tanh(double x, P) { return std::tanh(x); }
double f_asinh(double x, P) { return std::asinh(x); }
double f_acosh(double x, P) { return std::acosh(x); }
double f_atanh(double x, P) { return std::atanh(x); }
double f_erf(double x, P) { return std::erf(x); }
double f_erfc(double x, P) { return std::erfc(x); }
double f_erfinv(double x, P) { return inverse_erf(x); }
double f_lgamma(double x, P) { return log_gamma(x); }
double f_digamma(double x, P) { return digamma(x); }
double f_abs(double x, P) { return std::fabs(x); }
double f_neg(double x, P) { return -x; }
double f_sign(double x, P) { return x > 0 ? 1 : x < 0 ? -1 : 0; }
double f_floor(double x, P) { return std::floor(x); }
double f_ceil(double x, P) { return std::ceil(x); }
double f_round(double x, P p) {
  if (p[0] == 0 || !std::isfinite(x)) return std::nearbyint(x);
  // PyTorch's order of operations for `decimals`, so that ties fall alike.
  double ten = std::pow(10, std::fabs(p[0]));
  return p[0] > 0 ? std::nearbyint(x * ten) / ten : std::nearbyint(x / ten) * ten;
}
double f_trunc(double x, P) { return std::trunc(x); }
double f_frac(double x, P) { return x - std::trunc(x); }
double f_reciprocal(double x, P) { return 1 / x; }
double f_square(double x, P) { return x * x; }
double f_logit(double x, P p) {
  if (!std::isnan(p[0])) x = x < p[0] ? p[0] : x > 1 - p[0] ? 1 - p[0] : x;
  return std::log(x / (1 - x));
}
double f_sinc(double x, P) { return x == 0 ? 1 : std::sin(M_PI * x) / (M_PI * x); }
double f_deg2rad(double x, P) { return x * (M_PI / 180); }
double f_rad2deg(double x, P) { return x * (180 / M_PI); }
double f_nan_to_num(double x, P p) {
  if (std::isnan(x)) return std::isnan(p[0]) ? 0 : p[0];
  if (x == kInf) return std::isnan(p[1]) ? std::numeric_limits<double>::max() : p[1];
  if (x == -kInf) return std::isnan(p[2]) ? std::numeric_limits<double>::lowest() : p[2];
  return x;
}

int64_t i_relu(int64_t x) { return x < 0 ? 0 : x; }
int64_t i_relu6(int64_t x) { return x < 0 ? 0 : x > 6 ? 6 : x; }
int64_t i_abs(int64_t x) { return x < 0 ? static_cast<int64_t>(0 - static_cast<uint64_t>(x)) : x; }
int64_t i_neg(int64_t x) { return static_cast<int64_t>(0 - static_cast<uint64_t>(x)); }
int64_t i_sign(int64_t x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }
int64_t i_square(int64_t x) {
  return static_cast<int64_t>(static_cast<uint64_t>(x) * static_cast<uint64_t>(x));
}

bool is_nan(double x) { return std::isnan(x); }
bool is_inf(double x) { return std::isinf(x); }
bool is_finite(double x) { return std::isfinite(x); }
bool is_zero(double x) { return x == 0; }
bool sign_bit(double x) { return std::signbit(x); }

Result<std::vector<Value>> bitwise_not(const Evaluation& e) {
  const Value& x = *e.inputs[0];
  Value out = Value::make(e.call.results[0]);
  bool boolean = x.dtype() == DType::boolean;
  for (int64_t i = 0; i < x.count(); ++i)
    out.integers()[i] = boolean ? !x.integers()[i] : wrap_integer(x.dtype(), ~x.integers()[i]);
  return std::vector<Value>{std::move(out)};
}

Result<Types> infer_gelu(const Call& c) {
  std::string kind = c.text("approximate");
  if (kind != "none" && kind != "tanh")
    return refuse("approximate must be \"none\" or \"tanh\", not \"" + kind + "\"");
  return floating_only(c);
}
Result<std::vector<Value>> evaluate_gelu(const Evaluation& e) {
  return e.call.text("approximate") == "tanh" ? apply<gelu_tanh>(e) : apply<gelu_exact>(e);
}

Result<Types> infer_to(const Call& c) {
  FIEL_TRY(DType t, dtype_attribute(c, "dtype", c.type(0).dtype));
  return one(t, c.shape(0));
}
Result<std::vector<Value>> evaluate_to(const Evaluation& e) {
  return std::vector<Value>{e.inputs[0]->cast(e.call.results[0].dtype)};
}

Operator row(const char* signature, const char* doc, Infer infer, Evaluate evaluate) {
  return {signature, doc, infer, evaluate, elementwise_cost};
}

std::vector<Operator> activations() {
  return {
      row("relu(input)", "max(x, 0)", numbers_only, apply<relu, i_relu>),
      row("relu6(input)", "min(max(x, 0), 6)", numbers_only, apply<relu6, i_relu6>),
      row("leaky_relu(input, negative_slope: float = 0.01)", "x where x > 0, else slope · x",
          floating_only, apply<leaky_relu>),
      row("elu(input, alpha: float = 1.0)", "x where x > 0, else alpha · (exp(x) − 1)",
          floating_only, apply<elu>),
      row("selu(input)", "the self-normalising elu: scale · elu(x, 1.6733), scale 1.0507",
          floating_only, apply<selu>),
      row("celu(input, alpha: float = 1.0)", "x where x > 0, else alpha · (exp(x / alpha) − 1)",
          floating_only, apply<celu>),
      {"gelu(input, approximate: str = \"none\")",
       "x · Φ(x); approximate = \"tanh\" is the tanh formula", infer_gelu, evaluate_gelu,
       elementwise_cost},
      row("silu(input)", "x · sigmoid(x)", floating_only, apply<silu>),
      row("mish(input)", "x · tanh(softplus(x))", floating_only, apply<mish>),
      row("softplus(input, beta: float = 1.0, threshold: float = 20.0)",
          "log(1 + exp(beta · x)) / beta; x itself where beta · x > threshold", floating_only,
          apply<softplus>),
      row("softsign(input)", "x / (1 + \\|x\\|)", to_floating, apply<softsign>),
      row("softshrink(input, lambd: float = 0.5)", "x moved towards 0 by lambd, 0 between",
          floating_only, apply<softshrink>),
      row("hardshrink(input, lambd: float = 0.5)", "0 where \\|x\\| <= lambd, else x",
          floating_only, apply<hardshrink>),
      row("tanhshrink(input)", "x − tanh(x)", to_floating, apply<tanhshrink>),
      row("hardtanh(input, min_val: float = -1.0, max_val: float = 1.0)",
          "x clamped to [min_val, max_val]", floating_only, apply<hardtanh>),
      row("hardsigmoid(input)", "relu6(x + 3) / 6", floating_only, apply<hardsigmoid>),
      row("hardswish(input)", "x · relu6(x + 3) / 6", floating_only, apply<hardswish>),
      row("threshold(input, threshold: float, value: float)", "x where x > threshold, else value",
          floating_only, apply<threshold>),
      row("sigmoid(input)", "1 / (1 + exp(−x))", to_floating, apply<sigmoid>),
      row("logsigmoid(input)", "log(sigmoid(x))", floating_only, apply<logsigmoid>),
      row("rrelu(input, lower: float = 0.125, upper: float = 0.3333333333333333)",
          "in evaluation: leaky_relu with the slope (lower + upper) / 2", floating_only,
          apply<rrelu>),
  };
}

std::vector<Operator> mathematics() {
  return {
      row("exp(input)", "e^x", to_floating, apply<f_exp>),
      row("exp2(input)", "2^x", to_floating, apply<f_exp2>),
      row("expm1(input)", "e^x − 1", to_floating, apply<f_expm1>),
      row("log(input)", "natural logarithm", to_floating, apply<f_log>),
      row("log2(input)", "logarithm of base 2", to_floating, apply<f_log2>),
      row("log10(input)", "logarithm of base 10", to_floating, apply<f_log10>),
      row("log1p(input)", "log(1 + x)", to_floating, apply<f_log1p>),
      row("sqrt(input)", "square root", to_floating, apply<f_sqrt>),
      row("rsqrt(input)", "1 / sqrt(x)", to_floating, apply<f_rsqrt>),
      row("sin(input)", "sine", to_floating, apply<f_sin>),
      row("cos(input)", "cosine", to_floating, apply<f_cos>),
      row("tan(input)", "tangent", to_floating, apply<f_tan>),
      row("asin(input)", "inverse sine", to_floating, apply<f_asin>),
      row("acos(input)", "inverse cosine", to_floating, apply<f_acos>),
      row("atan(input)", "inverse tangent", to_floating, apply<f_atan>),
      row("sinh(input)", "hyperbolic sine", to_floating, apply<f_sinh>),
      row("cosh(input)", "hyperbolic cosine", to_floating, apply<f_cosh>),
      row("tanh(input)", "hyperbolic tangent", to_floating, apply<f_tanh>),
      row("asinh(input)", "inverse hyperbolic sine", to_floating, apply<f_asinh>),
      row("acosh(input)", "inverse hyperbolic cosine", to_floating, apply<f_acosh>),
      row("atanh(input)", "inverse hyperbolic tangent", to_floating, apply<f_atanh>),
      row("erf(input)", "error function", to_floating, apply<f_erf>),
      row("erfc(input)", "1 − erf(x)", to_floating, apply<f_erfc>),
      row("erfinv(input)", "inverse of erf: ±∞ at ±1, NaN beyond", to_floating, apply<f_erfinv>),
      row("lgamma(input)", "log \\|Γ(x)\\|", to_floating, apply<f_lgamma>),
      row("digamma(input)", "derivative of lgamma", to_floating, apply<f_digamma>),
      row("abs(input)", "absolute value", numbers_only, apply<f_abs, i_abs>),
      row("neg(input)", "−x", numbers_only, apply<f_neg, i_neg>),
      row("sign(input)", "−1, 0 or 1", same_type, apply<f_sign, i_sign>),
      row("sgn(input)", "sign; the two differ on complex numbers alone", same_type,
          apply<f_sign, i_sign>),
      row("floor(input)", "largest integer <= x", numbers_only, apply<f_floor>),
      row("ceil(input)", "smallest integer >= x", numbers_only, apply<f_ceil>),
      row("round(input, decimals: int = 0)", "nearest, ties to even", numbers_only, apply<f_round>),
      row("trunc(input)", "integer part", numbers_only, apply<f_trunc>),
      row("frac(input)", "x − trunc(x)", floating_only, apply<f_frac>),
      row("reciprocal(input)", "1 / x", to_floating, apply<f_reciprocal>),
      row("square(input)", "x²", numbers_only, apply<f_square, i_square>),
      row("logit(input, eps: float = None)", "log(x / (1 − x)), x first clamped to [eps, 1 − eps]",
          to_floating, apply<f_logit>),
      row("sinc(input)", "sin(πx) / (πx)", to_floating, apply<f_sinc>),
      row("deg2rad(input)", "degrees to radians", to_floating, apply<f_deg2rad>),
      row("rad2deg(input)", "radians to degrees", to_floating, apply<f_rad2deg>),
      row("nan_to_num(input, nan: float = 0.0, posinf: float = None, neginf: float = None)",
          "NaN and infinities replaced (by 0 and the extremes of double)", floating_only,
          apply<f_nan_to_num>),
      row("isnan(input)", "is NaN", to_bool, test<is_nan>),
      row("isinf(input)", "is ±infinity", to_bool, test<is_inf>),
      row("isfinite(input)", "is neither NaN nor infinite", to_bool, test<is_finite>),
      row("signbit(input)", "has its sign bit set (−0 included)", to_bool, test<sign_bit>),
      row("logical_not(input)", "x == 0", to_bool, test<is_zero>),
      row("bitwise_not(input)", "~x", integers_only, bitwise_not),
      {"to(input, dtype: str)",
       "cast to a dtype (\"f32\", \"i64\" …); among floating dtypes values are not rounded: "
       "evaluation stays in double",
       infer_to, evaluate_to, free_cost},
  };
}

}  // namespace

std::vector<Operator> unary_operators() {
  std::vector<Operator> rows = activations();
  for (Operator& op : mathematics()) rows.push_back(std::move(op));
  return rows;
}

}  // namespace fiel::graph
