// SARIF 2.1.0, the part that code scanning shows: rules, results with a place, stable fingerprints.
#include <fmt/core.h>

#include <filesystem>
#include <map>

#include "base/hash.h"
#include "judge/codes.h"
#include "report/export.h"
#include "report/foreign_text.h"

namespace fiel::report {
namespace {

constexpr size_t kMessage = 4000;

// A URI reference: what is not unreserved or a slash is percent-encoded (RFC 3986).
std::string uri_of(std::string_view path) {
  std::string out;
  for (char c : path) {
    const auto u = static_cast<unsigned char>(c);
    if (u < 0x80 &&
        (std::isalnum(u) != 0 || std::string_view("/-._~").find(c) != std::string_view::npos))
      out += c;
    else
      out += fmt::format("%{:02X}", u);
  }
  return out;
}

Json location(std::string_view path, int64_t line) {
  Json j = Json::object();
  std::string uri = uri_of(path);
  if (path.starts_with('/')) uri = "file://" + uri;
  j["physicalLocation"]["artifactLocation"]["uri"] = uri;
  if (line > 0) j["physicalLocation"]["region"]["startLine"] = line;
  return j;
}

Json text_of(std::string_view text) {
  Json j = Json::object();
  j["text"] = clean_text(text, kMessage);
  return j;
}

class Results {
 public:
  void add(const std::string& rule, std::string_view level, std::string_view message, Json place,
           const std::string& fingerprint) {
    Json j = Json::object();
    j["ruleId"] = rule;
    j["ruleIndex"] = index_of(rule);
    j["level"] = level;
    j["message"] = text_of(message);
    j["locations"].push_back(std::move(place));
    j["partialFingerprints"]["fiel/v1"] = fingerprint;
    results_.push_back(std::move(j));
  }
  Json results() const { return results_; }
  Json rules() const { return rules_; }

 private:
  size_t index_of(const std::string& rule) {
    const auto [place, fresh] = index_.emplace(rule, index_.size());
    if (!fresh) return place->second;
    Json j = Json::object();
    j["id"] = rule;
    const auto known = judge::explain(rule);
    j["shortDescription"] = text_of(known ? std::string_view(known->name) : std::string_view(rule));
    if (known) j["fullDescription"] = text_of(known->text);
    if (known && !known->remedy.empty()) j["help"] = text_of(known->remedy);
    rules_.push_back(std::move(j));
    return place->second;
  }
  Json results_ = Json::array(), rules_ = Json::array();
  std::map<std::string, size_t> index_;
};

// Findings name the file as the compiler saw it; a reader wants the path from where he stands.
std::string path_of(const Json& verdict, const Json& finding) {
  const std::string& kernel = verdict["kernel"].as_string();
  const std::filesystem::path file(finding["file"].as_string());
  if (file.empty() || file.filename() == std::filesystem::path(kernel).filename()) return kernel;
  return (std::filesystem::path(kernel).parent_path() / file).lexically_normal().string();
}

std::string_view level_of(const std::string& grade) {
  return grade == "ERROR" ? "error" : grade == "WARN" ? "warning" : "note";
}

void add_verdict(Results& results, const Json& v) {
  const std::string& kernel = v["kernel"].as_string();
  if (!v["accepted"].as_bool()) {
    const int64_t code = v["exit_code"].as_int(3);
    results.add(v["status"].as_string(), code == 1 ? "error" : "warning",
                v["status"].as_string() + ": " + v["reason"].as_string(), location(kernel, 0),
                Digest().add(v["task"].as_string()).add(kernel).add(v["status"].as_string()).hex());
  }
  for (const Json& f : v["findings"].items())
    results.add(f["code"].as_string(), level_of(f["grade"].as_string()), f["text"].as_string(),
                location(path_of(v, f), f["line"].as_int()),
                Digest()
                    .add(v["task"].as_string())
                    .add(kernel)
                    .add(f["code"].as_string())
                    .add(f["instruction"].as_string())
                    .add(f["kernel"].as_string())
                    .hex());
}

}  // namespace

std::string to_sarif(const store::RunRecord& run) {
  Results results;
  std::string version = "0";
  for (const store::Evidence& e : run.verdicts) {
    add_verdict(results, e.verdict);
    if (const std::string& v = e.verdict["environment"]["fiel_version"].as_string(); !v.empty())
      version = v;
  }
  Json driver = Json::object();
  driver["name"] = "fiel";
  driver["version"] = version;
  driver["rules"] = results.rules();
  Json one = Json::object();
  one["tool"]["driver"] = std::move(driver);
  one["columnKind"] = "utf16CodeUnits";
  one["results"] = results.results();
  Json j = Json::object();
  j["$schema"] = "https://json.schemastore.org/sarif-2.1.0.json";
  j["version"] = "2.1.0";
  j["runs"].push_back(std::move(one));
  return j.dump(2) + "\n";
}

}  // namespace fiel::report
