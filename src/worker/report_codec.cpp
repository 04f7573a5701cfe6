#include "worker/report_codec.h"

#include "worker/runtime_protocol.h"

namespace fiel::worker {
namespace {

using vgpu::Dim3;
using vgpu::Finding;
using vgpu::KernelMetrics;
using vgpu::LineMetrics;
using vgpu::SourceFrame;

constexpr size_t kMaxText = 1u << 20, kMaxItems = 1u << 20;

void put(WireWriter& w, const Dim3& d) { w.put(d.x).put(d.y).put(d.z); }
Dim3 get_dim(WireReader& r) {
  Dim3 d;
  d.x = r.get<uint32_t>();
  d.y = r.get<uint32_t>();
  d.z = r.get<uint32_t>();
  return d;
}

void put(WireWriter& w, const std::vector<SourceFrame>& frames) {
  w.put(static_cast<uint32_t>(frames.size()));
  for (const SourceFrame& f : frames) w.text(f.file).text(f.function).put(f.line).put(f.column);
}
std::vector<SourceFrame> get_frames(WireReader& r) {
  std::vector<SourceFrame> frames(r.count(16, 1024));
  for (SourceFrame& f : frames) {
    f.file = r.text(kMaxText);
    f.function = r.text(kMaxText);
    f.line = r.get<uint32_t>();
    f.column = r.get<uint32_t>();
  }
  return frames;
}

void put(WireWriter& w, const Finding& f) {
  w.put(f.kind).put(f.grade).put(f.count).text(f.kernel).text(f.instruction).put(f.ptx_line);
  put(w, f.source);
  put(w, f.block);
  put(w, f.thread);
  w.put<uint8_t>(f.has_address).put(f.address).put(f.bytes).text(f.detail);
  put(w, f.other_source);
  w.text(f.other_instruction);
  put(w, f.other_block);
  put(w, f.other_thread);
}
Finding get_finding(WireReader& r) {
  Finding f;
  f.kind = r.get<vgpu::FindingKind>();
  f.grade = r.get<vgpu::Grade>();
  if (f.kind > vgpu::FindingKind::contract_sensitive || f.grade > vgpu::Grade::error) r.refuse();
  f.count = r.get<uint64_t>();
  f.kernel = r.text(kMaxText);
  f.instruction = r.text(kMaxText);
  f.ptx_line = r.get<uint32_t>();
  f.source = get_frames(r);
  f.block = get_dim(r);
  f.thread = get_dim(r);
  f.has_address = r.get<uint8_t>() != 0;
  f.address = r.get<uint64_t>();
  f.bytes = r.get<uint32_t>();
  f.detail = r.text(kMaxText);
  f.other_source = get_frames(r);
  f.other_instruction = r.text(kMaxText);
  f.other_block = get_dim(r);
  f.other_thread = get_dim(r);
  return f;
}

/// The numbers of a line in one fixed order, for writing and for reading.
template <typename Line, typename F>
void each_number(Line& m, F&& f) {
  f(m.warp_instructions), f(m.thread_instructions), f(m.predicated_off);
  f(m.branches), f(m.divergent_branches);
  for (auto* c : {&m.global_loads, &m.global_stores, &m.local_memory, &m.atomics})
    f(c->requests), f(c->sectors), f(c->ideal_sectors), f(c->bytes);
  for (auto* c : {&m.shared_loads, &m.shared_stores})
    f(c->requests), f(c->wavefronts), f(c->ideal_wavefronts);
  f(m.atomic_contention), f(m.barriers), f(m.flops);
  for (auto& n : m.mix) f(n);
}
void put(WireWriter& w, const LineMetrics& m) {
  w.put(m.ptx_line).text(m.file).put(m.line);
  each_number(m, [&](const uint64_t& n) { w.put(n); });
}
LineMetrics get_line(WireReader& r) {
  LineMetrics m;
  m.ptx_line = r.get<uint32_t>();
  m.file = r.text(kMaxText);
  m.line = r.get<uint32_t>();
  each_number(m, [&](uint64_t& n) { n = r.get<uint64_t>(); });
  return m;
}

void put(WireWriter& w, const KernelMetrics& m) {
  put(w, m.total);
  w.put(static_cast<uint32_t>(m.lines.size()));
  for (const LineMetrics& l : m.lines) put(w, l);
  w.put(m.unique_global_bytes_read).put(m.unique_global_bytes_written);
  w.put(m.static_shared_bytes).put(m.local_bytes);
}
KernelMetrics get_metrics(WireReader& r) {
  KernelMetrics m;
  m.total = get_line(r);
  m.lines.resize(r.count(64, kMaxItems));
  for (LineMetrics& l : m.lines) l = get_line(r);
  m.unique_global_bytes_read = r.get<uint64_t>();
  m.unique_global_bytes_written = r.get<uint64_t>();
  m.static_shared_bytes = r.get<uint32_t>();
  m.local_bytes = r.get<uint32_t>();
  return m;
}

void put(WireWriter& w, const Shape& s) {
  w.put(static_cast<uint32_t>(s.size()));
  for (int64_t v : s) w.put(v);
}
Shape get_shape(WireReader& r) {
  Shape s(r.count(8, 8));
  for (int64_t& v : s) v = r.get<int64_t>();
  return s;
}

}  // namespace

void write(WireWriter& w, const vgpu::LaunchReport& report) {
  w.put(report.status).put(report.refusal).text(report.message);
  w.put(static_cast<uint32_t>(report.findings.size()));
  for (const Finding& f : report.findings) put(w, f);
  w.put(report.findings_dropped).put(report.thread_instructions);
  put(w, report.metrics);
}
vgpu::LaunchReport read_report(WireReader& r) {
  vgpu::LaunchReport report;
  report.status = r.get<vgpu::LaunchStatus>();
  report.refusal = r.get<vgpu::Refusal>();
  if (report.status > vgpu::LaunchStatus::cancelled) r.refuse();
  report.message = r.text(kMaxText);
  report.findings.resize(r.count(64, 4096));
  for (Finding& f : report.findings) f = get_finding(r);
  report.findings_dropped = r.get<uint64_t>();
  report.thread_instructions = r.get<uint64_t>();
  report.metrics = get_metrics(r);
  return report;
}

void write(WireWriter& w, const CallOutcome& o) {
  w.put(o.status).put<int32_t>(o.return_code).text(o.message);
  w.put(static_cast<uint32_t>(o.launches.size()));
  for (const LaunchRecord& l : o.launches) {
    w.text(l.kernel);
    put(w, l.grid);
    put(w, l.block);
    w.put(l.dynamic_shared_bytes);
    write(w, l.report);
    w.put(l.device_ns);
  }
  w.put(o.launches_dropped).text(o.runtime_error).text(o.output).put(o.output_bytes);
  w.put(o.unjoined_work).put(o.candidate_allocated_bytes).put(o.peak_device_bytes);
  w.text(o.beyond_device).put(o.stray_requests).put<uint8_t>(o.asked_for_time);
  w.put<uint8_t>(o.times.has_value());
  if (!o.times) return;
  const CallTimes& t = *o.times;
  w.put(t.device_ns).put(t.busy_ns).put(t.host_ns).put(t.lead_ns).put(t.wall_ns);
  w.put(t.batches).put<uint8_t>(t.queued_whole);
}
CallOutcome read_outcome(WireReader& r) {
  CallOutcome o;
  o.status = r.get<CallStatus>();
  if (o.status > CallStatus::protocol) r.refuse();
  o.return_code = r.get<int32_t>();
  o.message = r.text(kMaxText);
  o.launches.resize(r.count(64, 1u << 16));
  for (LaunchRecord& l : o.launches) {
    l.kernel = r.text(kMaxText);
    l.grid = get_dim(r);
    l.block = get_dim(r);
    l.dynamic_shared_bytes = r.get<uint32_t>();
    l.report = read_report(r);
    l.device_ns = r.get<double>();
    if (r.failed()) break;
  }
  o.launches_dropped = r.get<uint64_t>();
  o.runtime_error = r.text(kMaxText);
  o.output = r.text(kMaxText);
  o.output_bytes = r.get<uint64_t>();
  o.unjoined_work = r.get<uint64_t>();
  o.candidate_allocated_bytes = r.get<uint64_t>();
  o.peak_device_bytes = r.get<uint64_t>();
  o.beyond_device = r.text(kMaxText);
  o.stray_requests = r.get<uint64_t>();
  o.asked_for_time = r.get<uint8_t>() != 0;
  if (r.get<uint8_t>() == 0) return o;
  CallTimes t;
  for (double* ns : {&t.device_ns, &t.busy_ns, &t.host_ns, &t.lead_ns, &t.wall_ns})
    *ns = r.get<double>();
  t.batches = r.get<uint32_t>();
  t.queued_whole = r.get<uint8_t>() != 0;
  o.times = t;
  return o;
}

void write(WireWriter& w, const ClockOutcome& o) {
  w.put(o.calls).put<uint8_t>(o.all_queued_whole);
  write(w, o.last);
}
ClockOutcome read_clock_outcome(WireReader& r) {
  ClockOutcome o;
  o.calls = r.get<uint64_t>();
  o.all_queued_whole = r.get<uint8_t>() != 0;
  o.last = read_outcome(r);
  return o;
}

void write(WireWriter& w, const CallRequest& request) {
  for (const auto* tensors : {&request.inputs, &request.outputs}) {
    w.put(static_cast<uint32_t>(tensors->size()));
    for (const DeviceTensor& t : *tensors) write(w, t);
  }
  w.put<uint8_t>(request.timed).put<uint8_t>(request.cold).put<uint8_t>(request.every_stream);
  w.put<uint8_t>(request.profiled);
}
CallRequest read_call_request(WireReader& r) {
  CallRequest q;
  for (auto* tensors : {&q.inputs, &q.outputs}) {
    tensors->resize(r.count(20, kMaxTensors));
    for (DeviceTensor& t : *tensors) t = read_tensor(r);
  }
  q.timed = r.get<uint8_t>() != 0;
  q.cold = r.get<uint8_t>() != 0;
  q.every_stream = r.get<uint8_t>() != 0;
  q.profiled = r.get<uint8_t>() != 0;
  return q;
}

void write(WireWriter& w, const vgpu::KernelInfo& k) {
  w.text(k.name).put(static_cast<uint32_t>(k.parameter_offsets.size()));
  for (size_t i = 0; i < k.parameter_offsets.size(); ++i) {
    bool pointer = i < k.parameter_is_pointer.size() && k.parameter_is_pointer[i];
    uint32_t bytes = i < k.parameter_bytes.size() ? k.parameter_bytes[i] : 0;
    w.put(k.parameter_offsets[i]).put(bytes).put<uint8_t>(pointer);
  }
  w.put(k.parameter_block_bytes).put(k.static_shared_bytes).put(k.local_bytes).put(k.max_threads);
  put(w, k.required_block);
}
vgpu::KernelInfo read_kernel(WireReader& r) {
  vgpu::KernelInfo k;
  k.name = r.text(kMaxText);
  size_t n = r.count(9, 1u << 16);
  for (size_t i = 0; i < n; ++i) {
    k.parameter_offsets.push_back(r.get<uint32_t>());
    k.parameter_bytes.push_back(r.get<uint32_t>());
    k.parameter_is_pointer.push_back(r.get<uint8_t>() != 0);
  }
  k.parameter_block_bytes = r.get<uint32_t>();
  k.static_shared_bytes = r.get<uint32_t>();
  k.local_bytes = r.get<uint32_t>();
  k.max_threads = r.get<uint32_t>();
  k.required_block = get_dim(r);
  return k;
}

void write(WireWriter& w, const vgpu::Coverage& c) {
  w.put(c.bytes).put(c.written).put(c.written_more_than_once).put(c.copied);
  w.put(static_cast<uint32_t>(c.missing.size()));
  for (const auto& run : c.missing) w.put(run.begin).put(run.end);
}
vgpu::Coverage read_coverage(WireReader& r) {
  vgpu::Coverage c;
  c.bytes = r.get<uint64_t>();
  c.written = r.get<uint64_t>();
  c.written_more_than_once = r.get<uint64_t>();
  c.copied = r.get<uint64_t>();
  c.missing.resize(r.count(16, 4096));
  for (auto& run : c.missing) {
    run.begin = r.get<uint64_t>();
    run.end = r.get<uint64_t>();
  }
  return c;
}

void write(WireWriter& w, const DeviceTensor& t) {
  w.put(t.address).put(static_cast<int32_t>(t.dtype));
  put(w, t.shape);
  put(w, t.strides);
}
DeviceTensor read_tensor(WireReader& r) {
  DeviceTensor t;
  t.address = r.get<uint64_t>();
  int32_t dtype = r.get<int32_t>();
  if (dtype < 0 || dtype >= kDTypeCount) r.refuse();
  t.dtype = static_cast<DType>(dtype);
  t.shape = get_shape(r);
  t.strides = get_shape(r);
  return t;
}

}  // namespace fiel::worker
