#include "forge/passes.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "forge/emit.h"

namespace fiel::forge {
namespace {

constexpr std::string_view kStates[] = {
    R"(struct Sum {
  static constexpr int kParts = 1;
  float v[1] = {0.f};
  __device__ void add(float x) { v[0] += x; }
  __device__ void merge(const Sum& o) { v[0] += o.v[0]; }
};
)",
    R"(struct Max {
  static constexpr int kParts = 1;
  float v[1] = {-INFINITY};
  __device__ void add(float x) { v[0] = fmaxf(v[0], x); }
  __device__ void merge(const Max& o) { add(o.v[0]); }
};
)",
    R"(struct MaxNan {  // a NaN wins
  static constexpr int kParts = 1;
  float v[1] = {-INFINITY};
  __device__ void add(float x) { v[0] = v[0] > x || v[0] != v[0] ? v[0] : x; }
  __device__ void merge(const MaxNan& o) { add(o.v[0]); }
};
)",
    R"(struct MinNan {  // a NaN wins
  static constexpr int kParts = 1;
  float v[1] = {INFINITY};
  __device__ void add(float x) { v[0] = v[0] < x || v[0] != v[0] ? v[0] : x; }
  __device__ void merge(const MinNan& o) { add(o.v[0]); }
};
)",
    R"(struct Moments {  // Welford's; merged as Chan, Golub and LeVeque do
  static constexpr int kParts = 3;
  float v[3] = {0.f, 0.f, 0.f};  // how many, their mean, squared differences from it
  __device__ void add(float x, float share) {  // share: 1 / how many with this one
    const float d = x - v[1];
    v[1] += d * share;
    v[2] += d * (x - v[1]);
  }
  __device__ void merge(const Moments& o) {
    if (o.v[0] == 0.f) return;
    const float n = v[0] + o.v[0], d = o.v[1] - v[1], share = o.v[0] / n;
    v[1] += d * share;
    v[2] += o.v[2] + d * d * v[0] * share;
    v[0] = n;
  }
};
)",
    R"(struct ExpSum {  // the largest, and the sum of exponentials of differences from it
  static constexpr int kParts = 2;
  // Finite, so that -INFINITY lies below it and adds nothing.
  float v[2] = {-3.402823466e+38f, 0.f};
  __device__ void add(float x) {
    const float d = x == v[0] ? 0.f : x - v[0], e = @exp@(-fabsf(d));
    v[1] = d > 0.f ? v[1] * e + 1.f : v[1] + e;
    v[0] = d > 0.f ? x : v[0];
  }
  __device__ void merge(const ExpSum& o) {
    const float d = o.v[0] == v[0] ? 0.f : o.v[0] - v[0], e = @exp@(-fabsf(d));
    v[1] = d > 0.f ? v[1] * e + o.v[1] : v[1] + o.v[1] * e;
    v[0] = d > 0.f ? o.v[0] : v[0];
  }
};
)"};

constexpr std::string_view kShuffled = R"(
template <typename S> __device__ S shuffled(const S& s, int by) {
  S other;
#pragma unroll
  for (int c = 0; c < S::kParts; ++c) other.v[c] = __shfl_xor_sync(~0u, s.v[c], by);
  return other;
}
)";

constexpr std::string_view kOverColumns = R"(
constexpr int kGroups = kDepth * kLanes / (kLanes > 32 ? kLanes : 32);  // of rows, a warp's as one

/// What the block's threads have of each column, combined, and given to all of them.
template <typename S, int V> __device__ void over_block(S (&r)[V], float* shared) {
#pragma unroll
  for (int by = 16; by >= kLanes; by /= 2)
#pragma unroll
    for (int e = 0; e < V; ++e) r[e].merge(shuffled(r[e], by));
  if (kGroups == 1) return;
  constexpr int kColumns = kLanes * V;
  const int lane = threadIdx.x % kLanes, group = threadIdx.x / (kLanes > 32 ? kLanes : 32);
  const auto at = [&](int c, int g, int column) -> float& {
    return shared[(c * kGroups + g) * kColumns + column];
  };
  if (kLanes >= 32 || threadIdx.x % 32 < kLanes) {
#pragma unroll
    for (int e = 0; e < V; ++e)
#pragma unroll
      for (int c = 0; c < S::kParts; ++c) at(c, group, e * kLanes + lane) = r[e].v[c];
  }
  __syncthreads();
  for (int column = threadIdx.x; column < kColumns; column += kBlock) {
    S all;
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      S part;
#pragma unroll
      for (int c = 0; c < S::kParts; ++c) part.v[c] = at(c, g, column);
      all.merge(part);
    }
#pragma unroll
    for (int c = 0; c < S::kParts; ++c) at(c, 0, column) = all.v[c];
  }
  __syncthreads();
#pragma unroll
  for (int e = 0; e < V; ++e)
#pragma unroll
    for (int c = 0; c < S::kParts; ++c) r[e].v[c] = at(c, 0, e * kLanes + lane);
  __syncthreads();
}
)";

constexpr std::string_view kOverWhole = R"(
/// What the block's threads have, combined, and given to all of them.
template <typename S, int V> __device__ S over_block(S (&r)[V], float* shared) {
#pragma unroll
  for (int by = V / 2; by > 0; by /= 2)
#pragma unroll
    for (int e = 0; e < by; ++e) r[e].merge(r[e + by]);
  S all = r[0];
#pragma unroll
  for (int by = 16; by > 0; by /= 2) all.merge(shuffled(all, by));
  if (threadIdx.x % 32 == 0)
#pragma unroll
    for (int c = 0; c < S::kParts; ++c) shared[c * kWarps + threadIdx.x / 32] = all.v[c];
  __syncthreads();
#pragma unroll
  for (int c = 0; c < S::kParts; ++c) all.v[c] = shared[c * kWarps + threadIdx.x % kWarps];
#pragma unroll
  for (int by = kWarps / 2; by > 0; by /= 2) all.merge(shuffled(all, by));
  __syncthreads();
  return all;
}
)";

constexpr std::string_view kIsLast = R"(
/// Whether this block is the last of those that share a result: then all that they left is there.
__device__ bool is_last(unsigned* arrived, unsigned blocks) {
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    last = atomicAdd(arrived, 1u) == blocks - 1;
    if (last) *arrived = 0;
  }
  __syncthreads();
  if (last) __threadfence();
  return last;
}
)";

constexpr std::string_view kKernel = R"(
template <int V@item_parameter@>
__global__ void __launch_bounds__(kBlock)
@name@(@parameters@, const Space g, float* partial, unsigned* arrived) {
  __shared__ float shared[@shared@];
  (void)shared, (void)partial, (void)arrived;
@where@@body@}
)";

constexpr std::string_view kWhereColumns = R"(
  const int lane = threadIdx.x % kLanes, deep = threadIdx.x / kLanes;
  const unsigned tiles = (unsigned)g.tiles, above = blockIdx.x / tiles;
  const int64_t g0 = above % (unsigned)g.e0;
  const int part = (int)(above / (unsigned)g.e0);
  const int64_t g2 = (int64_t{blockIdx.x % tiles} * kLanes + lane) * V;
  const bool live = g2 < g.e2;
  const int64_t result = g0 * g.e2 + g2, results = g.e0 * g.e2;
  const int64_t begin = part * g.share;
  const int64_t end = begin + g.share < g.e1 ? begin + g.share : g.e1;
  (void)deep, (void)result, (void)results, (void)end, (void)part;
)";

constexpr std::string_view kWhereWhole = R"(
  const int64_t results = @results@, result = blockIdx.x % (unsigned)results;
  const int part = (int)(blockIdx.x / (unsigned)results);
  @kept@
  const int64_t begin = part * g.share;
  const int64_t end = begin + g.share < g.tiles ? begin + g.share : g.tiles;
  (void)result, (void)results, (void)end, (void)part;
)";

const char* name_of(Reduction r) {
  constexpr const char* names[] = {"Sum", "Max", "MaxNan", "MinNan", "Moments", "ExpSum"};
  return names[static_cast<size_t>(r)];
}

bool is_reduction(const Step& s) { return s.kind == Step::Kind::reduce; }

}  // namespace

// --- the program -------------------------------------------------------------------------------

std::vector<uint32_t> Passes::reduced_in(uint32_t pass) const {
  std::vector<uint32_t> found;
  for (uint32_t i = 0; i < p_.steps.size(); ++i)
    if (is_reduction(p_.steps[i]) && p_.steps[i].pass == pass + 1) found.push_back(i);
  return found;
}

std::vector<uint32_t> Passes::full_outputs() const {
  std::vector<uint32_t> found;
  for (uint32_t i = 0; i < p_.outputs.size(); ++i)
    if (p_.output_types[i].span == Span::full) found.push_back(i);
  return found;
}

bool Passes::has_full_output() const { return !full_outputs().empty(); }
bool Passes::reads_again() const { return p_.passes + (has_full_output() ? 1u : 0u) > 1; }

uint32_t Passes::slot_of(uint32_t reduction) const {
  uint32_t slot = 0;
  for (uint32_t i = 0; i < reduction; ++i)
    if (is_reduction(p_.steps[i])) slot += parts_of(p_.steps[i].reduction);
  return slot;
}
uint32_t Passes::partial_parts() const { return slot_of(static_cast<uint32_t>(p_.steps.size())); }
uint32_t Passes::most_parts() const {
  uint32_t most = 1;
  for (const Step& s : p_.steps)
    if (is_reduction(s)) most = std::max(most, parts_of(s.reduction));
  return most;
}

/// Where an operand that varies over these groups has the value at hand.
std::string Passes::index(Groups groups) const {
  std::string text;
  for (int g = 0; g < 3; ++g) {
    if ((groups >> g & 1) == 0) continue;
    text = text.empty() ? fmt::format("g{}", g) : fmt::format("({} * g.e{} + g{})", text, g, g);
  }
  return text.empty() ? "0" : text;
}

/// A step's value where it is one number for the thread's element.
std::string Passes::value_of(uint32_t step) const { return forge::name_of(p_, step); }

// --- what does not vary over what is reduced ---------------------------------------------------

std::string Passes::constants() const {
  std::string text;
  for (uint32_t i = 0; i < p_.steps.size(); ++i) {
    const Step& s = p_.steps[i];
    if (s.span != Span::scalar) continue;
    if (s.kind == Step::Kind::input)
      text += fmt::format("  const float s{} = number(in{}[0]);\n", i, s.input);
    else if (s.kind == Step::Kind::count && s.of == Count::first)
      text += fmt::format("  const float s{} = (float)g.first;\n", i);
    else if (s.kind == Step::Kind::count)
      text += fmt::format("  const float s{} = (float)({});\n", i,
                          of_columns()      ? "g.e1"
                          : p_.reduced == 4 ? "g.e2"
                                            : "g.e0 * g.e2");
    else if (s.kind == Step::Kind::apply)
      text += "  " + statement(p_, i, c_.fast);
  }
  return text;
}

std::string Passes::uniform_inputs() const {
  std::string text;
  for (uint32_t i = 0; i < p_.steps.size(); ++i) {
    const Step& s = p_.steps[i];
    if (s.span != Span::row) continue;
    if (s.kind == Step::Kind::input || s.kind == Step::Kind::first) text += uniform_input(i);
    if (s.kind == Step::Kind::gather) text += gathered(i);
  }
  return text;
}

/// An input of what is kept, or the first of the values that are reduced.
std::string Passes::uniform_input(uint32_t step) const {
  const Step& s = p_.steps[step];
  const char* type = c_type(p_.inputs[s.input].dtype);
  std::string at = index(p_.inputs[s.input].groups);
  if (s.kind == Step::Kind::first) {
    at.clear();
    for (int g = 0; g < 3; ++g) {
      const std::string here = (p_.reduced >> g & 1) != 0 ? "0" : fmt::format("g{}", g);
      at = g == 0 ? here : fmt::format("({} * g.e{} + {})", at, g, here);
    }
  }
  if (!of_columns())
    return fmt::format("  const float s{} = number(in{}[{}]);\n", step, s.input, at);
  if ((p_.inputs[s.input].groups & 4) == 0)
    return fmt::format(
        "  float u{0}[V];\n#pragma unroll\n"
        "  for (int e = 0; e < V; ++e) u{0}[e] = number(in{1}[{2}]);\n",
        step, s.input, at);
  return fmt::format(
      "  float u{0}[V] = {{}};\n  if (live) {{\n"
      "    const Pack<{1}, V> pack = load_shared<{1}, V>(in{2} + {3});\n"
      "#pragma unroll\n"
      "    for (int e = 0; e < V; ++e) u{0}[e] = number(pack.v[e]);\n  }}\n",
      step, type, s.input, at);
}

/// The value at the place among those reduced that an input of indices names; 0 where it names
/// none.
std::string Passes::gathered(uint32_t step) const {
  const Step& s = p_.steps[step];
  const Operand& named = p_.inputs[p_.steps[s.arguments[0]].input];
  const uint32_t names = p_.steps[s.arguments[0]].input;
  if (!of_columns())
    return fmt::format(
        "  const long long at{0} = in{1}[{2}];\n"
        "  const float s{0} = at{0} < 0 || at{0} >= g.e2 ? 0.f : number(in{3}[result * g.e2 + "
        "at{0}]);\n",
        step, names, index(named.groups), s.input);
  return fmt::format(
      "  float u{0}[V];\n#pragma unroll\n  for (int e = 0; e < V; ++e) {{\n"
      "    const long long at = live ? in{1}[{2}{3}] : -1;\n"
      "    u{0}[e] = at < 0 || at >= g.e1 ? 0.f : number(in{4}[(g0 * g.e1 + at) * g.e2 + g2 + "
      "e]);\n"
      "  }}\n",
      step, names, index(named.groups), (named.groups & 4) != 0 ? " + e" : "", s.input);
}

/// Of columns, kept values lie in arrays, one for each column of the thread. Names for those that
/// `users` take from before.
std::string Passes::aliases(const std::vector<uint32_t>& users, const char* indent) const {
  if (!of_columns()) return "";
  std::set<uint32_t> used;
  for (uint32_t u : users)
    for (uint32_t a : p_.steps[u].arguments)
      if (p_.steps[a].span == Span::row && p_.steps[u].kind == Step::Kind::apply) used.insert(a);
  for (uint32_t u : users) used.erase(u);
  std::string text;
  for (uint32_t u : used) text += fmt::format("{0}const float s{1} = u{1}[e];\n", indent, u);
  return text;
}

std::string Passes::uniform(uint32_t pass) const {
  std::vector<uint32_t> made;
  for (uint32_t i = 0; i < p_.steps.size(); ++i) {
    const Step& s = p_.steps[i];
    if (s.span == Span::row && s.pass == pass &&
        (s.kind == Step::Kind::apply || s.kind == Step::Kind::part))
      made.push_back(i);
  }
  if (made.empty()) return "";
  const char* indent = of_columns() ? "    " : "  ";
  std::string declared, text;
  for (uint32_t i : made) {
    const Step& s = p_.steps[i];
    text += indent;
    text += s.kind == Step::Kind::apply
                ? statement(p_, i, c_.fast)
                : fmt::format("const float s{} = r{}{}.v[{}];\n", i, s.arguments[0],
                              of_columns() ? "[e]" : "", s.input);
    if (!of_columns()) continue;
    declared += fmt::format("{}u{}[V]", declared.empty() ? "  float " : ", ", i);
    text += fmt::format("    u{0}[e] = s{0};\n", i);
  }
  if (!of_columns()) return text;
  return declared + ";\n#pragma unroll\n  for (int e = 0; e < V; ++e) {\n" + aliases(made, "    ") +
         text + "  }\n";
}

// --- loops over what is reduced ----------------------------------------------------------------

std::string Passes::values(const std::vector<uint32_t>& order) const {
  std::string text = aliases(order, "        ");
  for (uint32_t i : order) {
    const Step& s = p_.steps[i];
    if (s.kind == Step::Kind::apply) {
      text += "        " + statement(p_, i, c_.fast);
    } else if (s.kind == Step::Kind::input) {
      const Groups groups = p_.inputs[s.input].groups;
      text += (groups & 4) != 0
                  ? fmt::format("        const float v{} = number(p{}[u].v[e]);\n", i, s.input)
                  : fmt::format("        const float v{} = number(in{}[{}]);\n", i, s.input,
                                index(groups));
    }
  }
  return text;
}

/// A thread's elements, some packs of them in flight, or all of them in registers.
std::string Passes::loop(const std::vector<uint32_t>& targets, const std::string& before,
                         const std::string& step_begin, const std::string& inner,
                         const std::string& step_end, const std::string& after, const Stage& s,
                         bool last) const {
  const std::vector<uint32_t> order = needed(p_, targets, {});
  std::set<uint32_t> packed;
  for (uint32_t i : order)
    if (p_.steps[i].kind == Step::Kind::input && (p_.inputs[p_.steps[i].input].groups & 4) != 0)
      packed.insert(p_.steps[i].input);
  const std::string where =
      of_columns() ? "      const int64_t g1 = first + int64_t{u} * kDepth;\n"
                     "      if (!live || g1 >= end) continue;\n"
                   : fmt::format(
                         "      const int64_t n = first + int64_t{{u}} * kBlock;\n"
                         "      if (n >= end) continue;\n{}",
                         divides() ? "      const int64_t g0 = g.of_run(n);\n"
                                     "      const int64_t g2 = (n - g0 * g.run) * V;\n"
                                     "      (void)g0, (void)g2;\n"
                                   : "      const int64_t g2 = n * V;\n      (void)g2;\n");
  std::string declared, loads;
  for (uint32_t k : packed) {
    const char* type = c_type(p_.inputs[k].dtype);
    if (!s.kept) declared += fmt::format("    Pack<{}, V> p{}[kUnroll];\n", type, k);
    loads += fmt::format("      p{0}[u] = {1}<{2}, V>(in{0} + {3});\n", k,
                         last ? "load" : "load_shared", type, index(p_.inputs[k].groups));
  }
  const char* bound = s.kept ? "kItems" : "kUnroll";
  const std::string over =
      fmt::format("#pragma unroll\n    for (int u = 0; u < {}; ++u) {{\n", bound);
  std::string head = of_columns()
                         ? "  for (int64_t first = begin + deep; first < end; first += "
                           "int64_t{kDepth} * kUnroll) {\n"
                         : "  for (int64_t first = begin + threadIdx.x; first < end; first "
                           "+= int64_t{kBlock} * kUnroll) {\n";
  if (s.kept) head = "  {\n    const int64_t first = begin + deep;\n";
  return head + declared + before +
         (s.kept || loads.empty() ? "" : over + where + loads + "    }\n") + over + where +
         step_begin + "#pragma unroll\n      for (int e = 0; e < V; ++e) {\n" + values(order) +
         inner + "      }\n" + step_end + "    }\n" + after + "  }\n";
}

std::string Passes::reductions(uint32_t pass, const Stage& s) const {
  std::string declared, before, begin, inner, after, rest, whole;
  std::vector<uint32_t> targets;
  for (uint32_t r : reduced_in(pass)) {
    const char* state = name_of(p_.steps[r].reduction);
    const uint32_t of = p_.steps[r].arguments[0];
    targets.push_back(of);
    // Of columns the array holds the results too.
    const std::string array = of_columns() ? fmt::format("r{}", r) : fmt::format("t{}", r);
    declared += fmt::format("  {} {}[V];\n", state, array);
    if (p_.steps[r].reduction == Reduction::moments) {
      declared += fmt::format("  float n{} = 0.f;\n", r);
      begin += fmt::format(
          "      n{0} += 1.f;\n      const float share{0} = __fdividef(1.f, n{0});\n", r);
      inner += fmt::format("        {}[e].add({}, share{});\n", array, value_of(of), r);
      rest += fmt::format("#pragma unroll\n  for (int e = 0; e < V; ++e) {}[e].v[0] = n{};\n",
                          array, r);
    } else if (p_.steps[r].reduction == Reduction::sum) {
      // Sums of sums: a long row of additions would lose what each is too small for.
      before += fmt::format("    Sum some{}[V];\n", r);
      inner += fmt::format("        some{}[e].add({});\n", r, value_of(of));
      after += fmt::format(
          "#pragma unroll\n    for (int e = 0; e < V; ++e) {}[e].merge(some{}[e]);\n", array, r);
    } else {
      inner += fmt::format("        {}[e].add({});\n", array, value_of(of));
    }
    whole += of_columns()
                 ? fmt::format("  over_block({}, shared);\n", array)
                 : fmt::format("  const {} r{} = over_block({}, shared);\n", state, r, array);
  }
  const bool last = !has_full_output() && pass + 1 == p_.passes;
  return declared + loop(targets, before, begin, inner, "", after, s, last) + rest + whole;
}

/// Names for what the reductions of a pass gave, once all threads have it.
std::string Passes::results(uint32_t pass) const {
  std::string text;
  for (uint32_t r : reduced_in(pass)) {
    if (parts_of(p_.steps[r].reduction) > 1) continue;
    text += of_columns() ? fmt::format(
                               "  float u{0}[V];\n#pragma unroll\n"
                               "  for (int e = 0; e < V; ++e) u{0}[e] = r{0}[e].v[0];\n",
                               r)
                         : fmt::format("  const float s{0} = r{0}.v[0];\n", r);
  }
  return text;
}

std::string Passes::stored_partials(uint32_t pass) const {
  std::string text;
  for (uint32_t r : reduced_in(pass))
    for (uint32_t c = 0; c < parts_of(p_.steps[r].reduction); ++c) {
      const uint32_t slot = slot_of(r) + c;
      text += of_columns() ? fmt::format(
                                 "#pragma unroll\n    for (int e = 0; e < V; ++e)\n"
                                 "      partial[({}ll * g.split + part) * results + result + e] = "
                                 "r{}[e].v[{}];\n",
                                 slot, r, c)
                           : fmt::format(
                                 "    partial[({}ll * results + result) * g.split + part] = "
                                 "r{}.v[{}];\n",
                                 slot, r, c);
    }
  return fmt::format("  if ({}) {{\n{}  }}\n",
                     of_columns() ? "deep == 0 && live" : "threadIdx.x == 0", text);
}

/// The partial results of all blocks, combined by each that reads them in the same order.
std::string Passes::restored(uint32_t pass) const {
  std::string text;
  for (uint32_t r : reduced_in(pass)) {
    const char* state = name_of(p_.steps[r].reduction);
    std::string parts;
    for (uint32_t c = 0; c < parts_of(p_.steps[r].reduction); ++c) {
      const uint32_t slot = slot_of(r) + c;
      parts += of_columns() ? fmt::format(
                                  "      other.v[{}] = __ldcg(partial + ({}ll * g.split + from) * "
                                  "results + result + e);\n",
                                  c, slot)
                            : fmt::format(
                                  "    other.v[{}] = __ldcg(partial + ({}ll * results + result) * "
                                  "g.split + from);\n",
                                  c, slot);
    }
    text += of_columns() ? fmt::format(
                               "  {0} r{1}[V];\n"
                               "  for (int from = deep; from < g.split && live; from += kDepth)\n"
                               "#pragma unroll\n    for (int e = 0; e < V; ++e) {{\n"
                               "      {0} other;\n{2}      r{1}[e].merge(other);\n    }}\n"
                               "  over_block(r{1}, shared);\n",
                               state, r, parts)
                         : fmt::format(
                               "  {0} t{1}[1];\n"
                               "  for (int from = threadIdx.x; from < g.split; from += kBlock) {{\n"
                               "    {0} other;\n{2}    t{1}[0].merge(other);\n  }}\n"
                               "  const {0} r{1} = over_block(t{1}, shared);\n",
                               state, r, parts);
  }
  return text + results(pass);
}

std::string Passes::outputs(const Stage& s) const {
  std::string begin, inner, end;
  std::vector<uint32_t> wanted;
  for (uint32_t i : full_outputs()) {
    const char* type = c_type(p_.output_types[i].dtype);
    wanted.push_back(p_.outputs[i]);
    begin += fmt::format("      Pack<{}, V> y{};\n", type, i);
    inner += fmt::format("        y{}.v[e] = rounded<{}>({});\n", i, type, value_of(p_.outputs[i]));
    end += fmt::format("      store<{0}, V>(out{1} + {2}, y{1});\n", type, i, index(p_.present));
  }
  return (wanted.empty() ? "" : loop(wanted, "", begin, inner, end, "", s, true)) + row_outputs(s);
}

std::string Passes::row_outputs(const Stage& s) const {
  std::string text;
  for (uint32_t i = 0; i < p_.outputs.size(); ++i) {
    if (p_.output_types[i].span != Span::row) continue;
    const char* type = c_type(p_.output_types[i].dtype);
    const uint32_t y = p_.outputs[i];
    text += of_columns()
                ? fmt::format(
                      "#pragma unroll\n    for (int e = 0; e < V; ++e)\n"
                      "      out{}[result + e] = rounded<{}>(u{}[e]);\n",
                      i, type, y)
                : fmt::format("    out{}[result] = rounded<{}>({});\n", i, type, value_of(y));
  }
  if (text.empty()) return "";
  return fmt::format("  if ({}{}) {{\n{}  }}\n", s.name == "pass" ? "" : "part == 0 && ",
                     of_columns() ? "deep == 0 && live" : "threadIdx.x == 0", text);
}

// --- kernels -----------------------------------------------------------------------------------

std::string Passes::states() const {
  std::string text;
  for (size_t r = 0; r < std::size(kStates); ++r)
    if (std::any_of(p_.steps.begin(), p_.steps.end(), [&](const Step& s) {
          return is_reduction(s) && static_cast<size_t>(s.reduction) == r;
        }))
      text += fill(kStates[r], {{"exp", c_.fast ? "__expf" : "expf"}});
  text += kShuffled;
  text += of_columns() ? kOverColumns : kOverWhole;
  if (finished_by_last()) text += kIsLast;
  return text;
}

std::string Passes::kernel(const Stage& s) const {
  std::string body = constants() + uniform_inputs();
  for (uint32_t pass = 0; pass < s.from; ++pass) body += uniform(pass) + restored(pass);
  if (s.kept) {
    // Every full input, before anything else.
    std::string declared, loads;
    for (uint32_t k = 0; k < p_.inputs.size(); ++k) {
      const Operand& o = p_.inputs[k];
      if ((o.groups & 4) == 0 || (o.groups & p_.reduced) == 0) continue;
      declared += fmt::format("  Pack<{}, V> p{}[kItems];\n", c_type(o.dtype), k);
      loads += fmt::format("    p{0}[u] = load<{1}, V>(in{0} + {2});\n", k, c_type(o.dtype),
                           index(o.groups));
    }
    body += declared +
            "#pragma unroll\n  for (int u = 0; u < kItems; ++u) {\n"
            "    const int64_t g1 = begin + deep + int64_t{u} * kDepth;\n"
            "    if (!live || g1 >= end) continue;\n" +
            loads + "  }\n";
  }
  const bool finishes = s.ends || (finished_by_last() && s.to == p_.passes);
  for (uint32_t pass = s.from; pass < s.to; ++pass) {
    body += uniform(pass);
    if (s.ends)
      body += reductions(pass, s) + results(pass);
    else
      body += "  {\n" + reductions(pass, s) + stored_partials(pass) + "  }\n";
  }
  if (!s.ends && finishes)
    body += fmt::format("  if (!is_last(arrived + {}, (unsigned)g.split)) return;\n",
                        of_columns() ? "blockIdx.x % (tiles * (unsigned)g.e0)" : "result") +
            restored(s.to - 1);
  if (finishes) body += uniform(p_.passes) + outputs(s);
  const bool two_kept = p_.reduced == 4;
  const std::string where =
      of_columns()
          ? std::string(kWhereColumns)
          : fill(kWhereWhole,
                 {{"results", two_kept ? "g.e0 * g.e1" : "g.e1"},
                  {"kept", two_kept ? "const int64_t g0 = result / g.e1, g1 = result - g0 * "
                                      "g.e1;\n  (void)g0, (void)g1;"
                                    : "const int64_t g1 = result;\n  (void)g1;"}});
  const std::string floats = of_columns() ? fmt::format("kGroups * kLanes * V * {}", most_parts())
                                          : fmt::format("kWarps * {}", most_parts());
  return fill(kKernel, {{"item_parameter", s.kept ? ", int kItems" : ""},
                        {"name", s.name + (s.name == "pass" ? std::to_string(s.from) : "")},
                        {"parameters", parameters(p_)},
                        {"shared", floats},
                        {"where", where},
                        {"body", body}});
}

std::string Passes::kernels() const {
  std::string text;
  const uint32_t all = p_.passes;
  if (all > 0) text += kernel({"together", 0, all, false, true});
  if (of_columns() && reads_again()) text += kernel({"kept", 0, all, true, true});
  for (uint32_t pass = 0; pass < all; ++pass)
    text += kernel({"pass", pass, pass + 1, false, false});
  if (!finished_by_last()) text += kernel({"finish", all, all, false, true});
  return text;
}

}  // namespace fiel::forge
