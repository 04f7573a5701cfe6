// The space that a kernel walks: what is reduced, what is kept, and where each input varies.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "forge/lowering.h"

namespace fiel::forge {
namespace {

constexpr std::array kReductions = {"sum", "mean", "amax", "amin", "max",
                                    "min", "var",  "std",  "norm", "logsumexp"};
constexpr std::array kShapeKeeping = {"softmax",  "log_softmax", "softmin",    "layer_norm",
                                      "rms_norm", "normalize",   "batch_norm", "instance_norm"};
constexpr std::array kRearranging = {"transpose", "squeeze", "unsqueeze"};
constexpr std::array kProducts = {"matmul", "mm", "linear", "addmm"};

template <typename List>
bool is_one_of(const std::string& name, const List& list) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

int64_t product_of(Shape::const_iterator begin, Shape::const_iterator end) {
  return std::accumulate(begin, end, int64_t{1}, std::multiplies<>());
}

std::vector<size_t> all_below(size_t n) {
  std::vector<size_t> all(n);
  std::iota(all.begin(), all.end(), size_t{0});
  return all;
}

/// What `dim` says; all dimensions where it says nothing.
std::vector<size_t> dims_of(const graph::Call& call, size_t rank) {
  std::vector<int64_t> said;
  if (says(call, "dim")) {
    const graph::Attribute* dim = call.find("dim");
    if (const auto* one = std::get_if<int64_t>(dim))
      said = {*one};
    else if (const auto* many = std::get_if<std::vector<int64_t>>(dim))
      said = *many;
  }
  std::vector<size_t> dims;
  dims.reserve(said.size());
  for (int64_t d : said)
    dims.push_back(static_cast<size_t>(d < 0 ? d + static_cast<int64_t>(rank) : d));
  std::sort(dims.begin(), dims.end());
  return dims.empty() ? all_below(rank) : dims;
}

}  // namespace

bool Lowering::reduces(const graph::Call& call) const {
  const std::string& op = call.op->name;
  if ((op == "max" || op == "min") && call.given(1)) return false;  // of two tensors
  if (is_loss(call))
    return call.text("reduction") != "none" || op == "cross_entropy" || op == "triplet_margin_loss";
  return is_one_of(op, kReductions) || is_one_of(op, kShapeKeeping);
}

// --- products ----------------------------------------------------------------------------------

Result<std::pair<uint32_t, bool>> Lowering::matrix_operand(uint32_t node) const {
  const Node& n = at_.graph.nodes[node];
  if (n.op == "input")
    return std::pair{
        static_cast<uint32_t>(std::find(at_.graph.inputs.begin(), at_.graph.inputs.end(), node) -
                              at_.graph.inputs.begin()),
        false};
  const bool turned = n.op == "transpose" && at_.graph.nodes[n.inputs[0]].op == "input" &&
                      types_[node].shape.size() == 2;
  if (!turned) return no_template("an operand of the matrix product is computed first");
  FIEL_TRY(auto inner, matrix_operand(n.inputs[0]));
  return std::pair{inner.first, true};
}

Status Lowering::space_of_product(const graph::Call& call) {
  const size_t first = call.op->name == "addmm" ? 1 : 0;
  FIEL_TRY(const auto left, matrix_operand(call.node->inputs[first]));
  FIEL_TRY(auto right, matrix_operand(call.node->inputs[first + 1]));
  if (call.op->name == "linear") right.second = !right.second;
  const Shape& a = call.shape(first);
  const Shape& b = call.shape(first + 1);
  if (a.size() < 2 || b.size() != 2 || (left.second && a.size() != 2))
    return no_template(refusal(*call.node) + " multiplies batches or vectors, not two matrices");
  p_.shape_class = ShapeClass::product;
  p_.left = left.first, p_.left_transposed = left.second;
  p_.right = right.first, p_.right_transposed = right.second;
  p_.row_dimensions = 1;
  space_ = types_[static_cast<size_t>(call.node - at_.graph.nodes.data())].shape;
  p_.depth = a.back();
  return {};
}

// --- what is reduced ---------------------------------------------------------------------------

Result<Lowering::Reduced> Lowering::reduced_by(const graph::Call& call) const {
  const std::string& op = call.op->name;
  Reduced r{call.node->inputs[0], call.shape(0)};
  if (is_loss(call)) {
    // Of a pair, one is broadcast to the other.
    for (size_t slot = 1; slot < call.inputs.size(); ++slot)
      if (call.given(slot) && call.shape(slot).size() >= r.shape.size() &&
          product_of(call.shape(slot).begin(), call.shape(slot).end()) >
              product_of(r.shape.begin(), r.shape.end()))
        r = {call.node->inputs[slot], call.shape(slot)};
  }
  const size_t rank = r.shape.size();
  if (op == "layer_norm" || op == "rms_norm") {
    const size_t n = call.integers("normalized_shape").size();
    for (size_t d = rank - n; d < rank; ++d) r.dims.push_back(d);
  } else if (op == "instance_norm") {
    if (!call.flag("use_input_stats")) return no_template(refusal(*call.node) + " of statistics");
    for (size_t d = 2; d < rank; ++d) r.dims.push_back(d);
  } else if (op == "batch_norm") {
    for (size_t d = 0; d < rank; ++d)
      if (d != 1) r.dims.push_back(d);
  } else if (op == "cross_entropy") {
    if (rank < 2) return no_template(refusal(*call.node) + " of one position");
    r.dims = {1};
  } else if (op == "triplet_margin_loss") {
    r.dims = {rank - 1};
  } else if (is_loss(call)) {
    r.dims = all_below(rank);
  } else {
    r.dims = dims_of(call, rank);
  }
  return r;
}

/// Reductions of all rows' results may follow where rows are reduced; otherwise all reduce the
/// same.
Status Lowering::space_of_reductions() {
  const auto proper = std::find_if(reductions_.begin(), reductions_.end(),
                                   [](const Reduced& r) { return !r.whole(); });
  const Reduced main = proper == reductions_.end() ? reductions_.front() : *proper;
  space_ = main.shape;
  bool tail = false;
  for (const Reduced& r : reductions_) {
    if (r.shape == main.shape && r.dims == main.dims) continue;
    if (!r.whole())
      return no_template(
          "a reduction is of another shape, or of other dimensions, than the one before it");
    tail = true;
  }
  const size_t rank = main.shape.size(), n = main.dims.size();
  if (!main.whole() && main.dims.front() == rank - n) {
    p_.shape_class = ShapeClass::rows;
    p_.row_dimensions = static_cast<uint32_t>(n);
    if (rows_fit()) return {};
  }
  if (tail)
    return no_template("the whole tensor is reduced beside other dimensions than the last ones");
  return choose_groups(main);
}

bool Lowering::rows_fit() const {
  for (size_t i = 0; i < at_.inputs.size(); ++i)
    if (!classify_input(i)) return false;
  return true;
}

// --- groups of dimensions ----------------------------------------------------------------------

void Lowering::join_dimensions(Dimensions& d, uint32_t node, const graph::Call& call,
                               const Reduced& main) const {
  const std::string& op = call.op->name;
  const auto& in = call.node->inputs;
  if (op == "squeeze" || op == "unsqueeze") return d.join_long(in[0], node);
  const bool reduced = reduces(call);
  for (size_t slot = 0; slot < in.size(); ++slot) {
    if (!call.given(slot)) continue;
    if (reduced && op == "cross_entropy" && slot == 1 && call.shape(1) != main.shape)
      d.join_kept(main.operand, main.dims, in[1], false);
    else if ((op == "batch_norm" || op == "instance_norm") && slot > 0)
      d.join(in[slot], 0, in[0], 1);
    else if (reduced && is_loss(call))
      d.align(in[slot], main.operand);
    else if (!reduced || is_one_of(op, kShapeKeeping))
      d.align(in[slot], node);
  }
  if (reduced && is_one_of(op, kReductions) && !types_[node].shape.empty())
    d.join_kept(in[0], main.dims, node, call.flag("keepdim"));
  if (reduced && is_loss(call) && !types_[node].shape.empty())
    d.join_kept(main.operand, main.dims, node, false);
}

Dimensions Lowering::joined_dimensions(const Reduced& main) const {
  Dimensions d(types_);
  for (uint32_t i = 0; i < at_.graph.nodes.size(); ++i) {
    const Node& n = at_.graph.nodes[i];
    if (n.op != "input" && n.op != "constant" && n.op != "none")
      join_dimensions(d, i, call_of(i), main);
  }
  return d;
}

/// For each input, which dimensions of the space it varies over.
Result<std::vector<std::vector<bool>>> Lowering::covered_by_inputs(
    const Dimensions& d, const std::vector<uint32_t>& roots) const {
  std::vector<std::vector<bool>> all;
  for (uint32_t node = 0; node < at_.graph.nodes.size(); ++node) {
    const std::string& op = at_.graph.nodes[node].op;
    if (op == "none" || op == "constant") {
      all.emplace_back();
      continue;
    }
    std::vector<bool> covers(roots.size(), types_[node].shape == space_);
    for (size_t i = 0; i < types_[node].shape.size() && types_[node].shape != space_; ++i) {
      if (types_[node].shape[i] == 1) continue;
      const auto at = std::find(roots.begin(), roots.end(), d.root(node, i));
      if (at == roots.end())
        return no_template(op == "input" ? fmt::format("input '{}' has dimensions of its own",
                                                       at_.graph.nodes[node].name)
                                         : refusal(at_.graph.nodes[node]) + " has another shape");
      covers[static_cast<size_t>(at - roots.begin())] = true;
    }
    all.push_back(covers);
  }
  std::vector<std::vector<bool>> inputs;
  for (uint32_t node : at_.graph.inputs) inputs.push_back(all[node]);
  return inputs;
}

Status Lowering::choose_groups(const Reduced& main) {
  const Dimensions d = joined_dimensions(main);
  const size_t rank = space_.size();
  std::vector<uint32_t> roots;
  for (size_t i = 0; i < rank; ++i) {
    const uint32_t root = d.root(main.operand, i);
    if (std::find(roots.begin(), roots.end(), root) != roots.end())
      return no_template("a reduction's result is broadcast along another dimension than its own");
    roots.push_back(root);
  }
  FIEL_TRY(const auto covered, covered_by_inputs(d, roots));
  const auto reduced = [&](size_t i) {
    return std::find(main.dims.begin(), main.dims.end(), i) != main.dims.end();
  };
  std::vector<std::pair<bool, uint32_t>> runs;
  std::vector<size_t> begins;
  for (size_t i = 0; i < rank; ++i) {
    const bool parted = i == 0 || reduced(i) != reduced(i - 1) ||
                        std::any_of(covered.begin(), covered.end(),
                                    [&](const auto& c) { return c[i] != c[i - 1]; });
    if (parted) {
      runs.emplace_back(reduced(i), 0u);
      begins.push_back(i);
    }
    ++runs.back().second;
  }
  FIEL_TRY_STATUS(set_groups(runs, space_));
  for (const auto& covers : covered) {
    Groups groups = 0;
    for (size_t r = 0, g = 0; r < runs.size(); ++r, ++g) {
      while ((p_.present >> g & 1) == 0) ++g;
      if (covers[begins[r]]) groups = static_cast<Groups>(groups | 1 << g);
    }
    input_groups_.push_back(groups);
  }
  return {};
}

/// Runs of dimensions that are reduced or kept, as the three groups of a class.
Status Lowering::set_groups(const std::vector<std::pair<bool, uint32_t>>& runs,
                            const Shape& shape) {
  struct Pattern {
    const char* runs;  // R: reduced, K: kept
    ShapeClass shape_class;
    Groups reduced;
    std::array<int, 3> group;  // which run is the group's, or -1
  };
  constexpr Pattern kPatterns[] = {
      {"RK", ShapeClass::columns, 2, {-1, 0, 1}}, {"KRK", ShapeClass::columns, 2, {0, 1, 2}},
      {"R", ShapeClass::whole, 5, {-1, -1, 0}},   {"RR", ShapeClass::whole, 5, {0, -1, 1}},
      {"RKR", ShapeClass::whole, 5, {0, 1, 2}},   {"KR", ShapeClass::whole, 4, {-1, 0, 1}},
      {"KKR", ShapeClass::whole, 4, {0, 1, 2}}};
  std::string text;
  for (const auto& [reduced, n] : runs) text += reduced ? 'R' : 'K';
  const auto pattern = std::find_if(std::begin(kPatterns), std::end(kPatterns),
                                    [&](const Pattern& p) { return text == p.runs; });
  if (pattern == std::end(kPatterns))
    return no_template(
        "what is reduced and what inputs vary over parts the dimensions in more "
        "than three groups, or in groups of an order that no kernel walks");
  p_.shape_class = pattern->shape_class;
  p_.reduced = pattern->reduced;
  p_.present = 0;
  auto at = shape.begin();
  for (size_t g = 0; g < 3; ++g) {
    if (pattern->group[g] < 0) continue;
    p_.present = static_cast<Groups>(p_.present | 1 << g);
    p_.group_dimensions[g] = runs[static_cast<size_t>(pattern->group[g])].second;
    const auto end = at + p_.group_dimensions[g];
    p_.extents[g] = product_of(at, end);
    at = end;
  }
  return {};
}

// --- all classes -------------------------------------------------------------------------------

Status Lowering::choose_space() {
  for (uint32_t i = 0; i < at_.graph.nodes.size(); ++i) {
    const Node& n = at_.graph.nodes[i];
    if (n.op == "input" || n.op == "constant" || n.op == "none") continue;
    const graph::Call call = call_of(i);
    if (is_one_of(n.op, kProducts)) {
      if (product_node_ || !reductions_.empty())
        return no_template(refusal(n) + ": a product beside another product or a reduction");
      product_node_ = i;
      FIEL_TRY_STATUS(space_of_product(call));
    } else if (reduces(call)) {
      if (product_node_) return no_template(refusal(n) + ": a reduction beside a matrix product");
      FIEL_TRY(Reduced reduced, reduced_by(call));
      reductions_.push_back(std::move(reduced));
    } else if (!is_one_of(n.op, kRearranging) && !is_loss(call) && !scalar_text(call)) {
      return no_template(refusal(n));
    }
  }
  if (!reductions_.empty()) FIEL_TRY_STATUS(space_of_reductions());
  if (space_.empty()) space_ = types_[at_.graph.outputs[0].node].shape;
  if (space_.empty()) return no_template("the output is one number");
  if (p_.shape_class == ShapeClass::pointwise) p_.row_dimensions = broadcast_dimensions();
  const auto row_begin = space_.end() - p_.row_dimensions;
  p_.rows = product_of(space_.begin(), row_begin);
  p_.columns = product_of(row_begin, space_.end());
  return {};
}

}  // namespace fiel::forge
