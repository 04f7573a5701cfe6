// Lowers one function: private to lower*.cpp.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "vgpu/lower.h"

namespace fiel::vgpu {

inline constexpr uint32_t kTrashSlot = 64;  ///< `_` and unused results: written, never read
inline constexpr uint32_t kFirstRegister = kTrashSlot + 512;

class FunctionLowering {
 public:
  FunctionLowering(const LowerRequest& request, const SharedLayout& shared, uint32_t function,
                   Program& program)
      : request_(request),
        shared_(shared),
        index_(function),
        source_(request.module.functions[function]),
        program_(program) {}

  Status run();

 private:
  using Operand = ptx::Operand;
  using Instruction = ptx::Instruction;

  // lower.cpp: layout, operands, first values
  Status lay_out_stack();
  void find_constants();
  bool constant_of(const Instruction& instruction, SlotInit& init) const;
  Status emit_blocks();
  Status emit(const Instruction& instruction, uint32_t block);
  void finish_branches();
  Status finish();

  uint32_t init_slot(SlotInit init);
  uint32_t immediate_slot(uint64_t value, uint32_t bits);
  Result<uint32_t> slot_of(const Operand& operand, uint32_t bits);
  uint32_t width_of(const Operand& operand, uint32_t bits) const;
  Result<uint32_t> symbol_slot(const Operand& operand, uint32_t bits);
  bool address_of(uint32_t symbol, int64_t offset, uint32_t bits, SlotInit& init,
                  ptx::Space& space) const;
  SlotInit special_init(const Operand& operand, uint32_t bits) const;
  Op& push(const Instruction& instruction, Handler handler, bool synthetic = false);
  Op& push_control(const Instruction& instruction, Control control, bool synthetic = false);
  tl::unexpected<Error> refuse(const Instruction& instruction, const std::string& why,
                               ErrorCode code = ErrorCode::unsupported) const;

  // lower_ops.cpp: by opcode
  Status lower_arithmetic(const Instruction& instruction);
  Status lower_list(const Instruction& instruction);
  Status lower_move(const Instruction& instruction);
  Status lower_cvta(const Instruction& instruction);
  Status lower_isspacep(const Instruction& instruction);
  Status lower_warp(const Instruction& instruction);
  Status add_convergence(const Instruction& instruction, const Operand* members, bool barrier);
  Selection select(const Instruction& instruction, const OperandWidths& widths) const;
  // lower_memory.cpp
  Status lower_memory(const Instruction& instruction);
  Status lower_atomic(const Instruction& instruction);
  Status set_address(const Instruction& instruction, const Operand& memory, ptx::Space& space,
                     Op& op, int64_t& offset);
  // lower_control.cpp
  Status lower_branch(const Instruction& instruction, uint32_t block);
  Status lower_barrier(const Instruction& instruction, uint32_t block);
  Status lower_call(const Instruction& instruction, uint32_t block);
  uint32_t next_block(uint32_t block) const;

  const LowerRequest& request_;
  const SharedLayout& shared_;
  const uint32_t index_;
  const ptx::Function& source_;
  Program& program_;
  FunctionCode code_;
  Flow flow_;
  SlotPlan plan_;
  std::vector<bool> is_constant_;  ///< registers that hold one launch-time value
  std::vector<uint32_t> constant_slot_;
  std::vector<SlotInit> constants_;
  std::vector<uint32_t> uses_;          ///< reads of each register in the text
  std::vector<uint32_t> local_offset_;  ///< by local: offset in the stack frame
  std::vector<uint32_t> param_offset_, return_offset_;
  std::vector<uint32_t> block_pc_;
  std::vector<bool> block_waits_;  ///< holds atomics, volatile loads: spinning there is waiting
  std::map<std::tuple<uint8_t, uint8_t, uint8_t, uint8_t, bool, uint64_t>, uint32_t> init_slots_;
  uint32_t next_byte_ = 0;
  uint32_t first_op_ = 0;
  uint32_t statement_ = 0, block_ = 0;
};

/// Bits of the register that an immediate in this place stands for.
uint32_t immediate_bits(const ptx::Instruction& instruction, uint32_t operand);

/// Registers whose value changes while a warp runs.
bool is_clock(ptx::SpecialReg special);
/// SlotInit::bytes of a register of so many bits.
uint8_t init_bytes(uint32_t bits);

/// Built-in functions (builtins.cpp): the handler, or null when the name is not one. The op's
/// operand list: arguments' frame offsets, then results'.
struct Builtin {
  Handler handler = nullptr;
  uint32_t arguments = 0, results = 0;
};
Builtin builtin_of(const std::string& name);

}  // namespace fiel::vgpu
