#include "mutate/device_code.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

namespace fiel::mutate {
namespace {

constexpr std::array kTypes = std::to_array<std::string_view>(
    {"float",    "double", "int",   "char",    "bool",     "half",          "__half",
     "unsigned", "signed", "short", "long",    "void",     "auto",          "__nv_bfloat16",
     "float2",   "float4", "int2",  "int4",    "uint2",    "uint4",         "__half2",
     "half2",    "const",  "dim3",  "double2", "volatile", "__nv_bfloat162"});
constexpr std::array kNoOperands =
    std::to_array<std::string_view>({"return", "case", "else", "do", "goto", "sizeof"});

template <size_t N>
bool among(const std::array<std::string_view, N>& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

class Reader {
 public:
  explicit Reader(DeviceCode code) : code_(std::move(code)) {
    code_.places.resize(code_.tokens.size());
  }

  Result<DeviceCode> read() {
    FIEL_TRY_STATUS(match_brackets());
    for (size_t i = 0; i < size(); ++i) {
      if (is(i, "<")) mark_template(i);
      if (is(i, "[")) mark_subscript(i);
      if (is(i, "for") && is(i + 1, "(")) mark(i + 1, &Place::for_header);
    }
    size_t i = 0;
    while (i < size()) i = is(i, "__global__") || is(i, "__device__") ? read_function(i) : i + 1;
    return std::move(code_);
  }

 private:
  size_t size() const { return code_.tokens.size(); }
  bool is(size_t i, std::string_view word) const { return code_.is(i, word); }
  std::string_view word(size_t i) const { return code_.tokens[i].spelling; }
  bool identifier(size_t i) const {
    return i < size() && code_.tokens[i].kind == TokenKind::identifier;
  }

  Status match_brackets() {
    std::vector<size_t> open;
    for (size_t i = 0; i < size(); ++i) {
      const std::string_view w = word(i);
      if (w == "(" || w == "[" || w == "{") open.push_back(i);
      if (w != ")" && w != "]" && w != "}") continue;
      const char want = w == ")" ? '(' : w == "]" ? '[' : '{';
      if (open.empty() || word(open.back())[0] != want)
        return fail(ErrorCode::parse,
                    fmt::format("line {}: '{}' closes nothing", code_.tokens[i].line, w));
      code_.places[i].partner = open.back();
      code_.places[open.back()].partner = i;
      open.pop_back();
    }
    if (open.empty()) return {};
    return fail(ErrorCode::parse, fmt::format("line {}: '{}' is never closed",
                                              code_.tokens[open.back()].line, word(open.back())));
  }

  /// `static_cast<float>(`, `template <int N>`, `load<float4, 2>(`: only names and numbers between,
  /// and afterwards what no comparison is followed by.
  void mark_template(size_t open) {
    for (size_t i = open + 1; i < size() && i < open + 24; ++i) {
      const std::string_view w = word(i);
      if (w == ">") {
        const bool cast =
            open > 0 && (word(open - 1).ends_with("_cast") || is(open - 1, "template"));
        const bool named = open > 0 && identifier(open - 1) && identifier(open + 1);
        const bool after = is(i + 1, "(") || is(i + 1, "::") || is(i + 1, "{") || is(i + 1, "*") ||
                           is(i + 1, "&") || is(i + 1, "<<<") || identifier(i + 1);
        if (!cast && !(named && after)) return;
        for (size_t k = open; k <= i; ++k) code_.places[k].template_bracket = true;
        return;
      }
      const bool part = code_.tokens[i].kind == TokenKind::number || identifier(i) || w == "," ||
                        w == "*" || w == "&" || w == "::" || w == "=";
      if (!part) return;
    }
  }

  void mark(size_t open, bool Place::*flag) {
    for (size_t k = open + 1; k < code_.places[open].partner; ++k) code_.places[k].*flag = true;
  }

  /// `float xs[32][32]` declares, `xs[i][j]` accesses: the word before the name tells.
  void mark_subscript(size_t open) {
    size_t name = open;
    while (name > 0 && is(name - 1, "]")) name = code_.places[name - 1].partner;
    const bool declares = name > 1 && identifier(name - 1) &&
                          (is_type_name(word(name - 2)) || declares_more(name - 1) ||
                           (identifier(name - 2) && !among(kNoOperands, word(name - 2))));
    mark(open, declares ? &Place::declarator : &Place::subscript);
  }

  /// `float xs[4], ws[4]`: the second of a list whose first is a declarator.
  bool declares_more(size_t name) const {
    return name > 1 && is(name - 1, ",") && is(name - 2, "]") &&
           code_.places[name - 2].partner + 1 < size() &&
           code_.places[code_.places[name - 2].partner + 1].declarator;
  }

  /// The token after the function, or after what was only a declaration.
  size_t read_function(size_t at) {
    size_t i = at, name = kNone;
    for (; i < size(); ++i) {
      if (is(i, ";") || is(i, "=") || is(i, "}")) return i + 1;
      if (is(i, "{")) break;
      if (!is(i, "(")) continue;
      if (name == kNone && i > at && !is(i - 1, "__launch_bounds__")) name = i - 1;
      i = code_.places[i].partner;
    }
    if (i >= size() || name == kNone || !identifier(name)) return std::min(i, size() - 1) + 1;
    Function f;
    f.name = std::string(word(name));
    f.begin = i + 1;
    f.end = code_.places[i].partner;
    collect_floats(name + 2, f);
    const size_t next = f.end + 1;
    code_.functions.push_back(std::move(f));
    return next;
  }

  void collect_floats(size_t from, Function& f) const {
    for (size_t i = from; i < f.end; ++i) {
      if (!is(i, "float") || code_.places[i].template_bracket) continue;
      declared_after(i + 1, f);
    }
  }

  /// `float a = 1.f, *b, c[4];` and the one name of a parameter.
  void declared_after(size_t i, Function& f) const {
    for (;;) {
      bool pointer = false;
      for (; is(i, "*") || is(i, "&") || is(i, "const") || is(i, "__restrict__"); ++i)
        pointer |= is(i, "*");
      if (!identifier(i) || is(i + 1, "(")) return;
      f.floats.insert(std::string(word(i)));
      if (pointer || is(i + 1, "[")) f.indexable.insert(std::string(word(i)));
      i = code_.end_of_operand(i + 1, {",", ";"});
      if (!is(i, ",") || !identifier(i + 1) || is_type_name(word(i + 1)) || identifier(i + 2))
        return;
      ++i;
    }
  }

  DeviceCode code_;
};

}  // namespace

bool is_type_name(std::string_view word) { return among(kTypes, word) || word.ends_with("_t"); }

bool DeviceCode::binary(size_t token) const {
  if (token == 0 || token + 1 >= tokens.size() || places[token].template_bracket) return false;
  const Token& before = tokens[token - 1];
  if (before.kind == TokenKind::number || before.is("]")) return true;
  if (before.kind == TokenKind::identifier)
    return !is_type_name(before.spelling) && !among(kNoOperands, before.spelling);
  return before.is(")") && !ends_cast(token - 1);
}

bool DeviceCode::ends_cast(size_t token) const {
  if (!is(token, ")")) return false;
  const size_t open = places[token].partner;
  return open + 2 == token && is_type_name(tokens[open + 1].spelling);
}

size_t DeviceCode::end_of_operand(size_t from, const std::set<std::string_view>& stops) const {
  for (size_t i = from; i < tokens.size(); ++i) {
    const Token& t = tokens[i];
    if (t.is(")") || t.is("]") || t.is("}")) return i;
    const bool may_be_sign = i == from || ends_cast(i - 1);
    const bool ends = stops.contains(t.spelling) && !places[i].template_bracket;
    if (ends && (!may_be_sign || t.is(";") || t.is(","))) return i;
    if (t.is("(") || t.is("[") || t.is("{")) i = places[i].partner;
  }
  return tokens.size();
}

Result<DeviceCode> read_device_code(std::string_view text) {
  DeviceCode code;
  FIEL_TRY(code.tokens, tokenize(text));
  return Reader(std::move(code)).read();
}

}  // namespace fiel::mutate
