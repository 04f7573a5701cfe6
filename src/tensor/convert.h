// Conversion of many elements at once: the same bits as store_from_f64(load_as_f64(…)), faster.
//
//   convert(DType::f32, x.data(), DType::bf16, out.data(), n);
//   to_f64(DType::f16, halves, n, doubles);  from_f64(doubles, n, DType::e4m3, out);
//
// Source and destination must not overlap. Strided tensors: Tensor::to.
#pragma once

#include <cstdint>

#include "tensor/dtype.h"

namespace fiel {

void to_f64(DType from, const void* source, int64_t n, double* out);
void from_f64(const double* values, int64_t n, DType to, void* out);
/// Between any two types; i64 to i64 and equal types copy the bytes, so nothing is lost there.
void convert(DType from, const void* source, DType to, void* out, int64_t n);

}  // namespace fiel
