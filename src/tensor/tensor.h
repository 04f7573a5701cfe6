// Strided tensors in host memory.
//
//   Tensor x = Tensor::empty(DType::f32, {255, 511});
//   x.set({3, 4}, 1.5);  double v = x.at({3, 4});
//   Tensor t = x.transposed(0, 1);            // a view of the same bytes
//
// Shapes are bounded (rank <= 8, bytes <= 2^40); strides are in elements and may be 0 or negative
// in views. No arithmetic here: that is graph/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "tensor/dtype.h"

namespace fiel {

using Shape = std::vector<int64_t>;
int64_t numel(std::span<const int64_t> shape);          ///< 1 for rank 0
std::string to_string(std::span<const int64_t> shape);  ///< "(255, 511)"
Shape contiguous_strides(std::span<const int64_t> shape);

class Tensor {
 public:
  Tensor() = default;
  /// Contiguous and zero. Aborts on an impossible shape: use checked_empty for what a file says.
  static Tensor empty(DType dtype, Shape shape);
  static Result<Tensor> checked_empty(DType dtype, Shape shape,
                                      int64_t max_bytes = int64_t{1} << 36);
  static Tensor from_f64(DType dtype, Shape shape, std::span<const double> values);
  static Tensor scalar(DType dtype, double value);

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  const Shape& strides() const { return strides_; }
  int64_t rank() const { return static_cast<int64_t>(shape_.size()); }
  int64_t numel() const { return fiel::numel(shape_); }
  int64_t nbytes() const { return numel() * size_of(dtype_); }
  bool is_contiguous() const;
  std::byte* data() { return data_ ? data_.get() + offset_ * size_of(dtype_) : nullptr; }
  const std::byte* data() const {
    return data_ ? data_.get() + offset_ * size_of(dtype_) : nullptr;
  }
  template <typename T>
  T* data_as() {
    return reinterpret_cast<T*>(data());
  }
  template <typename T>
  const T* data_as() const {
    return reinterpret_cast<const T*>(data());
  }
  /// All bytes of a contiguous tensor.
  std::span<std::byte> bytes() { return {data(), static_cast<size_t>(nbytes())}; }
  std::span<const std::byte> bytes() const { return {data(), static_cast<size_t>(nbytes())}; }

  double at(std::span<const int64_t> index) const;
  double at(std::initializer_list<int64_t> index) const {
    return at(std::span(index.begin(), index.size()));
  }
  void set(std::span<const int64_t> index, double v);
  void set(std::initializer_list<int64_t> index, double v) {
    set(std::span(index.begin(), index.size()), v);
  }
  double at_flat(int64_t i) const;  ///< i-th in row-major order of the shape
  void set_flat(int64_t i, double v);

  Tensor view(Shape shape, Shape strides, int64_t offset) const;  ///< shares the bytes
  Tensor transposed(int64_t a, int64_t b) const;
  Tensor reshaped(Shape shape) const;  ///< contiguous input only
  Tensor clone() const;                ///< contiguous copy
  Tensor to(DType dtype) const;        ///< contiguous, converted
  std::vector<double> to_f64() const;  ///< row-major values

 private:
  std::shared_ptr<std::byte[]> data_;
  DType dtype_ = DType::f32;
  Shape shape_, strides_;
  int64_t offset_ = 0;
  int64_t capacity_ = 0;  ///< elements allocated; views are checked against it
};

/// The multi-index of a row-major flat index.
Shape unravel(int64_t flat, std::span<const int64_t> shape);

}  // namespace fiel
