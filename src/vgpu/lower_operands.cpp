// Operands: which slot holds a register, constant, special register or address, and its first
// value.
#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "vgpu/lower_function.h"

namespace fiel::vgpu {
namespace {

using ptx::Opcode;
using ptx::Operand;
using ptx::Symbol;

SlotInit::When when_of(ptx::SpecialReg special) {
  using S = ptx::SpecialReg;
  switch (special) {
    case S::tid_x:
    case S::tid_y:
    case S::tid_z:
    case S::warpid:
      return SlotInit::When::warp;
    case S::ctaid_x:
    case S::ctaid_y:
    case S::ctaid_z:
    case S::clusterid_x:
    case S::clusterid_y:
    case S::clusterid_z:
    case S::smid:
      return SlotInit::When::block;
    default:
      return SlotInit::When::launch;
  }
}

}  // namespace

bool is_clock(ptx::SpecialReg special) {
  using S = ptx::SpecialReg;
  return special == S::clock || special == S::clock_hi || special == S::clock64 ||
         special == S::globaltimer || special == S::globaltimer_lo || special == S::globaltimer_hi;
}

uint8_t init_bytes(uint32_t bits) {
  return static_cast<uint8_t>(bits == 1 ? 0 : bits <= 32 ? 4 : bits <= 64 ? 8 : 16);
}

uint32_t immediate_bits(const ptx::Instruction& instruction, uint32_t operand) {
  const ptx::Modifiers& mods = instruction.mods;
  const uint32_t type = ptx::bits_of(mods.types[0]);
  const uint32_t last = static_cast<uint32_t>(instruction.operands.size()) - 1;
  const uint32_t first_source = instruction.pair_destination ? 2 : 1;
  switch (instruction.op) {
    case Opcode::shl:
    case Opcode::shr:
    case Opcode::szext:
      return operand == last ? 32 : type;
    case Opcode::shf:
    case Opcode::shfl:
    case Opcode::prmt:
    case Opcode::bmsk:
    case Opcode::dp4a:
    case Opcode::dp2a:
    case Opcode::fns:
      return 32;
    case Opcode::redux:
      return operand == last ? 32 : type;
    case Opcode::lop3:
      return operand == 5 && instruction.pair_destination ? 32 : operand > 5 ? 1 : 32;
    case Opcode::match:
      return operand == last ? 32 : type;
    case Opcode::vote:
      return operand == last ? 32 : 1;
    case Opcode::mul:
    case Opcode::mad:
    case Opcode::mad24:
    case Opcode::mul24:
      return mods.wide && operand == 3 ? 2 * type : type;
    case Opcode::cvt:
      if (mods.pack) return 32;
      return ptx::bits_of(mods.types[mods.n_types > 1 ? 1 : 0]);
    case Opcode::set:
      if (operand == 3) return 1;
      return ptx::bits_of(mods.types[mods.n_types > 1 ? 1 : 0]);
    case Opcode::setp:
      return operand >= first_source + 2 ? 1 : type;
    case Opcode::selp:
      return operand == 3 ? 1 : type;
    case Opcode::slct:
      return operand == 3 ? 32 : type;
    case Opcode::bfe:
      return operand >= 2 ? 32 : type;
    case Opcode::bfi:
      return operand >= 3 ? 32 : type;
    case Opcode::isspacep:
      return 64;
    case Opcode::testp:
      return type;
    default:
      return type == 0 ? 32 : type;
  }
}

uint32_t FunctionLowering::init_slot(SlotInit init) {
  const auto key = std::make_tuple(static_cast<uint8_t>(init.kind), init.bytes,
                                   static_cast<uint8_t>(init.special), init.load_bytes,
                                   init.sign_extend, init.value);
  const auto [at, fresh] = init_slots_.try_emplace(key, 0);
  if (!fresh) return at->second;
  const uint32_t bytes = init.bytes == 0 ? 4 : init.bytes * uint32_t{kLanes};
  const uint32_t unit = bytes >= 64 ? 64 : 4;
  next_byte_ = (next_byte_ + unit - 1) / unit * unit;
  init.slot = next_byte_;
  next_byte_ += bytes;
  code_.inits.push_back(init);
  at->second = init.slot;
  return init.slot;
}

uint32_t FunctionLowering::immediate_slot(uint64_t value, uint32_t bits) {
  SlotInit init;
  init.bytes = init_bytes(bits);
  if (bits < 64) value &= (1ull << bits) - 1;
  if (bits == 1) value = value != 0 ? kFullMask : 0;
  init.value = value;
  return init_slot(init);
}

SlotInit FunctionLowering::special_init(const Operand& operand, uint32_t bits) const {
  SlotInit init;
  init.kind = SlotInit::Kind::special;
  init.when = when_of(operand.special);
  init.bytes = bits > 32 ? 8 : 4;
  init.special = operand.special;
  init.value = static_cast<uint64_t>(operand.offset);
  return init;
}

/// Where a symbol lies, as the first value of a slot, in its own state space's addresses.
bool FunctionLowering::address_of(uint32_t symbol, int64_t offset, uint32_t bits, SlotInit& init,
                                  ptx::Space& space) const {
  const ptx::Module& module = request_.module;
  const Symbol& named = module.symbols[symbol];
  init = SlotInit{};
  init.bytes = init_bytes(bits);
  const auto add = [&](uint64_t base) { init.value = base + static_cast<uint64_t>(offset); };
  const auto dynamic = [&](const ptx::Variable& variable) {
    init.kind = SlotInit::Kind::dynamic_shared;
    init.value = std::max<uint64_t>(variable.align, 1) |
                 static_cast<uint64_t>(static_cast<uint32_t>(offset)) << 32;
  };
  switch (named.kind) {
    case Symbol::Kind::function:
      space = ptx::Space::generic;
      add(Program::kCodeBase + 16ull * named.function);
      return true;
    case Symbol::Kind::global_variable: {
      const ptx::Variable& variable = module.variables[named.index];
      space = variable.space;
      if (space != ptx::Space::shared)
        add(request_.addresses[named.index]);
      else if (variable.bytes == 0)
        dynamic(variable);
      else
        add(shared_.module_offsets[named.index]);
      return true;
    }
    case Symbol::Kind::local_variable: {
      if (named.function != index_) return false;
      const ptx::Variable& variable = source_.locals[named.index];
      space = variable.space;
      if (space == ptx::Space::shared) {
        if (variable.bytes == 0)
          dynamic(variable);
        else
          add(shared_.function_offsets[index_][named.index]);
        return true;
      }
      init.kind = SlotInit::Kind::local_address;
      add(local_offset_[named.index]);
      space = ptx::Space::local;
      return true;
    }
    case Symbol::Kind::param:
      if (named.function != index_) return false;
      if (source_.is_entry) {
        init.kind = SlotInit::Kind::param_address;
        add(code_.param_offsets[named.index]);
        space = ptx::Space::param;
      } else {
        init.kind = SlotInit::Kind::local_address;
        add(named.is_return ? return_offset_[named.index] : param_offset_[named.index]);
        space = ptx::Space::local;
      }
      return true;
  }
  return false;
}

Result<uint32_t> FunctionLowering::symbol_slot(const Operand& operand, uint32_t bits) {
  SlotInit init;
  ptx::Space space{};
  if (!address_of(operand.symbol, operand.offset, bits, init, space))
    return fail(ErrorCode::unsupported, fmt::format("the address of '{}' of another function",
                                                    request_.module.symbols[operand.symbol].name));
  return init_slot(init);
}

uint32_t FunctionLowering::width_of(const Operand& operand, uint32_t bits) const {
  if (operand.kind == Operand::Kind::reg) {
    const uint32_t own = ptx::bits_of(source_.registers[operand.reg].type);
    return own == 1 ? 1 : own <= 32 ? 32 : own;
  }
  return bits == 1 ? 1 : bits <= 32 ? 32 : bits <= 64 ? 64 : 128;
}

Result<uint32_t> FunctionLowering::slot_of(const Operand& operand, uint32_t bits) {
  switch (operand.kind) {
    case Operand::Kind::reg:
      if (is_constant_[operand.reg]) return constant_slot_[operand.reg];
      // A register that is never written and never live has no place: reading it gives zeros.
      if (plan_.slot[operand.reg] == 0)
        return immediate_slot(0, ptx::bits_of(source_.registers[operand.reg].type));
      return plan_.slot[operand.reg];
    case Operand::Kind::sink:
      return kTrashSlot;
    case Operand::Kind::immediate: {
      uint64_t value = operand.bits;
      if (operand.is_float && operand.is_double && bits == 32) {
        double wide = 0;
        memcpy(&wide, &value, 8);
        const auto narrow = static_cast<float>(wide);
        uint32_t pattern = 0;
        memcpy(&pattern, &narrow, 4);
        value = pattern;
      } else if (operand.is_float && !operand.is_double && bits == 64) {
        float narrow = 0;
        memcpy(&narrow, &value, 4);
        const double wide = narrow;
        memcpy(&value, &wide, 8);
      }
      return immediate_slot(value, bits);
    }
    case Operand::Kind::symbol:
      return symbol_slot(operand, bits < 32 ? 64 : bits);
    case Operand::Kind::special:
      return init_slot(special_init(operand, bits));
    default:
      return fail(ErrorCode::unsupported, "an operand of this kind is not expected here");
  }
}

}  // namespace fiel::vgpu
