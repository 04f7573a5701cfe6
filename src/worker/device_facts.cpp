#include "worker/device_facts.h"

#include <vector>

namespace fiel::worker {
namespace {

constexpr size_t kMaxText = 4096, kMaxLines = 64;

void put(WireWriter& w, const std::vector<std::string>& lines) {
  w.put(static_cast<uint32_t>(lines.size()));
  for (const std::string& l : lines) w.text(l);
}

std::vector<std::string> get_lines(WireReader& r) {
  std::vector<std::string> lines(r.count(4, kMaxLines));
  for (std::string& l : lines) l = r.text(kMaxText);
  return lines;
}

}  // namespace

void write(WireWriter& w, const DeviceFacts& f) {
  w.text(f.isa).text(f.name).text(f.uuid);
  w.put(f.memory_bytes).put(f.l2_bytes).put(f.multiprocessors);
  put(w, f.confinement.in_force);
  put(w, f.confinement.missing);
}

DeviceFacts read_device_facts(WireReader& r) {
  DeviceFacts f;
  f.isa = r.text(kMaxText);
  f.name = r.text(kMaxText);
  f.uuid = r.text(kMaxText);
  f.memory_bytes = r.get<uint64_t>();
  f.l2_bytes = r.get<uint64_t>();
  f.multiprocessors = r.get<uint32_t>();
  f.confinement.in_force = get_lines(r);
  f.confinement.missing = get_lines(r);
  return f;
}

}  // namespace fiel::worker
