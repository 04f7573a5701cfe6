#include "kernel/expression.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>

namespace fiel::kernel {
namespace {

constexpr size_t kMaxText = 4096;
constexpr int kMaxDepth = 64;

bool is_name_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '[' ||
         c == ']';
}

}  // namespace

class ExpressionParser {
 public:
  explicit ExpressionParser(std::string_view text) : text_(text) {}

  Result<Expression> run() {
    if (text_.size() > kMaxText)
      return fail(ErrorCode::limit, "expression of more than 4096 characters");
    FIEL_TRY_STATUS(sum(0));
    skip();
    if (at_ < text_.size()) return error("unexpected character");
    out_.text_ = std::string(text_);
    return std::move(out_);
  }

 private:
  using Op = Expression::Op;

  tl::unexpected<Error> error(const char* what) const {
    return fail(ErrorCode::parse, fmt::format("{} at column {} of \"{}\"", what, at_ + 1, text_));
  }
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  bool take(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void emit(Op op, int64_t number = 0, std::string name = {}) {
    out_.steps_.push_back({op, number, std::move(name)});
  }

  Status sum(int depth) {
    if (depth > kMaxDepth) return fail(ErrorCode::limit, "expression nested too deeply");
    FIEL_TRY_STATUS(product(depth));
    for (;;) {
      Op op;
      if (take('+'))
        op = Op::add;
      else if (take('-'))
        op = Op::subtract;
      else
        return {};
      FIEL_TRY_STATUS(product(depth));
      emit(op);
    }
  }
  Status product(int depth) {
    FIEL_TRY_STATUS(atom(depth));
    for (;;) {
      Op op;
      if (take('*'))
        op = Op::multiply;
      else if (take('/'))
        op = Op::divide;
      else if (take('%'))
        op = Op::remainder;
      else
        return {};
      FIEL_TRY_STATUS(atom(depth));
      emit(op);
    }
  }
  Status atom(int depth) {
    skip();
    if (take('(')) {
      FIEL_TRY_STATUS(sum(depth + 1));
      return take(')') ? Status{} : error("missing )");
    }
    if (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]))) return number();
    size_t begin = at_;
    while (at_ < text_.size() && is_name_char(text_[at_])) ++at_;
    if (begin == at_) return error("expected a number, a name or (");
    std::string name(text_.substr(begin, at_ - begin));
    if (!take('(')) {
      emit(Op::name, 0, std::move(name));
      return {};
    }
    return function(name, depth);
  }
  Status number() {
    int64_t value = 0;
    while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]))) {
      if (__builtin_mul_overflow(value, 10, &value) ||
          __builtin_add_overflow(value, text_[at_] - '0', &value))
        return error("number too large");
      ++at_;
    }
    emit(Op::number, value);
    return {};
  }
  Status function(const std::string& name, int depth) {
    Op op = name == "min" ? Op::min : name == "max" ? Op::max : Op::ceil_div;
    if (op == Op::ceil_div && name != "ceil_div")
      return fail(ErrorCode::parse, fmt::format("unknown function {} in \"{}\"", name, text_),
                  "there are min, max and ceil_div");
    FIEL_TRY_STATUS(sum(depth + 1));
    if (!take(',')) return error("expected , between two arguments");
    FIEL_TRY_STATUS(sum(depth + 1));
    if (!take(')')) return error("missing )");
    emit(op);
    return {};
  }

  std::string_view text_;
  size_t at_ = 0;
  Expression out_;
};

Result<Expression> Expression::parse(std::string_view text) { return ExpressionParser(text).run(); }

Result<int64_t> Expression::apply(Op op, int64_t a, int64_t b) {
  int64_t v = 0;
  bool overflow = false;
  switch (op) {
    case Op::add:
      overflow = __builtin_add_overflow(a, b, &v);
      break;
    case Op::subtract:
      overflow = __builtin_sub_overflow(a, b, &v);
      break;
    case Op::multiply:
      overflow = __builtin_mul_overflow(a, b, &v);
      break;
    case Op::min:
      v = std::min(a, b);
      break;
    case Op::max:
      v = std::max(a, b);
      break;
    default:
      if (b == 0) return fail(ErrorCode::usage, "division by zero");
      if (b == -1) {  // INT64_MIN / -1 traps
        overflow = __builtin_sub_overflow(int64_t{0}, a, &v);
        if (op == Op::remainder) v = 0, overflow = false;
        break;
      }
      v = op == Op::remainder ? a % b : a / b;
      if (op == Op::ceil_div && a % b != 0 && (a % b > 0) == (b > 0)) ++v;
  }
  if (overflow) return fail(ErrorCode::usage, "the value does not fit 64 bits");
  return v;
}

Result<int64_t> Expression::evaluate(const NameLookup& names) const {
  std::vector<int64_t> stack;
  for (const Step& s : steps_) {
    if (s.op == Op::number) {
      stack.push_back(s.number);
    } else if (s.op == Op::name) {
      auto value = names(s.name);
      if (!value)
        return fail(ErrorCode::usage, fmt::format("unknown name {} in \"{}\"", s.name, text_));
      stack.push_back(*value);
    } else {
      int64_t b = stack.back();
      stack.pop_back();
      auto v = apply(s.op, stack.back(), b);
      if (!v)
        return fail(std::move(v).error().with_context(fmt::format("evaluating \"{}\"", text_)));
      stack.back() = *v;
    }
  }
  return stack.back();
}

}  // namespace fiel::kernel
