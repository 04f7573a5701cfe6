template <int kWidth, typename T = float>
__device__ T scaled(const T* __restrict__ x, double s) {
  const float* p = reinterpret_cast<const float*>(x);
  return static_cast<T>(-p[0] * (float)-s) + x[kWidth - 1];
}
