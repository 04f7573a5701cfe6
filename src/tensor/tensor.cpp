#include "tensor/tensor.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "base/check.h"
#include "base/text.h"
#include "tensor/convert.h"

namespace fiel {

namespace {

constexpr int64_t kMaxRank = 8;
constexpr int64_t kMaxBytes = int64_t{1} << 40;
constexpr int64_t kTooMany = std::numeric_limits<int64_t>::max();

/// calloc: zero pages come from the kernel untouched, so a large tensor costs nothing until used.
std::shared_ptr<std::byte[]> allocate(int64_t bytes) {
  void* p = std::calloc(static_cast<size_t>(std::max<int64_t>(1, bytes)), 1);
  if (!p) return nullptr;
  return {static_cast<std::byte*>(p), [](std::byte* q) { std::free(q); }};
}

/// First and last element offset that a strided shape touches, relative to its first element.
std::pair<int64_t, int64_t> extent(const Shape& shape, const Shape& strides) {
  int64_t low = 0, high = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    int64_t reach = (shape[d] - 1) * strides[d];
    (reach < 0 ? low : high) += reach;
  }
  return {low, high};
}

/// Copies a strided tensor's elements, `kBytes` each, into a contiguous buffer, row by row.
template <size_t kBytes>
void gather(const std::byte* source, const Shape& shape, const Shape& strides, std::byte* out) {
  const size_t rank = shape.size();
  const int64_t inner = rank ? shape[rank - 1] : 1;
  const int64_t step = rank ? strides[rank - 1] : 1;
  const int64_t rows = inner ? numel(shape) / inner : 0;
  Shape index(rank, 0);
  for (int64_t row = 0; row < rows; ++row) {
    int64_t offset = 0;
    for (size_t d = 0; d + 1 < rank; ++d) offset += index[d] * strides[d];
    const std::byte* from = source + offset * static_cast<int64_t>(kBytes);
    if (step == 1) {
      std::memcpy(out, from, static_cast<size_t>(inner) * kBytes);
    } else {
      for (int64_t i = 0; i < inner; ++i)
        std::memcpy(out + i * static_cast<int64_t>(kBytes),
                    from + i * step * static_cast<int64_t>(kBytes), kBytes);
    }
    out += inner * static_cast<int64_t>(kBytes);
    for (size_t d = rank - (rank ? 1 : 0); d-- > 0;) {
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
  }
}

}  // namespace

int64_t numel(std::span<const int64_t> shape) {
  int64_t n = 1;
  bool too_many = false;
  for (int64_t d : shape) {
    if (d == 0) return 0;
    too_many = too_many || d < 0 || __builtin_mul_overflow(n, d, &n);
  }
  return too_many ? kTooMany : n;
}

std::string to_string(std::span<const int64_t> shape) {
  std::string out = "(";
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i) out += ", ";
    out += std::to_string(shape[i]);
  }
  if (shape.size() == 1) out += ",";
  return out + ")";
}

Shape contiguous_strides(std::span<const int64_t> shape) {
  Shape strides(shape.size());
  int64_t step = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = step;
    // An empty dimension must not make the strides before it 0: those views would look expanded.
    step *= std::max<int64_t>(1, shape[d]);
  }
  return strides;
}

Result<Tensor> Tensor::checked_empty(DType dtype, Shape shape, int64_t max_bytes) {
  if (static_cast<int64_t>(shape.size()) > kMaxRank)
    return fail(ErrorCode::limit,
                "a tensor of rank " + std::to_string(shape.size()) + "; at most 8 dimensions");
  for (int64_t d : shape)
    if (d < 0 || d > kMaxBytes)
      return fail(ErrorCode::limit, "a tensor of shape " + fiel::to_string(shape) +
                                        ": a dimension is negative or beyond 2^40");
  const int64_t n = fiel::numel(shape);
  const int64_t most = std::min(max_bytes, kMaxBytes);
  if (n > most / size_of(dtype))
    return fail(ErrorCode::limit,
                "a tensor of shape " + fiel::to_string(shape) + " and type " +
                    std::string(name_of(dtype)) + " is larger than " +
                    format_bytes(static_cast<uint64_t>(std::max<int64_t>(0, most))),
                "choose a smaller shape");
  Tensor t;
  t.data_ = allocate(n * size_of(dtype));
  if (!t.data_)
    return fail(ErrorCode::limit, "no memory for " +
                                      format_bytes(static_cast<uint64_t>(n * size_of(dtype))) +
                                      " of tensor " + fiel::to_string(shape));
  t.dtype_ = dtype;
  t.capacity_ = n;
  t.strides_ = contiguous_strides(shape);
  t.shape_ = std::move(shape);
  return t;
}

Tensor Tensor::empty(DType dtype, Shape shape) {
  Result<Tensor> t = checked_empty(dtype, std::move(shape), kMaxBytes);
  FIEL_CHECK(t.has_value(), t ? "" : t.error().what.c_str());
  return std::move(*t);
}

Tensor Tensor::from_f64(DType dtype, Shape shape, std::span<const double> values) {
  Tensor t = empty(dtype, std::move(shape));
  FIEL_CHECK(t.numel() == static_cast<int64_t>(values.size()), "one value an element");
  fiel::from_f64(values.data(), t.numel(), dtype, t.data());
  return t;
}

Tensor Tensor::scalar(DType dtype, double value) { return from_f64(dtype, {}, {&value, 1}); }

bool Tensor::is_contiguous() const {
  if (numel() == 0) return true;
  int64_t step = 1;
  for (size_t d = shape_.size(); d-- > 0;) {
    if (shape_[d] != 1 && strides_[d] != step) return false;
    step *= shape_[d];
  }
  return true;
}

namespace {

int64_t offset_of(std::span<const int64_t> index, const Shape& shape, const Shape& strides) {
  FIEL_CHECK(index.size() == shape.size(), "one index a dimension");
  int64_t offset = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    FIEL_CHECK(index[d] >= 0 && index[d] < shape[d], "index inside the shape");
    offset += index[d] * strides[d];
  }
  return offset;
}

int64_t flat_offset(int64_t i, const Shape& shape, const Shape& strides) {
  FIEL_CHECK(i >= 0 && i < numel(shape), "flat index inside the shape");
  int64_t offset = 0;
  for (size_t d = shape.size(); d-- > 0;) {
    offset += (i % shape[d]) * strides[d];
    i /= shape[d];
  }
  return offset;
}

}  // namespace

double Tensor::at(std::span<const int64_t> index) const {
  return load_as_f64(dtype_, data() + offset_of(index, shape_, strides_) * size_of(dtype_));
}
void Tensor::set(std::span<const int64_t> index, double v) {
  store_from_f64(dtype_, data() + offset_of(index, shape_, strides_) * size_of(dtype_), v);
}
double Tensor::at_flat(int64_t i) const {
  return load_as_f64(dtype_, data() + flat_offset(i, shape_, strides_) * size_of(dtype_));
}
void Tensor::set_flat(int64_t i, double v) {
  store_from_f64(dtype_, data() + flat_offset(i, shape_, strides_) * size_of(dtype_), v);
}

Tensor Tensor::view(Shape shape, Shape strides, int64_t offset) const {
  FIEL_CHECK(shape.size() == strides.size(), "one stride a dimension");
  FIEL_CHECK(static_cast<int64_t>(shape.size()) <= kMaxRank, "at most 8 dimensions");
  Tensor t = *this;
  t.offset_ = offset_ + offset;
  if (fiel::numel(shape) > 0) {
    auto [low, high] = extent(shape, strides);
    FIEL_CHECK(t.offset_ + low >= 0 && t.offset_ + high < capacity_,
               "a view stays inside the memory of its tensor");
  } else {
    FIEL_CHECK(t.offset_ >= 0 && t.offset_ <= capacity_,
               "a view stays inside the memory of its tensor");
  }
  t.shape_ = std::move(shape);
  t.strides_ = std::move(strides);
  return t;
}

Tensor Tensor::transposed(int64_t a, int64_t b) const {
  FIEL_CHECK(a >= 0 && a < rank() && b >= 0 && b < rank(), "dimensions to swap exist");
  Tensor t = *this;
  std::swap(t.shape_[static_cast<size_t>(a)], t.shape_[static_cast<size_t>(b)]);
  std::swap(t.strides_[static_cast<size_t>(a)], t.strides_[static_cast<size_t>(b)]);
  return t;
}

Tensor Tensor::reshaped(Shape shape) const {
  FIEL_CHECK(is_contiguous(), "only a contiguous tensor is reshaped without a copy");
  FIEL_CHECK(fiel::numel(shape) == numel(), "a reshape keeps the number of elements");
  Shape strides = contiguous_strides(shape);
  return view(std::move(shape), std::move(strides), 0);
}

Tensor Tensor::clone() const {
  Tensor t = empty(dtype_, shape_);
  if (numel() == 0) return t;
  if (is_contiguous()) {
    std::memcpy(t.data(), data(), static_cast<size_t>(nbytes()));
    return t;
  }
  switch (size_of(dtype_)) {
    case 1:
      gather<1>(data(), shape_, strides_, t.data());
      break;
    case 2:
      gather<2>(data(), shape_, strides_, t.data());
      break;
    case 4:
      gather<4>(data(), shape_, strides_, t.data());
      break;
    default:
      gather<8>(data(), shape_, strides_, t.data());
  }
  return t;
}

Tensor Tensor::to(DType dtype) const {
  if (dtype == dtype_) return clone();
  Tensor source = is_contiguous() ? *this : clone();
  Tensor t = empty(dtype, shape_);
  convert(dtype_, source.data(), dtype, t.data(), numel());
  return t;
}

std::vector<double> Tensor::to_f64() const {
  Tensor source = is_contiguous() ? *this : clone();
  std::vector<double> out(static_cast<size_t>(numel()));
  fiel::to_f64(dtype_, source.data(), numel(), out.data());
  return out;
}

Shape unravel(int64_t flat, std::span<const int64_t> shape) {
  Shape index(shape.size(), 0);
  for (size_t d = shape.size(); d-- > 0;) {
    if (shape[d] <= 0) continue;
    index[d] = flat % shape[d];
    flat /= shape[d];
  }
  return index;
}

}  // namespace fiel
