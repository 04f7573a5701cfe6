// Times may be shared where everything is equal that they depend on: each part makes another key.
#include "judge/torch/baseline_key.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>

namespace fiel::judge::torch {
namespace {

struct Situation {
  TorchRequest request;
  std::vector<std::string> policies = {"fp32", "tf32"};
  worker::OpenedTask task;
  worker::TorchFacts machine;

  Situation() {
    request.baseline_cache.worker_version = "worker 1";
    task.digest = "d1";
    worker::TaskInput x;
    x.path = "x";
    x.dtype = "float32";
    x.shape = {64, 128};
    task.inputs = {x};
    task.outputs = {x};
    machine.torch = "2.11.0+cu130";
    machine.cuda = "13.0";
    machine.python = "3.12.3";
    machine.driver = "580.159.04";
    machine.device_name = "NVIDIA H200";
    machine.device_uuid = "GPU-1";
  }
  std::string digest() const { return digest_of(key_of(request, policies, task, machine)); }
};

struct Change {
  const char* what;
  std::function<void(Situation&)> make;
};

const std::vector<Change>& changes() {
  static const std::vector<Change> all = {
      {"task digest", [](Situation& s) { s.task.digest = "d2"; }},
      {"an input's shape",
       [](Situation& s) {
         s.task.inputs[0].shape = {64, 129};
       }},
      {"an input's rank",
       [](Situation& s) {
         s.task.inputs[0].shape = {64, 12, 8};
       }},
      {"an input's dtype", [](Situation& s) { s.task.inputs[0].dtype = "float16"; }},
      {"an output's shape",
       [](Situation& s) {
         s.task.outputs[0].shape = {64, 129};
       }},
      {"one input more", [](Situation& s) { s.task.inputs.push_back(s.task.inputs[0]); }},
      {"torch version", [](Situation& s) { s.machine.torch = "2.12.0+cu130"; }},
      {"CUDA version", [](Situation& s) { s.machine.cuda = "13.1"; }},
      {"Python version", [](Situation& s) { s.machine.python = "3.13.0"; }},
      {"driver", [](Situation& s) { s.machine.driver = "581.00"; }},
      {"GPU's name", [](Situation& s) { s.machine.device_name = "NVIDIA H100"; }},
      {"GPU's UUID", [](Situation& s) { s.machine.device_uuid = "GPU-2"; }},
      {"eval mode", [](Situation& s) { s.request.mode = "eval"; }},
      {"a policy more", [](Situation& s) { s.policies.push_back("default"); }},
      {"a baseline more", [](Situation& s) { s.request.baselines.push_back("max-autotune"); }},
      {"warm caches", [](Situation& s) { s.request.timing = Timing::warm; }},
      {"graphs", [](Situation& s) { s.request.timing = Timing::graph; }},
      {"worker version", [](Situation& s) { s.request.baseline_cache.worker_version = "2"; }},
  };
  return all;
}

TEST(BaselineKey, EveryPartMakesAnotherKey) {
  std::map<std::string, std::string> seen{{Situation().digest(), "nothing"}};
  for (const Change& change : changes()) {
    Situation s;
    change.make(s);
    const auto [known, fresh] = seen.emplace(s.digest(), change.what);
    EXPECT_TRUE(fresh) << change.what << " gives the key of: " << known->second;
  }
}

TEST(BaselineKey, EveryFieldOfTheKeyCounts) {
  const Json base = to_json(BaselineKey{});
  std::map<std::string, std::string> seen;
  std::vector<BaselineKey> keys(15);
  std::string BaselineKey::*const fields[] = {
      &BaselineKey::task_digest, &BaselineKey::shapes,      &BaselineKey::torch,
      &BaselineKey::cuda,        &BaselineKey::python,      &BaselineKey::driver,
      &BaselineKey::device_name, &BaselineKey::device_uuid, &BaselineKey::host,
      &BaselineKey::mode,        &BaselineKey::timing,      &BaselineKey::worker_version,
      &BaselineKey::fiel_version};
  for (size_t i = 0; i < std::size(fields); ++i) keys[i].*fields[i] = "x";
  keys[13].baselines = {"x"};
  keys[14].policies = {"x"};
  for (size_t i = 0; i < keys.size(); ++i)
    EXPECT_TRUE(seen.emplace(digest_of(keys[i]), std::to_string(i)).second) << i;
  EXPECT_FALSE(seen.contains(digest_of(BaselineKey{})));
  // A field that this test does not know would be one that nobody has thought about.
  EXPECT_EQ(base.size(), keys.size() + 1) << base.dump(2);  // and the form
}

TEST(BaselineKey, WhatDoesNotMatterMakesNoOtherKey) {
  const Situation base;
  Situation s;
  s.request.options.seed = 99;
  s.request.kernel_path = "another.cu";
  s.request.task_path = "/elsewhere/task.py";
  s.request.time_budget_ms = 1;
  s.task.name = "renamed";
  s.policies = {"tf32", "fp32"};
  s.request.baselines = {"compile", "eager"};
  EXPECT_EQ(s.digest(), base.digest());
}

}  // namespace
}  // namespace fiel::judge::torch
