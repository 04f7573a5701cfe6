// Evaluates a batch of expressions for the comparison with PyTorch.
//
//   graph_evaluate_cases FOLDER     reads cases.json and data.bin, writes results.json, results.bin
//   graph_evaluate_cases --list     names of the catalogue's operators, one a line: name<TAB>group
//   graph_evaluate_cases --markdown   docs/operators.md
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

#include "base/files.h"
#include "base/json.h"
#include "graph/graph.h"
#include "graph/operators.h"

namespace {

using namespace fiel;

Json shape_json(const Shape& shape) {
  Json out = Json::array();
  for (int64_t extent : shape) out.push_back(extent);
  return out;
}

Shape shape_of(const Json& json) {
  Shape shape;
  for (const Json& extent : json.items()) shape.push_back(extent.as_int());
  return shape;
}

Result<Json> run_case(const Json& test, const std::string& data, std::string& out_bytes) {
  graph::ExpressionContext context;
  std::vector<Tensor> values;
  std::vector<graph::TensorType> types;
  for (const Json& in : test["inputs"].items()) {
    auto dtype = parse_dtype(in["dtype"].as_string());
    if (!dtype) return fail(ErrorCode::parse, "no dtype " + in["dtype"].as_string());
    FIEL_TRY(Tensor t, Tensor::checked_empty(*dtype, shape_of(in["shape"])));
    auto offset = static_cast<size_t>(in["offset"].as_int());
    auto bytes = static_cast<size_t>(t.nbytes());
    if (offset + bytes > data.size()) return fail(ErrorCode::parse, "data.bin is too short");
    if (bytes) std::memcpy(t.data(), data.data() + offset, bytes);
    context.inputs.push_back(in["name"].as_string());
    types.push_back({*dtype, t.shape()});
    values.push_back(std::move(t));
  }
  FIEL_TRY(graph::Graph g, graph::parse_expression(test["text"].as_string(), context));
  // Every case also shows that the text form reads back as the same computation.
  FIEL_TRY(graph::Graph again, graph::parse_expression(graph::to_expression(g), context));
  if (!graph::same_computation(g, again))
    return fail(ErrorCode::parse, "the text form differs: " + graph::to_expression(g));
  FIEL_TRY(auto inferred, graph::infer_types(g, types));
  FIEL_TRY_STATUS(graph::cost(g, types).map([](const auto&) {}));
  FIEL_TRY(auto outputs, graph::evaluate(g, values));
  Json result = Json::object();
  result["outputs"] = Json::array();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const graph::TensorType& type = inferred[g.outputs[i].node];
    if (type.shape != outputs[i].shape())
      return fail(ErrorCode::parse, "inferred shape differs from the evaluated one");
    Json o = Json::object();
    o["dtype"] = name_of(outputs[i].dtype());
    o["type"] = name_of(type.dtype);
    o["shape"] = shape_json(outputs[i].shape());
    o["offset"] = out_bytes.size();
    auto bytes = outputs[i].bytes();
    out_bytes.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    result["outputs"].push_back(std::move(o));
  }
  return result;
}

int run(const std::string& folder) {
  auto text = read_file(folder + "/cases.json");
  auto data = read_file(folder + "/data.bin");
  if (!text || !data) return std::fprintf(stderr, "cannot read %s\n", folder.c_str()), 2;
  auto cases = Json::parse(*text);
  if (!cases) return std::fprintf(stderr, "%s\n", to_string(cases.error()).c_str()), 2;
  Json results = Json::array();
  std::string bytes;
  for (const Json& test : cases->items()) {
    auto result = run_case(test, *data, bytes);
    if (result) {
      results.push_back(std::move(*result));
    } else {
      Json e = Json::object();
      e["error"] = to_string(result.error());
      results.push_back(std::move(e));
    }
  }
  std::ofstream(folder + "/results.json") << results.dump();
  std::ofstream(folder + "/results.bin", std::ios::binary) << bytes;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2)
    return std::fprintf(stderr, "usage: graph_evaluate_cases FOLDER | --list | --markdown\n"), 2;
  if (std::string(argv[1]) == "--markdown")
    return std::fputs(fiel::graph::operators_markdown().c_str(), stdout) < 0;
  if (std::string(argv[1]) != "--list") return run(argv[1]);
  for (const auto& op : fiel::graph::catalogue())
    std::printf("%s\t%s\n", op.name.c_str(), op.group.c_str());
  return 0;
}
