// A PTX module as data: what the parser makes of the text and what the virtual GPU lowers.
//
//   Result<ptx::Module> module = ptx::parse(text);
//   for (const ptx::Function& f : module->functions) for (const ptx::Statement& s : f.body) ...
//
// Modifiers are folded into fields, whatever order they were written in; an opcode, modifier or
// combination that is not known is an Error (unsupported or parse) with the line, at parse time.
// Nothing here executes, resolves addresses or knows a machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "ptx/opcode.h"
#include "ptx/type.h"

namespace fiel::ptx {

/// Where an instruction stands: its line in the PTX text, and the source line that `.loc` gives.
struct SourceLine {
  uint32_t file = 0;  ///< index into Module::files by `.file` number; 0 = unknown
  uint32_t line = 0;
  uint32_t column = 0;
  int32_t inlined_at = -1;  ///< index into Module::source_lines of the call that was inlined, or -1
  std::string function;     ///< name of the inlined function where `.loc` gives one
  bool operator==(const SourceLine&) const = default;
};

/// Everything after the first dot of an opcode, folded. Fields that an instruction lacks keep their
/// default. `types` are in the order written: cvt.rn.f32.s32 has {f32, s32}.
struct Modifiers {
  Type types[4] = {Type::none, Type::none, Type::none, Type::none};
  uint8_t n_types = 0;
  Space space = Space::generic;   ///< ld.global, cvta.shared, atom.shared, isspacep.local
  Space space2 = Space::generic;  ///< the second of two: cp.async.ca.shared.global
  Semantics sem = Semantics::none;
  Scope scope = Scope::none;
  Rounding rounding = Rounding::none;
  Compare cmp = Compare::none;
  BoolOp bool_op = BoolOp::none;
  AtomicOp atomic = AtomicOp::none;  ///< atom/red/redux/bar.red; also mbarrier's absence = none
  ShuffleMode shuffle = ShuffleMode::none;
  VoteMode vote = VoteMode::none;
  CacheOp cache = CacheOp::none;  ///< ca cg cs lu cv wb wt; L1::/L2:: hints are dropped
  PrmtMode prmt = PrmtMode::none;
  TestpMode testp = TestpMode::none;
  Layout a_layout = Layout::none;  ///< mma .row.col; wmma
  Layout b_layout = Layout::none;
  MmaShape shape;        ///< m16n8k16 …; ldmatrix m8n8
  uint8_t vector = 1;    ///< .v2 .v4 .v8
  uint8_t matrices = 1;  ///< ldmatrix/stmatrix .x1 .x2 .x4
  bool wide = false, lo = false, hi = false, cc = false;
  bool ftz = false, sat = false, satfinite = false, relu = false, approx = false, full = false;
  bool nan = false, xorsign_abs = false, noftz = false;
  bool to = false;  ///< cvta.to
  bool uni = false, sync = false, aligned = false;
  bool trans = false;  ///< ldmatrix/movmatrix .trans
  bool left = false, right = false, wrap = false, clamp = false,
       shiftamt = false;  ///< shf, bfind, bmsk
  bool nc = false;        ///< ld.global.nc
  bool cas = false;
  bool arrive = false, red = false, warp = false;  ///< bar./barrier. forms
  bool init = false, inval = false, expect_tx = false, complete_tx = false, drop = false,
       no_complete = false, test_wait = false, try_wait = false, parity = false,
       pending_count = false, noinc = false, commit_group = false, wait_group = false,
       wait_all = false,
       mbarrier_arrive = false;  ///< mbarrier.* and cp.async.* sub-operations
  bool load_a = false, load_b = false, load_c = false, store_d = false, mma = false;  ///< wmma.*
  bool any = false, all = false;  ///< match.any/all
  bool sequence[7] = {};          ///< video: b0 b1 b2 b3 h0 h1 selectors, see Operand::selector
  AtomicOp secondary = AtomicOp::none;  ///< video instructions' second operation (.add .min .max)
  uint8_t mask = 0;                     ///< video SIMD lane mask, bit i = byte i
  bool pack = false;                    ///< cvt.pack
  bool cache_hint = false;  ///< .L2::cache_hint: the last operand is a policy, to be ignored
};

/// An operand as written. Register and symbol names are unique within their function after parsing
/// (nested scopes are renamed), so that equal names are equal things.
struct Operand {
  enum class Kind : uint8_t {
    none,
    reg,        ///< `reg` = index into Function::registers
    sink,       ///< `_`
    immediate,  ///< `bits`: integer (64-bit two's complement), or the pattern of a 0f/0d constant
    symbol,     ///< address of a variable or function, plus `offset`
    special,    ///< %tid.x …: `special`
    vector,     ///< {…}: `elements`
    memory,     ///< [base + offset]: base in `elements[0]` (reg, symbol, immediate)
    label,      ///< branch target: `reg` = index into Function::labels
    list,       ///< (…) of call arguments: `elements`
  };
  Kind kind = Kind::none;
  bool negated = false;    ///< !%p
  bool is_float = false;   ///< immediate given as 0f…, 0d… or a decimal float
  bool is_double = false;  ///< 0d… or decimal: `bits` is an f64 pattern; 0f…: f32 pattern
  uint32_t reg = 0;
  int64_t offset = 0;
  uint64_t bits = 0;
  SpecialReg special = SpecialReg::none;
  int8_t selector = -1;     ///< video: 0..3 = .b0 ….b3, 4/5 = .h0/.h1; -1 none
  uint16_t lanes = 0xffff;  ///< SIMD video .b7531/.h32: nibble i = which byte (half) of {b,a}
                            ///< result lane i takes, a's are 0..3 (0..1); 0xffff = not written
  uint32_t symbol = 0;      ///< index into Module::symbols
  std::vector<Operand> elements;
};

/// A call always has three operands: list of results, target (symbol or reg), list of arguments
/// (lists may be empty). brx.idx has one, the index.
struct Instruction {
  Opcode op = Opcode::none;
  Modifiers mods;
  int32_t guard = -1;  ///< register index of @%p, -1 = unguarded
  bool guard_negated = false;
  std::vector<Operand> operands;  ///< as written: destination first; `d|p` gives two operands with
                                  ///< `pair_first` set on the instruction
  bool pair_destination = false;  ///< operands[0]|operands[1] were written as d|p
  int32_t prototype = -1;         ///< indirect call: index into Function::prototypes;
                                  ///< brx.idx: index into Function::tables
  int32_t call_targets = -1;      ///< indirect call with .calltargets: Function::call_targets
  uint32_t ptx_line = 0;
  int32_t source = -1;  ///< index into Module::source_lines, or -1
  std::string text;     ///< the instruction as written, one line, for messages
};

struct Register {
  std::string name;
  Type type = Type::b32;  ///< pred, b16 …; width is what counts
  uint8_t vector = 1;
};

/// A parameter or variable. `initial` holds bytes; `relocations` the addresses inside them.
struct Relocation {
  uint64_t at = 0;      ///< byte offset in the variable
  uint32_t symbol = 0;  ///< whose address
  int64_t addend = 0;
  bool generic = false;  ///< generic(sym): address in generic space
  uint8_t bytes = 8;
  uint64_t mask = ~uint64_t{0};  ///< 0xff00(sym): (address & mask) >> trailing zeros of mask
};
struct Variable {
  std::string name;
  Space space = Space::none;
  Type type = Type::b8;
  uint64_t bytes = 0;  ///< 0 for `extern .shared x[]`
  uint64_t align = 1;
  bool is_extern = false, visible = false, weak = false, common = false;
  bool is_pointer = false;       ///< .param .ptr
  bool is_managed = false;       ///< .attribute(.managed)
  int32_t reg = -1;              ///< .reg parameters of a .func: index into Function::registers
  std::vector<uint8_t> initial;  ///< empty = zero (global/const); shorter than bytes = rest zero
  std::vector<Relocation> relocations;
};

struct Label {
  std::string name;
  uint32_t statement = 0;  ///< index into Function::body of the instruction that it stands before
};

struct Prototype {  ///< .callprototype
  std::vector<Variable> returns, params;
};

struct Function {
  std::string name;
  bool is_entry = false, is_extern = false, visible = false, weak = false, noreturn = false;
  std::vector<Variable> returns, params;
  std::vector<Register> registers;
  std::vector<Variable>
      locals;  ///< .local, .shared and .param variables of the body, as symbols too
  std::vector<Label> labels;
  std::vector<Instruction> body;  ///< flat; scopes are resolved
  std::vector<Prototype> prototypes;
  std::vector<std::vector<uint32_t>> tables;        ///< .branchtargets: label indices
  std::vector<std::vector<uint32_t>> call_targets;  ///< .calltargets: symbol indices
  uint32_t max_ntid[3] = {0, 0, 0};                 ///< .maxntid; 0 = not given
  uint32_t req_ntid[3] = {0, 0, 0};
  uint32_t min_nctapersm = 0, max_nreg = 0;
  uint32_t max_cluster_rank = 0;
  uint32_t req_cluster[3] = {0, 0, 0};  ///< .reqnctapercluster; .explicitcluster alone sets
  bool explicit_cluster = false;        ///< this: known, but clusters do not run
  bool has_body = false;                ///< false: declared only
  uint32_t ptx_line = 0;
};

/// What a name at module or function level stands for.
struct Symbol {
  enum class Kind : uint8_t { global_variable, function, local_variable, param };
  Kind kind = Kind::global_variable;
  uint32_t function = 0;   ///< owner for local_variable/param; the function itself for `function`
  uint32_t index = 0;      ///< into Module::variables, Function::locals, Function::params/returns
  bool is_return = false;  ///< param kind: index is into `returns`
  std::string name;
};

struct Module {
  uint32_t version_major = 0, version_minor = 0;
  std::string target;  ///< sm_90, sm_90a …
  uint32_t address_bits = 64;
  std::vector<Variable> variables;
  std::vector<Function> functions;
  std::vector<Symbol> symbols;
  std::vector<std::string> files;        ///< by .file number; [0] unused
  std::vector<SourceLine> source_lines;  ///< distinct .loc positions

  /// By name; an alias finds the function it stands for. nullptr when there is none.
  const Function* find_function(std::string_view name) const;
};

/// Parses one module. Bounds: 64 MiB of text, 4 M instructions, nesting 256; a module that goes
/// over is ErrorCode::limit. Never throws, never loops on malformed text.
Result<Module> parse(std::string_view text);

}  // namespace fiel::ptx
