// What happens between instructions: barriers, waiting, ends of warps and blocks, polling.
//
// The run loop (isa/executor.cpp) calls these when a split arrives, leaves or gets stuck. One
// worker runs a block, so nothing here locks except poll().
#pragma once

#include <cstdint>

#include "vgpu/executor.h"

namespace fiel::vgpu {

/// The lanes have returned from the kernel; the current split is already gone.
void lanes_exited(WarpState& warp, uint32_t lanes);

/// No split of the warp is ready. Lets those go on that wait for lanes of this warp which can no
/// longer come (with a finding); true when some split is ready now.
bool resolve_stuck_warp(WarpState& warp, bool even_behind_barrier);

/// The current split is at a .sync op that names lanes which are not with it (or names exited
/// ones, or not itself: findings). True: it can go on now, perhaps with lanes that had waited, or
/// without some of its own. Lanes may carry different member masks (tiles of one warp): each set of
/// equal ones is an operation of its own, and goes on once all of it has come.
bool await_lanes(WarpState& warp, const Op& op);

/// Executes a control op other than jump, branch and converge, for the current split. Afterwards
/// the split has a new pc, waits, or is gone.
void transfer(WarpState& warp, const Op& op);

/// Every few thousand jumps: cancellation, budget, faults of earlier blocks. False: stop.
bool poll(Executor& executor);

/// Enters `function`: a new frame for the current split's lanes. False: the stack is full.
bool push_frame(WarpState& warp, const Op& op, uint32_t function, uint32_t return_pc, uint32_t mask,
                Frame*& frame);
/// Copies results to the caller of `frame`; the lanes go on in its parent.
void copy_results(WarpState& warp, const Frame& frame, uint32_t mask);
void release_frame(WarpState& warp, Frame* frame);
/// Function index of a code address, or kNoIndex.
uint32_t function_at(const Executor& executor, uint64_t address);

inline bool refuel(WarpState& warp, int64_t jumps) {
  warp.executor->fuel = jumps;
  return poll(*warp.executor);
}

}  // namespace fiel::vgpu
