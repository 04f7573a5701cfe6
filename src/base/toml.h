// TOML with positions, so that errors can point at the line and column.
//
//   FIEL_TRY(TomlValue doc, parse_toml(text, "softmax.toml"));
//   const TomlValue* inputs = doc.find("inputs");
//   fail(ErrorCode::parse, caret(text, "softmax.toml", inputs->line, inputs->column, "needs a
//   dtype"))
//
// Tables keep the order of the file. Dates and times are refused.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace fiel {

struct TomlValue {
  enum class Kind : uint8_t { boolean, integer, number, string, array, table };
  Kind kind = Kind::table;
  bool boolean = false;
  int64_t integer = 0;
  double number = 0;  ///< also set for integers
  std::string string;
  std::vector<TomlValue> items;
  std::vector<std::pair<std::string, TomlValue>> members;  ///< in the order of the file
  uint32_t line = 0, column = 0;                           ///< 1-based position of the value

  // Defined in toml.cpp: inline, clang 14 finds the type incomplete while it looks at `members`.
  TomlValue();
  ~TomlValue();
  TomlValue(const TomlValue&);
  TomlValue(TomlValue&&) noexcept;
  TomlValue& operator=(const TomlValue&);
  TomlValue& operator=(TomlValue&&) noexcept;

  const TomlValue* find(std::string_view key) const;
  bool is_table() const { return kind == Kind::table; }
  bool is_array() const { return kind == Kind::array; }
  bool is_string() const { return kind == Kind::string; }
  bool is_integer() const { return kind == Kind::integer; }
  bool is_number() const { return kind == Kind::number || kind == Kind::integer; }
  bool is_boolean() const { return kind == Kind::boolean; }
};
const char* name_of(TomlValue::Kind kind);

/// Bounds: 4 MiB, nesting 32. Errors carry file:line:column and a caret line.
Result<TomlValue> parse_toml(std::string_view text, std::string_view file_name);

/// "softmax.toml:4:12: needs a dtype\n  4 | x = { shape = …\n    |     ^" for messages about text.
std::string caret(std::string_view text, std::string_view file_name, uint32_t line, uint32_t column,
                  std::string_view message);

}  // namespace fiel
