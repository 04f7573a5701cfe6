// The oracle's operations (docs/torch-workers.md#oracle) with names and types.
//
//   FIEL_TRY(auto worker, TorchWorker::start({Role::oracle, python, "cpu"}));
//   TorchOracle oracle(*worker);
//   FIEL_TRY(auto task, oracle.open_task({.path = "task.py"}));
//   FIEL_TRY(auto inputs, oracle.window(task.windows.inputs));
//   FIEL_TRY(auto c, oracle.prepare({.seed = 7}));
//   FIEL_TRY(auto placed, oracle.place({.case_id = c.id, .inputs = inputs.id, …}));
//
// Each answer keeps the reply as `raw`: fields that this header does not name are there. The
// verdict is made elsewhere.
#pragma once

#include <optional>

#include "worker/torch_values.h"
#include "worker/torch_worker.h"

namespace fiel::worker {

struct WindowHandle {
  int64_t id = 0;
  uint64_t bytes = 0;
  Fd descriptor;
};

struct OpenTask {
  std::string path;
  std::string mode = "train";  ///< train or eval; KernelBench never calls eval()
  uint64_t init_seed = 0;
  std::string reference;             ///< a native task: the source of its generated module
  std::vector<std::string> domains;  ///< and what it says of each input: docs/tasks.md
  uint64_t small_bytes = 0;          ///< not 0: with a shape variant "small" whose tensors fit it
};
struct TaskInput : Leaf {
  Json domain;
};
/// How large windows must be, guard bands included.
struct WindowBytes {
  uint64_t inputs = 0, outputs = 0, weights = 0;
};
struct FloorFacts {
  double bytes = 0, fp32 = 0, tf32able = 0, fp16 = 0, bf16 = 0;  ///< floating-point operations
};
struct ShapeVariant {
  std::string name, note;
  uint64_t input_bytes = 0;
};
struct OpenedTask {
  std::string name, digest;
  std::vector<TaskInput> inputs;
  std::vector<Leaf> outputs;
  Json parameters;
  uint64_t weight_bytes = 0, input_bytes = 0, output_bytes = 0;
  WindowBytes windows;  ///< at the task's own shapes
  FloorFacts floor;
  std::vector<ShapeVariant> shape_variants;
  std::optional<double> prepare_s;  ///< of a first case; none for a void task, or where none fits
  std::vector<std::string> warnings;
  std::string randomness;               ///< none, statistical or void
  std::optional<std::string> void_why;  ///< `void`
  Json raw;
};

struct Prepare {
  std::string probe = "task-inputs";
  std::string variant;  ///< a number; empty: the first
  uint64_t seed = 0;
  std::optional<uint64_t> weights_seed;  ///< none: the given ones
  std::string shape_variant;
  Json base;  ///< a case, for one-element and same-data
};
struct PreparedCase {
  Json id;  ///< `case`
  std::optional<std::string> dropped;
  std::vector<Leaf> inputs, outputs;
  WindowBytes windows;  ///< at this case's shapes; weights as the task's
  Json raw;
};

struct WeightLeaf : Leaf {
  std::string name, kind;  ///< parameter or buffer
};
struct PlacedWeights {
  std::vector<WeightLeaf> leaves;
  Json raw_leaves;  ///< to pass on to a runner
};

struct Place {
  Json case_id;
  int64_t inputs = 0, outputs = 0;  ///< windows
  uint64_t shift_bytes = 0;
  uint8_t poison = 0xff;
};
struct PlacedCase {
  Json inputs;               ///< a value, to pass on to a runner
  std::vector<Leaf> leaves;  ///< of that value
  uint64_t output_offset = 0, output_bytes = 0;
  Json raw;
};

/// How one output compares with the reference.
struct Comparison {
  std::string path;
  uint64_t elements = 0, compared = 0, failing = 0;
  Json first_failing;  ///< an index, or null
  double expected = 0, got = 0, bound = 0, worst_ratio = 0, max_abs = 0;
  double rms_error = 0, rms_output = 0, relative_rms = 0, rms_limit = 0;
  bool rms_failed = false;
  double componentwise = 0;  ///< largest error in units of u times the element's sensitivity
  uint64_t nan_mismatches = 0, infinity_mismatches = 0;
  double exact_fraction = 0;
  std::string numerics_class;  ///< `class`
};
struct ModifiedInput {
  std::string path;
  Json element, was, is;
};
struct BrokenGuard {
  std::string path, side;
  int64_t byte = 0;
};
struct UnwrittenOutput {
  std::string path;
  uint64_t elements = 0;
};
/// Which timed call it was.
struct TimedCall {
  int runner = 0, round = 0;
  uint64_t call = 0;
  std::optional<uint64_t> seed;  ///< of its inputs, where it was compared in full
};
struct Verify {
  Json case_id;
  Json outputs;        ///< a value, as the runner reported it
  std::string lowest;  ///< the lowest numerics class that is accepted
  Json state;          ///< a value, or null
};
struct Verified {
  std::optional<std::string> structure;
  std::vector<Comparison> outputs, state;
  std::vector<ModifiedInput> inputs_modified;
  std::vector<BrokenGuard> guards;
  std::vector<UnwrittenOutput> unwritten;
  std::vector<std::string> notes;  ///< what is no fault: other strides than PyTorch's
  Json stale;                      ///< the case whose answer this is, or null
  Json raw;
  // Of a timed call:
  std::optional<TimedCall> call;
  uint64_t missing_at_done = 0;     ///< sampled pieces of the outputs that were not there at `done`
  bool changed_after_done = false;  ///< or that became others afterwards
  bool passed() const;              ///< nothing of the above
};
Verified read_verified(const Json& json);

struct Impostor {
  std::string name;
  bool rejected = false;
  std::string rejected_by;
};

struct SlotsRequest {
  Json case_id;
  uint32_t count = 2;  ///< twice the calls of a sample: late outputs are seen during the next one
  int64_t inputs_window = 0, outputs_window = 0;  ///< none: only the sizes are asked for
  bool packed = false;  ///< contiguous outputs: a bare kernel writes them in place
};
struct LaidSlots {
  Json id;  ///< `slots`; null where only the sizes were asked for
  uint32_t count = 0;
  uint64_t inputs_bytes = 0, outputs_bytes = 0;
  Json layout;  ///< to pass on to the runner
};

struct ClockRunner {
  Json slots;       ///< LaidSlots::id
  int control = 0;  ///< index into AskOptions::descriptors
  bool trusted = false;
  bool gauge = false;  ///< ours, computing nothing: for the time that the clock itself takes
};
/// What of the request is the clock's: given once.
struct OpenClock {
  Json case_id;
  std::vector<ClockRunner> runners;
  uint64_t seed = 0;
  bool cold = true;  ///< L2 flushed before each sample
  uint32_t warmup_rounds = 5;
  int64_t call_timeout_ms = 10'000, entry_timeout_ms = 60'000;
  int64_t hold_timeout_ms = 500;  ///< for a runner to queue a batch
};
/// What is asked of one chunk of rounds.
struct ClockChunk {
  uint32_t rounds = 100;  ///< `samples_max`
  int64_t budget_ms = 10'000;
  uint32_t calls = 1;
  bool held = true;  ///< queued before the clock starts, where all runners can
  double verify_share = 0.1;
  std::string lowest = "fp32";
  bool leave = true;  ///< the runners end with it
};
struct TimedSample {
  int runner = 0, round = 0;
  double wall_ns = 0, device_ns = 0, host_ns = 0;
  double lead_ns = 0;  ///< what a device process says of its host before the device had work
  double done_ns = 0, flush_ns = 0;
  double tail_ns = 0;  ///< a look at the outputs once more: longer where work was left behind
  double sm_clock_mhz = 0, power_mw = 0;
  Json throttle;
  bool verified = false, failed = false;
};
struct ClockedRunner {
  uint64_t calls = 0, verified = 0;
  std::optional<std::string> ended;  ///< why it gave no more samples
};
struct TimedSamples {
  Json clock;          ///< to go on with, where the runners did not leave
  uint32_t calls = 1;  ///< of each sample: fewer than asked for where not all could be held
  bool held = false;
  std::optional<std::string> mode_why;  ///< why not held, or with fewer calls
  uint64_t unverified_for_time = 0;
  std::vector<TimedSample> samples;
  std::vector<Verified> failures;
  std::vector<ClockedRunner> runners;
  Json raw;
};

class TorchOracle {
 public:
  explicit TorchOracle(TorchWorker& worker) : worker_(worker) {}

  Answer<TorchFacts> hello(const std::string& device, int64_t timeout_ms = 120'000);
  Answer<WindowHandle> window(uint64_t bytes);
  Answer<void> drop_window(int64_t window);
  Answer<OpenedTask> open_task(const OpenTask& task, const AskOptions& options = kLong);
  Answer<PreparedCase> prepare(const Prepare& prepare, const AskOptions& options = kLong);
  Answer<PlacedWeights> weights(const Json& case_id, int64_t window);
  Answer<PlacedCase> place(const Place& place);
  Answer<Verified> verify(const Verify& verify, const AskOptions& options = kLong);
  Answer<void> release(const Json& case_id);  ///< or "all"
  Answer<std::vector<Impostor>> impostors(const Json& cases, const AskOptions& options = kLong);
  Answer<LaidSlots> slots(const SlotsRequest& request);
  /// Opens a clock and runs its first chunk. The runners must be inside their own `time`
  /// (TorchRunner::start_time); their control pages are options.descriptors.
  Answer<TimedSamples> time(const OpenClock& clock, const ClockChunk& chunk,
                            const AskOptions& options);
  /// The next chunk of a clock whose runners stayed.
  Answer<TimedSamples> time_on(const Json& clock, const ClockChunk& chunk,
                               const AskOptions& options);
  Answer<Json> measure(const AskOptions& options = kLong);
  TorchWorker& worker() { return worker_; }

  static const AskOptions kLong;  ///< ten minutes

 private:
  Answer<TimedSamples> ask_time(Json request, const ClockChunk& chunk, const AskOptions& options);
  TorchWorker& worker_;
};

}  // namespace fiel::worker
