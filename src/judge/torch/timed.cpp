#include "judge/torch/timed.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "judge/course.h"
#include "judge/probe_inputs.h"
#include "judge/timing.h"
#include "judge/torch/accounts.h"
#include "judge/torch/contestants.h"
#include "worker/frame_io.h"

namespace fiel::judge::torch {
namespace {

constexpr size_t kControlBytes = 4096;
constexpr uint32_t kSlotsOnCpu = 4, kPilotRounds = 6;
/// Inputs and outputs of all slots of a side; a small GPU gives a share.
constexpr uint64_t kSlotsBytes = 1ull << 30, kSlotsShareOfMemory = 32;
/// Of a control's ratio: half of what "same" allows.
constexpr double kControlHalfWidth = 0.005;
/// About what a launch takes of the host in PyTorch (6 to 8 us measured): tells how many a call
/// has.
constexpr double kHostLaunchNs = 6e3;

Result<Fd> control_page() {
  Fd fd(::memfd_create("fiel-control", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd || ::ftruncate(fd.get(), kControlBytes) != 0)
    return fail(ErrorCode::io, "no memory for a control page");
  return fd;
}

class Session {
 public:
  Session(TorchCourse& course, std::vector<Contestant>& all) : course_(course), all_(all) {}

  Status run();
  const Case& timed_case() const { return case_; }

 private:
  struct Entered {
    Contestant* side;
    Fd control;
    Json slots;
  };
  Status enter(Contestant& side);
  struct Slots {
    worker::LaidSlots laid;
    const worker::WindowHandle *in = nullptr, *out = nullptr;
  };
  Result<Slots> lay_out(Contestant& side);
  uint32_t slots_of(uint64_t slot_bytes) const;
  worker::OpenClock opening() const;
  worker::ClockChunk chunk_of(uint32_t rounds, int64_t left_ms) const;
  Result<worker::TimedSamples> next_chunk(const worker::ClockChunk& chunk, int64_t budget_ms);
  Status chunks();
  Result<bool> pilot(int64_t budget_ms);
  void forget_samples();
  void take(const worker::TimedSamples& reply);
  bool wrong_answers(const worker::TimedSamples& reply);
  void compute();
  bool control_known() const;
  void leave();

  TorchCourse& course_;
  std::vector<Contestant>& all_;
  Case case_;
  std::vector<Entered> entered_;
  uint64_t slot_bytes_ = 0;
  uint32_t slots_ = kSlotsOnCpu, calls_ = 1;
  std::optional<Json> clock_;  ///< once it is open
  std::optional<Slots> shared_;
};

uint32_t Session::slots_of(uint64_t slot_bytes) const {
  const worker::TorchFacts& machine = course_.oracle().machine();
  if (machine.device_uuid.empty()) return kSlotsOnCpu;
  const uint64_t room = std::min(kSlotsBytes, machine.memory_bytes / kSlotsShareOfMemory);
  const uint64_t most = room / std::max<uint64_t>(slot_bytes, 1);
  return static_cast<uint32_t>(std::clamp<uint64_t>(most, 2, uint64_t{2} * kMostCalls));
}

/// Trusted sides have one set for all: they answer one after the other, and nobody of them lies.
Result<Session::Slots> Session::lay_out(Contestant& side) {
  if (side.trusted && shared_) return *shared_;
  const std::string owner = side.trusted ? kSharedSlots : side.windows;
  worker::TorchOracle& oracle = course_.oracle().oracle();
  worker::SlotsRequest wish{.case_id = case_.prepared.id, .count = 1};
  wish.packed = side.runner->writes_in_place();
  const auto one = oracle.slots(wish);
  if (!one) return fail(error_of(one.error()).with_context("slots of timed calls"));
  slot_bytes_ = one->inputs_bytes + one->outputs_bytes;
  wish.count = slots_ = slots_of(slot_bytes_);
  const auto sizes = oracle.slots(wish);
  if (!sizes) return fail(error_of(sizes.error()).with_context("slots of timed calls"));
  FIEL_TRY(const auto* in, course_.oracle().window(owner, Use::timed_inputs, sizes->inputs_bytes));
  FIEL_TRY(const auto* out,
           course_.oracle().window(owner, Use::timed_outputs, sizes->outputs_bytes));
  wish.inputs_window = in->id;
  wish.outputs_window = out->id;
  auto laid = oracle.slots(wish);
  if (!laid) return fail(error_of(laid.error()).with_context("slots of timed calls"));
  Slots slots{std::move(*laid), in, out};
  if (side.trusted) shared_ = slots;
  return slots;
}

Status Session::enter(Contestant& side) {
  FIEL_TRY(const OracleSide::WeightsAt weights, course_.oracle().weights(case_, side.windows));
  if (weights.any)
    if (const auto taken = side.runner->take(weights); !taken) side.drop(taken.error());
  if (!side.present()) return {};
  auto laid = lay_out(side);
  if (!laid && side.trusted && is_out_of_memory(laid.error())) {
    side.drop("no room beside the others: " + laid.error().what);
    side.out_of_memory = true;
    return {};
  }
  FIEL_TRY(const Slots slots, std::move(laid));
  FIEL_TRY(Fd control, control_page());
  const ClockSlots entry{slots.in,
                         slots.out,
                         slots.laid.layout,
                         control.get(),
                         course_.request().timing == Timing::graph,
                         course_.request().options.call_timeout_ms};
  if (const auto entered = side.runner->enter_clock(entry); !entered) {
    side.drop(entered.error());
    return {};
  }
  entered_.push_back({&side, std::move(control), slots.laid.id});
  return {};
}

worker::OpenClock Session::opening() const {
  worker::OpenClock clock;
  clock.case_id = case_.prepared.id;
  clock.cold = course_.request().timing != Timing::warm;
  for (size_t i = 0; i < entered_.size(); ++i)
    clock.runners.push_back({entered_[i].slots, static_cast<int>(i), entered_[i].side->trusted});
  clock.seed = derive_seed(course_.request().options.seed, 4242) >> 1;
  clock.call_timeout_ms = course_.request().options.call_timeout_ms;
  clock.entry_timeout_ms = 120'000;
  return clock;
}

worker::ClockChunk Session::chunk_of(uint32_t rounds, int64_t left_ms) const {
  worker::ClockChunk chunk;
  chunk.rounds = rounds;
  chunk.budget_ms = std::max<int64_t>(left_ms, 1'000);
  chunk.calls = calls_;
  chunk.held = !course_.oracle().machine().device_uuid.empty();
  chunk.lowest = fiel::name_of(lowest_class(course_.request().options.numerics));
  chunk.leave = false;
  return chunk;
}

Result<worker::TimedSamples> Session::next_chunk(const worker::ClockChunk& chunk,
                                                 int64_t budget_ms) {
  worker::TorchOracle& oracle = course_.oracle().oracle();
  worker::AskOptions options;
  options.timeout_ms = budget_ms + 600'000;
  options.meanwhile = [this] {
    for (const Entered& e : entered_)
      if (e.side->present()) e.side->runner->attend_clock();
  };
  if (!clock_)
    for (const Entered& e : entered_) options.descriptors.push_back(e.control.get());
  auto reply =
      clock_ ? oracle.time_on(*clock_, chunk, options) : oracle.time(opening(), chunk, options);
  if (!reply) return fail(error_of(reply.error()).with_context("timing"));
  clock_ = reply->clock;
  return std::move(*reply);
}

void Session::forget_samples() {
  for (Entered& e : entered_) e.side->side.samples.clear();
}

void Session::take(const worker::TimedSamples& reply) {
  Measurement& m = *course_.verdict().measurement;
  const TimedSide& first = entered_.front().side->side;
  // Samples of another kind cannot be compared with these.
  if (first.calls_a_sample != reply.calls || first.held != reply.held) forget_samples();
  for (Entered& e : entered_) {
    e.side->side.calls_a_sample = reply.calls;
    e.side->side.held = reply.held;
    e.side->side.cold = course_.request().timing != Timing::warm;
    e.side->side.graph = course_.request().timing == Timing::graph;
  }
  for (const worker::TimedSample& s : reply.samples) {
    const size_t at = static_cast<size_t>(s.runner);
    if (s.runner < 0 || at >= entered_.size() || s.wall_ns <= 0) continue;
    ++m.samples;
    m.samples_verified += s.verified ? 1 : 0;
    if (s.failed) continue;
    TimeSample t;
    t.round = static_cast<uint32_t>(std::max(s.round, 0));
    t.wall_ns = s.wall_ns;
    t.device_ns = s.device_ns;
    t.host_ns = s.host_ns;
    t.tail_ns = s.tail_ns;
    t.sm_clock_mhz = static_cast<uint32_t>(std::max(s.sm_clock_mhz, 0.0));
    t.power_mw = static_cast<uint32_t>(std::max(s.power_mw, 0.0));
    t.throttle = worker::read_count(s.throttle);
    t.verified = s.verified;
    entered_[at].side->side.samples.push_back(t);
  }
}

std::string late_reason(const worker::Verified& seen) {
  if (seen.changed_after_done) return "a timed call's outputs changed after it was done";
  return "a timed call said that it was done before its outputs were there";
}

/// A timed answer of the kernel that is wrong, or a loop that it left.
bool Session::wrong_answers(const worker::TimedSamples& reply) {
  for (size_t i = 0; i < reply.failures.size(); ++i) {
    const worker::Verified& seen = reply.failures[i];
    if (!seen.call || seen.call->runner != 0) continue;
    Case c = case_;
    c.probe = Probe::timed_calls;
    const AnswerContext at{course_.request().options.numerics, seen.call->call, kGivenShapes};
    JudgedAnswer a = judge_answer(seen, c, {}, at);
    for (FindingRecord& f : a.findings) course_.note(std::move(f));
    Verdict& v = course_.verdict();
    v.witness = a.witness ? std::move(*a.witness) : Witness{};
    v.witness->probe = Probe::timed_calls;
    v.witness->shape_set = kGivenShapes;
    course_.decide(VerdictStatus::incorrect,
                   a.reason.empty() ? late_reason(seen) : "in a timed call: " + a.reason);
    return true;
  }
  if (reply.runners.empty() || !reply.runners[0].ended) return false;
  if (course_.request().timing == Timing::graph) {
    // What cannot be captured is no wrong kernel: without graphs it may run well.
    course_.verdict().measurement->why = "not timed as a graph: " + *reply.runners[0].ended;
    return true;
  }
  course_.decide(VerdictStatus::runtime_error,
                 "it left the timed calls: " + *reply.runners[0].ended);
  return true;
}

/// A few single calls, for how many a sample shall have. False where they decide the verdict.
Result<bool> Session::pilot(int64_t budget_ms) {
  FIEL_TRY(const auto reply, next_chunk(chunk_of(kPilotRounds, budget_ms), budget_ms));
  take(reply);
  if (wrong_answers(reply)) return false;
  if (!reply.held) return true;
  compute();
  std::vector<const TimedSide*> trusted;
  double shortest_ns = 0, host_ns = 0;
  for (const Entered& e : entered_) {
    const TimedSide& side = e.side->side;
    if (e.side->trusted) trusted.push_back(&side);
    if (side.median_ns > 0 && (shortest_ns == 0 || side.median_ns < shortest_ns))
      shortest_ns = side.median_ns;
    host_ns = std::max(host_ns, side.host_median_ns);
  }
  BatchLimits limits;
  limits.launches = static_cast<uint32_t>(std::clamp(host_ns / kHostLaunchNs, 1.0, 1e6));
  limits.slot_bytes = slot_bytes_;
  limits.window_bytes = slot_bytes_ * slots_;
  calls_ = calls_for(shortest_ns, gap_of(trusted).slack_ns, most_calls(limits));
  return true;
}

Status Session::chunks() {
  const int64_t budget = course_.request().time_budget_ms;
  const int64_t begin = worker::monotonic_ns();
  const auto spent_ms = [begin] { return (worker::monotonic_ns() - begin) / 1'000'000; };
  FIEL_TRY_STATUS(course_.poll("timing"));
  FIEL_TRY(const bool right, pilot(budget));
  forget_samples();
  uint32_t rounds = 0;
  for (int look = 0; right && look < kMaxLooks; ++look) {
    FIEL_TRY_STATUS(course_.poll(fmt::format("timing, {} rounds", next_rounds(rounds))));
    const uint32_t goal = next_rounds(rounds);
    FIEL_TRY(const auto reply, next_chunk(chunk_of(goal - rounds, budget - spent_ms()), budget));
    take(reply);
    if (wrong_answers(reply)) break;
    rounds = goal;
    compute();
    const Measurement& m = *course_.verdict().measurement;
    const bool known = m.headline && settled(m.ratios[*m.headline]);
    if ((known && control_known()) || spent_ms() >= budget) break;
  }
  worker::ClockChunk last = chunk_of(0, 0);
  last.leave = true;
  (void)next_chunk(last, 0);
  return {};
}

/// Credits every side and compares the kernel with each baseline.
void Session::compute() {
  Measurement& m = *course_.verdict().measurement;
  std::vector<const TimedSide*> trusted;
  for (const Contestant& c : all_)
    if (c.trusted && c.present()) trusted.push_back(&c.side);
  const Gap gap = gap_of(trusted);
  m.sides.clear();
  m.ratios.clear();
  for (Contestant& c : all_) {
    credit(c.side, gap, c.trusted ? Trust::trusted : Trust::hostile);
    m.sides.push_back(c.side);
    if (&c == &all_.front() || !c.present()) continue;
    Ratio r = ratio_of(all_.front().side, c.side);
    r.comparable = comparable(all_.front().errors, c.errors);
    m.ratios.push_back(r);
  }
  choose_headline(m);
}

/// The reference against itself says how well this clock tells equal programs apart: that ratio is
/// wanted, whichever baseline is the fastest.
bool Session::control_known() const {
  if (!course_.request().kernel_path.empty()) return true;
  for (const Ratio& r : course_.verdict().measurement->ratios)
    if (r.against == "eager" && r.policy == "default")
      return (r.high - r.low) / 2 <= kControlHalfWidth;
  return true;
}

void Session::leave() {
  for (Entered& e : entered_)
    if (e.side->present()) e.side->runner->leave_clock();
}

Status Session::run() {
  const uint64_t seed = derive_seed(course_.request().options.seed, 4241);
  FIEL_TRY(case_, course_.oracle().prepare(Probe::task_inputs, 0, seed, derive_seed(seed, 7)));
  if (case_.prepared.dropped) {
    course_.verdict().measurement->why = "no inputs to time: " + *case_.prepared.dropped;
    return {};
  }
  for (Contestant& c : all_)
    if (c.present()) FIEL_TRY_STATUS(enter(c));
  if (entered_.empty() || entered_.front().side != &all_.front()) {
    course_.verdict().measurement->why = "the kernel could not be put under the clock";
    return {};
  }
  const Status done = chunks();
  leave();
  return done;
}

/// Calibrated once a device and driver; nothing on the CPU.
std::optional<Calibration> calibration_for(TorchCourse& course) {
  const worker::TorchFacts& m = course.oracle().machine();
  if (m.device_uuid.empty()) return std::nullopt;
  if (auto known = load_calibration(cache_dir(), m.device_uuid, m.driver)) return known;
  const auto figures = course.oracle().oracle().measure();
  if (!figures) return std::nullopt;
  const Calibration fresh = parse_calibration(*figures);
  (void)save_calibration(cache_dir(), m.device_uuid, m.driver, fresh);
  return fresh;
}

void judge_track(TorchCourse& course) {
  Verdict& v = course.verdict();
  const Track track = course.request().track;
  const auto why = track_violation(v.measurement->kernels, track);
  if (!why || course.decided()) return;
  const JudgeFinding kind =
      track == Track::own ? JudgeFinding::library_kernels : JudgeFinding::own_kernels;
  course.note(
      finding(kind, vgpu::Grade::error, *why, Probe::timed_calls, kGivenShapes, v.resources.calls));
  course.decide(VerdictStatus::policy_violation, *why);
}

void judge_floor(TorchCourse& course, const std::optional<Calibration>& calibration) {
  Verdict& v = course.verdict();
  Measurement& m = *v.measurement;
  if (!calibration || m.sides.empty() || !v.numerics) return;
  const worker::FloorFacts& f = course.oracle().task().floor;
  m.floor = floor_of({f.bytes, f.fp32, f.tf32able, f.fp16, f.bf16}, *calibration, *v.numerics,
                     m.sides.front().median_ns);
  const std::string why = impossible_time(m);
  if (why.empty() || course.decided()) return;
  course.note(finding(JudgeFinding::below_floor, vgpu::Grade::error, why, Probe::timed_calls,
                      kGivenShapes, v.resources.calls));
  course.decide(VerdictStatus::timing_invalid, why);
}

}  // namespace

Status measure(TorchCourse& course, std::vector<Contestant> baselines) {
  Verdict& v = course.verdict();
  v.measurement = Measurement{};
  v.measurement->memory.setup_ms = course.setup_ms();
  GpuTurn& turn = course.oracle().turn();
  turn.end();
  FIEL_TRY_STATUS(course.poll("loading the baselines"));
  std::vector<Contestant> all = assemble(course, std::move(baselines));
  FIEL_TRY_STATUS(turn.take(Share::shared));
  FIEL_TRY_STATUS(compare_accuracy(course, all));
  FIEL_TRY_STATUS(turn.take(Share::exclusive));
  const std::optional<Calibration> calibration = calibration_for(course);
  Session session(course, all);
  const Status timed = session.run();
  for (const Contestant& c : all)
    if (c.out_of_memory) course.lacked_memory();
  FIEL_TRY_STATUS(timed);
  constexpr Use kTimed[] = {Use::timed_inputs, Use::timed_outputs};
  drop_windows(course, all, kTimed);
  judge_floor(course, calibration);
  if (!course.decided() && !session.timed_case().prepared.dropped)
    FIEL_TRY_STATUS(record_accounts(course, all, session.timed_case()));
  judge_track(course);
  Measurement& m = *v.measurement;
  if (!m.sides.empty() && !m.sides.front().events_believed)
    course.note(finding(JudgeFinding::events_disbelieved, vgpu::Grade::warn,
                        "the claimed device times are less than the judge's clock allows",
                        Probe::timed_calls, kGivenShapes, v.resources.calls));
  if (course.decided()) m.speed = SpeedDecision::not_measured;
  if (course.decided()) m.reward = -1;
  v.speed = std::string(judge::name_of(m.speed));
  return {};
}

}  // namespace fiel::judge::torch
