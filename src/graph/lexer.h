// Tokens of the expression language.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"

namespace fiel::graph {

enum class TokenKind : uint8_t { end, line_end, name, integer, real, text, symbol };

struct Token {
  TokenKind kind = TokenKind::end;
  std::string_view text;  ///< text: without its quotes
  uint32_t line = 0, column = 0;
};

/// Line ends inside brackets are dropped, ';' is a line end, '#' starts a comment.
Result<std::vector<Token>> tokenize(const Source& source);

}  // namespace fiel::graph
