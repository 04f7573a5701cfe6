// The verifier: operand kinds, counts and register widths against the form of the opcode, calls
// against what they call.
#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "ptx/parser.h"

namespace fiel::ptx {
namespace {

using Kind = Operand::Kind;

uint32_t bits_wanted(const Place& place, const Modifiers& mods) {
  switch (place.width) {
    case Width::type0:
    case Width::type1:
    case Width::type2:
    case Width::type3:
      return bits_of(mods.types[static_cast<size_t>(place.width)]);
    case Width::twice_type0:
      return 2 * bits_of(mods.types[0]);
    case Width::fixed:
      return place.bits;
    case Width::any:
      return 0;
  }
  return 0;
}

/// Sub-byte and byte values live in registers of 16 bits or more.
bool register_fits(uint32_t have, uint32_t want, bool at_least) {
  if (want == 0) return true;
  if (want == 1 || have == 1) return want == have;
  return at_least ? have >= want : have == want;
}

bool present(const Place& place, const Modifiers& mods, bool& decided) {
  decided = place.only_with_bool_op || place.only_with_hint;
  if (place.only_with_bool_op) return mods.bool_op != BoolOp::none;
  if (place.only_with_hint) return mods.cache_hint;
  return true;
}

class Check {
 public:
  Check(const Instruction& made, const Form& form, const std::vector<Register>& registers,
        const Module& module)
      : made_(made), form_(form), registers_(registers), module_(module) {}

  /// Empty when all is well.
  std::string run() {
    if (!choose_places()) return problem_;
    if (std::string text = check_order(); !text.empty()) return text;
    if (made_.op == Opcode::lop3 && made_.mods.bool_op != BoolOp::none && !made_.pair_destination)
      return "lop3 with a boolean operator writes d|p";
    if (made_.op >= Opcode::vadd && made_.op <= Opcode::vset) {
      const bool third = made_.mods.secondary != AtomicOp::none || made_.operands[0].selector >= 0;
      if ((made_.operands.size() == 4) != third)
        return "a fourth operand goes with .add, .min, .max or a part of the destination";
    }
    if (made_.op == Opcode::mov) return check_mov();
    size_t at = 0;
    for (const Place* place : places_) {
      const bool pair = place->pair && made_.pair_destination;
      if (!check(*place, made_.operands[at], at + 1)) return problem_;
      if (pair && !is_predicate(made_.operands[at + 1]))
        return "the operand after '|' must be a predicate register or '_'";
      at += pair ? 2 : 1;
    }
    return check_matrices();
  }
  bool unsupported() const { return unsupported_; }

 private:
  bool problem(std::string text) {
    problem_ = std::move(text);
    return false;
  }

  /// Which places of the form the operands fill: optional ones from the left, as many as there are.
  bool choose_places() {
    size_t given = made_.operands.size() + (made_.op == Opcode::brx ? 1 : 0);
    if (made_.pair_destination) {
      if (form_.places.empty() || !form_.places[0].pair)
        return problem("this instruction has one destination, not two");
      --given;
    }
    size_t required = 0;
    size_t most = 0;
    for (const Place& place : form_.places) {
      bool decided = false;
      const bool there = present(place, made_.mods, decided);
      if (!there) continue;
      ++most;
      required += !place.optional;
    }
    if (given < required || given > most)
      return problem(required == most
                         ? fmt::format("takes {} operands, {} given", required, given)
                         : fmt::format("takes {} to {} operands, {} given", required, most, given));
    size_t spare = given - required;
    for (const Place& place : form_.places) {
      bool decided = false;
      if (!present(place, made_.mods, decided)) continue;
      if (place.optional && spare == 0) continue;
      if (place.optional) --spare;
      if (place.role != Role::table) places_.push_back(&place);
    }
    return true;
  }

  bool is_predicate(const Operand& operand) const {
    return operand.kind == Kind::sink ||
           (operand.kind == Kind::reg && registers_[operand.reg].type == Type::pred);
  }

  bool check_register(const Place& place, const Operand& operand, size_t number) {
    const uint32_t want = bits_wanted(place, made_.mods);
    const Register& reg = registers_[operand.reg];
    const uint32_t have = bits_of(reg.type);
    if (register_fits(have, want, place.at_least)) return true;
    return problem(fmt::format("operand {} ({}) has {} bits, {}{} wanted", number,
                               printable(reg.name, 60), have, place.at_least ? "at least " : "",
                               want));
  }

  bool check_source(const Place& place, const Operand& operand, size_t number) {
    const bool predicate = place.width == Width::fixed && place.bits == 1;
    if (operand.negated && !predicate && !is_predicate(operand))
      return problem(fmt::format("operand {}: '!' goes with predicates only", number));
    switch (operand.kind) {
      case Kind::reg:
        return check_register(place, operand, number);
      case Kind::immediate:
        return check_constant(place, operand, number);
      case Kind::special:
        return made_.op == Opcode::cvt ||
               problem(fmt::format("operand {}: a special register is read by mov", number));
      case Kind::symbol:
        return made_.op == Opcode::cvta ||
               problem(fmt::format("operand {}: an address is taken by mov or cvta", number));
      default:
        return problem(fmt::format("operand {} must be a register or a constant", number));
    }
  }

  /// A pattern taken for an integer, or an integer for a pattern, would be a silent wrong value.
  bool check_constant(const Place& place, const Operand& operand, size_t number) {
    if (place.width > Width::type3) return true;
    return constant_fits(made_.mods.types[static_cast<size_t>(place.width)], operand) ||
           problem(fmt::format("operand {}: the constant is not of type {}", number,
                               name_of(made_.mods.types[static_cast<size_t>(place.width)])));
  }
  static bool constant_fits(Type type, const Operand& operand) {
    if (type == Type::f32 || type == Type::f64) return operand.is_float;
    if (type == Type::b32) return !operand.is_float || !operand.is_double;
    if (type == Type::b64 || (fiel::ptx::is_float(type))) return true;
    return !operand.is_float;
  }

  bool check_vector(const Place& place, const Operand& operand, size_t number) {
    const bool is_destination = place.role == Role::vector_destination;
    const size_t want = made_.mods.vector;
    if (operand.kind != Kind::vector) {
      if (want != 1)
        return problem(fmt::format("operand {} must be a vector of {} elements", number, want));
      return is_destination ? check_destination(place, operand, number)
                            : check_source(place, operand, number);
    }
    if (operand.elements.size() != want)
      return problem(fmt::format("operand {} has {} elements, {} wanted", number,
                                 operand.elements.size(), want));
    for (const Operand& element : operand.elements)
      if (!(is_destination ? check_destination(place, element, number)
                           : check_source(place, element, number)))
        return false;
    return true;
  }

  bool check_destination(const Place& place, const Operand& operand, size_t number) {
    if (operand.kind == Kind::sink) {
      const bool element = place.role == Role::vector_destination && made_.mods.vector > 1;
      const bool may =
          place.pair || element || made_.op == Opcode::atom || made_.op == Opcode::mbarrier;
      return may || problem(fmt::format("operand {}: this result cannot be thrown away", number));
    }
    if (operand.kind != Kind::reg || operand.negated)
      return problem(fmt::format("operand {} is written, so it must be a register", number));
    return check_register(place, operand, number);
  }

  bool check_fragment(const Operand& operand, size_t number) {
    if (operand.kind == Kind::reg) return true;
    if (operand.kind != Kind::vector)
      return problem(fmt::format("operand {} must be {{…}} of registers", number));
    for (const Operand& element : operand.elements)
      if (element.kind != Kind::reg && element.kind != Kind::immediate &&
          element.kind != Kind::sink)
        return problem(fmt::format("operand {} must hold registers", number));
    return true;
  }

  bool check_memory(const Operand& operand, size_t number) {
    if (operand.kind != Kind::memory)
      return problem(fmt::format("operand {} must be an address in []", number));
    const Operand& base = operand.elements[0];
    if (base.kind == Kind::reg && bits_of(registers_[base.reg].type) != 32 &&
        bits_of(registers_[base.reg].type) != 64)
      return problem(fmt::format("operand {}: an address register has 32 or 64 bits", number));
    if (base.kind == Kind::symbol && module_.symbols[base.symbol].kind == Symbol::Kind::function)
      return problem(fmt::format("operand {}: a function cannot be read or written", number));
    return true;
  }

  bool check(const Place& place, const Operand& operand, size_t number) {
    switch (place.role) {
      case Role::destination:
        return check_destination(place, operand, number);
      case Role::source:
        return check_source(place, operand, number);
      case Role::memory:
        return check_memory(operand, number);
      case Role::label:
        return operand.kind == Kind::label || problem("a branch needs a label");
      case Role::immediate:
        return (operand.kind == Kind::immediate && !operand.is_float) ||
               problem(fmt::format("operand {} must be a constant integer", number));
      case Role::vector_destination:
      case Role::vector_source:
        return check_vector(place, operand, number);
      case Role::fragment:
        return check_fragment(operand, number);
      case Role::scalar:
        return operand.kind == Kind::reg || operand.kind == Kind::immediate ||
               operand.kind == Kind::special ||
               problem(fmt::format("operand {} must be a register or a constant", number));
      case Role::unsupported:
        unsupported_ = true;
        return problem(fmt::format("a form with {} operands is unsupported", number));
      case Role::table:
      case Role::any:
        return true;
    }
    return true;
  }

  /// ld.relaxed without a scope means nothing, nor does a scope without an order.
  std::string check_order() const {
    const Modifiers& m = made_.mods;
    const bool strong = m.sem >= Semantics::relaxed;
    if (made_.op == Opcode::ld || made_.op == Opcode::st || made_.op == Opcode::mbarrier) {
      if (strong && m.scope == Scope::none)
        return "a memory order needs a scope (.cta, .gpu, .sys)";
      if (!strong && m.scope != Scope::none) return "a scope needs a memory order (.relaxed, …)";
    }
    if (m.nc && m.space != Space::global) return ".nc goes with .global only";
    return "";
  }

  uint32_t width_of(const Operand& operand) const {
    if (operand.kind == Kind::reg) return bits_of(registers_[operand.reg].type);
    if (operand.kind != Kind::vector) return 0;
    uint32_t sum = 0;
    uint32_t known = 0;
    for (const Operand& element : operand.elements) {
      if (element.kind == Kind::reg) known = bits_of(registers_[element.reg].type);
      sum += element.kind == Kind::reg ? known : 0;
    }
    const auto n = static_cast<uint32_t>(operand.elements.size());
    return known == 0 ? 0 : std::max(sum, known * n);  // `_` and constants are as wide as the rest
  }

  static bool special_fits(SpecialReg special, uint32_t bits) {
    switch (special) {
      case SpecialReg::gridid:
        return bits >= 32;
      case SpecialReg::clock64:
      case SpecialReg::globaltimer:
      case SpecialReg::current_graph_exec:
        return bits == 64;
      case SpecialReg::is_explicit_cluster:
        return bits == 1;
      default:
        return bits == 16 || bits == 32;
    }
  }

  std::string check_mov() {
    const uint32_t want = bits_of(made_.mods.types[0]);
    const Operand& to = made_.operands[0];
    const Operand& from = made_.operands[1];
    if (to.kind != Kind::reg && to.kind != Kind::vector && to.kind != Kind::sink)
      return "operand 1 is written, so it must be a register";
    if (to.kind == Kind::vector && from.kind == Kind::vector &&
        to.elements.size() != from.elements.size())
      return "both vectors must have as many elements";
    if (from.kind == Kind::sink || from.kind == Kind::memory) return "operand 2 must be a value";
    if (from.kind == Kind::immediate && !constant_fits(made_.mods.types[0], from))
      return "operand 2: the constant is not of this type";
    if (from.kind == Kind::special && !special_fits(from.special, want))
      return fmt::format("{} does not fit {} bits", name_of(from.special), want);
    if (from.kind == Kind::symbol && want < 32) return "operand 2: an address does not fit";
    if (from.negated && want != 1) return "'!' goes with predicates only";
    const bool elementwise = to.kind == Kind::vector && from.kind == Kind::vector;
    for (const Operand* operand : {&to, &from}) {
      for (const Operand& element : operand->elements)
        if (element.kind != Kind::reg && element.kind != Kind::immediate &&
            element.kind != Kind::sink)
          return "a vector in mov must hold registers";
      const uint32_t have = width_of(*operand);
      if (have == 0 || have == want || elementwise) continue;
      return fmt::format("operand {} has {} bits, {} wanted", operand == &to ? 1 : 2, have, want);
    }
    return "";
  }

  /// How many registers a thread holds of a matrix of m x n elements.
  static size_t fragment_registers(Type type, uint32_t m, uint32_t n) {
    const uint32_t bits = m * n * bits_of(type) / 32;
    const uint32_t reg = type == Type::f64 ? 64 : 32;
    return std::max<size_t>(1, bits / reg);
  }

  std::string check_matrices() {
    switch (made_.op) {
      case Opcode::mma:
        return check_mma();
      case Opcode::wmma:
        return check_wmma();
      case Opcode::ldmatrix:
        return check_registers(0, made_.mods.matrices, Type::b32);
      case Opcode::stmatrix:
        return check_registers(1, made_.mods.matrices, Type::b32);
      default:
        return "";
    }
  }

  std::string check_registers(size_t index, size_t want, Type type) {
    const Operand& operand = made_.operands[index];
    const size_t have = operand.kind == Kind::vector ? operand.elements.size() : 1;
    if (have != want)
      return fmt::format("operand {} has {} registers, {} wanted", index + 1, have, want);
    const uint32_t bits = type == Type::f64 ? 64 : 32;
    const auto wrong = [&](const Operand& element) {
      return element.kind == Kind::reg && bits_of(registers_[element.reg].type) != bits;
    };
    if (wrong(operand) || std::any_of(operand.elements.begin(), operand.elements.end(), wrong))
      return fmt::format("operand {} must hold registers of {} bits", index + 1, bits);
    return "";
  }

  std::string check_mma() {
    const Modifiers& m = made_.mods;
    const MmaShape s = m.shape;
    // m8n8k4.f16 is four matrices at once, one for each eight lanes.
    const bool quad = s == MmaShape{8, 8, 4} && m.types[1] == Type::f16;
    if (!quad && m.types[0] != m.types[3]) return "the types of the result and the addend differ";
    const size_t result[2] = {m.types[0] == Type::f16 ? size_t{4} : size_t{8},
                              m.types[3] == Type::f16 ? size_t{4} : size_t{8}};
    const size_t want[4] = {quad ? result[0] : fragment_registers(m.types[0], s.m, s.n),
                            quad ? 2 : fragment_registers(m.types[1], s.m, s.k),
                            quad ? 2 : fragment_registers(m.types[2], s.k, s.n),
                            quad ? result[1] : fragment_registers(m.types[3], s.m, s.n)};
    for (size_t i = 0; i < 4; ++i)
      if (std::string text = check_registers(i, want[i], m.types[i]); !text.empty()) return text;
    return "";
  }

  /// f16 factors are held twice, so 8 registers in every shape; all others once.
  static size_t wmma_registers(Type type, char part, MmaShape s) {
    if (part == 'c') return fragment_registers(type, s.m, s.n);
    if (type == Type::f16) return 8;
    return part == 'a' ? fragment_registers(type, s.m, s.k) : fragment_registers(type, s.k, s.n);
  }

  std::string check_wmma() {
    const Modifiers& m = made_.mods;
    if (!m.mma) {
      const char part = m.load_a ? 'a' : m.load_b ? 'b' : 'c';
      return check_registers(m.store_d ? 1 : 0, wmma_registers(m.types[0], part, m.shape),
                             m.types[0]);
    }
    const bool two = m.n_types == 2;  // .dtype.ctype, the factors are f16
    const Type types[4] = {m.types[0], two ? Type::f16 : m.types[1], two ? Type::f16 : m.types[2],
                           m.types[two ? 1 : 3]};
    for (size_t i = 0; i < 4; ++i)
      if (std::string text =
              check_registers(i, wmma_registers(types[i], "cabc"[i], m.shape), types[i]);
          !text.empty())
        return text;
    return "";
  }

  const Instruction& made_;
  const Form& form_;
  const std::vector<Register>& registers_;
  const Module& module_;
  std::vector<const Place*> places_;
  std::string problem_;
  bool unsupported_ = false;
};

}  // namespace

bool Parser::verify_instruction(const Instruction& made, const Form& form, const Token& at) {
  if (made.op == Opcode::call) return true;  // verify_calls, when all functions are known
  Check check(made, form, function_->registers, module_);
  const std::string problem = check.run();
  if (problem.empty()) return true;
  return error(check.unsupported() ? ErrorCode::unsupported : ErrorCode::parse, at,
               fmt::format("{}: {}", printable(at.text, 80), problem),
               fmt::format("Form: {}.", form.spelling));
}

bool Parser::verify_calls() {
  for (const Function& caller : module_.functions)
    for (const Instruction& instruction : caller.body)
      if (instruction.op == Opcode::call && !verify_call(caller, instruction)) return false;
  return true;
}

bool Parser::verify_call(const Function& caller, const Instruction& call) {
  const auto problem = [&](std::string text, std::string hint = {}) {
    error_ = Error{ErrorCode::parse,
                   fmt::format("PTX line {}: {}\n{:>5} | {}", call.ptx_line, text, call.ptx_line,
                               printable(call.text, 160)),
                   std::move(hint),
                   {}};
    return false;
  };
  const Operand& target = call.operands[1];
  size_t returns = 0;
  size_t params = 0;
  if (target.kind == Operand::Kind::symbol) {
    const Symbol& symbol = module_.symbols[target.symbol];
    if (symbol.kind != Symbol::Kind::function || target.offset != 0)
      return problem("call of something that is not a function");
    const Function& callee = module_.functions[symbol.function];
    if (callee.is_entry) return problem("call of an .entry", "Only a .func can be called.");
    returns = callee.returns.size();
    params = callee.params.size();
  } else if (target.kind == Operand::Kind::reg) {
    if (bits_of(caller.registers[target.reg].type) != 64)
      return problem("an indirect call needs a 64-bit register");
    if (call.prototype < 0 && call.call_targets < 0)
      return problem("an indirect call without a prototype",
                     "Name a .callprototype or .calltargets list as the last operand.");
    if (call.prototype >= 0) {
      const Prototype& prototype = caller.prototypes[static_cast<size_t>(call.prototype)];
      returns = prototype.returns.size();
      params = prototype.params.size();
    } else {
      const auto& list = caller.call_targets[static_cast<size_t>(call.call_targets)];
      const Function& callee = module_.functions[module_.symbols[list.front()].function];
      returns = callee.returns.size();
      params = callee.params.size();
    }
  } else {
    return problem("call of something that is not a function");
  }
  if (call.operands[0].elements.size() != returns)
    return problem(fmt::format("call takes {} results, the function gives {}",
                               call.operands[0].elements.size(), returns));
  if (call.operands[2].elements.size() != params)
    return problem(fmt::format("call gives {} arguments, the function takes {}",
                               call.operands[2].elements.size(), params));
  for (const size_t side : {size_t{0}, size_t{2}}) {
    for (const Operand& argument : call.operands[side].elements) {
      const bool value = argument.kind == Operand::Kind::reg ||
                         argument.kind == Operand::Kind::symbol ||
                         (side == 2 && argument.kind == Operand::Kind::immediate) ||
                         (side == 0 && argument.kind == Operand::Kind::sink);
      if (!value) return problem("an argument of a call must be a .param variable or a register");
    }
  }
  return true;
}

}  // namespace fiel::ptx
