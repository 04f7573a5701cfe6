#include "judge/noisy_evaluation.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace fiel::judge {
namespace {

/// splitmix64: the noise needs no more quality than independence between neighbours.
uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

/// In ±[0.5, 1): never near zero, so that no element escapes being moved.
double deviate(uint64_t key, uint64_t element) {
  const uint64_t bits = mix(key ^ (element * 0xd1342543de82ef95ull));
  const double magnitude = 0.5 + 0.5 * static_cast<double>(bits >> 12) * 0x1p-52;
  return (bits & 1) != 0 ? magnitude : -magnitude;
}

/// Activations whose usual formula subtracts numbers near 1 or near x, as PyTorch's own kernels do:
/// their error is relative to that number, not to the small result.
enum class Cancels : uint8_t { no, near_one, near_argument };
Cancels cancellation(std::string_view op) {
  static constexpr std::array argument = {"gelu", "tanhshrink", "mish", "hardshrink"};
  static constexpr std::array one = {"elu",   "selu",     "celu",    "expm1", "log1p",
                                     "softplus", "logsigmoid", "erfc", "atanh", "acosh"};
  if (std::find(argument.begin(), argument.end(), op) != argument.end())
    return Cancels::near_argument;
  if (std::find(one.begin(), one.end(), op) != one.end()) return Cancels::near_one;
  return Cancels::no;
}

/// A node alone: its operands become inputs, constants stay what they are (type promotion looks at
/// them).
struct Single {
  graph::Graph graph;
  std::vector<uint32_t> operands;  ///< node numbers of the inputs
};
Single isolate(const graph::Graph& graph, uint32_t number) {
  Single single;
  graph::Node node = graph.nodes[number];
  std::vector<uint32_t> renumbered;
  for (uint32_t operand : node.inputs) {
    if (operand >= graph.nodes.size()) {  // an optional tensor that is not there
      renumbered.push_back(operand);
      continue;
    }
    const graph::Node& source = graph.nodes[operand];
    graph::Node copy;
    if (source.op == "constant") {
      copy = source;
    } else {
      copy.op = "input";
      copy.name = "v" + std::to_string(operand);
      const auto known = std::find(single.operands.begin(), single.operands.end(), operand);
      if (known != single.operands.end()) {
        renumbered.push_back(
            single.graph.inputs[static_cast<size_t>(known - single.operands.begin())]);
        continue;
      }
      single.graph.inputs.push_back(static_cast<uint32_t>(single.graph.nodes.size()));
      single.operands.push_back(operand);
    }
    renumbered.push_back(static_cast<uint32_t>(single.graph.nodes.size()));
    single.graph.nodes.push_back(std::move(copy));
  }
  node.inputs = renumbered;
  single.graph.outputs.push_back({"out", static_cast<uint32_t>(single.graph.nodes.size())});
  single.graph.nodes.push_back(std::move(node));
  return single;
}

void move_relative(Tensor& t, double amount, uint64_t key) {
  if (amount == 0 || t.dtype() != DType::f64) return;
  double* v = t.data_as<double>();
  const int64_t n = t.numel();
  for (int64_t i = 0; i < n; ++i) v[i] *= 1 + amount * deviate(key, static_cast<uint64_t>(i));
}

/// Adds amount · rms(row): what a sum's result is off by, whatever the result itself cancelled to.
void move_by_rms(Tensor& t, double amount, uint64_t key) {
  if (amount == 0 || t.dtype() != DType::f64 || t.numel() == 0) return;
  double* v = t.data_as<double>();
  const int64_t n = t.numel();
  const int64_t last = t.rank() > 0 ? t.shape().back() : 1;
  const int64_t row = last >= 32 ? last : n;
  for (int64_t begin = 0; begin < n; begin += row) {
    double sum = 0;
    int64_t finite = 0;
    for (int64_t i = begin; i < begin + row; ++i)
      if (std::isfinite(v[i])) sum += v[i] * v[i], ++finite;
    const double rms = finite > 0 ? std::sqrt(sum / static_cast<double>(finite)) : 0;
    for (int64_t i = begin; i < begin + row; ++i)
      v[i] += amount * rms * deviate(key, static_cast<uint64_t>(i));
  }
}

void move_cancelled(Tensor& t, const Tensor& argument, Cancels kind, double amount, uint64_t key) {
  if (amount == 0 || t.dtype() != DType::f64 || argument.dtype() != DType::f64) return;
  if (t.numel() != argument.numel()) return;
  double* v = t.data_as<double>();
  const double* x = argument.data_as<double>();
  for (int64_t i = 0; i < t.numel(); ++i) {
    if (!std::isfinite(x[i])) continue;
    const double scale = kind == Cancels::near_one ? 1.0 : std::fabs(x[i]);
    v[i] += amount * scale * deviate(key, static_cast<uint64_t>(i));
  }
}

Result<Tensor> evaluate_node(const graph::Graph& graph, uint32_t number,
                             const std::vector<graph::TensorType>& types,
                             const std::vector<Tensor>& values, const Noise& noise) {
  const Single single = isolate(graph, number);
  const std::string& op = graph.nodes[number].op;
  const uint64_t key = mix(noise.seed * 0x2545f4914f6cdd1dull + number);
  std::vector<graph::TensorType> operand_types;
  for (uint32_t operand : single.operands) operand_types.push_back(types[operand]);
  double terms = 1;
  if (auto cost = graph::cost(single.graph, operand_types)) terms = cost->reduction_length;
  const double growth = terms <= 1 ? 0 : noise.systematic ? terms : std::sqrt(terms);
  std::vector<Tensor> operands;
  for (size_t i = 0; i < single.operands.size(); ++i) {
    const Tensor& value = values[single.operands[i]];
    double amount = 0.25 * growth * noise.accumulate;
    if (is_contraction(op)) amount += noise.contraction;
    if (amount == 0 || value.dtype() != DType::f64) {
      operands.push_back(value);
      continue;
    }
    operands.push_back(value.clone());
    move_relative(operands.back(), amount, mix(key + 17 + i));
  }
  FIEL_TRY(std::vector<Tensor> results, graph::evaluate(single.graph, operands));
  // Views may be shared with the operands: never move a tensor that somebody else reads.
  Tensor result = results.front().clone();
  // A sequential sum of random terms is off by 0.41 √n roundings in rms; the largest of a million
  // such errors by 2 √n, which must stay well below kSafety times this.
  move_by_rms(result, growth * noise.accumulate, mix(key + 1));
  move_relative(result, noise.rounding, mix(key + 2));
  if (const Cancels kind = cancellation(op); kind != Cancels::no && !operands.empty())
    move_cancelled(result, operands.front(), kind, noise.rounding, mix(key + 3));
  return result;
}

}  // namespace

bool is_contraction(std::string_view op) {
  static constexpr std::array prefixes = {"matmul", "mm",     "bmm",  "linear", "einsum",
                                          "addmm",  "baddbmm", "conv", "scaled_dot_product",
                                          "attention", "rnn",  "lstm", "gru",    "dot", "bilinear"};
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](const char* p) { return op.starts_with(p); });
}

Result<std::vector<Tensor>> evaluate_noisy(const graph::Graph& graph,
                                           const std::vector<graph::TensorType>& types,
                                           const std::vector<Tensor>& inputs, const Noise& noise) {
  FIEL_TRY(const std::vector<graph::TensorType> node_types, graph::infer_types(graph, types));
  std::vector<Tensor> values(graph.nodes.size());
  size_t next_input = 0;
  for (uint32_t number : graph.inputs) {
    const Tensor& given = inputs[next_input++];
    if (!is_floating(given.dtype())) {
      values[number] = given;
      continue;
    }
    values[number] = given.dtype() == DType::f64 ? given.clone() : given.to(DType::f64);
    move_relative(values[number], noise.rounding, mix(noise.seed ^ (0xabcdu + number)));
  }
  for (uint32_t number = 0; number < graph.nodes.size(); ++number) {
    const graph::Node& node = graph.nodes[number];
    if (node.op == "input") continue;
    if (node.op == "constant") {
      values[number] = Tensor::scalar(DType::f64, node.constant);
      continue;
    }
    FIEL_TRY(values[number], evaluate_node(graph, number, node_types, values, noise));
  }
  std::vector<Tensor> outputs;
  for (const graph::Output& output : graph.outputs) outputs.push_back(values[output.node]);
  return outputs;
}

}  // namespace fiel::judge
