#include "judge/rig.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/text.h"
#include "judge/interpret.h"
#include "tensor/compare.h"

namespace fiel::judge {
namespace {

constexpr uint8_t kGuardPattern = 0xfb;  // NaN in f32, f16 and bf16: reading it shows as well

worker::DeviceTensor describe(uint64_t address, const graph::TensorType& type) {
  return {address, type.dtype, type.shape, contiguous_strides(type.shape)};
}

uint64_t bytes_of(const graph::TensorType& type) {
  return static_cast<uint64_t>(numel(type.shape) * size_of(type.dtype));
}

FindingRecord record(JudgeFinding finding, vgpu::Grade grade, std::string text,
                     const CallOptions& options, uint64_t call) {
  FindingRecord r;
  r.code = std::string(name_of(finding));
  r.grade = grade;
  r.text = std::move(text);
  r.probe = options.probe;
  r.shape_set = options.shape_set;
  r.call = call;
  return r;
}

}  // namespace

std::optional<OutputDifference> output_difference(const Call& first, const Call& second) {
  for (size_t o = 0; o < std::min(first.outputs.size(), second.outputs.size()); ++o) {
    const int64_t at = first_difference(first.outputs[o], second.outputs[o]);
    if (at >= 0)
      return OutputDifference{at, first.outputs[o].at_flat(at), second.outputs[o].at_flat(at)};
  }
  return std::nullopt;
}

FindingRecord note_of(const OutputDifference& d, vgpu::FindingKind kind,
                      const std::string& shape_set, uint64_t call) {
  FindingRecord r;
  r.code = std::string(vgpu::code_of(kind));
  r.grade = vgpu::Grade::info;
  const std::string a = format_double(d.first), b = format_double(d.second);
  r.detail = kind == vgpu::FindingKind::contract_sensitive
                 ? fmt::format(
                       "element {} is {} with multiply and add fused, as ptxas may do, and "
                       "{} without; both within the bound",
                       d.element, a, b)
                 : fmt::format("element {} was {} and {} under two orders; both within the bound",
                               d.element, a, b);
  r.text = fmt::format("INFO {}  {}", r.code, r.detail);
  r.probe = Probe::schedules;
  r.shape_set = shape_set;
  r.call = call;
  return r;
}

Result<std::unique_ptr<Rig>> Rig::start(const SessionStarter& starter, const SessionWish& wish) {
  FIEL_TRY(auto session, starter(wish));
  return std::unique_ptr<Rig>(new Rig(std::move(session)));
}

Rig::~Rig() = default;

Result<Rig::Buffer> Rig::make_buffer(uint64_t bytes, const std::string& name) const {
  const uint64_t band = placement_ == Placement::guarded ? kGuardBytes : 0;
  Buffer b;
  b.bytes = bytes;
  b.name = name;
  FIEL_TRY(b.allocation, session_->allocate(std::max<uint64_t>(bytes, 1) + 2 * band, name));
  b.address = b.allocation + band;
  if (band != 0) {
    const std::vector<std::byte> pattern(band, std::byte{kGuardPattern});
    FIEL_TRY_STATUS(session_->write(b.allocation, pattern));
    FIEL_TRY_STATUS(session_->write(b.address + bytes, pattern));
  }
  return b;
}

Status Rig::retire(std::vector<Buffer>& buffers) const {
  for (const Buffer& b : buffers) {
    // A kernel that kept the old pointer reads NaN or is told of a use after free.
    if (b.bytes > 0) FIEL_TRY_STATUS(session_->poison(b.address, b.bytes, 0xff));
    FIEL_TRY_STATUS(session_->free(b.allocation));
  }
  buffers.clear();
  return {};
}

Status Rig::place(std::shared_ptr<const task::Instance> instance, Placement placement) {
  std::vector<Buffer> old_inputs = std::move(inputs_), old_outputs = std::move(outputs_);
  inputs_.clear();
  outputs_.clear();
  instance_ = std::move(instance);
  placement_ = placement;
  for (size_t i = 0; i < instance_->inputs.size(); ++i) {
    FIEL_TRY(Buffer b, make_buffer(bytes_of(instance_->inputs[i]), instance_->input_specs[i].name));
    inputs_.push_back(b);
  }
  for (size_t i = 0; i < instance_->outputs.size(); ++i) {
    const std::string& name = instance_->graph.outputs[i].name;
    FIEL_TRY(Buffer b, make_buffer(bytes_of(instance_->outputs[i]), name));
    outputs_.push_back(b);
  }
  FIEL_TRY_STATUS(retire(old_inputs));
  return retire(old_outputs);
}

Status Rig::prepare(const std::vector<Tensor>& inputs, uint8_t poison) const {
  FIEL_CHECK(inputs.size() == inputs_.size(), "as many inputs as the instance has");
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs_[i].bytes == 0) continue;
    FIEL_TRY_STATUS(session_->write(inputs_[i].address, inputs[i].bytes()));
    // Counted as an output's writes are: none may happen.
    if (watches_inputs()) FIEL_TRY_STATUS(session_->mark_output(inputs_[i].allocation));
  }
  for (const Buffer& b : outputs_) {
    if (b.bytes == 0) continue;
    FIEL_TRY_STATUS(session_->poison(b.address, b.bytes, poison));
    if (placement_ == Placement::exact) FIEL_TRY_STATUS(session_->mark_output(b.allocation));
  }
  return {};
}

Status Rig::inspect_inputs(const std::vector<Tensor>& inputs, const CallOptions& options,
                           Call& call) const {
  std::vector<std::byte> now;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto before = inputs[i].bytes();
    now.resize(before.size());
    if (before.empty()) continue;
    FIEL_TRY_STATUS(session_->read(inputs_[i].address, now));
    const auto [was, is] = std::mismatch(before.begin(), before.end(), now.begin());
    std::string what;
    if (was != before.end()) {
      const int64_t element = (was - before.begin()) / size_of(inputs[i].dtype());
      what = fmt::format("element {} of {} was {}", element, to_string(inputs[i].shape()),
                         format_double(inputs[i].at_flat(element)));
    } else if (watches_inputs()) {
      // Written and restored: whoever else reads this tensor meanwhile reads something else.
      FIEL_TRY(const vgpu::Coverage c, session_->coverage(inputs_[i].allocation));
      if (c.written + c.copied == 0) continue;
      what = fmt::format("{} bytes by launches, {} by copies; its values are what they were",
                         c.written, c.copied);
    } else {
      continue;
    }
    call.findings.push_back(record(
        JudgeFinding::input_modified, vgpu::Grade::error,
        fmt::format("ERROR input-modified  input '{}' was written: {}", inputs_[i].name, what),
        options, call.number));
    if (!call.breach)
      call.breach = Fault{VerdictStatus::incorrect,
                          fmt::format("it wrote into its input '{}'", inputs_[i].name)};
  }
  return {};
}

Status Rig::inspect_guards(const CallOptions& options, Call& call) const {
  if (placement_ != Placement::guarded) return {};
  std::vector<std::byte> band(kGuardBytes);
  auto check = [&](const Buffer& b, uint64_t begin, const char* side) -> Status {
    FIEL_TRY_STATUS(session_->read(begin, band));
    const auto bad = std::find_if(band.begin(), band.end(),
                                  [](std::byte v) { return v != std::byte{kGuardPattern}; });
    if (bad == band.end()) return {};
    const uint64_t at = begin + static_cast<uint64_t>(bad - band.begin());
    const int64_t offset = static_cast<int64_t>(at) - static_cast<int64_t>(b.address);
    std::string text =
        fmt::format("ERROR guard-band-overwritten  {} '{}' at byte {} (the tensor has {} bytes)",
                    side, b.name, offset, b.bytes);
    call.findings.push_back(
        record(JudgeFinding::guard_overwritten, vgpu::Grade::error, text, options, call.number));
    if (!call.breach)
      call.breach = Fault{VerdictStatus::incorrect, fmt::format("it wrote {} '{}'", side, b.name)};
    return {};
  };
  for (const std::vector<Buffer>* list : {&inputs_, &outputs_})
    for (const Buffer& b : *list) {
      FIEL_TRY_STATUS(check(b, b.allocation, "before"));
      FIEL_TRY_STATUS(check(b, b.address + b.bytes, "behind"));
    }
  return {};
}

/// What was never written, and what was stored more than once.
void Rig::inspect_coverage(const Buffer& b, const vgpu::Coverage& coverage,
                           const CallOptions& options, const Tensor& value, Call& call) const {
  const auto note = [&](vgpu::FindingKind kind, const std::string& text) {
    FindingRecord r =
        record(JudgeFinding::no_launch, vgpu::default_grade(kind),
               fmt::format("{} {}  '{}': {}", vgpu::name_of(vgpu::default_grade(kind)),
                           vgpu::code_of(kind), b.name, text),
               options, call.number);
    r.code = std::string(vgpu::code_of(kind));
    call.findings.push_back(std::move(r));
  };
  const bool counted = session_->counts_writes();
  if (counted && coverage.written_more_than_once > 0)
    note(vgpu::FindingKind::written_twice,
         fmt::format("{} of {} bytes were stored more than once", coverage.written_more_than_once,
                     coverage.bytes));
  // Where writes are not counted, the pattern says it only of values that no answer holds.
  if (!counted &&
      !(is_floating(value.dtype()) && (size_of(value.dtype()) >= 4 || options.poison == 0xff)))
    return;
  // Copies and memsets may fill an output too: only bytes that are still poison count.
  const auto bytes = value.bytes();
  const auto poisoned = [&](const vgpu::Coverage::Run& run) {
    const uint64_t end = std::min<uint64_t>(run.end, bytes.size());
    return run.begin < end &&
           std::all_of(bytes.begin() + static_cast<ptrdiff_t>(run.begin),
                       bytes.begin() + static_cast<ptrdiff_t>(end),
                       [&](std::byte v) { return v == std::byte{options.poison}; });
  };
  const auto run = std::find_if(coverage.missing.begin(), coverage.missing.end(), poisoned);
  if (run == coverage.missing.end()) return;
  note(vgpu::FindingKind::incomplete_output,
       fmt::format("{} of {} bytes never written, first element {}",
                   coverage.bytes - coverage.written, coverage.bytes,
                   static_cast<int64_t>(run->begin) / size_of(value.dtype())));
  if (!call.breach)
    call.breach = Fault{VerdictStatus::incorrect,
                        fmt::format("it left part of output '{}' unwritten", b.name)};
}

Status Rig::read_outputs(const CallOptions& options, Call& call) const {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const Buffer& b = outputs_[i];
    Tensor t = Tensor::empty(instance_->outputs[i].dtype, instance_->outputs[i].shape);
    if (b.bytes > 0) FIEL_TRY_STATUS(session_->read(b.address, t.bytes()));
    call.outputs.push_back(t);
    if (placement_ != Placement::exact || b.bytes == 0) continue;
    FIEL_TRY(const vgpu::Coverage coverage, session_->coverage(b.allocation));
    inspect_coverage(b, coverage, options, t, call);
  }
  return {};
}

Result<Call> Rig::call(const std::vector<Tensor>& inputs, const CallOptions& options) {
  FIEL_CHECK(instance_ != nullptr, "place() before call()");
  FIEL_TRY_STATUS(prepare(inputs, options.poison));
  worker::CallRequest request;
  for (size_t i = 0; i < inputs_.size(); ++i)
    request.inputs.push_back(describe(inputs_[i].address, instance_->inputs[i]));
  for (size_t i = 0; i < outputs_.size(); ++i)
    request.outputs.push_back(describe(outputs_[i].address, instance_->outputs[i]));
  request.timeout_ms = options.timeout_ms;
  request.schedule = options.schedule;
  request.contract = options.contract;
  Call call;
  call.number = ++calls_;
  const worker::CallOutcome outcome = session_->call(request);
  interpret(outcome, options, call);
  if (call.fault || call.status == worker::CallStatus::unsupported || !session_->alive())
    return call;
  FIEL_TRY_STATUS(inspect_inputs(inputs, options, call));
  FIEL_TRY_STATUS(inspect_guards(options, call));
  FIEL_TRY_STATUS(read_outputs(options, call));
  return call;
}

}  // namespace fiel::judge
