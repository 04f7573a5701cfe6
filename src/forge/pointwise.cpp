// Elementwise chains with broadcast: every input is read once, every output written once.
//
// Two walks: over the whole tensor as one line, or down columns, where what is broadcast along rows
// stays in registers.
#include <fmt/core.h>

#include <algorithm>

#include "forge/emit.h"
#include "forge/template.h"

namespace fiel::forge {
namespace {

constexpr std::string_view kLine = R"(
constexpr int kBlock = @block@, kUnroll = @unroll@;

/// Division by a number known at launch: a multiplication and a shift (Granlund and Montgomery,
/// 1994), for dividends below 2^31.
struct Divider {
  unsigned divisor, factor, shift;
  explicit Divider(unsigned d) : divisor(d), shift(0) {
    while ((1ull << shift) < d) ++shift;
    factor = (unsigned)(((1ull << 32) * ((1ull << shift) - d)) / d + 1);
  }
  __device__ unsigned quotient(unsigned n) const {
    return (__umulhi(n, factor) + n) >> shift;
  }
};
struct WideDivider {
  uint64_t divisor;
  explicit WideDivider(uint64_t d) : divisor(d) {}
  __device__ uint64_t quotient(uint64_t n) const { return n / divisor; }
};

template <int V, typename Index, typename Division>
__global__ void __launch_bounds__(kBlock)
line(@parameters@, Index packs, Division row_packs) {
@once@  for (Index first = Index(blockIdx.x) * (kBlock * kUnroll); first < packs;
       first += Index(gridDim.x) * (kBlock * kUnroll)) {
@declare@#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const Index i = first + u * kBlock + threadIdx.x;
      if (i < packs) {
@load@      }
    }
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const Index i = first + u * kBlock + threadIdx.x;
      if (i >= packs) continue;
@broadcast@@outputs@#pragma unroll
      for (int e = 0; e < V; ++e) {
@values@      }
@store_line@    }
  }
}
)";

constexpr std::string_view kColumns = R"(
template <int V>
__global__ void __launch_bounds__(kBlock)
down(@parameters@, int64_t rows, int columns) {
  const int c = (blockIdx.x * kBlock + threadIdx.x) * V;
  if (c >= columns) return;
@once@@column_loads@  for (int64_t first = int64_t{blockIdx.y} * kUnroll; first < rows;
       first += int64_t{gridDim.y} * kUnroll) {
@declare@#pragma unroll
    for (int u = 0; u < kUnroll; ++u)
      if (first + u < rows) {
        const int64_t i = (first + u) * columns + c;
@load_down@      }
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      if (first + u >= rows) continue;
      const int64_t i = (first + u) * columns + c;
@row_values@@outputs@#pragma unroll
      for (int e = 0; e < V; ++e) {
@values@      }
@store_down@    }
  }
}
)";

constexpr std::string_view kHost = R"(
}  // namespace

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
                         int n_outputs, cudaStream_t stream) {
@checks@  const fiel_tensor& whole = inputs[@whole@];
  if (whole.rank < @dimensions@) return FIEL_UNSUPPORTED;
  int64_t columns = 1;
  for (int d = 1; d <= @dimensions@; ++d) columns *= whole.shape[whole.rank - d];
  const int64_t numel = fiel_numel(&whole);
  if (numel == 0) return 0;
  const int64_t rows = numel / columns;
@extents@  constexpr int kVector = @vector@;
  const bool vectors = @whole_line@ % kVector == 0@alignment@;
@down@  const int64_t packs = vectors ? numel / kVector : numel;
  const int64_t row_packs = vectors ? columns / kVector : columns;
  int64_t blocks = (packs + kBlock * kUnroll - 1) / (kBlock * kUnroll);
@persistent@  if (packs >= (int64_t{1} << 31) - (1 << 24)) {
    if (vectors)
      line<kVector, uint64_t><<<(unsigned)blocks, kBlock, 0, stream>>>(
          @arguments@, (uint64_t)packs, WideDivider((uint64_t)row_packs));
    else
      line<1, uint64_t><<<(unsigned)blocks, kBlock, 0, stream>>>(
          @arguments@, (uint64_t)packs, WideDivider((uint64_t)row_packs));
  } else if (vectors) {
    line<kVector, unsigned><<<(unsigned)blocks, kBlock, 0, stream>>>(
        @arguments@, (unsigned)packs, Divider((unsigned)row_packs));
  } else {
    line<1, unsigned><<<(unsigned)blocks, kBlock, 0, stream>>>(
        @arguments@, (unsigned)packs, Divider((unsigned)row_packs));
  }
  return cudaGetLastError();
}
)";

constexpr std::string_view kDownHost = R"(  if (vectors && columns < (1 << 30)) {
    const int64_t across = (columns / kVector + kBlock - 1) / kBlock;
    int64_t down_blocks = (rows + kUnroll - 1) / kUnroll;
    const int64_t most = @most@;
    if (down_blocks > most) down_blocks = most;
    const dim3 grid((unsigned)across, (unsigned)down_blocks);
    down<kVector><<<grid, kBlock, 0, stream>>>(@arguments@, rows, (int)columns);
    return cudaGetLastError();
  }
)";

/// The pieces of both kernels.
struct Pieces {
  std::string once, declare, load_line, load_down, broadcast, column_loads, row_values, outputs,
      values, store_line, store_down;
};

Pieces pieces_of(const Program& p, bool fast) {
  Pieces t;
  for (uint32_t i = 0; i < p.steps.size(); ++i)
    if (p.steps[i].kind == Step::Kind::input && p.steps[i].span == Span::scalar)
      t.once += fmt::format("  const float s{} = number(in{}[0]);\n", i, p.steps[i].input);
  for (uint32_t i = 0; i < p.steps.size(); ++i)
    if (p.steps[i].kind == Step::Kind::apply && p.steps[i].span == Span::scalar)
      t.once += "  " + statement(p, i, fast);
  for (uint32_t i = 0; i < p.steps.size(); ++i) {
    const Step& s = p.steps[i];
    if (s.kind != Step::Kind::input) continue;
    const char* type = c_type(p.inputs[s.input].dtype);
    if (s.span == Span::full) {
      t.declare += fmt::format("    Pack<{}, V> p{}[kUnroll];\n", type, s.input);
      t.load_line += fmt::format("        p{0}[u] = load<{1}, V>(in{0} + i * V);\n", s.input, type);
      t.load_down += fmt::format("        p{0}[u] = load<{1}, V>(in{0} + i);\n", s.input, type);
      t.values += fmt::format("        const float v{} = number(p{}[u].v[e]);\n", i, s.input);
    } else if (s.span == Span::column) {
      t.broadcast += fmt::format(
          "      const Pack<{0}, V> p{1} = load_shared<{0}, V>(in{1} + column_pack * V);\n", type,
          s.input);
      t.column_loads += fmt::format("  const Pack<{0}, V> p{1} = load_shared<{0}, V>(in{1} + c);\n",
                                    type, s.input);
      t.values += fmt::format("        const float v{} = number(p{}.v[e]);\n", i, s.input);
    } else if (s.span == Span::row) {
      t.broadcast += fmt::format("      const float s{} = number(in{}[line_row]);\n", i, s.input);
      t.row_values += fmt::format("      const float s{} = number(in{}[first + u]);\n", i, s.input);
    }
  }
  if (!t.broadcast.empty())
    t.broadcast =
        "      const Index line_row = row_packs.quotient(i);\n"
        "      const Index column_pack = i - line_row * row_packs.divisor;\n"
        "      (void)column_pack;\n" +
        t.broadcast;
  for (uint32_t i = 0; i < p.steps.size(); ++i)
    if (p.steps[i].kind == Step::Kind::apply && p.steps[i].span == Span::row) {
      t.broadcast += "      " + statement(p, i, fast);
      t.row_values += "      " + statement(p, i, fast);
    }
  for (uint32_t i : needed(p, p.outputs, {}))
    if (p.steps[i].kind == Step::Kind::apply) t.values += "        " + statement(p, i, fast);
  for (size_t i = 0; i < p.outputs.size(); ++i) {
    const char* type = c_type(p.output_types[i].dtype);
    t.outputs += fmt::format("      Pack<{}, V> y{};\n", type, i);
    t.values +=
        fmt::format("        y{}.v[e] = rounded<{}>({});\n", i, type, name_of(p, p.outputs[i]));
    t.store_line += fmt::format("      store<{}, V>(out{} + i * V, y{});\n", type, i, i);
    t.store_down += fmt::format("      store<{}, V>(out{} + i, y{});\n", type, i, i);
  }
  return t;
}

bool has(const Program& p, Span span) {
  return std::any_of(p.inputs.begin(), p.inputs.end(),
                     [&](const Operand& o) { return o.span == span; });
}

class PointwiseTemplate : public Template {
 public:
  explicit PointwiseTemplate(Program program) : p_(std::move(program)) {
    for (const Operand& o : p_.inputs)
      if (o.span == Span::full) width_ = std::max(width_, size_of(o.dtype));
    axes_ = {{"unroll", {"1", "2", "4", "8"}, 1},   {"threads", {"128", "256", "512", "1024"}, 1},
             {"loads", {"stream", "cache"}, 0},     {"stores", {"plain", "stream"}, 0},
             {"walk", {"tile", "4", "8", "16"}, 0}, {"vector", {"4", "8", "16", "32"}, 2}};
    if (has(p_, Span::column)) axes_.insert(axes_.begin() + 1, {"order", {"line", "down"}, 0});
    if (p_.has_fast) axes_.push_back({"math", {"exact", "fast"}, 0});
  }

  const char* family() const override { return "pointwise"; }

  bool possible(const Point& at) const override {
    const int64_t vector = vector_of(at);
    // Packs in flight, in registers of four bytes.
    int64_t whole = 0;
    for (const Operand& o : p_.inputs) whole += o.span == Span::full;
    if (whole * vector * number(at, "unroll") > 96) return false;
    if (number(at, "vector") < width_) return false;
    return value(at, "order") != "down" ||
           p_.columns >= std::min<int64_t>(number(at, "threads"), 256) * vector / 2;
  }

  std::string source(const Point& at) const override {
    const Pieces t = pieces_of(p_, value(at, "math") == "fast");
    const bool down = value(at, "order") == "down";
    const int walk = number(at, "walk");  // "tile" reads as 0
    std::string text = prelude(p_, "Elementwise: " + name_of(at), value(at, "loads") == "stream",
                               value(at, "stores") == "stream", walk != 0);
    text += fill(kLine, {{"block", value(at, "threads")},
                         {"unroll", value(at, "unroll")},
                         {"parameters", parameters(p_)},
                         {"once", t.once},
                         {"declare", t.declare},
                         {"load", t.load_line},
                         {"broadcast", t.broadcast},
                         {"outputs", t.outputs},
                         {"values", t.values},
                         {"store_line", t.store_line}});
    if (down)
      text += fill(kColumns, {{"parameters", parameters(p_)},
                              {"once", t.once},
                              {"column_loads", t.column_loads},
                              {"declare", t.declare},
                              {"load_down", t.load_down},
                              {"row_values", t.row_values},
                              {"outputs", t.outputs},
                              {"values", t.values},
                              {"store_down", t.store_down}});
    return text + host(at, down, walk);
  }

 private:
  int64_t vector_of(const Point& at) const {
    return std::max<int64_t>(number(at, "vector") / width_, 1);
  }

  std::string host(const Point& at, bool down, int walk) const {
    const bool broadcast = has(p_, Span::column) || has(p_, Span::row);
    const std::string most =
        walk == 0 ? "65535"
                  : fmt::format("(int64_t{{{}}} * multiprocessors() + across - 1) / across", walk);
    const std::string persistent =
        walk == 0 ? ""
                  : fmt::format(
                        "  const int64_t most = int64_t{{{}}} * multiprocessors();\n"
                        "  if (blocks > most) blocks = most;\n",
                        walk);
    return fill(
        kHost,
        {{"checks", checks(p_)},
         {"whole", std::to_string(p_.shape_input)},
         {"dimensions", std::to_string(p_.row_dimensions)},
         {"extents", extent_checks(p_)},
         {"vector", std::to_string(vector_of(at))},
         {"whole_line", broadcast ? "columns" : "numel"},
         {"alignment", alignment(p_)},
         {"down", down ? fill(kDownHost, {{"most", most}, {"arguments", arguments(p_)}}) : ""},
         {"persistent", persistent},
         {"arguments", arguments(p_)}});
  }

  Program p_;
  int64_t width_ = 1;
};

}  // namespace

std::unique_ptr<Template> pointwise_template(Program program) {
  return std::make_unique<PointwiseTemplate>(std::move(program));
}

}  // namespace fiel::forge
