// CUDA C++ source as tokens, with comments and preprocessor lines left out.
//
//   FIEL_TRY(std::vector<Token> tokens, tokenize(text));
//   text.substr(tokens[0].begin, tokens[0].size())            // places are offsets into the text
//
// Enough of the language to find operators, operands and brackets; it knows no types, expands no
// macros and accepts what no compiler would. Launch brackets are one token.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace fiel::mutate {

enum class TokenKind : uint8_t { identifier, number, text, punctuation };

struct Token {
  TokenKind kind = TokenKind::punctuation;
  size_t begin = 0, end = 0;
  uint32_t line = 1, column = 1;  ///< from 1; columns count bytes
  std::string_view spelling;      ///< into the text

  bool is(std::string_view word) const { return spelling == word; }
};

/// `text` outlives the tokens. Fails beyond 4 MiB and where a comment or literal does not end.
Result<std::vector<Token>> tokenize(std::string_view text);

}  // namespace fiel::mutate
