#include "forge/scalar_operators.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace fiel::forge {
namespace {

struct Row {
  const char *op, *exact, *fast;
};

// Exact: within a few ulp of CUDA's own functions. Fast: the special function unit's.
constexpr Row kRows[] = {
    {"relu", "($0 < 0.f ? 0.f : $0)", ""},
    {"relu6", "($0 < 0.f ? 0.f : $0 > 6.f ? 6.f : $0)", ""},
    {"selu", "1.05070098f * ($0 > 0.f ? $0 : 1.67326324f * expm1f($0))",
     "1.05070098f * ($0 > 0.f ? $0 : 1.67326324f * (__expf($0) - 1.f))"},
    {"silu", "$0 / (1.f + expf(-$0))", "__fdividef($0, 1.f + __expf(-$0))"},
    {"mish", "$0 * tanhf($0 > 20.f ? $0 : log1pf(expf($0)))",
     "$0 * ($0 > 20.f ? 1.f : 1.f - __fdividef(2.f, (1.f + __expf($0)) * (1.f + __expf($0)) + "
     "1.f))"},
    {"softsign", "$0 / (1.f + fabsf($0))", "__fdividef($0, 1.f + fabsf($0))"},
    {"hardsigmoid", "($0 < -3.f ? 0.f : $0 > 3.f ? 1.f : ($0 + 3.f) * 0.166666672f)", ""},
    {"hardswish", "$0 * ($0 < -3.f ? 0.f : $0 > 3.f ? 1.f : ($0 + 3.f) * 0.166666672f)", ""},
    {"sigmoid", "1.f / (1.f + expf(-$0))", "__fdividef(1.f, 1.f + __expf(-$0))"},
    {"logsigmoid", "fminf($0, 0.f) - log1pf(expf(-fabsf($0)))",
     "fminf($0, 0.f) - __logf(1.f + __expf(-fabsf($0)))"},
    {"exp", "expf($0)", "__expf($0)"},
    {"exp2", "exp2f($0)", ""},
    {"expm1", "expm1f($0)", "(__expf($0) - 1.f)"},
    {"log", "logf($0)", "__logf($0)"},
    {"log2", "log2f($0)", "__log2f($0)"},
    {"log10", "log10f($0)", "__log10f($0)"},
    {"log1p", "log1pf($0)", "__logf(1.f + $0)"},
    {"sqrt", "sqrtf($0)", ""},
    {"rsqrt", "rsqrtf($0)", ""},
    {"sin", "sinf($0)", "__sinf($0)"},
    {"cos", "cosf($0)", "__cosf($0)"},
    {"tanh", "tanhf($0)", "(1.f - __fdividef(2.f, __expf(2.f * $0) + 1.f))"},
    {"erf", "erff($0)", ""},
    {"abs", "fabsf($0)", ""},
    {"neg", "-$0", ""},
    {"floor", "floorf($0)", ""},
    {"ceil", "ceilf($0)", ""},
    {"round", "rintf($0)", ""},
    {"trunc", "truncf($0)", ""},
    {"reciprocal", "1.f / $0", "__fdividef(1.f, $0)"},
    {"square", "$0 * $0", ""},
    {"logical_not", "($0 == 0.f ? 1.f : 0.f)", ""},
    {"mul", "$0 * $1", ""},
    {"maximum", "($0 > $1 || $0 != $0 ? $0 : $1)", ""},
    {"minimum", "($0 < $1 || $0 != $0 ? $0 : $1)", ""},
    {"lt", "($0 < $1 ? 1.f : 0.f)", ""},
    {"le", "($0 <= $1 ? 1.f : 0.f)", ""},
    {"gt", "($0 > $1 ? 1.f : 0.f)", ""},
    {"ge", "($0 >= $1 ? 1.f : 0.f)", ""},
    {"eq", "($0 == $1 ? 1.f : 0.f)", ""},
    {"ne", "($0 != $1 ? 1.f : 0.f)", ""},
    {"logical_and", "($0 != 0.f && $1 != 0.f ? 1.f : 0.f)", ""},
    {"logical_or", "($0 != 0.f || $1 != 0.f ? 1.f : 0.f)", ""},
    {"where", "($0 != 0.f ? $1 : $2)", ""},
    {"masked_fill", "($1 != 0.f ? $2 : $0)", ""},
    {"lerp", "fmaf($2, $1 - $0, $0)", ""},
};

ScalarText with_division(std::string numerator, std::string denominator) {
  return {fmt::format("{} / {}", numerator, denominator),
          fmt::format("__fdividef({}, {})", numerator, denominator), false};
}

/// "$0" or "2.5f * $0".
std::string scaled(const char* argument, double factor) {
  return factor == 1 ? std::string(argument) : literal(factor) + " * " + argument;
}

ScalarText gelu(const graph::Call& call) {
  if (call.text("approximate") == "tanh")
    return {"0.5f * $0 * (1.f + tanhf(0.797884561f * fmaf(0.044715f * $0 * $0, $0, $0)))",
            "__fdividef($0, 1.f + __expf(-1.59576912f * fmaf(0.044715f * $0 * $0, $0, $0)))", true};
  return {"0.5f * $0 * (1.f + erff($0 * 0.707106781f))", "", true};
}

ScalarText elu(double alpha) {
  return {fmt::format("($0 > 0.f ? $0 : {} * expm1f($0))", literal(alpha)),
          fmt::format("($0 > 0.f ? $0 : {} * (__expf($0) - 1.f))", literal(alpha)), true};
}

ScalarText softplus(const graph::Call& call) {
  const double beta = call.real("beta");
  const std::string x = literal(beta) + " * $0";
  return {fmt::format("({} > {} ? $0 : log1pf(expf({})) * {})", x, literal(call.real("threshold")),
                      x, literal(1 / beta)),
          fmt::format("({} > {} ? $0 : __logf(1.f + __expf({})) * {})", x,
                      literal(call.real("threshold")), x, literal(1 / beta)),
          true};
}

std::optional<ScalarText> clamp(const graph::Call& call) {
  std::string text = "$0";
  int next = 1;
  if (call.given(1)) {
    text = fmt::format("($0 < ${} ? ${} : $0)", next, next);
    ++next;
  }
  if (call.given(2)) {
    // The inner text stands twice: cheap, and the compiler sees that it is the same.
    text = fmt::format("({} > ${} ? ${} : {})", text, next, next, text);
  }
  return ScalarText{text, "", false};
}

std::optional<ScalarText> parametrised(const graph::Call& call) {
  const std::string& op = call.op->name;
  if (op == "gelu") return gelu(call);
  if (op == "elu") return elu(call.real("alpha"));
  if (op == "celu" && call.real("alpha") == 1) return elu(1);
  if (op == "softplus") return softplus(call);
  if (op == "leaky_relu")
    return ScalarText{
        fmt::format("($0 < 0.f ? {} * $0 : $0)", literal(call.real("negative_slope"))), "", false};
  if (op == "hardtanh")
    return ScalarText{fmt::format("($0 < {0} ? {0} : $0 > {1} ? {1} : $0)",
                                  literal(call.real("min_val")), literal(call.real("max_val"))),
                      "", false};
  if (op == "threshold")
    return ScalarText{fmt::format("($0 <= {} ? {} : $0)", literal(call.real("threshold")),
                                  literal(call.real("value"))),
                      "", false};
  if (op == "add") return ScalarText{"$0 + " + scaled("$1", call.real("alpha")), "", false};
  if (op == "sub") return ScalarText{"$0 - " + scaled("$1", call.real("alpha")), "", false};
  if (op == "div" && !call.has("rounding_mode")) return with_division("$0", "$1");
  if (op == "addcmul")
    return ScalarText{fmt::format("$0 + {} * $1 * $2", literal(call.real("value"))), "", false};
  if (op == "addcdiv")
    return ScalarText{fmt::format("$0 + {} * $1 / $2", literal(call.real("value"))), "", false};
  if (op == "pow") return ScalarText{"powf($0, $1)", "__powf($0, $1)", true};
  if (op == "clamp") return clamp(call);
  return {};
}

}  // namespace

std::string literal(double v) {
  if (std::isnan(v)) return "NAN";
  if (std::isinf(v)) return v > 0 ? "INFINITY" : "-INFINITY";
  std::string text = fmt::format("{:.9g}", static_cast<double>(static_cast<float>(v)));
  if (text.find_first_of(".e") == std::string::npos) text += ".";
  return (v < 0 ? "(" : "") + text + "f" + (v < 0 ? ")" : "");
}

std::optional<ScalarText> scalar_text(const graph::Call& call) {
  const std::string& op = call.op->name;
  // round(x, decimals=2) is another function.
  if (op == "round" && call.integer("decimals") != 0) return {};
  const auto row =
      std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return op == r.op; });
  if (row == std::end(kRows)) return parametrised(call);
  const bool calls = std::string_view(row->exact).find("f(") != std::string_view::npos;
  return ScalarText{row->exact, row->fast, calls && op != "abs"};
}

}  // namespace fiel::forge
