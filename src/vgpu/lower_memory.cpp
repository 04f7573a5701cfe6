// ld, st, atom, red: state space, address slot, elements.
#include <fmt/core.h>

#include "vgpu/lower_function.h"

namespace fiel::vgpu {
namespace {

using ptx::Opcode;
using ptx::Operand;
using ptx::Space;

bool outside_block(Space space) { return space != Space::shared && space != Space::local; }

bool is_strong(ptx::Semantics semantics) {
  return semantics != ptx::Semantics::none && semantics != ptx::Semantics::weak;
}

}  // namespace

/// Resolves [x + k]. `space` becomes local for parameters of calls and of device functions, which
/// live in the stack frame.
Status FunctionLowering::set_address(const Instruction& instruction, const Operand& memory,
                                     Space& space, Op& op, int64_t& offset) {
  if (memory.kind != Operand::Kind::memory || memory.elements.size() != 1)
    return refuse(instruction, "an address is expected here");
  const Operand& base = memory.elements[0];
  offset = memory.offset;
  if (base.kind == Operand::Kind::symbol) {
    SlotInit init;
    Space where{};
    if (!address_of(base.symbol, base.offset + memory.offset, 64, init, where))
      return refuse(instruction, "an address of another function");
    offset = 0;
    // A generic access to a named shared or local variable needs the window added; nvcc writes
    // cvta for that, so a bare symbol means its own space.
    if (space == Space::generic || space == Space::none || space == Space::param) space = where;
    if (space == Space::shared || space == Space::local) {
      init.bytes = 4;
      op.a = init_slot(init);
      return {};
    }
    op.a = init_slot(init);
    op.flags |= kAddress64;
    return {};
  }
  if (base.kind == Operand::Kind::immediate) {
    const bool narrow = space == Space::shared || space == Space::local;
    op.a = immediate_slot(base.bits, narrow ? 32 : 64);
    if (!narrow) op.flags |= kAddress64;
    return {};
  }
  if (base.kind != Operand::Kind::reg) return refuse(instruction, "an address of this kind");
  FIEL_TRY(op.a, slot_of(base, 64));
  if (width_of(base, 64) == 64) op.flags |= kAddress64;
  // Entry parameters lie in the arena; those of device functions in the stack.
  if (space == Space::param && !source_.is_entry) space = Space::local;
  if (offset != static_cast<int32_t>(offset)) return refuse(instruction, "an offset of this size");
  return {};
}

Status FunctionLowering::lower_memory(const Instruction& instruction) {
  const ptx::Modifiers& mods = instruction.mods;
  const bool store = instruction.op == Opcode::st;
  const Operand& value = instruction.operands[store ? 1 : 0];
  const Operand& memory = instruction.operands[store ? 0 : 1];
  if (!store && value.kind == Operand::Kind::reg && is_constant_[value.reg]) return {};
  MemoryShape shape;
  shape.space = mods.space;
  shape.semantics = mods.sem == ptx::Semantics::none ? ptx::Semantics::weak : mods.sem;
  shape.scope = mods.scope;
  const uint32_t bits = ptx::bits_of(mods.types[0]);
  if (bits < 8) return refuse(instruction, "an access of less than a byte");
  shape.element_bytes = static_cast<uint8_t>(bits / 8);
  shape.vector = mods.vector;
  if (mods.vector != 1 && mods.vector != 2 && mods.vector != 4 && mods.vector != 8)
    return refuse(instruction, "a vector of this length");
  const std::vector<Operand> single{value};
  const std::vector<Operand>& elements =
      value.kind == Operand::Kind::vector ? value.elements : single;
  if (elements.size() != mods.vector) return refuse(instruction, "elements and vector differ");
  Op address;
  int64_t offset = 0;
  FIEL_TRY_STATUS(set_address(instruction, memory, shape.space, address, offset));
  uint32_t slots[8] = {};
  for (size_t i = 0; i < elements.size(); ++i) {
    auto slot = slot_of(elements[i], bits);
    if (!slot) return refuse(instruction, slot.error().what, slot.error().code);
    slots[i] = *slot;
    uint32_t own = bits <= 32 ? 32u : bits;
    if (elements[i].kind == Operand::Kind::reg)
      own = ptx::bits_of(source_.registers[elements[i].reg].type);
    // A sink takes whatever width; registers of one vector have one width.
    if (i == 0 || elements[i].kind == Operand::Kind::reg)
      shape.register_bits = static_cast<uint8_t>(own < 16 ? 16 : own);
  }
  shape.sign_extend = !store && ptx::is_signed(mods.types[0]) && shape.register_bits > bits;
  const Handler handler = store ? request_.core.store(shape) : request_.core.load(shape);
  if (handler == nullptr) return refuse(instruction, "no handler for this access");
  // Strong accesses to memory that blocks share can observe the order in which blocks run.
  if (outside_block(shape.space) && is_strong(shape.semantics)) code_.order_sensitive = true;
  Op& op = push(instruction, handler);
  op.a = address.a;
  op.flags |= address.flags;
  op.imm = shape.encode(offset);
  op.dst = slots[0], op.dst2 = slots[1], op.c = slots[2], op.d = slots[3];
  op.extra = static_cast<uint32_t>(program_.extra.size());
  program_.extra.insert(program_.extra.end(), slots, slots + elements.size());
  return {};
}

Status FunctionLowering::lower_atomic(const Instruction& instruction) {
  const ptx::Modifiers& mods = instruction.mods;
  const bool reduction = instruction.op == Opcode::red;
  const size_t first = reduction ? 0 : 1;
  const Handler handler = request_.core.atomic(instruction);
  if (handler == nullptr) return refuse(instruction, "no handler for this atomic operation");
  MemoryShape shape;
  shape.space = mods.space;
  shape.semantics = mods.sem == ptx::Semantics::none ? ptx::Semantics::relaxed : mods.sem;
  shape.scope = mods.scope == ptx::Scope::none ? ptx::Scope::gpu : mods.scope;
  const ptx::Type type = mods.types[mods.n_types > 0 ? mods.n_types - 1 : 0];
  const uint32_t bits = ptx::bits_of(type);
  Op address;
  int64_t offset = 0;
  FIEL_TRY_STATUS(
      set_address(instruction, instruction.operands[first], shape.space, address, offset));
  uint32_t operands[2] = {};
  const size_t wanted = mods.cas || mods.atomic == ptx::AtomicOp::cas ? 2 : 1;
  if (instruction.operands.size() < first + 1 + wanted)
    return refuse(instruction, "operands are missing");
  for (size_t i = 0; i < wanted; ++i) {
    auto slot = slot_of(instruction.operands[first + 1 + i], bits);
    if (!slot) return refuse(instruction, slot.error().what, slot.error().code);
    operands[i] = *slot;
  }
  uint32_t result = 0;
  if (!reduction && instruction.operands[0].kind == Operand::Kind::reg &&
      uses_[instruction.operands[0].reg] != 0) {
    FIEL_TRY(result, slot_of(instruction.operands[0], bits));
  }
  // Integer reductions commute; anything whose result is used, or rounds, depends on the order.
  if (outside_block(shape.space) &&
      (result != 0 || ptx::is_float(type) || mods.atomic == ptx::AtomicOp::exch || wanted == 2))
    code_.order_sensitive = true;
  Op& op = push(instruction, handler);
  op.dst = result;
  op.a = address.a;
  op.b = operands[0];
  op.c = operands[1];
  op.flags |= address.flags;
  op.imm = shape.encode(offset);
  return {};
}

}  // namespace fiel::vgpu
