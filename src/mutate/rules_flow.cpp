// Rules about where code goes: comparisons, guards, loops, operators, barriers.
#include <array>
#include <utility>

#include "mutate/rules.h"

namespace fiel::mutate {
namespace {

using Swap = std::pair<std::string_view, std::string_view>;

constexpr std::array kOffByOne =
    std::to_array<Swap>({{"<", "<="}, {"<=", "<"}, {">", ">="}, {">=", ">"}});
constexpr std::array kNegated = std::to_array<Swap>(
    {{"<", ">="}, {"<=", ">"}, {">", "<="}, {">=", "<"}, {"==", "!="}, {"!=", "=="}});
constexpr std::array kBinary =
    std::to_array<Swap>({{"+", "-"}, {"-", "+"}, {"*", "+"}, {"/", "*"}, {"%", "/"}});
constexpr std::array kAnywhere = std::to_array<Swap>({{"+=", "-="},
                                                      {"-=", "+="},
                                                      {"*=", "+="},
                                                      {"/=", "*="},
                                                      {"&&", "||"},
                                                      {"||", "&&"},
                                                      {"fmaxf", "fminf"},
                                                      {"fminf", "fmaxf"},
                                                      {"fmax", "fmin"},
                                                      {"fmin", "fmax"},
                                                      {"max", "min"},
                                                      {"min", "max"},
                                                      {"__hmax", "__hmin"},
                                                      {"sinf", "cosf"},
                                                      {"cosf", "sinf"},
                                                      {"sqrtf", "rsqrtf"},
                                                      {"rsqrtf", "sqrtf"}});

template <size_t N>
std::string_view other(const std::array<Swap, N>& swaps, std::string_view word) {
  for (const auto& [from, to] : swaps)
    if (from == word) return to;
  return {};
}

bool is_relation(const Site& s, size_t i) {
  return !s.place(i).template_bracket && !other(kNegated, s.token(i).spelling).empty();
}

bool has_relation(const Site& s, size_t begin, size_t end) {
  for (size_t i = begin; i < end; ++i)
    if (is_relation(s, i)) return true;
  return false;
}

/// `if (row >= rows) return;` never leaves, `if (i < n) y[i] = …` always enters.
void drop_guard(const Site& s, size_t i) {
  const size_t open = i + 1, close = s.place(open).partner;
  if (!has_relation(s, open + 1, close)) return;
  const bool leaves = s.is(close + 1, "return") || s.is(close + 1, "continue");
  s.replace(Kind::bounds, "guard dropped", open + 1, close, leaves ? "false" : "true");
}

/// `for (int i = 0; i < n; …)`: one round less at either end.
void shift_loop(const Site& s, size_t i) {
  const size_t open = i + 1, close = s.place(open).partner;
  size_t first = open + 1;
  while (first < close && !s.is(first, ";")) ++first;
  size_t second = first + 1;
  while (second < close && !s.is(second, ";")) ++second;
  if (second >= close) return;
  for (size_t k = open + 1; k < first; ++k)
    if (s.is(k, "=") && first - k > 1)
      s.replace(Kind::bounds, "loop starts late", k + 1, first, s.source(k + 1, first) + " + 1");
  for (size_t k = first + 1; k < second; ++k)
    if ((s.is(k, "<") || s.is(k, "<=")) && is_relation(s, k))
      s.replace(Kind::bounds, "loop ends early", k + 1, second, s.source(k + 1, second) + " - 1");
}

}  // namespace

void bounds_rules(const Site& s) {
  for (size_t i = s.function.begin; i < s.function.end; ++i) {
    const std::string_view swap = other(kOffByOne, s.token(i).spelling);
    if (!swap.empty() && is_relation(s, i))
      s.replace(Kind::bounds, "off by one", i, i + 1, std::string(swap));
    if (s.is(i, "if") && s.is(i + 1, "(")) drop_guard(s, i);
    if (s.is(i, "for") && s.is(i + 1, "(")) shift_loop(s, i);
  }
}

void operation_rules(const Site& s) {
  for (size_t i = s.function.begin; i < s.function.end; ++i) {
    const std::string_view word = s.token(i).spelling;
    if (is_relation(s, i))
      s.replace(Kind::operation, "negated", i, i + 1, std::string(other(kNegated, word)));
    const bool function = s.identifier(i);
    if (const auto to = other(kAnywhere, word); !to.empty() && (!function || s.is(i + 1, "(")))
      s.replace(Kind::operation, "another operator", i, i + 1, std::string(to));
    const auto to = other(kBinary, word);
    if (!to.empty() && !s.place(i).subscript && s.code.binary(i))
      s.replace(Kind::operation, "another operator", i, i + 1, std::string(to));
    // The branches of a ?: change places.
    if (s.is(i, "?")) {
      const size_t colon = s.code.end_of_operand(i + 1, {":", ";", ","});
      if (!s.is(colon, ":")) continue;
      const size_t end = s.code.end_of_operand(colon + 1, {":", ";", ","});
      s.replace(Kind::operation, "branches swapped", i + 1, end,
                s.source(colon + 1, end) + " : " + s.source(i + 1, colon));
    }
  }
}

void barrier_rules(const Site& s) {
  static constexpr std::array kBarriers = std::to_array<std::string_view>(
      {"__syncthreads", "__syncwarp", "__threadfence", "__threadfence_block", "sync"});
  for (size_t i = s.function.begin; i < s.function.end; ++i) {
    bool barrier = false;
    for (std::string_view name : kBarriers) barrier |= s.is(i, name);
    if (!barrier || !s.is(i + 1, "(")) continue;
    const size_t end = s.place(i + 1).partner + 1;
    if (s.is(end, ";")) s.replace(Kind::barrier, "barrier dropped", s.statement_begin(i), end, "");
  }
}

}  // namespace fiel::mutate
