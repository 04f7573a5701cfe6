// The run loop: executes one warp until it has to wait.
//
// A jump costs a count and a decrement while the warp has one split; everything about splits is
// off that path. Blocks lie in reverse post-order with loops contiguous, so "lowest pc first" lets
// the lanes that are behind catch up: splits meet where their paths join, and merge there.
#include "vgpu/isa/core_select.h"
#include "vgpu/isa/lane_patterns.h"
#include "vgpu/isa/observe.h"
#include "vgpu/scheduler.h"

namespace fiel::vgpu::FIEL_ISA {
namespace {

/// Jumps back into a loop that only other threads can end, before those get a turn.
constexpr uint32_t kSpinJumps = 32;
/// Any other loop: far above real trip counts' differences, which must not split warps for good.
constexpr uint32_t kPatientJumps = 1u << 15;
/// Jumps for which a split chosen for fairness may run ahead of the lowest pc.
constexpr uint32_t kBoostJumps = 64;
constexpr int64_t kPollJumps = 4096;

bool runs_before(const Split& a, const Split& b) {
  if (a.frame->depth != b.frame->depth) return a.frame->depth > b.frame->depth;
  return a.pc < b.pc;
}

void remove_split(WarpState& warp, uint32_t index) {
  warp.splits[index] = warp.splits.back();
  warp.splits.pop_back();
  if (warp.current == warp.splits.size()) warp.current = index;
}

/// Merges splits that are ready at the same place into `keep`.
void merge_into(WarpState& warp, uint32_t keep) {
  for (uint32_t i = 0; i < warp.splits.size();) {
    Split& into = warp.splits[keep];
    Split& other = warp.splits[i];
    if (i == keep || other.wait != Wait::ready || other.pc != into.pc ||
        other.frame != into.frame) {
      ++i;
      continue;
    }
    into.mask |= other.mask;
    into.counted = into.counted && other.counted;
    --into.frame->references;
    if (keep == warp.splits.size() - 1) keep = i;
    remove_split(warp, i);
  }
  warp.current = keep;
}

/// Selects the split to run. False: none is ready.
bool choose(WarpState& warp) {
  const uint32_t n = static_cast<uint32_t>(warp.splits.size());
  uint32_t best = kNoIndex;
  if (warp.boost > 0 && warp.current < n && warp.splits[warp.current].wait == Wait::ready) {
    best = warp.current;
  } else {
    for (uint32_t i = 0; i < n; ++i) {
      if (warp.splits[i].wait != Wait::ready) continue;
      if (best == kNoIndex || runs_before(warp.splits[i], warp.splits[best])) best = i;
    }
  }
  if (best == kNoIndex) return false;
  merge_into(warp, best);
  return true;
}

/// A loop has run long while other splits wait: the one that has waited longest gets a turn.
bool give_turn(WarpState& warp) {
  uint32_t best = kNoIndex;
  for (uint32_t i = 0; i < warp.splits.size(); ++i) {
    if (i == warp.current || warp.splits[i].wait != Wait::ready) continue;
    if (best == kNoIndex || warp.splits[i].last_run < warp.splits[best].last_run) best = i;
  }
  if (best == kNoIndex) return false;
  warp.splits[warp.current].last_run = warp.steps;
  warp.current = best;
  warp.splits[best].last_run = warp.steps;
  warp.boost = kBoostJumps;
  return true;
}

/// The lanes of a .sync operation: true when all that it names are here.
bool converged(WarpState& warp, const Op& op, uint32_t active) {
  if (op.guard != 0) {
    uint32_t guard = warp.pred(op.guard);
    if ((op.flags & kGuardNegated) != 0) guard = ~guard;
    // Lanes that skip the operation cannot wait for it: whoever executes it goes on alone.
    if ((guard & active) != active) return true;
  }
  const uint32_t named = op.c == 0 ? kFullMask : warp.reg<uint32_t>(op.c)[first_lane(active)];
  if (((named & warp.alive()) & ~active) == 0 && (active & ~named) == 0 &&
      (op.c == 0 || (named & warp.exited) == 0))
    return true;
  return await_lanes(warp, op);
}

}  // namespace

// One function on purpose: its state (op, active) lives in registers.
template <bool kQuantum>
FIEL_INLINE RunEnd run_loop(WarpState& warp) {
  Executor& executor = *warp.executor;
  const Op* const ops = executor.ops;
  BlockCount* const counts = executor.counts.data();
  uint64_t* const guarded_off = executor.guarded_off.data();
  const OpMeta* const meta = executor.meta;
  uint32_t left = executor.quantum;
  uint32_t pc = 0, active = 0;
  const Op* op = nullptr;

select:
  if (warp.attention != 0) {
    const uint32_t why = warp.attention;
    warp.attention = 0;
    if ((why & kAttentionStop) != 0) return RunEnd::stopped;
    if ((why & kAttentionYield) != 0 && !warp.finished) return RunEnd::spinning;
  }
  if (warp.finished) return RunEnd::finished;
  if (!choose(warp)) {
    if (!resolve_stuck_warp(warp, false)) return RunEnd::blocked;
    goto select;
  }
  {
    Split& split = warp.splits[warp.current];
    pc = split.pc;
    active = split.mask;
    warp.active = active;
    warp.regs = split.frame->regs;
    op = ops + pc;
    if (!split.counted) {
      split.counted = true;
      BlockCount& count = counts[meta[pc].block];
      ++count.runs;
      count.lanes += static_cast<uint32_t>(__builtin_popcount(active));
    }
  }

run:
  for (;;) {
    if constexpr (kQuantum) {
      if (left-- == 0) {
        warp.splits[warp.current].pc = static_cast<uint32_t>(op - ops);
        return warp.spins != 0 ? RunEnd::spinning : RunEnd::yielded;
      }
    }
    const Handler handler = op->handler;
    if (handler == nullptr) break;
    uint32_t mask = active;
    if (op->guard != 0) {
      uint32_t guard = warp.pred(op->guard);
      if ((op->flags & kGuardNegated) != 0) guard = ~guard;
      mask &= guard;
      if (mask != active) {
        guarded_off[op - ops] += static_cast<uint32_t>(__builtin_popcount(active ^ mask));
        if (mask == 0) {
          ++op;
          continue;
        }
      }
    }
    handler(warp, *op, mask);
    ++op;
    if (warp.attention != 0) [[unlikely]] {
      warp.splits[warp.current].pc = static_cast<uint32_t>(op - ops);
      goto select;
    }
  }

  switch (static_cast<Control>(op->imm & 0xff)) {
    case Control::jump:
      pc = op->a;
      goto jump;
    case Control::branch: {
      uint32_t taken = warp.pred(op->guard);
      if ((op->flags & kGuardNegated) != 0) taken = ~taken;
      taken &= active;
      if (taken == active) {
        pc = op->a;
        goto jump;
      }
      if (taken == 0) {
        pc = op->b;
        goto jump;
      }
      ++executor.divergent[static_cast<size_t>(op - ops)];
      Split other = warp.splits[warp.current];
      other.mask = active & ~taken;
      other.pc = op->b;
      other.counted = false;
      ++other.frame->references;
      Split& split = warp.splits[warp.current];
      split.mask = taken;
      split.pc = op->a;
      split.counted = false;
      warp.splits.push_back(other);
      ++warp.steps;
      if (--executor.fuel < 0 && !refuel(warp, kPollJumps)) return RunEnd::stopped;
      goto select;
    }
    case Control::converge:
      if (converged(warp, *op, active)) [[likely]] {
        if (warp.executor->watch != 0) observe_warp_sync(warp, *op, active);
        ++op;
        active = warp.splits[warp.current].mask;  // lanes may have waited here and joined
        warp.active = active;
        goto run;
      }
      goto select;
    default:
      transfer(warp, *op);
      goto select;
  }

jump:
  ++warp.steps;
  if (--executor.fuel < 0 && !refuel(warp, kPollJumps)) {
    warp.splits[warp.current].pc = pc;
    return RunEnd::stopped;
  }
  if (pc <= static_cast<uint32_t>(op - ops)) {
    const bool sync = (op->imm & kBackwardSync) != 0;
    if (++warp.spins >= (sync ? kSpinJumps : kPatientJumps)) [[unlikely]] {
      warp.spins = 0;
      Split& split = warp.splits[warp.current];
      split.pc = pc;
      split.counted = false;
      if (!give_turn(warp)) {
        // Turns of a small quantum end before the loop jumps back again: they are spinning too, or
        // no other block would ever get a turn.
        warp.spins = kQuantum && sync ? 1 : 0;
        return sync ? RunEnd::spinning : RunEnd::yielded;
      }
      goto select;
    }
  }
  if (warp.splits.size() == 1) [[likely]] {
    op = ops + pc;
    BlockCount& count = counts[meta[pc].block];
    ++count.runs;
    count.lanes += static_cast<uint32_t>(__builtin_popcount(active));
    goto run;
  }
  {
    if (warp.boost > 0) --warp.boost;
    Split& split = warp.splits[warp.current];
    split.pc = pc;
    split.counted = false;
  }
  goto select;
}

RunEnd run_warp(WarpState& warp);
RunEnd run_warp(WarpState& warp) {
  return warp.executor->quantum == 0 ? run_loop<false>(warp) : run_loop<true>(warp);
}

}  // namespace fiel::vgpu::FIEL_ISA
