#include "task/torch_source.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "base/text.h"
#include "task/torch_spelling.h"
#include "tensor/random.h"

namespace fiel::task {
namespace {

constexpr std::string_view kTaken[] = {"and",
                                       "as",
                                       "assert",
                                       "async",
                                       "await",
                                       "break",
                                       "class",
                                       "continue",
                                       "def",
                                       "del",
                                       "elif",
                                       "else",
                                       "except",
                                       "False",
                                       "finally",
                                       "for",
                                       "from",
                                       "global",
                                       "if",
                                       "import",
                                       "in",
                                       "is",
                                       "lambda",
                                       "None",
                                       "nonlocal",
                                       "not",
                                       "or",
                                       "pass",
                                       "raise",
                                       "return",
                                       "True",
                                       "try",
                                       "while",
                                       "with",
                                       "yield",
                                       "self",
                                       "torch",
                                       "F",
                                       "super",
                                       "isinstance",
                                       "tuple",
                                       "float",
                                       "rotary_embedding",
                                       "recurrent_cell",
                                       "result_of"};

constexpr const char* kResultOf = R"(def result_of(values, i):
    """Some functions give one tensor or several, as they are asked."""
    return values[i] if isinstance(values, tuple) else values
)";

std::string shape_text(const Shape& shape) {
  std::string out = "(";
  for (int64_t n : shape) out += std::to_string(n) + ", ";
  return out + ")";
}

class Names {
 public:
  std::string fresh(std::string wanted) {
    for (char& c : wanted)
      if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
    if (wanted.empty() || std::isdigit(static_cast<unsigned char>(wanted[0])))
      wanted = "t" + wanted;
    auto taken = [&](const std::string& n) {
      return std::find(std::begin(kTaken), std::end(kTaken), n) != std::end(kTaken);
    };
    while (taken(wanted) || !used_.insert(wanted).second) wanted += '_';
    return wanted;
  }

 private:
  std::set<std::string> used_;
};

/// The lines of forward(), one a node.
class Forward {
 public:
  Forward(const Instance& at, const std::vector<graph::TensorType>& types)
      : at_(at), types_(types) {
    for (const InputSpec& spec : at.input_specs) parameters.push_back(names_.fresh(spec.name));
    text_.resize(at.graph.nodes.size());
    number_.resize(at.graph.nodes.size());
    for (size_t i = 0; i < at.graph.inputs.size(); ++i) text_[at.graph.inputs[i]] = parameters[i];
  }

  Status write() {
    const auto& nodes = at_.graph.nodes;
    for (uint32_t i = 0; i < nodes.size(); ++i) FIEL_TRY_STATUS(node(i));
    std::vector<std::string> results;
    for (size_t i = 0; i < at_.graph.outputs.size(); ++i) results.push_back(output(i));
    lines += "        return ";
    for (size_t i = 0; i < results.size(); ++i) lines += (i ? ", " : "") + results[i];
    lines += "\n";
    return {};
  }

  std::vector<std::string> parameters;
  std::string lines;
  std::set<std::string> helpers;

 private:
  Status node(uint32_t i) {
    const graph::Node& n = at_.graph.nodes[i];
    if (n.op == "input") return {};
    if (n.op == "none") return text_[i] = "None", Status{};
    if (n.op == "constant") return constant(i), Status{};
    TorchCall call{graph::find_operator(n.op), &n, {}, {}, {}, ""};
    if (!call.op) return fail(ErrorCode::unsupported, "no PyTorch spelling of " + n.op);
    call.device = parameters.empty() ? "None" : parameters[0] + ".device";
    for (uint32_t input : n.inputs) {
      call.inputs.push_back(text_[input]);
      call.number.push_back(number_[input]);
      call.ranks.push_back(types_[input].shape.size());
    }
    FIEL_TRY(std::string expression, torch_expression(call, helpers));
    if (call.op->result_count != 1) expression = one_result(expression, n, *call.op);
    text_[i] = names_.fresh(n.name.empty() ? "t" + std::to_string(i) : n.name);
    lines += fmt::format("        {} = {}\n", text_[i], expression);
    return {};
  }

  /// Nodes that select different results of one call share it.
  std::string one_result(const std::string& expression, const graph::Node& n,
                         const graph::Operator& op) {
    auto [it, fresh] = calls_.try_emplace(expression, "");
    if (fresh) {
      it->second = names_.fresh(op.name + "_results");
      lines += fmt::format("        {} = {}\n", it->second, expression);
    }
    helpers.insert(kResultOf);
    return fmt::format("result_of({}, {})", it->second, n.result);
  }

  void constant(uint32_t i) {
    const graph::Node& n = at_.graph.nodes[i];
    number_[i] = true;
    for (const auto& [name, value] : n.attributes) {
      if (name != "value") continue;
      if (const auto* b = std::get_if<bool>(&value)) text_[i] = *b ? "True" : "False";
      if (const auto* k = std::get_if<int64_t>(&value)) text_[i] = std::to_string(*k);
    }
    if (text_[i].empty()) text_[i] = real_text(n.constant);
    if (text_[i][0] == '-') text_[i] = "(" + text_[i] + ")";
  }

  static std::string real_text(double v) {
    std::string text = format_double(v);
    if (text.find_first_not_of("0123456789-+.eE") != std::string::npos)
      return "float(\"" + text + "\")";
    return text.find_first_of(".eE") == std::string::npos ? text + ".0" : text;
  }

  std::string output(size_t i) {
    const uint32_t node = at_.graph.outputs[i].node;
    const DType declared = at_.outputs[i].dtype;
    if (types_[node].dtype == declared) return text_[node];
    return fmt::format("({}).to({})", text_[node], torch_name(declared));
  }

  const Instance& at_;
  const std::vector<graph::TensorType>& types_;
  Names names_;
  std::vector<std::string> text_;
  std::vector<bool> number_;
  std::map<std::string, std::string> calls_;
};

/// One input as get_inputs makes it.
Result<std::string> made(const InputSpec& spec, const graph::TensorType& type, int64_t bound) {
  const std::string shape = shape_text(type.shape), dtype = torch_name(type.dtype);
  if (spec.domain == Domain::index)
    return fmt::format("torch.randint(0, {}, {}, dtype={})", std::max<int64_t>(bound, 1), shape,
                       dtype);
  FIEL_TRY(Distribution d, parse_distribution(spec.distribution));
  auto cast = [&](const std::string& e) { return fmt::format("({}).to({})", e, dtype); };
  const std::string a = format_double(d.a), b = format_double(d.b);
  switch (d.kind) {
    case DistributionKind::uniform:
      return cast(fmt::format("torch.rand({}) * ({} - {}) + {}", shape, b, a, a));
    case DistributionKind::mask:
      return cast(fmt::format("torch.rand({}) < {}", shape, a));
    case DistributionKind::probability:
      return cast(fmt::format("torch.softmax(torch.randn({}), -1)", shape));
    case DistributionKind::constant:
      return cast(fmt::format("torch.full({}, {})", shape, a));
    case DistributionKind::indices:
      return fmt::format("torch.randint(0, {}, {}, dtype={})", a, shape, dtype);
    case DistributionKind::permutation:
      return cast(fmt::format("torch.rand({}).argsort(-1)", shape));
    case DistributionKind::normal:
    case DistributionKind::offset:
      return cast(fmt::format("torch.randn({}) * {} + {}", shape, b, a));
    default:
      break;
  }
  const std::string standard = fmt::format("torch.randn({})", shape);
  return cast(spec.domain == Domain::positive ? standard + ".abs() + 0.01" : standard);
}

Result<std::string> get_inputs(const Instance& at) {
  std::string out = "def get_inputs():\n    return [\n";
  for (size_t i = 0; i < at.inputs.size(); ++i) {
    FIEL_TRY(std::string input, made(at.input_specs[i], at.inputs[i], at.index_bounds[i]));
    out += "        " + input + ",\n";
  }
  return out + "    ]\n";
}

}  // namespace

Result<std::string> torch_source(const Task& task, const Instance& at) {
  FIEL_TRY(auto types, graph::infer_types(at.graph, at.inputs));
  Forward forward(at, types);
  FIEL_TRY_STATUS(forward.write());
  FIEL_TRY(std::string inputs, get_inputs(at));
  std::string out = fmt::format("# {} at shape set '{}', generated from the task's expression.\n",
                                task.name, at.shape_set);
  out += "import torch\nimport torch.nn.functional as F\n\n\n";
  for (const std::string& helper : forward.helpers) out += helper + "\n\n";
  out += "class Model(torch.nn.Module):\n    def forward(self";
  for (const std::string& p : forward.parameters) out += ", " + p;
  out += "):\n" + forward.lines + "\n\n" + inputs + "\n\ndef get_init_inputs():\n    return []\n";
  return out;
}

}  // namespace fiel::task
