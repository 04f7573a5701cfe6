// All sides under the oracle's clock, interleaved, until the headline is known or the budget ends.
//
//   TimedSession session(course, contestants, {});
//   FIEL_TRY_STATUS(session.run());                      // fills sides and ratios; may decide
//   if (session.mode() != Mode{true, 64}) …
//
//   TimedSession alone(course, baselines, {.hold = true});
//   FIEL_TRY_STATUS(alone.run_alone(mode));              // trusted sides only: credits them
//
// Contestants stay loaded: another session may follow.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "judge/timing.h"
#include "judge/torch/contestants.h"

namespace fiel::judge::torch {

/// How calls are made: with another mode times are others.
struct TimedMode {
  bool held = false;
  uint32_t calls = 1;  ///< a sample
  bool operator==(const TimedMode&) const = default;
};

struct SessionPlan {
  uint32_t number = 0;           ///< of the judgement's sessions: each has inputs of its own
  bool hold = true;              ///< where the device and all sides can
  std::vector<TimedMode> known;  ///< not empty: end after the pilot where none of them will do
  Contestant* gauge = nullptr;   ///< judge/torch/gauge.h: timed beside the others, no side
};

/// The number of calls of a known held mode that serves where `wanted` are wanted: no fewer, and
/// not so many more that it would cost much.
std::optional<uint32_t> known_calls(const std::vector<TimedMode>& known, uint32_t wanted,
                                    uint32_t most);

class TimedSession {
 public:
  TimedSession(TorchCourse& course, std::vector<Contestant>& all, SessionPlan plan)
      : course_(course), all_(all), plan_(std::move(plan)) {}

  /// The kernel is the first of them.
  Status run();
  /// Baselines alone, in a mode of another session, or unheld where they cannot be held.
  Status run_alone(TimedMode mode);

  const Case& timed_case() const { return case_; }
  TimedMode mode() const { return mode_; }
  bool foreign_mode() const { return foreign_mode_; }  ///< ended after the pilot
  bool could_hold() const { return could_hold_; }      ///< found out by the pilot

 private:
  struct Entered {
    Contestant* side;
    Fd control;
    Json slots;
  };
  struct Slots {
    worker::LaidSlots laid;
    const worker::WindowHandle *in = nullptr, *out = nullptr;
  };
  Status begin();
  bool has_kernel() const { return !all_.empty() && !all_.front().trusted; }
  Status enter(Contestant& side);
  Result<Slots> lay_out(Contestant& side);
  uint32_t slots_of(uint64_t slot_bytes) const;
  worker::OpenClock opening() const;
  worker::ClockChunk chunk_of(uint32_t rounds, int64_t left_ms) const;
  Result<worker::TimedSamples> next_chunk(const worker::ClockChunk& chunk, int64_t budget_ms);
  Status chunks();
  Status rounds_alone(TimedMode mode);
  Result<bool> pilot(int64_t budget_ms);
  bool choose_calls(bool held);
  void forget_samples();
  void take(const worker::TimedSamples& reply);
  TimeSample sample_of(const worker::TimedSample& s, const Contestant& side) const;
  Gap baselines_gap() const;
  bool has_gauge() const;
  Gap kernel_gap() const;
  bool wrong_answers(const worker::TimedSamples& reply);
  void credit_all();
  void compute();
  bool control_known() const;
  bool narrow() const;
  void end_clock();
  void leave();

  TorchCourse& course_;
  std::vector<Contestant>& all_;
  SessionPlan plan_;
  Case case_;
  std::vector<Entered> entered_;
  uint64_t seed_ = 0, slot_bytes_ = 0;
  uint32_t slots_ = 4, calls_ = 1;
  std::optional<Json> clock_;  ///< once it is open
  std::optional<Slots> shared_;
  TimedMode mode_;
  bool foreign_mode_ = false, could_hold_ = false;
  uint64_t samples_ = 0, samples_verified_ = 0;
};

}  // namespace fiel::judge::torch
