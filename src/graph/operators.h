// The catalogue: every operator that a graph may hold, one row each.
//
//   const Operator* op = find_operator("conv2d");
//   for (const Operator& row : catalogue()) print(row.signature, row.documentation);
//
// Names, argument order and defaults are PyTorch's (torch.nn.functional, else torch). A row carries
// what an operator is (signature), what it yields (infer), what it computes (evaluate, in float64)
// and what it costs. To add one: a row in ops/<subject>.cpp, and cases in
// tests/graph/torch_conformance; docs/operators.md is generated from here.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"

namespace fiel::graph {

class Value;  // graph/value.h

enum class ParameterKind : uint8_t { tensor, optional_tensor, tensors, attribute };
enum class AttributeType : uint8_t { boolean, integer, real, text, integers, reals, padding };

struct Parameter {
  std::string name;
  ParameterKind kind = ParameterKind::tensor;
  AttributeType type = AttributeType::integer;  ///< attributes only; padding: int[] or a string
  bool required = true;
  std::optional<Attribute> default_value;  ///< empty where required, or where the default is None
};

/// A tensor argument as type inference sees it. `weak`: a number written in the expression, which
/// takes part in promotion only by its category, as a Python scalar does.
struct ArgumentType {
  TensorType type;
  bool present = false;
  bool weak = false;
};

struct Operator;

/// One use of an operator. `inputs` has a slot for each tensor parameter (a list parameter, always
/// the last, has one for each element), absent ones included.
struct Call {
  const Operator* op = nullptr;
  const Node* node = nullptr;
  std::vector<ArgumentType> inputs;
  std::vector<TensorType> results;  ///< filled once inferred
  uint8_t wanted_results = 1;       ///< how many results the graph reads: 1 + highest index

  bool given(size_t slot) const { return slot < inputs.size() && inputs[slot].present; }
  const TensorType& type(size_t slot) const { return inputs[slot].type; }
  const Shape& shape(size_t slot) const { return inputs[slot].type.shape; }

  /// Attributes with the catalogue's default. has() is false where the value is None.
  bool has(std::string_view name) const { return find(name) != nullptr; }
  bool flag(std::string_view name) const;
  int64_t integer(std::string_view name) const;
  double real(std::string_view name) const;
  std::string text(std::string_view name) const;
  std::vector<int64_t> integers(std::string_view name) const;
  std::vector<double> reals(std::string_view name) const;
  const Attribute* find(std::string_view name) const;
};

struct Evaluation {
  const Call& call;
  std::vector<const Value*> inputs;  ///< as call.inputs; null where absent
  uint32_t threads = 1;              ///< 0 = all cores
  int64_t scratch_bytes = 0;         ///< what the operator may allocate beyond its results
};

struct Work {
  double flops = 0;             ///< a multiply and an add are two; a special function is one
  double reduction_length = 0;  ///< additions behind one result element, by this operator alone
};

using Infer = Result<std::vector<TensorType>> (*)(const Call&);
using Evaluate = Result<std::vector<Value>> (*)(const Evaluation&);
using CostRule = Work (*)(const Call&);

struct Operator {
  std::string signature;      ///< "softmax(input, dim: int)": the source of name and parameters
  std::string documentation;  ///< one line
  Infer infer = nullptr;
  Evaluate evaluate = nullptr;
  CostRule cost = nullptr;
  uint8_t result_count = 1;  ///< most results; 0: as many as the call makes (split, chunk)
  std::string group;         ///< heading in docs/operators.md
  std::string name;          ///< from the signature, as is what follows
  std::vector<Parameter> parameters;

  size_t tensor_parameter_count() const;
  size_t min_inputs() const;
  bool takes_list() const;  ///< the last tensor parameter is a list
};

std::span<const Operator> catalogue();
const Operator* find_operator(std::string_view name);
/// The nearest name, or "".
std::string nearest_operator(std::string_view name);

/// docs/operators.md, from the catalogue.
std::string operators_markdown();

/// Fills name and parameters from the signature:
///   tensor `x`, optional tensor `x?`, list of tensors `x*`, attribute `x: type` or
///   `x: type = default`; types bool int float str int[] float[] padding; default None allowed.
void complete_from_signature(Operator& op);

/// Rows by subject, in ops/.
std::vector<Operator> unary_operators();
std::vector<Operator> binary_operators();
std::vector<Operator> matmul_operators();
std::vector<Operator> convolution_operators();
std::vector<Operator> pooling_operators();
std::vector<Operator> reduction_operators();
std::vector<Operator> scan_operators();
std::vector<Operator> softmax_operators();
std::vector<Operator> normalization_operators();
std::vector<Operator> indexing_operators();
std::vector<Operator> shape_operators();
std::vector<Operator> loss_operators();
std::vector<Operator> attention_operators();
std::vector<Operator> recurrent_operators();

}  // namespace fiel::graph
