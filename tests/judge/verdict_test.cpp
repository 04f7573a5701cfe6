// The verdict's JSON against the schema that is published, and the words against their
// explanations.
#include "judge/verdict.h"

#include <gtest/gtest.h>

#include <set>

#include "base/files.h"
#include "judge/protocols/protocol.h"
#include "judge/readable.h"
#include "places.h"

namespace fiel::judge {
namespace {

Json schema() {
  auto text = read_file(in_source("docs/verdict.schema.json"));
  EXPECT_TRUE(text.has_value());
  auto json = Json::parse(text.value_or("{}"));
  EXPECT_TRUE(json.has_value());
  return json.value_or(Json::object());
}

Verdict full_verdict() {
  Verdict v;
  v.witness = Witness{};
  v.witness->index = {1, 2};
  v.opinion = Opinion{};
  v.opinion->trials.push_back({});
  v.probes.push_back({});
  v.findings.push_back({});
  v.void_checks.push_back({});
  v.skipped_shapes.push_back({});
  v.measurement = Measurement{};
  v.measurement->sides.push_back({});
  v.measurement->ratios.push_back({});
  v.measurement->floor = Floor{};
  v.measurement->launched.kernels.push_back({});
  return v;
}

std::set<std::string> keys(const Json& object) {
  std::set<std::string> names;
  for (const auto& [name, value] : object.members()) names.insert(name);
  return names;
}

TEST(VerdictJson, HasExactlyTheKeysOfThePublishedSchema) {
  const Json s = schema(), v = to_json(full_verdict());
  const std::pair<const Json&, const char*> parts[] = {
      {v, "verdict"},
      {v["witness"], "witness"},
      {v["probes"].items()[0], "probe"},
      {v["findings"].items()[0], "finding"},
      {v["void_checks"].items()[0], "void_check"},
      {v["skipped_shapes"].items()[0], "skipped_shape"},
      {v["opinion"], "opinion"},
      {v["opinion"]["trials"].items()[0], "opinion_trial"},
      {v["measurement"], "measurement"},
      {v["measurement"]["ratios"].items()[0], "ratio"},
      {v["measurement"]["sides"].items()[0], "side"},
      {v["measurement"]["memory"], "memory"},
      {v["measurement"]["floor"], "floor"},
      {v["measurement"]["kernels"].items()[0], "kernel"},
      {v["isolation"], "isolation"},
      {v["environment"], "environment"},
      {v["resources"], "resources"}};
  for (const auto& [json, name] : parts) {
    EXPECT_EQ(keys(json), keys(s["$defs"][name]["properties"])) << name;
    EXPECT_EQ(keys(json).size(), s["$defs"][name]["required"].size()) << name;
  }
}

TEST(VerdictJson, NamesAndNumbersOfStatusesAreStable) {
  const char* names[] = {"correct",          "incorrect",   "timing_invalid", "tampering",
                         "policy_violation", "task_void",   "compile_error",  "runtime_error",
                         "timeout",          "unsupported", "harness_fault",  "undecided"};
  for (int i = 0; i < kStatusCount; ++i) {
    EXPECT_EQ(name_of(static_cast<VerdictStatus>(i)), names[i]);
    EXPECT_EQ(parse_status(names[i]), static_cast<VerdictStatus>(i));
  }
  const Json s = schema();
  const Json& listed = s["$defs"]["verdict"]["properties"]["status"]["enum"];
  EXPECT_EQ(listed.size(), static_cast<size_t>(kStatusCount));
}

/// -1 for whatever was judged and refused, measured or not; nothing where nobody was judged.
TEST(VerdictJson, EveryStatusHasItsReward) {
  for (int i = 0; i < kStatusCount; ++i) {
    Verdict v;
    v.status = static_cast<VerdictStatus>(i);
    const int code = exit_code_of(v);
    const Json reward = to_json(v)["reward"];
    const std::string want = code == 0 ? "1" : code == 1 ? "-1" : "null";
    EXPECT_EQ(reward.dump(), want) << name_of(v.status);
  }
  Verdict refused;
  refused.status = VerdictStatus::unsupported;
  refused.unsupported_by = "device";
  EXPECT_TRUE(to_json(refused)["reward"].is_null()) << "the device is at fault";
  Verdict fast;
  fast.status = VerdictStatus::correct;
  fast.measurement = Measurement{};
  EXPECT_EQ(reward_of(fast), 1) << "nothing was timed";
  fast.measurement->reward = 3;
  EXPECT_EQ(to_json(fast)["reward"].as_int(), 3);
  fast.status = VerdictStatus::timing_invalid;
  EXPECT_EQ(reward_of(fast), -1) << "whatever was measured before";
}

TEST(VerdictJson, ProbeNamesAreThoseOfTheSchema) {
  const Json s = schema();
  std::set<std::string> listed, ours;
  for (const Json& n : s["$defs"]["probe_name"]["enum"].items()) listed.insert(n.as_string());
  for (int i = 0; i < kProbeCount; ++i) ours.emplace(name_of(static_cast<Probe>(i)));
  EXPECT_EQ(listed, ours);
}

TEST(VerdictJson, WritesNaNAsNullAndAsText) {
  Verdict v = full_verdict();
  v.witness->expected = 1;
  v.witness->got = std::numeric_limits<double>::quiet_NaN();
  const Json j = *Json::parse(to_json(v).dump());
  EXPECT_TRUE(j["witness"]["got"].is_null());
  EXPECT_EQ(j["witness"]["got_text"].as_string(), "nan");
  EXPECT_EQ(j["witness"]["expected"].as_double(), 1);
}

TEST(Readable, ForgetsTheBuildFolderAndDemanglesNames) {
  EXPECT_EQ(readable("at /home/me/.cache/fiel/build/tmp.Ab12/source/k.cu:31 (_Z4workPf), x"),
            "at k.cu:31 (work), x");
  EXPECT_EQ(readable("at /kernel/k.cu:3 and /opt/kernel/k.cu"), "at k.cu:3 and /opt/kernel/k.cu");
  EXPECT_EQ(readable("/opt/source/k.cu and not_Z4workPf"), "/opt/source/k.cu and not_Z4workPf");
  EXPECT_EQ(demangled("_Z3addIfEvPT_"), "void add<float>(float*)");
  EXPECT_EQ(demangled("plain"), "plain");
}

TEST(ExitCodes, AWrongKernelAndABrokenMachineNeverShareOne) {
  const std::set<VerdictStatus> ours = {VerdictStatus::harness_fault, VerdictStatus::undecided,
                                        VerdictStatus::task_void};
  for (int i = 1; i < kStatusCount; ++i) {
    const auto s = static_cast<VerdictStatus>(i);
    EXPECT_EQ(exit_code_of(s) == 1, !ours.contains(s)) << name_of(s);
  }
  Verdict v;
  v.status = VerdictStatus::unsupported;
  v.unsupported_by = "device";
  EXPECT_EQ(exit_code_of(v), 3);
  v.unsupported_by = "kernel";
  EXPECT_EQ(exit_code_of(v), 1);
}

TEST(Explanations, CoverEveryStatusProbeFindingAndClassOnce) {
  std::set<std::string> names;
  for (const Explanation& e : all_explanations()) {
    EXPECT_TRUE(names.insert(e.name).second) << e.name << " twice";
    EXPECT_GE(e.text.size(), 20u) << e.name;
  }
  for (int i = 0; i < kStatusCount; ++i)
    EXPECT_TRUE(explain(name_of(static_cast<VerdictStatus>(i))).has_value());
  for (int i = 0; i < kProbeCount; ++i)
    EXPECT_TRUE(explain(name_of(static_cast<Probe>(i))).has_value());
#define FIEL_X(id, name) EXPECT_TRUE(explain(name).has_value()) << name;
  FIEL_JUDGE_FINDINGS(FIEL_X)
#undef FIEL_X
#define FIEL_X(id, code, grade) EXPECT_TRUE(explain(code).has_value()) << code;
  FIEL_FINDINGS(FIEL_X)
#undef FIEL_X
  for (NumericsClass c :
       {NumericsClass::fp64, NumericsClass::fp32, NumericsClass::tf32, NumericsClass::fp16,
        NumericsClass::bf16, NumericsClass::fp8, NumericsClass::integer, NumericsClass::below})
    EXPECT_TRUE(explain(fiel::name_of(c)).has_value()) << fiel::name_of(c);
}

TEST(Explanations, SayWhatEachProtocolIsWithTheFiguresOfItsRules) {
  for (const Protocol p : all_protocols()) {
    const std::optional<Explanation> e = explain(name_of(p));
    ASSERT_TRUE(e.has_value()) << name_of(p);
    EXPECT_EQ(e->kind, "protocol");
    EXPECT_FALSE(e->remedy.empty()) << name_of(p);
    if (p == Protocol::strict) continue;
    EXPECT_NE(e->text.find(rules_of(p).source), std::string::npos) << e->text;
    EXPECT_NE(e->text.find("Trials: " + std::to_string(rules_of(p).trials)), std::string::npos);
  }
}

}  // namespace
}  // namespace fiel::judge
