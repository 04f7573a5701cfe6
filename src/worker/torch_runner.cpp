#include "worker/torch_runner.h"

namespace fiel::worker {
namespace {

constexpr int64_t kCopyTimeoutMs = 120'000;

Json region_of(Region r) { return Json::object({{"offset", r.offset}, {"bytes", r.bytes}}); }

/// [name, shape, dtype]
ModuleWeight read_weight(const Json& j) {
  if (!j.is_array() || j.size() != 3) return {};
  ModuleWeight w{j.items()[0].as_string(), j.items()[2].as_string(), {}};
  for (const Json& n : j.items()[1].items())
    if (w.shape.size() < 16) w.shape.push_back(n.as_int());
  return w;
}

}  // namespace

Answer<TorchFacts> TorchRunner::hello(const std::string& device, int64_t timeout_ms) {
  Json request = Json::object({{"op", "hello"}, {"role", "runner"}, {"device", device}});
  FIEL_TRY(Json reply, worker_.ask(std::move(request), {.timeout_ms = timeout_ms}));
  return read_facts(reply);
}

Answer<void> TorchRunner::map_window(const WindowHandle& window) {
  Json request = Json::object({{"op", "map_window"}, {"window", window.id}});
  request["bytes"] = window.bytes;
  FIEL_TRY_STATUS(worker_.ask(std::move(request), {.timeout_ms = kCopyTimeoutMs,
                                                   .descriptors = {window.descriptor.get()}}));
  return {};
}

Answer<void> TorchRunner::drop_window(int64_t window) {
  FIEL_TRY_STATUS(worker_.ask(Json::object({{"op", "drop_window"}, {"window", window}})));
  return {};
}

Answer<LoadedModule> TorchRunner::load(const LoadModule& load, const AskOptions& options) {
  Json request = Json::object({{"op", "load"}, {"kind", load.kind}, {"path", load.path}});
  request["init_seed"] = static_cast<int64_t>(load.init_seed & 0x7fffffffffffffffull);
  request["mode"] = load.mode;
  request["policy"] = load.policy;
  request["compile"] = load.compile;
  if (!load.task_path.empty()) request["task_path"] = load.task_path;
  FIEL_TRY(Json reply, worker_.ask(std::move(request), options));
  LoadedModule m;
  m.id = reply["module"];
  m.build_ms = read_number(reply["build_ms"]);
  for (const Json& w : reply["weights"].items()) m.weights.push_back(read_weight(w));
  m.flags = reply["flags"];
  m.extension_log = reply["extension_log"].as_string();
  m.raw = std::move(reply);
  return m;
}

Answer<CopiedWeights> TorchRunner::weights(const Json& module, int64_t window, const Json& leaves) {
  Json request = Json::object({{"op", "weights"}, {"module", module}, {"window", window}});
  request["leaves"] = leaves;
  FIEL_TRY(Json reply, worker_.ask(std::move(request), {.timeout_ms = kCopyTimeoutMs}));
  CopiedWeights c;
  c.copied = read_strings(reply["copied"]);
  c.ambiguous = read_strings(reply["ambiguous"]);
  c.extra = read_strings(reply["extra"]);
  for (const Json& u : reply["unmatched"].items())
    c.unmatched.push_back({u["name"].as_string(), u["kind"].as_string(), u["shape"],
                           u["candidate_name"], u["candidate_shape"]});
  for (const Json& r : reply["renamed"].items())
    if (r.size() == 3 && r.is_array())
      c.renamed.push_back(
          {r.items()[0].as_string(), r.items()[1].as_string(), r.items()[2].as_string()});
  c.how = reply["how"].as_string();
  return c;
}

Answer<CalledModule> TorchRunner::call(const CallModule& call, int64_t timeout_ms) {
  Json request = Json::object({{"op", "call"}, {"module", call.module}, {"window", call.in}});
  request["inputs"] = call.inputs;
  request["out"] = call.out;
  request["region"] = region_of(call.region);
  if (call.private_inputs) request["private"] = true;
  FIEL_TRY(Json reply, worker_.ask(std::move(request), {.timeout_ms = timeout_ms}));
  CalledModule c;
  c.outputs = reply["outputs"];
  c.aliases = read_strings(reply["aliases"]);
  c.device_ns = read_number(reply["device_ns"]);
  c.host_ns = read_number(reply["host_ns"]);
  c.printed = reply["printed"].as_string();
  return c;
}

Answer<Json> TorchRunner::state(const Json& module, int64_t window, Region region) {
  Json request = Json::object({{"op", "state"}, {"module", module}, {"window", window}});
  request["region"] = region_of(region);
  FIEL_TRY(Json reply, worker_.ask(std::move(request), {.timeout_ms = kCopyTimeoutMs}));
  return reply["state"];
}

Answer<void> TorchRunner::start_time(Json request, int control) {
  request["op"] = "time";
  return worker_.send(std::move(request), {.descriptors = {control}});
}

Answer<uint64_t> TorchRunner::finish_time(int64_t timeout_ms) {
  FIEL_TRY(Json reply, worker_.receive({.timeout_ms = timeout_ms}));
  return read_count(reply["calls"]);
}

Answer<bool> TorchRunner::build(const Json& module, int64_t window, const Json& inputs,
                                int64_t timeout_ms) {
  Json request = Json::object({{"op", "build"}, {"module", module}, {"inputs", inputs}});
  request["window"] = window;
  FIEL_TRY(const Json reply, worker_.ask(std::move(request), {.timeout_ms = timeout_ms}));
  return reply["built"].as_bool();
}

Answer<Evidence> TorchRunner::evidence(const Json& module, int64_t window, const Json& inputs,
                                       int64_t timeout_ms) {
  Json request = Json::object({{"op", "evidence"}, {"module", module}, {"inputs", inputs}});
  request["window"] = window;
  FIEL_TRY(Json reply, worker_.ask(std::move(request), {.timeout_ms = timeout_ms}));
  Evidence e;
  for (const Json& k : reply["kernels"].items())
    e.kernels.push_back({k["name"].as_string(), k["origin"].as_string(), read_count(k["launches"]),
                         read_number(k["device_ns"]), k["tensor_core"].as_bool()});
  e.graph_launches = read_count(reply["graph_launches"]);
  e.missing = reply["missing"].as_string();
  e.raw = std::move(reply);
  return e;
}

Answer<ModuleMemory> TorchRunner::memory(const Json& module, bool reset, int64_t timeout_ms) {
  Json request = Json::object({{"op", "memory"}, {"module", module}, {"reset", reset}});
  FIEL_TRY(Json reply, worker_.ask(std::move(request), {.timeout_ms = timeout_ms}));
  return ModuleMemory{read_count(reply["allocated_peak"]), read_count(reply["reserved_peak"]),
                      read_count(reply["setup_bytes"]), read_count(reply["used"]),
                      read_count(reply["resident_peak"])};
}

Answer<void> TorchRunner::unload(const Json& module) {
  FIEL_TRY_STATUS(worker_.ask(Json::object({{"op", "unload"}, {"module", module}})));
  return {};
}

}  // namespace fiel::worker
