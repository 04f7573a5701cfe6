// KernelBench's eval_results.json:
//   {problem_id: [{sample_id, compiled, correctness, metadata, runtime, runtime_stats}]}
// Times are milliseconds, as its timing code gives them (its result class says microseconds).
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "report/export.h"
#include "report/measured.h"

namespace fiel::report {
namespace {

constexpr double kNsPerMs = 1e6;

// One level's file has plain problem numbers; of several levels the numbers would collide.
std::set<std::string> levels_of(const store::RunRecord& run) {
  std::set<std::string> levels;
  for (const store::Entry& e : run.entries)
    if (const size_t slash = e.problem.find('/'); slash != std::string::npos)
      levels.insert(e.problem.substr(0, slash));
  return levels;
}

std::string problem_key(const std::string& problem, bool one_level) {
  const size_t slash = problem.find('/');
  if (slash == std::string::npos) return problem;
  if (one_level) return problem.substr(slash + 1);
  return fmt::format("level_{}_problem_{}", problem.substr(0, slash), problem.substr(slash + 1));
}

Json stats_of(const store::Evidence& e) {
  Json j = Json::object();
  const auto sides = samples_of(e.samples);
  if (sides.empty()) return j;
  const std::vector<double>& ns = sides.front().credited_ns;
  if (ns.empty()) return j;
  double sum = 0, squares = 0;
  for (double v : ns) sum += v;
  const double mean = sum / static_cast<double>(ns.size());
  for (double v : ns) squares += (v - mean) * (v - mean);
  j["mean"] = mean / kNsPerMs;
  j["std"] =
      std::sqrt(squares / static_cast<double>(std::max<size_t>(ns.size() - 1, 1))) / kNsPerMs;
  j["min"] = *std::min_element(ns.begin(), ns.end()) / kNsPerMs;
  j["max"] = *std::max_element(ns.begin(), ns.end()) / kNsPerMs;
  j["num_trials"] = ns.size();
  j["hardware"] = e.verdict["environment"]["device"].as_string();
  j["device"] = e.verdict["device"].as_string();
  return j;
}

Json sample_json(const store::Evidence& e, int64_t sample) {
  const Json& v = e.verdict;
  const std::string& status = v["status"].as_string();
  Json j = Json::object();
  j["sample_id"] = sample;
  j["compiled"] = status != "compile_error" && v["exit_code"].as_int(3) != 3;
  j["correctness"] = v["accepted"].as_bool();
  j["metadata"] = Json::object();
  j["metadata"]["hardware"] = v["environment"]["device"].as_string();
  j["metadata"]["fiel_status"] = status;
  j["metadata"]["fiel_reason"] = v["reason"].as_string();
  const auto m = measured_of(v);
  const bool timed = m && !m->sides.empty() && m->sides.front().median_ns;
  // KernelBench's own default where nothing was timed.
  j["runtime"] = timed ? Json(*m->sides.front().median_ns / kNsPerMs) : Json(-1.0);
  j["runtime_stats"] = timed ? stats_of(e) : Json::object();
  return j;
}

}  // namespace

std::string to_kernelbench(const store::RunRecord& run) {
  const bool one_level = levels_of(run).size() <= 1;
  std::map<std::string, int64_t> next;
  Json j = Json::object();
  for (const store::Evidence& e : run.verdicts) {
    const store::Entry entry = e.place < run.entries.size() ? run.entries[e.place] : store::Entry{};
    const std::string key = problem_key(
        entry.problem.empty() ? e.verdict["task"].as_string() : entry.problem, one_level);
    const int64_t sample = entry.sample.value_or(next[key]);
    next[key] = std::max(next[key], sample + 1);
    j[key].push_back(sample_json(e, sample));
  }
  return j.dump(4) + "\n";
}

}  // namespace fiel::report
