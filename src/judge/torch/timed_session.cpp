#include "judge/torch/timed_session.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>

#include "judge/course.h"
#include "judge/probe_inputs.h"
#include "judge/time_limit.h"
#include "judge/timing.h"
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
/// Baselines alone get 48 rounds and a quarter of the budget at most.
constexpr int kLooksAlone = 3;
constexpr int64_t kShareOfBudgetAlone = 4;
/// Twice what is wanted, in powers of two: more would lengthen every sample.
constexpr uint32_t kDearerAtMost = 4;
constexpr int64_t kLeaveTimeoutMs = 10'000;

/// Sealed before anybody has it: a runner that sealed it first, in its own way, would leave the
/// oracle without a page.
Result<Fd> control_page() {
  Fd fd(::memfd_create("fiel-control", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd || ::ftruncate(fd.get(), kControlBytes) != 0 ||
      ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return fail(ErrorCode::io, "no memory for a control page");
  return fd;
}

std::string late_reason(const worker::Verified& seen) {
  if (seen.changed_after_done) return "a timed call's outputs changed after it was done";
  return "a timed call said that it was done before its outputs were there";
}

}  // namespace

uint32_t TimedSession::slots_of(uint64_t slot_bytes) const {
  const worker::TorchFacts& machine = course_.oracle().machine();
  if (machine.device_uuid.empty()) return kSlotsOnCpu;
  const uint64_t room = std::min(kSlotsBytes, machine.memory_bytes / kSlotsShareOfMemory);
  const uint64_t most = room / std::max<uint64_t>(slot_bytes, 1);
  return static_cast<uint32_t>(std::clamp<uint64_t>(most, 2, uint64_t{2} * kMostCalls));
}

/// Trusted sides have one set for all: they answer one after the other, and nobody of them lies.
Result<TimedSession::Slots> TimedSession::lay_out(Contestant& side) {
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

Status TimedSession::enter(Contestant& side) {
  if (!side.is_gauge) {
    FIEL_TRY(const OracleSide::WeightsAt weights, course_.oracle().weights(case_, side.windows));
    if (weights.any)
      if (const auto taken = side.runner->take(weights); !taken) side.drop(taken.error());
  }
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

worker::OpenClock TimedSession::opening() const {
  worker::OpenClock clock;
  clock.case_id = case_.prepared.id;
  clock.cold = course_.request().timing != Timing::warm;
  for (size_t i = 0; i < entered_.size(); ++i)
    clock.runners.push_back({entered_[i].slots, static_cast<int>(i), entered_[i].side->trusted,
                             entered_[i].side->is_gauge});
  clock.seed = derive_seed(seed_, 4242) >> 1;
  clock.call_timeout_ms = course_.request().options.call_timeout_ms;
  clock.entry_timeout_ms = 120'000;
  return clock;
}

worker::ClockChunk TimedSession::chunk_of(uint32_t rounds, int64_t left_ms) const {
  worker::ClockChunk chunk;
  chunk.rounds = rounds;
  // What is there when the judgement's time is over counts; what would come later is lost.
  chunk.budget_ms = within_limit(course_.request().options, std::max<int64_t>(left_ms, 1'000));
  chunk.calls = calls_;
  chunk.held = plan_.hold && !course_.oracle().machine().device_uuid.empty();
  chunk.lowest = fiel::name_of(lowest_class(course_.request().options.numerics));
  chunk.leave = false;
  return chunk;
}

Result<worker::TimedSamples> TimedSession::next_chunk(const worker::ClockChunk& chunk,
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

void TimedSession::forget_samples() {
  for (Contestant& c : all_) c.side.samples.clear();
  if (plan_.gauge != nullptr) plan_.gauge->side.samples.clear();
}

void TimedSession::take(const worker::TimedSamples& reply) {
  const TimedSide& first = entered_.front().side->side;
  // Samples of another kind cannot be compared with these.
  if (first.calls_a_sample != reply.calls || first.held != reply.held) forget_samples();
  mode_ = {reply.held, reply.calls};
  for (Entered& e : entered_) {
    e.side->side.calls_a_sample = reply.calls;
    e.side->side.held = reply.held;
    e.side->side.cold = course_.request().timing != Timing::warm;
    e.side->side.graph = course_.request().timing == Timing::graph;
  }
  for (const worker::TimedSample& s : reply.samples) {
    const size_t at = static_cast<size_t>(s.runner);
    if (s.runner < 0 || at >= entered_.size() || s.wall_ns <= 0) continue;
    ++samples_;
    samples_verified_ += s.verified ? 1 : 0;
    if (s.failed) continue;
    entered_[at].side->side.samples.push_back(sample_of(s, *entered_[at].side));
  }
}

TimeSample TimedSession::sample_of(const worker::TimedSample& s, const Contestant& side) const {
  TimeSample t;
  t.round = static_cast<uint32_t>(std::max(s.round, 0));
  t.wall_ns = s.wall_ns;
  t.device_ns = s.device_ns;
  t.host_ns = s.host_ns;
  t.lead_ns = side.present() && side.runner->host_is_ours() ? s.lead_ns : 0;
  t.tail_ns = s.tail_ns;
  t.sm_clock_mhz = static_cast<uint32_t>(std::max(s.sm_clock_mhz, 0.0));
  t.power_mw = static_cast<uint32_t>(std::max(s.power_mw, 0.0));
  t.throttle = worker::read_count(s.throttle);
  t.verified = s.verified;
  return t;
}

/// A timed answer of the kernel that is wrong, or a loop that it left.
bool TimedSession::wrong_answers(const worker::TimedSamples& reply) {
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

/// Calls a sample from single calls; a power of two, so that another judgement of the task comes to
/// the same number. False where the times that are known are of none that would do.
bool TimedSession::choose_calls(bool held) {
  const auto is_known = [this](TimedMode mode) {
    return plan_.known.empty() ||
           std::find(plan_.known.begin(), plan_.known.end(), mode) != plan_.known.end();
  };
  if (!held) return is_known({false, 1});
  credit_all();
  double shortest_ns = 0, host_ns = 0;
  for (const Entered& e : entered_) {
    const TimedSide& side = e.side->side;
    if (e.side->is_gauge) continue;
    if (side.median_ns > 0 && (shortest_ns == 0 || side.median_ns < shortest_ns))
      shortest_ns = side.median_ns;
    host_ns = std::max(host_ns, side.host_median_ns);
  }
  BatchLimits limits;
  limits.launches = static_cast<uint32_t>(std::clamp(host_ns / kHostLaunchNs, 1.0, 1e6));
  limits.slot_bytes = slot_bytes_;
  limits.window_bytes = slot_bytes_ * slots_;
  const uint32_t most = most_calls(limits);
  const uint32_t wanted = calls_for(shortest_ns, kernel_gap().slack_ns, most);
  calls_ = std::min(std::bit_ceil(wanted), most);
  if (plan_.known.empty()) return true;
  const auto known = known_calls(plan_.known, wanted, most);
  calls_ = known.value_or(calls_);
  return known.has_value();
}

/// A few single calls, for how many a sample shall have. False where nothing is to follow.
Result<bool> TimedSession::pilot(int64_t budget_ms) {
  FIEL_TRY(const auto reply, next_chunk(chunk_of(kPilotRounds, budget_ms), budget_ms));
  take(reply);
  could_hold_ = reply.held;
  if (has_kernel() && wrong_answers(reply)) return false;
  foreign_mode_ = !choose_calls(reply.held);
  return !foreign_mode_;
}

void TimedSession::end_clock() {
  worker::ClockChunk last = chunk_of(0, 0);
  last.leave = true;
  (void)next_chunk(last, 0);
}

Status TimedSession::chunks() {
  const int64_t budget = course_.request().time_budget_ms;
  const int64_t begin = worker::monotonic_ns();
  const auto spent_ms = [begin] { return (worker::monotonic_ns() - begin) / 1'000'000; };
  FIEL_TRY_STATUS(course_.poll("timing"));
  FIEL_TRY(const bool go_on, pilot(budget));
  forget_samples();
  uint32_t rounds = 0;
  for (int look = 0; go_on && look < kMaxLooks; ++look) {
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
  end_clock();
  return {};
}

/// Until every interval is narrow.
Status TimedSession::rounds_alone(TimedMode mode) {
  const int64_t budget = course_.request().time_budget_ms / kShareOfBudgetAlone;
  const int64_t begin = worker::monotonic_ns();
  const auto spent_ms = [begin] { return (worker::monotonic_ns() - begin) / 1'000'000; };
  FIEL_TRY_STATUS(course_.poll("timing the baselines alone"));
  FIEL_TRY(const bool ready, pilot(budget));
  forget_samples();
  plan_.hold = mode.held;
  calls_ = mode.calls;
  uint32_t rounds = 0;
  for (int look = 0; ready && look < kLooksAlone; ++look) {
    const uint32_t goal = next_rounds(rounds);
    FIEL_TRY(const auto reply, next_chunk(chunk_of(goal - rounds, budget - spent_ms()), budget));
    take(reply);
    rounds = goal;
    credit_all();
    if (narrow() || spent_ms() >= budget) break;
  }
  end_clock();
  return {};
}

bool TimedSession::narrow() const {
  return std::all_of(entered_.begin(), entered_.end(), [](const Entered& e) {
    const TimedSide& s = e.side->side;
    return s.high_ns - s.low_ns <= 2 * kSameMargin * s.median_ns;
  });
}

Gap TimedSession::baselines_gap() const {
  std::vector<const TimedSide*> trusted;
  for (const Contestant& c : all_)
    if (c.trusted && c.present()) trusted.push_back(&c.side);
  return gap_of(trusted);
}

bool TimedSession::has_gauge() const {
  return plan_.gauge != nullptr && plan_.gauge->present() && !plan_.gauge->side.samples.empty();
}

/// What an honest kernel needs in the place of this one.
Gap TimedSession::kernel_gap() const {
  if (!has_gauge()) return baselines_gap();
  const TimedSide* gauge[] = {&plan_.gauge->side};
  return gap_of(gauge);
}

void TimedSession::credit_all() {
  const Gap baselines = baselines_gap(), kernel = kernel_gap();
  for (Contestant& c : all_) {
    credit(c.side, c.trusted ? baselines : kernel, c.trusted ? Trust::trusted : Trust::hostile);
    if (!c.trusted && has_gauge()) c.side.gap_from = plan_.gauge->side.name;
  }
}

/// Compares the kernel with each baseline.
void TimedSession::compute() {
  Measurement& m = *course_.verdict().measurement;
  credit_all();
  m.samples = samples_;
  m.samples_verified = samples_verified_;
  m.sides.clear();
  m.ratios.clear();
  m.why.clear();  // of an earlier look
  for (Contestant& c : all_) {
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
bool TimedSession::control_known() const {
  if (!course_.request().kernel_path.empty()) return true;
  for (const Ratio& r : course_.verdict().measurement->ratios)
    if (r.against == "eager" && r.policy == "default")
      return (r.high - r.low) / 2 <= kControlHalfWidth;
  return true;
}

/// A case of inputs that no other session has, and everybody under the clock.
Status TimedSession::begin() {
  seed_ = derive_seed(course_.request().options.seed, 7001 + plan_.number);
  const uint64_t seed = derive_seed(seed_, 4241);
  FIEL_TRY(case_, course_.oracle().prepare(Probe::task_inputs, 0, seed, derive_seed(seed, 7)));
  if (case_.prepared.dropped) return {};
  forget_samples();
  for (Contestant& c : all_)
    if (c.present()) FIEL_TRY_STATUS(enter(c));
  if (plan_.gauge != nullptr && plan_.gauge->present()) return enter(*plan_.gauge);
  return {};
}

void TimedSession::leave() {
  const JudgeOptions& judging = course_.request().options;
  for (Entered& e : entered_)
    if (e.side->present()) e.side->runner->leave_clock(within_limit(judging, kLeaveTimeoutMs));
}

Status TimedSession::run() {
  FIEL_TRY_STATUS(begin());
  if (case_.prepared.dropped) {
    course_.verdict().measurement->why = "no inputs to time: " + *case_.prepared.dropped;
    return {};
  }
  if (entered_.empty() || entered_.front().side != &all_.front()) {
    course_.verdict().measurement->why = "the kernel could not be put under the clock";
    if (const std::string& reason = all_.front().side.unavailable; !reason.empty())
      course_.verdict().measurement->why += ": " + reason;
    return {};
  }
  const Status done = chunks();
  leave();
  return done;
}

Status TimedSession::run_alone(TimedMode mode) {
  FIEL_TRY_STATUS(begin());
  if (case_.prepared.dropped || entered_.empty()) return {};
  const Status done = rounds_alone(mode);
  leave();
  return done;
}

std::optional<uint32_t> known_calls(const std::vector<TimedMode>& known, uint32_t wanted,
                                    uint32_t most) {
  std::optional<uint32_t> best;
  for (const TimedMode& m : known) {
    if (!m.held || m.calls < wanted || m.calls > most) continue;
    if (uint64_t{m.calls} > uint64_t{kDearerAtMost} * wanted) continue;
    if (!best || m.calls < *best) best = m.calls;
  }
  return best;
}

}  // namespace fiel::judge::torch
