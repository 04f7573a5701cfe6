// The register file and the instruction format of the virtual GPU: what every handler sees.
//
// A warp holds its registers as structure of arrays. A register is named by its byte offset into
// Warp::regs: 32 lanes of uint32_t (types up to 32 bits; narrower values are zero-extended),
// 32 lanes of uint64_t (64-bit types), 32 pairs of uint64_t {lo, hi} (b128), or one uint32_t mask
// for a predicate (bit i = lane i). Immediates, special registers, parameters and symbol addresses
// are registers too, splatted before the warp starts, so a handler has no operand modes.
//
// This header is included by files that are compiled once per instruction set (vgpu/isa/): keep it
// free of anything but plain types and always-inlined accessors.
#pragma once

#include <cstdint>
#include <cstring>

namespace fiel::vgpu {

inline constexpr int kLanes = 32;
inline constexpr uint32_t kFullMask = 0xffffffffu;

struct Warp;
struct Op;

/// Executes `op` for the lanes in `mask` (never 0). Lanes outside the mask keep their destination.
using Handler = void (*)(Warp& warp, const Op& op, uint32_t mask);

/// One decoded instruction; 64 bytes, one cache line.
struct alignas(64) Op {
  Handler handler = nullptr;
  uint32_t dst = 0;   ///< byte offsets into Warp::regs
  uint32_t dst2 = 0;  ///< setp p|q, shfl d|p, second vector element …; 0 = none
  uint32_t a = 0, b = 0, c = 0, d = 0;
  uint32_t guard = 0;  ///< predicate register of @p; 0 = unguarded
  uint32_t flags = 0;  ///< kGuardNegated; the other bits belong to the handler
  uint64_t imm = 0;    ///< handler's own: LUT, modes, branch target, memory offset
  uint32_t meta = 0;   ///< index into Program::meta: PTX line, source line, text, mix
  uint32_t extra = 0;  ///< index into Program::extra (operand lists: mma, vectors, calls)
};
static_assert(sizeof(Op) == 64);

inline constexpr uint32_t kGuardNegated = 1u;
/// A source predicate that is read negated: handlers of selp, setp, vote … test these.
inline constexpr uint32_t kNegatedA = 2u;
inline constexpr uint32_t kNegatedB = 4u;
inline constexpr uint32_t kNegatedC = 8u;
inline constexpr uint32_t kHandlerFlags = 16u;  ///< first bit that handlers may define themselves

struct Cta;       // vgpu/cta.h: shared memory, barriers, other warps
struct Executor;  // vgpu/executor.h: one worker thread's state

/// State of one warp. Scheduling state (splits, call stack) is the executor's; handlers of
/// arithmetic need only `regs` and `carry`.
struct Warp {
  alignas(64) uint8_t* regs = nullptr;
  uint32_t active = 0;     ///< lanes of the split that runs now
  uint32_t exited = 0;     ///< lanes that have returned
  uint32_t carry = 0;      ///< CC.CF by lane (add.cc, addc, …)
  uint32_t index = 0;      ///< warp number in its CTA
  uint32_t attention = 0;  ///< the run loop must look up after this op (vgpu/executor.h)
  Cta* cta = nullptr;
  Executor* executor = nullptr;

  template <typename T>
  [[gnu::always_inline]] T* reg(uint32_t offset) {
    return reinterpret_cast<T*>(regs + offset);
  }
  [[gnu::always_inline]] uint32_t& pred(uint32_t offset) {
    return *reinterpret_cast<uint32_t*>(regs + offset);
  }
};

/// Arithmetic's only way to complain (integer division by zero): `kind` is a FindingKind.
void report_lanes(Warp& warp, const Op& op, uint8_t kind, uint32_t lanes);

}  // namespace fiel::vgpu
