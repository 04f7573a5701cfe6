// Line information: .loc with its inlining chain, and .section blocks, of which only the names in
// .debug_str are read.
#include <fmt/core.h>

#include "base/text.h"
#include "ptx/parser.h"

namespace fiel::ptx {

/// .loc file line column [, function_name label[+offset], inlined_at file line column]
bool Parser::loc() {
  lexer_.advance();
  uint64_t place[3];
  for (uint64_t& part : place)
    if (!unsigned_constant(part, UINT32_MAX, "source position")) return false;
  LocKey key = {static_cast<int64_t>(place[0]),
                static_cast<int64_t>(place[1]),
                static_cast<int64_t>(place[2]),
                -1,
                -1,
                0};
  while (accept(',')) {
    if (accept("function_name")) {
      Token label;
      if (!take_identifier(label)) return false;
      const auto [it, fresh] =
          function_labels_.emplace(label.text, static_cast<int64_t>(function_label_names_.size()));
      if (fresh) function_label_names_.push_back(label.text);
      key[4] = it->second;
      uint64_t offset = 0;
      if (accept('+') && !unsigned_constant(offset, UINT32_MAX, "offset")) return false;
      key[5] = static_cast<int64_t>(offset);
    } else if (accept("inlined_at")) {
      uint64_t at[3];
      for (uint64_t& part : at)
        if (!unsigned_constant(part, UINT32_MAX, "source position")) return false;
      const Place3 where = {static_cast<uint32_t>(at[0]), static_cast<uint32_t>(at[1]),
                            static_cast<uint32_t>(at[2])};
      const LocKey plain = {where[0], where[1], where[2], -1, -1, 0};
      const auto known = latest_.find(where);
      key[3] = known != latest_.end() ? known->second : add_source_line(plain);
      if (inline_depth_[static_cast<size_t>(key[3])] >= Limits::kInlineDepth) key[3] = -1;
    } else {
      return expected("function_name or inlined_at");
    }
  }
  source_ = add_source_line(key);
  return true;
}

int32_t Parser::add_source_line(const LocKey& key) {
  const auto [it, fresh] = locs_.emplace(key, static_cast<int32_t>(module_.source_lines.size()));
  if (fresh) {
    SourceLine made;
    made.file = static_cast<uint32_t>(key[0]);
    made.line = static_cast<uint32_t>(key[1]);
    made.column = static_cast<uint32_t>(key[2]);
    made.inlined_at = static_cast<int32_t>(key[3]);
    inline_depth_.push_back(
        key[3] < 0 ? uint8_t{0}
                   : static_cast<uint8_t>(inline_depth_[static_cast<size_t>(key[3])] + 1));
    module_.source_lines.push_back(std::move(made));
    function_of_source_.emplace_back(key[4], key[5]);
  }
  latest_[{static_cast<uint32_t>(key[0]), static_cast<uint32_t>(key[1]),
           static_cast<uint32_t>(key[2])}] = it->second;
  return it->second;
}

bool Parser::section() {
  const Token name = token();
  if (name.kind != TokenKind::dotted && name.kind != TokenKind::identifier)
    return expected("a section name");
  lexer_.advance();
  if (!is('{')) return expected("'{'");
  if (name.text == ".debug_str") {
    lexer_.advance();
    return debug_strings() && expect('}');
  }
  lexer_.skip_to_closing_brace();
  return expect('}');
}

/// `label:` and `.b8 1,2,3` lines; anything else is passed over.
bool Parser::debug_strings() {
  while (!is('}')) {
    const Token at = token();
    if (at.kind == TokenKind::end || at.kind == TokenKind::bad) return expected("'}'");
    lexer_.advance();
    if (at.kind == TokenKind::identifier && accept(':'))
      debug_labels_[at.text] = debug_text_.size();
    if (at.text != ".b8") continue;
    do {
      uint64_t byte = 0;
      if (!unsigned_constant(byte, 255, "byte")) return false;
      debug_text_.push_back(static_cast<char>(byte));
    } while (accept(','));
  }
  return true;
}

/// The names stand at the end of the text, after all that refers to them.
void Parser::name_inlined_functions() {
  // A name that is shared by many positions is copied: bounded, or a hostile table could square.
  constexpr size_t kLongestName = 1024;
  size_t room = Limits::kInitialBytes;
  for (size_t i = 0; i < module_.source_lines.size(); ++i) {
    const auto [label, offset] = function_of_source_[i];
    if (label < 0) continue;
    const auto it = debug_labels_.find(function_label_names_[static_cast<size_t>(label)]);
    if (it == debug_labels_.end()) continue;
    const size_t from = it->second + static_cast<size_t>(offset);
    if (from >= debug_text_.size()) continue;
    const std::string_view rest = std::string_view(debug_text_).substr(from, kLongestName);
    const std::string_view name = rest.substr(0, rest.find('\0'));
    if (name.size() > room) return;
    room -= name.size();
    module_.source_lines[i].function = name;
  }
}

}  // namespace fiel::ptx
