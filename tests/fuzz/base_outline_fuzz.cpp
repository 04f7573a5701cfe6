// Any bytes as a Python file: names, each of the file's own words, in the order of its lines.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/python_outline.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const fiel::PythonOutline outline = fiel::python_outline(text);
  const auto lines = static_cast<size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
  uint32_t last = 0;
  for (const fiel::PythonName& n : outline.names) {
    if (n.name.empty() || text.find(n.name) == std::string_view::npos) std::abort();
    if (n.line <= last || n.line > lines) std::abort();  // one name a logical line
    if (!outline.defines(n.name, n.kind)) std::abort();
    last = n.line;
  }
  return 0;
}
