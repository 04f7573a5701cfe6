// Rules about how exactly: a value rounded to a shorter type on its way, approximate functions.
#include <array>
#include <utility>

#include "mutate/rules.h"

namespace fiel::mutate {
namespace {

struct Format {
  std::string_view rule, before, after;
};
constexpr std::array kFormats = std::to_array<Format>(
    {{"fp16", "__half2float(__float2half((float)(", ")))"},
     {"bf16", "__bfloat162float(__float2bfloat16((float)(", ")))"},
     {"tf32", "__uint_as_float(__float_as_uint((float)(", ")) & 0xffffe000u)"}});

constexpr std::array kFast =
    std::to_array<std::pair<std::string_view, std::string_view>>({{"expf", "__expf"},
                                                                  {"exp2f", "__exp2f"},
                                                                  {"logf", "__logf"},
                                                                  {"log2f", "__log2f"},
                                                                  {"sinf", "__sinf"},
                                                                  {"cosf", "__cosf"},
                                                                  {"powf", "__powf"},
                                                                  {"tanhf", "__tanhf"},
                                                                  {"sqrtf", "__fsqrt_rz"},
                                                                  {"fmaf", "__fmaf_rz"},
                                                                  {"__fadd_rn", "__fadd_rz"},
                                                                  {"__fmul_rn", "__fmul_rz"},
                                                                  {"exp", "expf"},
                                                                  {"log", "logf"},
                                                                  {"sqrt", "sqrtf"}});

void round_to_each(const Site& s, std::string_view what, size_t first, size_t last) {
  // The compiler rounds a number, and those that stand alone are mostly 0 and 1.
  if (last - first == 1 && s.token(first).kind == TokenKind::number) return;
  for (const Format& f : kFormats)
    s.replace(Kind::precision, std::string(f.rule) + " " + std::string(what), first, last,
              std::string(f.before) + s.source(first, last) + std::string(f.after));
}

/// Past `name`, its subscripts and members.
size_t end_of_lvalue(const Site& s, size_t name) {
  size_t i = name + 1;
  for (;;) {
    if (s.is(i, "["))
      i = s.place(i).partner + 1;
    else if (s.is(i, ".") && s.identifier(i + 1))
      i += 2;
    else
      return i;
  }
}

/// `v = E;` and `float v = E;` round the result, `v += E;` the sum.
void assignments(const Site& s, size_t name) {
  const size_t op = end_of_lvalue(s, name);
  if (s.place(op).for_header) return;
  const size_t end = s.code.end_of_operand(op + 1, {",", ";"});
  if (s.is(op, "=") && !s.is(op + 1, "{")) round_to_each(s, "result", op + 1, end);
  if (!(s.is(op, "+=") || s.is(op, "-=") || s.is(op, "*="))) return;
  const std::string left = s.source(name, op);
  const std::string sum =
      left + " " + s.source(op, op + 1).substr(0, 1) + " (" + s.source(op + 1, end) + ")";
  for (const Format& f : kFormats)
    s.replace(Kind::precision, std::string(f.rule) + " accumulation", op, end,
              "= " + std::string(f.before) + sum + std::string(f.after));
}

/// `x[i]` as an operand.
void loads(const Site& s, size_t name) {
  const size_t end = end_of_lvalue(s, name);
  if (end == name + 1 || s.is(name - 1, "&") || s.is(end - 1, "]") == false) return;
  if (s.place(name + 2).declarator) return;
  static constexpr std::array kWrites =
      std::to_array<std::string_view>({"=", "+=", "-=", "*=", "/=", "++", "--", "."});
  for (std::string_view w : kWrites)
    if (s.is(end, w)) return;
  round_to_each(s, "operand", name, end);
}

}  // namespace

void precision_rules(const Site& s) {
  for (size_t i = s.function.begin; i < s.function.end; ++i) {
    if (s.is(i, "double")) s.replace(Kind::precision, "float for double", i, i + 1, "float");
    for (const auto& [exact, fast] : kFast)
      if (s.is(i, exact) && s.is(i + 1, "("))
        s.replace(Kind::precision, "fast function", i, i + 1, std::string(fast));
    if (s.is(i, "erff") && s.is(i + 1, "(")) {
      const size_t close = s.place(i + 1).partner;
      s.replace(Kind::precision, "tanh for erf", i, close + 1,
                "tanhf(1.1283792f * (" + s.source(i + 2, close) + "))");
    }
    // 1 / x in eleven bits more or less, as a fast reciprocal gives it.
    if (s.is(i, "/") && s.code.binary(i) && !s.place(i).subscript) {
      static const std::set<std::string_view> stops = {"+", "-", "*", "/", "%", ";",
                                                       ",", "?", ":", "<", ">"};
      const size_t end = s.code.end_of_operand(i + 1, stops);
      s.replace(Kind::precision, "fp16 reciprocal", i, end,
                "* __half2float(__float2half((float)(1.f / (" + s.source(i + 1, end) + "))))");
    }
    if (!s.identifier(i) || (i > 0 && (s.is(i - 1, ".") || s.is(i - 1, "->")))) continue;
    const std::string name(s.token(i).spelling);
    if (s.function.floats.contains(name) &&
        (s.function.indexable.contains(name) == s.is(i + 1, "[")))
      assignments(s, i);
    if (s.function.indexable.contains(name)) loads(s, i);
  }
}

}  // namespace fiel::mutate
