// The vector norms of torch.linalg.vector_norm.
#pragma once

#include <cstdint>

namespace fiel::graph {

/// (Σ |x|^p)^(1/p); p = ±inf: extreme magnitude, p = 0: how many differ from 0. NaN propagates.
double p_norm(const double* x, int64_t n, double p);

}  // namespace fiel::graph
