// Reductions of rows and what is made of them: softmax, normalisations, sums.
//
// A warp or a block takes a row and keeps it in registers, so that memory is read once and written
// once whatever the number of passes. Rows that do not fit are read again in each pass.
#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <map>

#include "forge/emit.h"
#include "forge/template.h"

namespace fiel::forge {
namespace {

constexpr int64_t kMaxKept = 64;  // elements of a row a thread keeps, in registers

constexpr std::string_view kReductions = R"(
@operations@
constexpr int kThreads = @threads@;      // of a row
constexpr int kRows = @rows@;            // of a block
constexpr int kBlock = kThreads * kRows;
constexpr int kWarps = kThreads / 32;    // of a row

template <typename Op> __device__ float over_warp(float v) {
#pragma unroll
  for (int o = 16; o > 0; o /= 2) v = Op::of(v, __shfl_xor_sync(~0u, v, o));
  return v;
}

/// What the row's warps left in `part`, combined by each of them.
template <typename Op> __device__ float over_row(const float* part) {
  float v = part[threadIdx.x / kThreads * kWarps + threadIdx.x % kWarps];
#pragma unroll
  for (int o = kWarps / 2; o > 0; o /= 2) v = Op::of(v, __shfl_xor_sync(~0u, v, o));
  return v;
}
)";

constexpr std::string_view kOperations[] = {
    R"(struct Sum {
  static constexpr float kNothing = 0.f;
  static __device__ float of(float a, float b) { return a + b; }
};
)",
    R"(struct Max {
  static constexpr float kNothing = -INFINITY;
  static __device__ float of(float a, float b) { return fmaxf(a, b); }
};
)",
    R"(struct MaxNan {  // a NaN wins
  static constexpr float kNothing = -INFINITY;
  static __device__ float of(float a, float b) { return a > b || a != a ? a : b; }
};
)",
    R"(struct MinNan {  // a NaN wins
  static constexpr float kNothing = INFINITY;
  static __device__ float of(float a, float b) { return a < b || a != a ? a : b; }
};
)"};

constexpr std::string_view kKernel = R"(
template <int V@item_parameter@>
__global__ void __launch_bounds__(kBlock@occupancy@)
@kernel@(@parameters@, int64_t rows, int columns@partial@) {
@shared@  const int lane = threadIdx.x % kThreads;
@once@  for (int64_t first = int64_t{blockIdx.x} * kRows; first < rows;
       first += int64_t{gridDim.x} * kRows) {
    const int64_t row = first + threadIdx.x / kThreads;
    const int limit = @limit@;
    const int64_t offset = row * columns;
    (void)offset;
@body@@turn@  }
@after@}
)";

constexpr std::string_view kFinish = R"(
/// What is made of all rows, from what their blocks left.
__global__ void __launch_bounds__(1024)
finish(@parameters@, int64_t rows, int columns, const float* partial, int64_t parts) {
  __shared__ float part[@slots@][32];
@once@@gather@  __syncthreads();
@values@}
)";

constexpr std::string_view kHost = R"(@workspace@
template <typename Kernel, typename... Arguments>
int launch(Kernel kernel, int64_t rows, cudaStream_t stream, Arguments... arguments) {
  int64_t blocks = (rows + kRows - 1) / kRows;
@persistent@@launches@  return cudaGetLastError();
}

}  // namespace

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
                         int n_outputs, cudaStream_t stream) {
@checks@  const fiel_tensor& whole = inputs[@whole@];
  if (whole.rank <= @dimensions@) return FIEL_UNSUPPORTED;
  int64_t columns = 1;
  for (int d = 1; d <= @dimensions@; ++d) columns *= whole.shape[whole.rank - d];
  if (columns < 1 || columns > (1 << 30)) return FIEL_UNSUPPORTED;
  const int64_t rows = fiel_numel(&whole) / columns;
@extents@  if (rows == 0) return 0;
  constexpr int kVector = @vector@, kItems = @items@;
  const bool vectors = columns % kVector == 0@alignment@;
  const int64_t capacity = int64_t{kThreads} * kItems * kVector;
  if (columns <= capacity)
    return vectors ? launch(kept<kVector, kItems>, rows, stream, @arguments@, rows, (int)columns)
                   : launch(kept<1, kItems * kVector>, rows, stream, @arguments@, rows,
                            (int)columns);
  return vectors ? launch(read_again<kVector>, rows, stream, @arguments@, rows, (int)columns)
                 : launch(read_again<1>, rows, stream, @arguments@, rows, (int)columns);
}
)";

struct Choice {
  int threads = 256, rows = 1, vector = 1, items = 1;
  int per_multiprocessor = 0;  ///< 0: a block for every row
  int resident = 0;            ///< threads that must fit on a multiprocessor; 0: the compiler's
  bool fast = false, columns_kept = false;
};

const char* name_of(Reduction r) {
  constexpr const char* names[] = {"Sum", "Max", "MaxNan", "MinNan"};
  return names[static_cast<size_t>(r)];
}

bool is_of_row(const Step& s) { return s.kind == Step::Kind::reduce && !s.tail; }

/// Reductions over all rows.
std::vector<uint32_t> tails(const Program& p) {
  std::vector<uint32_t> found;
  for (uint32_t i = 0; i < p.steps.size(); ++i)
    if (p.steps[i].kind == Step::Kind::reduce && p.steps[i].tail) found.push_back(i);
  return found;
}

/// Writes one kernel: all that is inside the loop over rows.
class RowsBody {
 public:
  RowsBody(const Program& p, const Choice& c, bool kept) : p_(p), c_(c), kept_(kept) {
    if (kept) choose_cached();
  }

  std::string once() const {
    std::string text;
    for (uint32_t i = 0; i < p_.steps.size(); ++i)
      if (p_.steps[i].kind == Step::Kind::input && p_.steps[i].span == Span::scalar)
        text += fmt::format("  const float s{} = number(in{}[0]);\n", i, p_.steps[i].input);
      else if (p_.steps[i].kind == Step::Kind::count)
        text += fmt::format("  const float s{} = (float){};\n", i,
                            p_.steps[i].of == Count::kept ? "rows" : "columns");
    for (uint32_t r : tails(p_))
      text += fmt::format("  float t{} = {}::kNothing;\n", r, name_of(p_.steps[r].reduction));
    if (columns_kept())
      for (uint32_t k = 0; k < p_.inputs.size(); ++k)
        if (p_.inputs[k].span == Span::column) text += load_all(k, "  ", false);
    if (c_.threads > 32) text += "  int turn = 0;  // rows that follow use other shared memory\n";
    return text;
  }

  std::string body() const {
    std::string text;
    if (kept_)
      for (uint32_t k = 0; k < p_.inputs.size(); ++k)
        if (p_.inputs[k].span == Span::full) text += load_all(k, "    ", true);
    for (uint32_t i : cached_) text += fmt::format("    float k{}[kItems * V];\n", i);
    for (uint32_t i = 0; i < p_.steps.size(); ++i) text += row_value(i);
    for (uint32_t pass = 0; pass < p_.passes; ++pass) text += uniform(pass) + reductions(pass);
    return text + uniform(p_.passes) + outputs() + gathered_tails();
  }

  /// What rows gave, as far as this thread's row of the block saw them.
  std::string after() const {
    std::string text;
    size_t slot = 0;
    for (uint32_t r : tails(p_))
      text += fmt::format(
          "  if (lane == 0)\n"
          "    partial[({}ll * gridDim.x + blockIdx.x) * kRows + threadIdx.x / kThreads] = t{};\n",
          slot++, r);
    return text;
  }

  size_t reduction_count() const {
    return static_cast<size_t>(std::count_if(p_.steps.begin(), p_.steps.end(), is_of_row));
  }

 private:
  bool columns_kept() const { return kept_ && c_.columns_kept; }

  std::vector<uint32_t> reduced_in(uint32_t pass) const {
    std::vector<uint32_t> found;
    for (uint32_t i = 0; i < p_.steps.size(); ++i)
      if (is_of_row(p_.steps[i]) && p_.steps[i].pass == pass + 1) found.push_back(i);
    return found;
  }
  std::vector<uint32_t> targets(uint32_t pass) const {
    std::vector<uint32_t> found;
    if (pass == p_.passes) {
      for (size_t i = 0; i < p_.outputs.size(); ++i)
        if (p_.output_types[i].span == Span::full) found.push_back(p_.outputs[i]);
    } else {
      for (uint32_t r : reduced_in(pass)) found.push_back(p_.steps[r].arguments[0]);
    }
    return found;
  }

  void choose_cached() {
    std::map<uint32_t, int> passes;
    for (uint32_t pass = 0; pass <= p_.passes; ++pass)
      for (uint32_t i : needed(p_, targets(pass), {})) ++passes[i];
    for (const auto& [step, count] : passes)
      if (count > 1 && p_.steps[step].expensive && p_.steps[step].span == Span::full)
        cached_.insert(step);
  }

  std::string load_all(uint32_t k, const char* indent, bool full) const {
    return fmt::format(
        "{0}Pack<{1}, V> p{2}[kItems];\n#pragma unroll\n"
        "{0}for (int j = 0; j < kItems; ++j) {{\n"
        "{0}  const int c = (j * kThreads + lane) * V;\n"
        "{0}  if (c < {3}) p{2}[j] = {4}<{1}, V>(in{2} + {5}c);\n{0}}}\n",
        indent, c_type(p_.inputs[k].dtype), k, full ? "limit" : "columns",
        full ? "load" : "load_shared", full ? "offset + " : "");
  }

  /// Values of a row that are simply read.
  std::string row_value(uint32_t i) const {
    const Step& s = p_.steps[i];
    const char* live = c_.rows > 1 ? "row < rows" : "true";
    if (s.kind == Step::Kind::input && s.span == Span::row)
      return fmt::format("    const float s{} = {} ? number(in{}[row]) : 0.f;\n", i, live, s.input);
    if (s.kind == Step::Kind::first)
      return fmt::format("    const float s{} = {} ? number(in{}[offset]) : 0.f;\n", i, live,
                         s.input);
    if (s.kind != Step::Kind::gather) return "";
    // 0 where an index names no column: such a target is one to ignore.
    return fmt::format(
        "    const long long at{0} = {1} ? in{2}[row] : -1;\n"
        "    const float s{0} = at{0} < 0 || at{0} >= columns ? 0.f : number(in{3}[offset + "
        "at{0}]);\n",
        i, live, p_.steps[s.arguments[0]].input, s.input);
  }

  std::string gathered_tails() const {
    std::string text;
    for (uint32_t r : tails(p_))
      text += fmt::format("    if ({0}lane == 0) t{1} = {2}::of(t{1}, {3});\n",
                          c_.rows > 1 ? "row < rows && " : "", r, name_of(p_.steps[r].reduction),
                          forge::name_of(p_, p_.steps[r].arguments[0]));
    return text;
  }

  std::string uniform(uint32_t pass) const {
    std::string text;
    for (uint32_t i = 0; i < p_.steps.size(); ++i)
      if (p_.steps[i].kind == Step::Kind::apply && is_uniform(p_.steps[i]) &&
          p_.steps[i].pass == pass && !p_.steps[i].tail)
        text += "    " + statement(p_, i, c_.fast);
    return text;
  }

  /// The loop over this thread's elements, with everything that `wanted` needs.
  std::string loop(uint32_t pass, const std::vector<uint32_t>& wanted, const std::string& before,
                   const std::string& inner, const std::string& after) const {
    std::set<uint32_t> known;
    for (uint32_t i : cached_)
      if (first_pass_of(i) < pass) known.insert(i);
    const std::vector<uint32_t> order = needed(p_, wanted, known);
    std::string packs, values;
    std::set<uint32_t> loaded;
    for (uint32_t i : order) {
      const Step& s = p_.steps[i];
      if (s.kind == Step::Kind::input) {
        if (loaded.insert(s.input).second) packs += load_here(s.input);
        values += fmt::format("        const float v{} = number({}.v[e]);\n", i, pack(s.input));
      } else if (known.contains(i)) {
        values += fmt::format("        const float v{0} = k{0}[j * V + e];\n", i);
      } else if (s.kind == Step::Kind::apply) {
        values += "        " + statement(p_, i, c_.fast);
        if (cached_.contains(i)) values += fmt::format("        k{0}[j * V + e] = v{0};\n", i);
      }
    }
    const std::string head =
        kept_ ? "#pragma unroll\n    for (int j = 0; j < kItems; ++j) {\n"
                "      const int c = (j * kThreads + lane) * V;\n      if (c >= limit) continue;\n"
              : "#pragma unroll 4\n    for (int c = lane * V; c < limit; c += kThreads * V) {\n";
    return head + packs + before + "#pragma unroll\n      for (int e = 0; e < V; ++e) {\n" +
           values + inner + "      }\n" + after + "    }\n";
  }
  uint32_t first_pass_of(uint32_t step) const {
    for (uint32_t pass = 0; pass < p_.passes; ++pass) {
      const auto order = needed(p_, targets(pass), {});
      if (std::find(order.begin(), order.end(), step) != order.end()) return pass;
    }
    return p_.passes;
  }
  std::string pack(uint32_t k) const {
    const bool array = kept_ && (p_.inputs[k].span == Span::full || c_.columns_kept);
    return fmt::format("p{}{}", k, array ? "[j]" : "");
  }
  std::string load_here(uint32_t k) const {
    if (kept_ && (p_.inputs[k].span == Span::full || c_.columns_kept)) return "";
    const bool full = p_.inputs[k].span == Span::full;
    // Rows that are read again should still be in a cache.
    return fmt::format("      const Pack<{0}, V> p{1} = load_shared<{0}, V>(in{1} + {2}c);\n",
                       c_type(p_.inputs[k].dtype), k, full ? "offset + " : "");
  }

  std::string reductions(uint32_t pass) const {
    const std::vector<uint32_t> found = reduced_in(pass);
    std::string text, inner, part, whole;
    for (uint32_t r : found) {
      const char* op = name_of(p_.steps[r].reduction);
      const size_t slot = slot_of(r);
      text += fmt::format("    float r{} = {}::kNothing;\n", r, op);
      inner += fmt::format("        r{0} = {1}::of(r{0}, {2});\n", r, op,
                           forge::name_of(p_, p_.steps[r].arguments[0]));
      if (c_.threads == 32) {
        whole += fmt::format("    const float s{0} = over_warp<{1}>(r{0});\n", r, op);
      } else {
        part += fmt::format(
            "    r{0} = over_warp<{1}>(r{0});\n"
            "    if (threadIdx.x % 32 == 0) part[turn][{2}][threadIdx.x / 32] = "
            "r{0};\n",
            r, op, slot);
        whole += fmt::format("    const float s{} = over_row<{}>(part[turn][{}]);\n", r, op, slot);
      }
    }
    text += loop(pass, targets(pass), "", inner, "");
    return text + part + (c_.threads > 32 ? "    __syncthreads();\n" : "") + whole;
  }
  size_t slot_of(uint32_t reduction) const {
    size_t slot = 0;
    for (uint32_t i = 0; i < reduction; ++i) slot += is_of_row(p_.steps[i]);
    return slot;
  }

  std::string outputs() const {
    std::string before, inner, after, rows;
    std::vector<uint32_t> wanted;
    for (size_t i = 0; i < p_.outputs.size(); ++i) {
      const char* type = c_type(p_.output_types[i].dtype);
      const std::string value = forge::name_of(p_, p_.outputs[i]);
      if (p_.output_types[i].span == Span::row) {
        rows += fmt::format("    if ({}lane == 0) out{}[row] = rounded<{}>({});\n",
                            c_.rows > 1 ? "row < rows && " : "", i, type, value);
        continue;
      }
      if (p_.output_types[i].span == Span::scalar) continue;  // of all rows
      wanted.push_back(p_.outputs[i]);
      before += fmt::format("      Pack<{}, V> y{};\n", type, i);
      inner += fmt::format("        y{}.v[e] = rounded<{}>({});\n", i, type, value);
      after += fmt::format("      store<{}, V>(out{} + offset + c, y{});\n", type, i, i);
    }
    return (wanted.empty() ? "" : loop(p_.passes, wanted, before, inner, after)) + rows;
  }

  const Program& p_;
  const Choice& c_;
  bool kept_;
  std::set<uint32_t> cached_;
};

std::string kernel_text(const Program& p, const Choice& c, bool kept) {
  const RowsBody body(p, c, kept);
  const bool block = c.threads > 32;
  return fill(
      kKernel,
      {{"item_parameter", kept ? ", int kItems" : ""},
       {"occupancy",
        kept && c.resident > 0 ? fmt::format(", {}", c.resident / (c.threads * c.rows)) : ""},
       {"kernel", kept ? "kept" : "read_again"},
       {"parameters", parameters(p)},
       {"shared", block ? fmt::format("  __shared__ float part[2][{}][kBlock / 32];\n",
                                      body.reduction_count())
                        : ""},
       {"once", body.once()},
       {"limit", c.rows > 1 ? "row < rows ? columns : 0" : "columns"},
       {"body", body.body()},
       {"turn", block ? "    turn ^= 1;\n" : ""},
       {"partial", p.has_tail ? ", float* partial" : ""},
       {"after", body.after()}});
}

/// One block reads what all blocks left, a number for each row of a block.
std::string finish_text(const Program& p, bool fast) {
  std::string once, gather, values;
  size_t slot = 0;
  for (uint32_t i = 0; i < p.steps.size(); ++i) {
    const Step& s = p.steps[i];
    const bool scalar = s.span == Span::scalar;
    if (s.kind == Step::Kind::input && scalar)
      once += fmt::format("  const float s{} = number(in{}[0]);\n", i, s.input);
    if (s.kind == Step::Kind::count)
      once += fmt::format("  const float s{} = (float){};\n", i,
                          s.of == Count::kept ? "rows" : "columns");
    if (s.kind == Step::Kind::apply && scalar) values += "  " + statement(p, i, fast);
    if (s.kind != Step::Kind::reduce || !s.tail) continue;
    const char* op = name_of(s.reduction);
    gather += fmt::format(
        "  float r{0} = {1}::kNothing;\n"
        "  for (int64_t i = threadIdx.x; i < parts; i += 1024)\n"
        "    r{0} = {1}::of(r{0}, partial[{2} * parts + i]);\n"
        "  r{0} = over_warp<{1}>(r{0});\n"
        "  if (threadIdx.x % 32 == 0) part[{2}][threadIdx.x / 32] = r{0};\n",
        i, op, slot);
    values += fmt::format("  const float s{} = over_warp<{}>(part[{}][threadIdx.x % 32]);\n", i, op,
                          slot++);
  }
  for (size_t i = 0; i < p.outputs.size(); ++i)
    if (p.output_types[i].span == Span::scalar)
      values += fmt::format("  if (threadIdx.x == 0) out{}[0] = rounded<{}>({});\n", i,
                            c_type(p.output_types[i].dtype), name_of(p, p.outputs[i]));
  return fill(kFinish, {{"parameters", parameters(p)},
                        {"slots", std::to_string(slot)},
                        {"once", once},
                        {"gather", gather},
                        {"values", values}});
}

std::string operations(const Program& p) {
  std::string text;
  for (size_t r = 0; r < std::size(kOperations); ++r)
    if (std::any_of(p.steps.begin(), p.steps.end(), [&](const Step& s) {
          return s.kind == Step::Kind::reduce && static_cast<size_t>(s.reduction) == r;
        }))
      text += kOperations[r];
  return text;
}

class RowsTemplate : public Template {
 public:
  explicit RowsTemplate(std::vector<Program> programs) : programs_(std::move(programs)) {
    const Program& p = programs_[0];
    for (const Operand& o : p.inputs)
      if (o.span == Span::full) width_ = std::max(width_, size_of(o.dtype));
    // About sixteen elements a thread: enough loads in flight, few enough registers.
    const auto wanted = static_cast<uint64_t>(std::clamp<int64_t>(p.columns / 16, 32, 1024));
    const auto threads = static_cast<int>(std::bit_floor(wanted));
    axes_.push_back({"threads", {"32", "64", "128", "256", "512", "1024"}, index_of(threads)});
    axes_.push_back({"rows", {"1", "2", "4", "8"}, threads >= 128 ? 0u : threads == 64 ? 1u : 2u});
    axes_.push_back({"loads", {"stream", "cache"}, 0});
    axes_.push_back({"stores", {"plain", "stream"}, 0});
    axes_.push_back({"walk", {"row", "2", "4", "8"}, 0});
    axes_.push_back({"resident", {"free", "1024", "1536", "2048"}, 0});
    axes_.push_back({"vector", {"4", "8", "16"}, 2});
    const bool columns = std::any_of(p.inputs.begin(), p.inputs.end(),
                                     [](const Operand& o) { return o.span == Span::column; });
    if (columns) axes_.push_back({"weights", {"read", "kept"}, 0});
    if (p.has_fast) axes_.push_back({"math", {"exact", "fast"}, 0});
    if (programs_.size() > 1) axes_.push_back({"variance", {"two_pass", "shifted", "one_pass"}, 0});
  }

  const char* family() const override { return "rows"; }

  bool possible(const Point& at) const override {
    const Choice c = choice(at);
    const int block = c.threads * c.rows;
    if (block > 1024 || block < 32) return false;
    if (int64_t{c.items} * c.vector > kMaxKept) return false;
    if (c.resident > 0 && c.resident < block) return false;
    if (c.resident > 0 && c.resident / block > 32) return false;  // blocks of a multiprocessor
    // Weights in registers pay only where a thread does several rows.
    if (c.columns_kept && c.per_multiprocessor == 0) return false;
    // Threads without an element.
    return c.threads == 32 || int64_t{c.threads} * c.vector < 2 * programs_[0].columns;
  }

  std::string source(const Point& at) const override {
    const Choice c = choice(at);
    const Program& p = programs_[variance(at)];
    std::string text = prelude(p, "Rows: " + name_of(at), value(at, "loads") == "stream",
                               value(at, "stores") == "stream", c.per_multiprocessor > 0);
    text += fill(kReductions, {{"operations", operations(p)},
                               {"threads", std::to_string(c.threads)},
                               {"rows", std::to_string(c.rows)}});
    text += kernel_text(p, c, true) + kernel_text(p, c, false);
    if (p.has_tail) text += finish_text(p, c.fast);
    const std::string persistent =
        c.per_multiprocessor == 0
            ? ""
            : fmt::format(
                  "  const int64_t most = int64_t{{{}}} * multiprocessors();\n"
                  "  if (blocks > most) blocks = most;\n",
                  c.per_multiprocessor);
    const std::string launches =
        p.has_tail
            ? fmt::format(
                  "  float* partial = workspace<float>({} * blocks * kRows, stream);\n"
                  "  if (partial == nullptr) return 1;\n"
                  "  kernel<<<(unsigned)blocks, kBlock, 0, stream>>>(arguments..., partial);\n"
                  "  finish<<<1, 1024, 0, stream>>>(arguments..., partial, blocks * kRows);\n",
                  tails(p).size())
            : "  kernel<<<(unsigned)blocks, kBlock, 0, stream>>>(arguments...);\n";
    return text + fill(kHost, {{"workspace", std::string(p.has_tail ? kWorkspace : "")},
                               {"launches", launches},
                               {"persistent", persistent},
                               {"checks", checks(p)},
                               {"whole", std::to_string(p.shape_input)},
                               {"dimensions", std::to_string(p.row_dimensions)},
                               {"extents", extent_checks(p)},
                               {"vector", std::to_string(c.vector)},
                               {"items", std::to_string(c.items)},
                               {"alignment", alignment(p)},
                               {"arguments", arguments(p)}});
  }

 private:
  static size_t index_of(int threads) {
    return static_cast<size_t>(std::countr_zero(static_cast<unsigned>(threads)) - 5);
  }
  size_t variance(const Point& at) const {
    const std::string& v = value(at, "variance");
    return v == "shifted" ? 1 : v == "one_pass" ? 2 : 0;
  }
  Choice choice(const Point& at) const {
    Choice c;
    c.threads = number(at, "threads");
    c.rows = number(at, "rows");
    c.vector = static_cast<int>(std::max<int64_t>(number(at, "vector") / width_, 1));
    c.per_multiprocessor = number(at, "walk");  // "row" reads as 0
    c.resident = number(at, "resident");
    c.fast = value(at, "math") == "fast";
    c.columns_kept = value(at, "weights") == "kept";
    const int64_t a_pass = int64_t{c.threads} * c.vector;
    c.items = static_cast<int>(std::max<int64_t>((programs_[0].columns + a_pass - 1) / a_pass, 1));
    // Longer rows than any thread could keep are read again; what is kept then is small.
    if (programs_[0].columns > 1024 * kMaxKept) c.items = std::max(16 / c.vector, 1);
    return c;
  }

  std::vector<Program> programs_;
  int64_t width_ = 1;  ///< bytes of the widest element of a whole input
};

}  // namespace

std::unique_ptr<Template> rows_template(std::vector<Program> by_variance) {
  return std::make_unique<RowsTemplate>(std::move(by_variance));
}

}  // namespace fiel::forge
