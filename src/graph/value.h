// What evaluation computes on: contiguous arrays, floating values as double, integers and bools as
// int64. Copies share the elements; an operator writes only what it has just made.
#pragma once

#include <cstdint>
#include <memory>

#include "graph/graph.h"

namespace fiel::graph {

class Value {
 public:
  Value() = default;
  static Value make(TensorType type);  ///< not initialised
  static Value filled(TensorType type, double v);
  static Value from_tensor(const Tensor& t, uint32_t threads);
  static Value scalar(DType dtype, double real, int64_t integer);

  const TensorType& type() const { return type_; }
  DType dtype() const { return type_.dtype; }
  const Shape& shape() const { return type_.shape; }
  int64_t size(size_t dim) const { return type_.shape[dim]; }
  size_t rank() const { return type_.shape.size(); }
  int64_t count() const { return count_; }
  bool floating() const { return is_floating(type_.dtype); }

  double* reals() { return reals_.get(); }
  const double* reals() const { return reals_.get(); }
  int64_t* integers() { return integers_.get(); }
  const int64_t* integers() const { return integers_.get(); }
  double real_at(int64_t i) const { return reals_ ? reals_[i] : static_cast<double>(integers_[i]); }

  Value reshaped(Shape shape) const;         ///< shares the elements
  Value as_dtype(DType dtype) const;         ///< relabels; same storage kind only
  Value to_reals() const;                    ///< itself where floating, else a widened copy (f64)
  Value cast(DType dtype) const;             ///< PyTorch's: truncates, wraps, != 0
  Tensor to_tensor(uint32_t threads) const;  ///< floating results as f64

 private:
  TensorType type_;
  int64_t count_ = 0;
  std::shared_ptr<double[]> reals_;
  std::shared_ptr<int64_t[]> integers_;
};

/// An int64 as the dtype would hold it (two's complement; bool: != 0).
int64_t wrap_integer(DType dtype, int64_t v);

}  // namespace fiel::graph
