// One kernel's process and the buffers it works on: places inputs, calls, reads everything back and
// says what it saw, before any value is compared.
//
//   FIEL_TRY(auto rig, Rig::start(starter, {}));
//   FIEL_TRY_STATUS(rig->place(instance, Placement::exact));
//   FIEL_TRY(Call call, rig->call(inputs, {.probe = Probe::task_inputs, .poison = 0xff}));
//   if (call.fault) …                       // status and reason; outputs are not to be believed
//
// Every call: outputs poisoned before, inputs compared byte by byte and found unwritten after,
// guard bands and coverage checked, the device's findings collected. It holds no expected values.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "judge/verdict.h"
#include "task/task.h"
#include "worker/bare_session.h"

namespace fiel::judge {

/// What a session has to be started with; the rest (isolation, limits) is the starter's.
struct SessionWish {
  bool global_races = false;
  vgpu::Contract contract = vgpu::Contract::off;
};
using SessionStarter =
    std::function<Result<std::unique_ptr<worker::BareSession>>(const SessionWish&)>;

enum class Placement : uint8_t {
  exact,    ///< each buffer exactly as long as its tensor: the device sees the first byte outside
  guarded,  ///< in the middle of a larger buffer, between bands that are compared afterwards
};
inline constexpr uint64_t kGuardBytes = 4096;  ///< keeps the promised 256-byte alignment

/// Why a call's outputs are not to be compared.
struct Fault {
  VerdictStatus status = VerdictStatus::runtime_error;
  std::string reason;
};

struct Call {
  uint64_t number = 0;  ///< in this process, from 1
  worker::CallStatus status = worker::CallStatus::returned;
  std::optional<Fault> fault;   ///< it did not run to its end, or must not count
  std::optional<Fault> breach;  ///< it ran, but broke a rule: an ERROR finding
  std::vector<FindingRecord> findings;
  std::vector<Tensor> outputs;  ///< empty after a fault
  uint64_t thread_instructions = 0, launches = 0;
  uint64_t peak_device_bytes = 0, candidate_device_bytes = 0;
  std::string output;  ///< what it printed
};

struct CallOptions {
  Probe probe = Probe::task_inputs;
  std::string shape_set;
  uint8_t poison = 0xff;  ///< 0xff: NaN in every floating dtype
  vgpu::Schedule schedule;
  std::optional<vgpu::Contract> contract;  ///< another than the session's
  bool keep_outputs = false;  ///< of sides whose outputs are compared elsewhere: in Call too
  int64_t timeout_ms = 60'000;
};

/// The first element whose bits differ between two calls on one input.
struct OutputDifference {
  int64_t element = 0;
  double first = 0, second = 0;
};
std::optional<OutputDifference> output_difference(const Call& first, const Call& second);
/// It as a note: `schedule-dependent-output` or `contraction-sensitive`, of values that were right.
FindingRecord note_of(const OutputDifference& difference, vgpu::FindingKind kind,
                      const std::string& shape_set, uint64_t call);

class Rig {
 public:
  static Result<std::unique_ptr<Rig>> start(const SessionStarter& starter, const SessionWish& wish);
  ~Rig();

  /// Buffers for this instance. The earlier ones are filled with NaN and given back, after the new
  /// ones exist: no address repeats from one placement to the next.
  Status place(std::shared_ptr<const task::Instance> instance, Placement placement);

  /// Writes inputs at their places and calls. An Error is ours (harness fault), never the kernel's.
  Result<Call> call(const std::vector<Tensor>& inputs, const CallOptions& options);

  bool alive() const { return session_->alive(); }
  worker::BareSession& session() { return *session_; }
  uint64_t calls() const { return calls_; }

 private:
  struct Buffer {
    uint64_t allocation = 0;  ///< what allocate() gave
    uint64_t address = 0;     ///< where the tensor begins
    uint64_t bytes = 0;       ///< of the tensor
    std::string name;
  };
  explicit Rig(std::unique_ptr<worker::BareSession> session) : session_(std::move(session)) {}
  Result<Buffer> make_buffer(uint64_t bytes, const std::string& name) const;
  Status retire(std::vector<Buffer>& buffers) const;
  Status prepare(const std::vector<Tensor>& inputs, uint8_t poison) const;
  /// Between guard bands an allocation is more than its tensor: other placements watch it.
  bool watches_inputs() const {
    return placement_ == Placement::exact && session_->counts_writes();
  }
  Status inspect_inputs(const std::vector<Tensor>& inputs, const CallOptions& options,
                        Call& call) const;
  void inspect_coverage(const Buffer& buffer, const vgpu::Coverage& coverage,
                        const CallOptions& options, const Tensor& value, Call& call) const;
  Status inspect_guards(const CallOptions& options, Call& call) const;
  Status read_outputs(const CallOptions& options, Call& call) const;

  std::unique_ptr<worker::BareSession> session_;
  std::shared_ptr<const task::Instance> instance_;
  Placement placement_ = Placement::exact;
  std::vector<Buffer> inputs_, outputs_;
  uint64_t calls_ = 0;
};

}  // namespace fiel::judge
