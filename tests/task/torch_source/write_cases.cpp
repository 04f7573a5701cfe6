// Writes, for each task of a folder at its first shape set: the generated PyTorch module, inputs,
// and what our own evaluation says. Or the modules of single expressions.
//
//   task_torch_source TASKS OUT            OUT/NAME.py, OUT/NAME.json, OUT/NAME.bin
//   task_torch_source --expressions OUT    OUT/cases.json (tests/graph/torch_conformance) to
//                                          OUT/NUMBER.py, or OUT/NUMBER.error with the reason
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/files.h"
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

Result<DType> dtype_named(const std::string& name) {
  if (const auto dtype = parse_dtype(name)) return *dtype;
  return fail(ErrorCode::parse, "no dtype " + name);
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
  Json j = Json::object(
      {{"inputs", Json::array()}, {"outputs", Json::array()}, {"domains", Json::array()}});
  constexpr const char* kDomains[] = {"real", "positive", "probability", "index", "mask"};
  for (const task::InputSpec& spec : at.input_specs)
    j["domains"].push_back(kDomains[static_cast<size_t>(spec.domain)]);
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

/// An expression without a task file around it: its inputs have fixed shapes.
Result<std::string> source_of(const Json& test) {
  graph::ExpressionContext context;
  task::Instance at;
  at.shape_set = "fixed";
  for (const Json& in : test["inputs"].items()) {
    task::InputSpec spec;
    spec.name = in["name"].as_string();
    FIEL_TRY(spec.dtype, dtype_named(in["dtype"].as_string()));
    Shape shape;
    for (const Json& n : in["shape"].items()) shape.push_back(n.as_int());
    context.inputs.push_back(spec.name);
    at.inputs.push_back({spec.dtype, shape});
    at.index_bounds.push_back(0);
    at.input_specs.push_back(std::move(spec));
  }
  FIEL_TRY(at.graph, graph::parse_expression(test["text"].as_string(), context));
  FIEL_TRY(const auto types, graph::infer_types(at.graph, at.inputs));
  for (const auto& output : at.graph.outputs) at.outputs.push_back(types[output.node]);
  task::Task task;
  task.name = "expression";
  return task::torch_source(task, at);
}

int write_expressions(const fs::path& out) {
  const auto text = read_file(out / "cases.json");
  const auto cases = text ? Json::parse(*text) : fail(text.error());
  if (!cases) return std::fprintf(stderr, "%s\n", to_string(cases.error()).c_str()), 2;
  for (size_t i = 0; i < cases->items().size(); ++i) {
    const auto source = source_of(cases->items()[i]);
    const std::string number = std::to_string(i);
    if (source)
      std::ofstream(out / (number + ".py")) << *source;
    else
      std::ofstream(out / (number + ".error")) << to_string(source.error());
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "--expressions") return write_expressions(argv[2]);
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
