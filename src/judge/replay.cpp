#include "judge/replay.h"

#include <charconv>

#include "judge/course.h"

namespace fiel::judge {
namespace {

uint64_t read_seed(const std::string& text) {
  uint64_t seed = 0;
  std::from_chars(text.data(), text.data() + text.size(), seed);
  return seed;
}

/// NaN and infinities are null in the number: their text says which.
double read_value(const Json& number, const Json& text) {
  if (number.is_number()) return number.as_double();
  const std::string& word = text.as_string();
  return std::strtod(word.c_str(), nullptr);
}

}  // namespace

ReplayCall call_of(const Witness& w) {
  return {w.probe, w.variant, w.seed, w.amplitude, w.shape_set, w.symbols, w.weights};
}

std::optional<Witness> read_witness(const Json& verdict) {
  const Json& j = verdict["witness"];
  const auto probe = parse_probe(j["probe"].as_string());
  if (!j.is_object() || !probe) return std::nullopt;
  Witness w;
  w.probe = *probe;
  w.shape_set = j["shape_set"].as_string();
  for (const auto& [name, value] : j["symbols"].members()) w.symbols[name] = value.as_int();
  w.seed = read_seed(j["seed"].as_string());
  w.variant = static_cast<uint32_t>(j["variant"].as_int());
  w.amplitude = j["amplitude"].as_double(1);
  w.weights = j["weights"].as_string();
  w.output = j["output"].as_string();
  w.flat_index = j["flat_index"].as_int(-1);
  for (const Json& i : j["index"].items()) w.index.push_back(i.as_int());
  w.expected = read_value(j["expected"], j["expected_text"]);
  w.got = read_value(j["got"], j["got_text"]);
  w.error = j["error"].as_double();
  w.bound = j["bound"].as_double();
  w.call = static_cast<uint64_t>(j["call"].as_int());
  w.note = j["note"].as_string();
  return w;
}

bool replayable(Probe probe) {
  return probe != Probe::one_element && probe != Probe::weights_in_place &&
         probe != Probe::guard_bands && probe != Probe::timed_calls && probe != Probe::schedules;
}

Status run_replay(const task::Task& task, const ReplayCall& call, const SessionStarter& starter,
                  const JudgeOptions& options, Verdict& verdict) {
  FIEL_TRY(task::Instance instance, task.instantiate({call.shape_set, call.symbols, false}));
  const PlannedShape shape{
      call.shape_set, call.symbols, std::make_shared<const task::Instance>(std::move(instance)),
      true,           Tier::full,   0};
  Course course(task, starter, options, verdict);
  ProbeRecipe recipe{call.probe, call.variant, call.seed, call.amplitude};
  FIEL_TRY(const Preparation p, prepare(task, shape.instance, recipe));
  if (!p.expectation) return fail(ErrorCode::unsupported, "no such input set: " + p.dropped);
  FIEL_TRY(auto rig, Rig::start(starter, {}));
  verdict.isolation = rig->session().isolation();
  FIEL_TRY_STATUS(rig->place(shape.instance, Placement::exact));
  CallOptions call_options;
  call_options.probe = call.probe;
  call_options.shape_set = shape.name;
  call_options.timeout_ms = options.call_timeout_ms;
  ProbeResult result = blank(shape, call.probe);
  FIEL_TRY(const bool right, course.check_call(*rig, shape, p, call_options, result));
  course.finish(std::move(result));
  if (!right) return {};
  verdict.status = VerdictStatus::correct;
  verdict.reason = "this call alone is right";
  return {};
}

}  // namespace fiel::judge
