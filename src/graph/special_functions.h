// Functions that <cmath> lacks, or offers only with a global variable (lgamma's signgam).
#pragma once

namespace fiel::graph {

double log_gamma(double x);    ///< log |Γ(x)|, safe in threads
double inverse_erf(double x);  ///< ±1 gives ±inf, beyond NaN
double digamma(double x);      ///< as PyTorch: ±0 gives ∓inf, negative integers NaN

}  // namespace fiel::graph
