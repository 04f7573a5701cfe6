#include "worker/torch_oracle.h"

#include <algorithm>
#include <utility>

namespace fiel::worker {
namespace {

constexpr int64_t kPlaceTimeoutMs = 120'000;

WorkerFault nonsense(const char* what) {
  return {Fault::protocol, std::string("the oracle's answer lacks ") + what, {}, {}, 0, 0};
}

std::optional<std::string> optional_text(const Json& json) {
  if (json.is_null()) return std::nullopt;
  return json.is_string() ? json.as_string() : json.dump();
}

Comparison read_comparison(const Json& j) {
  Comparison c;
  c.path = j["path"].as_string();
  c.elements = read_count(j["elements"]);
  c.compared = read_count(j["compared"]);
  c.failing = read_count(j["failing"]);
  c.first_failing = j["first_failing"];
  c.expected = read_number(j["expected"]);
  c.got = read_number(j["got"]);
  c.bound = read_number(j["bound"]);
  c.worst_ratio = read_number(j["worst_ratio"]);
  c.max_abs = read_number(j["max_abs"]);
  c.rms_error = read_number(j["rms_error"]);
  c.rms_output = read_number(j["rms_output"]);
  c.relative_rms = read_number(j["relative_rms"]);
  c.rms_limit = read_number(j["rms_limit"]);
  c.rms_failed = j["rms_failed"].as_bool();
  c.componentwise = read_number(j["componentwise"]);
  c.nan_mismatches = read_count(j["nan_mismatches"]);
  c.infinity_mismatches = read_count(j["infinity_mismatches"]);
  c.exact_fraction = read_number(j["exact_fraction"]);
  c.numerics_class = j["class"].as_string();
  return c;
}

FloorFacts read_floor(const Json& j) {
  const Json& flops = j["flops"];
  return {read_number(j["bytes"]), read_number(flops["fp32"]), read_number(flops["tf32able"]),
          read_number(flops["fp16"]), read_number(flops["bf16"])};
}

WindowBytes read_windows(const Json& j) {
  return {read_count(j["inputs"]), read_count(j["outputs"]), read_count(j["weights"])};
}

OpenedTask read_task(Json reply) {
  OpenedTask t;
  t.name = reply["name"].as_string();
  t.digest = reply["digest"].as_string();
  for (const Json& input : reply["inputs"].items())
    t.inputs.push_back({{read_leaf(input)}, input["domain"]});
  t.outputs = read_leaves(reply["outputs"]);
  t.parameters = reply["parameters"];
  t.weight_bytes = read_count(reply["weight_bytes"]);
  t.input_bytes = read_count(reply["input_bytes"]);
  t.output_bytes = read_count(reply["output_bytes"]);
  t.windows = read_windows(reply["window_bytes"]);
  t.floor = read_floor(reply["floor"]);
  for (const Json& v : reply["shape_variants"].items())
    t.shape_variants.push_back(
        {v["name"].as_string(), v["note"].as_string(), read_count(v["input_bytes"])});
  if (reply["prepare_s"].is_number()) t.prepare_s = read_number(reply["prepare_s"]);
  t.warnings = read_strings(reply["warnings"]);
  t.randomness = reply["randomness"].as_string();
  t.void_why = optional_text(reply["void"]);
  t.raw = std::move(reply);
  return t;
}

TimedSample read_sample(const Json& j) {
  TimedSample s;
  s.runner = static_cast<int>(j["runner"].as_int());
  s.round = static_cast<int>(j["round"].as_int());
  s.wall_ns = read_number(j["wall_ns"]);
  s.device_ns = read_number(j["device_ns"]);
  s.host_ns = read_number(j["host_ns"]);
  s.lead_ns = read_number(j["lead_ns"]);
  s.done_ns = read_number(j["done_ns"]);
  s.flush_ns = read_number(j["flush_ns"]);
  s.tail_ns = read_number(j["tail_ns"]);
  s.sm_clock_mhz = read_number(j["sm_clock_mhz"]);
  s.power_mw = read_number(j["power_mw"]);
  s.throttle = j["throttle"];
  s.verified = j["verified"].as_bool();
  s.failed = j["failed"].as_bool();
  return s;
}

TimedCall read_call(const Json& j) {
  TimedCall call{static_cast<int>(j["runner"].as_int()), static_cast<int>(j["round"].as_int()),
                 read_count(j["call"]), std::nullopt};
  if (!j["seed"].is_null()) call.seed = read_count(j["seed"]);
  return call;
}

TimedSamples read_samples(Json reply) {
  TimedSamples t;
  t.clock = reply["clock"];
  t.calls = static_cast<uint32_t>(std::max<uint64_t>(1, read_count(reply["calls"])));
  t.held = reply["mode"].as_string() == "held";
  t.mode_why = optional_text(reply["mode_why"]);
  t.unverified_for_time = read_count(reply["unverified_for_time"]);
  for (const Json& s : reply["samples"].items()) t.samples.push_back(read_sample(s));
  for (const Json& f : reply["failures"].items()) t.failures.push_back(read_verified(f));
  for (const Json& r : reply["runners"].items())
    t.runners.push_back(
        {read_count(r["calls"]), read_count(r["verified"]), optional_text(r["ended"])});
  t.raw = std::move(reply);
  return t;
}

/// Seeds are 64 bits; the reader on the other side knows no unsigned ones beyond 63.
Json seed_of(uint64_t seed) { return static_cast<int64_t>(seed & 0x7fffffffffffffffull); }

}  // namespace

const AskOptions TorchOracle::kLong{
    .timeout_ms = 600'000, .descriptors = {}, .progress = {}, .meanwhile = {}};

bool Verified::passed() const {
  auto fails = [](const Comparison& c) {
    return c.failing > 0 || c.rms_failed || c.nan_mismatches > 0 || c.infinity_mismatches > 0;
  };
  return !structure && std::none_of(outputs.begin(), outputs.end(), fails) &&
         std::none_of(state.begin(), state.end(), fails) && inputs_modified.empty() &&
         guards.empty() && unwritten.empty() && stale.is_null() && missing_at_done == 0 &&
         !changed_after_done;
}

Verified read_verified(const Json& j) {
  Verified v;
  v.structure = optional_text(j["structure"]);
  for (const Json& row : j["outputs"].items()) v.outputs.push_back(read_comparison(row));
  for (const Json& row : j["state"].items()) v.state.push_back(read_comparison(row));
  for (const Json& m : j["inputs_modified"].items())
    v.inputs_modified.push_back({m["path"].as_string(), m["element"], m["was"], m["is"]});
  for (const Json& g : j["guards"].items())
    v.guards.push_back({g["path"].as_string(), g["side"].as_string(), g["byte"].as_int()});
  for (const Json& u : j["unwritten"].items())
    v.unwritten.push_back({u["path"].as_string(), read_count(u["elements"])});
  v.notes = read_strings(j["notes"]);
  v.stale = j["stale"];
  if (!j["round"].is_null()) v.call = read_call(j);
  v.missing_at_done = read_count(j["missing_at_done"]);
  v.changed_after_done = j["changed_after_done"].as_bool();
  v.raw = j;
  return v;
}

Answer<TorchFacts> TorchOracle::hello(const std::string& device, int64_t timeout_ms) {
  Json request = Json::object({{"op", "hello"}, {"role", "oracle"}, {"device", device}});
  FIEL_TRY(Json reply, worker_.ask(std::move(request), {.timeout_ms = timeout_ms}));
  return read_facts(reply);
}

Answer<WindowHandle> TorchOracle::window(uint64_t bytes) {
  FIEL_TRY(Json reply, worker_.ask(Json::object({{"op", "window"}, {"bytes", bytes}}),
                                   {.timeout_ms = kPlaceTimeoutMs}));
  auto descriptors = worker_.take_descriptors();
  if (descriptors.size() != 1) return fail(nonsense("a descriptor"));
  return WindowHandle{reply["window"].as_int(), read_count(reply["bytes"]),
                      std::move(descriptors[0])};
}

Answer<void> TorchOracle::drop_window(int64_t window) {
  FIEL_TRY_STATUS(worker_.ask(Json::object({{"op", "drop_window"}, {"window", window}})));
  return {};
}

Answer<OpenedTask> TorchOracle::open_task(const OpenTask& task, const AskOptions& options) {
  Json request = Json::object({{"op", "open_task"}, {"path", task.path}, {"mode", task.mode}});
  request["init_seed"] = seed_of(task.init_seed);
  if (!task.reference.empty()) request["reference"] = task.reference;
  if (!task.domains.empty()) {
    request["domains"] = Json::array();
    for (const std::string& kind : task.domains) request["domains"].push_back(kind);
  }
  if (task.small_bytes > 0) request["small_bytes"] = task.small_bytes;
  FIEL_TRY(Json reply, worker_.ask(std::move(request), options));
  return read_task(std::move(reply));
}

Answer<PreparedCase> TorchOracle::prepare(const Prepare& p, const AskOptions& options) {
  Json request = Json::object({{"op", "prepare"}, {"probe", p.probe}});
  if (!p.variant.empty()) request["variant"] = p.variant;
  request["seed"] = seed_of(p.seed);
  request["weights"] = p.weights_seed ? seed_of(*p.weights_seed) : Json("given");
  if (!p.shape_variant.empty()) request["shape_variant"] = p.shape_variant;
  if (!p.base.is_null()) request["base"] = p.base;
  FIEL_TRY(Json reply, worker_.ask(std::move(request), options));
  PreparedCase c;
  c.id = reply["case"];
  c.dropped = optional_text(reply["dropped"]);
  if (c.id.is_null() && !c.dropped) return fail(nonsense("a case"));
  c.inputs = read_leaves(reply["inputs"]);
  c.outputs = read_leaves(reply["outputs"]);
  c.windows = read_windows(reply["window_bytes"]);
  c.raw = std::move(reply);
  return c;
}

Answer<PlacedWeights> TorchOracle::weights(const Json& case_id, int64_t window) {
  Json request = Json::object({{"op", "weights"}, {"case", case_id}, {"window", window}});
  FIEL_TRY(Json reply, worker_.ask(std::move(request), {.timeout_ms = kPlaceTimeoutMs}));
  PlacedWeights w;
  for (const Json& leaf : reply["leaves"].items())
    w.leaves.push_back({{read_leaf(leaf)}, leaf["name"].as_string(), leaf["kind"].as_string()});
  w.raw_leaves = reply["leaves"];
  return w;
}

Answer<PlacedCase> TorchOracle::place(const Place& p) {
  Json request = Json::object({{"op", "place"}, {"case", p.case_id}, {"in", p.inputs}});
  request["out"] = p.outputs;
  request["shift"] = p.shift_bytes;
  request["poison"] = int{p.poison};
  FIEL_TRY(Json reply, worker_.ask(std::move(request), {.timeout_ms = kPlaceTimeoutMs}));
  PlacedCase c;
  c.inputs = reply["inputs"];
  c.leaves = read_leaves(std::as_const(c.inputs)["leaves"]);
  const Json& outputs = std::as_const(reply)["outputs"];
  c.output_offset = read_count(outputs["offset"]);
  c.output_bytes = read_count(outputs["bytes"]);
  c.raw = std::move(reply);
  return c;
}

Answer<Verified> TorchOracle::verify(const Verify& v, const AskOptions& options) {
  Json request = Json::object({{"op", "verify"}, {"case", v.case_id}, {"outputs", v.outputs}});
  request["lowest"] = v.lowest;
  request["state"] = v.state;
  FIEL_TRY(Json reply, worker_.ask(std::move(request), options));
  if (!reply["outputs"].is_array()) return fail(nonsense("outputs"));
  return read_verified(reply);
}

Answer<void> TorchOracle::release(const Json& case_id) {
  FIEL_TRY_STATUS(worker_.ask(Json::object({{"op", "release"}, {"case", case_id}})));
  return {};
}

Answer<std::vector<Impostor>> TorchOracle::impostors(const Json& cases, const AskOptions& options) {
  FIEL_TRY(Json reply, worker_.ask(Json::object({{"op", "impostors"}, {"cases", cases}}), options));
  std::vector<Impostor> out;
  for (const Json& i : reply["impostors"].items())
    out.push_back(
        {i["impostor"].as_string(), i["rejected"].as_bool(), i["rejected_by"].as_string()});
  return out;
}

Answer<LaidSlots> TorchOracle::slots(const SlotsRequest& r) {
  Json request = Json::object({{"op", "slots"}, {"case", r.case_id}, {"count", int64_t{r.count}}});
  if (r.packed) request["packed"] = true;
  if (r.inputs_window != 0) {
    request["inputs_window"] = r.inputs_window;
    request["outputs_window"] = r.outputs_window;
  }
  FIEL_TRY(Json reply, worker_.ask(std::move(request), {.timeout_ms = kPlaceTimeoutMs}));
  LaidSlots laid;
  laid.id = reply["slots"];
  laid.count = static_cast<uint32_t>(read_count(reply["count"]));
  laid.inputs_bytes = read_count(reply["inputs_bytes"]);
  laid.outputs_bytes = read_count(reply["outputs_bytes"]);
  laid.layout = reply["layout"];
  return laid;
}

Answer<TimedSamples> TorchOracle::time(const OpenClock& clock, const ClockChunk& chunk,
                                       const AskOptions& options) {
  Json request = Json::object({{"case", clock.case_id}, {"seed", seed_of(clock.seed)}});
  Json runners = Json::array();
  for (const ClockRunner& r : clock.runners)
    runners.push_back(Json::object(
        {{"slots", r.slots}, {"control", r.control}, {"trusted", r.trusted}, {"gauge", r.gauge}}));
  request["runners"] = std::move(runners);
  request["cold"] = clock.cold;
  request["warmup"] = int64_t{clock.warmup_rounds};
  request["call_timeout_ms"] = clock.call_timeout_ms;
  request["entry_timeout_ms"] = clock.entry_timeout_ms;
  request["hold_timeout_ms"] = clock.hold_timeout_ms;
  return ask_time(std::move(request), chunk, options);
}

Answer<TimedSamples> TorchOracle::time_on(const Json& clock, const ClockChunk& chunk,
                                          const AskOptions& options) {
  return ask_time(Json::object({{"clock", clock}}), chunk, options);
}

Answer<TimedSamples> TorchOracle::ask_time(Json request, const ClockChunk& chunk,
                                           const AskOptions& options) {
  request["op"] = "time";
  request["samples_max"] = int64_t{chunk.rounds};
  request["budget_ms"] = chunk.budget_ms;
  request["calls"] = int64_t{chunk.calls};
  request["held"] = chunk.held;
  request["verify_share"] = chunk.verify_share;
  request["lowest"] = chunk.lowest;
  request["leave"] = chunk.leave;
  FIEL_TRY(Json reply, worker_.ask(std::move(request), options));
  if (!reply["samples"].is_array()) return fail(nonsense("samples"));
  return read_samples(std::move(reply));
}

Answer<Json> TorchOracle::measure(const AskOptions& options) {
  return worker_.ask(Json::object({{"op", "measure"}}), options);
}

}  // namespace fiel::worker
