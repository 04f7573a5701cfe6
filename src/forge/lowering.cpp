#include "forge/lowering.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <numeric>

namespace fiel::forge {
namespace {

constexpr std::array kReductions = {"sum", "mean", "amax", "amin", "max",
                                    "min", "var",  "std",  "norm", "logsumexp"};
constexpr std::array kRowwise = {"softmax",    "log_softmax", "softmin",
                                 "layer_norm", "rms_norm",    "normalize"};
constexpr std::array kRearranging = {"transpose", "squeeze", "unsqueeze"};
constexpr std::array kProducts = {"matmul", "mm", "linear", "addmm"};

template <typename List>
bool is_one_of(const std::string& name, const List& list) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

tl::unexpected<Error> no_template(std::string why) {
  return fail(ErrorCode::unsupported, "there is no template: " + std::move(why),
              "templates are for elementwise chains, reductions of trailing dimensions, and one "
              "matrix product with an elementwise end");
}

int64_t product_of(Shape::const_iterator begin, Shape::const_iterator end) {
  return std::accumulate(begin, end, int64_t{1}, std::multiplies<>());
}

/// Whether the call says so: an attribute that the operator has and that is not None.
bool says(const graph::Call& call, std::string_view name) {
  return std::any_of(call.op->parameters.begin(), call.op->parameters.end(),
                     [&](const graph::Parameter& p) { return p.name == name; }) &&
         call.has(name);
}

/// Without leading extents of 1.
Shape stripped(const Shape& s) {
  auto it = s.begin();
  while (it != s.end() && *it == 1) ++it;
  return {it, s.end()};
}

bool ends_with(const Shape& s, const Shape& tail) {
  return tail.size() <= s.size() &&
         std::equal(tail.begin(), tail.end(), s.end() - static_cast<ptrdiff_t>(tail.size()));
}

Span joined(Span a, Span b) {
  if (a == b || b == Span::scalar) return a;
  return a == Span::scalar ? b : Span::full;
}

}  // namespace

graph::Call Lowering::call_of(uint32_t node) const {
  const Node& n = at_.graph.nodes[node];
  graph::Call call;
  call.op = graph::find_operator(n.op);
  call.node = &n;
  for (uint32_t in : n.inputs) {
    const Node& from = at_.graph.nodes[in];
    call.inputs.push_back({types_[in], from.op != "none", from.op == "constant"});
  }
  return call;
}

std::string Lowering::refusal(const Node& node) const {
  return fmt::format("operator '{}' (line {})", node.op, node.line);
}

uint32_t Lowering::add(Step step) {
  for (uint32_t a : step.arguments) {
    step.span = joined(step.span, p_.steps[a].span);
    step.pass = std::max(step.pass, p_.steps[a].pass);
  }
  if (step.kind == Step::Kind::reduce) {
    step.span = Span::row;
    ++step.pass;
  }
  p_.has_fast |= !step.fast.empty();
  p_.steps.push_back(std::move(step));
  return static_cast<uint32_t>(p_.steps.size() - 1);
}

uint32_t Lowering::constant(double v) { return add({.kind = Step::Kind::constant, .constant = v}); }

uint32_t Lowering::count() {
  if (!count_) count_ = add({.kind = Step::Kind::count});
  return *count_;
}

uint32_t Lowering::apply(std::string text, std::vector<uint32_t> arguments, std::string fast,
                         bool expensive) {
  return add({.text = std::move(text),
              .fast = std::move(fast),
              .arguments = std::move(arguments),
              .expensive = expensive});
}

uint32_t Lowering::reduce(Reduction reduction, uint32_t of) {
  return add({.kind = Step::Kind::reduce, .reduction = reduction, .arguments = {of}});
}

uint32_t Lowering::exponential(uint32_t of) { return apply("expf($0)", {of}, "__expf($0)", true); }

// --- the space ---------------------------------------------------------------------------------

Status Lowering::space_of_reduction(const graph::Call& call) {
  const Shape& shape = call.shape(0);
  const auto rank = static_cast<int64_t>(shape.size());
  std::vector<int64_t> dims;
  const std::string& op = call.op->name;
  if (op == "layer_norm" || op == "rms_norm") {
    const auto n = static_cast<int64_t>(call.integers("normalized_shape").size());
    for (int64_t d = rank - n; d < rank; ++d) dims.push_back(d);
  } else if (says(call, "dim")) {
    const graph::Attribute* dim = call.find("dim");
    if (const auto* one = std::get_if<int64_t>(dim))
      dims = {*one};
    else if (const auto* many = std::get_if<std::vector<int64_t>>(dim))
      dims = *many;
  }
  for (int64_t& d : dims) d += d < 0 ? rank : 0;
  std::sort(dims.begin(), dims.end());
  const auto n = static_cast<int64_t>(dims.size());
  if (n == 0 || n == rank)
    return no_template(refusal(*call.node) + " reduces the whole tensor to one value");
  if (dims.front() != rank - n || dims.back() != rank - 1)
    return no_template(refusal(*call.node) + " reduces dimensions that are not the last ones");
  if (p_.shape_class == ShapeClass::rows &&
      (space_ != shape || p_.row_dimensions != static_cast<uint32_t>(n)))
    return no_template(refusal(*call.node) +
                       " reduces another shape than the reductions before it");
  p_.shape_class = ShapeClass::rows;
  p_.row_dimensions = static_cast<uint32_t>(n);
  space_ = shape;
  return {};
}

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

bool Lowering::reduces_rows(const graph::Call& call) const {
  const std::string& op = call.op->name;
  if ((op == "max" || op == "min") && call.given(1)) return false;  // of two tensors
  return is_one_of(op, kReductions) || is_one_of(op, kRowwise);
}

Status Lowering::choose_space() {
  for (uint32_t i = 0; i < at_.graph.nodes.size(); ++i) {
    const Node& n = at_.graph.nodes[i];
    if (n.op == "input" || n.op == "constant" || n.op == "none") continue;
    const graph::Call call = call_of(i);
    if (is_one_of(n.op, kProducts)) {
      if (product_node_ || p_.shape_class != ShapeClass::pointwise)
        return no_template(refusal(n) + ": a product beside another product or a reduction");
      product_node_ = i;
      FIEL_TRY_STATUS(space_of_product(call));
    } else if (reduces_rows(call)) {
      if (product_node_) return no_template(refusal(n) + ": a reduction beside a matrix product");
      FIEL_TRY_STATUS(space_of_reduction(call));
    } else if (!is_one_of(n.op, kRearranging) && !scalar_text(call)) {
      return no_template(refusal(n));
    }
  }
  if (space_.empty()) space_ = types_[at_.graph.outputs[0].node].shape;
  if (space_.empty()) return no_template("the output is one number");
  if (p_.shape_class == ShapeClass::pointwise) p_.row_dimensions = broadcast_dimensions();
  const auto row_begin = space_.end() - p_.row_dimensions;
  p_.rows = product_of(space_.begin(), row_begin);
  p_.columns = product_of(row_begin, space_.end());
  return {};
}

/// How many trailing dimensions the first input has that is broadcast along the leading ones.
uint32_t Lowering::broadcast_dimensions() const {
  for (const graph::TensorType& t : at_.inputs) {
    const Shape bare = stripped(t.shape);
    if (!bare.empty() && bare.size() < stripped(space_).size() && ends_with(space_, bare))
      return static_cast<uint32_t>(bare.size());
  }
  return 1;
}

Result<Operand> Lowering::classify_input(size_t index) const {
  const graph::TensorType& t = at_.inputs[index];
  const Shape& s = t.shape;
  Operand o{t.dtype, Span::full};
  switch (t.dtype) {
    case DType::f32:
    case DType::f16:
    case DType::bf16:
    case DType::boolean:
    case DType::u8:
      break;
    default:
      return no_template(
          fmt::format("input '{}' is {}", at_.input_specs[index].name, name_of(t.dtype)));
  }
  if (p_.shape_class == ShapeClass::product && (index == p_.left || index == p_.right)) return o;
  const Shape bare = stripped(s);
  const size_t lead = space_.size() - p_.row_dimensions;
  if (s == space_) return o;
  if (bare.empty()) {
    o.span = Span::scalar;
  } else if (bare.size() == p_.row_dimensions && ends_with(space_, bare)) {
    o.span = Span::column;
  } else if (std::equal(space_.begin(), space_.begin() + static_cast<ptrdiff_t>(lead), s.begin(),
                        s.begin() + static_cast<ptrdiff_t>(std::min(lead, s.size()))) &&
             std::all_of(s.begin() + static_cast<ptrdiff_t>(std::min(lead, s.size())), s.end(),
                         [](int64_t d) { return d == 1; })) {
    o.span = Span::row;
  } else {
    return no_template(
        fmt::format("input '{}' is broadcast in a way that is neither along rows "
                    "nor along columns",
                    at_.input_specs[index].name));
  }
  return o;
}

// --- the steps ---------------------------------------------------------------------------------

Lowering::Moments Lowering::moments(uint32_t x) {
  p_.has_variance = true;
  const uint32_t n = count();
  // The row's first value can only be read where the row is an input.
  const bool shifted = variance_ == Variance::shifted && p_.steps[x].kind == Step::Kind::input;
  if (variance_ == Variance::two_pass || (variance_ == Variance::shifted && !shifted)) {
    const uint32_t mean = apply("$0 / $1", {reduce(Reduction::sum, x), n});
    const uint32_t d = apply("$0 - $1", {x, mean});
    return {mean, reduce(Reduction::sum, apply("$0 * $0", {d}))};
  }
  uint32_t d = x;
  if (shifted) {
    const uint32_t first =
        add({.kind = Step::Kind::first, .span = Span::row, .input = p_.steps[x].input});
    d = apply("$0 - $1", {x, first});
  }
  const uint32_t sum = reduce(Reduction::sum, d);
  const uint32_t squares = reduce(Reduction::sum, apply("$0 * $0", {d}));
  const uint32_t offset = apply("$0 / $1", {sum, n});
  const uint32_t spread =
      apply("($2 - $0 * $1 < 0.f ? 0.f : $2 - $0 * $1)", {offset, sum, squares});
  if (variance_ == Variance::one_pass) return {offset, spread};
  const uint32_t first = p_.steps[d].arguments[1];
  return {apply("$0 + $1", {offset, first}), spread};
}

Result<Lowering::Lowered> Lowering::lower_softmax(const graph::Call& call, uint32_t x) {
  const std::string& op = call.op->name;
  if (op == "softmin") x = apply("-$0", {x});
  const uint32_t largest = reduce(Reduction::max, x);
  const uint32_t d = apply("$0 - $1", {x, largest});
  const uint32_t e = exponential(d);
  const uint32_t sum = reduce(Reduction::sum, e);
  if (op == "log_softmax")
    return Lowered{apply("$0 - $1", {d, apply("logf($0)", {sum}, "", true)})};
  return Lowered{apply("$0 * $1", {e, apply("1.f / $0", {sum})})};
}

Result<Lowering::Lowered> Lowering::lower_normalisation(const graph::Call& call, uint32_t x) {
  const std::string& op = call.op->name;
  const auto affine = [&](uint32_t y) {
    if (call.given(1)) y = apply("$0 * $1", {y, argument(call, 1)});
    if (op == "layer_norm" && call.given(2)) y = apply("$0 + $1", {y, argument(call, 2)});
    return Lowered{y};
  };
  if (op == "layer_norm") {
    const Moments m = moments(x);
    const uint32_t eps = constant(call.real("eps"));
    const uint32_t scale = apply("rsqrtf($0 / $1 + $2)", {m.square_sum, count(), eps}, "", true);
    return affine(apply("($0 - $1) * $2", {x, m.mean, scale}));
  }
  const uint32_t squares = reduce(Reduction::sum, apply("$0 * $0", {x}));
  if (op == "rms_norm") {
    if (!call.has("eps") && call.type(0).dtype != DType::f32)
      return no_template("rms_norm without eps of a type other than f32");
    const uint32_t eps = constant(call.has("eps") ? call.real("eps") : 1.1920928955078125e-07);
    return affine(
        apply("$0 * $1", {x, apply("rsqrtf($0 / $1 + $2)", {squares, count(), eps}, "", true)}));
  }
  if (call.real("p") != 2) return no_template("normalize by another norm than 2");
  const uint32_t eps = constant(call.real("eps"));
  return Lowered{apply("$0 / $1",
                       {x, apply("(sqrtf($0) < $1 ? $1 : sqrtf($0))", {squares, eps}, "", true)},
                       "__fdividef($0, $1)")};
}

Result<Lowering::Lowered> Lowering::lower_reduction(const graph::Call& call, uint32_t x) {
  const std::string& op = call.op->name;
  const bool squeezed = !call.flag("keepdim");
  if (op == "sum") return Lowered{reduce(Reduction::sum, x), squeezed};
  if (op == "mean")
    return Lowered{apply("$0 / $1", {reduce(Reduction::sum, x), count()}), squeezed};
  if (op == "amax" || op == "max") return Lowered{reduce(Reduction::max_nan, x), squeezed};
  if (op == "amin" || op == "min") return Lowered{reduce(Reduction::min_nan, x), squeezed};
  if (op == "norm") {
    const double p = call.real("p");
    if (p == 1) return Lowered{reduce(Reduction::sum, apply("fabsf($0)", {x})), squeezed};
    if (p != 2) return no_template("a norm other than 1 and 2");
    return Lowered{apply("sqrtf($0)", {reduce(Reduction::sum, apply("$0 * $0", {x}))}, "", true),
                   squeezed};
  }
  if (op == "logsumexp") {
    const uint32_t largest =
        apply("(fabsf($0) == INFINITY ? 0.f : $0)", {reduce(Reduction::max_nan, x)});
    const uint32_t sum = reduce(Reduction::sum, exponential(apply("$0 - $1", {x, largest})));
    return Lowered{apply("logf($0) + $1", {sum, largest}, "", true), squeezed};
  }
  const Moments m = moments(x);
  const uint32_t variance =
      apply("$0 / ($1 - $2)", {m.square_sum, count(), constant(call.real("correction"))});
  return Lowered{op == "var" ? variance : apply("sqrtf($0)", {variance}, "", true), squeezed};
}

Result<std::optional<Lowering::Lowered>> Lowering::lower_rows(uint32_t node,
                                                              const graph::Call& call) {
  if (!reduces_rows(call)) return std::optional<Lowered>();
  if (at_.graph.nodes[node].result != 0) return no_template(refusal(*call.node) + ": its indices");
  if (says(call, "dtype")) return no_template(refusal(*call.node) + " with dtype=");
  const uint32_t x = argument(call, 0);
  if (p_.steps[x].span != Span::full)
    return no_template(refusal(*call.node) + " of what does not vary over the whole row");
  auto done = is_one_of(call.op->name, kReductions)              ? lower_reduction(call, x)
              : call.op->name.find("softm") != std::string::npos ? lower_softmax(call, x)
                                                                 : lower_normalisation(call, x);
  if (!done) return fail(done.error());
  return std::optional<Lowered>(*done);
}

Result<Lowering::Lowered> Lowering::lower_product(const graph::Call& call) {
  const uint32_t product = add({.kind = Step::Kind::product, .span = Span::full});
  uint32_t y = product;
  if (call.op->name == "linear" && call.given(2)) y = apply("$0 + $1", {y, argument(call, 2)});
  if (call.op->name == "addmm") {
    const uint32_t alpha = constant(call.real("alpha")), beta = constant(call.real("beta"));
    y = apply("$0 * $1 + $2 * $3", {beta, argument(call, 0), alpha, y});
  }
  return Lowered{y};
}

Result<Lowering::Lowered> Lowering::lower_scalar(uint32_t node, const graph::Call& call,
                                                 const ScalarText& text) {
  std::vector<uint32_t> arguments;
  bool squeezed = false, kept = false;
  for (size_t slot = 0; slot < call.inputs.size(); ++slot) {
    if (!call.given(slot)) continue;
    const Lowered& from = lowered_[call.node->inputs[slot]];
    arguments.push_back(from.step);
    if (p_.steps[from.step].span == Span::row) (from.squeezed ? squeezed : kept) = true;
    if (p_.steps[from.step].span == Span::column || p_.steps[from.step].span == Span::full)
      kept = true;
  }
  if (squeezed && kept)
    return no_template(refusal(*call.node) + " broadcasts rows' values along rows");
  std::string exact = text.exact, fast = text.fast;
  bool expensive = text.expensive;
  if (call.op->name == "pow" && arguments.size() == 2 &&
      p_.steps[arguments[1]].kind == Step::Kind::constant) {
    const double exponent = p_.steps[arguments[1]].constant;
    if (exponent == 2 || exponent == 3) {
      exact = exponent == 2 ? "$0 * $0" : "$0 * $0 * $0";
      fast.clear();
      expensive = false;
    }
  }
  const uint32_t step = apply(exact, arguments, fast, expensive);
  const Shape& shape = types_[node].shape;
  if (p_.steps[step].span == Span::full && shape != space_)
    return no_template(refusal(*call.node) + " has another shape than the rest");
  return Lowered{step, squeezed};
}

Result<Lowering::Lowered> Lowering::lower_call(uint32_t node, const graph::Call& call) {
  if (is_one_of(call.op->name, kProducts)) return lower_product(call);
  FIEL_TRY(const auto rows, lower_rows(node, call));
  if (rows) return *rows;
  if (call.op->name == "transpose") {
    // Of a product's operand it is never read by itself.
    if (!product_node_) return no_template(refusal(*call.node));
    return Lowered{};
  }
  if (call.op->name == "unsqueeze" || call.op->name == "squeeze") {
    const Lowered from = lowered_[call.node->inputs[0]];
    const Shape& shape = types_[node].shape;
    if (p_.steps[from.step].span != Span::row)
      return no_template(refusal(*call.node) + " of a whole tensor");
    return Lowered{from.step, shape.size() != space_.size() || shape.back() != 1};
  }
  const auto text = scalar_text(call);
  if (!text) return no_template(refusal(*call.node));
  return lower_scalar(node, call, *text);
}

Status Lowering::lower(uint32_t node) {
  const Node& n = at_.graph.nodes[node];
  Lowered& to = lowered_[node];
  if (n.op == "none") return {};
  if (n.op == "constant") {
    to.step = constant(n.constant);
    return {};
  }
  if (n.op == "input") {
    const auto index =
        static_cast<uint32_t>(std::find(at_.graph.inputs.begin(), at_.graph.inputs.end(), node) -
                              at_.graph.inputs.begin());
    to.step = add({.kind = Step::Kind::input, .span = p_.inputs[index].span, .input = index});
    to.squeezed =
        p_.inputs[index].span == Span::row && at_.inputs[index].shape.size() < space_.size();
    return {};
  }
  FIEL_TRY(to, lower_call(node, call_of(node)));
  return {};
}

Status Lowering::finish() {
  for (size_t i = 0; i < at_.graph.outputs.size(); ++i) {
    const uint32_t node = at_.graph.outputs[i].node;
    const uint32_t step = lowered_[node].step;
    const Span span = p_.steps[step].span;
    const DType dtype = at_.outputs[i].dtype;
    if (dtype != DType::f32 && dtype != DType::f16 && dtype != DType::bf16)
      return no_template(
          fmt::format("output '{}' is {}", at_.graph.outputs[i].name, name_of(dtype)));
    const bool row = p_.shape_class == ShapeClass::rows && span == Span::row;
    if (!row && types_[node].shape != space_)
      return no_template(fmt::format("output '{}' has another shape", at_.graph.outputs[i].name));
    p_.outputs.push_back(step);
    p_.output_types.push_back({dtype, row ? Span::row : Span::full});
  }
  for (const Step& s : p_.steps)
    if (s.kind == Step::Kind::reduce) p_.passes = std::max(p_.passes, s.pass);
  const auto whole = std::find_if(p_.inputs.begin(), p_.inputs.end(),
                                  [](const Operand& o) { return o.span == Span::full; });
  if (whole == p_.inputs.end()) return no_template("no input has the whole shape");
  p_.shape_input = static_cast<uint32_t>(whole - p_.inputs.begin());
  return {};
}

Result<Program> Lowering::run() {
  FIEL_TRY_STATUS(choose_space());
  for (size_t i = 0; i < at_.inputs.size(); ++i) {
    FIEL_TRY(const Operand o, classify_input(i));
    p_.inputs.push_back(o);
  }
  lowered_.resize(at_.graph.nodes.size());
  for (uint32_t i = 0; i < at_.graph.nodes.size(); ++i) FIEL_TRY_STATUS(lower(i));
  FIEL_TRY_STATUS(finish());
  return std::move(p_);
}

}  // namespace fiel::forge
