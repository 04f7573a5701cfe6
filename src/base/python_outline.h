// The top-level names that a Python file defines, found without running it.
//
//   PythonOutline outline = python_outline(text);
//   outline.defines("Model", PythonKind::class_)
//
// A scanner, not a parser: strings, comments, brackets and continued lines are understood, and that
// is all. Code inside `if` at the top level is not looked at.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fiel {

enum class PythonKind : uint8_t { class_, function, variable };

struct PythonName {
  PythonKind kind = PythonKind::variable;
  std::string name;
  uint32_t line = 0;
};

struct PythonOutline {
  std::vector<PythonName> names;
  bool defines(std::string_view name) const;
  bool defines(std::string_view name, PythonKind kind) const;
};

PythonOutline python_outline(std::string_view text);

}  // namespace fiel
