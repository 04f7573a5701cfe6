// Arithmetic over shape symbols: the dimensions "4*H", "(T+1)/2" of a task.
//
//   FIEL_TRY(int64_t n, evaluate_symbols("4*H", {{"H", 64}}));
//   FIEL_TRY(auto used, symbols_of("4*H"));                      // {"H"}
//
// Integers, names, + - * /, parentheses; a division must come out even. Values stay within
// [0, 2^40]: everything larger is refused, overflow included.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace fiel::task {

Result<int64_t> evaluate_symbols(std::string_view text,
                                 const std::map<std::string, int64_t>& symbols);
/// Names used, each once, in order; fails where the text is not an expression.
Result<std::vector<std::string>> symbols_of(std::string_view text);
/// A letter or underscore, then letters, digits, underscores; at most 64 characters.
bool is_identifier(std::string_view text);

}  // namespace fiel::task
