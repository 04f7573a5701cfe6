// Which handler executes an instruction. Every file of vgpu/isa/ is compiled once per instruction
// set (FIEL_ISA = avx2, avx512); lowering asks the set that this machine has.
//
// One function a family; lowering asks them in order and takes the first answer. `Selection` with
// a null handler = "not mine". A family answers for every legal combination of its opcodes;
// what it cannot do it names in `unsupported`.
#pragma once

#include <cstdint>

#include "vgpu/warp.h"

namespace fiel::ptx {
struct Instruction;
}

namespace fiel::vgpu {

/// Widths, in bits, of the registers that operands 0..7 live in (1 = predicate, 32, 64, 128).
/// cvt, ld, st and mov may name registers wider than their type.
struct OperandWidths {
  uint8_t bits[8] = {};
};

struct Selection {
  Handler handler = nullptr;
  uint64_t imm = 0;
  uint32_t flags = 0;
  const char* unsupported = nullptr;  ///< static text: why this combination cannot run
};

// Operand order in Op for arithmetic: dst[, dst2] = f(a, b, c, d) in the order of the PTX text.
// lop3's LUT, prmt's mode, shfl's clamp … stay registers (immediates are registers) unless said.
// Instructions with long operand lists (mma) find them at Program::extra[op.extra].
// mov with a vector operand has no list, its elements are flattened:
//   pack   mov.b64 d, {e0, e1[, e2, e3]}:  dst = d; a, b[, c, d] = e0 …
//   unpack mov.b64 {e0, e1[, e2, e3]}, s:  dst, dst2[, c, d] = e0 …; a = s
// (`_` elements name a scratch register). OperandWidths counts them flattened too, in text order.
// A fifth source (the predicate q of lop3.and.b32 d|p, a, b, c, lut, q) has its register in
// `extra`. Predicate sources that are read negated are in Selection::flags already. Tensor,
// matrix-memory, async-copy and mbarrier instructions get the operand list that program.h describes
// (operand_list() of isa/memory_access.h); their OperandWidths are one an operand: of a vector its
// elements' width, of a memory operand that of its address slot (32 or 64). Warp operations that
// must converge (.sync) are preceded by a wait that lowering adds: their handlers may take `mask`
// for the lanes that arrived together. A family whose file does not exist yet is linked as absent:
// lowering says "unsupported".
#define FIEL_ISA_SELECTORS(X)                                                                   \
  X(select_integer)  /* add sub mul mad div rem min max abs neg logic shift mov(scalar) … */  \
  X(select_extended) /* .cc carry chains, bit field, prmt, lop3, shf, popc, dp4a, sad, video */ \
  X(select_float)    /* f32 f64 add sub mul fma min max abs neg copysign testp div sqrt rcp */  \
  X(select_special)  /* ex2 lg2 sin cos tanh rsqrt rcp.approx div.approx … */                 \
  X(select_compare)  /* setp set selp slct on all types */                                      \
  X(select_half)     /* f16 f16x2 bf16 bf16x2 */                                                \
  X(select_convert)  /* cvt incl. fp8, tf32, packed */                                          \
  X(select_warp)     /* shfl vote match redux activemask */                                     \
  X(select_tensor)   /* mma, movmatrix (register-only) */                                       \
  X(select_matrix_memory) /* ldmatrix stmatrix wmma.load wmma.store */                          \
  X(select_async_copy)    /* cp.async and its groups */                                         \
  X(select_mbarrier)      /* mbarrier.*, cp.async.mbarrier.arrive */

#define FIEL_X(name)                                                                \
  namespace avx2 {                                                                  \
  Selection name(const ptx::Instruction& instruction, const OperandWidths& widths); \
  }                                                                                 \
  namespace avx512 {                                                                \
  Selection name(const ptx::Instruction& instruction, const OperandWidths& widths); \
  }
FIEL_ISA_SELECTORS(FIEL_X)
#undef FIEL_X

}  // namespace fiel::vgpu
