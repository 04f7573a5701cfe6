// How lowering gets the handlers of this folder that are not arithmetic, and how their ops look.
//
//   const CoreHandlers& core = avx2::core_handlers();
//   op.handler = core.load(shape); op.imm = shape.encode(offset);
//
// ld:   dst, dst2, c, d = up to four elements (extra: eight), a = address slot.
// st:   the same slots are sources. atom/red: dst = old value or 0, a = address, b, c = operands.
// All: imm = offset and shape, flags & kAddress64 when the address slot has 64-bit lanes.
#pragma once

#include <cstdint>

#include "ptx/type.h"
#include "vgpu/warp.h"

namespace fiel::ptx {
struct Instruction;
}

namespace fiel::vgpu {

struct WarpState;
enum class RunEnd : uint8_t;

inline constexpr uint32_t kAddress64 = kHandlerFlags;
inline constexpr uint32_t kFrameLocal = kHandlerFlags << 1;  ///< address = constant in the frame

struct MemoryShape {
  ptx::Space space = ptx::Space::generic;
  ptx::Semantics semantics = ptx::Semantics::weak;
  ptx::Scope scope = ptx::Scope::none;
  uint8_t element_bytes = 4;  ///< 1, 2, 4, 8, 16
  uint8_t vector = 1;         ///< 1, 2, 4, 8
  bool sign_extend = false;
  uint8_t register_bits = 32;  ///< 32, 64, 128

  constexpr uint64_t encode(int64_t offset) const {
    const auto log2 = [](uint32_t x) { return static_cast<uint64_t>(__builtin_ctz(x)); };
    return static_cast<uint32_t>(offset) | static_cast<uint64_t>(space) << 32 |
           static_cast<uint64_t>(semantics) << 36 | static_cast<uint64_t>(scope) << 40 |
           log2(element_bytes) << 44 | log2(vector) << 48 |
           static_cast<uint64_t>(sign_extend ? 1 : 0) << 52 | log2(register_bits) << 53;
  }
  static constexpr MemoryShape decode(uint64_t imm) {
    MemoryShape shape;
    shape.space = static_cast<ptx::Space>((imm >> 32) & 15);
    shape.semantics = static_cast<ptx::Semantics>((imm >> 36) & 15);
    shape.scope = static_cast<ptx::Scope>((imm >> 40) & 15);
    shape.element_bytes = static_cast<uint8_t>(1u << ((imm >> 44) & 15));
    shape.vector = static_cast<uint8_t>(1u << ((imm >> 48) & 15));
    shape.sign_extend = ((imm >> 52) & 1) != 0;
    shape.register_bits = static_cast<uint8_t>(1u << ((imm >> 53) & 7));
    return shape;
  }
  static constexpr int64_t offset_of(uint64_t imm) { return static_cast<int32_t>(imm); }
};

/// Ops with a null handler are executed by the run loop itself; imm says which.
/// a = target pc, b = pc that follows when the guard is off (or the next block).
enum class Control : uint8_t {
  jump,           ///< to a; unguarded; also falls through to the next block
  branch,         ///< guarded: lanes under the guard to a, the others to b
  exit,           ///< guarded: the others to b
  ret,            ///< back to the caller; from an entry = exit
  branch_table,   ///< brx: c = index slot, extra: count, pcs
  call,           ///< c = function index; extra: argument offsets; b = pc after it
  call_indirect,  ///< c = slot of the address
  barrier,        ///< sync or red: c = slot of the number, d = slot of the count or 0
  barrier_arrive,
  converge,  ///< the .sync operation that follows needs the lanes of slot c (0 = all)
};
/// Control ops' imm: the kind in the low byte; these above it.
inline constexpr uint64_t kBackwardSync = 1ull << 8;  ///< loop holds atomics or volatile loads
inline constexpr uint64_t kAligned = 1ull << 9;
inline constexpr uint64_t kWarpBarrier = 1ull << 10;  ///< converge: for bar.warp.sync
inline constexpr uint64_t kReductionShift = 12;       ///< BoolOp of bar.red, 4 bits
/// barrier: dst = result slot, dst2 = source predicate; kNegatedA negates it.

struct CoreHandlers {
  RunEnd (*run_warp)(WarpState& warp);
  Handler (*load)(const MemoryShape& shape);
  Handler (*store)(const MemoryShape& shape);
  /// atom and red; null when the combination does not exist.
  Handler (*atomic)(const ptx::Instruction& instruction);
  Handler move_32, move_64, move_128, move_predicate;
  Handler fence, no_op, warp_sync, trap, nanosleep, read_clock, isspacep;
  Handler add_offset_64;  ///< dst = a + imm, 64-bit (cvta: to and from a window)
};

namespace avx2 {
const CoreHandlers& core_handlers();
}
namespace avx512 {
const CoreHandlers& core_handlers();
}

}  // namespace fiel::vgpu
