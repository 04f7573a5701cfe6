#include "vgpu/scheduler.h"

#include <fmt/core.h>

#include "vgpu/isa/core_select.h"
#include "vgpu/isa/observe.h"
#include "vgpu/report_access.h"

namespace fiel::vgpu {
namespace {

int first_lane(uint32_t mask) { return __builtin_ctz(mask); }
uint32_t count_of(uint32_t mask) { return static_cast<uint32_t>(__builtin_popcount(mask)); }

uint32_t index_of(const Executor& executor, const Op& op) {
  return static_cast<uint32_t>(&op - executor.ops);
}

void drop_split(WarpState& warp, uint32_t index) {
  warp.splits[index] = warp.splits.back();
  warp.splits.pop_back();
  if (warp.current == warp.splits.size()) warp.current = index;
}

/// Takes in every split that waits in the same way at the same op as the current one.
void join_waiting(WarpState& warp, Wait wait) {
  for (uint32_t i = 0; i < warp.splits.size();) {
    Split& mine = warp.splits[warp.current];
    const Split& other = warp.splits[i];
    if (i == warp.current || other.wait != wait || other.pc != mine.pc ||
        other.frame != mine.frame) {
      ++i;
      continue;
    }
    mine.mask |= other.mask;
    --mine.frame->references;
    drop_split(warp, i);
  }
}

void write_reduction(WarpState& warp, const Split& split, const Op& op, const Barrier& barrier) {
  const auto reduction = static_cast<ptx::BoolOp>((op.imm >> kReductionShift) & 15);
  if (reduction == ptx::BoolOp::none || op.dst == 0) return;
  uint8_t* regs = split.frame->regs;
  if (reduction == ptx::BoolOp::popc) {
    auto* to = reinterpret_cast<uint32_t*>(regs + op.dst);
    for (uint32_t m = split.mask; m != 0; m &= m - 1) to[first_lane(m)] = barrier.popcount;
    return;
  }
  const bool value = reduction == ptx::BoolOp::and_ ? barrier.all : barrier.any;
  auto& to = *reinterpret_cast<uint32_t*>(regs + op.dst);
  to = value ? to | split.mask : to & ~split.mask;
  (void)warp;
}

void complete_barrier(Cta& cta, uint32_t id) {
  Barrier& barrier = cta.barriers[id];
  const Executor& executor = *cta.executor;
  ++cta.progress;
  WarpState* last = nullptr;
  for (WarpState& warp : cta.warps)
    for (const Split& split : warp.splits)
      if (split.wait == Wait::barrier && split.which == id) last = &warp;
  for (WarpState& warp : cta.warps) {
    uint32_t mask = 0;
    const Op* at = nullptr;
    for (Split& split : warp.splits) {
      if (split.wait != Wait::barrier || split.which != id) continue;
      const Op& op = executor.ops[split.pc];
      write_reduction(warp, split, op, barrier);
      at = &op;
      mask |= split.mask;
      split.wait = Wait::ready;
      split.pc = op.b;
      split.counted = false;
    }
    if (at != nullptr && executor.watch != 0) observe_barrier(warp, *at, id, mask, &warp == last);
  }
  barrier = Barrier{};
}

bool is_complete(const Cta& cta, const Barrier& barrier) {
  if (barrier.first_op == kNoIndex) return false;
  if (barrier.expected == 0) return barrier.waiting == cta.live_threads;
  return barrier.arrived >= barrier.expected;
}

/// A finding about a barrier's own arguments; the launch stops, as on a GPU.
void invalid_barrier(WarpState& warp, const Op& op, uint32_t mask, const std::string& why) {
  report_with_detail(warp, op, static_cast<uint8_t>(FindingKind::invalid_barrier), mask,
                     why.c_str());
  stop_faulted(warp);
}

/// The current split arrives with the lanes it has.
void arrive(WarpState& warp, const Op& op, bool waits) {
  Cta& cta = *warp.cta;
  Split& split = warp.splits[warp.current];
  const int lane = first_lane(split.mask);
  const uint32_t id = warp.reg<uint32_t>(op.c)[lane];
  const uint32_t count = op.d == 0 ? 0 : warp.reg<uint32_t>(op.d)[lane];
  if (id >= kBarriers)
    return invalid_barrier(warp, op, split.mask,
                           fmt::format("barrier {}: a block has barriers 0 to 15", id));
  if (op.d != 0 && (count == 0 || count % kLanes != 0))
    return invalid_barrier(
        warp, op, split.mask,
        fmt::format("barrier {}: a thread count of {} is not a positive multiple of 32", id,
                    count));
  Barrier& barrier = cta.barriers[id];
  if (barrier.first_op == kNoIndex) {
    barrier.first_op = index_of(*cta.executor, op);
    barrier.expected = count;
  } else if (barrier.expected != count) {
    return invalid_barrier(
        warp, op, split.mask,
        fmt::format("barrier {}: expects {} threads here, {} at the first arrival", id, count,
                    barrier.expected));
  }
  barrier.arrived +=
      (op.imm & kAligned) != 0 ? static_cast<uint32_t>(kLanes) : count_of(split.mask);
  if (op.dst2 != 0 &&
      static_cast<ptx::BoolOp>((op.imm >> kReductionShift) & 15) != ptx::BoolOp::none) {
    uint32_t source = warp.pred(op.dst2);
    if ((op.flags & kNegatedA) != 0) source = ~source;
    barrier.popcount += count_of(source & split.mask);
    barrier.any = barrier.any || (source & split.mask) != 0;
    barrier.all = barrier.all && (source & split.mask) == split.mask;
  }
  if (waits) {
    split.wait = Wait::barrier;
    split.which = id;
    barrier.waiting += count_of(split.mask);
  } else {
    if (cta.executor->watch != 0) observe_barrier(warp, op, id | kArriveOnly, split.mask, false);
    split.pc = op.b;
    split.counted = false;
  }
  if (is_complete(cta, barrier)) complete_barrier(cta, id);
}

void at_barrier(WarpState& warp, const Op& op) {
  Split& split = warp.splits[warp.current];
  split.pc = index_of(*warp.executor, op);
  const bool aligned = (op.imm & kAligned) != 0;
  if (!aligned || warp.alive() == split.mask) return arrive(warp, op, true);
  join_waiting(warp, Wait::parked);
  Split& mine = warp.splits[warp.current];
  if (warp.alive() == mine.mask) return arrive(warp, op, true);
  // The lanes that are missing may be on their way here, or only about to return: that is legal.
  mine.wait = Wait::parked;
  for (uint32_t i = 0; i < warp.splits.size(); ++i) {
    const Split& other = warp.splits[i];
    if (i == warp.current || other.wait == Wait::parked) continue;
    const Op& next = warp.executor->ops[other.pc];
    const bool leaves = other.wait == Wait::ready && next.handler == nullptr &&
                        static_cast<Control>(next.imm & 0xff) == Control::exit && next.guard == 0;
    if (!leaves) mine.suspect = true;
  }
}

void leave(WarpState& warp) {
  Split& split = warp.splits[warp.current];
  const uint32_t lanes = split.mask;
  Frame* frame = split.frame;
  drop_split(warp, warp.current);
  while (frame != nullptr && frame != &warp.entry_frame) {
    Frame* parent = frame->parent;
    if (--frame->references != 0) break;
    release_frame(warp, frame);
    frame = parent;
  }
  lanes_exited(warp, lanes);
}

void return_to_caller(WarpState& warp) {
  Split& split = warp.splits[warp.current];
  Frame* frame = split.frame;
  if (frame->parent == nullptr) return leave(warp);
  copy_results(warp, *frame, split.mask);
  split.pc = frame->return_pc;
  split.counted = false;
  split.frame = frame->parent;
  ++split.frame->references;
  if (--frame->references == 0) {
    --frame->parent->references;
    release_frame(warp, frame);
  }
}

void branch_by_table(WarpState& warp, const Op& op) {
  const uint32_t* list = warp.executor->extra + op.extra;
  const uint32_t n = list[0];
  const Split split = warp.splits[warp.current];
  const uint32_t* index = warp.reg<uint32_t>(op.c);
  uint32_t rest = split.mask, bad = 0;
  bool first = true;
  while (rest != 0) {
    const uint32_t value = index[first_lane(rest)];
    uint32_t same = 0;
    for (uint32_t m = rest; m != 0; m &= m - 1)
      if (index[first_lane(m)] == value) same |= 1u << first_lane(m);
    rest &= ~same;
    if (value >= n) {
      bad |= same;
      continue;
    }
    if (first) {
      Split& mine = warp.splits[warp.current];
      mine.mask = same;
      mine.pc = list[1 + value];
      mine.counted = false;
      first = false;
    } else {
      Split other = split;
      other.mask = same;
      other.pc = list[1 + value];
      other.counted = false;
      ++other.frame->references;
      warp.splits.push_back(other);
    }
  }
  if (warp.splits[warp.current].mask != split.mask)
    ++warp.executor->divergent[index_of(*warp.executor, op)];
  if (bad != 0) {
    report_with_detail(warp, op, static_cast<uint8_t>(FindingKind::bad_branch_index), bad,
                       fmt::format("index {} of a table of {}", index[first_lane(bad)], n).c_str());
    stop_faulted(warp);
  }
}

void call_function(WarpState& warp, const Op& op, uint32_t function) {
  Split& split = warp.splits[warp.current];
  Frame* frame = nullptr;
  if (!push_frame(warp, op, function, op.b, split.mask, frame)) return;
  split.frame = frame;
  split.pc = warp.executor->launch->program->functions[function].entry;
  split.counted = false;
}

void call_by_address(WarpState& warp, const Op& op) {
  const uint64_t* target = warp.reg<uint64_t>(op.c);
  Split& split = warp.splits[warp.current];
  const uint64_t address = target[first_lane(split.mask)];
  uint32_t same = 0;
  for (uint32_t m = split.mask; m != 0; m &= m - 1)
    if (target[first_lane(m)] == address) same |= 1u << first_lane(m);
  if (same != split.mask) {
    Split other = split;
    other.mask = split.mask & ~same;
    other.pc = index_of(*warp.executor, op);  // they call when their turn comes
    ++other.frame->references;
    split.mask = same;
    warp.splits.push_back(other);
    ++warp.executor->divergent[index_of(*warp.executor, op)];
  }
  const uint32_t function = function_at(*warp.executor, address);
  const Program& program = *warp.executor->launch->program;
  const uint32_t* list = warp.executor->extra + op.extra;
  if (function == kNoIndex || program.functions[function].is_entry ||
      program.functions[function].param_offsets.size() != list[0] ||
      program.functions[function].return_offsets.size() != list[1]) {
    report_with_detail(
        warp, op, static_cast<uint8_t>(FindingKind::bad_call_target), same,
        fmt::format("0x{:x} is not the address of a device function with {} parameters", address,
                    list[0])
            .c_str());
    stop_faulted(warp);
    return;
  }
  call_function(warp, op, function);
}

/// Lanes that the guard of a control op leaves out go on at op.b. False: nobody is left.
bool split_by_guard(WarpState& warp, const Op& op) {
  if (op.guard == 0) return true;
  Split& split = warp.splits[warp.current];
  uint32_t under = warp.pred(op.guard);
  if ((op.flags & kGuardNegated) != 0) under = ~under;
  under &= split.mask;
  if (under == 0) {
    split.pc = op.b;
    split.counted = false;
    return false;
  }
  if (under == split.mask) return true;
  Split other = split;
  other.mask = split.mask & ~under;
  other.pc = op.b;
  other.counted = false;
  ++other.frame->references;
  split.mask = under;
  warp.splits.push_back(other);
  return true;
}

uint32_t members_of(WarpState& warp, const Op& op, int lane) {
  return op.c == 0 ? ~0u : warp.reg<uint32_t>(op.c)[lane];
}

/// Member masks that leave their own lane out, or name exited lanes.
void report_members(WarpState& warp, const Op& op, uint32_t lanes) {
  const Op& user = *(&op + 1);  // the operation that the wait was made for
  uint32_t named = 0, outside = 0, wrong = 0;
  for (uint32_t m = lanes; m != 0; m &= m - 1) {
    const uint32_t lane = m & -m, members = members_of(warp, op, first_lane(m));
    named |= members;
    if ((members & lane) != 0) continue;
    if (outside == 0) wrong = members;
    outside |= lane;
  }
  if (outside != 0)
    report_with_detail(
        warp, user, static_cast<uint8_t>(FindingKind::bad_shuffle_mask), outside,
        fmt::format("the member mask 0x{:08x} lacks the lane itself", wrong).c_str());
  named |= lanes;
  if (op.c != 0 && (named & warp.exited) != 0)
    report_with_grade(warp, user, FindingKind::bad_shuffle_mask, Grade::warn, named & warp.exited,
                      fmt::format("the member mask 0x{:08x} names lanes that have exited: 0x{:08x}",
                                  named, named & warp.exited));
}

}  // namespace

void transfer(WarpState& warp, const Op& op) {
  ++warp.steps;
  warp.splits[warp.current].pc = index_of(*warp.executor, op);
  if (!split_by_guard(warp, op)) return;
  switch (static_cast<Control>(op.imm & 0xff)) {
    case Control::exit:
      return leave(warp);
    case Control::ret:
      return return_to_caller(warp);
    case Control::branch_table:
      return branch_by_table(warp, op);
    case Control::call:
      return call_function(warp, op, op.c);
    case Control::call_indirect:
      return call_by_address(warp, op);
    case Control::barrier:
      return at_barrier(warp, op);
    case Control::barrier_arrive:
      return arrive(warp, op, false);
    case Control::jump:
    case Control::branch:
    case Control::converge:
      break;
  }
}

void lanes_exited(WarpState& warp, uint32_t lanes) {
  Cta& cta = *warp.cta;
  warp.exited |= lanes;
  cta.live_threads -= count_of(lanes);
  ++cta.progress;
  if (warp.splits.empty()) {
    warp.finished = true;
    --cta.live_warps;
  }
  for (uint32_t id = 0; id < kBarriers; ++id) {
    const Barrier& barrier = cta.barriers[id];
    if (barrier.expected == 0 && is_complete(cta, barrier)) complete_barrier(cta, id);
  }
}

bool await_lanes(WarpState& warp, const Op& op) {
  warp.splits[warp.current].pc = index_of(*warp.executor, op);
  report_members(warp, op, warp.splits[warp.current].mask);
  join_waiting(warp, Wait::converge);
  Split& mine = warp.splits[warp.current];
  uint32_t complete = 0, needed = 0;
  for (uint32_t m = mine.mask; m != 0; m &= m - 1) {
    const uint32_t lane = m & -m, named = members_of(warp, op, first_lane(m)) | lane;
    needed |= named;
    if ((named & warp.alive() & ~mine.mask) == 0) complete |= lane;
  }
  if (complete == mine.mask) return true;
  if (complete == 0) {
    mine.wait = Wait::converge;
    mine.needed = needed;
    return false;
  }
  Split rest = mine;
  rest.mask &= ~complete;
  rest.wait = Wait::converge;
  rest.needed = needed;
  ++rest.frame->references;
  mine.mask = complete;
  warp.splits.push_back(rest);
  return true;
}

bool resolve_stuck_warp(WarpState& warp, bool even_behind_barrier) {
  uint32_t parked = kNoIndex, converge = kNoIndex;
  for (uint32_t i = 0; i < warp.splits.size(); ++i) {
    const Split& split = warp.splits[i];
    if (split.wait == Wait::barrier && !even_behind_barrier) return false;
    if (split.wait == Wait::parked && parked == kNoIndex) parked = i;
    if (split.wait == Wait::converge && converge == kNoIndex) converge = i;
  }
  if (converge != kNoIndex) {
    Split& split = warp.splits[converge];
    warp.current = converge;
    warp.regs = split.frame->regs;
    const Op& op = warp.executor->ops[split.pc];
    const uint32_t missing = split.needed & warp.alive() & ~split.mask;
    // Lanes of the mask may have left since this split began to wait.
    if (missing != 0 && (op.imm & kWarpBarrier) == 0)
      report_with_detail(
          warp, *(&op + 1), static_cast<uint8_t>(FindingKind::bad_shuffle_mask), split.mask,
          fmt::format("lanes 0x{:08x} of the member mask 0x{:08x} never come to this operation",
                      missing, split.needed)
              .c_str());
    split.wait = Wait::ready;
    // With nobody missing the wait itself is looked at again: it tells of exited lanes.
    if (missing != 0) ++split.pc;
    return true;
  }
  if (parked == kNoIndex) return false;
  warp.current = parked;
  Split& split = warp.splits[parked];
  warp.regs = split.frame->regs;
  const Op& op = warp.executor->ops[split.pc];
  if (split.suspect || warp.splits.size() > 1)
    report_with_detail(
        warp, op, static_cast<uint8_t>(FindingKind::divergent_barrier), split.mask,
        fmt::format("only lanes 0x{:08x} of warp {} come to this barrier (0x{:08x} exist)",
                    split.mask, warp.index, warp.lanes)
            .c_str());
  split.suspect = false;
  split.wait = Wait::ready;
  arrive(warp, op, true);
  return true;
}

}  // namespace fiel::vgpu
