// einsum, as a chain of batched matrix products from left to right.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "graph/ops/elementwise.h"
#include "graph/ops/matrix.h"
#include "graph/ops/strided.h"
#include "graph/sum.h"

namespace fiel::graph {
namespace {

using Values = std::vector<Value>;

/// A label is a letter, or 1000 + d for dimension d (from the right) of the ellipsis.
using Labels = std::vector<int>;
constexpr int kEllipsis = 1000;

struct Equation {
  std::vector<Labels> operands;
  Labels output;
  std::map<int, int64_t> extent;
};

bool holds(const Labels& labels, int l) {
  return std::find(labels.begin(), labels.end(), l) != labels.end();
}

/// "bij" or "...ij" for a tensor of that rank (nullopt: the output, whose ellipsis has `dots`).
Result<Labels> parse_term(std::string_view term, size_t rank, bool output, size_t dots) {
  Labels out;
  size_t letters = 0;
  for (char c : term) letters += (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  size_t ellipsis = output ? dots : rank - std::min(rank, letters);
  bool seen = false;
  for (size_t i = 0; i < term.size(); ++i) {
    char c = term[i];
    if (c == ' ') continue;
    if (term.substr(i, 3) == "..." && !seen) {
      for (size_t d = ellipsis; d-- > 0;) out.push_back(kEllipsis + static_cast<int>(d));
      seen = true;
      i += 2;
    } else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      out.push_back(c);
    } else {
      return refuse(fmt::format("the equation holds '{}'", c),
                    "write letters, ',', '->' and '...'");
    }
  }
  if (!output && out.size() != rank)
    return refuse(
        fmt::format("'{}' has {} labels for a tensor of rank {}", term, out.size(), rank));
  return out;
}

Labels implicit_output(const std::vector<Labels>& operands) {
  std::map<int, int> seen;
  for (const Labels& labels : operands)
    for (int l : labels) ++seen[l];
  Labels dots, letters;
  for (auto it = seen.rbegin(); it != seen.rend(); ++it)
    if (it->first >= kEllipsis) dots.push_back(it->first);
  for (const auto& [l, count] : seen)
    if (l < kEllipsis && count == 1) letters.push_back(l);
  dots.insert(dots.end(), letters.begin(), letters.end());
  return dots;
}

Result<Equation> equation_of(const Call& c) {
  std::string text = c.text("equation");
  if (text.size() > 1000) return refuse("the equation is too long");
  Equation eq;
  size_t arrow = text.find("->");
  std::string_view left = std::string_view(text).substr(0, arrow);
  std::vector<std::string_view> terms;
  for (size_t from = 0; from <= left.size();) {
    size_t comma = std::min(left.find(',', from), left.size());
    terms.push_back(left.substr(from, comma - from));
    from = comma + 1;
  }
  if (terms.size() != c.inputs.size())
    return refuse(
        fmt::format("the equation names {} operands, {} are given", terms.size(), c.inputs.size()));
  size_t dots = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    FIEL_TRY(Labels labels, parse_term(terms[i], c.shape(i).size(), false, 0));
    for (size_t d = 0; d < labels.size(); ++d) {
      int64_t own = c.shape(i)[d];
      auto [it, fresh] = eq.extent.emplace(labels[d], own);
      if (labels[d] >= kEllipsis)
        dots = std::max(dots, static_cast<size_t>(labels[d] - kEllipsis + 1));
      if (fresh || it->second == own || own == 1) continue;
      if (it->second != 1)
        return refuse(fmt::format("a label has extent {} and {}", it->second, own));
      it->second = own;
    }
    eq.operands.push_back(std::move(labels));
  }
  if (arrow == std::string::npos) {
    eq.output = implicit_output(eq.operands);
  } else {
    FIEL_TRY(eq.output, parse_term(std::string_view(text).substr(arrow + 2), 0, true, dots));
  }
  for (size_t i = 0; i < eq.output.size(); ++i) {
    if (!eq.extent.count(eq.output[i])) return refuse("the output has a label that no operand has");
    if (std::count(eq.output.begin(), eq.output.end(), eq.output[i]) > 1)
      return refuse("a label appears twice in the output");
  }
  return eq;
}

Result<Types> infer_einsum(const Call& c) {
  FIEL_TRY(Equation eq, equation_of(c));
  Shape out;
  for (int l : eq.output) out.push_back(eq.extent[l]);
  return one(promote_all(c), std::move(out));
}

struct Term {
  Value value;
  Labels labels;
};

/// Each label once (repeats become diagonals), in the order wanted, broadcast extents filled in.
Value arranged(const Evaluation& e, const Equation& eq, const Term& t, const Labels& order) {
  Shape own = contiguous_strides(t.value.shape()), shape, strides;
  for (int l : order) {
    int64_t step = 0;
    for (size_t d = 0; d < t.labels.size(); ++d)
      if (t.labels[d] == l && t.value.size(d) != 1) step += own[d];
    shape.push_back(eq.extent.at(l));
    strides.push_back(step);
  }
  if (order == t.labels && shape == t.value.shape()) return t.value;
  return strided_copy(t.value, shape, strides, 0, e.threads);
}

int64_t extent_of(const Equation& eq, const Labels& labels) {
  Shape s;
  for (int l : labels) s.push_back(eq.extent.at(l));
  return saturating_product(s);
}

/// Sums over the labels that nothing else needs.
Term without_private(const Evaluation& e, const Equation& eq, const Term& t, const Labels& needed) {
  Labels keep, gone;
  for (int l : t.labels) {
    Labels& into = holds(needed, l) ? keep : gone;
    if (!holds(into, l)) into.push_back(l);
  }
  Labels order = keep;
  order.insert(order.end(), gone.begin(), gone.end());
  Value rows = arranged(e, eq, t, order);
  Shape shape(rows.shape().begin(),
              rows.shape().begin() + static_cast<std::ptrdiff_t>(keep.size()));
  if (gone.empty()) return {rows, keep};
  Value out = Value::make({rows.dtype(), shape});
  int64_t n = extent_of(eq, gone);
  for (int64_t r = 0; r < out.count(); ++r) {
    if (out.floating()) {
      out.reals()[r] = sum(rows.reals() + r * n, n);
      continue;
    }
    uint64_t total = 0;
    for (int64_t i = 0; i < n; ++i) total += static_cast<uint64_t>(rows.integers()[r * n + i]);
    out.integers()[r] = wrap_integer(out.dtype(), static_cast<int64_t>(total));
  }
  return {out, keep};
}

Result<Term> contract(const Evaluation& e, const Equation& eq, Term a, Term b,
                      const Labels& needed) {
  Labels for_a = needed, for_b = needed;
  for_a.insert(for_a.end(), b.labels.begin(), b.labels.end());
  for_b.insert(for_b.end(), a.labels.begin(), a.labels.end());
  a = without_private(e, eq, a, for_a);
  b = without_private(e, eq, b, for_b);
  Labels batch, inner, rows, columns;
  for (int l : a.labels)
    (holds(b.labels, l) ? (holds(needed, l) ? batch : inner) : rows).push_back(l);
  for (int l : b.labels)
    if (!holds(a.labels, l)) columns.push_back(l);
  auto joined = [](Labels x, const Labels& y, const Labels& z) {
    x.insert(x.end(), y.begin(), y.end());
    x.insert(x.end(), z.begin(), z.end());
    return x;
  };
  Term out;
  out.labels = joined(batch, rows, columns);
  int64_t size = extent_of(eq, out.labels);
  if (size > e.scratch_bytes / 8)
    return fail(ErrorCode::limit, "an intermediate product is beyond the bound on memory",
                "order the operands so that early products stay small");
  int64_t n = extent_of(eq, batch), m = extent_of(eq, rows), k = extent_of(eq, inner);
  Value x = arranged(e, eq, a, joined(batch, rows, inner)).reshaped({n, m, k});
  Value y =
      arranged(e, eq, b, joined(batch, inner, columns)).reshaped({n, k, extent_of(eq, columns)});
  Shape shape;
  for (int l : out.labels) shape.push_back(eq.extent.at(l));
  out.value = matrix_product(x, y, x.dtype(), e.threads).reshaped(shape);
  return out;
}

Result<Values> evaluate_einsum(const Evaluation& e) {
  FIEL_TRY(Equation eq, equation_of(e.call));
  const TensorType& type = e.call.results[0];
  Term current{e.inputs[0]->cast(type.dtype), eq.operands[0]};
  for (size_t i = 1; i < e.inputs.size(); ++i) {
    Labels needed = eq.output;
    for (size_t later = i + 1; later < e.inputs.size(); ++later)
      needed.insert(needed.end(), eq.operands[later].begin(), eq.operands[later].end());
    FIEL_TRY(current, contract(e, eq, std::move(current),
                               {e.inputs[i]->cast(type.dtype), eq.operands[i]}, needed));
  }
  current = without_private(e, eq, current, eq.output);
  return Values{arranged(e, eq, current, eq.output)};
}

/// As for one product of two operands; with more, an upper bound.
Work einsum_cost(const Call& c) {
  auto eq = equation_of(c);
  Labels all, summed;
  for (const auto& [l, extent] : eq->extent) {
    all.push_back(l);
    if (!holds(eq->output, l)) summed.push_back(l);
  }
  double terms = std::max<double>(1, static_cast<double>(c.inputs.size()) - 1);
  return {2 * terms * static_cast<double>(extent_of(*eq, all)),
          summed.empty() ? 0 : static_cast<double>(extent_of(*eq, summed))};
}

}  // namespace

std::vector<Operator> einsum_operators() {
  return {{"einsum(equation: str, operands*)",
           "sum of products by labels, with '...' and repeated labels", infer_einsum,
           evaluate_einsum, einsum_cost}};
}

}  // namespace fiel::graph
