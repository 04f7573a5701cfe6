#include "task/symbols.h"

#include <algorithm>

#include "base/text.h"

namespace fiel::task {

namespace {

constexpr size_t kLongest = 256;
constexpr int kDeepest = 32;
constexpr int64_t kLargest = int64_t{1} << 40;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Recursive descent. With `symbols` null it only collects names and every name counts as 1.
class Parser {
 public:
  Parser(std::string_view text, const std::map<std::string, int64_t>* symbols)
      : text_(text), symbols_(symbols) {}

  Result<int64_t> run() {
    if (text_.size() > kLongest)
      return fail(ErrorCode::limit,
                  "a dimension of " + std::to_string(text_.size()) + " characters; at most 256");
    FIEL_TRY(int64_t v, sum(0));
    skip();
    if (at_ < text_.size()) return unexpected();
    if (symbols_ && v < 0)
      return fail(ErrorCode::parse, quoted() + " is " + std::to_string(v) + ", which is negative");
    return v;
  }
  std::vector<std::string> names;

 private:
  std::string quoted() const { return "\"" + printable(text_, 80) + "\""; }

  tl::unexpected<Error> unexpected() const {
    if (at_ >= text_.size()) return fail(ErrorCode::parse, quoted() + " ends too early");
    return fail(ErrorCode::parse,
                "unexpected '" + printable(text_.substr(at_, 1), 8) + "' in " + quoted() +
                    " at character " + std::to_string(at_ + 1),
                "dimensions are integers and symbols joined by + - * / and parentheses");
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
  Result<int64_t> bounded(int64_t v) const {
    if (v > kLargest || v < -kLargest) return fail(ErrorCode::limit, quoted() + " is beyond 2^40");
    return v;
  }

  Result<int64_t> sum(int depth) {
    if (depth > kDeepest)
      return fail(ErrorCode::limit, quoted() + " is nested deeper than 32 parentheses");
    FIEL_TRY(int64_t v, product(depth));
    while (true) {
      const bool plus = take('+');
      if (!plus && !take('-')) return v;
      FIEL_TRY(int64_t other, product(depth));
      FIEL_TRY(v, bounded(plus ? v + other : v - other));
    }
  }
  Result<int64_t> product(int depth) {
    FIEL_TRY(int64_t v, atom(depth));
    while (true) {
      const bool times = take('*');
      if (!times && !take('/')) return v;
      FIEL_TRY(int64_t other, atom(depth));
      if (times) {
        int64_t result;
        if (__builtin_mul_overflow(v, other, &result)) result = kLargest + 1;
        FIEL_TRY(v, bounded(result));
      } else if (symbols_) {
        if (other == 0) return fail(ErrorCode::parse, quoted() + " divides by zero");
        if (v % other != 0)
          return fail(ErrorCode::parse, quoted() + " does not come out even: " + std::to_string(v) +
                                            " / " + std::to_string(other));
        v /= other;
      }
    }
  }
  Result<int64_t> atom(int depth) {
    if (take('(')) {
      FIEL_TRY(int64_t v, sum(depth + 1));
      if (!take(')')) return unexpected();
      return v;
    }
    skip();
    if (at_ < text_.size() && is_digit(text_[at_])) return number();
    if (at_ < text_.size() && is_letter(text_[at_])) return name();
    return unexpected();
  }
  Result<int64_t> number() {
    int64_t v = 0;
    for (; at_ < text_.size() && is_digit(text_[at_]); ++at_) {
      v = v * 10 + (text_[at_] - '0');
      FIEL_TRY_STATUS(bounded(v).map([](int64_t) {}));
    }
    return v;
  }
  Result<int64_t> name() {
    const size_t begin = at_;
    while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
    std::string word(text_.substr(begin, at_ - begin));
    if (!symbols_) {
      if (std::find(names.begin(), names.end(), word) == names.end()) names.push_back(word);
      return 1;
    }
    const auto found = symbols_->find(word);
    if (found != symbols_->end()) return found->second;
    std::vector<std::string> known;
    for (const auto& [symbol, value] : *symbols_) known.push_back(symbol);
    const std::string near = did_you_mean(word, known);
    return fail(ErrorCode::parse,
                "symbol \"" + printable(word, 40) + "\" in " + quoted() + " has no value",
                near.empty() ? "bind it in every shape set" : "did you mean \"" + near + "\"?");
  }

  std::string_view text_;
  const std::map<std::string, int64_t>* symbols_;
  size_t at_ = 0;
};

}  // namespace

Result<int64_t> evaluate_symbols(std::string_view text,
                                 const std::map<std::string, int64_t>& symbols) {
  return Parser(text, &symbols).run();
}

Result<std::vector<std::string>> symbols_of(std::string_view text) {
  Parser parser(text, nullptr);
  FIEL_TRY_STATUS(parser.run().map([](int64_t) {}));
  return std::move(parser.names);
}

bool is_identifier(std::string_view text) {
  return !text.empty() && text.size() <= 64 && is_letter(text[0]) &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_letter(c) || is_digit(c); });
}

}  // namespace fiel::task
