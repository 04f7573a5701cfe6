// What memory.cpp and atomics.cpp share: which range an access falls in, and telling observers.
#pragma once

#include "vgpu/executor.h"
#include "vgpu/isa/core_select.h"
#include "vgpu/isa/lane_patterns.h"
#include "vgpu/isa/observe.h"
#include "vgpu/isa/shadow.h"
#include "vgpu/report_access.h"

namespace fiel::vgpu::FIEL_ISA {

FIEL_INLINE RangeHint& hint_of(Executor& executor, const Op& op) {
  return executor.hints[op.meta & (kRangeHints - 1)];
}

/// [lo, hi) lies in one live range; the op's hint says which.
FIEL_INLINE bool in_range(Warp& warp, RangeHint& hint, uint64_t lo, uint64_t hi) {
  if (lo >= hint.begin && hi <= hint.end) [[likely]]
    return true;
  FindingKind kind{};
  return find_range(warp, lo, static_cast<uint32_t>(hi - lo), hint, kind);
}

FIEL_INLINE uint8_t* host(uint64_t address) { return reinterpret_cast<uint8_t*>(address); }

}  // namespace fiel::vgpu::FIEL_ISA
