#include "judge/torch/baseline_key.h"

#include <algorithm>

#include "base/hash.h"
#include "judge/environment.h"

namespace fiel::judge::torch {
namespace {

/// Counted up whenever the same program would be timed otherwise, or the file is written otherwise.
constexpr int kForm = 1;

Json sorted(std::vector<std::string> words) {
  std::sort(words.begin(), words.end());
  Json list = Json::array();
  for (std::string& word : words) list.push_back(std::move(word));
  return list;
}

template <typename Leaves>
std::string shapes_of(const Leaves& leaves) {
  std::string text;
  for (const worker::Leaf& leaf : leaves) {
    text += leaf.path + " " + leaf.dtype + "[";
    for (const int64_t extent : leaf.shape) text += std::to_string(extent) + ",";
    text += "];";
  }
  return text;
}

}  // namespace

Json to_json(const BaselineKey& k) {
  return Json::object({{"form", kForm},
                       {"task_digest", k.task_digest},
                       {"shapes", k.shapes},
                       {"torch", k.torch},
                       {"cuda", k.cuda},
                       {"python", k.python},
                       {"driver", k.driver},
                       {"device_name", k.device_name},
                       {"device_uuid", k.device_uuid},
                       {"host", k.host},
                       {"mode", k.mode},
                       {"timing", k.timing},
                       {"baselines", sorted(k.baselines)},
                       {"policies", sorted(k.policies)},
                       {"worker_version", k.worker_version},
                       {"fiel_version", k.fiel_version}});
}

std::string digest_of(const BaselineKey& key) { return sha256_hex(to_json(key).dump()); }

BaselineKey key_of(const TorchRequest& request, std::vector<std::string> policies,
                   const worker::OpenedTask& task, const worker::TorchFacts& machine) {
  const Environment here = describe_environment();
  BaselineKey k;
  k.task_digest = task.digest;
  k.shapes = shapes_of(task.inputs) + " -> " + shapes_of(task.outputs);
  k.torch = machine.torch;
  k.cuda = machine.cuda;
  k.python = machine.python;
  k.driver = machine.driver;
  k.device_name = machine.device_name;
  k.device_uuid = machine.device_uuid;
  k.host = here.host;
  k.mode = request.mode;
  k.timing = std::string(name_of(request.timing));
  k.baselines = request.baselines;
  k.policies = std::move(policies);
  k.worker_version = request.baseline_cache.worker_version;
  k.fiel_version = here.fiel_version;
  return k;
}

}  // namespace fiel::judge::torch
