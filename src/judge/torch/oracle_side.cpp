#include "judge/torch/oracle_side.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "judge/torch/seeds.h"

namespace fiel::judge::torch {
namespace {

constexpr uint64_t kGuardBytes = 4096, kAlignment = 256;
constexpr uint64_t kMaxBytes = 1ull << 46;  ///< beyond any device: sums cannot overflow
constexpr uint64_t kMaxShift = 1ull << 16;
constexpr size_t kKeptCases = 3;
/// Inputs and outputs that the virtual GPU is given: a second or less a call.
constexpr uint64_t kSmallBytes = 1u << 20;
constexpr const char* kSmallShapes = "small";

uint64_t times(uint64_t a, uint64_t b) {
  return b != 0 && a > kMaxBytes / b ? kMaxBytes : std::min(a * b, kMaxBytes);
}

uint64_t item_bytes(std::string_view dtype) {
  if (dtype == "complex128") return 16;
  if (dtype == "float64" || dtype == "int64" || dtype == "complex64") return 8;
  if (dtype == "float16" || dtype == "bfloat16" || dtype == "int16") return 2;
  if (dtype == "bool" || dtype == "int8" || dtype == "uint8" || dtype.starts_with("float8"))
    return 1;
  return 4;
}

uint64_t extent_bytes(const worker::Leaf& leaf) {
  uint64_t last = 1, packed = 1;
  for (size_t i = 0; i < leaf.shape.size(); ++i) {
    const uint64_t size = static_cast<uint64_t>(std::max<int64_t>(leaf.shape[i], 0));
    packed = times(packed, size);
    if (size > 0 && i < leaf.stride.size())
      last += times(size - 1, static_cast<uint64_t>(std::max<int64_t>(leaf.stride[i], 0)));
  }
  // What a kernel returns may be laid out otherwise, in a type twice as wide.
  return times(std::max(last, packed), item_bytes(leaf.dtype));
}

constexpr const char* kOutOfMemory = "out of memory";
constexpr int64_t kResetTimeoutMs = 30'000;

/// Adds its own life time.
class Stopwatch {
 public:
  explicit Stopwatch(double& total_s) : total_s_(total_s) {}
  ~Stopwatch() {
    total_s_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  double& total_s_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// The oracle offers small shapes where the task's own are too large for the device.
std::string main_shapes_of(const worker::OpenedTask& task) {
  for (const worker::ShapeVariant& v : task.shape_variants)
    if (v.name == kSmallShapes) return kSmallShapes;
  return kGivenShapes;
}

}  // namespace

void give_back_clean(std::unique_ptr<worker::TorchWorker> process, const GiveBack& give_back) {
  if (!give_back || !process || process->waiting() || !process->alive()) return;
  const worker::AskOptions options{.timeout_ms = kResetTimeoutMs};
  if (process->ask(Json::object({{"op", "reset"}}), options)) give_back(std::move(process));
}

void describe_machine(const worker::TorchFacts& machine, bool with_device, Environment& to) {
  if (with_device) {
    to.device = machine.device_name;
    to.device_uuid = machine.device_uuid;
    to.driver = machine.driver;
    to.cuda = machine.cuda;
  }
  to.torch = machine.torch;
  to.python = machine.python;
  to.notes = machine.notes;
}

Error error_of(const worker::WorkerFault& fault) {
  Error error = worker::to_error(fault);
  if (fault.kind == worker::Fault::memory) error.context.push_back(kOutOfMemory);
  return error;
}

bool is_out_of_memory(const Error& error) {
  return std::find(error.context.begin(), error.context.end(), kOutOfMemory) != error.context.end();
}

template <typename T>
Result<T> OracleSide::mine(worker::Answer<T> answer, const char* what) {
  if (!answer) {
    sound_ = false;
    return fail(error_of(answer.error()).with_context(what));
  }
  if constexpr (std::is_void_v<T>)
    return {};
  else
    return std::move(*answer);
}

OracleSide::~OracleSide() {
  if (sound_) give_back_clean(std::move(process_), give_back_);
}

void name_inputs(const Case& c, Witness& w) {
  w.seed = c.wish.seed;
  w.variant = static_cast<uint32_t>(std::strtoul(c.wish.variant.c_str(), nullptr, 10));
  w.weights = c.wish.weights_seed ? fmt::format("{}", *c.wish.weights_seed) : "given";
}

uint64_t window_bytes(const std::vector<worker::Leaf>& leaves) {
  uint64_t total = 4 * kGuardBytes + kMaxShift;
  for (const worker::Leaf& leaf : leaves)
    total += extent_bytes(leaf) + 2 * kGuardBytes + 2 * kAlignment;
  return total;
}

Result<worker::OpenedTask> OracleSide::open_task(const TorchRequest& request) {
  worker::OpenTask open{request.task_path, request.mode,    init_seed(request.options.seed),
                        request.reference, request.domains, request.on_virtual() ? kSmallBytes : 0};
  auto opened = oracle_.open_task(open);
  if (opened) return std::move(*opened);
  sound_ = false;
  Error error = error_of(opened.error());
  if (opened.error().kind == worker::Fault::task) {
    error.code = ErrorCode::usage;
    error.hint = "see docs/tasks.md for what a task file must define";
  }
  return fail(std::move(error).with_context("opening " + request.task_path));
}

Result<std::unique_ptr<OracleSide>> OracleSide::open(const Workers& workers,
                                                     const TorchRequest& request, Share room) {
  FIEL_TRY(auto process, workers.oracle());
  auto side = std::unique_ptr<OracleSide>(new OracleSide(std::move(process)));
  side->give_back_ = workers.give_back;
  FIEL_TRY(side->machine_,
           side->mine(side->oracle_.hello(request.torch_device()), "starting the oracle"));
  FIEL_TRY(side->turn_, GpuTurn::open(request.locks, side->machine_.device_uuid,
                                      request.options.interrupted, request.options.limit));
  FIEL_TRY_STATUS(side->turn_->live(room));
  FIEL_TRY_STATUS(side->turn_->take(Share::shared));
  FIEL_TRY(side->task_, side->open_task(request));
  side->main_shapes_ = main_shapes_of(side->task_);
  return side;
}

Result<Case> OracleSide::prepare(Probe probe, uint32_t variant, uint64_t seed,
                                 std::optional<uint64_t> weights_seed,
                                 const std::string& shape_variant, const Case* base) {
  Stopwatch watch(busy_s_);
  Case c;
  c.probe = probe;
  c.wish.probe = std::string(judge::name_of(probe));
  c.wish.variant = fmt::format("{}", variant);
  c.wish.seed = seed;
  c.wish.weights_seed = weights_seed;
  c.wish.shape_variant = shape_variant;
  if (shape_variant.empty() && main_shapes_ != kGivenShapes) c.wish.shape_variant = main_shapes_;
  if (base != nullptr) c.wish.base = base->prepared.id;
  FIEL_TRY(c.prepared, mine(oracle_.prepare(c.wish), "preparing inputs"));
  return c;
}

Result<const worker::WindowHandle*> OracleSide::window(const std::string& side, Use use,
                                                       uint64_t bytes) {
  auto [at, fresh] = windows_.try_emplace({side, use});
  if (!fresh && at->second.bytes >= bytes) return &at->second;
  if (!fresh) (void)oracle_.drop_window(at->second.id);
  auto made = oracle_.window(bytes);
  if (!made) {
    windows_.erase(at);
    return fail(error_of(made.error()).with_context("a window for tensors"));
  }
  at->second = std::move(*made);
  return &at->second;
}

Result<Input> OracleSide::place(const Case& c, const Slots& slots, const std::string& side) {
  Stopwatch watch(busy_s_);
  Input input;
  FIEL_TRY(input.in, window(side, slots.in, window_bytes(c.prepared.inputs)));
  // Twice the outputs, since a kernel may return wider ones; behind them the buffers after the
  // call.
  const uint64_t state = has_buffers_ ? 2 * task_.weight_bytes + (4u << 20) : 0;
  FIEL_TRY(input.out, window(side, slots.out, 2 * window_bytes(c.prepared.outputs) + state));
  worker::Place place;
  place.case_id = c.prepared.id;
  place.inputs = input.in->id;
  place.outputs = input.out->id;
  place.shift_bytes = slots.shift_bytes;
  place.poison = slots.poison;
  FIEL_TRY(auto placed, mine(oracle_.place(place), "placing the inputs"));
  input.value = std::move(placed.inputs);
  input.region = {placed.output_offset, placed.output_bytes};
  input.outputs = c.prepared.outputs;
  input.outputs_tree = c.prepared.raw["outputs_tree"];
  input.shift_bytes = slots.shift_bytes;
  return input;
}

Result<OracleSide::WeightsAt> OracleSide::weights(const Case& c, const std::string& side) {
  WeightsAt at;
  const uint64_t bytes =
      std::max<uint64_t>(worker::read_count(task_.raw["window_bytes"]["weights"]), kGuardBytes);
  FIEL_TRY(at.window, window(side, Use::weights, bytes));
  FIEL_TRY(auto placed, mine(oracle_.weights(c.prepared.id, at.window->id), "writing weights"));
  at.any = !placed.leaves.empty();
  at.buffers = std::any_of(placed.leaves.begin(), placed.leaves.end(),
                           [](const auto& leaf) { return leaf.kind == "buffer"; });
  has_buffers_ |= at.buffers;
  at.leaves = std::move(placed.raw_leaves);
  return at;
}

Result<worker::Verified> OracleSide::verify(const Case& c, const Json& outputs,
                                            NumericsClass lowest, const Json& state) {
  Stopwatch watch(busy_s_);
  worker::Verify v{c.prepared.id, outputs, std::string(fiel::name_of(lowest)), state};
  return mine(oracle_.verify(v), "comparing the outputs");
}

Result<std::vector<worker::Impostor>> OracleSide::impostors(const Json& cases) {
  return mine(oracle_.impostors(cases), "trying wrong answers");
}

/// The latest stay: an answer to one of them is recognised as stale.
void OracleSide::release(const Case& c) {
  if (c.prepared.dropped) return;
  leaving_.push_back(c.prepared.id);
  if (leaving_.size() <= kKeptCases) return;
  (void)oracle_.release(leaving_.front());
  leaving_.pop_front();
}

std::optional<int64_t> OracleSide::drop_window(const std::string& side, Use use) {
  const auto at = windows_.find({side, use});
  if (at == windows_.end()) return std::nullopt;
  const int64_t id = at->second.id;
  (void)oracle_.drop_window(id);
  windows_.erase(at);
  return id;
}

}  // namespace fiel::judge::torch
