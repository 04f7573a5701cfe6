// Runs every case of mma_cases.h on a GPU of compute capability 9.0 and prints what came out:
// the text that tests/vgpu/golden/mma_sm90.txt holds.
//
//   nvcc -std=c++17 -arch=sm_90 -O1 -o mma_vectors tests/vgpu/h200/mma_vectors.cu
//   ./mma_vectors > tests/vgpu/golden/mma_sm90.txt
//
// One line a form and pattern: `form pattern h0 h1 h2 h3 w0 … w15` with a hash over each sixteen
// seeds, and the first sixteen lanes of d's first register for seed 0.
#include <cstdio>
#include <utility>
#include <vector>

#include "mma_cases.h"

using namespace mma_cases;

#define CHECK(call)                                                                            \
  do {                                                                                         \
    cudaError_t error_ = (call);                                                               \
    if (error_ != cudaSuccess) {                                                               \
      std::fprintf(stderr, "%s: %s (line %d)\n", #call, cudaGetErrorString(error_), __LINE__); \
      return 1;                                                                                \
    }                                                                                          \
  } while (0)

struct Result {
  uint64_t d[4][32];
};

// Operand lists of each register count: d, a, b, c.
#define D2 "{%0,%1}"
#define D4 "{%0,%1,%2,%3}"
#define LIST_1_1_2 D2 ",{%2},{%3},{%4,%5}"
#define LIST_2_1_2 D2 ",{%2,%3},{%4},{%5,%6}"
#define LIST_4_2_2 D2 ",{%2,%3,%4,%5},{%6,%7},{%8,%9}"
#define LIST_2_1_4 D4 ",{%4,%5},{%6},{%7,%8,%9,%10}"
#define LIST_4_2_4 D4 ",{%4,%5,%6,%7},{%8,%9},{%10,%11,%12,%13}"
#define LIST_8_4_4 D4 ",{%4,%5,%6,%7,%8,%9,%10,%11},{%12,%13,%14,%15},{%16,%17,%18,%19}"
#define OUT2(C) C(d[0]), C(d[1])
#define OUT4(C) C(d[0]), C(d[1]), C(d[2]), C(d[3])
#define IN1(C, x) C(x[0])
#define IN2(C, x) C(x[0]), C(x[1])
#define IN4(C, x) C(x[0]), C(x[1]), C(x[2]), C(x[3])
#define IN8(C, x) IN4(C, x), C(x[4]), C(x[5]), C(x[6]), C(x[7])
#define OUTR(v) "=r"(v)
#define OUTD(v) "=d"(v)
#define OUTF(v) "=f"(v)
#define INR(v) "r"(v)
#define IND(v) "d"(v)
#define INF(v) "f"(v)

// Register classes of the accumulators: f32 "f", f64 "d", the others "r".
#define CLASS_f32(M) M##F
#define CLASS_f64(M) M##D
#define CLASS_f16(M) M##R
#define CLASS_s32(M) M##R
#define FACTOR_f64(M) M##D
#define FACTOR_f16(M) M##R
#define FACTOR_bf16(M) M##R
#define FACTOR_tf32(M) M##R
#define FACTOR_e4m3(M) M##R
#define FACTOR_e5m2(M) M##R
#define FACTOR_s8(M) M##R
#define FACTOR_u8(M) M##R
#define FACTOR_s4(M) M##R
#define FACTOR_u4(M) M##R
#define FACTOR_b1(M) M##R

#define TYPE_f32 float
#define TYPE_f64 double
#define TYPE_f16 uint32_t
#define TYPE_s32 uint32_t

__device__ inline void from_bits(uint64_t bits, uint32_t& x) { x = static_cast<uint32_t>(bits); }
__device__ inline void from_bits(uint64_t bits, float& x) {
  x = __uint_as_float(static_cast<uint32_t>(bits));
}
__device__ inline void from_bits(uint64_t bits, double& x) {
  x = __longlong_as_double(static_cast<long long>(bits));
}
__device__ inline uint64_t to_bits(uint32_t x) { return x; }
__device__ inline uint64_t to_bits(float x) { return __float_as_uint(x); }
__device__ inline uint64_t to_bits(double x) {
  return static_cast<uint64_t>(__double_as_longlong(x));
}

template <bool F64>
struct Factor {
  using type = uint32_t;
};
template <>
struct Factor<true> {
  using type = double;
};

// One kernel a form, a warp a case; numbered in the order of kForms.
template <int Index>
__global__ void run(const Operands* in, Result* out);
constexpr int kFirst = __COUNTER__ + 1;

#define X(ptx, m, k, a_, b_, c_, sat, and_popc, na, nb, nc)                              \
  template <>                                                                            \
  __global__ void run<__COUNTER__ - kFirst>(const Operands* in, Result* out) {           \
    const int lane = threadIdx.x;                                                        \
    Factor<El::a_ == El::f64>::type a[na], b[nb];                                        \
    TYPE_##c_ c[nc], d[nc];                                                              \
    for (int i = 0; i < na; ++i) from_bits(in[blockIdx.x].a[i][lane], a[i]);             \
    for (int i = 0; i < nb; ++i) from_bits(in[blockIdx.x].b[i][lane], b[i]);             \
    for (int i = 0; i < nc; ++i) from_bits(in[blockIdx.x].c[i][lane], c[i]);             \
    asm volatile("mma.sync.aligned." ptx " " LIST_##na##_##nb##_##nc ";"                 \
                 : OUT##nc(CLASS_##c_(OUT))                                              \
                 : IN##na(FACTOR_##a_(IN), a), IN##nb(FACTOR_##a_(IN), b),               \
                   IN##nc(CLASS_##c_(IN), c));                                           \
    for (int i = 0; i < 4; ++i) out[blockIdx.x].d[i][lane] = i < nc ? to_bits(d[i]) : 0; \
  }
MMA_FORMS(X)
#undef X

using Kernel = void (*)(const Operands*, Result*);
template <size_t... I>
Kernel kernel_at(int index, std::index_sequence<I...>) {
  const Kernel kernels[] = {run<static_cast<int>(I)>...};
  return kernels[index];
}

int main() {
  cudaDeviceProp device;
  CHECK(cudaGetDeviceProperties(&device, 0));
  std::printf("# mma.sync on %s, compute capability %d.%d; forms %d seeds %d\n", device.name,
              device.major, device.minor, kFormCount, kSeeds);
  Operands* in = nullptr;
  Result* out = nullptr;
  CHECK(cudaMalloc(&in, kSeeds * sizeof(Operands)));
  CHECK(cudaMalloc(&out, kSeeds * sizeof(Result)));
  std::vector<Operands> operands(kSeeds);
  std::vector<Result> results(kSeeds);
  for (int i = 0; i < kFormCount; ++i) {
    for (int p = 0; p < static_cast<int>(Pattern::kCount); ++p) {
      const Pattern pattern = static_cast<Pattern>(p);
      if (!applies(kForms[i], pattern)) continue;
      for (int s = 0; s < kSeeds; ++s) {
        operands[s] = make_operands(kForms[i], pattern, static_cast<uint64_t>(s));
      }
      CHECK(cudaMemcpy(in, operands.data(), kSeeds * sizeof(Operands), cudaMemcpyHostToDevice));
      kernel_at(i, std::make_index_sequence<kFormCount>{})<<<kSeeds, 32>>>(in, out);
      CHECK(cudaGetLastError());
      CHECK(cudaMemcpy(results.data(), out, kSeeds * sizeof(Result), cudaMemcpyDeviceToHost));
      std::printf("%s %s", kForms[i].ptx, kPatternNames[p]);
      for (int s = 0; s < kSeeds; s += kSeedsPerHash) {
        uint64_t h = 0;
        for (int j = 0; j < kSeedsPerHash; ++j) h = hash_result(h, kForms[i], results[s + j].d);
        std::printf(" %016llx", static_cast<unsigned long long>(h));
      }
      for (int lane = 0; lane < 16; ++lane) {
        std::printf(" %llx", static_cast<unsigned long long>(results[0].d[0][lane]));
      }
      std::printf("\n");
    }
  }
  return 0;
}
