// Branches, barriers and calls. Targets are block numbers until finish_branches().
#include <fmt/core.h>

#include "vgpu/lower_function.h"

namespace fiel::vgpu {
namespace {

using ptx::Opcode;
using ptx::Operand;

}  // namespace

Status FunctionLowering::lower_branch(const Instruction& instruction, uint32_t block) {
  const auto block_at = [&](uint32_t label) {
    const uint32_t statement = source_.labels[label].statement;
    return statement < source_.body.size() ? flow_.block_of_statement[statement] : ~0u;
  };
  switch (instruction.op) {
    case Opcode::bra: {
      const uint32_t target = block_at(instruction.operands[0].reg);
      if (target == ~0u) {  // a label behind the last instruction: falls off the end
        push_control(instruction, source_.is_entry ? Control::exit : Control::ret).b =
            next_block(block);
        return {};
      }
      Op& op = push_control(instruction, instruction.guard >= 0 ? Control::branch : Control::jump);
      op.a = target;
      op.b = next_block(block);
      program_.meta.back().conditional = instruction.guard >= 0;
      if (op.b == ~0u && instruction.guard >= 0)
        return refuse(instruction, "control would fall off the end of the function",
                      ErrorCode::parse);
      return {};
    }
    case Opcode::brx: {
      if (instruction.prototype < 0) return refuse(instruction, "a branch without its table");
      const std::vector<uint32_t>& table =
          source_.tables[static_cast<size_t>(instruction.prototype)];
      FIEL_TRY(const uint32_t index, slot_of(instruction.operands[0], 32));
      Op& op = push_control(instruction, Control::branch_table);
      op.c = index;
      op.b = next_block(block);
      op.extra = static_cast<uint32_t>(program_.extra.size());
      program_.meta.back().conditional = true;
      program_.extra.push_back(static_cast<uint32_t>(table.size()));
      for (const uint32_t label : table) {
        const uint32_t target = block_at(label);
        if (target == ~0u) return refuse(instruction, "a table entry behind the last instruction");
        program_.extra.push_back(target);
      }
      return {};
    }
    default: {
      const bool leaves = instruction.op == Opcode::exit || source_.is_entry;
      push_control(instruction, leaves ? Control::exit : Control::ret).b =
          instruction.guard >= 0 ? next_block(block) : ~0u;
      return {};
    }
  }
}

Status FunctionLowering::lower_barrier(const Instruction& instruction, uint32_t block) {
  const ptx::Modifiers& mods = instruction.mods;
  if (mods.warp) {
    FIEL_TRY_STATUS(add_convergence(instruction, &instruction.operands[0], true));
    push(instruction, request_.core.warp_sync);
    return {};
  }
  // {red: d,} a {, b} {, p}; cta forms only: the parser refuses clusters.
  size_t at = 0;
  uint32_t result = 0, predicate = 0;
  bool negated = false;
  if (mods.red) {
    FIEL_TRY(result, slot_of(instruction.operands[0], 32));
    at = 1;
    const Operand& source = instruction.operands.back();
    FIEL_TRY(predicate, slot_of(source, 1));
    negated = source.negated;
  }
  const size_t end = instruction.operands.size() - (mods.red ? 1 : 0);
  if (at >= end) return refuse(instruction, "the barrier's number is missing");
  FIEL_TRY(const uint32_t number, slot_of(instruction.operands[at], 32));
  uint32_t count = 0;
  if (at + 1 < end) {
    FIEL_TRY(count, slot_of(instruction.operands[at + 1], 32));
  }
  Op& op = push_control(instruction, mods.arrive ? Control::barrier_arrive : Control::barrier);
  op.c = number;
  op.d = count;
  op.dst = result;
  op.dst2 = predicate;
  op.b = next_block(block);
  if (op.b == ~0u)
    return refuse(instruction, "control would fall off the end of the function", ErrorCode::parse);
  if (negated) op.flags |= kNegatedA;
  if (instruction.op == Opcode::bar || mods.aligned) op.imm |= kAligned;
  if (mods.red) {
    // The operation is spelt like redux's (.and, .or) or .popc.
    ptx::BoolOp reduction = mods.bool_op;
    if (reduction == ptx::BoolOp::none)
      reduction = mods.atomic == ptx::AtomicOp::and_  ? ptx::BoolOp::and_
                  : mods.atomic == ptx::AtomicOp::or_ ? ptx::BoolOp::or_
                                                      : ptx::BoolOp::popc;
    op.imm |= static_cast<uint64_t>(reduction) << kReductionShift;
  }
  return {};
}

Status FunctionLowering::lower_call(const Instruction& instruction, uint32_t block) {
  if (instruction.operands.size() != 3) return refuse(instruction, "a call of this form");
  std::vector<uint32_t> arguments, results;
  const auto offsets = [&](const Operand& list, std::vector<uint32_t>& out) -> Status {
    for (const Operand& element : list.elements) {
      SlotInit init;
      ptx::Space space{};
      if (element.kind != Operand::Kind::symbol ||
          !address_of(element.symbol, element.offset, 32, init, space) ||
          init.kind != SlotInit::Kind::local_address)
        return refuse(instruction, "an argument that is not a .param variable");
      out.push_back(static_cast<uint32_t>(init.value));
    }
    return {};
  };
  FIEL_TRY_STATUS(offsets(instruction.operands[0], results));
  FIEL_TRY_STATUS(offsets(instruction.operands[2], arguments));
  const Operand& target = instruction.operands[1];
  std::vector<uint32_t> list{static_cast<uint32_t>(arguments.size()),
                             static_cast<uint32_t>(results.size())};
  list.insert(list.end(), arguments.begin(), arguments.end());
  list.insert(list.end(), results.begin(), results.end());
  const auto extra = static_cast<uint32_t>(program_.extra.size());
  uint32_t function = ~0u;
  if (target.kind == Operand::Kind::symbol) {
    const ptx::Symbol& symbol = request_.module.symbols[target.symbol];
    if (symbol.kind != ptx::Symbol::Kind::function)
      return refuse(instruction, "a call of something that is no function");
    function = symbol.function;
    const ptx::Function& callee = request_.module.functions[function];
    if (!callee.has_body) {
      const Builtin builtin = builtin_of(callee.name);
      if (builtin.handler == nullptr)
        return refuse(instruction, fmt::format("{} is declared but not defined here", callee.name));
      if (builtin.arguments > arguments.size() || builtin.results > results.size())
        return refuse(instruction, fmt::format("{} is called with too few arguments", callee.name));
      program_.extra.insert(program_.extra.end(), list.begin(), list.end());
      push(instruction, builtin.handler).extra = extra;
      if (callee.name == "malloc" || callee.name == "free") code_.order_sensitive = true;
      // The call ended its block: the fall-through jump is added by emit_blocks().
      return {};
    }
    if (callee.params.size() != arguments.size() || callee.returns.size() != results.size())
      return refuse(instruction,
                    fmt::format("{} takes {} parameters and gives {} results", callee.name,
                                callee.params.size(), callee.returns.size()));
    code_.callees.push_back(function);
  } else {
    code_.indirect_calls = true;
  }
  uint32_t slot = function;
  if (function == ~0u) {
    FIEL_TRY(slot, slot_of(target, 64));
  }
  if (next_block(block) == ~0u &&
      !(function != ~0u && request_.module.functions[function].noreturn))
    return refuse(instruction, "control would fall off the end of the function", ErrorCode::parse);
  program_.extra.insert(program_.extra.end(), list.begin(), list.end());
  code_.calls = true;
  Op& op = push_control(instruction, function == ~0u ? Control::call_indirect : Control::call);
  op.c = slot;
  op.b = next_block(block);
  op.extra = extra;
  return {};
}

}  // namespace fiel::vgpu
