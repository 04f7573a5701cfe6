#include "vgpu/lower.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "vgpu/lower_function.h"

namespace fiel::vgpu {
namespace {

using ptx::Opcode;
using ptx::Operand;
using ptx::Symbol;

uint64_t round_up(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

bool waits_for_others(const ptx::Instruction& instruction) {
  using S = ptx::Semantics;
  switch (instruction.op) {
    case Opcode::atom:
    case Opcode::nanosleep:
    case Opcode::mbarrier:
      return true;
    case Opcode::ld:
      return instruction.mods.sem != S::none && instruction.mods.sem != S::weak;
    default:
      return false;
  }
}

}  // namespace

tl::unexpected<Error> FunctionLowering::refuse(const Instruction& instruction,
                                               const std::string& why, ErrorCode code) const {
  return fail(
      code, fmt::format("line {}: {}: {}", instruction.ptx_line, instruction.text, why),
      code == ErrorCode::unsupported ? "the virtual GPU cannot run this instruction yet" : "");
}

Op& FunctionLowering::push(const Instruction& instruction, Handler handler, bool synthetic) {
  Op op;
  op.handler = handler;
  op.meta = static_cast<uint32_t>(program_.ops.size());
  if (instruction.guard >= 0) {
    Operand guard;
    guard.kind = Operand::Kind::reg;
    guard.reg = static_cast<uint32_t>(instruction.guard);
    op.guard = *slot_of(guard, 1);
    op.flags |= instruction.guard_negated ? kGuardNegated : 0u;
  }
  OpMeta meta;
  meta.ptx_line = instruction.ptx_line;
  meta.source = instruction.source;
  meta.function = index_;
  meta.block = block_;
  meta.statement = statement_;
  meta.mix = mix_of(instruction);
  meta.flops = flops_of(instruction);
  meta.synthetic = synthetic;
  program_.ops.push_back(op);
  program_.meta.push_back(meta);
  return program_.ops.back();
}

Op& FunctionLowering::push_control(const Instruction& instruction, Control control,
                                   bool synthetic) {
  Op& op = push(instruction, nullptr, synthetic);
  op.imm = static_cast<uint64_t>(control);
  return op;
}

/// .local variables, call parameters, and a device function's own parameters: one stack frame.
Status FunctionLowering::lay_out_stack() {
  uint64_t at = 0;
  const auto place = [&](const ptx::Variable& variable) {
    at = round_up(at, std::max<uint64_t>(variable.align, 4));
    code_.local_align = std::max(code_.local_align, static_cast<uint32_t>(variable.align));
    const uint64_t offset = at;
    at += variable.bytes;
    return static_cast<uint32_t>(offset);
  };
  uint64_t block = 0;
  for (const ptx::Variable& variable : source_.params) {
    if (variable.reg >= 0)
      return fail(ErrorCode::unsupported,
                  fmt::format("function {}: parameters in registers", source_.name));
    code_.param_bytes.push_back(static_cast<uint32_t>(variable.bytes));
    if (source_.is_entry) {
      block = round_up(block, std::max<uint64_t>(variable.align, 1));
      code_.param_offsets.push_back(static_cast<uint32_t>(block));
      block += variable.bytes;
    } else {
      param_offset_.push_back(place(variable));
    }
  }
  code_.param_block_bytes = static_cast<uint32_t>(block);
  for (const ptx::Variable& variable : source_.returns) {
    if (variable.reg >= 0)
      return fail(ErrorCode::unsupported,
                  fmt::format("function {}: results in registers", source_.name));
    code_.return_bytes.push_back(static_cast<uint32_t>(variable.bytes));
    return_offset_.push_back(place(variable));
  }
  if (!source_.is_entry) code_.param_offsets = param_offset_;
  code_.return_offsets = return_offset_;
  for (const ptx::Variable& variable : source_.locals)
    local_offset_.push_back(variable.space == ptx::Space::shared ? 0 : place(variable));
  if (at > (16u << 20))
    return fail(ErrorCode::limit,
                fmt::format("function {} needs {} bytes of stack a thread", source_.name, at));
  code_.local_bytes = static_cast<uint32_t>(round_up(at, 16));
  return {};
}

/// The value of an instruction that only names something known when the kernel is launched.
bool FunctionLowering::constant_of(const Instruction& instruction, SlotInit& init) const {
  const ptx::Modifiers& mods = instruction.mods;
  if (instruction.operands.size() != 2 || instruction.operands[0].kind != Operand::Kind::reg)
    return false;
  const uint32_t width = ptx::bits_of(source_.registers[instruction.operands[0].reg].type);
  const Operand& from = instruction.operands[1];
  const uint32_t type = ptx::bits_of(mods.types[0]);
  if (instruction.op == Opcode::mov) {
    if (width != type || type == 1) return false;
    if (from.kind == Operand::Kind::special) {
      if (is_clock(from.special)) return false;
      init = special_init(from, type);
      return true;
    }
    if (from.kind == Operand::Kind::symbol) {
      ptx::Space space{};
      return type >= 32 && address_of(from.symbol, from.offset, type, init, space);
    }
    return false;
  }
  if (instruction.op == Opcode::ld && mods.space == ptx::Space::param && mods.vector == 1 &&
      source_.is_entry && from.kind == Operand::Kind::memory &&
      from.elements[0].kind == Operand::Kind::symbol && type >= 8 && type <= 64) {
    const Symbol& symbol = request_.module.symbols[from.elements[0].symbol];
    if (symbol.kind != Symbol::Kind::param || symbol.is_return) return false;
    const int64_t offset = from.offset + from.elements[0].offset;
    if (offset < 0 || static_cast<uint64_t>(offset) + type / 8 > source_.params[symbol.index].bytes)
      return false;
    init = SlotInit{};
    init.kind = SlotInit::Kind::param;
    init.bytes = init_bytes(width);
    init.load_bytes = static_cast<uint8_t>(type / 8);
    init.sign_extend = ptx::is_signed(mods.types[0]) && width > type;
    init.value = code_.param_offsets[symbol.index] + static_cast<uint64_t>(offset);
    return width >= 32 || !init.sign_extend;
  }
  return false;
}

/// Registers that are written once, by such an instruction: they need no instruction at all.
void FunctionLowering::find_constants() {
  const size_t n = source_.registers.size();
  is_constant_.assign(n, false);
  constant_slot_.assign(n, 0);
  uses_.assign(n, 0);
  std::vector<uint32_t> writes(n, 0);
  Accesses accesses;
  for (const Instruction& instruction : source_.body) {
    collect_accesses(instruction, accesses);
    for (const uint32_t reg : accesses.writes) ++writes[reg];
    for (const uint32_t reg : accesses.reads) ++uses_[reg];
  }
  constants_.assign(n, SlotInit{});
  for (const FlowBlock& block : flow_.blocks)
    for (uint32_t i = block.first; i < block.end; ++i) {
      const Instruction& instruction = source_.body[i];
      if (instruction.operands.empty() || instruction.operands[0].kind != Operand::Kind::reg ||
          instruction.guard >= 0)
        continue;
      const uint32_t reg = instruction.operands[0].reg;
      if (writes[reg] != 1) continue;
      SlotInit init;
      if (constant_of(instruction, init)) {
        is_constant_[reg] = true;
        constants_[reg] = init;
        continue;
      }
      // cvta between global and generic changes nothing.
      const bool keeps = instruction.op == Opcode::cvta && instruction.operands.size() == 2 &&
                         instruction.mods.space != ptx::Space::shared &&
                         instruction.mods.space != ptx::Space::local &&
                         instruction.operands[1].kind == Operand::Kind::reg;
      if (keeps && is_constant_[instruction.operands[1].reg] &&
          ptx::bits_of(source_.registers[reg].type) == 64) {
        is_constant_[reg] = true;
        constants_[reg] = constants_[instruction.operands[1].reg];
      }
    }
}

Status FunctionLowering::emit_blocks() {
  block_pc_.assign(flow_.blocks.size(), 0);
  block_waits_.assign(flow_.blocks.size(), false);
  for (uint32_t b = 0; b < flow_.blocks.size(); ++b)
    for (uint32_t i = flow_.blocks[b].first; i < flow_.blocks[b].end; ++i)
      if (waits_for_others(source_.body[i])) block_waits_[b] = true;
  for (uint32_t b = 0; b < flow_.blocks.size(); ++b) {
    const FlowBlock& from = flow_.blocks[b];
    block_ = static_cast<uint32_t>(program_.blocks.size());
    block_pc_[b] = static_cast<uint32_t>(program_.ops.size());
    Block block;
    block.first = block_pc_[b];
    block.function = index_;
    block.counted = from.end - from.first;
    block.first_statement = from.first;
    block.end_statement = from.end;
    for (statement_ = from.first; statement_ < from.end; ++statement_) {
      const Instruction& instruction = source_.body[statement_];
      FIEL_TRY_STATUS(emit(instruction, b));
    }
    statement_ = from.end - 1;
    const Op* last = program_.ops.size() > block.first ? &program_.ops.back() : nullptr;
    const bool closed = last != nullptr && last->handler == nullptr &&
                        (last->imm & 0xff) != static_cast<uint64_t>(Control::converge);
    if (!closed) {
      const Instruction& instruction = source_.body[statement_];
      Instruction plain;
      plain.ptx_line = instruction.ptx_line;
      plain.source = instruction.source;
      if (next_block(b) == ~0u) {
        push_control(plain, source_.is_entry ? Control::exit : Control::ret, true);
      } else {
        push_control(plain, Control::jump, true).a = next_block(b);
      }
    }
    block.end = static_cast<uint32_t>(program_.ops.size());
    program_.blocks.push_back(block);
  }
  return {};
}

uint32_t FunctionLowering::next_block(uint32_t block) const {
  const uint32_t after = flow_.blocks[block].end;
  return after < source_.body.size() ? flow_.block_of_statement[after] : ~0u;
}

/// Control ops hold block numbers until every block has its pc.
void FunctionLowering::finish_branches() {
  const auto pc_of = [&](uint32_t block) { return block == ~0u ? 0 : block_pc_[block]; };
  for (uint32_t at = first_op_; at < program_.ops.size(); ++at) {
    Op& op = program_.ops[at];
    if (op.handler != nullptr) continue;
    const auto control = static_cast<Control>(op.imm & 0xff);
    if (control == Control::converge) continue;
    if (control == Control::branch_table) {
      uint32_t* list = &program_.extra[op.extra];
      for (uint32_t i = 0; i < list[0]; ++i) list[1 + i] = pc_of(list[1 + i]);
    }
    const uint32_t first_block = program_.meta[first_op_].block;
    const uint32_t here = program_.meta[at].block - first_block;
    if (control == Control::jump || control == Control::branch) {
      // Does the loop that this jump closes wait for somebody?
      if (op.a <= here)
        for (uint32_t b = op.a; b <= here; ++b)
          if (block_waits_[b]) op.imm |= kBackwardSync;
      op.a = pc_of(op.a);
    }
    if (control != Control::jump) op.b = pc_of(op.b);
  }
}

Status FunctionLowering::finish() {
  finish_branches();
  std::stable_sort(code_.inits.begin(), code_.inits.end(),
                   [](const SlotInit& a, const SlotInit& b) { return a.when < b.when; });
  const auto first = [&](SlotInit::When when) {
    return static_cast<uint32_t>(
        std::find_if(code_.inits.begin(), code_.inits.end(),
                     [&](const SlotInit& init) { return init.when >= when; }) -
        code_.inits.begin());
  };
  code_.first_warp = first(SlotInit::When::warp);
  code_.first_block = first(SlotInit::When::block);
  code_.frame_bytes = static_cast<uint32_t>(round_up(next_byte_, 64));
  if (code_.frame_bytes > (64u << 20))
    return fail(ErrorCode::limit, fmt::format("function {} has too many registers", source_.name));
  program_.functions[index_] = std::move(code_);
  return {};
}

Status FunctionLowering::run() {
  code_.name = source_.name;
  code_.source_function = index_;
  code_.is_entry = source_.is_entry;
  code_.static_shared_bytes = shared_.entry_bytes[index_];
  const uint32_t* cluster = source_.req_cluster;
  if (uint64_t{cluster[0]} * std::max(1u, cluster[1]) * std::max(1u, cluster[2]) > 1)
    return fail(ErrorCode::unsupported,
                fmt::format("line {}: kernel {} needs clusters of {}x{}x{} blocks",
                            source_.ptx_line, source_.name, cluster[0], cluster[1], cluster[2]),
                "the virtual GPU runs no clusters");
  FIEL_TRY_STATUS(lay_out_stack());
  if (!source_.has_body || source_.body.empty()) {
    code_.entry = static_cast<uint32_t>(program_.ops.size());
    program_.functions[index_] = code_;
    if (source_.has_body) {
      block_ = static_cast<uint32_t>(program_.blocks.size());
      Instruction plain;
      program_.blocks.push_back({code_.entry, code_.entry + 1, index_, 0, 0, 0});
      push_control(plain, source_.is_entry ? Control::exit : Control::ret, true);
      program_.functions[index_].frame_bytes = kFirstRegister;
    }
    return {};
  }
  flow_ = build_flow(source_);
  find_constants();
  plan_ = plan_slots(source_, flow_, is_constant_, kFirstRegister);
  next_byte_ = plan_.bytes;
  for (uint32_t reg = 0; reg < is_constant_.size(); ++reg)
    if (is_constant_[reg]) constant_slot_[reg] = init_slot(constants_[reg]);
  for (const uint32_t reg : plan_.read_first) {
    if (is_constant_[reg] || plan_.slot[reg] == 0) continue;
    // Some path reads it unwritten: zeros, so that a schedule has one outcome.
    SlotInit init;
    init.kind = SlotInit::Kind::zero;
    init.when = SlotInit::When::block;
    init.bytes = init_bytes(ptx::bits_of(source_.registers[reg].type));
    init.slot = plan_.slot[reg];
    code_.inits.push_back(init);
  }
  first_op_ = static_cast<uint32_t>(program_.ops.size());
  code_.entry = first_op_;
  FIEL_TRY_STATUS(emit_blocks());
  return finish();
}

Result<Program> lower(const LowerRequest& asked) {
  if (asked.contract == Contract::on) {
    ptx::Module fused = asked.module;
    contract(fused);
    return lower({.module = fused,
                  .addresses = asked.addresses,
                  .core = asked.core,
                  .selectors = asked.selectors,
                  .contract = Contract::off});
  }
  const LowerRequest& request = asked;
  Program program;
  program.functions.resize(request.module.functions.size());
  const auto reachable = reachable_functions(request.module);
  const SharedLayout shared = layout_shared(request.module, reachable);
  for (uint32_t f = 0; f < request.module.functions.size(); ++f)
    FIEL_TRY_STATUS(FunctionLowering(request, shared, f, program).run());
  // What a function may call counts as part of it.
  std::vector<bool> sensitive(program.functions.size()), indirect(program.functions.size());
  for (size_t f = 0; f < program.functions.size(); ++f) {
    sensitive[f] = program.functions[f].order_sensitive;
    indirect[f] = program.functions[f].indirect_calls;
  }
  for (size_t f = 0; f < program.functions.size(); ++f) {
    FunctionCode& code = program.functions[f];
    uint64_t stack = 0;
    for (const uint32_t callee : reachable[f]) {
      code.order_sensitive = code.order_sensitive || sensitive[callee];
      code.indirect_calls = code.indirect_calls || indirect[callee];
      stack +=
          uint64_t{program.functions[callee].local_bytes} + program.functions[callee].local_align;
    }
    code.reachable_stack_bytes = static_cast<uint32_t>(std::min<uint64_t>(stack, ~0u));
    code.recursive = false;
    for (const uint32_t callee : reachable[f])
      for (const uint32_t next : program.functions[callee].callees)
        if (std::binary_search(reachable[next].begin(), reachable[next].end(), callee))
          code.recursive = true;
  }
  return program;
}

}  // namespace fiel::vgpu
