// Findings of memory accesses and of warp operations, recorded from handlers: cold code.
#pragma once

#include <cstdint>
#include <string>

#include "ptx/type.h"
#include "vgpu/findings.h"
#include "vgpu/warp.h"

namespace fiel::vgpu {

/// One occurrence a lane, grouped; the first lane is described. `addresses` are the program's.
void report_access(Warp& warp, const Op& op, FindingKind kind, uint32_t lanes,
                   const uint64_t* addresses, uint32_t bytes, ptx::Space space);

/// The range of device memory that holds [address, address + bytes): fills `hint`. False when there
/// is none; then `kind` says why (out of bounds, after free).
struct RangeHint;
bool find_range(Warp& warp, uint64_t address, uint32_t bytes, RangeHint& hint, FindingKind& kind);

void report_with_grade(Warp& warp, const Op& op, FindingKind kind, Grade grade, uint32_t lanes,
                       std::string detail);
/// The address lies in the parameter block of the launch.
bool is_parameter(Warp& warp, uint64_t address);

}  // namespace fiel::vgpu
