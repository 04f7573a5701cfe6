// Vectors of two and four, of every element size, in each space; narrow loads that extend their sign;
// and 128 bits at once.
#include <cstdint>

struct __align__(16) Tile {
  uint8_t bytes[256];
};
__constant__ Tile constants = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 255, 254, 253, 252, 251, 250, 249, 248,
                                128, 129, 130, 131, 127, 126, 125, 124}};
// What each space is asked for, from byte `at` on: y has 20 words.
#define READ_ALL(space, constraint, address)                                                                        \
  {                                                                                                                 \
    uint32_t a, b, c, d;                                                                                            \
    uint64_t p, q;                                                                                                  \
    asm volatile("ld" space ".v2.u8 {%0,%1}, [%2];" : "=r"(a), "=r"(b) : constraint(address));                      \
    y[0] = a | b << 8;                                                                                              \
    asm volatile("ld" space ".v4.s8 {%0,%1,%2,%3}, [%4+16];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : constraint(address)); \
    y[1] = a, y[2] = b, y[3] = c, y[4] = d;                                                                         \
    asm volatile("ld" space ".v4.u16 {%0,%1,%2,%3}, [%4+8];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : constraint(address)); \
    y[5] = a | b << 16, y[6] = c | d << 16;                                                                         \
    asm volatile("ld" space ".v2.s16 {%0,%1}, [%2+24];" : "=r"(a), "=r"(b) : constraint(address));                  \
    y[7] = a, y[8] = b;                                                                                             \
    asm volatile("ld" space ".v2.u32 {%0,%1}, [%2+8];" : "=r"(a), "=r"(b) : constraint(address));                   \
    y[9] = a, y[10] = b;                                                                                            \
    asm volatile("ld" space ".v4.b32 {%0,%1,%2,%3}, [%4+16];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : constraint(address)); \
    y[11] = a ^ c, y[12] = b ^ d;                                                                                   \
    asm volatile("ld" space ".v2.u64 {%0,%1}, [%2];" : "=l"(p), "=l"(q) : constraint(address));                     \
    y[13] = p, y[14] = p >> 32, y[15] = q, y[16] = q >> 32;                                                         \
    asm volatile("ld" space ".s8 %0, [%1+18];" : "=l"(p) : constraint(address));                                    \
    asm volatile("ld" space ".s32 %0, [%1+16];" : "=l"(q) : constraint(address));                                   \
    y[17] = p >> 32, y[18] = q, y[19] = q >> 32;                                                                    \
    y += 20;                                                                                                        \
  }
extern "C" __global__ void reads(const uint8_t* x, uint32_t* to, const __grid_constant__ Tile tile) {
  __shared__ Tile s;
  Tile own;
  const int t = threadIdx.x;
  for (int i = 0; i < 256; ++i) own.bytes[i] = x[(i + t) & 255];
  for (int i = t; i < 256; i += 32) s.bytes[i] = x[i];
  __syncwarp();
  uint32_t* y = to + 140 * t;
  const int at = 32 * (t % 7);
  READ_ALL(".global", "l", x + at)
  READ_ALL(".shared", "r", static_cast<uint32_t>(__cvta_generic_to_shared(s.bytes + at)))
  READ_ALL(".local", "l", __cvta_generic_to_local(own.bytes + at))
  READ_ALL(".const", "l", __cvta_generic_to_constant(constants.bytes))
  READ_ALL(".param", "l", __cvta_generic_to_grid_constant(tile.bytes))
  READ_ALL("", "l", t & 1 ? x + at : static_cast<const uint8_t*>(s.bytes + at))
  READ_ALL("", "l", t & 1 ? constants.bytes : own.bytes + at)
}
#define WRITE_ALL(space, constraint, address)                                                                      \
  asm volatile("st" space ".v4.u8 [%0], {%1,%2,%3,%4};" ::constraint(address), "r"(v), "r"(v >> 8), "r"(v + 1), "r"(v * 3) : "memory"); \
  asm volatile("st" space ".v2.u16 [%0+4], {%1,%2};" ::constraint(address), "r"(v), "r"(v >> 3) : "memory");        \
  asm volatile("st" space ".v2.u32 [%0+8], {%1,%2};" ::constraint(address), "r"(v * 5), "r"(v * 7) : "memory");     \
  asm volatile("st" space ".v4.u32 [%0+16], {%1,%2,%3,%4};" ::constraint(address), "r"(v), "r"(~v), "r"(v << 1), "r"(v >> 1) : "memory"); \
  asm volatile("st" space ".v2.u64 [%0+32], {%1,%2};" ::constraint(address), "l"(w), "l"(~w) : "memory");           \
  asm volatile("st" space ".u8 [%0+48], %1;" ::constraint(address), "r"(v) : "memory");                             \
  asm volatile("st" space ".u16 [%0+50], %1;" ::constraint(address), "r"(v) : "memory");                            \
  asm volatile("st" space ".f64 [%0+56], %1;" ::constraint(address), "d"(0.5 * t) : "memory");
extern "C" __global__ void writes(uint32_t* y) {
  __shared__ __align__(16) uint8_t s[2048];
  __align__(16) uint8_t own[64];
  const int t = threadIdx.x;
  const uint32_t v = 0x89abcdefu + 0x01234567u * t;
  const uint64_t w = 0x123456789abcdef0ull * (t + 1);
  for (int i = 0; i < 64; ++i) s[64 * t + i] = own[i] = 0;
  for (int i = 0; i < 16; ++i) y[16 * t + i] = 0;
  WRITE_ALL(".global", "l", y + 16 * t)
  WRITE_ALL(".shared", "r", static_cast<uint32_t>(__cvta_generic_to_shared(s + 64 * t)))
  WRITE_ALL(".local", "l", __cvta_generic_to_local(own))
  for (int i = 0; i < 16; ++i) y[512 + 16 * t + i] = reinterpret_cast<uint32_t*>(s)[16 * t + i];
  for (int i = 0; i < 16; ++i) y[1024 + 16 * t + i] = reinterpret_cast<uint32_t*>(own)[i];
}
// Sixteen bytes as one number of 128 bits.
extern "C" __global__ void widest(const uint8_t* x, uint8_t* y) {
  const int t = threadIdx.x;
  asm volatile("{ .reg .b128 v; ld.global.b128 v, [%0]; st.global.b128 [%1], v; }"
               ::"l"(x + 16 * (15 - t)), "l"(y + 16 * t) : "memory");
}
