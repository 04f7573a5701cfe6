// Losses: a value for each pair, row or triplet, and the mean or the sum of them.
#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "forge/lowering.h"

namespace fiel::forge {
namespace {

/// Of an input $0 and a target $1. Numbers stand where attributes are named.
std::optional<ScalarText> pair_text(const graph::Call& call) {
  const std::string& op = call.op->name;
  const auto number = [&](const char* name) { return literal(call.real(name)); };
  if (op == "mse_loss") return ScalarText{"($0 - $1) * ($0 - $1)", ""};
  if (op == "l1_loss") return ScalarText{"fabsf($0 - $1)", ""};
  if (op == "smooth_l1_loss") {
    const double beta = call.real("beta");
    if (beta == 0) return ScalarText{"fabsf($0 - $1)", ""};
    return ScalarText{
        fmt::format("(fabsf($0 - $1) < {0} ? ($0 - $1) * ($0 - $1) * {1} : fabsf($0 - $1) - {2})",
                    literal(beta), literal(0.5 / beta), literal(0.5 * beta)),
        ""};
  }
  if (op == "huber_loss")
    return ScalarText{fmt::format("(fabsf($0 - $1) <= {0} ? 0.5f * ($0 - $1) * ($0 - $1) : "
                                  "{0} * (fabsf($0 - $1) - {1}))",
                                  number("delta"), literal(0.5 * call.real("delta"))),
                      ""};
  if (op == "kl_div" && call.flag("log_target"))
    return ScalarText{"expf($1) * ($1 - $0)", "__expf($1) * ($1 - $0)", true};
  if (op == "kl_div")
    return ScalarText{"(($1 == 0.f ? 0.f : $1 * logf($1)) - $1 * $0)",
                      "(($1 == 0.f ? 0.f : $1 * __logf($1)) - $1 * $0)", true};
  if (op == "soft_margin_loss")
    // exp(-t x) would overflow long before its logarithm.
    return ScalarText{"(-$1 * $0 > 0.f ? -$1 * $0 : 0.f) + log1pf(expf(-fabsf($1 * $0)))",
                      "(-$1 * $0 > 0.f ? -$1 * $0 : 0.f) + __logf(1.f + __expf(-fabsf($1 * $0)))",
                      true};
  if (op == "hinge_embedding_loss")
    return ScalarText{fmt::format("(($1 == -1.f ? 0.f : $0) + ($1 == 1.f ? 0.f : "
                                  "{0} - $0 < 0.f ? 0.f : {0} - $0))",
                                  number("margin")),
                      ""};
  if (op == "binary_cross_entropy")
    // PyTorch bounds the logarithms from below by -100.
    return ScalarText{
        "(($1 - 1.f) * (log1pf(-$0) < -100.f ? -100.f : log1pf(-$0)) - "
        "$1 * (logf($0) < -100.f ? -100.f : logf($0)))",
        "", true};
  if (op == "binary_cross_entropy_with_logits")
    return ScalarText{"(1.f - $1) * $0 - (fminf($0, 0.f) - log1pf(expf(-fabsf($0))))",
                      "(1.f - $1) * $0 - (fminf($0, 0.f) - __logf(1.f + __expf(-fabsf($0))))",
                      true};
  return {};
}

}  // namespace

bool is_loss(const graph::Call& call) {
  return call.op->name == "cross_entropy" || call.op->name == "triplet_margin_loss" ||
         pair_text(call).has_value();
}

/// What `reduction` makes of a loss for each element.
Result<Lowering::Lowered> Lowering::averaged(const graph::Call& call, uint32_t each) {
  const std::string reduction = call.text("reduction");
  if (reduction == "none") return Lowered{each, true};
  if (in_groups() && is_uniform(p_.steps[each]))
    return no_template(refusal(*call.node) + " of more than rows, over everything");
  const uint32_t sum = reduce_all(Reduction::sum, each);
  if (reduction == "sum") return Lowered{sum};
  if (reduction == "batchmean") {
    // Rows count their first dimension only where it is all that they leave.
    if (p_.shape_class == ShapeClass::rows && space_.size() != p_.row_dimensions + 1)
      return no_template(refusal(*call.node) + " by the batch, of more than rows");
    return Lowered{apply("$0 / $1", {sum, count(in_groups() ? Count::first : Count::kept)})};
  }
  return Lowered{apply("$0 / $1", {sum, count_all(each)})};
}

Result<Lowering::Lowered> Lowering::lower_loss(const graph::Call& call) {
  if (call.op->name == "cross_entropy") return lower_cross_entropy(call);
  if (call.op->name == "triplet_margin_loss") return lower_triplet(call);
  for (size_t slot = 2; slot < call.inputs.size(); ++slot)
    if (call.given(slot)) return no_template(refusal(*call.node) + " with weights");
  FIEL_TRY(const Reduced reduced, reduced_by(call));
  if (call.text("reduction") != "none" && reduced.shape != space_)
    return no_template(refusal(*call.node) + " of what is reduced before");
  const ScalarText text = *pair_text(call);
  const uint32_t each =
      apply(text.exact, {argument(call, 0), argument(call, 1)}, text.fast, text.expensive);
  return averaged(call, each);
}

/// Of class indices: log Σ exp − the target's logit. A target that is ignored counts for nothing.
Result<Lowering::Lowered> Lowering::lower_cross_entropy(const graph::Call& call) {
  if (call.given(2) || call.real("label_smoothing") != 0)
    return no_template(refusal(*call.node) + " with weights or smoothing");
  const uint32_t x = argument(call, 0), target = argument(call, 1);
  if (p_.steps[x].kind != Step::Kind::input || p_.steps[target].kind != Step::Kind::input ||
      p_.steps[target].span != Span::row)
    return no_template(refusal(*call.node) + " of what is computed first, or of probabilities");
  const uint32_t taken = add({.kind = Step::Kind::gather,
                              .span = Span::row,
                              .groups = p_.steps[target].groups,
                              .input = p_.steps[x].input,
                              .arguments = {target}});
  const uint32_t ignored = constant(static_cast<double>(call.integer("ignore_index")));
  const uint32_t counts = apply("($0 == $1 ? 0.f : 1.f)", {target, ignored});
  const uint32_t each =
      apply("($2 == 0.f ? 0.f : $0 - $1)", {lower_logsumexp(x, true).step, taken, counts});
  if (call.text("reduction") != "mean" || in_groups()) return averaged(call, each);
  const uint32_t sum = reduce_all(Reduction::sum, each);
  return Lowered{apply("$0 / $1", {sum, reduce_all(Reduction::sum, counts)})};
}

Result<Lowering::Lowered> Lowering::lower_triplet(const graph::Call& call) {
  if (call.real("p") != 2 || call.flag("swap"))
    return no_template(refusal(*call.node) + " by another norm than 2, or swapped");
  const uint32_t eps = constant(call.real("eps"));
  const auto distance = [&](size_t to) {
    const uint32_t d = apply("$0 - $1 + $2", {argument(call, 0), argument(call, to), eps});
    return apply("sqrtf($0)", {reduce(Reduction::sum, apply("$0 * $0", {d}))}, "", true);
  };
  const uint32_t apart =
      apply("$0 + $1 - $2", {constant(call.real("margin")), distance(1), distance(2)});
  return averaged(call, apply("($0 < 0.f ? 0.f : $0)", {apart}));
}

}  // namespace fiel::forge
