// Instructions that are not memory or control: operands into slots, handler from the families.
#include <fmt/core.h>

#include "vgpu/executor.h"
#include "vgpu/lower_function.h"

namespace fiel::vgpu {
namespace {

using ptx::Opcode;
using ptx::Operand;

bool is_no_op(Opcode op) {
  switch (op) {
    case Opcode::prefetch:
    case Opcode::prefetchu:
    case Opcode::discard:
    case Opcode::applypriority:
    case Opcode::createpolicy:
    case Opcode::pmevent:
    case Opcode::setmaxnreg:
    case Opcode::brkpt:
      return true;
    default:
      return false;
  }
}

bool has_operand_list(Opcode op) {
  switch (op) {
    case Opcode::mma:
    case Opcode::wmma:
    case Opcode::ldmatrix:
    case Opcode::stmatrix:
    case Opcode::movmatrix:
    case Opcode::cp:
    case Opcode::mbarrier:
      return true;
    default:
      return false;
  }
}

}  // namespace

Status FunctionLowering::emit(const Instruction& instruction, uint32_t block) {
  if (is_no_op(instruction.op)) {
    push(instruction, request_.core.no_op);
    return {};
  }
  switch (instruction.op) {
    case Opcode::mov:
      return lower_move(instruction);
    case Opcode::cvta:
      return lower_cvta(instruction);
    case Opcode::isspacep:
      return lower_isspacep(instruction);
    case Opcode::ld:
    case Opcode::ldu:
    case Opcode::st:
      return lower_memory(instruction);
    case Opcode::atom:
    case Opcode::red:
      return lower_atomic(instruction);
    case Opcode::bra:
    case Opcode::brx:
    case Opcode::ret:
    case Opcode::exit:
      return lower_branch(instruction, block);
    case Opcode::bar:
    case Opcode::barrier:
      return lower_barrier(instruction, block);
    case Opcode::call:
      return lower_call(instruction, block);
    case Opcode::trap:
      push(instruction, request_.core.trap);
      return {};
    case Opcode::nanosleep:
      push(instruction, request_.core.nanosleep);
      return {};
    case Opcode::membar:
    case Opcode::fence:
      push(instruction, request_.core.fence).imm = static_cast<uint64_t>(instruction.mods.scope);
      return {};
    case Opcode::alloca:
      return refuse(instruction, "stack memory of a size known only at run time");
    default:
      break;
  }
  if (has_operand_list(instruction.op)) return lower_list(instruction);
  return lower_warp(instruction);
}

Selection FunctionLowering::select(const Instruction& instruction,
                                   const OperandWidths& widths) const {
  for (const Selector selector : request_.selectors) {
    if (selector == nullptr) continue;
    const Selection selection = selector(instruction, widths);
    if (selection.handler != nullptr || selection.unsupported != nullptr) return selection;
  }
  return {};
}

Status FunctionLowering::add_convergence(const Instruction& instruction, const Operand* members,
                                         bool barrier) {
  uint32_t slot = 0;
  if (members != nullptr) {
    FIEL_TRY(slot, slot_of(*members, 32));
  }
  Op& op = push_control(instruction, Control::converge, true);
  op.c = slot;
  if (barrier) op.imm |= kWarpBarrier;
  return {};
}

Status FunctionLowering::lower_warp(const Instruction& instruction) {
  const bool sync =
      instruction.mods.sync && (instruction.op == Opcode::shfl || instruction.op == Opcode::vote ||
                                instruction.op == Opcode::match || instruction.op == Opcode::redux);
  if (sync) FIEL_TRY_STATUS(add_convergence(instruction, &instruction.operands.back(), false));
  return lower_arithmetic(instruction);
}

Status FunctionLowering::lower_arithmetic(const Instruction& instruction) {
  OperandWidths widths;
  uint32_t slots[8] = {};
  if (instruction.operands.size() > 8) return refuse(instruction, "too many operands");
  const uint32_t destinations = destination_operands(instruction);
  for (uint32_t i = 0; i < instruction.operands.size(); ++i) {
    const Operand& operand = instruction.operands[i];
    const uint32_t bits = immediate_bits(instruction, i);
    auto slot = slot_of(operand, bits);
    if (!slot) return refuse(instruction, slot.error().what, slot.error().code);
    slots[i] = *slot;
    widths.bits[i] = static_cast<uint8_t>(width_of(operand, bits));
  }
  const Selection selection = select(instruction, widths);
  if (selection.unsupported != nullptr) return refuse(instruction, selection.unsupported);
  if (selection.handler == nullptr) return refuse(instruction, "no handler for this combination");
  Op& op = push(instruction, selection.handler);
  op.imm = selection.imm;
  op.flags |= selection.flags;
  op.dst = slots[0];
  if (destinations == 2) op.dst2 = slots[1];
  uint32_t* sources[5] = {&op.a, &op.b, &op.c, &op.d, &op.extra};
  for (uint32_t i = destinations; i < instruction.operands.size(); ++i)
    if (i - destinations < 5) *sources[i - destinations] = slots[i];
  return {};
}

/// mov: scalars, packing and unpacking (select.h says how those are laid out).
Status FunctionLowering::lower_move(const Instruction& instruction) {
  const Operand& to = instruction.operands[0];
  const Operand& from = instruction.operands[1];
  if (to.kind == Operand::Kind::reg && is_constant_[to.reg]) return {};
  if (from.kind == Operand::Kind::special && from.special >= ptx::SpecialReg::clock &&
      from.special <= ptx::SpecialReg::globaltimer_hi) {
    using S = ptx::SpecialReg;
    FIEL_TRY(const uint32_t slot, slot_of(to, 32));
    Op& op = push(instruction, request_.core.read_clock);
    op.dst = slot;
    const bool high = from.special == S::clock_hi || from.special == S::globaltimer_hi;
    op.imm = width_of(to, 32) == 64 ? 64 : high ? 33 : 32;
    return {};
  }
  if (to.kind != Operand::Kind::vector && from.kind != Operand::Kind::vector)
    return lower_arithmetic(instruction);
  const bool packs = from.kind == Operand::Kind::vector;
  const Operand& list = packs ? from : to;
  const auto n = static_cast<uint32_t>(list.elements.size());
  const uint32_t whole = ptx::bits_of(instruction.mods.types[0]);
  if (n < 2 || n > 4 || (packs && to.kind == Operand::Kind::vector))
    return refuse(instruction, "a vector of this length");
  OperandWidths widths;
  uint32_t slots[4] = {};
  for (uint32_t i = 0; i < n; ++i) {
    FIEL_TRY(slots[i], slot_of(list.elements[i], whole / n));
    widths.bits[packs ? 1 + i : i] = static_cast<uint8_t>(width_of(list.elements[i], whole / n));
  }
  const Operand& scalar = packs ? to : from;
  FIEL_TRY(const uint32_t scalar_slot, slot_of(scalar, whole));
  widths.bits[packs ? 0 : n] = static_cast<uint8_t>(width_of(scalar, whole));
  const Selection selection = select(instruction, widths);
  if (selection.handler == nullptr)
    return refuse(instruction, selection.unsupported != nullptr ? selection.unsupported
                                                                : "no handler for this mov");
  Op& op = push(instruction, selection.handler);
  op.imm = selection.imm;
  op.flags |= selection.flags;
  if (packs) {
    op.dst = scalar_slot;
    op.a = slots[0], op.b = slots[1], op.c = slots[2], op.d = slots[3];
  } else {
    op.a = scalar_slot;
    op.dst = slots[0], op.dst2 = slots[1], op.c = slots[2], op.d = slots[3];
  }
  return {};
}

Status FunctionLowering::lower_cvta(const Instruction& instruction) {
  const Operand& to = instruction.operands[0];
  if (to.kind == Operand::Kind::reg && is_constant_[to.reg]) return {};
  if (ptx::bits_of(instruction.mods.types[0]) != 64)
    return refuse(instruction, "32-bit generic addresses");
  FIEL_TRY(const uint32_t from, slot_of(instruction.operands[1], 64));
  FIEL_TRY(const uint32_t slot, slot_of(to, 64));
  const ptx::Space space = instruction.mods.space;
  const uint64_t window = space == ptx::Space::shared  ? kSharedWindow
                          : space == ptx::Space::local ? kLocalWindow
                                                       : 0;
  Op& op = push(instruction, window == 0 ? request_.core.move_64 : request_.core.add_offset_64);
  op.dst = slot;
  op.a = from;
  op.imm = instruction.mods.to ? 0 - window : window;
  return {};
}

Status FunctionLowering::lower_isspacep(const Instruction& instruction) {
  FIEL_TRY(const uint32_t slot, slot_of(instruction.operands[0], 1));
  FIEL_TRY(const uint32_t from, slot_of(instruction.operands[1], 64));
  Op& op = push(instruction, request_.core.isspacep);
  op.dst = slot;
  op.a = from;
  op.imm = static_cast<uint64_t>(instruction.mods.space);
  if (width_of(instruction.operands[1], 64) == 64) op.flags |= kAddress64;
  return {};
}

/// mma, wmma, ldmatrix, cp.async, mbarrier …: the flattened list of program.h.
Status FunctionLowering::lower_list(const Instruction& instruction) {
  using O = Opcode;
  const bool aligned = instruction.op == O::mma || instruction.op == O::wmma ||
                       instruction.op == O::ldmatrix || instruction.op == O::stmatrix ||
                       instruction.op == O::movmatrix;
  if (aligned) FIEL_TRY_STATUS(add_convergence(instruction, nullptr, false));
  std::vector<uint32_t> list;
  OperandWidths widths;
  for (uint32_t i = 0; i < instruction.operands.size(); ++i) {
    const Operand& operand = instruction.operands[i];
    uint32_t width = 32;
    const auto add = [&](const Operand& element, uint32_t bits) -> Status {
      auto slot = slot_of(element, bits);
      if (!slot) return refuse(instruction, slot.error().what, slot.error().code);
      list.push_back(*slot);
      width = width_of(element, bits);
      return {};
    };
    if (operand.kind == Operand::Kind::vector) {
      for (const Operand& element : operand.elements) FIEL_TRY_STATUS(add(element, 32));
    } else if (operand.kind == Operand::Kind::memory) {
      FIEL_TRY_STATUS(add(operand.elements[0], 64));
      list.push_back(static_cast<uint32_t>(operand.offset));
    } else {
      FIEL_TRY_STATUS(add(operand, 32));
    }
    if (i < 8) widths.bits[i] = static_cast<uint8_t>(width);
  }
  const Selection selection = select(instruction, widths);
  if (selection.unsupported != nullptr) return refuse(instruction, selection.unsupported);
  if (selection.handler == nullptr) return refuse(instruction, "no handler for this combination");
  Op& op = push(instruction, selection.handler);
  op.imm = selection.imm;
  op.flags |= selection.flags;
  op.dst = list.empty() ? 0 : list[0];
  op.extra = static_cast<uint32_t>(program_.extra.size());
  program_.extra.insert(program_.extra.end(), list.begin(), list.end());
  return {};
}

}  // namespace fiel::vgpu
