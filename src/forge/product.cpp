// One matrix product with an elementwise end: tiles in shared memory, the next tile on its way
// while this one is multiplied; f32 on the CUDA cores, f16 and bf16 on tensor cores (wmma, f32
// sums).
#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "forge/emit.h"
#include "forge/template.h"

namespace fiel::forge {
namespace {

constexpr std::string_view kTiles = R"(
constexpr int kM = @m@, kN = @n@, kK = @k@;
using Left = @left_type@;
using Right = @right_type@;
constexpr bool kLeftTurned = @left_turned@, kRightTurned = @right_turned@;

/// One tile on its way from memory to shared memory: `lines` of `across` elements that lie together.
template <typename T, int V, int kLines, int kAcross, int kBlock> struct Fetch {
  static constexpr int kPacks = kLines * kAcross / V;
  static constexpr int kEach = (kPacks + kBlock - 1) / kBlock;
  Pack<T, V> packs[kEach];
  __device__ void get(const T* from, int line, int lines, int at, int length) {
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int p = i * kBlock + threadIdx.x;
      const int l = line + p / (kAcross / V), c = at + p % (kAcross / V) * V;
#pragma unroll
      for (int e = 0; e < V; ++e) packs[i].v[e] = T(0.f);
      if (p < kPacks && l < lines && c < length)
        packs[i] = load_shared<T, V>(from + int64_t{l} * length + c);
    }
  }
  template <typename Put> __device__ void put(Put put_one) const {
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int p = i * kBlock + threadIdx.x;
      if (p < kPacks) put_one(p / (kAcross / V), p % (kAcross / V) * V, packs[i]);
    }
  }
};
)";

constexpr std::string_view kScalarKernel = R"(
constexpr int kTm = @tm@, kTn = @tn@;            // of a thread
constexpr int kAcross = kN / kTn, kDown = kM / kTm;
constexpr int kBlock = kAcross * kDown;
constexpr int kVector = 4;

template <int V>
__global__ void __launch_bounds__(kBlock)
product(@parameters@, int m, int n, int k) {
  __shared__ __align__(16) float a[2][kK][kM + 4], b[2][kK][kN + 4];
@once@  const int m0 = blockIdx.y * kM, n0 = blockIdx.x * kN;
  const int tx = threadIdx.x % kAcross, ty = threadIdx.x / kAcross;
  Fetch<Left, V, kLeftTurned ? kK : kM, kLeftTurned ? kM : kK, kBlock> left;
  Fetch<Right, V, kRightTurned ? kN : kK, kRightTurned ? kK : kN, kBlock> right;
  const auto get = [&](int k0) {
    if (kLeftTurned) left.get(@left@, k0, k, m0, m); else left.get(@left@, m0, m, k0, k);
    if (kRightTurned) right.get(@right@, n0, n, k0, k); else right.get(@right@, k0, k, n0, n);
  };
  const auto put = [&](int turn) {
    left.put([&](int l, int c, const auto& pack) {
#pragma unroll
      for (int e = 0; e < V; ++e)
        if (kLeftTurned) a[turn][l][c + e] = number(pack.v[e]);
        else a[turn][c + e][l] = number(pack.v[e]);
    });
    right.put([&](int l, int c, const auto& pack) {
#pragma unroll
      for (int e = 0; e < V; ++e)
        if (kRightTurned) b[turn][c + e][l] = number(pack.v[e]);
        else b[turn][l][c + e] = number(pack.v[e]);
    });
  };
  float sum[kTm][kTn];
#pragma unroll
  for (int i = 0; i < kTm; ++i)
#pragma unroll
    for (int j = 0; j < kTn; ++j) sum[i][j] = 0.f;
  get(0);
  put(0);
  __syncthreads();
  int turn = 0;
  for (int k0 = 0; k0 < k; k0 += kK) {
    if (k0 + kK < k) get(k0 + kK);
#pragma unroll
    for (int d = 0; d < kK; ++d) {
      float x[kTm], w[kTn];
#pragma unroll
      for (int i = 0; i < kTm; i += 4)
        *reinterpret_cast<float4*>(&x[i]) =
            *reinterpret_cast<const float4*>(&a[turn][d][i * kDown + ty * 4]);
#pragma unroll
      for (int j = 0; j < kTn; j += 4)
        *reinterpret_cast<float4*>(&w[j]) =
            *reinterpret_cast<const float4*>(&b[turn][d][j * kAcross + tx * 4]);
#pragma unroll
      for (int i = 0; i < kTm; ++i)
#pragma unroll
        for (int j = 0; j < kTn; ++j) sum[i][j] = fmaf(x[i], w[j], sum[i][j]);
    }
    if (k0 + kK < k) put(turn ^ 1);
    __syncthreads();
    turn ^= 1;
  }
#pragma unroll
  for (int i = 0; i < kTm; ++i) {
    const int row = m0 + i / 4 * 4 * kDown + ty * 4 + i % 4;
    if (row >= m) continue;
@row_values@#pragma unroll
    for (int j = 0; j < kTn; j += V) {
      const int c = n0 + j / 4 * 4 * kAcross + tx * 4 + j % 4;
      if (c >= n) continue;
      const int64_t at = int64_t{row} * n + c;
      (void)at;
@packs@#pragma unroll
      for (int e = 0; e < V; ++e) {
        const float product_value = sum[i][j + e];
@values@      }
@stores@    }
  }
}
)";

constexpr std::string_view kTensorKernel = R"(
constexpr int kWarpM = @tm@, kWarpN = @tn@;      // of a warp
constexpr int kWarpsAcross = kN / kWarpN, kWarpsDown = kM / kWarpM;
constexpr int kBlock = kWarpsAcross * kWarpsDown * 32;
constexpr int kVector = 8;
using namespace nvcuda;

template <int V>
__global__ void __launch_bounds__(kBlock)
product(@parameters@, int m, int n, int k) {
  constexpr int kLeftLines = kLeftTurned ? kK : kM, kLeftAcross = kLeftTurned ? kM : kK;
  constexpr int kRightLines = kRightTurned ? kN : kK, kRightAcross = kRightTurned ? kK : kN;
  __shared__ __align__(32) Left a[2][kLeftLines][kLeftAcross + 8];
  __shared__ __align__(32) Right b[2][kRightLines][kRightAcross + 8];
  __shared__ __align__(32) float stage[kBlock / 32][16][20];
@once@  const int m0 = blockIdx.y * kM, n0 = blockIdx.x * kN;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int wm = warp / kWarpsAcross * kWarpM, wn = warp % kWarpsAcross * kWarpN;
  Fetch<Left, V, kLeftLines, kLeftAcross, kBlock> left;
  Fetch<Right, V, kRightLines, kRightAcross, kBlock> right;
  const auto get = [&](int k0) {
    if (kLeftTurned) left.get(@left@, k0, k, m0, m); else left.get(@left@, m0, m, k0, k);
    if (kRightTurned) right.get(@right@, n0, n, k0, k); else right.get(@right@, k0, k, n0, n);
  };
  const auto put = [&](int turn) {
    left.put([&](int l, int c, const auto& pack) { store<Left, V>(&a[turn][l][c], pack); });
    right.put([&](int l, int c, const auto& pack) { store<Right, V>(&b[turn][l][c], pack); });
  };
  using LeftOrder = @left_order@;
  using RightOrder = @right_order@;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[kWarpM / 16][kWarpN / 16];
#pragma unroll
  for (int i = 0; i < kWarpM / 16; ++i)
#pragma unroll
    for (int j = 0; j < kWarpN / 16; ++j) wmma::fill_fragment(sum[i][j], 0.f);
  get(0);
  put(0);
  __syncthreads();
  int turn = 0;
  for (int k0 = 0; k0 < k; k0 += kK) {
    if (k0 + kK < k) get(k0 + kK);
#pragma unroll
    for (int d = 0; d < kK; d += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, Left, LeftOrder> x[kWarpM / 16];
      wmma::fragment<wmma::matrix_b, 16, 16, 16, Right, RightOrder> w[kWarpN / 16];
#pragma unroll
      for (int i = 0; i < kWarpM / 16; ++i)
        wmma::load_matrix_sync(
            x[i], kLeftTurned ? &a[turn][d][wm + i * 16] : &a[turn][wm + i * 16][d],
            kLeftAcross + 8);
#pragma unroll
      for (int j = 0; j < kWarpN / 16; ++j)
        wmma::load_matrix_sync(
            w[j], kRightTurned ? &b[turn][wn + j * 16][d] : &b[turn][d][wn + j * 16],
            kRightAcross + 8);
#pragma unroll
      for (int i = 0; i < kWarpM / 16; ++i)
#pragma unroll
        for (int j = 0; j < kWarpN / 16; ++j) wmma::mma_sync(sum[i][j], x[i], w[j], sum[i][j]);
    }
    if (k0 + kK < k) put(turn ^ 1);
    __syncthreads();
    turn ^= 1;
  }
#pragma unroll
  for (int i = 0; i < kWarpM / 16; ++i)
#pragma unroll
    for (int j = 0; j < kWarpN / 16; ++j) {
      wmma::store_matrix_sync(&stage[warp][0][0], sum[i][j], 20, wmma::mem_row_major);
      __syncwarp();
      const int row = m0 + wm + i * 16 + lane / 2;
@row_values@#pragma unroll
      for (int h = 0; h < 8; h += V) {
        const int inside = lane % 2 * 8 + h;
        const int c = n0 + wn + j * 16 + inside;
        if (row >= m || c >= n) continue;
        const int64_t at = int64_t{row} * n + c;
        (void)at;
@packs@#pragma unroll
        for (int e = 0; e < V; ++e) {
          const float product_value = stage[warp][lane / 2][inside + e];
@values@        }
@stores@      }
      __syncwarp();
    }
}
)";

constexpr std::string_view kHost = R"(
}  // namespace

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
                         int n_outputs, cudaStream_t stream) {
@checks@  const fiel_tensor &l = inputs[@l@], &r = inputs[@r@];
  if (l.rank < 2 || r.rank != 2) return FIEL_UNSUPPORTED;
  const int64_t k = kLeftTurned ? l.shape[0] : l.shape[l.rank - 1];
  const int64_t rows = k == 0 ? 0 : fiel_numel(&l) / k;
  const int64_t columns = r.shape[kRightTurned ? 0 : 1];
  if (r.shape[kRightTurned ? 1 : 0] != k || k < 1) return FIEL_UNSUPPORTED;
  if (k >= (1 << 30) || rows >= (1 << 22) || columns >= (1 << 30)) return FIEL_UNSUPPORTED;
@extents@  if (rows == 0 || columns == 0) return 0;
  const bool vectors = columns % kVector == 0 && k % kVector == 0 &&
                       (!kLeftTurned || rows % kVector == 0) &&
                       aligned(l, 16) && aligned(r, 16)@alignment@;
  const dim3 grid((unsigned)((columns + kN - 1) / kN), (unsigned)((rows + kM - 1) / kM));
  if (vectors)
    product<kVector><<<grid, kBlock, 0, stream>>>(@arguments@, (int)rows, (int)columns, (int)k);
  else
    product<1><<<grid, kBlock, 0, stream>>>(@arguments@, (int)rows, (int)columns, (int)k);
  return cudaGetLastError();
}
)";

struct Tile {
  int m, n, k, tm, tn;
};

class ProductTemplate : public Template {
 public:
  explicit ProductTemplate(Program program) : p_(std::move(program)) {
    // After the end of the sums everything is read once; operands are read by many blocks.
    const DType left = p_.inputs[p_.left].dtype;
    p_.on_tensor_cores = tensor_ =
        left == p_.inputs[p_.right].dtype && (left == DType::f16 || left == DType::bf16);
    const bool small = p_.rows * p_.columns < int64_t{128} * 128 * 132;
    if (tensor_)
      axes_ = {{"tile", {"64x64", "64x128", "128x64", "128x128"}, small ? 0u : 3u},
               {"depth", {"16", "32", "64"}, 1},
               {"warp", {"32x32", "32x64", "64x32", "64x64"}, 1}};
    else
      axes_ = {{"tile", {"32x32", "64x64", "64x128", "128x64", "128x128"}, small ? 1u : 4u},
               {"depth", {"8", "16", "32"}, 1},
               {"thread", {"4x4", "8x4", "4x8", "8x8"}, small ? 0u : 3u}};
    axes_.push_back({"stores", {"plain", "stream"}, 0});
    if (p_.has_fast) axes_.push_back({"math", {"exact", "fast"}, 0});
  }

  const char* family() const override { return "product"; }

  bool possible(const Point& at) const override {
    const Tile t = tile(at);
    const int warp = tensor_ ? 32 : 1;
    if (t.m % t.tm != 0 || t.n % t.tn != 0) return false;
    const int block = t.m / t.tm * (t.n / t.tn) * warp;
    if (block < 32 || block > 1024) return false;
    if (tensor_)
      return 4 * (p_.left_transposed ? t.k * (t.m + 8) : t.m * (t.k + 8)) +
                 4 * (p_.right_transposed ? t.n * (t.k + 8) : t.k * (t.n + 8)) +
                 block / 32 * 16 * 20 * 4 <=
             48 * 1024;
    return 2 * 4 * t.k * (t.m + t.n + 8) <= 48 * 1024;
  }

  std::string source(const Point& at) const override {
    const Tile t = tile(at);
    const bool fast = value(at, "math") == "fast";
    std::string text =
        prelude(p_, "Product: " + name_of(at), false, value(at, "stores") == "stream", false);
    if (tensor_) text.insert(text.find("\nnamespace"), "#include <mma.h>\n");
    text += fill(kTiles, {{"m", std::to_string(t.m)},
                          {"n", std::to_string(t.n)},
                          {"k", std::to_string(t.k)},
                          {"left_type", c_type(p_.inputs[p_.left].dtype)},
                          {"right_type", c_type(p_.inputs[p_.right].dtype)},
                          {"left_turned", p_.left_transposed ? "true" : "false"},
                          {"right_turned", p_.right_transposed ? "true" : "false"}});
    const auto order = [](bool turned) { return turned ? "wmma::col_major" : "wmma::row_major"; };
    text +=
        fill(tensor_ ? kTensorKernel : kScalarKernel, {{"tm", std::to_string(t.tm)},
                                                       {"tn", std::to_string(t.tn)},
                                                       {"parameters", parameters(p_)},
                                                       {"once", once(fast)},
                                                       {"left", fmt::format("in{}", p_.left)},
                                                       {"right", fmt::format("in{}", p_.right)},
                                                       {"left_order", order(p_.left_transposed)},
                                                       {"right_order", order(p_.right_transposed)},
                                                       {"row_values", row_values(fast)},
                                                       {"packs", packs()},
                                                       {"values", values(fast)},
                                                       {"stores", stores()}});
    return text + fill(kHost, {{"checks", checks(p_)},
                               {"l", std::to_string(p_.left)},
                               {"r", std::to_string(p_.right)},
                               {"extents", extent_checks(p_)},
                               {"alignment", alignment(p_)},
                               {"arguments", arguments(p_)}});
  }

 private:
  Tile tile(const Point& at) const {
    const auto pair = [](const std::string& text) {
      std::pair<int, int> p{0, 0};
      const size_t x = text.find('x');
      std::from_chars(text.data(), text.data() + x, p.first);
      std::from_chars(text.data() + x + 1, text.data() + text.size(), p.second);
      return p;
    };
    const auto [m, n] = pair(value(at, "tile"));
    const auto [tm, tn] = pair(value(at, tensor_ ? "warp" : "thread"));
    return {m, n, number(at, "depth"), tm, tn};
  }

  bool in_the_end(uint32_t step) const {
    const Step& s = p_.steps[step];
    return s.kind == Step::Kind::input && s.input != p_.left && s.input != p_.right;
  }

  std::string once(bool fast) const {
    std::string text;
    for (uint32_t i = 0; i < p_.steps.size(); ++i)
      if (in_the_end(i) && p_.steps[i].span == Span::scalar)
        text += fmt::format("  const float s{} = number(in{}[0]);\n", i, p_.steps[i].input);
      else if (p_.steps[i].kind == Step::Kind::apply && p_.steps[i].span == Span::scalar)
        text += "  " + statement(p_, i, fast);
    return text;
  }
  std::string row_values(bool fast) const {
    std::string text;
    for (uint32_t i = 0; i < p_.steps.size(); ++i)
      if (in_the_end(i) && p_.steps[i].span == Span::row)
        text += fmt::format("    const float s{} = row < m ? number(in{}[row]) : 0.f;\n", i,
                            p_.steps[i].input);
      else if (p_.steps[i].kind == Step::Kind::apply && p_.steps[i].span == Span::row)
        text += "    " + statement(p_, i, fast);
    return text;
  }
  std::string packs() const {
    std::string text;
    for (const uint32_t i : needed(p_, p_.outputs, {}))
      if (in_the_end(i))
        text += fmt::format("      const Pack<{0}, V> p{1} = load_shared<{0}, V>(in{1} + {2});\n",
                            c_type(p_.inputs[p_.steps[i].input].dtype), p_.steps[i].input,
                            p_.steps[i].span == Span::full ? "at" : "c");
    for (size_t i = 0; i < p_.outputs.size(); ++i)
      text += fmt::format("      Pack<{}, V> y{};\n", c_type(p_.output_types[i].dtype), i);
    return text;
  }
  std::string values(bool fast) const {
    std::string text;
    for (const uint32_t i : needed(p_, p_.outputs, {})) {
      if (p_.steps[i].kind == Step::Kind::product)
        text += fmt::format("        const float v{} = product_value;\n", i);
      else if (in_the_end(i))
        text += fmt::format("        const float v{} = number(p{}.v[e]);\n", i, p_.steps[i].input);
      else if (p_.steps[i].kind == Step::Kind::apply)
        text += "        " + statement(p_, i, fast);
    }
    for (size_t i = 0; i < p_.outputs.size(); ++i)
      text += fmt::format("        y{}.v[e] = rounded<{}>({});\n", i,
                          c_type(p_.output_types[i].dtype), forge::name_of(p_, p_.outputs[i]));
    return text;
  }
  std::string stores() const {
    std::string text;
    for (size_t i = 0; i < p_.outputs.size(); ++i)
      text += fmt::format("      store<{}, V>(out{} + at, y{});\n",
                          c_type(p_.output_types[i].dtype), i, i);
    return text;
  }

  Program p_;
  bool tensor_ = false;
};

}  // namespace

std::unique_ptr<Template> product_template(Program program) {
  return std::make_unique<ProductTemplate>(std::move(program));
}

}  // namespace fiel::forge
