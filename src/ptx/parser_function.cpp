// Functions: header, launch bounds, scopes, registers, labels and the lists that go with them.
#include <fmt/core.h>

#include <algorithm>

#include "base/check.h"
#include "base/text.h"
#include "ptx/parser.h"

namespace fiel::ptx {

bool Parser::function(Variable linkage, bool is_entry) {
  Function made;
  made.is_entry = is_entry;
  made.is_extern = linkage.is_extern;
  made.visible = linkage.visible;
  made.weak = linkage.weak;
  made.ptx_line = token().line;
  if (accept(".attribute") && !attribute(linkage)) return false;
  if (!is_entry && is('(') && !parameter_list(made.returns)) return false;
  Token name;
  if (!take_identifier(name)) return false;
  made.name = name.text;
  if (is('(') && !parameter_list(made.params)) return false;
  if (!function_directives(made)) return false;
  const bool has_body = is('{');
  if (!has_body && !is(';')) return expected("'{' or ';'");

  const auto known = symbols_.find(name.text);
  if (known != symbols_.end()) {
    const Symbol& symbol = module_.symbols[known->second];
    if (symbol.kind != Symbol::Kind::function ||
        (has_body && module_.functions[symbol.function].has_body))
      return syntax(name, fmt::format("\"{}\" is declared twice", printable(name.text, 80)));
    const Function& old = module_.functions[symbol.function];
    if (old.params.size() != made.params.size() || old.returns.size() != made.returns.size() ||
        old.is_entry != made.is_entry)
      return syntax(name, fmt::format("\"{}\" is defined with other parameters than declared",
                                      printable(name.text, 80)));
  }
  function_ = &declare_function(name, std::move(made));
  if (!has_body) {
    function_ = nullptr;
    return expect(';');
  }
  return body();
}

Function& Parser::declare_function(const Token& name, Function made) {
  const auto [it, fresh] =
      symbols_.emplace(name.text, static_cast<uint32_t>(module_.symbols.size()));
  if (!fresh) {
    function_index_ = module_.symbols[it->second].function;
    Function& old = module_.functions[function_index_];
    if (!old.has_body) {
      const bool visible = old.visible || made.visible;
      old = std::move(made);
      old.visible = visible;
    }
    return old;
  }
  function_index_ = static_cast<uint32_t>(module_.functions.size());
  Symbol symbol;
  symbol.kind = Symbol::Kind::function;
  symbol.function = symbol.index = function_index_;
  symbol.name = made.name;
  module_.symbols.push_back(std::move(symbol));
  return module_.functions.emplace_back(std::move(made));
}

bool Parser::parameter_list(std::vector<Variable>& out) {
  if (!expect('(')) return false;
  if (accept(')')) return true;
  do {
    Variable made;
    uint32_t vector = 1;
    const Token at = token();
    if (!variable_prefix(made, vector, true)) return false;
    if (made.space != Space::param && made.space != Space::reg)
      return syntax(at, "a parameter is .param or .reg");
    if (made.type == Type::none) return expected("a type");
    std::vector<uint64_t> dims;
    Token name;
    if (!variable_name(made, vector, dims, name)) return false;
    if (made.bytes == 0)
      return error(ErrorCode::unsupported, name, "a parameter without a size is unsupported",
                   "Variadic device functions do not run; vprintf takes a pointer instead.");
    if (made.bytes > (1 << 20))
      return error(ErrorCode::limit, name,
                   fmt::format("parameter of {}", format_bytes(made.bytes)));
    out.push_back(std::move(made));
    if (++variables_ > Limits::kInstructions)
      return error(ErrorCode::limit, name, "too many variables");
  } while (accept(','));
  return expect(')');
}

bool Parser::three(uint32_t (&out)[3]) {
  out[0] = out[1] = out[2] = 1;
  for (uint32_t& part : out) {
    uint64_t value = 0;
    if (!unsigned_constant(value, UINT32_MAX, "launch bound")) return false;
    part = static_cast<uint32_t>(value);
    if (!accept(',')) break;
  }
  return true;
}

bool Parser::function_directives(Function& out) {
  while (token().kind == TokenKind::dotted)
    if (!function_directive(out)) return false;
  return true;
}

bool Parser::function_directive(Function& out) {
  const Token at = token();
  lexer_.advance();
  const auto one = [&](uint32_t& value) {
    uint64_t n = 0;
    if (!unsigned_constant(n, UINT32_MAX, "launch bound")) return false;
    value = static_cast<uint32_t>(n);
    return true;
  };
  uint32_t ignored = 0;
  if (at.text == ".maxntid") return three(out.max_ntid);
  if (at.text == ".reqntid") return three(out.req_ntid);
  if (at.text == ".minnctapersm") return one(out.min_nctapersm);
  if (at.text == ".maxnctapersm" || at.text == ".local_maxnreg" || at.text == ".abi_preserve" ||
      at.text == ".abi_preserve_control")
    return one(ignored);
  if (at.text == ".maxnreg") return one(out.max_nreg);
  if (at.text == ".maxclusterrank") return one(out.max_cluster_rank);
  if (at.text == ".reqnctapercluster") return three(out.req_cluster);
  if (at.text == ".explicitcluster") return out.explicit_cluster = true, true;
  if (at.text == ".blocksareclusters") return out.explicit_cluster = true, true;
  if (at.text == ".noreturn") return out.noreturn = true, true;
  if (at.text == ".attribute") {
    Variable unused;
    return attribute(unused);
  }
  if (at.text == ".pragma") {
    std::string text;
    return take_string(text) && (accept(';') || true);
  }
  static const std::vector<std::string> kKnown = {
      ".maxntid",  ".reqntid",        ".minnctapersm",      ".maxnctapersm",
      ".maxnreg",  ".maxclusterrank", ".reqnctapercluster", ".explicitcluster",
      ".noreturn", ".pragma",         ".blocksareclusters"};
  const std::string near = did_you_mean(at.text, kKnown);
  return syntax(at, fmt::format("unknown directive \"{}\"", printable(at.text, 60)),
                near.empty() ? "" : fmt::format("Did you mean \"{}\"?", near));
}

bool Parser::body() {
  scopes_.assign(1, Scope{});
  scope_ = 0;
  depth_ = 0;
  pending_.clear();
  source_ = -1;
  function_->has_body = true;
  function_->is_extern = false;
  for (const bool is_return : {true, false}) {
    std::vector<Variable>& list = is_return ? function_->returns : function_->params;
    for (uint32_t i = 0; i < list.size(); ++i) {
      Token name = token();
      // Names in scopes point into the text or into the module, both of which outlive the scope.
      name.text = list[i].name;
      if (name.text == "_") continue;
      if (list[i].space == Space::reg) {
        list[i].reg = static_cast<int32_t>(add_register(name.text, list[i].type, 0));
        if (!declare(name, {Name::Kind::reg, 1, static_cast<uint32_t>(list[i].reg)})) return false;
        continue;
      }
      Symbol symbol;
      symbol.kind = Symbol::Kind::param;
      symbol.function = function_index_;
      symbol.index = i;
      symbol.is_return = is_return;
      symbol.name = list[i].name;
      if (!declare(name, {Name::Kind::symbol, 1, static_cast<uint32_t>(module_.symbols.size())}))
        return false;
      module_.symbols.push_back(std::move(symbol));
    }
  }
  if (!open_scope()) return false;
  while (depth_ > 0)
    if (!body_statement()) return false;
  if (!resolve_pending()) return false;
  function_ = nullptr;
  scopes_.clear();
  return true;
}

bool Parser::open_scope() {
  if (depth_ == Limits::kNesting)
    return error(ErrorCode::limit, token(),
                 fmt::format("scopes nested deeper than {}", Limits::kNesting));
  if (!expect('{')) return false;
  ++depth_;
  Scope made;
  made.parent = scope_;
  scope_ = static_cast<int32_t>(scopes_.size());
  scopes_.push_back(std::move(made));
  return true;
}

bool Parser::close_scope() {
  Scope& closing = scopes_[static_cast<size_t>(scope_)];
  closing.ranges.clear();  // registers are never referred to from outside, labels may be pending
  scope_ = closing.parent;
  --depth_;
  return expect('}');
}

bool Parser::body_statement() {
  const Token& t = token();
  if (t.kind == TokenKind::identifier) {
    if (!lexer_.next_is(':')) return instruction();
    const Token name = t;
    lexer_.advance();
    lexer_.advance();
    return label_or_list(name);
  }
  if (is('@')) return instruction();
  if (is('{')) return open_scope();
  if (is('}')) return close_scope();
  if (accept(';')) return true;
  if (t.kind != TokenKind::dotted) return expected("an instruction");
  if (is(".loc")) return loc();
  if (is(".reg")) return register_declaration();
  if (is(".param") || is(".local") || is(".shared")) return local_declaration();
  if (accept(".pragma")) {
    std::string ignored;
    return take_string(ignored) && expect(';');
  }
  if (accept(".file")) return file_directive();
  if (accept(".section")) return section();
  if (is(".global") || is(".const"))
    return error(ErrorCode::unsupported, t,
                 fmt::format("a {} variable inside a function is unsupported", t.text),
                 "Declare it at module level.");
  return syntax(t, fmt::format("unknown directive \"{}\"", printable(t.text, 60)));
}

bool Parser::declare(const Token& at, Name name) {
  Scope& scope = scopes_[static_cast<size_t>(scope_)];
  if (!scope.names.emplace(at.text, name).second)
    return syntax(at, fmt::format("\"{}\" is declared twice in one scope", printable(at.text, 80)));
  return true;
}

uint32_t Parser::add_register(std::string_view name, Type type, int32_t scope) {
  Register made;
  made.name = name;
  if (scope > 1) made.name += fmt::format("#{}", scope);  // inner scopes may reuse the name
  made.type = type;
  function_->registers.push_back(std::move(made));
  return static_cast<uint32_t>(function_->registers.size() - 1);
}

bool Parser::register_declaration() {
  lexer_.advance();
  Type type = Type::none;
  uint32_t vector = 1;
  while (token().kind == TokenKind::dotted) {
    const Word* word = find_word(token().text.substr(1));
    if (word == nullptr || (word->field != Field::type && word->field != Field::vector))
      return syntax(token(), fmt::format("\"{}\" is not a register type", token().text));
    if (word->field == Field::type)
      type = static_cast<Type>(word->value);
    else
      vector = word->value;
    lexer_.advance();
  }
  if (type == Type::none) return expected("a register type");
  do {
    if (!one_register(type, vector)) return false;
  } while (accept(','));
  return expect(';');
}

bool Parser::one_register(Type type, uint32_t vector) {
  Token name;
  if (!take_identifier(name)) return false;
  if (accept('<')) {
    Operand count;
    if (vector > 1)
      return error(ErrorCode::unsupported, name, "a range of vector registers is unsupported");
    if (!number(count) || !expect('>')) return false;
    RegisterRange range;
    range.count = count.bits;
    range.type = type;
    Scope& scope = scopes_[static_cast<size_t>(scope_)];
    if (!scope.ranges.emplace(name.text, std::move(range)).second)
      return syntax(name,
                    fmt::format("\"{}\" is declared twice in one scope", printable(name.text, 80)));
    return true;
  }
  if (vector == 1)
    return declare(name, {Name::Kind::reg, 1, add_register(name.text, type, scope_)});
  const auto first = static_cast<uint32_t>(function_->registers.size());
  for (uint32_t i = 0; i < vector; ++i)
    add_register(fmt::format("{}.{}", name.text, "xyzwabcd"[i]), type, scope_);
  return declare(name, {Name::Kind::vector_reg, static_cast<uint8_t>(vector), first});
}

bool Parser::local_declaration() {
  Variable prefix;
  uint32_t vector = 1;
  const Token at = token();
  if (!variable_prefix(prefix, vector, false)) return false;
  if (prefix.type == Type::none) return expected("a type");
  do {
    Variable made = prefix;
    std::vector<uint64_t> dims;
    Token name;
    if (!variable_name(made, vector, dims, name)) return false;
    if (made.bytes == 0 && made.space != Space::shared)
      return syntax(name, fmt::format("\"{}\" has no size", printable(name.text, 80)));
    if (++variables_ > Limits::kInstructions)
      return error(ErrorCode::limit, at, "too many variables");
    Symbol symbol;
    symbol.kind = Symbol::Kind::local_variable;
    symbol.function = function_index_;
    symbol.index = static_cast<uint32_t>(function_->locals.size());
    symbol.name = made.name;
    if (scope_ > 1) symbol.name += fmt::format("#{}", scope_);
    made.name = symbol.name;
    if (!declare(name, {Name::Kind::symbol, 1, static_cast<uint32_t>(module_.symbols.size())}))
      return false;
    module_.symbols.push_back(std::move(symbol));
    function_->locals.push_back(std::move(made));
  } while (accept(','));
  return expect(';');
}

bool Parser::label_or_list(const Token& name) {
  if (accept(".branchtargets")) return branch_targets(name);
  if (accept(".callprototype")) return call_prototype(name);
  if (accept(".calltargets")) return call_target_list(name);
  Label label;
  label.name = name.text;
  if (scope_ > 1) label.name += fmt::format("#{}", scope_);
  label.statement = static_cast<uint32_t>(function_->body.size());
  if (!declare(name, {Name::Kind::label, 1, static_cast<uint32_t>(function_->labels.size())}))
    return false;
  function_->labels.push_back(std::move(label));
  return true;
}

bool Parser::branch_targets(const Token& name) {
  const auto table = static_cast<uint32_t>(function_->tables.size());
  function_->tables.emplace_back();
  if (!declare(name, {Name::Kind::table, 1, table})) return false;
  do {
    Pending entry;
    entry.kind = Pending::Kind::table_entry;
    entry.scope = scope_;
    entry.where = table;
    entry.slot = static_cast<uint32_t>(function_->tables[table].size());
    if (!take_identifier(entry.token)) return false;
    uint64_t copies = 1;
    if (accept('<')) {  // L<3> stands for L0, L1, L2
      return error(ErrorCode::unsupported, entry.token, "a range of labels is unsupported",
                   "List the labels one by one.");
    }
    for (uint64_t i = 0; i < copies; ++i) function_->tables[table].push_back(0);
    pending_.push_back(entry);
  } while (accept(','));
  return expect(';');
}

bool Parser::call_prototype(const Token& name) {
  Prototype made;
  if (is('(') && !parameter_list(made.returns)) return false;
  Token underscore;
  if (!take_identifier(underscore)) return false;
  if (is('(') && !parameter_list(made.params)) return false;
  while (token().kind == TokenKind::dotted) {
    Function unused;
    if (!function_directive(unused)) return false;
  }
  const auto index = static_cast<uint32_t>(function_->prototypes.size());
  function_->prototypes.push_back(std::move(made));
  return declare(name, {Name::Kind::prototype, 1, index}) && expect(';');
}

bool Parser::call_target_list(const Token& name) {
  std::vector<uint32_t> targets;
  do {
    Token target;
    if (!take_identifier(target)) return false;
    const auto it = symbols_.find(target.text);
    if (it == symbols_.end() || module_.symbols[it->second].kind != Symbol::Kind::function)
      return syntax(target, fmt::format("\"{}\" is not a function", printable(target.text, 80)));
    targets.push_back(it->second);
  } while (accept(','));
  const auto index = static_cast<uint32_t>(function_->call_targets.size());
  function_->call_targets.push_back(std::move(targets));
  return declare(name, {Name::Kind::call_targets, 1, index}) && expect(';');
}

const Parser::Name* Parser::find_in(const Scope& scope, std::string_view name) const {
  const auto it = scope.names.find(name);
  return it == scope.names.end() ? nullptr : &it->second;
}

const Parser::Name* Parser::find_local(int32_t scope, std::string_view name) const {
  for (; scope >= 0; scope = scopes_[static_cast<size_t>(scope)].parent)
    if (const Name* found = find_in(scopes_[static_cast<size_t>(scope)], name)) return found;
  return nullptr;
}

/// %r57 of a `.reg .b32 %r<100>` in this very scope; made when it is first used, because a range
/// may be declared far larger than the registers that the code names.
std::optional<uint32_t> Parser::find_register(Scope& scope, std::string_view name,
                                              int32_t number_of_scope) {
  if (scope.ranges.empty()) return std::nullopt;
  size_t digits = name.size();
  while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') --digits;
  // A prefix may itself end in digits (%fd1<3>): longest prefix last, as most end in a letter.
  for (size_t cut = digits; cut < name.size() && name.size() - cut <= 10; ++cut) {
    if (name[cut] == '0' && cut + 1 != name.size()) continue;
    const auto it = scope.ranges.find(name.substr(0, cut));
    if (it == scope.ranges.end()) continue;
    uint64_t n = 0;
    for (const char c : name.substr(cut)) n = n * 10 + static_cast<uint64_t>(c - '0');
    RegisterRange& range = it->second;
    if (n >= range.count) continue;
    if (n < range.dense.size() && range.dense[n] != 0) return range.dense[n] - 1;
    const auto key = static_cast<uint32_t>(n);
    if (const auto far = range.sparse.find(key); far != range.sparse.end()) return far->second;
    const uint32_t made = add_register(name, range.type, number_of_scope);
    ++range.used;
    if (n < uint64_t{range.used} * 4 + 1024) {
      if (n >= range.dense.size()) range.dense.resize(std::max<size_t>(n + 1, range.used * 2));
      range.dense[n] = made + 1;
    } else {
      range.sparse.emplace(key, made);
    }
    return made;
  }
  return std::nullopt;
}

std::vector<std::string> Parser::visible_names() const {
  std::vector<std::string> out;
  for (int32_t s = scope_; s >= 0; s = scopes_[static_cast<size_t>(s)].parent)
    for (const auto& [text, name] : scopes_[static_cast<size_t>(s)].names)
      if (out.size() < 2000) out.emplace_back(text);
  for (const auto& [text, index] : symbols_)
    if (out.size() < 4000) out.emplace_back(text);
  return out;
}

bool Parser::resolve_pending() {
  for (const Pending& pending : pending_) {
    const Name* name = find_local(pending.scope, pending.token.text);
    if (name == nullptr) {
      std::vector<std::string> labels;
      for (const Label& label : function_->labels)
        if (labels.size() < 2000) labels.push_back(label.name);
      const std::string near = did_you_mean(pending.token.text, labels);
      return syntax(pending.token,
                    fmt::format("label \"{}\" is not defined in function {}",
                                printable(pending.token.text, 80), printable(function_->name, 80)),
                    near.empty() ? "" : fmt::format("Did you mean \"{}\"?", near));
    }
    if (!resolve(pending, *name)) return false;
  }
  return true;
}

bool Parser::resolve(const Pending& pending, const Name& name) {
  const auto wrong = [&](std::string_view wanted) {
    return syntax(pending.token,
                  fmt::format("\"{}\" is not {}", printable(pending.token.text, 80), wanted));
  };
  switch (pending.kind) {
    case Pending::Kind::branch:
      if (name.kind != Name::Kind::label) return wrong("a label");
      function_->body[pending.where].operands[pending.slot].reg = name.index;
      return true;
    case Pending::Kind::table_entry:
      if (name.kind != Name::Kind::label) return wrong("a label");
      function_->tables[pending.where][pending.slot] = name.index;
      return true;
    case Pending::Kind::table:
      if (name.kind != Name::Kind::table) return wrong("a .branchtargets list");
      function_->body[pending.where].prototype = static_cast<int32_t>(name.index);
      return true;
    case Pending::Kind::prototype:
      if (name.kind == Name::Kind::call_targets)
        function_->body[pending.where].call_targets = static_cast<int32_t>(name.index);
      else if (name.kind == Name::Kind::prototype)
        function_->body[pending.where].prototype = static_cast<int32_t>(name.index);
      else
        return wrong("a .callprototype or .calltargets list");
      return true;
  }
  return true;
}

}  // namespace fiel::ptx
