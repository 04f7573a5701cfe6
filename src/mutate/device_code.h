// The device functions of a CUDA source: where their bodies are, which bracket closes which, and
// the few facts about names that mutation needs.
//
//   FIEL_TRY(DeviceCode code, read_device_code(text));
//   for (const Function& f : code.functions) …              // tokens f.begin to f.end
//
// Host code is not looked at: what launches a kernel, and how, is not in here.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "mutate/cuda_tokens.h"

namespace fiel::mutate {

inline constexpr size_t kNone = static_cast<size_t>(-1);

/// A `__global__` or `__device__` function with a body.
struct Function {
  std::string name;
  size_t begin = 0, end = 0;        ///< tokens between the braces of the body
  std::set<std::string> floats;     ///< names declared as float: values, arrays, pointers
  std::set<std::string> indexable;  ///< of these, arrays and pointers
};

/// What a token is part of.
struct Place {
  size_t partner = kNone;         ///< the bracket that belongs to this one
  bool template_bracket = false;  ///< `<` or `>` that compares nothing
  bool subscript = false;         ///< between [ and ] of an access
  bool declarator = false;        ///< between [ and ] of a declaration
  bool for_header = false;
};

struct DeviceCode {
  std::vector<Token> tokens;
  std::vector<Place> places;  ///< one a token
  std::vector<Function> functions;

  bool is(size_t token, std::string_view word) const {
    return token < tokens.size() && tokens[token].is(word);
  }
  /// + - * / % & between two operands, not before one and not in a type.
  bool binary(size_t token) const;
  /// The bracket that ends `(float)`.
  bool ends_cast(size_t token) const;
  /// The first token at or after `from`, on the level of `from`, that is one of `stops`, or that
  /// closes that level.
  size_t end_of_operand(size_t from, const std::set<std::string_view>& stops) const;
};

/// `text` outlives the result. Fails where brackets do not match.
Result<DeviceCode> read_device_code(std::string_view text);

bool is_type_name(std::string_view word);

}  // namespace fiel::mutate
