#include "vgpu/report_access.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "vgpu/executor.h"
#include "vgpu/heap.h"
#include "vgpu/scheduler.h"

namespace fiel::vgpu {
namespace {

uint32_t count_of(uint32_t mask) { return static_cast<uint32_t>(__builtin_popcount(mask)); }

Occurrence occurrence_of(Warp& warp, const Op& op, FindingKind kind, Grade grade, uint32_t lanes) {
  const Cta& cta = *warp.cta;
  Occurrence found;
  found.kind = kind;
  found.grade = grade;
  found.op = static_cast<uint32_t>(&op - warp.executor->ops);
  found.count = count_of(lanes);
  found.block = cta.linear;
  found.thread = warp.index * kLanes + static_cast<uint32_t>(__builtin_ctz(lanes));
  return found;
}

bool is_known(Warp& warp, const Op& op, FindingKind kind, uint32_t lanes) {
  return warp.cta->findings.known(kind, static_cast<uint32_t>(&op - warp.executor->ops), kNoIndex,
                                  count_of(lanes));
}

std::string describe_shared(const Cta& cta, uint64_t offset) {
  if (offset >= cta.shared_bytes)
    return fmt::format("shared memory offset {}, {} bytes past the end of the block's {} bytes",
                       offset, offset - cta.shared_bytes, cta.shared_bytes);
  return fmt::format("shared memory offset {} of {} bytes", offset, cta.shared_bytes);
}

std::string describe(Warp& warp, FindingKind kind, uint64_t address, uint32_t bytes,
                     ptx::Space space) {
  std::string text;
  if (kind == FindingKind::misaligned) text = fmt::format("not a multiple of {}: ", bytes);
  if (space == ptx::Space::shared) return text + describe_shared(*warp.cta, address);
  if (space == ptx::Space::local)
    return text + fmt::format("stack offset {} of {} bytes", address, warp.executor->local_stride);
  const LaunchState& launch = *warp.executor->launch;
  if (launch.heap->covers(address)) {
    uint64_t begin = 0, end = 0;
    bool freed = false;
    launch.heap->find(address, bytes, begin, end, freed);
    if (freed) return text + fmt::format("in a freed block of the device heap at 0x{:x}", begin);
    return text + (begin == 0 ? std::string("in the device heap, in no block")
                              : fmt::format("{} bytes into a device heap block of {} bytes",
                                            address - begin, end - begin));
  }
  // An access that begins inside and ends outside is described by its first byte outside.
  const Allocation* inside = launch.arena->find(address);
  if (kind == FindingKind::out_of_bounds && inside != nullptr && inside->live)
    return text + fmt::format("its last {} bytes are past the end of '{}' ({} bytes at 0x{:x})",
                              address + bytes - inside->end, inside->label,
                              inside->end - inside->begin, inside->begin);
  return text + launch.arena->describe(address);
}

}  // namespace

void report_access(Warp& warp, const Op& op, FindingKind kind, uint32_t lanes,
                   const uint64_t* addresses, uint32_t bytes, ptx::Space space) {
  if (is_known(warp, op, kind, lanes)) return;
  Occurrence found = occurrence_of(warp, op, kind, default_grade(kind), lanes);
  found.count = count_of(lanes);
  found.has_address = true;
  found.address = addresses[__builtin_ctz(lanes)];
  found.bytes = bytes;
  found.detail = describe(warp, kind, found.address, bytes, space);
  warp.cta->findings.add(std::move(found));
}

void report_lanes(Warp& warp, const Op& op, uint8_t kind, uint32_t lanes) {
  report_with_detail(warp, op, kind, lanes, "");
}

void report_with_detail(Warp& warp, const Op& op, uint8_t finding_kind, uint32_t lanes,
                        const char* detail) {
  const auto kind = static_cast<FindingKind>(finding_kind);
  report_with_grade(warp, op, kind, default_grade(kind), lanes, detail);
}

void report_with_grade(Warp& warp, const Op& op, FindingKind kind, Grade grade, uint32_t lanes,
                       std::string detail) {
  if (lanes == 0 || is_known(warp, op, kind, lanes)) return;
  Occurrence found = occurrence_of(warp, op, kind, grade, lanes);
  found.detail = std::move(detail);
  warp.cta->findings.add(std::move(found));
}

bool find_range(Warp& warp, uint64_t address, uint32_t bytes, RangeHint& hint, FindingKind& kind) {
  const LaunchState& launch = *warp.executor->launch;
  kind = FindingKind::out_of_bounds;
  if (launch.heap->covers(address)) {
    bool freed = false;
    RangeHint found;
    if (!launch.heap->find(address, bytes, found.begin, found.end, freed)) {
      if (freed) kind = FindingKind::use_after_free;
      return false;
    }
    // A block may be freed at any time: the hint must not outlive this access.
    hint = RangeHint{};
    return true;
  }
  const Allocation* allocation = launch.arena->find(address);
  if (allocation == nullptr) return false;
  if (!allocation->live) {
    kind = FindingKind::use_after_free;
    return false;
  }
  if (bytes > allocation->end - address) return false;
  hint.begin = allocation->begin;
  hint.end = allocation->end;
  hint.flags = (allocation->read_only ? kRangeReadOnly : 0u) |
               (allocation->filled ? kRangeFilled : 0u) | (allocation->output ? kRangeOutput : 0u);
  return true;
}

bool is_parameter(Warp& warp, uint64_t address) {
  const LaunchState& launch = *warp.executor->launch;
  const uint64_t bytes = launch.program->functions[launch.function].param_block_bytes;
  return address - launch.parameters < bytes;
}

const uint32_t* operand_list(const Warp& warp, const Op& op) {
  return warp.executor->extra + op.extra;
}
uint8_t* shared_memory(Warp& warp) { return warp.cta->shared; }

void land_shared_bytes(Warp& warp, uint32_t offset, uint32_t bytes) {
  Cta& cta = *warp.cta;
  if (offset >= cta.shared_bytes) return;
  bytes = std::min(bytes, cta.shared_bytes - offset);
  if (((offset | bytes) & 3) == 0) {  // every cp.async: four bytes at least, and aligned
    memset(cta.shared_shadow + (offset >> 2), 0x55, bytes >> 2);
    return;
  }
  for (uint32_t at = offset; at < offset + bytes; ++at) {
    uint8_t& state = cta.shared_shadow[at >> 2];
    const uint32_t shift = 2 * (at & 3);
    state = static_cast<uint8_t>((state & ~(3u << shift)) | (1u << shift));
  }
}

uint32_t shared_offset(Warp& warp, ptx::Space space, uint64_t address) {
  (void)warp;
  if (space == ptx::Space::shared) return static_cast<uint32_t>(address);
  if (address - kSharedWindow < kWindowBytes) return static_cast<uint32_t>(address - kSharedWindow);
  return kNoIndex;
}

void yield_after(Warp& warp) { warp.attention |= kAttentionYield; }

void stop_faulted(Warp& warp) {
  warp.attention |= kAttentionStop;
  stop_launch(*warp.executor->launch, LaunchStatus::faulted, warp.cta->position, {});
}

Attachment& warp_attachment(Warp& warp) { return state_of(warp).attachment; }
Attachment& block_attachment(Warp& warp) { return warp.cta->attachment; }

}  // namespace fiel::vgpu
