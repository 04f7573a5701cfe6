// Every atomic operation on every type, in global, shared and generic memory, with orders and scopes
// in turn. A thread's own word tells what came back; a word of all threads what is left.
#include <cstdint>

template <typename T>
struct Words {
  T own[64], old[64], all[1];
};
#define TRY(name, T, constraint, op, mine, start)                                                   \
  template <int kSpace>                                                                             \
  __device__ void name(Words<T>* w) {                                                               \
    __shared__ T own[64], all;                                                                      \
    const int t = threadIdx.x;                                                                      \
    own[t] = static_cast<T>(start);                                                                 \
    if (t == 0) all = static_cast<T>(start);                                                        \
    __syncthreads();                                                                                \
    T* const a = kSpace == 0 ? w->own + t : own + t;                                                \
    T* const b = kSpace == 0 ? w->all : &all;                                                       \
    if (kSpace == 0) *a = static_cast<T>(start);                                                    \
    if (kSpace == 0 && t == 0) *b = static_cast<T>(start);                                          \
    __syncthreads();                                                                                \
    T back, ignored;                                                                                \
    const T x = static_cast<T>(mine);                                                               \
    if (kSpace == 0)                                                                                \
      asm volatile("atom.relaxed.gpu.global." op " %0, [%1], %2;" : "=" constraint(back)            \
                   : "l"(a), constraint(x) : "memory");                                             \
    else if (kSpace == 1)                                                                           \
      asm volatile("atom.acq_rel.cta.shared." op " %0, [%1], %2;" : "=" constraint(back)            \
                   : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(a))), constraint(x) : "memory"); \
    else                                                                                            \
      asm volatile("atom.release.sys." op " %0, [%1], %2;" : "=" constraint(back)                   \
                   : "l"(a), constraint(x) : "memory");                                             \
    w->old[t] = back;                                                                               \
    if (kSpace == 0)                                                                                \
      asm volatile("red.release.gpu.global." op " [%0], %1;" ::"l"(b), constraint(x) : "memory");   \
    else if (kSpace == 1)                                                                           \
      asm volatile("atom.shared." op " %0, [%1], %2;" : "=" constraint(ignored)                     \
                   : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(b))), constraint(x) : "memory"); \
    else                                                                                            \
      asm volatile("atom.acquire.cta." op " %0, [%1], %2;" : "=" constraint(ignored)                \
                   : "l"(b), constraint(x) : "memory");                                             \
    __syncthreads();                                                                                \
    if (kSpace != 0) w->own[t] = *a;                                                                \
    if (kSpace != 0 && t == 0) *w->all = *b;                                                        \
    __syncthreads();                                                                                \
  }
#define IN_ALL_SPACES(name, w) \
  name<0>(w), name<1>(w + 1), name<2>(w + 2), w += 3;

TRY(add_u32, uint32_t, "r", "add.u32", 3 * t + 1, 7)
TRY(add_s32, uint32_t, "r", "add.s32", 5 - 2 * t, -9)
TRY(min_u32, uint32_t, "r", "min.u32", t * 40000000u, 1000000000u)
TRY(min_s32, uint32_t, "r", "min.s32", 20 - 3 * t, -20)
TRY(max_u32, uint32_t, "r", "max.u32", t * 40000000u, 1000000000u)
TRY(max_s32, uint32_t, "r", "max.s32", 20 - 3 * t, -20)
TRY(inc_u32, uint32_t, "r", "inc.u32", 6, 3)
TRY(dec_u32, uint32_t, "r", "dec.u32", 6, 3)
TRY(and_b32, uint32_t, "r", "and.b32", ~(1u << (t & 31)), 0xff00ffffu)
TRY(or_b32, uint32_t, "r", "or.b32", 1u << (t & 15), 0x80000000u)
TRY(xor_b32, uint32_t, "r", "xor.b32", 0x01010101u * t, 0x12345678u)
TRY(add_u64, uint64_t, "l", "add.u64", (1ull << 33) + t, 5)
TRY(min_u64, uint64_t, "l", "min.u64", (1ull << 63) - (uint64_t(t) << 40), 1ull << 62)
TRY(max_s64, uint64_t, "l", "max.s64", (int64_t(t) - 30) << 40, -(1ll << 44))
TRY(min_s64, uint64_t, "l", "min.s64", (int64_t(t) - 30) << 40, -(1ll << 44))
TRY(max_u64, uint64_t, "l", "max.u64", uint64_t(t) << 58, 1ull << 62)
TRY(and_b64, uint64_t, "l", "and.b64", ~(1ull << t), ~0ull << 8)
TRY(or_b64, uint64_t, "l", "or.b64", 1ull << t, 1)
TRY(xor_b64, uint64_t, "l", "xor.b64", 0x0101010101010101ull * t, 1ull << 60)
TRY(add_f32, float, "f", "add.f32", 0.25f * t, -3)
TRY(add_f64, double, "d", "add.f64", 0.125 * t, 1024)
#undef TRY

extern "C" __global__ void words(Words<uint32_t>* w) {
  IN_ALL_SPACES(add_u32, w)
  IN_ALL_SPACES(add_s32, w)
  IN_ALL_SPACES(min_u32, w)
  IN_ALL_SPACES(min_s32, w)
  IN_ALL_SPACES(max_u32, w)
  IN_ALL_SPACES(max_s32, w)
  IN_ALL_SPACES(inc_u32, w)
  IN_ALL_SPACES(dec_u32, w)
  IN_ALL_SPACES(and_b32, w)
  IN_ALL_SPACES(or_b32, w)
  IN_ALL_SPACES(xor_b32, w)
}
extern "C" __global__ void wide(Words<uint64_t>* w) {
  IN_ALL_SPACES(add_u64, w)
  IN_ALL_SPACES(min_u64, w)
  IN_ALL_SPACES(max_s64, w)
  IN_ALL_SPACES(min_s64, w)
  IN_ALL_SPACES(max_u64, w)
  IN_ALL_SPACES(and_b64, w)
  IN_ALL_SPACES(or_b64, w)
  IN_ALL_SPACES(xor_b64, w)
}
extern "C" __global__ void floats(Words<float>* w, Words<double>* v) {
  IN_ALL_SPACES(add_f32, w)
  IN_ALL_SPACES(add_f64, v)
}
