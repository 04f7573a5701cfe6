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
  uint8_t flops = 0;         ///< a thread
  bool synthetic = false;    ///< made by lowering (fall-through, convergence): not counted
  bool conditional = false;  ///< a guarded branch: counts as a branch in metrics
};

/// Straight-line code [first, end); the last op is a control op.
struct Block {
  uint32_t first = 0, end = 0;
  uint32_t function = 0;
  uint32_t counted = 0;  ///< instructions of the program's text in it
};

/// Where a slot's first value comes from; written before a frame runs.
struct SlotInit {
  enum class Kind : uint8_t { immediate, special, param, param_address, zero };
  Kind kind = Kind::immediate;
  uint8_t bytes = 4;  ///< of a lane: 4, 8, 16; 0 = a predicate (a mask word)
  ptx::SpecialReg special = ptx::SpecialReg::none;
  uint8_t load_bytes = 0;  ///< param: bytes read from the block
  bool sign_extend = false;
  uint32_t slot = 0;
  uint64_t value = 0;  ///< immediate, envreg number, or offset in the parameter block
};

struct FunctionCode {
  std::string name;
  uint32_t source_function = 0;  ///< index into ptx::Module::functions
  uint32_t entry = 0;            ///< first op
  uint32_t frame_bytes = 0;      ///< of registers
  uint32_t local_bytes = 0;      ///< stack of one thread: .local variables and call parameters
  std::vector<SlotInit> inits;   ///< constants first, then those that change with warp and block
  uint32_t first_varying = 0;    ///< inits[first_varying..] depend on the block or the warp
  uint32_t static_shared_bytes = 0;
  bool calls = false;                   ///< may call (directly or not)
  bool order_sensitive = false;         ///< the order in which blocks run can change its results
  std::vector<uint32_t> param_offsets;  ///< device functions: offsets in the stack frame
  std::vector<uint32_t> return_offsets;
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
