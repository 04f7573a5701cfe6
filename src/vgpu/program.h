// A lowered module: what the executor runs. Made by vgpu/lower.h, immutable while it runs.
//
//   const Op& op = program.ops[pc];               // blocks lie in priority order: lower pc first
//   const OpMeta& meta = program.meta[op.meta];   // line, text, class: cold
//   const uint32_t* list = &program.extra[op.extra];
//
// Operand lists in `extra` (instructions with vectors or memory operands other than ld/st/atom):
// every operand in text order, flattened: a register, immediate or symbol is one slot offset; a
// vector is its elements; a memory operand [x+k] is two words, the slot of x and k as int32. `_` is
// a scratch slot. op.dst, dst2, a, b, c, d hold nothing then, except op.dst = the first entry.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ptx/module.h"
#include "vgpu/metrics.h"
#include "vgpu/warp.h"

namespace fiel::vgpu {

/// Everything about an instruction that only messages and metrics need.
struct OpMeta {
  uint32_t ptx_line = 0;
  int32_t source = -1;     ///< index into ptx::Module::source_lines
  uint32_t function = 0;   ///< index into Program::functions
  uint32_t block = 0;      ///< index into Program::blocks
  uint32_t statement = 0;  ///< index into ptx::Function::body; its text is the message's
  MixClass mix = MixClass::other;
  uint16_t flops = 0;        ///< a thread
  bool synthetic = false;    ///< made by lowering (fall-through, convergence): not counted
  bool conditional = false;  ///< a guarded branch: counts as a branch in metrics
};

/// Straight-line code [first, end); the last op is a control op.
struct Block {
  uint32_t first = 0, end = 0;
  uint32_t function = 0;
  uint32_t counted = 0;                             ///< instructions of the text in it
  uint32_t first_statement = 0, end_statement = 0;  ///< of the function
};

/// Where a slot's first value comes from; written before a frame runs.
struct SlotInit {
  enum class Kind : uint8_t {
    immediate,
    special,
    param,
    param_address,
    local_address,
    dynamic_shared,
    zero
  };
  enum class When : uint8_t { launch, warp, block };  ///< how long the value holds
  Kind kind = Kind::immediate;
  When when = When::launch;
  uint8_t bytes = 4;  ///< of a lane: 4, 8, 16; 0 = a predicate (a mask word)
  ptx::SpecialReg special = ptx::SpecialReg::none;
  uint8_t load_bytes = 0;  ///< param: bytes read from the block
  bool sign_extend = false;
  uint32_t slot = 0;
  uint64_t value = 0;  ///< immediate, envreg number, offset in the parameter block or in the frame
};

struct FunctionCode {
  std::string name;
  uint32_t source_function = 0;  ///< index into ptx::Module::functions
  uint32_t entry = 0;            ///< first op
  uint32_t frame_bytes = 0;      ///< of registers
  uint32_t local_bytes = 0;      ///< stack of one thread: .local variables and call parameters
  uint32_t local_align = 16;     ///< of that stack: the most that a variable in it asks for
  std::vector<SlotInit> inits;   ///< sorted by `when`
  uint32_t first_warp = 0, first_block = 0;  ///< where those of warps and of blocks begin
  uint32_t static_shared_bytes = 0;          ///< of it and of all that it may call
  bool is_entry = false;
  bool calls = false;  ///< contains a call
  bool indirect_calls = false;
  bool order_sensitive = false;        ///< the order in which blocks run can change its results
  bool recursive = false;              ///< of what it may reach, something calls itself
  uint32_t reachable_stack_bytes = 0;  ///< frames of all functions that it may reach, summed
  std::vector<uint32_t> callees;       ///< called by name
  uint32_t param_block_bytes = 0;
  std::vector<uint32_t> param_offsets, param_bytes;  ///< entry: in the block; device: in the frame
  std::vector<uint32_t> return_offsets, return_bytes;  ///< device functions: in the frame
};

struct Program {
  std::vector<Op> ops;
  std::vector<OpMeta> meta;
  std::vector<uint32_t> extra;
  std::vector<Block> blocks;
  std::vector<FunctionCode> functions;
  /// Function index by code address (kCodeBase + 16 * index): targets of indirect calls.
  static constexpr uint64_t kCodeBase = 0x00000000c0de0000ull;
};

}  // namespace fiel::vgpu
