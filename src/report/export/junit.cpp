// JUnit's XML as Jenkins, GitLab and pytest's readers take it: one testcase a kernel.
//
// A kernel that was judged and refused is a failure, what could not be judged an error, a task that
// cannot tell right from wrong skipped. Seconds have three decimals: Surefire's schema takes no
// more.
#include <fmt/core.h>

#include <map>
#include <string_view>

#include "report/export.h"
#include "report/foreign_text.h"

namespace fiel::report {
namespace {

constexpr size_t kAttribute = 2000, kBody = 64u << 10;

enum class Outcome { passed, failure, error, skipped };

Outcome outcome_of(const Json& verdict) {
  const int64_t code = verdict["exit_code"].as_int(3);
  return code == 0   ? Outcome::passed
         : code == 1 ? Outcome::failure
         : code == 5 ? Outcome::skipped
                     : Outcome::error;
}

struct Counts {
  size_t tests = 0, failures = 0, errors = 0, skipped = 0;
  int64_t took_ms = 0;
  void add(const store::Evidence& e) {
    const Outcome o = outcome_of(e.verdict);
    ++tests;
    failures += o == Outcome::failure;
    errors += o == Outcome::error;
    skipped += o == Outcome::skipped;
    took_ms += e.took_ms;
  }
  std::string attributes() const {
    return fmt::format(R"(tests="{}" failures="{}" errors="{}" skipped="{}" time="{:.3f}")", tests,
                       failures, errors, skipped, static_cast<double>(took_ms) / 1000);
  }
};

std::string details_of(const Json& v) {
  std::string text = v["reason"].as_string() + "\n";
  const Json& w = v["witness"];
  if (w.is_object())
    text += fmt::format("witness: {} at {}, {}: expected {}, got {}\n", w["probe"].as_string(),
                        w["shape_set"].as_string(), w["output"].as_string(),
                        w["expected_text"].as_string(), w["got_text"].as_string());
  for (const Json& f : v["findings"].items()) text += f["text"].as_string() + "\n";
  if (!v["compiler_output"].as_string().empty())
    text += "compiler:\n" + v["compiler_output"].as_string() + "\n";
  if (!v["candidate_output"].as_string().empty())
    text += "it printed:\n" + v["candidate_output"].as_string() + "\n";
  text += fmt::format("seed: {}\n", v["seed"].as_string());
  return text;
}

std::string property(std::string_view name, std::string_view value) {
  return fmt::format("        <property name=\"{}\" value=\"{}\"/>\n", name,
                     xml_text(value, kAttribute));
}

std::string testcase(const store::Evidence& e) {
  const Json& v = e.verdict;
  std::string text = fmt::format(
      "    <testcase classname=\"{}\" name=\"{}\" time=\"{:.3f}\">\n      <properties>\n",
      xml_text(v["task"].as_string(), kAttribute), xml_text(v["kernel"].as_string(), kAttribute),
      static_cast<double>(e.took_ms) / 1000);
  text += property("status", v["status"].as_string());
  text += property("speed", v["speed"].as_string());
  if (v["numerics"].is_string()) text += property("numerics", v["numerics"].as_string());
  text += "      </properties>\n";
  const Outcome outcome = outcome_of(v);
  const std::string message = xml_text(v["reason"].as_string(), kAttribute);
  if (outcome == Outcome::skipped) {
    text += fmt::format("      <skipped message=\"{}\"/>\n", message);
  } else if (outcome != Outcome::passed) {
    const std::string_view tag = outcome == Outcome::failure ? "failure" : "error";
    text += fmt::format("      <{} type=\"{}\" message=\"{}\">{}</{}>\n", tag,
                        xml_text(v["status"].as_string(), kAttribute), message,
                        xml_text(details_of(v), kBody), tag);
  }
  return text + "    </testcase>\n";
}

}  // namespace

std::string to_junit(const store::RunRecord& run) {
  std::map<std::string, std::vector<const store::Evidence*>> suites;
  Counts all;
  for (const store::Evidence& e : run.verdicts) {
    suites[e.verdict["task"].as_string()].push_back(&e);
    all.add(e);
  }
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  text += fmt::format("<testsuites name=\"{}\" {}>\n",
                      xml_text("fiel " + run.header.name, kAttribute), all.attributes());
  for (const auto& [task, cases] : suites) {
    Counts counts;
    for (const store::Evidence* e : cases) counts.add(*e);
    text += fmt::format("  <testsuite name=\"{}\" {}>\n", xml_text(task, kAttribute),
                        counts.attributes());
    for (const store::Evidence* e : cases) text += testcase(*e);
    text += "  </testsuite>\n";
  }
  return text + "</testsuites>\n";
}

}  // namespace fiel::report
