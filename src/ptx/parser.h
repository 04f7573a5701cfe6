// The recursive-descent parser behind ptx::parse. One object reads one module; its methods return
// false once error() is set. Split by subject over parser_*.cpp. For parse.cpp only.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ptx/forms.h"
#include "ptx/lexer.h"
#include "ptx/module.h"

namespace fiel::ptx {

struct Limits {
  static constexpr size_t kTextBytes = size_t{64} << 20;
  static constexpr size_t kInstructions = 4'000'000;
  static constexpr uint32_t kNesting = 256;
  static constexpr uint32_t kFiles = 65'535;
  static constexpr uint64_t kVariableBytes = uint64_t{1} << 40;
  static constexpr uint64_t kInitialBytes = uint64_t{64} << 20;  ///< all initialisers together
  static constexpr size_t kOperands = 512;   ///< of one instruction, nested ones included
  static constexpr size_t kTextOfOne = 400;  ///< Instruction::text is cut there
  static constexpr uint8_t kInlineDepth = 64;
};

class Parser {
 public:
  explicit Parser(std::string_view text) : lexer_(text) {}
  bool parse_module();
  Module take_module() { return std::move(module_); }
  Error take_error() { return std::move(*error_); }

 private:
  struct RegisterRange {
    uint64_t count = 0;
    Type type = Type::b32;
    std::vector<uint32_t> dense;          ///< register index + 1 by number
    std::map<uint32_t, uint32_t> sparse;  ///< numbers far beyond those used so far
    uint32_t used = 0;
  };
  struct Name {
    enum class Kind : uint8_t { reg, vector_reg, symbol, label, table, prototype, call_targets };
    Kind kind = Kind::reg;
    uint8_t width = 1;  ///< vector_reg: elements, in consecutive registers
    uint32_t index = 0;
  };
  struct Scope {
    int32_t parent = -1;
    std::map<std::string_view, RegisterRange> ranges;
    std::map<std::string_view, Name> names;
  };
  /// A name that may be defined further down: resolved when the function ends.
  struct Pending {
    enum class Kind : uint8_t { branch, table_entry, table, prototype };
    Kind kind = Kind::branch;
    int32_t scope = 0;
    Token token;
    uint32_t where = 0;  ///< instruction, or table
    uint32_t slot = 0;   ///< operand, or entry of the table
  };
  struct Constant {
    int64_t value = 0;
    bool is_unsigned = false;
  };
  struct Decoded {
    const Form* form = nullptr;
    Opcode op = Opcode::none;
    Modifiers mods;
  };
  using Place3 = std::array<uint32_t, 3>;
  using LocKey = std::array<int64_t, 6>;

  // parser.cpp: errors and small steps.
  bool error(ErrorCode code, const Token& at, std::string what, std::string hint = {});
  bool syntax(const Token& at, std::string what, std::string hint = {});
  bool expected(std::string_view what);
  const Token& token() const { return lexer_.token(); }
  bool is(char c) const { return token().punctuation == c; }
  bool is(std::string_view text) const { return token().text == text; }
  bool accept(char c);
  bool accept(std::string_view text);
  bool expect(char c);
  bool take_identifier(Token& out);
  bool take_string(std::string& out);

  // parser_expression.cpp
  bool constant(Constant& out, uint32_t depth = 0);
  bool constant_binary(Constant& out, int floor, uint32_t depth);
  bool constant_unary(Constant& out, uint32_t depth);
  bool unsigned_constant(uint64_t& out, uint64_t max, std::string_view what);
  bool number(Operand& out);  ///< an integer or floating literal at the token

  // parser_module.cpp
  bool module_statement();
  bool header();
  bool target();
  bool file_directive();
  bool linked_declaration();
  bool alias();
  bool resolve_aliases();
  bool module_variables(Variable prefix);

  // parser_variable.cpp
  bool variable_prefix(Variable& out, uint32_t& vector, bool in_list);
  bool pointer_attributes(Variable& out);
  bool attribute(Variable& out);
  bool variable_name(Variable& out, uint32_t vector, std::vector<uint64_t>& dims, Token& name);
  bool initialiser(Variable& out, const std::vector<uint64_t>& dims, bool open_ended);
  bool initial_list(Variable& out, const std::vector<uint64_t>& dims, size_t level, uint64_t at,
                    uint64_t& end);
  bool initial_value(Variable& out, uint64_t at);
  bool initial_address(Variable& out, uint64_t at, uint64_t mask);
  bool put(Variable& out, uint64_t at, uint64_t bits);

  // parser_function.cpp
  bool function(Variable linkage, bool is_entry);
  bool parameter_list(std::vector<Variable>& out);
  bool function_directives(Function& out);
  bool function_directive(Function& out);
  bool three(uint32_t (&out)[3]);
  Function& declare_function(const Token& name, Function made);
  bool body();
  bool body_statement();
  bool open_scope();
  bool close_scope();
  bool register_declaration();
  bool one_register(Type type, uint32_t vector);
  bool local_declaration();
  bool label_or_list(const Token& name);
  bool branch_targets(const Token& name);
  bool call_prototype(const Token& name);
  bool call_target_list(const Token& name);
  bool resolve_pending();
  bool resolve(const Pending& pending, const Name& name);
  bool declare(const Token& token, Name name);
  const Name* find_in(const Scope& scope, std::string_view name) const;
  const Name* find_local(int32_t scope, std::string_view name) const;
  std::optional<uint32_t> find_register(Scope& scope, std::string_view name,
                                        int32_t number_of_scope);
  uint32_t add_register(std::string_view name, Type type, int32_t scope);
  std::vector<std::string> visible_names() const;

  // parser_instruction.cpp
  bool instruction();
  bool decode(const Token& opcode, Decoded& out);
  bool unknown_opcode(const Token& opcode, std::string_view base);
  bool unknown_word(const Token& opcode, std::string_view base, std::string_view word);
  bool no_form(const Token& opcode, Opcode op, const FormMatch& match);
  bool operands(Instruction& out);
  bool call_operands(Instruction& out);
  bool call_list(Operand& out);
  bool operand(Instruction& out, std::vector<Operand>& list, bool nested);
  bool vector_operand(Instruction& out, Operand& made);
  bool memory_operand(Operand& made);
  bool named_operand(Instruction& out, Operand& made, bool in_memory);
  bool suffix(Instruction& out, Operand& made, const Name* vector);
  bool special_register(Operand& made, const Token& name);
  bool label_reference(Instruction& out, Pending::Kind kind);
  std::string instruction_text(size_t from, size_t to) const;

  // debug_info.cpp
  bool loc();
  int32_t add_source_line(const LocKey& key);
  bool section();
  bool debug_strings();
  void name_inlined_functions();

  // verify.cpp
  bool verify_instruction(const Instruction& made, const Form& form, const Token& at);
  bool verify_calls();
  bool verify_call(const Function& caller, const Instruction& call);

  Lexer lexer_;
  Module module_;
  std::optional<Error> error_;
  std::map<std::string_view, uint32_t> symbols_;  ///< module-level names
  std::vector<std::pair<Token, Token>> aliases_;
  uint64_t initial_bytes_ = 0;
  size_t instructions_ = 0;
  size_t variables_ = 0;
  std::unordered_map<std::string_view, Decoded> decoded_;  ///< by opcode text; bounded
  size_t operand_count_ = 0;

  // Of the function being read.
  Function* function_ = nullptr;
  uint32_t function_index_ = 0;
  std::vector<Scope> scopes_;
  int32_t scope_ = -1;
  uint32_t depth_ = 0;
  std::vector<Pending> pending_;
  int32_t source_ = -1;

  // Line information.
  std::map<LocKey, int32_t> locs_;
  std::map<Place3, int32_t> latest_;
  std::vector<uint8_t> inline_depth_;
  std::map<std::string_view, int64_t> function_labels_;  ///< label in .debug_str -> its number
  std::vector<std::string_view> function_label_names_;
  std::vector<std::pair<int64_t, int64_t>> function_of_source_;  ///< label number, offset
  std::string debug_text_;
  std::map<std::string_view, size_t> debug_labels_;
};

}  // namespace fiel::ptx
