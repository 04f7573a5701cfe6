#include "graph/ops/gather_dims.h"

#include <algorithm>

#include "base/parallel.h"
#include "graph/ops/strided.h"

namespace fiel::graph {
namespace {

template <typename T>
void gather_rows(const T* from, T* to, const Shape& out, const Shape& strides,
                 const IndexTables& tables, int64_t chunk, T fill, uint32_t threads) {
  int64_t rows = numel(out);
  int64_t grain = std::max<int64_t>(1, 8192 / std::max<int64_t>(chunk, 1));
  parallel_for(rows, grain, threads, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      int64_t rest = r, offset = 0;
      bool filled = false;
      for (size_t d = out.size(); d-- > 0;) {
        int64_t i = rest % out[d];
        rest /= out[d];
        if (tables[d]) i = (*tables[d])[static_cast<size_t>(i)];
        filled = filled || i < 0;
        offset += i * strides[d];
      }
      if (filled)
        std::fill_n(to + r * chunk, chunk, fill);
      else
        std::copy_n(from + offset, chunk, to + r * chunk);
    }
  });
}

}  // namespace

Value gather_dims(const Value& source, const IndexTables& tables, double fill, uint32_t threads) {
  Shape shape = source.shape();
  for (size_t d = 0; d < shape.size(); ++d)
    if (tables[d]) shape[d] = static_cast<int64_t>(tables[d]->size());
  Value out = Value::make({source.dtype(), shape});
  if (out.count() == 0) return out;
  // Unchanged dimensions at the end are copied in one piece.
  size_t outer = shape.size();
  int64_t chunk = 1;
  while (outer > 0 && !tables[outer - 1]) chunk *= shape[--outer];
  Shape strides = contiguous_strides(source.shape());
  shape.resize(outer);
  strides.resize(outer);
  if (source.floating())
    gather_rows(source.reals(), out.reals(), shape, strides, tables, chunk, fill, threads);
  else
    gather_rows(source.integers(), out.integers(), shape, strides, tables, chunk,
                wrap_integer(source.dtype(), static_cast<int64_t>(fill)), threads);
  return out;
}

void copy_into(Value& whole, const Value& part, size_t dim, int64_t start) {
  Axis all = axis_of(whole.shape(), dim), own = axis_of(part.shape(), dim);
  int64_t run = own.length * own.inner, step = all.length * all.inner;
  for (int64_t o = 0; o < own.outer; ++o) {
    int64_t at = o * step + start * all.inner;
    if (whole.floating())
      std::copy_n(part.reals() + o * run, run, whole.reals() + at);
    else
      std::copy_n(part.integers() + o * run, run, whole.integers() + at);
  }
}

}  // namespace fiel::graph
