// Runs for the tests of reports and exports: a timed one, and one that is as hostile as can be.
#pragma once

#include <cmath>
#include <string>

#include "report/samples.h"
#include "store/store.h"

namespace fiel::report {

inline Json verdict_json(const std::string& kernel, const std::string& status, int exit_code) {
  Json v = Json::object();
  v["status"] = status;
  v["accepted"] = status == "correct";
  v["reward"] = exit_code == 0 ? Json(1) : exit_code == 1 ? Json(-1) : Json();
  v["exit_code"] = exit_code;
  v["reason"] = status == "correct" ? "17 calls compared in full, none wrong" : "it is wrong";
  v["task"] = "softmax";
  v["task_file"] = "tasks/softmax.toml";
  v["kernel"] = kernel;
  v["device"] = "cuda:0";
  v["seed"] = "7";
  v["numerics"] = "fp32";
  v["speed"] = "not_measured";
  v["environment"]["fiel_version"] = "0.1.0";
  v["environment"]["device"] = "NVIDIA H200";
  v["findings"] = Json::array();
  v["probes"] = Json::array();
  return v;
}

inline Json side(const std::string& name, const std::string& policy, double median_ns) {
  Json j = Json::object();
  j["name"] = name;
  j["policy"] = policy;
  j["median_ns"] = median_ns;
  j["low_ns"] = median_ns * 0.98;
  j["high_ns"] = median_ns * 1.02;
  return j;
}

inline Json ratio(const std::string& against, const std::string& policy, double value) {
  Json j = Json::object();
  j["against"] = against;
  j["policy"] = policy;
  j["value"] = value;
  j["low"] = value * 0.97;
  j["high"] = value * 1.03;
  j["decision"] = value > 1.05 ? "faster" : value < 0.95 ? "slower" : "same";
  j["comparable"] = true;
  return j;
}

/// kernel_ns against an eager baseline of 100 µs and a compiled one of 80 µs.
inline Json measurement(double kernel_ns) {
  Json m = Json::object();
  m["speed"] = kernel_ns < 76'000 ? "faster" : "slower";
  m["sides"].push_back(side("kernel", "", kernel_ns));
  m["sides"].push_back(side("eager", "fp32", 100'000));
  m["sides"].push_back(side("compile", "fp32", 80'000));
  m["ratios"].push_back(ratio("eager", "fp32", 100'000 / kernel_ns));
  m["ratios"].push_back(ratio("compile", "fp32", 80'000 / kernel_ns));
  m["headline"] = 1;
  m["memory"]["kernel_peak_bytes"] = 64 << 20;
  m["memory"]["baseline_peak_bytes"] = 96 << 20;
  m["memory"]["kernel_persistent_bytes"] = 1 << 20;
  m["memory"]["baseline_persistent_bytes"] = 0;
  m["memory"]["efficiency"] = 1.5;
  m["own_share"] = 0.75;
  m["floor"]["bytes"] = 128e6;
  m["floor"]["operations"] = 1.3e9;
  m["floor"]["memory_ns"] = 30'000.0;
  m["floor"]["arithmetic_ns"] = 24'000.0;
  m["floor"]["launch_ns"] = 2'000.0;
  m["floor"]["floor_ns"] = 30'000.0;
  m["floor"]["light_share"] = 30'000.0 / kernel_ns;
  m["floor"]["bound_by"] = "memory";
  return m;
}

/// Deterministic samples around a median, with a tail.
inline Json samples(double kernel_ns) {
  Json all = Json::object();
  for (const auto& [name, policy, median] : {std::tuple{"kernel", "", kernel_ns},
                                             {"eager", "fp32", 100'000.0},
                                             {"compile", "fp32", 80'000.0}}) {
    Json s = Json::object();
    s["name"] = name;
    s["policy"] = policy;
    for (int i = 0; i < 60; ++i)
      s["credited_ns"].push_back(median *
                                 (1 + 0.02 * std::sin(i * 12.9898) + (i % 17 == 0 ? 0.06 : 0)));
    all["sides"].push_back(std::move(s));
  }
  return all;
}

inline store::Evidence evidence(size_t place, Json verdict) {
  store::Evidence e;
  e.place = place;
  e.took_ms = 1234;
  e.verdict = std::move(verdict);
  return e;
}

inline store::Evidence timed(size_t place, const std::string& kernel, double kernel_ns) {
  store::Evidence e = evidence(place, verdict_json(kernel, "correct", 0));
  e.verdict["measurement"] = measurement(kernel_ns);
  e.verdict["reward"] = kernel_ns < 76'000 ? 3 : 1;
  e.verdict["speed"] = kernel_ns < 76'000 ? "faster" : "slower";
  e.samples = samples(kernel_ns);
  return e;
}

inline store::RunRecord run_of(std::vector<store::Evidence> verdicts) {
  store::RunRecord run;
  run.header.name = "20261130-softmax";
  run.header.state = "done";
  run.header.entries = verdicts.size();
  for (const store::Evidence& e : verdicts)
    run.entries.push_back({"tasks/softmax.toml", e.verdict["kernel"].as_string(), "1/23",
                           static_cast<int64_t>(e.place)});
  run.verdicts = std::move(verdicts);
  return run;
}

/// Bytes that break formats: colour codes, NUL, U+FFFE, a lone surrogate, CDATA's end, markup.
inline std::string poison() {
  std::string text = "\x1b[31mred\x1b[0m";
  text += '\0';
  text +=
      "\xEF\xBF\xBE ]]> <![CDATA[ </failure> \xED\xA0\x80 \xFF\xC0\xAF & \"'\r\n::error::100%,a:b "
      "| `x` \x7F\xC2\x85";
  return text;
}

/// Every status, hostile text everywhere, numbers that are no numbers.
inline store::RunRecord hostile_run() {
  std::vector<store::Evidence> all;
  const std::pair<const char*, int> statuses[] = {
      {"correct", 0},       {"incorrect", 1}, {"tampering", 1}, {"compile_error", 1},
      {"harness_fault", 3}, {"task_void", 5}, {"timeout", 1}};
  for (const auto& [status, code] : statuses) {
    Json v = verdict_json("kernels/a,b:c%.cu", status, code);
    if (code != 0) v["reason"] = poison();
    v["task"] = poison();
    v["candidate_output"] = poison();
    v["compiler_output"] = std::string(2u << 20, 'e') + poison();
    Json f = Json::object();
    f["code"] = "out-of-bounds";
    f["grade"] = "ERROR";
    f["text"] = poison();
    f["file"] = "a,b:c%.cu";
    f["line"] = 3;
    if (code == 1) v["findings"].push_back(std::move(f));
    all.push_back(evidence(all.size(), std::move(v)));
  }
  for (double zero : {0.0, HUGE_VAL, std::nan(""), -1.0}) {
    store::Evidence e = timed(all.size(), "kernels/forged.cu", 50'000);
    e.verdict["measurement"]["sides"] = Json::array();
    e.verdict["measurement"]["sides"].push_back(side("kernel", "", zero));
    e.verdict["measurement"]["ratios"] = Json::array();
    e.verdict["measurement"]["ratios"].push_back(ratio("eager", "fp32", zero));
    e.verdict["measurement"]["headline"] = 0;
    e.verdict["measurement"]["memory"]["efficiency"] = zero;
    e.verdict["measurement"]["floor"]["light_share"] = zero;
    e.samples = Json();
    all.push_back(std::move(e));
  }
  return run_of(std::move(all));
}

}  // namespace fiel::report
