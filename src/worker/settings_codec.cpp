#include "worker/settings_codec.h"

namespace fiel::worker {
namespace {

bool get_bool(WireReader& r) { return r.get<uint8_t>() != 0; }

}  // namespace

void write(WireWriter& w, const vgpu::DeviceOptions& o) {
  w.put(o.memory_bytes).put(o.heap_bytes).put(o.stack_bytes).put(o.threads).put(o.isa);
  w.put(o.multiprocessors);
}
vgpu::DeviceOptions read_device_options(WireReader& r) {
  vgpu::DeviceOptions o;
  o.memory_bytes = r.get<uint64_t>();
  o.heap_bytes = r.get<uint64_t>();
  o.stack_bytes = r.get<uint32_t>();
  o.threads = r.get<uint32_t>();
  o.isa = r.get<vgpu::IsaChoice>();
  if (o.isa > vgpu::IsaChoice::avx512) r.refuse();
  o.multiprocessors = r.get<uint32_t>();
  return o;
}

void write(WireWriter& w, const RunSettings& s) {
  w.put<uint8_t>(s.checks.initialization).put<uint8_t>(s.checks.coverage);
  w.put<uint8_t>(s.checks.shared_races).put<uint8_t>(s.checks.global_races);
  w.put<uint8_t>(s.checks.metrics);
  w.put(s.schedule.seed).put<uint8_t>(s.schedule.reverse_blocks);
  w.put<uint8_t>(s.schedule.reverse_warps).put(s.schedule.quantum);
  w.put<uint8_t>(s.contract == vgpu::Contract::on).put(s.instruction_budget);
}
RunSettings read_settings(WireReader& r) {
  RunSettings s;
  s.checks.initialization = get_bool(r);
  s.checks.coverage = get_bool(r);
  s.checks.shared_races = get_bool(r);
  s.checks.global_races = get_bool(r);
  s.checks.metrics = get_bool(r);
  s.schedule.seed = r.get<uint64_t>();
  s.schedule.reverse_blocks = get_bool(r);
  s.schedule.reverse_warps = get_bool(r);
  s.schedule.quantum = r.get<uint32_t>();
  s.contract = get_bool(r) ? vgpu::Contract::on : vgpu::Contract::off;
  s.instruction_budget = r.get<uint64_t>();
  return s;
}

void write(WireWriter& w, const vgpu::LaunchRequest& q) {
  w.put(q.module).text(q.kernel);
  for (const vgpu::Dim3& d : {q.grid, q.block}) w.put(d.x).put(d.y).put(d.z);
  w.put(q.dynamic_shared_bytes).put<uint8_t>(q.cooperative);
  w.blob(q.parameters.data(), q.parameters.size());
  write(w, RunSettings{q.checks, q.schedule, q.contract, q.instruction_budget});
}
vgpu::LaunchRequest read_launch_request(WireReader& r) {
  vgpu::LaunchRequest q;
  q.module = r.get<uint32_t>();
  q.kernel = r.text(64u << 10);
  for (vgpu::Dim3* d : {&q.grid, &q.block}) {
    d->x = r.get<uint32_t>();
    d->y = r.get<uint32_t>();
    d->z = r.get<uint32_t>();
  }
  q.dynamic_shared_bytes = r.get<uint32_t>();
  q.cooperative = get_bool(r);
  auto parameters = r.blob(kMaxParameterBytes);
  q.parameters.assign(parameters.begin(), parameters.end());
  RunSettings s = read_settings(r);
  q.checks = s.checks;
  q.schedule = s.schedule;
  q.contract = s.contract;
  q.instruction_budget = s.instruction_budget;
  return q;
}

}  // namespace fiel::worker
