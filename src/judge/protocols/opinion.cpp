#include "judge/protocols/opinion.h"

#include <fmt/core.h>

namespace fiel::judge {
namespace {

Json number(const std::optional<double>& v) { return v ? Json(*v) : Json(); }
Json count(const std::optional<uint64_t>& v) { return v ? Json(*v) : Json(); }

Json to_json(const OpinionTrial& t) {
  Json j = Json::object();
  j["inputs"] = t.inputs;
  j["passed"] = t.passed;
  j["dropped"] = t.dropped;
  j["max_difference"] = t.max_difference;
  j["why"] = t.why;
  return j;
}

}  // namespace

Json to_json(const Opinion& o) {
  Json j = Json::object();
  j["protocol"] = o.protocol;
  j["source"] = o.source;
  j["accepted"] = o.accepted;
  j["trials"] = Json::array();
  for (const OpinionTrial& t : o.trials) j["trials"].push_back(to_json(t));
  j["clock"] = o.clock;
  j["kernel_ns"] = number(o.kernel_ns);
  j["reference_ns"] = number(o.reference_ns);
  j["compiled_ns"] = number(o.compiled_ns);
  j["speedup"] = number(o.speedup);
  j["kernel_peak_bytes"] = count(o.kernel_peak_bytes);
  j["reference_peak_bytes"] = count(o.reference_peak_bytes);
  j["notes"] = Json::array();
  for (const std::string& n : o.notes) j["notes"].push_back(n);
  return j;
}

std::string summary(const Opinion& o) {
  size_t passed = 0, counted = 0;
  const OpinionTrial* wrong = nullptr;
  for (const OpinionTrial& t : o.trials) {
    if (t.dropped) continue;
    ++counted;
    passed += t.passed ? 1 : 0;
    if (!t.passed && wrong == nullptr) wrong = &t;
  }
  std::string text = fmt::format(
      "opinion of {}, not ours: it would {} this kernel, {} of {} trials "
      "passed",
      o.protocol, o.accepted ? "accept" : "reject", passed, counted);
  if (o.accepted && o.speedup) text += fmt::format(", speed-up {:.3g}", *o.speedup);
  if (wrong != nullptr) text += fmt::format("; with {}: {}", wrong->inputs, wrong->why);
  return text;
}

}  // namespace fiel::judge
