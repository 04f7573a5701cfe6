#include "tensor/convert.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "base/parallel.h"
#include "tensor/small_float.h"

namespace fiel {

namespace {

constexpr int64_t kGrain = 1 << 18;
constexpr int64_t kStage = 2048;  ///< doubles on the stack between two narrow types

template <typename T, typename F>
void widen_all(const void* source, int64_t n, double* out, F one) {
  const T* in = static_cast<const T*>(source);
  for (int64_t i = 0; i < n; ++i) out[i] = one(in[i]);
}

template <typename T, typename F>
void narrow_all(const double* values, int64_t n, void* out, F one) {
  T* o = static_cast<T*>(out);
  for (int64_t i = 0; i < n; ++i) o[i] = one(values[i]);
}

template <typename T>
void integers_from(const double* values, int64_t n, void* out) {
  narrow_all<T>(values, n, out, [](double v) { return static_cast<T>(detail::to_i64(v)); });
}

/// cvttpd2dq truncates four at once; only values that i32 cannot hold take the long way.
void i32_from(const double* values, int64_t n, void* out) {
  narrow_all<int32_t>(values, n, out, [](double v) {
    return v > -2147483649.0 && v < 2147483648.0 ? static_cast<int32_t>(v)
                                                 : static_cast<int32_t>(detail::to_i64(v));
  });
}

void widen_range(DType from, const void* source, int64_t n, double* out) {
  auto plain = [](auto v) { return static_cast<double>(v); };
  switch (from) {
    case DType::f64:
      std::memcpy(out, source, static_cast<size_t>(n) * 8);
      return;
    case DType::f32:
    case DType::tf32:
      return widen_all<float>(source, n, out, plain);
    case DType::f16:
      return widen_all<uint16_t>(source, n, out, [](uint16_t v) { return detail::F16::widen(v); });
    case DType::bf16:
      return widen_all<uint16_t>(source, n, out, [](uint16_t v) {
        return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(v) << 16));
      });
    case DType::e4m3:
      return widen_all<uint8_t>(source, n, out, [](uint8_t v) { return detail::E4m3::widen(v); });
    case DType::e5m2:
      return widen_all<uint8_t>(source, n, out, [](uint8_t v) { return detail::E5m2::widen(v); });
    case DType::i8:
      return widen_all<int8_t>(source, n, out, plain);
    case DType::i16:
      return widen_all<int16_t>(source, n, out, plain);
    case DType::i32:
      return widen_all<int32_t>(source, n, out, plain);
    case DType::i64:
      return widen_all<int64_t>(source, n, out, plain);
    case DType::u8:
      return widen_all<uint8_t>(source, n, out, plain);
    case DType::boolean:
      return widen_all<uint8_t>(source, n, out, [](uint8_t v) { return v != 0 ? 1.0 : 0.0; });
  }
}

void narrow_range(const double* values, int64_t n, DType to, void* out) {
  switch (to) {
    case DType::f64:
      std::memcpy(out, values, static_cast<size_t>(n) * 8);
      return;
    case DType::f32:
      return narrow_all<float>(values, n, out, [](double v) { return static_cast<float>(v); });
    case DType::tf32:
      return narrow_all<uint32_t>(values, n, out, [](double v) {
        return static_cast<uint32_t>(detail::Tf32::narrow(v)) << 13;
      });
    case DType::f16:
      return narrow_all<uint16_t>(
          values, n, out, [](double v) { return static_cast<uint16_t>(detail::F16::narrow(v)); });
    case DType::bf16:
      return narrow_all<uint16_t>(
          values, n, out, [](double v) { return static_cast<uint16_t>(detail::Bf16::narrow(v)); });
    case DType::e4m3:
      return narrow_all<uint8_t>(
          values, n, out, [](double v) { return static_cast<uint8_t>(detail::E4m3::narrow(v)); });
    case DType::e5m2:
      return narrow_all<uint8_t>(
          values, n, out, [](double v) { return static_cast<uint8_t>(detail::E5m2::narrow(v)); });
    case DType::i8:
      return integers_from<int8_t>(values, n, out);
    case DType::i16:
      return integers_from<int16_t>(values, n, out);
    case DType::i32:
      return i32_from(values, n, out);
    case DType::i64:
      return integers_from<int64_t>(values, n, out);
    case DType::u8:
      return integers_from<uint8_t>(values, n, out);
    case DType::boolean:
      return narrow_all<uint8_t>(values, n, out,
                                 [](double v) { return static_cast<uint8_t>(v != 0); });
  }
}

const char* at(const void* base, DType t, int64_t i) {
  return static_cast<const char*>(base) + i * size_of(t);
}
char* at(void* base, DType t, int64_t i) { return static_cast<char*>(base) + i * size_of(t); }

/// i64 beyond 2^53 has no exact double, so integers go to integers without one.
int64_t integer_at(DType t, const char* element) {
  switch (size_of(t)) {
    case 1:
      return t == DType::i8 ? *reinterpret_cast<const int8_t*>(element)
                            : static_cast<int64_t>(*reinterpret_cast<const uint8_t*>(element));
    case 2: {
      int16_t v;
      std::memcpy(&v, element, 2);
      return v;
    }
    case 4: {
      int32_t v;
      std::memcpy(&v, element, 4);
      return v;
    }
    default: {
      int64_t v;
      std::memcpy(&v, element, 8);
      return v;
    }
  }
}

void convert_integers(DType from, const void* source, DType to, void* out, int64_t n) {
  const auto bytes = static_cast<size_t>(size_of(to));
  for (int64_t i = 0; i < n; ++i) {
    int64_t v = integer_at(from, at(source, from, i));
    if (from == DType::boolean || to == DType::boolean) v = v != 0;
    std::memcpy(at(out, to, i), &v, bytes);  // little-endian: the low bytes are the wrapped value
  }
}

}  // namespace

void to_f64(DType from, const void* source, int64_t n, double* out) {
  if (n <= kGrain) return widen_range(from, source, n, out);
  parallel_for(n, kGrain, 0, [&](int64_t begin, int64_t end) {
    widen_range(from, at(source, from, begin), end - begin, out + begin);
  });
}

void from_f64(const double* values, int64_t n, DType to, void* out) {
  if (n <= kGrain) return narrow_range(values, n, to, out);
  parallel_for(n, kGrain, 0, [&](int64_t begin, int64_t end) {
    narrow_range(values + begin, end - begin, to, at(out, to, begin));
  });
}

void convert(DType from, const void* source, DType to, void* out, int64_t n) {
  if (from == DType::f64) return from_f64(static_cast<const double*>(source), n, to, out);
  if (to == DType::f64) return to_f64(from, source, n, static_cast<double*>(out));
  parallel_for(n, kGrain, 0, [&](int64_t begin, int64_t end) {
    if (from == to) {
      std::memcpy(at(out, to, begin), at(source, from, begin),
                  static_cast<size_t>((end - begin) * size_of(to)));
      return;
    }
    if (!is_floating(from) && !is_floating(to))
      return convert_integers(from, at(source, from, begin), to, at(out, to, begin), end - begin);
    double stage[kStage];
    for (int64_t i = begin; i < end; i += kStage) {
      int64_t count = std::min(kStage, end - i);
      widen_range(from, at(source, from, i), count, stage);
      narrow_range(stage, count, to, at(out, to, i));
    }
  });
}

}  // namespace fiel
