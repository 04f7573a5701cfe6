// Declarations of variables and parameters, and the initialisers of module variables.
#include <fmt/core.h>

#include <bit>
#include <cstring>

#include "base/text.h"
#include "ptx/parser.h"

namespace fiel::ptx {
namespace {

Space space_of(std::string_view directive) {
  if (directive == ".global") return Space::global;
  if (directive == ".shared") return Space::shared;
  if (directive == ".local") return Space::local;
  if (directive == ".const") return Space::constant;
  if (directive == ".param") return Space::param;
  if (directive == ".reg") return Space::reg;
  return Space::none;
}

Type type_of(std::string_view directive) {
  if (directive.empty() || directive[0] != '.') return Type::none;
  const Word* word = find_word(directive.substr(1));
  return word != nullptr && word->field == Field::type ? static_cast<Type>(word->value)
                                                       : Type::none;
}

/// f64 -> f16 or bf16 pattern is not needed: PTX initialises those as .b16.
uint64_t float_bits(const Operand& literal, Type type) {
  if (type == Type::f32)
    return literal.is_double
               ? std::bit_cast<uint32_t>(static_cast<float>(std::bit_cast<double>(literal.bits)))
               : literal.bits;
  if (literal.is_double || type != Type::f64) return literal.bits;
  return std::bit_cast<uint64_t>(
      static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(literal.bits))));
}

}  // namespace

bool Parser::attribute(Variable& out) {
  if (!expect('(')) return false;
  for (;;) {
    const Token at = token();
    if (accept(".managed")) {
      out.is_managed = true;
    } else if (accept(".unified")) {
      if (!expect('(')) return false;
      while (!is(')') && token().kind == TokenKind::number) {
        lexer_.advance();
        accept(',');
      }
      if (!expect(')')) return false;
    } else {
      return syntax(at, fmt::format("unknown attribute \"{}\"", printable(at.text, 40)),
                    "Known: .managed, .unified.");
    }
    if (!accept(',')) return expect(')');
  }
}

bool Parser::pointer_attributes(Variable& out) {
  out.is_pointer = true;
  for (;;) {
    if (is(".global") || is(".shared") || is(".local") || is(".const") || is(".param")) {
      lexer_.advance();
    } else if (accept(".align")) {
      uint64_t ignored = 0;
      if (!unsigned_constant(ignored, 1 << 20, "alignment")) return false;
    } else {
      return true;
    }
  }
}

/// `.global .align 8 .attribute(.managed) .v2 .u16`: all that stands before the name.
bool Parser::variable_prefix(Variable& out, uint32_t& vector, bool in_list) {
  const Token start = token();
  bool aligned = false;
  while (token().kind == TokenKind::dotted) {
    const Token at = token();
    lexer_.advance();
    if (const Space space = space_of(at.text); space != Space::none) {
      if (out.space != Space::none) return syntax(at, "a second state space");
      out.space = space;
    } else if (const Type type = type_of(at.text); type != Type::none) {
      out.type = type;
    } else if (at.text == ".align") {
      if (!unsigned_constant(out.align, 1 << 20, "alignment")) return false;
      if (!std::has_single_bit(out.align))
        return syntax(at, fmt::format("alignment {} is not a power of two", out.align));
      aligned = true;
    } else if (at.text == ".v2" || at.text == ".v4" || at.text == ".v8") {
      vector = static_cast<uint32_t>(at.text[2] - '0');
    } else if (at.text == ".ptr" && in_list) {
      if (!pointer_attributes(out)) return false;
    } else if (at.text == ".attribute") {
      if (!attribute(out)) return false;
    } else if (at.text == ".texref" || at.text == ".samplerref" || at.text == ".surfref") {
      return error(ErrorCode::unsupported, at,
                   fmt::format("{} is unsupported: textures and surfaces do not run", at.text),
                   "Read through plain pointers (or __ldg) instead of textures.");
    } else {
      return syntax(at, fmt::format("\"{}\" does not belong into a declaration", at.text));
    }
  }
  if (out.space == Space::none && !in_list) return expected("a state space");
  const uint32_t bits = bits_of(out.type);
  if (out.type == Type::pred && out.space != Space::reg)
    return syntax(start, "predicates live in registers only");
  const uint64_t natural = std::max<uint64_t>(1, bits / 8) * vector;
  if (!aligned) out.align = natural;
  out.bytes = natural;
  return true;
}

/// The name, the array bounds, and the size that follows from them.
bool Parser::variable_name(Variable& out, uint32_t vector, std::vector<uint64_t>& dims,
                           Token& name) {
  if (!take_identifier(name)) return false;
  out.name = name.text;
  bool open_ended = false;
  while (accept('[')) {
    if (dims.size() >= 16) return syntax(name, "more than 16 dimensions");
    if (is(']')) {
      if (!dims.empty()) return syntax(token(), "only the first bound may be left out");
      open_ended = true;
      dims.push_back(0);
    } else {
      uint64_t n = 0;
      if (!unsigned_constant(n, Limits::kVariableBytes, "array bound")) return false;
      dims.push_back(n);
    }
    if (!expect(']')) return false;
  }
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] != 0 && out.bytes > Limits::kVariableBytes / dims[i])
      return error(ErrorCode::limit, name,
                   fmt::format("variable {} is larger than {}", printable(out.name, 60),
                               format_bytes(Limits::kVariableBytes)));
    out.bytes *= dims[i];
  }
  if (vector > 1) dims.push_back(vector);
  if (!accept('=')) return true;
  if (out.space != Space::global && out.space != Space::constant)
    return syntax(name, fmt::format("{} has an initialiser, which only .global and .const may have",
                                    printable(out.name, 60)));
  return initialiser(out, dims, open_ended);
}

bool Parser::initialiser(Variable& out, const std::vector<uint64_t>& dims, bool open_ended) {
  const uint64_t element = bits_of(out.type) / 8;
  uint64_t end = 0;
  if (is('{')) {
    if (!initial_list(out, dims, 0, 0, end)) return false;
  } else {
    if (!initial_value(out, 0)) return false;
    end = element;
  }
  if (open_ended) {
    uint64_t row = element;
    for (size_t i = 1; i < dims.size(); ++i) row *= dims[i];
    out.bytes = row == 0 ? 0 : (end + row - 1) / row * row;
  }
  return true;
}

/// One `{…}`; `level` says which dimension it lists. Inner braces begin on a row of their own.
bool Parser::initial_list(Variable& out, const std::vector<uint64_t>& dims, size_t level,
                          uint64_t at, uint64_t& end) {
  const Token open = token();
  if (!expect('{')) return false;
  if (level >= 17) return syntax(open, "an initialiser nested too deep");
  const uint64_t element = bits_of(out.type) / 8;
  uint64_t row = element;
  for (size_t i = level + 1; i < dims.size(); ++i) row *= dims[i];
  uint64_t here = at;
  end = at;
  while (!is('}')) {
    if (is('{')) {
      const uint64_t aligned = row == 0 ? here : at + (here - at + row - 1) / row * row;
      uint64_t inner = 0;
      if (!initial_list(out, dims, level + 1, aligned, inner)) return false;
      here = std::max(aligned + row, inner);
    } else {
      if (!initial_value(out, here)) return false;
      here += element;
    }
    end = std::max(end, here);
    if (!accept(',')) break;
  }
  const bool open_ended = !dims.empty() && dims[0] == 0;
  const uint64_t room = dims.size() > level ? row * dims[level] : element;
  if (!(level == 0 && open_ended) && end - at > room)
    return syntax(open,
                  fmt::format("more initial values than {} has room for", printable(out.name, 60)));
  return expect('}');
}

bool Parser::put(Variable& out, uint64_t at, uint64_t bits) {
  const uint64_t element = bits_of(out.type) / 8;
  const uint64_t end = at + element;
  if (end > out.initial.size()) {
    initial_bytes_ += end - out.initial.size();
    if (initial_bytes_ > Limits::kInitialBytes || end > Limits::kInitialBytes)
      return error(ErrorCode::limit, token(),
                   fmt::format("initialisers of more than {} in one module",
                               format_bytes(Limits::kInitialBytes)));
    out.initial.resize(end);
  }
  std::memcpy(out.initial.data() + at, &bits, std::min<uint64_t>(element, 8));
  return true;
}

bool Parser::initial_value(Variable& out, uint64_t at) {
  if (token().kind == TokenKind::identifier && !is("WARP_SZ"))
    return initial_address(out, at, ~uint64_t{0});
  if (token().kind == TokenKind::number && lexer_.next_is('(')) {  // mask(symbol)
    Operand mask;
    if (!number(mask) || !expect('(') || !initial_address(out, at, mask.bits)) return false;
    return expect(')');
  }
  const Token start = token();
  const bool negative = is('-');
  const std::string_view after = lexer_.text().substr(lexer_.offset_of(start) + (negative ? 1 : 0));
  const bool pattern = after.size() > 1 && after[0] == '0' &&
                       (after[1] == 'f' || after[1] == 'F' || after[1] == 'd' || after[1] == 'D');
  if (pattern || fiel::ptx::is_float(out.type)) {
    if (negative) lexer_.advance();
    Operand literal;
    if (!number(literal)) return false;
    uint64_t bits = literal.is_float ? float_bits(literal, out.type) : literal.bits;
    if (!literal.is_float && out.type == Type::f32)
      bits = std::bit_cast<uint32_t>(static_cast<float>(static_cast<int64_t>(bits)));
    if (!literal.is_float && out.type == Type::f64)
      bits = std::bit_cast<uint64_t>(static_cast<double>(static_cast<int64_t>(bits)));
    const uint32_t width = bits_of(out.type);
    if (negative && width >= 16 && width <= 64) bits ^= uint64_t{1} << (width - 1);
    return put(out, at, bits);
  }
  Constant value;
  return constant(value) && put(out, at, static_cast<uint64_t>(value.value));
}

/// `sym`, `sym+8`, `generic(sym)-4`.
bool Parser::initial_address(Variable& out, uint64_t at, uint64_t mask) {
  Relocation made;
  made.at = at;
  made.mask = mask;
  made.bytes = static_cast<uint8_t>(bits_of(out.type) / 8);
  Token name;
  if (!take_identifier(name)) return false;
  if (name.text == "generic" && accept('(')) {
    made.generic = true;
    if (!take_identifier(name) || !expect(')')) return false;
  }
  const auto it = symbols_.find(name.text);
  if (it == symbols_.end()) {
    std::vector<std::string> names;
    for (const auto& [text, index] : symbols_) names.emplace_back(text);
    const std::string near = did_you_mean(name.text, names);
    return syntax(name, fmt::format("unknown name \"{}\"", printable(name.text, 80)),
                  near.empty() ? "Declare it above the initialiser that takes its address."
                               : fmt::format("Did you mean \"{}\"?", near));
  }
  made.symbol = it->second;
  if (is('+') || is('-')) {
    Constant addend;
    const bool negative = is('-');
    lexer_.advance();
    if (!constant_binary(addend, 9, 0)) return false;
    made.addend =
        negative ? static_cast<int64_t>(0 - static_cast<uint64_t>(addend.value)) : addend.value;
  }
  if (made.bytes == 0 || made.bytes > 8)
    return syntax(name, "an address does not fit into an element of this type");
  if (!put(out, at, 0)) return false;
  out.relocations.push_back(made);
  return true;
}

}  // namespace fiel::ptx
