// Instructions: opcode and modifiers (decoded once per distinct spelling), guard, operands.
#include <fmt/core.h>

#include <charconv>

#include "base/text.h"
#include "ptx/parser.h"

namespace fiel::ptx {
namespace {

constexpr std::string_view kSupportedFamilies =
    "Fiel runs PTX up to warp-level matrices (mma.sync, wmma, ldmatrix), cp.async and mbarrier; "
    "wgmma, TMA and other bulk copies, clusters, tcgen05 and textures need a GPU.";

const std::map<std::string_view, SpecialReg>& special_registers() {
  static const std::map<std::string_view, SpecialReg> kMap = [] {
    std::map<std::string_view, SpecialReg> out;
    for (auto r = static_cast<uint8_t>(SpecialReg::tid_x);
         r <= static_cast<uint8_t>(SpecialReg::current_graph_exec); ++r)
      out.emplace(name_of(static_cast<SpecialReg>(r)), static_cast<SpecialReg>(r));
    out.erase("%envreg");
    return out;
  }();
  return kMap;
}

bool is_simd_video(Opcode op) { return op >= Opcode::vadd2 && op <= Opcode::vset4; }
bool is_video(Opcode op) { return op >= Opcode::vadd && op <= Opcode::vset4; }

/// `b7531` or `h32`, first letter taken off: most significant lane first.
bool lane_digits(std::string_view text, char kind, uint16_t& out) {
  const size_t lanes = kind == 'b' ? 4 : 2;
  const char last = kind == 'b' ? '7' : '3';
  if (text.size() != lanes) return false;
  out = 0;
  for (const char c : text) {
    if (c < '0' || c > last) return false;
    out = static_cast<uint16_t>(out << 4 | (c - '0'));
  }
  return true;
}

}  // namespace

bool Parser::instruction() {
  const size_t from = lexer_.offset_of(token());
  Instruction made;
  if (accept('@')) {
    made.guard_negated = accept('!');
    const Token at = token();
    std::vector<Operand> guard;
    if (at.kind != TokenKind::identifier) return expected("a predicate register");
    if (!operand(made, guard, true)) return false;
    if (guard.size() != 1 || guard[0].kind != Operand::Kind::reg ||
        function_->registers[guard[0].reg].type != Type::pred)
      return syntax(at,
                    fmt::format("guard \"{}\" is not a predicate register", printable(at.text, 60)),
                    "Declare it with .reg .pred.");
    made.guard = static_cast<int32_t>(guard[0].reg);
  }
  if (token().kind != TokenKind::identifier) return expected("an opcode");
  lexer_.extend_over_modifiers();
  const Token opcode = token();
  Decoded decoded;
  if (!decode(opcode, decoded)) return false;
  lexer_.advance();
  made.op = decoded.op;
  made.mods = decoded.mods;
  made.ptx_line = opcode.line;
  made.source = source_;
  if (++instructions_ > Limits::kInstructions)
    return error(ErrorCode::limit, opcode,
                 fmt::format("more than {} instructions", format_count(Limits::kInstructions)));
  made.operands.reserve(decoded.form->places.size());
  operand_count_ = 0;
  if (!(made.op == Opcode::call ? call_operands(made) : operands(made))) return false;
  if (!is(';')) return expected("',' or ';'");
  made.text = instruction_text(from, lexer_.offset_of(token()));
  if (!verify_instruction(made, *decoded.form, opcode)) return false;
  function_->body.push_back(std::move(made));
  return expect(';');
}

/// Blanks and comments become one space.
std::string Parser::instruction_text(size_t from, size_t to) const {
  const std::string_view raw = lexer_.text().substr(from, to - from);
  std::string out;
  out.reserve(std::min(raw.size(), Limits::kTextOfOne) + 4);
  bool gap = false;
  for (size_t i = 0; i < raw.size(); ++i) {
    const char c = raw[i];
    if (c == '/' && i + 1 < raw.size() && raw[i + 1] == '/') {
      i = std::min(raw.find('\n', i), raw.size() - 1);
      gap = true;
    } else if (c == '/' && i + 1 < raw.size() && raw[i + 1] == '*') {
      i = std::min(raw.find("*/", i + 2), raw.size() - 2) + 1;
      gap = true;
    } else if (static_cast<unsigned char>(c) <= ' ') {
      gap = true;
    } else {
      if (gap && !out.empty()) out.push_back(' ');
      gap = false;
      if (out.size() >= Limits::kTextOfOne) return out + "…";
      out.push_back(c);
    }
  }
  return out;
}

bool Parser::decode(const Token& opcode, Decoded& out) {
  if (const auto it = decoded_.find(opcode.text); it != decoded_.end()) {
    out = it->second;
    return true;
  }
  std::string_view rest = opcode.text;
  const std::string_view base = rest.substr(0, rest.find('.'));
  out.op = find_opcode(base);
  if (out.op == Opcode::none) return unknown_opcode(opcode, base);
  std::vector<const Word*> words;
  std::optional<std::string_view> unknown;
  rest.remove_prefix(base.size());
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const std::string_view text = rest.substr(0, rest.find('.'));
    rest.remove_prefix(text.size());
    const Word* word = find_word(text);
    if (word != nullptr && is_unsupported(out.op, *word))
      return error(ErrorCode::unsupported, opcode,
                   fmt::format("\"{}\" is unsupported: {}.{} does not run on the virtual GPU",
                               printable(opcode.text, 120), base, text),
                   std::string(kSupportedFamilies));
    if (word == nullptr && !unknown) unknown = text;
    if (word != nullptr) words.push_back(word);
    if (words.size() > 32) return syntax(opcode, "more than 32 modifiers");
  }
  // Only now: "cp.async.bulk.<anything>" is unsupported, not misspelt.
  if (unknown) return unknown_word(opcode, base, *unknown);
  const FormMatch match = match_form(out.op, words);
  if (match.form == nullptr) return no_form(opcode, out.op, match);
  if (match.form->unsupported)
    return error(
        ErrorCode::unsupported, opcode,
        fmt::format("\"{}\" is unsupported on the virtual GPU", printable(opcode.text, 120)),
        fmt::format("Supported: {}.", supported_forms(out.op)));
  out.form = match.form;
  for (const Word* word : words) fold(out.op, *word, out.mods);
  if (decoded_.size() >= 4096) decoded_.clear();
  decoded_.emplace(opcode.text, out);
  return true;
}

bool Parser::unknown_opcode(const Token& opcode, std::string_view base) {
  if (is_unsupported_opcode(base))
    return error(ErrorCode::unsupported, opcode,
                 fmt::format("\"{}\" is unsupported: {} does not run on the virtual GPU",
                             printable(opcode.text, 120), base),
                 std::string(kSupportedFamilies));
  const std::string near = did_you_mean(base, opcode_spellings());
  return syntax(opcode,
                fmt::format("unknown opcode \"{}\" in \"{}\"", printable(base, 60),
                            printable(opcode.text, 120)),
                near.empty() ? "" : fmt::format("Did you mean \"{}\"?", near));
}

bool Parser::unknown_word(const Token& opcode, std::string_view base, std::string_view word) {
  const std::string near = did_you_mean(word, word_spellings());
  return syntax(opcode,
                fmt::format("unknown modifier \".{}\" in \"{}\"", printable(word, 60),
                            printable(opcode.text, 120)),
                near.empty() ? fmt::format("Supported: {}.", supported_forms(find_opcode(base)))
                             : fmt::format("Did you mean \".{}\"?", near));
}

bool Parser::no_form(const Token& opcode, Opcode op, const FormMatch& match) {
  const std::string what =
      match.misfit != nullptr
          ? fmt::format("{} does not take \".{}\": \"{}\"", name_of(op), match.misfit->text,
                        printable(opcode.text, 120))
          : fmt::format("\"{}\" lacks a modifier, or has two that do not go together",
                        printable(opcode.text, 120));
  return syntax(opcode, what, fmt::format("Supported: {}.", supported_forms(op)));
}

bool Parser::operands(Instruction& out) {
  if (is(';')) return true;
  if (out.op == Opcode::bra) return label_reference(out, Pending::Kind::branch);
  do {
    if (out.op == Opcode::brx && out.operands.size() == 1)
      return label_reference(out, Pending::Kind::table);
    if (!operand(out, out.operands, false)) return false;
  } while (accept(','));
  return true;
}

bool Parser::label_reference(Instruction& out, Pending::Kind kind) {
  Pending pending;
  pending.kind = kind;
  pending.scope = scope_;
  pending.where = static_cast<uint32_t>(function_->body.size());
  pending.slot = static_cast<uint32_t>(out.operands.size());
  if (!take_identifier(pending.token)) return false;
  pending_.push_back(pending);
  if (kind == Pending::Kind::branch) {
    Operand made;
    made.kind = Operand::Kind::label;
    out.operands.push_back(std::move(made));
  }
  return true;
}

/// call [(results),] target [, (arguments) [, prototype]]
bool Parser::call_operands(Instruction& out) {
  Operand results;
  Operand arguments;
  results.kind = arguments.kind = Operand::Kind::list;
  if (is('(') && (!call_list(results) || !expect(','))) return false;
  std::vector<Operand> target;
  if (!operand(out, target, true)) return false;
  if (accept(',')) {
    if (!is('(')) return expected("'('");
    if (!call_list(arguments)) return false;
    if (accept(',') && !label_reference(out, Pending::Kind::prototype)) return false;
  }
  out.operands.push_back(std::move(results));
  out.operands.push_back(std::move(target.front()));
  out.operands.push_back(std::move(arguments));
  return true;
}

bool Parser::call_list(Operand& out) {
  if (!expect('(')) return false;
  if (accept(')')) return true;
  Instruction unused;
  do {
    if (!operand(unused, out.elements, true)) return false;
  } while (accept(','));
  return expect(')');
}

/// One operand onto `list`; `d|p` makes two. `nested`: within {…}, (…) or as guard.
bool Parser::operand(Instruction& out, std::vector<Operand>& list, bool nested) {
  if (++operand_count_ > Limits::kOperands) return syntax(token(), "too many operands");
  Operand& made = list.emplace_back();
  const Token at = token();
  if (at.kind == TokenKind::identifier) {
    if (!named_operand(out, made, false)) return false;
    if (nested || !is('|')) return true;
    lexer_.advance();
    if (out.operands.size() != 1 || &list != &out.operands)
      return syntax(at, "only the first operand may be a pair");
    out.pair_destination = true;
    Operand& second = list.emplace_back();
    if (token().kind != TokenKind::identifier) return expected("a predicate register");
    return named_operand(out, second, false);
  }
  if (at.kind == TokenKind::punctuation) {
    if (is('[')) return memory_operand(made);
    if (is('{')) {
      if (nested) return syntax(at, "a vector inside a vector");
      return vector_operand(out, made);
    }
    if (is('!') || is('-')) {  // !%p, -%r, -1.0: a name or a float after a sign
      const bool negative = is('-');
      const std::string_view after = lexer_.text().substr(lexer_.offset_of(at) + 1, 64);
      const size_t first = after.find_first_not_of(" \t");
      const char c = first == std::string_view::npos ? ' ' : after[first];
      if (c == '%' || c == '_' || c == '$' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
        lexer_.advance();
        made.negated = true;
        if (negative) return syntax(at, "a negated register where none may be");
        return named_operand(out, made, false);
      }
      const bool pattern =
          c == '0' && first + 1 < after.size() &&
          std::string_view("fFdD").find(after[first + 1]) != std::string_view::npos;
      const bool decimal =
          after.substr(0, after.find_first_of(",;}")).find('.') != std::string_view::npos;
      if (negative && (pattern || decimal)) {
        lexer_.advance();
        if (!number(made)) return false;
        made.bits ^= uint64_t{1} << (made.is_double ? 63 : 31);
        return true;
      }
    }
  }
  if (at.kind == TokenKind::number) {
    const Lexer before = lexer_;
    if (!number(made)) return false;
    if (made.is_float || is(',') || is(';') || is('}') || is(')')) return true;
    lexer_ = before;  // an expression, which is rare
  }
  Constant value;
  if (at.kind != TokenKind::punctuation && at.kind != TokenKind::number)
    return expected("an operand");
  if (!constant(value)) return false;
  made.kind = Operand::Kind::immediate;
  made.bits = static_cast<uint64_t>(value.value);
  return true;
}

bool Parser::vector_operand(Instruction& out, Operand& made) {
  Operand vector;  // `made` lies in a vector that named_operand may not see grow
  vector.kind = Operand::Kind::vector;
  if (!expect('{')) return false;
  do {
    if (!operand(out, vector.elements, true)) return false;
  } while (accept(','));
  made = std::move(vector);
  return expect('}');
}

/// [base], [base+offset], [base-offset], [constant]
bool Parser::memory_operand(Operand& made) {
  const Token open = token();
  if (!expect('[')) return false;
  made.kind = Operand::Kind::memory;
  Operand& base = made.elements.emplace_back();
  if (token().kind == TokenKind::identifier && !is("WARP_SZ")) {
    Instruction unused;
    if (!named_operand(unused, base, true)) return false;
    made.offset = base.offset;
    base.offset = 0;
  } else {
    Constant address;
    if (!constant(address)) return false;
    base.kind = Operand::Kind::immediate;
    base.bits = static_cast<uint64_t>(address.value);
  }
  if (base.kind != Operand::Kind::reg && base.kind != Operand::Kind::symbol &&
      base.kind != Operand::Kind::immediate)
    return syntax(open, "an address is a register, a variable or a constant");
  if (is('+') || is('-')) {
    const bool negative = is('-');
    lexer_.advance();
    Constant offset;
    if (!constant(offset)) return false;
    const auto delta = static_cast<uint64_t>(offset.value);
    made.offset =
        static_cast<int64_t>(static_cast<uint64_t>(made.offset) + (negative ? 0 - delta : delta));
  }
  if (is(',') || is('{'))
    return error(ErrorCode::unsupported, token(),
                 "an address with coordinates is unsupported: textures and tensors do not run",
                 std::string(kSupportedFamilies));
  return expect(']');
}

/// A register, variable, function, special register or `_`.
bool Parser::named_operand(Instruction& out, Operand& made, bool in_memory) {
  const Token name = token();
  lexer_.advance();
  if (name.text == "_") {
    made.kind = Operand::Kind::sink;
    return true;
  }
  for (int32_t s = scope_; s >= 0; s = scopes_[static_cast<size_t>(s)].parent) {
    Scope& scope = scopes_[static_cast<size_t>(s)];
    if (const auto reg = find_register(scope, name.text, s)) {
      made.kind = Operand::Kind::reg;
      made.reg = *reg;
      return token().kind != TokenKind::dotted || suffix(out, made, nullptr);
    }
    const Name* found = find_in(scope, name.text);
    if (found == nullptr) continue;
    if (found->kind == Name::Kind::reg || found->kind == Name::Kind::vector_reg) {
      made.kind = Operand::Kind::reg;
      made.reg = found->index;
      const bool is_vector = found->kind == Name::Kind::vector_reg;
      if (token().kind == TokenKind::dotted) return suffix(out, made, is_vector ? found : nullptr);
      if (!is_vector) return true;
      made.kind = Operand::Kind::vector;
      for (uint32_t i = 0; i < found->width; ++i) {
        Operand& element = made.elements.emplace_back();
        element.kind = Operand::Kind::reg;
        element.reg = found->index + i;
      }
      return true;
    }
    if (found->kind != Name::Kind::symbol)
      return syntax(name,
                    fmt::format("label \"{}\" where a value must be", printable(name.text, 80)));
    made.kind = Operand::Kind::symbol;
    made.symbol = found->index;
    break;
  }
  if (made.kind == Operand::Kind::none) {
    if (name.text[0] == '%' && special_register(made, name)) return true;
    if (error_) return false;
    if (name.text == "WARP_SZ") {
      made.kind = Operand::Kind::immediate;
      made.bits = 32;
      return true;
    }
    const auto it = symbols_.find(name.text);
    if (it == symbols_.end()) {
      const std::string near = did_you_mean(name.text, visible_names());
      return syntax(name, fmt::format("unknown name \"{}\"", printable(name.text, 80)),
                    near.empty() ? "Declare it before it is used."
                                 : fmt::format("Did you mean \"{}\"?", near));
    }
    made.kind = Operand::Kind::symbol;
    made.symbol = it->second;
  }
  if (in_memory || !(is('+') || is('-'))) return true;
  const bool negative = is('-');
  lexer_.advance();
  Constant offset;
  if (!constant(offset)) return false;
  made.offset =
      negative ? static_cast<int64_t>(0 - static_cast<uint64_t>(offset.value)) : offset.value;
  return true;
}

/// v.x of a vector register; a.b1, a.h0, a.b3210 of a video instruction.
bool Parser::suffix(Instruction& out, Operand& made, const Name* vector) {
  const Token at = token();
  const std::string_view text = at.text.substr(1);
  lexer_.advance();
  if (vector != nullptr && text.size() == 1) {
    const size_t i = std::string_view("xyzw").find(text) != std::string_view::npos
                         ? std::string_view("xyzw").find(text)
                         : std::string_view("rgba").find(text);
    if (i < vector->width) {
      made.reg = vector->index + static_cast<uint32_t>(i);
      return true;
    }
  }
  const char kind = text[0];
  const std::string_view digits = text.substr(1);
  const bool is_destination = out.operands.size() == 1;
  if (is_video(out.op) && (kind == 'b' || kind == 'h') && !digits.empty()) {
    if (!is_simd_video(out.op) && digits.size() == 1 && digits[0] >= '0' &&
        digits[0] <= (kind == 'b' ? '3' : '1')) {
      made.selector = static_cast<int8_t>(digits[0] - '0' + (kind == 'h' ? 4 : 0));
      return true;
    }
    if (is_simd_video(out.op) && is_destination) {  // which lanes of the result are written
      uint8_t mask = 0;
      for (const char c : digits)
        if (c >= '0' && c <= (kind == 'b' ? '3' : '1'))
          mask |= static_cast<uint8_t>(1 << (c - '0'));
      if (mask != 0 && digits.size() <= 4) {
        out.mods.mask = mask;
        return true;
      }
    }
    if (is_simd_video(out.op) && lane_digits(digits, kind, made.lanes)) return true;
  }
  return syntax(at, fmt::format("\"{}\" cannot be taken of this register", printable(at.text, 20)));
}

bool Parser::special_register(Operand& made, const Token& name) {
  const auto& map = special_registers();
  auto it = map.find(name.text);
  if (it == map.end() && token().kind == TokenKind::dotted) {
    const std::string full = std::string(name.text) + std::string(token().text);
    it = map.find(full);
    if (it != map.end()) lexer_.advance();
  }
  if (it != map.end()) {
    made.kind = Operand::Kind::special;
    made.special = it->second;
    return true;
  }
  if (name.text.substr(0, 7) == "%envreg") {
    const std::string_view digits = name.text.substr(7);
    uint32_t n = 0;
    const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), n);
    if (problem == std::errc() && end == digits.data() + digits.size() && n < 32) {
      made.kind = Operand::Kind::special;
      made.special = SpecialReg::envreg;
      made.offset = n;
      return true;
    }
  }
  if (name.text.substr(0, 3) == "%pm" || name.text.substr(0, 19) == "%reserved_smem_offs") {
    return error(ErrorCode::unsupported, name,
                 fmt::format("special register \"{}\" is unsupported", printable(name.text, 60)));
  }
  return false;
}

}  // namespace fiel::ptx
