// From a task's graph to steps: which space the kernel walks, where each value varies, what a
// composite operator is made of. Used by program_of alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "forge/dimensions.h"
#include "forge/program.h"
#include "forge/scalar_operators.h"
#include "graph/graph.h"
#include "graph/operators.h"

namespace fiel::forge {

class Lowering {
 public:
  Lowering(const task::Instance& at, std::vector<graph::TensorType> types, const Ways& ways)
      : at_(at), types_(std::move(types)), ways_(ways) {}
  Result<Program> run();

 private:
  /// A node of the graph as a step, and whether a row's value lies without the reduced dimensions.
  struct Lowered {
    uint32_t step = 0;
    bool squeezed = false;
  };
  using Node = graph::Node;

  /// What a call reduces: all its operators' inputs, seen as one tensor.
  struct Reduced {
    uint32_t operand = 0;  ///< a node of that shape
    Shape shape = {};
    std::vector<size_t> dims = {};
    bool whole() const { return dims.size() == shape.size(); }
  };

  // space.cpp
  Status choose_space();
  Result<Reduced> reduced_by(const graph::Call& call) const;
  Status space_of_reductions();
  Status choose_groups(const Reduced& main);
  Dimensions joined_dimensions(const Reduced& main) const;
  void join_dimensions(Dimensions& d, uint32_t node, const graph::Call& call,
                       const Reduced& main) const;
  Result<std::vector<std::vector<bool>>> covered_by_inputs(
      const Dimensions& d, const std::vector<uint32_t>& roots) const;
  Status set_groups(const std::vector<std::pair<bool, uint32_t>>& runs, const Shape& shape);
  bool rows_fit() const;
  bool in_groups() const {
    return p_.shape_class == ShapeClass::columns || p_.shape_class == ShapeClass::whole;
  }
  Status space_of_product(const graph::Call& call);
  uint32_t broadcast_dimensions() const;
  Result<Operand> classify_input(size_t index) const;
  Status lower(uint32_t node);
  Result<Lowered> lower_call(uint32_t node, const graph::Call& call);
  Result<Lowered> lower_scalar(uint32_t node, const graph::Call& call, const ScalarText& text);
  Result<std::optional<Lowered>> lower_rows(uint32_t node, const graph::Call& call);
  Result<Lowered> lower_reduction(const graph::Call& call, uint32_t x);
  Lowered lower_logsumexp(uint32_t x, bool squeezed);
  Result<Lowered> lower_normalisation(const graph::Call& call, uint32_t x);
  Result<Lowered> lower_softmax(const graph::Call& call, uint32_t x);
  Lowered normalised(uint32_t x, double eps, uint32_t weight_slot, const graph::Call& call);
  Lowered lower_statistics(const graph::Call& call, uint32_t x);

  // losses.cpp
  Result<Lowered> lower_loss(const graph::Call& call);
  Result<Lowered> lower_cross_entropy(const graph::Call& call);
  Result<Lowered> lower_triplet(const graph::Call& call);
  Result<Lowered> averaged(const graph::Call& call, uint32_t each);
  Result<Lowered> lower_product(const graph::Call& call);
  Result<std::pair<uint32_t, bool>> matrix_operand(uint32_t node) const;
  bool is_count(uint32_t node) const;
  Result<Operand> classify_output(const graph::Output& output, DType dtype) const;
  Status finish();

  uint32_t add(Step step);
  uint32_t constant(double v);
  uint32_t count(Count of = Count::reduced);
  uint32_t count_all(uint32_t of);  ///< as reduce_all takes them
  uint32_t apply(std::string text, std::vector<uint32_t> arguments, std::string fast = {},
                 bool expensive = false);
  uint32_t reduce(Reduction reduction, uint32_t of);
  uint32_t reduce_all(Reduction reduction, uint32_t of);
  uint32_t part(uint32_t of, uint32_t which);
  struct Moments {
    uint32_t mean, square_sum;  ///< of differences from the mean
  };
  Moments moments(uint32_t x);
  uint32_t exponential(uint32_t of);

  graph::Call call_of(uint32_t node) const;
  size_t index_of(const graph::Call& call) const {
    return static_cast<size_t>(call.node - at_.graph.nodes.data());
  }
  std::string refusal(const Node& node) const;
  bool reduces(const graph::Call& call) const;
  uint32_t argument(const graph::Call& call, size_t slot) const {
    return lowered_[call.node->inputs[slot]].step;
  }

  const task::Instance& at_;
  std::vector<graph::TensorType> types_;
  Ways ways_;
  Program p_;
  Shape space_;
  std::optional<uint32_t> product_node_;
  std::vector<Reduced> reductions_;
  std::vector<Groups> input_groups_;
  Groups reduced_ = 0;
  std::vector<Lowered> lowered_;
  std::array<std::optional<uint32_t>, 3> counts_;
};

tl::unexpected<Error> no_template(std::string why);
/// Whether the call says so: an attribute that the operator has and that is not None.
bool says(const graph::Call& call, std::string_view name);
bool is_loss(const graph::Call& call);  ///< of pairs, classes or triplets

}  // namespace fiel::forge
