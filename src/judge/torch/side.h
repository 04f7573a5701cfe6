// One implementation under judgement or beside it: a kernel or a baseline, whatever runs it.
//
//   Answer<worker::CopiedWeights> given = side.take(weights);
//   Answer<Called> called = side.call(input, options);      // outputs lie in the input's window
//   side.enter_clock(slots); …oracle.time(…)…; side.leave_clock(10'000);
//
// Implemented by RunnerSide (a module in a Python worker) and BareSide (a .cu on a device of ours).
// What comes from a candidate's own process is a claim, for the oracle and the clock to confirm.
#pragma once

#include <optional>
#include <vector>

#include "judge/measurement.h"
#include "judge/rig.h"
#include "judge/torch/oracle_side.h"

namespace fiel::judge::torch {

struct Called {
  worker::CalledModule answer;
  Call seen;  ///< of a bare kernel: what its device saw; a fault or a refusal leaves no answer
};

/// Where a side's timed calls lie, and the page on which it is asked for them.
struct ClockSlots {
  const worker::WindowHandle *in = nullptr, *out = nullptr;
  Json layout;
  int page = -1;       ///< a descriptor; stays the caller's
  bool graph = false;  ///< forward is captured once and replayed
  int64_t call_timeout_ms = 60'000;
};

class Side {
 public:
  virtual ~Side() = default;
  virtual worker::Answer<worker::CopiedWeights> take(const OracleSide::WeightsAt& weights) = 0;
  virtual worker::Answer<Called> call(const Input& input, const CallOptions& options) = 0;
  /// Maps the input's windows: a call does it where this was not asked for.
  virtual worker::Answer<void> reach(const Input& input) = 0;
  /// What its first call would compile, without the device: others may be timed there.
  virtual worker::Answer<void> build(const Input&) { return {}; }
  virtual void forget(int64_t window) = 0;  ///< the oracle has dropped it
  virtual void spoil() {}                   ///< what failed once serves nobody else
  /// One more request to the candidate's process: replies that it wrote ahead are seen with it.
  virtual worker::Answer<void> confirm() { return {}; }
  /// Buffers as the latest call left them, written into the region.
  virtual worker::Answer<Json> state(const worker::WindowHandle& window, worker::Region region) = 0;

  /// It writes timed outputs in place: they have to be contiguous.
  virtual bool writes_in_place() const { return false; }
  /// A process of ours calls the kernel: its host times are measured, not claimed.
  virtual bool host_is_ours() const { return false; }
  virtual worker::Answer<void> enter_clock(const ClockSlots& slots) = 0;
  virtual void attend_clock() {}  ///< now and then while the oracle's `time` runs
  virtual void leave_clock(int64_t timeout_ms) = 0;

  virtual std::optional<worker::ModuleMemory> memory(bool reset) = 0;  ///< reset: new peaks
  virtual LaunchedKernels kernels(const Input& input) = 0;
};

}  // namespace fiel::judge::torch
