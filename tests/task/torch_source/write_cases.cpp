// Writes, for each task of a folder at its first shape set: the generated PyTorch module, inputs,
// and what our own evaluation says.
//
//   task_torch_source TASKS OUT     OUT/NAME.py, OUT/NAME.json, OUT/NAME.bin
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/json.h"
#include "task/torch_source.h"
#include "tensor/random.h"

namespace {

using namespace fiel;
namespace fs = std::filesystem;

Json describe(const Tensor& t, std::string& bytes) {
  Json shape = Json::array();
  for (int64_t n : t.shape()) shape.push_back(n);
  Json j = Json::object({{"dtype", std::string(name_of(t.dtype()))}, {"shape", shape}});
  j["offset"] = bytes.size();
  auto raw = t.bytes();
  bytes.append(reinterpret_cast<const char*>(raw.data()), raw.size());
  bytes.resize((bytes.size() + 7) / 8 * 8);
  return j;
}

Result<Tensor> input(const task::Instance& at, size_t i) {
  const task::InputSpec& spec = at.input_specs[i];
  Distribution d{DistributionKind::indices, static_cast<double>(at.index_bounds[i]), 0};
  if (spec.domain != task::Domain::index) {
    FIEL_TRY(d, parse_distribution(spec.distribution));
  }
  return generate(d, spec.dtype, at.inputs[i].shape, Stream{11, i});
}

Status write(const fs::path& file, const fs::path& out) {
  FIEL_TRY(task::Task task, task::load_task(file.string()));
  FIEL_TRY(task::Instance at, task.instantiate(task.shape_sets[0]));
  FIEL_TRY(std::string source, task::torch_source(task, at));
  std::vector<Tensor> inputs;
  std::string bytes;
  Json j = Json::object({{"inputs", Json::array()}, {"outputs", Json::array()}});
  for (size_t i = 0; i < at.inputs.size(); ++i) {
    FIEL_TRY(Tensor t, input(at, i));
    j["inputs"].push_back(describe(t, bytes));
    inputs.push_back(std::move(t));
  }
  FIEL_TRY(auto outputs, at.reference(inputs));
  for (size_t i = 0; i < outputs.size(); ++i) {
    Json o = describe(outputs[i], bytes);
    o["declared"] = std::string(name_of(at.outputs[i].dtype));
    j["outputs"].push_back(std::move(o));
  }
  std::ofstream(out / (task.name + ".py")) << source;
  std::ofstream(out / (task.name + ".json")) << j.dump();
  std::ofstream(out / (task.name + ".bin"), std::ios::binary) << bytes;
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: task_torch_source TASKS OUT\n"), 2;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(argv[1]))
    if (entry.path().extension() == ".toml") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  int failures = 0;
  for (const fs::path& file : files)
    if (auto done = write(file, argv[2]); !done) {
      std::printf("%s: %s\n", file.c_str(), to_string(done.error()).c_str());
      ++failures;
    }
  return failures > 0;
}
