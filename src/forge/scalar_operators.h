// Operators on single numbers as CUDA C, once exactly and once with coarse intrinsics.
//
//   FIEL_TRY(ScalarText t, scalar_text(call, inputs));
//   t.exact;      // "0.5f * $0 * (1.f + erff($0 * 0.707106781f))"
//
// NaN gets through wherever PyTorch lets it through. Arguments are named $0, $1 … in the order of
// the operator's tensors.
#pragma once

#include <optional>
#include <string>

#include "graph/operators.h"

namespace fiel::forge {

struct ScalarText {
  std::string exact, fast;  ///< fast: empty where there is no coarser way
  bool expensive = false;
};

/// Nothing where the operator is none on single numbers.
std::optional<ScalarText> scalar_text(const graph::Call& call);

/// A float literal that reads back as the same float.
std::string literal(double v);

}  // namespace fiel::forge
