#include "forge/lowering.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <numeric>

namespace fiel::forge {
namespace {

constexpr std::array kReductions = {"sum", "mean", "amax", "amin", "max",
                                    "min", "var",  "std",  "norm", "logsumexp"};
constexpr std::array kProducts = {"matmul", "mm", "linear", "addmm"};

template <typename List>
bool is_one_of(const std::string& name, const List& list) {
  return std::find(list.begin(), list.end(), name) != list.end();
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

tl::unexpected<Error> no_template(std::string why) {
  return fail(ErrorCode::unsupported, "there is no template: " + std::move(why),
              "templates are for elementwise chains, reductions of rows, of columns and of whole "
              "tensors, and one matrix product with an elementwise end");
}

bool says(const graph::Call& call, std::string_view name) {
  return std::any_of(call.op->parameters.begin(), call.op->parameters.end(),
                     [&](const graph::Parameter& p) { return p.name == name; }) &&
         call.has(name);
}

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
    step.groups = static_cast<Groups>(step.groups | p_.steps[a].groups);
    step.pass = std::max(step.pass, p_.steps[a].pass);
    step.tail |= p_.steps[a].tail;
  }
  if (step.kind == Step::Kind::reduce && !step.tail) {
    step.span = Span::row;
    step.groups = static_cast<Groups>(step.groups & ~reduced_);
    ++step.pass;
  }
  if (step.tail && step.kind == Step::Kind::reduce) step.span = Span::scalar;
  p_.has_fast |= !step.fast.empty();
  p_.steps.push_back(std::move(step));
  return static_cast<uint32_t>(p_.steps.size() - 1);
}

uint32_t Lowering::constant(double v) { return add({.kind = Step::Kind::constant, .constant = v}); }

uint32_t Lowering::count(Count of) {
  auto& known = counts_[static_cast<size_t>(of)];
  if (!known) known = add({.kind = Step::Kind::count, .of = of});
  return *known;
}

/// How many values a reduction over everything is over.
uint32_t Lowering::count_all(uint32_t of) {
  if (p_.shape_class != ShapeClass::rows) return count();
  if (p_.steps[of].span == Span::row) return count(Count::kept);
  return apply("$0 * $1", {count(), count(Count::kept)});
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

/// Over everything: of rows first each row, then what the rows gave.
uint32_t Lowering::reduce_all(Reduction reduction, uint32_t of) {
  if (p_.shape_class != ShapeClass::rows) return reduce(reduction, of);
  if (p_.steps[of].span != Span::row) of = reduce(reduction, of);
  p_.has_tail = true;
  return add({.kind = Step::Kind::reduce, .reduction = reduction, .arguments = {of}, .tail = true});
}

uint32_t Lowering::part(uint32_t of, uint32_t which) {
  return add({.kind = Step::Kind::part, .input = which, .arguments = {of}});
}

uint32_t Lowering::exponential(uint32_t of) { return apply("expf($0)", {of}, "__expf($0)", true); }

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
    case DType::i64:
      break;
    default:
      return no_template(
          fmt::format("input '{}' is {}", at_.input_specs[index].name, name_of(t.dtype)));
  }
  if (in_groups()) {
    o.groups = input_groups_[index];
    const auto reduced = static_cast<Groups>(o.groups & reduced_);
    o.span = o.groups == 0                                   ? Span::scalar
             : reduced == 0                                  ? Span::row
             : reduced == o.groups && o.groups != p_.present ? Span::column
                                                             : Span::full;
    return o;
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
  if (ways_.variance == Variance::welford && in_groups()) {
    const uint32_t all = reduce(Reduction::moments, x);
    return {part(all, 1), part(all, 2)};
  }
  const uint32_t n = count();
  // The row's first value can only be read where the row is an input.
  const bool shifted = ways_.variance == Variance::shifted && p_.steps[x].kind == Step::Kind::input;
  if (ways_.variance == Variance::two_pass || ways_.variance == Variance::welford ||
      (ways_.variance == Variance::shifted && !shifted)) {
    const uint32_t mean = apply("$0 / $1", {reduce(Reduction::sum, x), n});
    const uint32_t d = apply("$0 - $1", {x, mean});
    return {mean, reduce(Reduction::sum, apply("$0 * $0", {d}))};
  }
  uint32_t d = x;
  if (shifted) {
    const uint32_t first = add({.kind = Step::Kind::first,
                                .span = Span::row,
                                .groups = static_cast<Groups>(p_.steps[x].groups & ~reduced_),
                                .input = p_.steps[x].input});
    d = apply("$0 - $1", {x, first});
  }
  const uint32_t sum = reduce(Reduction::sum, d);
  const uint32_t squares = reduce(Reduction::sum, apply("$0 * $0", {d}));
  const uint32_t offset = apply("$0 / $1", {sum, n});
  const uint32_t spread =
      apply("($2 - $0 * $1 < 0.f ? 0.f : $2 - $0 * $1)", {offset, sum, squares});
  if (!shifted) return {offset, spread};
  const uint32_t first = p_.steps[d].arguments[1];
  return {apply("$0 + $1", {offset, first}), spread};
}

Result<Lowering::Lowered> Lowering::lower_softmax(const graph::Call& call, uint32_t x) {
  const std::string& op = call.op->name;
  if (op == "softmin") x = apply("-$0", {x});
  p_.has_softmax |= in_groups();
  if (ways_.online_softmax && in_groups()) {
    const uint32_t both = reduce(Reduction::exp_sum, x);
    const uint32_t most = part(both, 0);
    // Of an infinite maximum PyTorch makes NaN.
    const uint32_t sum = apply("($0 == INFINITY ? NAN : $1)", {most, part(both, 1)});
    const uint32_t d = apply("$0 - $1", {x, most});
    if (op == "log_softmax")
      return Lowered{apply("$0 - $1", {d, apply("logf($0)", {sum}, "", true)})};
    return Lowered{apply("$0 * $1", {exponential(d), apply("1.f / $0", {sum})})};
  }
  const uint32_t largest = reduce(Reduction::max, x);
  const uint32_t d = apply("$0 - $1", {x, largest});
  const uint32_t e = exponential(d);
  const uint32_t sum = reduce(Reduction::sum, e);
  if (op == "log_softmax")
    return Lowered{apply("$0 - $1", {d, apply("logf($0)", {sum}, "", true)})};
  return Lowered{apply("$0 * $1", {e, apply("1.f / $0", {sum})})};
}

Lowering::Lowered Lowering::normalised(uint32_t x, double eps, uint32_t weight_slot,
                                       const graph::Call& call) {
  const Moments m = moments(x);
  const uint32_t scale =
      apply("rsqrtf($0 / $1 + $2)", {m.square_sum, count(), constant(eps)}, "", true);
  uint32_t y = apply("($0 - $1) * $2", {x, m.mean, scale});
  if (call.given(weight_slot)) y = apply("$0 * $1", {y, argument(call, weight_slot)});
  if (call.given(weight_slot + 1)) y = apply("$0 + $1", {y, argument(call, weight_slot + 1)});
  return Lowered{y};
}

/// batch_norm by means and variances that are given.
Lowering::Lowered Lowering::lower_statistics(const graph::Call& call, uint32_t x) {
  uint32_t scale =
      apply("rsqrtf($0 + $1)", {argument(call, 2), constant(call.real("eps"))}, "", true);
  if (call.given(3)) scale = apply("$0 * $1", {scale, argument(call, 3)});
  uint32_t y = apply("($0 - $1) * $2", {x, argument(call, 1), scale});
  if (call.given(4)) y = apply("$0 + $1", {y, argument(call, 4)});
  return Lowered{y};
}

Result<Lowering::Lowered> Lowering::lower_normalisation(const graph::Call& call, uint32_t x) {
  const std::string& op = call.op->name;
  const auto affine = [&](uint32_t y) {
    if (call.given(1)) y = apply("$0 * $1", {y, argument(call, 1)});
    return Lowered{y};
  };
  if (op == "batch_norm" && !call.flag("training")) return lower_statistics(call, x);
  if (op == "layer_norm" || op == "batch_norm" || op == "instance_norm") {
    const uint32_t weights = op == "layer_norm" ? 1 : 3;
    return normalised(x, call.real("eps"), weights, call);
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
  // Of rows, what is reduced over all of them goes by another way than what is over each.
  FIEL_TRY(const Reduced reduced, reduced_by(call));
  const bool all = p_.shape_class == ShapeClass::rows && reduced.whole();
  const auto over = [&](Reduction r, uint32_t of) {
    return all ? reduce_all(r, of) : reduce(r, of);
  };
  const auto n = [&] { return all ? count_all(x) : count(); };
  if (op == "sum") return Lowered{over(Reduction::sum, x), squeezed};
  if (op == "mean") {
    const uint32_t among = n();
    return Lowered{apply("$0 / $1", {over(Reduction::sum, x), among}), squeezed};
  }
  if (op == "amax" || op == "max") return Lowered{over(Reduction::max_nan, x), squeezed};
  if (op == "amin" || op == "min") return Lowered{over(Reduction::min_nan, x), squeezed};
  if (op == "norm") {
    const double p = call.real("p");
    if (p == 1) return Lowered{over(Reduction::sum, apply("fabsf($0)", {x})), squeezed};
    if (p != 2) return no_template("a norm other than 1 and 2");
    return Lowered{apply("sqrtf($0)", {over(Reduction::sum, apply("$0 * $0", {x}))}, "", true),
                   squeezed};
  }
  if (all) return no_template(refusal(*call.node) + " over all rows");
  if (op == "logsumexp") return lower_logsumexp(x, squeezed);
  const Moments m = moments(x);
  const uint32_t variance =
      apply("$0 / ($1 - $2)", {m.square_sum, count(), constant(call.real("correction"))});
  return Lowered{op == "var" ? variance : apply("sqrtf($0)", {variance}, "", true), squeezed};
}

Lowering::Lowered Lowering::lower_logsumexp(uint32_t x, bool squeezed) {
  p_.has_softmax |= in_groups();
  if (ways_.online_softmax && in_groups()) {
    const uint32_t both = reduce(Reduction::exp_sum, x);
    return {apply("logf($1) + $0", {part(both, 0), part(both, 1)}, "", true), squeezed};
  }
  const uint32_t largest =
      apply("(fabsf($0) == INFINITY ? 0.f : $0)", {reduce(Reduction::max_nan, x)});
  const uint32_t sum = reduce(Reduction::sum, exponential(apply("$0 - $1", {x, largest})));
  return {apply("logf($0) + $1", {sum, largest}, "", true), squeezed};
}

Result<std::optional<Lowering::Lowered>> Lowering::lower_rows(uint32_t node,
                                                              const graph::Call& call) {
  if (!reduces(call)) return std::optional<Lowered>();
  if (at_.graph.nodes[node].result != 0) return no_template(refusal(*call.node) + ": its indices");
  if (says(call, "dtype")) return no_template(refusal(*call.node) + " with dtype=");
  const uint32_t x = argument(call, 0);
  const Span span = p_.steps[x].span;
  FIEL_TRY(const Reduced reduced, reduced_by(call));
  const bool of_rows = p_.shape_class == ShapeClass::rows && span == Span::row &&
                       !p_.steps[x].tail && reduced.whole();
  if (span != Span::full && !of_rows && !(span == Span::column && in_groups()))
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
  if (squeezed && kept && !in_groups())
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
  if (p_.steps[step].span == Span::full && shape != space_ && !in_groups())
    return no_template(refusal(*call.node) + " has another shape than the rest");
  if (p_.steps[step].tail && p_.steps[step].span != Span::scalar)
    return no_template(refusal(*call.node) + " takes what all rows gave back to rows");
  return Lowered{step, squeezed};
}

Result<Lowering::Lowered> Lowering::lower_call(uint32_t node, const graph::Call& call) {
  if (is_one_of(call.op->name, kProducts)) return lower_product(call);
  if (is_loss(call)) return lower_loss(call);
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
    if (in_groups()) return from;
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
    to.step = add({.kind = Step::Kind::input,
                   .span = p_.inputs[index].span,
                   .groups = p_.inputs[index].groups,
                   .input = index});
    to.squeezed =
        p_.inputs[index].span == Span::row && at_.inputs[index].shape.size() < space_.size();
    return {};
  }
  FIEL_TRY(to, lower_call(node, call_of(node)));
  return {};
}

/// How often something holds: exact in f32 where there are no more than 2^24 (extent_checks()).
bool Lowering::is_count(uint32_t node) const {
  const Node& n = at_.graph.nodes[node];
  return n.op == "sum" && types_[node].dtype == DType::i64 &&
         p_.steps[lowered_[node].step].span == Span::row &&
         types_[n.inputs[0]].dtype == DType::boolean && p_.shape_class != ShapeClass::whole;
}

/// Where an output varies, if a kernel can write it.
Result<Operand> Lowering::classify_output(const graph::Output& output, DType dtype) const {
  const Step& step = p_.steps[lowered_[output.node].step];
  const bool real = dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
  if (!real && !is_count(output.node))
    return no_template(fmt::format("output '{}' is {}", output.name, name_of(dtype)));
  if (in_groups()) {
    const auto kept = static_cast<Groups>(p_.present & ~reduced_);
    const bool row = step.span == Span::row && step.groups == kept;
    if (!row && (is_uniform(step) || types_[output.node].shape != space_))
      return no_template(fmt::format("output '{}' has another shape", output.name));
    return Operand{dtype, row ? Span::row : Span::full, row ? kept : p_.present};
  }
  if (step.tail) return Operand{dtype, Span::scalar};
  const bool row = p_.shape_class == ShapeClass::rows && step.span == Span::row;
  if (!row && types_[output.node].shape != space_)
    return no_template(fmt::format("output '{}' has another shape", output.name));
  return Operand{dtype, row ? Span::row : Span::full};
}

Status Lowering::finish() {
  for (size_t i = 0; i < at_.graph.outputs.size(); ++i) {
    FIEL_TRY(const Operand o, classify_output(at_.graph.outputs[i], at_.outputs[i].dtype));
    p_.outputs.push_back(lowered_[at_.graph.outputs[i].node].step);
    p_.output_types.push_back(o);
  }
  for (const Step& s : p_.steps)
    if (s.kind == Step::Kind::reduce) p_.passes = std::max(p_.passes, s.pass);
  for (size_t i = 0; i < p_.inputs.size(); ++i)
    if (p_.inputs[i].dtype == DType::i64 && p_.inputs[i].span != Span::row)
      return no_template(fmt::format("input '{}' is i64", at_.input_specs[i].name));
  const auto whole = std::find_if(p_.inputs.begin(), p_.inputs.end(), [&](const Operand& o) {
    return o.span == Span::full && (!in_groups() || o.groups == p_.present);
  });
  if (whole == p_.inputs.end()) return no_template("no input has the whole shape");
  p_.shape_input = static_cast<uint32_t>(whole - p_.inputs.begin());
  return {};
}

Result<Program> Lowering::run() {
  FIEL_TRY_STATUS(choose_space());
  reduced_ = in_groups() ? p_.reduced : Groups{0};
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
