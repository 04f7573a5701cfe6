// Arrays of a thread's own: indexed at run time, passed down through frames, of all sizes.
struct Mixed {
  char c;
  short s;
  int i;
  long long l;
};
__device__ __noinline__ int sum_of(const Mixed* m, int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += m[i].c + m[i].s + m[i].i + static_cast<int>(m[i].l);
  return sum;
}
// Each frame has an array of its own and writes into the one above.
__device__ __noinline__ int frames(int depth, int* above) {
  int own[4];
  for (int i = 0; i < 4; ++i) own[i] = depth * 10 + i;
  if (depth > 0) above[depth & 3] += frames(depth - 1, own);
  return own[0] + own[1] + own[2] + own[3];
}
extern "C" __global__ void arrays(const int* x, int* y) {
  const int t = threadIdx.x;
  Mixed m[5];
  for (int i = 0; i < 5; ++i) {
    const int k = (x[i] + t) % 5;
    m[i] = {static_cast<char>(t - i), static_cast<short>(-300 * i), 1000 * k, (1ll << 33) + k};
  }
  m[x[t & 7] % 5].i += 7;
  y[t] = sum_of(m, 5);
  int top[4] = {1, 2, 3, 4};
  y[32 + t] = frames(t & 3, top);
  y[64 + t] = top[0] + 2 * top[1] + 3 * top[2] + 4 * top[3];
  unsigned char bytes[16];
  for (int i = 0; i < 16; ++i) bytes[i] = static_cast<unsigned char>(t * 16 + i);
  unsigned word = 0;
  for (int i = 0; i < 4; ++i) word |= static_cast<unsigned>(bytes[(x[i] + i) & 15]) << (8 * i);
  y[96 + t] = static_cast<int>(word);
}
// A sort in local memory, whose loops diverge.
extern "C" __global__ void sorts(const int* x, int* y) {
  const int t = threadIdx.x;
  int a[12];
  for (int i = 0; i < 12; ++i) a[i] = (x[i & 7] * (t + 3) + 5 * i) % 23;
#pragma unroll 1
  for (int i = 1; i < 12; ++i) {
    const int v = a[i];
    int j = i;
    for (; j > 0 && a[j - 1] > v; --j) a[j] = a[j - 1];
    a[j] = v;
  }
  int hash = 0;
  for (int i = 0; i < 12; ++i) hash = hash * 31 + a[i];
  y[t] = hash;
}
