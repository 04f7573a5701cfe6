#include "judge/torch/bare_side.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "judge/interpret.h"
#include "judge/readable.h"

namespace fiel::judge::torch {
namespace {

using worker::DeviceTensor;
using Group = BareMemory::Group;

constexpr uint64_t kGuardBytes = 4096, kAlignment = 256;  ///< as the workers lay out values
constexpr size_t kMaxKernels = 64;

worker::WorkerFault ours(const Error& error) {
  const bool unsupported = error.code == ErrorCode::unsupported;
  return {unsupported ? worker::Fault::unsupported : worker::Fault::worker,
          to_string(error),
          {},
          {},
          0,
          0};
}

/// Errors of sessions and windows are ours, whatever the kernel did.
template <typename T>
worker::Answer<T> mine(Result<T> result) {
  if (!result) return fail(ours(result.error()));
  if constexpr (std::is_void_v<T>)
    return {};
  else
    return std::move(*result);
}

uint64_t place_after(uint64_t at) {
  return (at + kGuardBytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// Contiguous, in the region of a call's outputs, guard bands between.
std::vector<worker::Leaf> packed(const std::vector<worker::Leaf>& leaves, uint64_t begin) {
  std::vector<worker::Leaf> out = leaves;
  uint64_t at = begin;
  for (worker::Leaf& leaf : out) {
    const Shape shape(leaf.shape.begin(), leaf.shape.end());
    const Shape strides = contiguous_strides(shape);
    leaf.stride.assign(strides.begin(), strides.end());
    leaf.offset = at = place_after(at);
    if (const auto t = describe_tensor(leaf)) at += extent_of(*t);
  }
  return out;
}

Json json_of(const std::vector<worker::Leaf>& leaves) {
  Json all = Json::array();
  for (const worker::Leaf& leaf : leaves) {
    Json shape = Json::array(), stride = Json::array();
    for (int64_t n : leaf.shape) shape.push_back(n);
    for (int64_t n : leaf.stride) stride.push_back(n);
    all.push_back(Json::object({{"path", leaf.path},
                                {"dtype", leaf.dtype},
                                {"shape", shape},
                                {"stride", stride},
                                {"offset", leaf.offset}}));
  }
  return all;
}

FindingRecord record(JudgeFinding kind, const std::string& text, const CallOptions& options,
                     uint64_t call) {
  FindingRecord r;
  r.code = std::string(name_of(kind));
  r.grade = vgpu::Grade::error;
  r.detail = text;
  r.text = fmt::format("ERROR {}  {}", r.code, text);
  r.probe = options.probe;
  r.shape_set = options.shape_set;
  r.call = call;
  return r;
}

/// The first bytes that were never written and still hold the poison.
const vgpu::Coverage::Run* still_poisoned(const vgpu::Coverage& c,
                                          const std::vector<std::byte>& bytes, std::byte poison) {
  for (const vgpu::Coverage::Run& run : c.missing) {
    const uint64_t end = std::min<uint64_t>(run.end, bytes.size());
    if (run.begin < end && std::all_of(bytes.begin() + static_cast<ptrdiff_t>(run.begin),
                                       bytes.begin() + static_cast<ptrdiff_t>(end),
                                       [&](std::byte b) { return b == poison; }))
      return &run;
  }
  return nullptr;
}

/// By name, in the order of their first launches.
std::vector<KernelEvidence> kernels_of(const std::vector<worker::LaunchRecord>& launches) {
  std::vector<KernelEvidence> all;
  for (const worker::LaunchRecord& l : launches) {
    const std::string name = printable(demangled(l.kernel), 200);
    auto known = std::find_if(all.begin(), all.end(),
                              [&](const KernelEvidence& k) { return k.name == name; });
    if (known == all.end()) {
      if (all.size() == kMaxKernels) continue;
      known = all.insert(all.end(), {name, "own", 0, 0, false});
    }
    ++known->launches;
    known->device_ns += l.device_ns;
  }
  return all;
}

}  // namespace

worker::Answer<worker::CopiedWeights> BareSide::take(const OracleSide::WeightsAt& weights) {
  std::vector<worker::Leaf> leaves = worker::read_leaves(weights.leaves);
  std::vector<DeviceTensor> tensors;
  if (settings_.on_gpu) {
    FIEL_TRY(tensors, mine(memory_.in_window(*weights.window, leaves)));
  } else {
    FIEL_TRY(tensors, mine(memory_.copies(Group::weights, leaves)));
    FIEL_TRY_STATUS(mine(memory_.fill(Group::weights, *weights.window)));
  }
  worker::CopiedWeights copied;
  copied.how = "state_dict";
  weights_.clear();
  used_.setup_bytes = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Json& leaf = weights.leaves.items()[i];
    weights_.push_back(
        {leaf["name"].as_string(), leaf["kind"].as_string() == "buffer", tensors[i]});
    copied.copied.push_back(weights_.back().name);
    used_.setup_bytes += extent_of(tensors[i]);
  }
  return copied;
}

Result<worker::CallRequest> BareSide::place(const Input& input,
                                            const std::vector<worker::Leaf>& outputs,
                                            bool in_windows, uint8_t poison) {
  const std::vector<worker::Leaf> leaves = worker::read_leaves(input.value["leaves"]);
  worker::CallRequest q;
  if (in_windows) {
    FIEL_TRY(q.inputs, memory_.in_window(*input.in, leaves));
    FIEL_TRY(q.outputs, memory_.in_window(*input.out, outputs));
  } else {
    FIEL_TRY(q.inputs, memory_.copies(Group::inputs, leaves));
    FIEL_TRY(q.outputs, memory_.copies(Group::outputs, outputs));
    FIEL_TRY_STATUS(memory_.fill(Group::inputs, *input.in));
    for (const BareMemory::Buffer& b : memory_.buffers(Group::outputs)) {
      if (b.bytes == 0) continue;
      FIEL_TRY_STATUS(session_->poison(b.tensor.address, b.bytes, poison));
      FIEL_TRY_STATUS(session_->mark_output(b.tensor.address));
    }
    // Counted as an output's writes are: none may happen.
    for (const Group g : {Group::inputs, Group::weights})
      for (const BareMemory::Buffer& b : memory_.buffers(g))
        if (b.bytes > 0) FIEL_TRY_STATUS(session_->mark_output(b.tensor.address));
  }
  for (const Weight& w : weights_) q.inputs.push_back(w.tensor);
  return q;
}

worker::Answer<Called> BareSide::call(const Input& input, const CallOptions& options) {
  const bool in_windows = settings_.on_gpu || input.shift_bytes > 0;
  const std::vector<worker::Leaf> outputs = packed(input.outputs, input.region.offset);
  FIEL_TRY(worker::CallRequest request, mine(place(input, outputs, in_windows, options.poison)));
  request.timeout_ms = options.timeout_ms;
  request.schedule = options.schedule;
  request.contract = options.contract;
  Called called;
  called.seen.number = ++calls_;
  const worker::CallOutcome outcome = session_->call(request);
  interpret(outcome, options, called.seen);
  account(request, outcome);
  called.answer.printed = called.seen.output;
  if (called.seen.fault || called.seen.status == worker::CallStatus::unsupported ||
      !session_->alive())
    return called;
  if (!in_windows) FIEL_TRY_STATUS(mine(inspect(input, options, called)));
  called.answer.outputs =
      Json::object({{"tree", input.outputs_tree}, {"leaves", json_of(outputs)}});
  return called;
}

/// What only copies show, and the copies back into the windows: the oracle compares those.
Status BareSide::inspect(const Input& input, const CallOptions& options, Called& called) {
  if (session_->counts_writes()) {
    if (settings_.watch_inputs)
      FIEL_TRY_STATUS(inspect_writes(Group::inputs, options, called.seen));
    FIEL_TRY_STATUS(inspect_writes(Group::weights, options, called.seen));
    FIEL_TRY_STATUS(inspect_outputs(options, called.seen));
  }
  if (options.keep_outputs) FIEL_TRY_STATUS(keep_outputs(called.seen));
  FIEL_TRY_STATUS(memory_.bring_back(Group::inputs, *input.in));
  return memory_.bring_back(Group::outputs, *input.out);
}

/// Inputs and parameters, restored afterwards or not. Buffers are the kernel's to change.
Status BareSide::inspect_writes(Group group, const CallOptions& options, Call& seen) {
  const auto& buffers = memory_.buffers(group);
  for (size_t i = 0; i < buffers.size(); ++i) {
    const bool weight = group == Group::weights;
    if (buffers[i].bytes == 0 || (weight && weights_[i].is_buffer)) continue;
    FIEL_TRY(const vgpu::Coverage c, session_->coverage(buffers[i].tensor.address));
    if (c.written + c.copied == 0) continue;
    const std::string what = weight
                                 ? fmt::format("parameter '{}'", printable(weights_[i].name, 100))
                                 : fmt::format("input '{}'", printable(buffers[i].leaf.path, 100));
    seen.findings.push_back(record(JudgeFinding::input_modified,
                                   fmt::format("{} was written: {} bytes by launches, {} by copies",
                                               what, c.written, c.copied),
                                   options, seen.number));
    if (!seen.breach) seen.breach = Fault{VerdictStatus::incorrect, "it wrote into its " + what};
  }
  return {};
}

Status BareSide::keep_outputs(Call& seen) {
  for (const BareMemory::Buffer& b : memory_.buffers(Group::outputs)) {
    Tensor t = Tensor::empty(b.tensor.dtype, b.tensor.shape);
    if (t.bytes().size() != b.bytes) continue;
    if (b.bytes > 0) FIEL_TRY_STATUS(session_->read(b.tensor.address, t.bytes()));
    seen.outputs.push_back(std::move(t));
  }
  return {};
}

Status BareSide::inspect_outputs(const CallOptions& options, Call& seen) {
  for (const BareMemory::Buffer& b : memory_.buffers(Group::outputs)) {
    if (b.bytes == 0) continue;
    FIEL_TRY(const vgpu::Coverage c, session_->coverage(b.tensor.address));
    const std::string name =
        printable(b.leaf.path.empty() ? "output" : "output '" + b.leaf.path + "'", 120);
    const auto note = [&](vgpu::FindingKind kind, const std::string& text) {
      FindingRecord r = record(JudgeFinding::no_launch, name + ": " + text, options, seen.number);
      r.code = std::string(vgpu::code_of(kind));
      r.grade = vgpu::default_grade(kind);
      r.text = fmt::format("{} {}  {}", vgpu::name_of(r.grade), r.code, r.detail);
      seen.findings.push_back(std::move(r));
    };
    if (c.written_more_than_once > 0)
      note(vgpu::FindingKind::written_twice, "bytes of it were stored more than once");
    if (c.missing.empty()) continue;
    std::vector<std::byte> bytes(b.bytes);
    FIEL_TRY_STATUS(session_->read(b.tensor.address, bytes));
    const auto* run = still_poisoned(c, bytes, std::byte{options.poison});
    if (run == nullptr) continue;
    note(vgpu::FindingKind::incomplete_output,
         fmt::format("{} of {} bytes never written, first element {}", c.bytes - c.written, c.bytes,
                     run->begin / size_of(b.tensor.dtype)));
    if (!seen.breach)
      seen.breach =
          Fault{VerdictStatus::incorrect, fmt::format("it left part of its {} unwritten", name)};
  }
  return {};
}

/// Memory as a module of the same weights and outputs would show it.
void BareSide::account(const worker::CallRequest& request, const worker::CallOutcome& outcome) {
  uint64_t outputs = 0;
  for (const DeviceTensor& t : request.outputs) outputs += extent_of(t);
  const uint64_t own =
      settings_.on_gpu ? outcome.peak_device_bytes : outcome.candidate_allocated_bytes;
  used_.allocated_peak = std::max(used_.allocated_peak, used_.setup_bytes + outputs + own);
  launched_ = kernels_of(outcome.launches);
}

worker::Answer<Json> BareSide::state(const worker::WindowHandle& window, worker::Region region) {
  std::vector<worker::Leaf> leaves;
  Json names = Json::array();
  uint64_t at = region.offset;
  for (const Weight& w : weights_) {
    if (!w.is_buffer) continue;
    const uint64_t bytes = extent_of(w.tensor), offset = place_after(at);
    if (offset + bytes + kGuardBytes > region.offset + region.bytes) continue;
    at = offset + bytes;
    FIEL_TRY_STATUS(mine(memory_.move(w.tensor, window, offset, bytes, !settings_.on_gpu)));
    worker::Leaf leaf;
    leaf.path = w.name;
    leaf.shape.assign(w.tensor.shape.begin(), w.tensor.shape.end());
    leaf.stride.assign(w.tensor.strides.begin(), w.tensor.strides.end());
    leaf.dtype = worker::torch_name(w.tensor.dtype);
    leaf.offset = offset;
    Json entry = Json::array();
    entry.push_back(w.name);
    entry.push_back(Json::object({{"leaf", leaves.size()}}));
    names.push_back(std::move(entry));
    leaves.push_back(std::move(leaf));
  }
  return Json::object({{"tree", Json::object({{"dict", names}})}, {"leaves", json_of(leaves)}});
}

worker::Answer<void> BareSide::enter_clock(const ClockSlots& slots) {
  if (slots.graph)
    return fail(worker::WorkerFault{
        worker::Fault::unsupported, "a bare kernel is not replayed as a graph", {}, {}, 0, 0});
  worker::ClockRequest q;
  q.page = slots.page;
  q.call_timeout_ms = slots.call_timeout_ms;
  for (const Json& slot : slots.layout.items()) {
    worker::CallRequest call;
    const auto inputs = worker::read_leaves(slot["inputs"]["leaves"]);
    const auto outputs = worker::read_leaves(slot["outputs"]["leaves"]);
    FIEL_TRY(call.inputs, mine(memory_.in_window(*slots.in, inputs)));
    FIEL_TRY(call.outputs, mine(memory_.in_window(*slots.out, outputs)));
    for (const Weight& w : weights_) call.inputs.push_back(w.tensor);
    q.slots.push_back(std::move(call));
  }
  FIEL_TRY_STATUS(mine(session_->begin_clock(q)));
  in_clock_ = true;
  return {};
}

void BareSide::leave_clock(int64_t timeout_ms) {
  if (!in_clock_) return;
  in_clock_ = false;
  (void)session_->end_clock(timeout_ms);
}

worker::Answer<void> BareSide::reach(const Input& input) {
  if (!settings_.on_gpu) return {};
  FIEL_TRY_STATUS(mine(memory_.in_window(*input.in, {})));
  FIEL_TRY_STATUS(mine(memory_.in_window(*input.out, {})));
  return {};
}

std::optional<worker::ModuleMemory> BareSide::memory(bool reset) {
  if (reset) used_.allocated_peak = 0;
  return used_;
}

/// On a GPU by one more call, each of whose launches stands between events; elsewhere the latest
/// call's, without times.
LaunchedKernels BareSide::kernels(const Input& input) {
  if (settings_.on_gpu) {
    auto request = place(input, packed(input.outputs, input.region.offset), true, 0);
    if (!request) return {{}, 0, printable(to_string(request.error()), 300)};
    request->profiled = true;
    const worker::CallOutcome outcome = session_->call(*request);
    if (outcome.status != worker::CallStatus::returned)
      return {{}, 0, "the profiled call failed: " + printable(outcome.message, 300)};
    launched_ = kernels_of(outcome.launches);
  }
  return {launched_, 0, launched_.empty() ? "its latest call launched nothing" : ""};
}

std::string bare_obstacle(const std::vector<Case>& cases) {
  const Case* first = nullptr;
  for (const Case& c : cases) {
    if (c.prepared.dropped) continue;
    for (const auto* leaves : {&c.prepared.inputs, &c.prepared.outputs})
      for (const worker::Leaf& leaf : *leaves)
        if (const auto t = describe_tensor(leaf); !t) return to_string(t.error());
    if (first == nullptr) first = &c;
    if (c.prepared.raw["inputs_tree"].dump() != first->prepared.raw["inputs_tree"].dump())
      return "forward takes numbers that differ from draw to draw, and a bare kernel gets tensors "
             "only";
  }
  return {};
}

}  // namespace fiel::judge::torch
