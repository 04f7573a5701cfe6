#include "vgpu/findings.h"

#include <fmt/core.h>

#include <array>

namespace fiel::vgpu {
namespace {

struct Entry {
  std::string_view code;
  Grade grade;
};
constexpr Entry kEntries[] = {
#define FIEL_X(id, code, grade) {code, Grade::grade},
    FIEL_FINDINGS(FIEL_X)
#undef FIEL_X
};

std::string where(const Dim3& block, const Dim3& thread) {
  return fmt::format("block ({},{},{}) thread ({},{},{})", block.x, block.y, block.z, thread.x,
                     thread.y, thread.z);
}

std::string frames(const std::vector<SourceFrame>& source) {
  std::string text;
  for (const SourceFrame& frame : source) {
    text += text.empty() ? "at " : ", inlined at ";
    text += fmt::format("{}:{}", frame.file.empty() ? "?" : frame.file, frame.line);
    if (!frame.function.empty()) text += fmt::format(" ({})", frame.function);
  }
  return text;
}

}  // namespace

std::string_view code_of(FindingKind kind) { return kEntries[static_cast<size_t>(kind)].code; }
Grade default_grade(FindingKind kind) { return kEntries[static_cast<size_t>(kind)].grade; }

std::string_view name_of(Grade grade) {
  switch (grade) {
    case Grade::info:
      return "INFO";
    case Grade::warn:
      return "WARN";
    case Grade::error:
      return "ERROR";
  }
  return "";
}

std::string_view meaning_of(FindingKind kind) {
  switch (kind) {
    case FindingKind::out_of_bounds:
      return "A thread read or wrote an address that belongs to no live allocation (or lies past "
             "the shared memory or stack of its block). A GPU may answer with an illegal address "
             "error, or silently touch a neighbour. The launch stops here.";
    case FindingKind::misaligned:
      return "An access of n bytes must start at a multiple of n; vector loads (float4) need the "
             "alignment of the whole vector. A GPU stops with a misaligned address error.";
    case FindingKind::use_after_free:
      return "The address lies in an allocation that had been freed before this launch.";
    case FindingKind::uninitialized_global:
      return "The bytes that were read have never been written: not by a copy, a memset, or an "
             "earlier store. On a GPU they hold whatever was left there.";
    case FindingKind::uninitialized_shared:
      return "Shared memory was read before any thread of the block wrote it. Usually a missing "
             "initialisation, a missing barrier, or an index that the filling loop did not reach.";
    case FindingKind::uninitialized_local:
      return "A local array (stack) element was read before it was written.";
    case FindingKind::shared_race:
      return "Two threads of a block touch the same shared bytes, at least one writes, and no "
             "barrier or atomic chain orders them: the result depends on timing.";
    case FindingKind::global_race:
      return "Two threads touch the same global bytes, at least one writes, and nothing orders "
             "them: no barrier in a block, no fence with an atomic between blocks.";
    case FindingKind::warp_synchronous:
      return "Lanes of one warp exchange data through memory without __syncwarp(). Lanes are not "
             "guaranteed to run in step since Volta.";
    case FindingKind::divergent_barrier:
      return "Some threads of a warp reached a barrier that others passed by or met elsewhere. "
             "bar.sync must be reached by all threads of the warp that have not exited.";
    case FindingKind::invalid_barrier:
      return "A barrier number above 15, a thread count that is not a multiple of the warp size, "
             "or counts that disagree between threads.";
    case FindingKind::bad_shuffle_mask:
      return "The member mask of a warp operation does not contain the calling lane, or names "
             "lanes that never arrive at it (they exited or are elsewhere).";
    case FindingKind::inactive_lane_read:
      return "A shuffle read a register of a lane that takes no part in it; the value is "
             "undefined.";
    case FindingKind::in_flight_read:
      return "Bytes that an asynchronous copy is still writing were read: wait for the copy "
             "(cp.async.wait_group, mbarrier wait) and synchronise first.";
    case FindingKind::in_flight_write:
      return "Bytes that an asynchronous copy is still writing were written by something else.";
    case FindingKind::deadlock:
      return "No thread can move: each waits for a barrier, a lock or a warp operation that the "
             "others will never reach.";
    case FindingKind::runaway:
      return "The launch executed its whole budget of instructions without an end in sight: an "
             "endless loop, or far more work than the task needs.";
    case FindingKind::division_by_zero:
      return "An integer division or remainder by zero. A GPU returns an unspecified value.";
    case FindingKind::stack_overflow:
      return "A thread used more stack (local arrays and calls) than the device grants.";
    case FindingKind::heap_exhausted:
      return "Device malloc returned null because the device heap is full.";
    case FindingKind::invalid_free:
      return "Device free of a pointer that device malloc did not return, or a second free of it.";
    case FindingKind::assertion:
      return "An assert() in the kernel failed; the launch stops with a device-side assert.";
    case FindingKind::trap:
      return "The kernel executed trap (or __builtin_trap, or an unreachable path).";
    case FindingKind::bad_branch_index:
      return "The index of a branch table (switch) was outside the table.";
    case FindingKind::bad_call_target:
      return "An indirect call through a value that is not the address of a device function, or "
             "of one with other parameters.";
    case FindingKind::write_to_const:
      return "A store to constant memory or to kernel parameters.";
    case FindingKind::same_value_race:
      return "Several threads wrote the same value to the same bytes without order: harmless "
             "today, but the language gives no promise.";
    case FindingKind::nondeterministic:
      return "Another order of blocks, warps or instructions gave another output.";
    case FindingKind::incomplete_output:
      return "Bytes of a declared output were never written by the kernel.";
    case FindingKind::written_twice:
      return "Bytes of a declared output were stored more than once in one call: wasted traffic, "
             "or "
             "two threads that own the same element. Atomics that add to it do not count.";
    case FindingKind::printf_overflow:
      return "Device printf produced more text than is kept, 1 MiB of a launch; the first blocks' "
             "is, the rest was dropped.";
    case FindingKind::contract_sensitive:
      return "The output changes, within its bound, when multiply and add that carry no rounding "
             "modifier are fused, as ptxas may do: another compiler version may give other bits.";
  }
  return "";
}

std::string to_string(const Finding& finding) {
  std::string text = fmt::format("{} {}", name_of(finding.grade), code_of(finding.kind));
  if (finding.has_address)
    text += fmt::format("  {}-byte access at 0x{:x}", finding.bytes, finding.address);
  if (!finding.detail.empty()) text += fmt::format("  {}", finding.detail);
  text += fmt::format("\n    {}, {}", finding.kernel, where(finding.block, finding.thread));
  if (finding.count > 1) text += fmt::format(" and {} more", finding.count - 1);
  if (!finding.source.empty()) text += "\n    " + frames(finding.source);
  if (!finding.instruction.empty())
    text += fmt::format("\n    PTX line {}: {}", finding.ptx_line, finding.instruction);
  if (!finding.other_instruction.empty()) {
    text += fmt::format("\n    with {}: {}", where(finding.other_block, finding.other_thread),
                        finding.other_instruction);
    if (!finding.other_source.empty()) text += " " + frames(finding.other_source);
  }
  return text;
}

}  // namespace fiel::vgpu
