// Element types, their sizes and names, and bit-exact conversion of single values.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace fiel {

/// The numbers are part of fiel/kernel.h and of the wire protocol: never renumber.
enum class DType : int32_t {
  f64 = 0,
  f32 = 1,
  tf32 = 2,  ///< tf32: stored as f32 whose low 13 mantissa bits are zero
  f16 = 3,
  bf16 = 4,
  e4m3 = 5,
  e5m2 = 6,
  i8 = 7,
  i16 = 8,
  i32 = 9,
  i64 = 10,
  u8 = 11,
  boolean = 12,
};
inline constexpr int kDTypeCount = 13;

constexpr int64_t size_of(DType t) {
  switch (t) {
    case DType::f64:
    case DType::i64:
      return 8;
    case DType::f32:
    case DType::tf32:
    case DType::i32:
      return 4;
    case DType::f16:
    case DType::bf16:
    case DType::i16:
      return 2;
    default:
      return 1;
  }
}
constexpr bool is_floating(DType t) { return static_cast<int32_t>(t) <= 6; }
/// Half the distance between 1 and the next value: 2^-24 for f32, 2^-11 f16 and tf32, 2^-8 bf16 …
double unit_roundoff(DType t);
std::string_view name_of(DType t);  ///< "f32", "bool" …
std::optional<DType> parse_dtype(std::string_view name);

/// Round to nearest even; e4m3 saturates to 448 as PTX .satfinite does not: NaN beyond (OCP e4m3fn,
/// as PyTorch converts). Bit patterns in the low bits.
uint16_t f64_to_f16(double v);
uint16_t f64_to_bf16(double v);
uint8_t f64_to_e4m3(double v);
uint8_t f64_to_e5m2(double v);
float f64_to_tf32(double v);
double f16_to_f64(uint16_t bits);
double bf16_to_f64(uint16_t bits);
double e4m3_to_f64(uint8_t bits);
double e5m2_to_f64(uint8_t bits);

/// Any element as double (i64 beyond 2^53 rounds) and back (floats: nearest even; integers:
/// truncated towards zero and wrapped as PyTorch's casts of in-range values; bool: v != 0).
double load_as_f64(DType t, const void* element);
void store_from_f64(DType t, void* element, double v);

}  // namespace fiel
