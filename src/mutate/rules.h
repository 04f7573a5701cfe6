// The rules by which mutants are made, a function a family: each looks at one device function.
//
//   Site site{text, code, function, mutants};  bounds_rules(site);
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mutate/device_code.h"
#include "mutate/mutant.h"

namespace fiel::mutate {

/// One function under the rules, and where its mutants go.
struct Site {
  std::string_view text;
  const DeviceCode& code;
  const Function& function;
  std::vector<Mutant>& mutants;

  const Token& token(size_t i) const { return code.tokens[i]; }
  const Place& place(size_t i) const { return code.places[i]; }
  bool is(size_t i, std::string_view word) const { return code.is(i, word); }
  bool identifier(size_t i) const {
    return i < code.tokens.size() && token(i).kind == TokenKind::identifier;
  }
  /// The source of tokens first to last - 1.
  std::string source(size_t first, size_t last) const;
  /// Tokens first to last - 1 replaced; first == last inserts before first.
  void replace(Kind kind, std::string_view rule, size_t first, size_t last,
               std::string replacement) const;
  /// The first token of the statement that `i` is in.
  size_t statement_begin(size_t i) const;
};

void bounds_rules(const Site& site);
void operation_rules(const Site& site);
void barrier_rules(const Site& site);
void index_rules(const Site& site);
void number_rules(const Site& site);  ///< constants and neutral elements
void term_rules(const Site& site);
void precision_rules(const Site& site);

}  // namespace fiel::mutate
