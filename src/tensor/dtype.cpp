#include "tensor/dtype.h"

#include <array>
#include <cstring>

#include "tensor/convert.h"
#include "tensor/small_float.h"

namespace fiel {

namespace {

constexpr std::array<std::string_view, kDTypeCount> kNames = {
    "f64", "f32", "tf32", "f16", "bf16", "e4m3", "e5m2", "i8", "i16", "i32", "i64", "u8", "bool"};

}  // namespace

double unit_roundoff(DType t) {
  switch (t) {
    case DType::f64:
      return 0x1p-53;
    case DType::f32:
      return 0x1p-24;
    case DType::tf32:
    case DType::f16:
      return 0x1p-11;
    case DType::bf16:
      return 0x1p-8;
    case DType::e4m3:
      return 0x1p-4;
    case DType::e5m2:
      return 0x1p-3;
    default:
      return 0;
  }
}

std::string_view name_of(DType t) {
  auto i = static_cast<int32_t>(t);
  return i >= 0 && i < kDTypeCount ? kNames[static_cast<size_t>(i)] : "unknown";
}

std::optional<DType> parse_dtype(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name) return static_cast<DType>(i);
  return std::nullopt;
}

uint16_t f64_to_f16(double v) { return static_cast<uint16_t>(detail::F16::narrow(v)); }
uint16_t f64_to_bf16(double v) { return static_cast<uint16_t>(detail::Bf16::narrow(v)); }
uint8_t f64_to_e4m3(double v) { return static_cast<uint8_t>(detail::E4m3::narrow(v)); }
uint8_t f64_to_e5m2(double v) { return static_cast<uint8_t>(detail::E5m2::narrow(v)); }
float f64_to_tf32(double v) {
  return std::bit_cast<float>(static_cast<uint32_t>(detail::Tf32::narrow(v)) << 13);
}
double f16_to_f64(uint16_t bits) { return detail::F16::widen(bits); }
double bf16_to_f64(uint16_t bits) { return detail::Bf16::widen(bits); }
double e4m3_to_f64(uint8_t bits) { return detail::E4m3::widen(bits); }
double e5m2_to_f64(uint8_t bits) { return detail::E5m2::widen(bits); }

double load_as_f64(DType t, const void* element) {
  double v;
  to_f64(t, element, 1, &v);
  return v;
}

void store_from_f64(DType t, void* element, double v) { from_f64(&v, 1, t, element); }

}  // namespace fiel
