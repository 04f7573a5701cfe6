// ptx::Module -> Program: blocks in priority order, registers in slots, handlers chosen.
//
//   Result<Program> program = lower({.module = module, .addresses = addresses, .core = core, …});
//
// What no handler exists for is refused here, with its line: never at run time.
#pragma once

#include <span>
#include <vector>

#include "base/result.h"
#include "ptx/module.h"
#include "vgpu/device.h"
#include "vgpu/isa/core_select.h"
#include "vgpu/isa/select.h"
#include "vgpu/program.h"

namespace fiel::vgpu {

using Selector = Selection (*)(const ptx::Instruction&, const OperandWidths&);

struct LowerRequest {
  const ptx::Module& module;
  std::span<const uint64_t> addresses;  ///< by module variable; unused for shared ones
  const CoreHandlers& core;
  std::span<const Selector> selectors;  ///< null entries: family absent
  Contract contract = Contract::off;
};

Result<Program> lower(const LowerRequest& request);

/// Where .shared variables lie: those of the module, and those declared in functions.
struct SharedLayout {
  std::vector<uint32_t> module_offsets;                 ///< by variable
  std::vector<std::vector<uint32_t>> function_offsets;  ///< by function, by local
  std::vector<uint32_t> entry_bytes;                    ///< by function: static bytes of an entry
};
SharedLayout layout_shared(const ptx::Module& module,
                           const std::vector<std::vector<uint32_t>>& reachable);
/// Functions that each function may call, itself included.
std::vector<std::vector<uint32_t>> reachable_functions(const ptx::Module& module);

/// Blocks of a function body, in the order in which they are to be laid out.
struct FlowBlock {
  uint32_t first = 0, end = 0;       ///< statements
  std::vector<uint32_t> successors;  ///< by position in the result; fall-through last
};
struct Flow {
  std::vector<FlowBlock> blocks;             ///< reachable ones, entry first, loops contiguous
  std::vector<uint32_t> block_of_statement;  ///< ~0u where unreachable
};
Flow build_flow(const ptx::Function& function);

/// Registers that an instruction reads and writes, its guard among the reads.
struct Accesses {
  std::vector<uint32_t> reads, writes;
};
void collect_accesses(const ptx::Instruction& instruction, Accesses& out);
uint32_t destination_operands(const ptx::Instruction& instruction);

/// Slots for a function's registers, from `first_byte` on; those in `skip` get none.
struct SlotPlan {
  std::vector<uint32_t> slot;        ///< by register; 0 = never used
  std::vector<uint32_t> read_first;  ///< registers that some path reads before it writes them
  uint32_t bytes = 0;                ///< end of the registers' area
};
SlotPlan plan_slots(const ptx::Function& function, const Flow& flow, const std::vector<bool>& skip,
                    uint32_t first_byte);
uint32_t slot_bytes_of(ptx::Type type);

/// Fuses unrounded multiplications and additions (contract.cpp).
void contract(ptx::Module& module);

MixClass mix_of(const ptx::Instruction& instruction);
uint16_t flops_of(const ptx::Instruction& instruction);

}  // namespace fiel::vgpu
