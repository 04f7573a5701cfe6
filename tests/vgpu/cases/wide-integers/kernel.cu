// Numbers of 64 and 128 bits: products, quotients, remainders, carries, shifts and high halves.
typedef unsigned __int128 u128;
typedef __int128 s128;
typedef unsigned long long u64;
__device__ u128 load(const u64* x) { return static_cast<u128>(x[1]) << 64 | x[0]; }
__device__ void store(u64* y, u128 v) {
  y[0] = static_cast<u64>(v);
  y[1] = static_cast<u64>(v >> 64);
}
extern "C" __global__ void wide(const u64* x, u64* y) {
  const int t = threadIdx.x;
  const u128 a = load(x + 2 * t), b = load(x + 64 + 2 * t) | 1;
  y += 20 * t;
  store(y, a * b + (a >> (t + 1)));
  store(y + 2, a - b);
  store(y + 4, a / (b >> t));
  store(y + 6, a % (b >> t));
  store(y + 8, static_cast<u128>(static_cast<s128>(a) / static_cast<s128>(b >> 40 | 1)));
  store(y + 10, a << (t * 3) ^ b);
  store(y + 12, static_cast<u128>(static_cast<s128>(a) >> (t * 2)));
  const u64 p = x[2 * t], q = x[64 + 2 * t] | 1;
  y[14] = p / (q >> t);
  y[15] = p % (q >> t);
  y[16] = static_cast<u64>(static_cast<long long>(p) / static_cast<long long>(q >> 33 | 1));
  y[17] = static_cast<u64>(static_cast<long long>(p) % static_cast<long long>(q >> 20 | 1));
  y[18] = __umul64hi(p, q);
  y[19] = static_cast<u64>(__mul64hi(static_cast<long long>(p), static_cast<long long>(q)));
}
// Carry chains by hand.
extern "C" __global__ void carries(const unsigned* x, unsigned* y) {
  const int t = threadIdx.x;
  const unsigned* a = x + 4 * t;
  unsigned d[8];
  asm("{ add.cc.u32 %0, %4, %8; addc.cc.u32 %1, %5, %9; addc.cc.u32 %2, %6, %10; addc.u32 %3, %7, %11; }"
      : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(a[4]), "r"(a[5]), "r"(a[6]), "r"(a[7]));
  asm("{ sub.cc.u32 %0, %4, %8; subc.cc.u32 %1, %5, %9; subc.cc.u32 %2, %6, %10; subc.u32 %3, %7, %11; }"
      : "=r"(d[4]), "=r"(d[5]), "=r"(d[6]), "=r"(d[7])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(a[4]), "r"(a[5]), "r"(a[6]), "r"(a[7]));
  for (int i = 0; i < 8; ++i) y[12 * t + i] = d[i];
  asm("{ mad.lo.cc.u32 %0, %4, %5, %6; madc.hi.cc.u32 %1, %4, %5, %7; madc.lo.cc.u32 %2, %5, %6, 0; madc.hi.u32 %3, %5, %6, 0; }"
      : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]));
  for (int i = 0; i < 4; ++i) y[12 * t + 8 + i] = d[i];
}
