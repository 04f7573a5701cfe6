// Directives of the module: header, files, linkage, variables, aliases.
#include <fmt/core.h>

#include <charconv>

#include "base/text.h"
#include "ptx/parser.h"

namespace fiel::ptx {

bool Parser::parse_module() {
  module_.files.emplace_back();
  while (token().kind != TokenKind::end)
    if (!module_statement()) return false;
  if (module_.version_major == 0)
    return error(ErrorCode::parse, token(), "no .version directive: this is not a PTX module",
                 "Give the text that nvcc -ptx writes.");
  name_inlined_functions();
  return resolve_aliases() && verify_calls();
}

bool Parser::module_statement() {
  const Token at = token();
  if (at.kind == TokenKind::punctuation && accept(';')) return true;
  if (at.kind != TokenKind::dotted) return expected("a directive");
  if (is(".version") || is(".target") || is(".address_size")) return header();
  if (accept(".file")) return file_directive();
  if (accept(".section")) return section();
  if (is(".loc")) return loc();
  if (accept(".alias")) return alias();
  if (accept(".pragma")) {
    std::string ignored;
    do {
      if (!take_string(ignored)) return false;
    } while (accept(','));
    return expect(';');
  }
  return linked_declaration();
}

bool Parser::header() {
  if (accept(".target")) return target();
  const Token at = token();
  if (accept(".address_size")) {
    const Token number_at = token();
    uint64_t bits = 0;
    if (!unsigned_constant(bits, 1024, "address size")) return false;
    if (bits != 64)
      return error(ErrorCode::unsupported, number_at,
                   fmt::format("address size {} is unsupported", bits),
                   "Only 64-bit addresses run: compile with -m64.");
    module_.address_bits = 64;
    return true;
  }
  lexer_.advance();
  const std::string_view text = token().text;
  const size_t dot = text.find('.');
  const auto read = [&](std::string_view part, uint32_t& out) {
    const auto [end, problem] = std::from_chars(part.data(), part.data() + part.size(), out);
    return problem == std::errc() && end == part.data() + part.size() && out < 1000;
  };
  if (token().kind != TokenKind::number || dot == std::string_view::npos ||
      !read(text.substr(0, dot), module_.version_major) ||
      !read(text.substr(dot + 1), module_.version_minor) || module_.version_major == 0)
    return expected("a version such as 8.7");
  if (module_.version_major > 9)
    return error(ErrorCode::unsupported, at,
                 fmt::format("PTX ISA {} is unsupported", printable(text, 20)),
                 "Versions up to 9 are read; compile with a CUDA 13 toolkit or older.");
  lexer_.advance();
  return true;
}

bool Parser::target() {
  Token name;
  if (!take_identifier(name)) return false;
  if (name.text.substr(0, 3) != "sm_")
    return syntax(name, fmt::format("\"{}\" is not a target", printable(name.text, 40)),
                  "A target looks like sm_90.");
  module_.target = name.text;
  while (accept(','))
    if (!take_identifier(name)) return false;
  return true;
}

bool Parser::file_directive() {
  const Token at = token();
  uint64_t index = 0;
  std::string path;
  if (!unsigned_constant(index, Limits::kFiles, "file number") || !take_string(path)) return false;
  while (accept(',')) {  // time stamp, size
    Operand ignored;
    if (!number(ignored)) return false;
  }
  if (index >= module_.files.size()) module_.files.resize(index + 1);
  module_.files[index] = std::move(path);
  (void)at;
  return true;
}

bool Parser::linked_declaration() {
  Variable linkage;
  const Token start = token();
  for (;;) {
    if (accept(".visible"))
      linkage.visible = true;
    else if (accept(".extern"))
      linkage.is_extern = true;
    else if (accept(".weak"))
      linkage.weak = true;
    else if (accept(".common"))
      linkage.common = true;
    else
      break;
  }
  if (accept(".entry")) return function(std::move(linkage), true);
  if (accept(".func")) return function(std::move(linkage), false);
  if (is(".global") || is(".const") || is(".shared")) return module_variables(std::move(linkage));
  if (is(".local") || is(".reg") || is(".param"))
    return syntax(start,
                  fmt::format("\"{}\" stands outside of a function", printable(token().text, 40)),
                  "Only .global, .const and .shared variables may.");
  static const std::vector<std::string> kDirectives = {
      ".version", ".target", ".address_size", ".file",   ".section", ".loc",
      ".alias",   ".pragma", ".visible",      ".extern", ".weak",    ".common",
      ".entry",   ".func",   ".global",       ".const",  ".shared"};
  if (is(".texref") || is(".samplerref") || is(".surfref") || is(".tex") || is(".sampler") ||
      is(".surf"))
    return error(ErrorCode::unsupported, token(),
                 fmt::format("{} is unsupported: textures and surfaces do not run", token().text));
  if (token().kind != TokenKind::dotted) return expected("a declaration");
  const std::string near = did_you_mean(token().text, kDirectives);
  return syntax(token(), fmt::format("unknown directive \"{}\"", printable(token().text, 60)),
                near.empty() ? "" : fmt::format("Did you mean \"{}\"?", near));
}

bool Parser::module_variables(Variable prefix) {
  uint32_t vector = 1;
  if (!variable_prefix(prefix, vector, false)) return false;
  if (prefix.type == Type::none) return expected("a type");
  do {
    Variable made = prefix;
    std::vector<uint64_t> dims;
    Token name;
    if (!variable_name(made, vector, dims, name)) return false;
    const auto [it, fresh] =
        symbols_.emplace(name.text, static_cast<uint32_t>(module_.symbols.size()));
    if (!fresh) {
      // `.extern` before the definition is how separate compilation declares it.
      const Symbol& old = module_.symbols[it->second];
      if (old.kind != Symbol::Kind::global_variable ||
          !(module_.variables[old.index].is_extern || made.is_extern))
        return syntax(name, fmt::format("\"{}\" is declared twice", printable(name.text, 80)));
      if (!made.is_extern) module_.variables[old.index] = std::move(made);
      continue;
    }
    Symbol symbol;
    symbol.index = static_cast<uint32_t>(module_.variables.size());
    symbol.name = made.name;
    module_.symbols.push_back(std::move(symbol));
    module_.variables.push_back(std::move(made));
  } while (accept(','));
  return expect(';');
}

bool Parser::alias() {
  Token name;
  Token target;
  if (!take_identifier(name) || !expect(',') || !take_identifier(target)) return false;
  aliases_.emplace_back(name, target);
  return expect(';');
}

/// An alias may be given before its target's body: its symbol is redirected when all is read.
bool Parser::resolve_aliases() {
  for (const auto& [name, target] : aliases_) {
    const auto to = symbols_.find(target.text);
    const auto from = symbols_.find(name.text);
    if (to == symbols_.end() || module_.symbols[to->second].kind != Symbol::Kind::function)
      return syntax(target, fmt::format("\"{}\" is not a function", printable(target.text, 80)));
    if (from == symbols_.end() || module_.symbols[from->second].kind != Symbol::Kind::function)
      return syntax(name, fmt::format("alias \"{}\" is not declared as a function",
                                      printable(name.text, 80)));
    module_.symbols[from->second].function = module_.symbols[to->second].function;
    module_.symbols[from->second].index = module_.symbols[to->second].index;
  }
  return true;
}

}  // namespace fiel::ptx
