void scaled_sum(float* out, const float* a, const float* b, float alpha, long long n) {
  for (long long i = 0; i < n; ++i) out[i] = alpha * a[i] + b[i];
}
