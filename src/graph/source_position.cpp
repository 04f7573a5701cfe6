#include "graph/source_position.h"

#include <fmt/core.h>

#include "base/text.h"

namespace fiel::graph {

Error error_at(ErrorCode code, const Source* source, uint32_t line, uint32_t column,
               const std::string& message, std::string hint) {
  if (!source || line < source->first_line) return Error{code, message, std::move(hint), {}};
  std::string file = source->file_name.empty() ? "expression" : source->file_name;
  std::string what = fmt::format("{}:{}:{}: {}", file, line, column, message);
  std::vector<std::string_view> lines = split(source->text, '\n');
  size_t index = line - source->first_line;
  if (index >= lines.size()) return Error{code, std::move(what), std::move(hint), {}};
  // A window of the line keeps a hostile one from filling the terminal.
  constexpr size_t kWindow = 100;
  size_t at = column > 0 ? column - 1 : 0;
  size_t from = at > kWindow - 20 ? at - (kWindow - 20) : 0;
  std::string_view shown = lines[index];
  shown = from < shown.size() ? shown.substr(from, kWindow) : std::string_view();
  std::string visible;
  for (char c : shown) visible += (c >= 0x20 && c < 0x7f) ? c : (c == '\t' ? ' ' : '?');
  what += fmt::format("\n  {}\n  {}^", visible, std::string(at - from, ' '));
  return Error{code, std::move(what), std::move(hint), {}};
}

}  // namespace fiel::graph
