#include "graph/value.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/check.h"
#include "base/parallel.h"
#include "tensor/convert.h"

namespace fiel::graph {
namespace {

int64_t truncate(double v) {
  // Conversions outside int64 are undefined in C++; PyTorch's give the x86 answer, INT64_MIN.
  if (!(v > -9223372036854775809.0 && v < 9223372036854775808.0))
    return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(v);
}

template <typename T>
int64_t integer_at(const std::byte* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

int64_t load_integer(DType t, const std::byte* p) {
  switch (t) {
    case DType::i8:
      return integer_at<int8_t>(p);
    case DType::i16:
      return integer_at<int16_t>(p);
    case DType::i32:
      return integer_at<int32_t>(p);
    case DType::i64:
      return integer_at<int64_t>(p);
    case DType::boolean:
      return integer_at<uint8_t>(p) != 0;
    default:
      return integer_at<uint8_t>(p);
  }
}

void store_integer(DType t, std::byte* p, int64_t v) {
  if (t == DType::boolean) v = v != 0;
  // Little-endian: the low bytes are the wrapped value.
  std::memcpy(p, &v, static_cast<size_t>(size_of(t)));
}

}  // namespace

int64_t wrap_integer(DType t, int64_t v) {
  switch (t) {
    case DType::i8:
      return static_cast<int8_t>(v);
    case DType::i16:
      return static_cast<int16_t>(v);
    case DType::i32:
      return static_cast<int32_t>(v);
    case DType::u8:
      return static_cast<uint8_t>(v);
    case DType::boolean:
      return v != 0;
    default:
      return v;
  }
}

Value Value::make(TensorType type) {
  Value v;
  v.count_ = numel(type.shape);
  auto n = static_cast<size_t>(std::max<int64_t>(v.count_, 1));
  if (is_floating(type.dtype))
    v.reals_ = std::make_shared_for_overwrite<double[]>(n);
  else
    v.integers_ = std::make_shared_for_overwrite<int64_t[]>(n);
  v.type_ = std::move(type);
  return v;
}

Value Value::filled(TensorType type, double x) {
  Value v = make(std::move(type));
  if (v.floating())
    std::fill_n(v.reals(), v.count(), x);
  else
    std::fill_n(v.integers(), v.count(), wrap_integer(v.dtype(), truncate(x)));
  return v;
}

Value Value::scalar(DType dtype, double real, int64_t integer) {
  Value v = make({dtype, {}});
  if (v.floating())
    v.reals()[0] = real;
  else
    v.integers()[0] = wrap_integer(dtype, integer);
  return v;
}

Value Value::from_tensor(const Tensor& t, uint32_t threads) {
  Value v = make({t.dtype(), t.shape()});
  Tensor source = t.is_contiguous() ? t : t.clone();
  const std::byte* bytes = source.data();
  int64_t step = size_of(t.dtype());
  parallel_for(v.count(), 1 << 14, threads, [&](int64_t from, int64_t to) {
    if (!v.floating())
      for (int64_t i = from; i < to; ++i)
        v.integers()[i] = load_integer(t.dtype(), bytes + i * step);
    else
      to_f64(t.dtype(), bytes + from * step, to - from, v.reals() + from);
  });
  return v;
}

Tensor Value::to_tensor(uint32_t threads) const {
  Tensor t = Tensor::empty(floating() ? DType::f64 : dtype(), shape());
  std::byte* bytes = t.data();
  if (floating()) {
    if (count_) std::memcpy(bytes, reals(), static_cast<size_t>(count_) * sizeof(double));
    return t;
  }
  int64_t step = size_of(dtype());
  parallel_for(count_, 1 << 14, threads, [&](int64_t from, int64_t to) {
    for (int64_t i = from; i < to; ++i) store_integer(dtype(), bytes + i * step, integers()[i]);
  });
  return t;
}

Value Value::reshaped(Shape shape) const {
  Value v = *this;
  FIEL_CHECK(numel(shape) == count_, "reshape keeps the number of elements");
  v.type_.shape = std::move(shape);
  return v;
}

Value Value::as_dtype(DType dtype) const {
  FIEL_CHECK(is_floating(dtype) == floating(), "relabelling keeps the storage");
  Value v = *this;
  v.type_.dtype = dtype;
  return v;
}

Value Value::to_reals() const { return floating() ? *this : cast(DType::f64); }

Value Value::cast(DType dtype) const {
  if (dtype == type_.dtype || (is_floating(dtype) && floating())) return as_dtype(dtype);
  Value v = make({dtype, shape()});
  for (int64_t i = 0; i < count_; ++i) {
    if (v.floating())
      v.reals()[i] = static_cast<double>(integers_[i]);
    else if (dtype == DType::boolean)
      v.integers()[i] = real_at(i) != 0;
    else
      v.integers()[i] = wrap_integer(dtype, floating() ? truncate(reals_[i]) : integers_[i]);
  }
  return v;
}

}  // namespace fiel::graph
