// Sums of doubles with a small, known error, in an order that depends on nothing but the length.
//
// Blocks of 256 elements go into eight interleaved partial sums, the blocks are summed pairwise:
// relative to Σ|x| the error of n elements is at most (35 + log2(n / 256)) · 2^-53, where a plain
// loop has n · 2^-53: for a million elements 5e-15 instead of 1e-10.
#pragma once

#include <cstdint>

namespace fiel::graph {

/// Σ f(i) for i in [from, to).
template <typename F>
double sum_over(int64_t from, int64_t to, const F& f) {
  int64_t n = to - from;
  if (n > 256) {
    int64_t middle = from + (n / 2 + 255) / 256 * 256;
    return sum_over(from, middle, f) + sum_over(middle, to, f);
  }
  double lane[8] = {};
  int64_t i = from;
  for (; i + 8 <= to; i += 8)
    for (int64_t l = 0; l < 8; ++l) lane[l] += f(i + l);
  for (int64_t l = 0; i < to; ++i, ++l) lane[l] += f(i);
  return ((lane[0] + lane[4]) + (lane[1] + lane[5])) + ((lane[2] + lane[6]) + (lane[3] + lane[7]));
}

inline double sum(const double* x, int64_t n) {
  return sum_over(0, n, [x](int64_t i) { return x[i]; });
}

/// Mean and Σ(x − mean)², two passes, the second corrected by the rounding of the first.
struct Moments {
  double mean = 0, squares = 0;
};
inline Moments moments(const double* x, int64_t n) {
  Moments m;
  m.mean = sum(x, n) / static_cast<double>(n);
  double mean = m.mean;
  double drift = sum_over(0, n, [x, mean](int64_t i) { return x[i] - mean; });
  double squares = sum_over(0, n, [x, mean](int64_t i) { return (x[i] - mean) * (x[i] - mean); });
  m.squares = squares - drift * drift / static_cast<double>(n);
  if (m.squares < 0) m.squares = 0;
  return m;
}

}  // namespace fiel::graph
