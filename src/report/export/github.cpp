// GitHub's workflow commands. GitHub shows ten a step, so ten are written, the worst first.
#include <fmt/core.h>

#include <algorithm>

#include "report/export.h"
#include "report/foreign_text.h"

namespace fiel::report {
namespace {

constexpr size_t kAtMost = 10, kProperty = 500, kMessage = 2000;

struct Annotation {
  int weight = 0;  ///< larger is worse
  std::string line;
};

int weight_of(const Json& v) {
  const std::string& status = v["status"].as_string();
  if (status == "tampering" || status == "policy_violation" || status == "timing_invalid") return 4;
  const int64_t code = v["exit_code"].as_int(3);
  return code == 1 ? 3 : code == 3 ? 2 : 1;
}

int64_t line_of(const Json& v) {
  for (const Json& f : v["findings"].items())
    if (f["grade"].as_string() == "ERROR" && f["line"].as_int() > 0) return f["line"].as_int();
  return 0;
}

Annotation annotation_of(const Json& v) {
  const int weight = weight_of(v);
  std::string message = v["reason"].as_string();
  const Json& w = v["witness"];
  if (w.is_object() && w["flat_index"].is_integer())
    message += fmt::format("\n{}: expected {}, got {} on {} at {}", w["output"].as_string(),
                           w["expected_text"].as_string(), w["got_text"].as_string(),
                           w["probe"].as_string(), w["shape_set"].as_string());
  const int64_t line = line_of(v);
  return {weight,
          fmt::format(
              "::{} file={}{},title={}::{}\n", weight == 1 ? "warning" : "error",
              github_property(v["kernel"].as_string(), kProperty),
              line > 0 ? fmt::format(",line={}", line) : "",
              github_property(v["status"].as_string() + ": " + v["task"].as_string(), kProperty),
              github_message(message, kMessage))};
}

}  // namespace

std::string to_github_annotations(const store::RunRecord& run) {
  std::vector<Annotation> all;
  for (const store::Evidence& e : run.verdicts)
    if (!e.verdict["accepted"].as_bool()) all.push_back(annotation_of(e.verdict));
  std::stable_sort(all.begin(), all.end(),
                   [](const Annotation& a, const Annotation& b) { return a.weight > b.weight; });
  std::string text;
  for (size_t i = 0; i < all.size() && i < kAtMost; ++i) text += all[i].line;
  return text;
}

}  // namespace fiel::report
