#include "base/toml.h"

#include <stdexcept>

// Hostile text reaches toml++'s assertions ("a.\x01" fails one in parse_key): they become
// exceptions, in release builds too, where the library would otherwise assume them to hold.
#undef NDEBUG
[[noreturn]] static void toml_assertion_failed() { throw std::logic_error("toml++"); }
#define TOML_ASSERT(condition) ((condition) ? void() : toml_assertion_failed())
#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include <algorithm>
#include <tuple>

namespace fiel {
namespace {

constexpr size_t kMaxBytes = 4u << 20;
constexpr int kMaxDepth = 32;

Result<TomlValue> convert(const toml::node& node, std::string_view text, std::string_view file,
                          int depth) {
  TomlValue v;
  v.line = node.source().begin.line;
  v.column = node.source().begin.column;
  auto refuse = [&](std::string_view why) {
    return fail(ErrorCode::parse, caret(text, file, v.line, v.column, why));
  };
  if (depth > kMaxDepth) return refuse("nested deeper than 32 levels");
  if (const auto* t = node.as_table()) {
    v.kind = TomlValue::Kind::table;
    for (const auto& [key, child] : *t) {
      FIEL_TRY(TomlValue c, convert(child, text, file, depth + 1));
      v.members.emplace_back(std::string(key.str()), std::move(c));
    }
    // toml++ sorts keys; the order of the file carries meaning (inputs, shapes).
    std::sort(v.members.begin(), v.members.end(), [](const auto& a, const auto& b) {
      return std::tie(a.second.line, a.second.column, a.first) <
             std::tie(b.second.line, b.second.column, b.first);
    });
  } else if (const auto* a = node.as_array()) {
    v.kind = TomlValue::Kind::array;
    for (const auto& child : *a) {
      FIEL_TRY(TomlValue c, convert(child, text, file, depth + 1));
      v.items.push_back(std::move(c));
    }
  } else if (const auto* s = node.as_string()) {
    v.kind = TomlValue::Kind::string;
    v.string = s->get();
  } else if (const auto* i = node.as_integer()) {
    v.kind = TomlValue::Kind::integer;
    v.integer = i->get();
    v.number = static_cast<double>(i->get());
  } else if (const auto* f = node.as_floating_point()) {
    v.kind = TomlValue::Kind::number;
    v.number = f->get();
  } else if (const auto* b = node.as_boolean()) {
    v.kind = TomlValue::Kind::boolean;
    v.boolean = b->get();
  } else {
    return refuse("dates and times have no meaning here");
  }
  return v;
}

std::string_view line_of(std::string_view text, uint32_t line) {
  size_t begin = 0;
  for (uint32_t i = 1; i < line; ++i) {
    begin = text.find('\n', begin);
    if (begin == std::string_view::npos) return {};
    ++begin;
  }
  return text.substr(begin, std::min(text.find('\n', begin), text.size()) - begin);
}

}  // namespace

TomlValue::TomlValue() = default;
TomlValue::~TomlValue() = default;
TomlValue::TomlValue(const TomlValue&) = default;
TomlValue::TomlValue(TomlValue&&) noexcept = default;
TomlValue& TomlValue::operator=(const TomlValue&) = default;
TomlValue& TomlValue::operator=(TomlValue&&) noexcept = default;

const TomlValue* TomlValue::find(std::string_view key) const {
  for (const auto& [name, value] : members)
    if (name == key) return &value;
  return nullptr;
}

const char* name_of(TomlValue::Kind kind) {
  switch (kind) {
    case TomlValue::Kind::boolean:
      return "boolean";
    case TomlValue::Kind::integer:
      return "integer";
    case TomlValue::Kind::number:
      return "number";
    case TomlValue::Kind::string:
      return "string";
    case TomlValue::Kind::array:
      return "array";
    case TomlValue::Kind::table:
      return "table";
  }
  return "value";
}

std::string caret(std::string_view text, std::string_view file_name, uint32_t line, uint32_t column,
                  std::string_view message) {
  std::string out(file_name);
  out += ':' + std::to_string(line) + ':' + std::to_string(column) + ": ";
  out += message;
  std::string_view source = line_of(text, line);
  if (source.empty()) return out;
  size_t shown_from = column > 100 ? column - 80 : 0;
  std::string shown(source.substr(std::min(shown_from, source.size()), 140));
  // A mark for each byte that cannot be shown keeps the caret in its place.
  for (char& c : shown)
    if (static_cast<unsigned char>(c) < 32 || c == 127) c = c == '\t' ? ' ' : '?';
  std::string number = std::to_string(line);
  out += "\n  " + number + " | " + shown;
  size_t at = column > shown_from + 1 ? column - 1 - shown_from : 0;
  out += "\n  " + std::string(number.size(), ' ') + " | " + std::string(at, ' ') + "^";
  return out;
}

Result<TomlValue> parse_toml(std::string_view text, std::string_view file_name) {
  if (text.size() > kMaxBytes)
    return fail(ErrorCode::limit, std::string(file_name) + ": " + std::to_string(text.size()) +
                                      " bytes of TOML; at most 4 MiB are read");
  // toml++ recurses once a bracket; refuse what would exhaust the stack before it starts.
  int depth = 0, deepest = 0;
  for (char c : text) {
    if (c == '[' || c == '{') deepest = std::max(deepest, ++depth);
    if (c == ']' || c == '}' || c == '\n') depth = c == '\n' ? depth : std::max(0, depth - 1);
  }
  if (deepest > 200)
    return fail(ErrorCode::limit, std::string(file_name) + ": brackets nested deeper than 200");
  try {
    toml::parse_result parsed = toml::parse(text, file_name);
    if (!parsed) {
      const toml::parse_error& e = parsed.error();
      return fail(ErrorCode::parse, caret(text, file_name, e.source().begin.line,
                                          e.source().begin.column, e.description()));
    }
    return convert(parsed.table(), text, file_name, 0);
  } catch (const std::logic_error&) {
    return fail(ErrorCode::parse, std::string(file_name) + ": not TOML; the parser lost its way",
                "look for a key that starts with an unusual character");
  }
}

}  // namespace fiel
