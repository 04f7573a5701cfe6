// The host's side of kernels that pass over groups of dimensions.
#include <fmt/core.h>

#include "forge/emit.h"
#include "forge/passes.h"

namespace fiel::forge {
namespace {

constexpr std::string_view kSpace = R"(
@sizes@
/// What all blocks know: extents of the three groups, and how the work is shared.
struct Space {
  int64_t e0, e1, e2;
  int64_t tiles;  // columns: across; whole: packs behind a result
  int64_t share;  // of one block, of what a result is reduced from
  int64_t first;  // extent of the first dimension
  int64_t run;    // packs that lie side by side
  unsigned factor, shift;
  int split;  // blocks that share a result

@of_run@};
)";

constexpr std::string_view kOfRun = R"(
  /// n / run by a multiplication and a shift (Granlund and Montgomery, 1994), below 2^31.
  __device__ int64_t of_run(int64_t n) const {
    if (tiles >= (int64_t{1} << 31)) return n / run;
    return (__umulhi((unsigned)n, factor) + (unsigned)n) >> shift;
  }
)";

constexpr std::string_view kHost = R"(
int64_t parts(int64_t n, int64_t of) { return (n + of - 1) / of; }

}  // namespace

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
                         int n_outputs, cudaStream_t stream) {
@checks@  const fiel_tensor& whole = inputs[@whole@];
  constexpr int kDimensions[] = {@dimensions@};
  if (whole.rank != kDimensions[0] + kDimensions[1] + kDimensions[2]) return FIEL_UNSUPPORTED;
  int64_t e[3] = {1, 1, 1};
  for (int group = 0, d = 0; group < 3; ++group)
    for (int i = 0; i < kDimensions[group]; ++i) e[group] *= whole.shape[d++];
  if (e[0] * e[1] * e[2] == 0) return FIEL_UNSUPPORTED;
@extents@  constexpr int kVector = @vector@;
@items@  const bool vectors = e[2] % kVector == 0@alignment@;
  const int width = vectors ? kVector : 1;
  Space g = {e[0], e[1], e[2]};
  g.first = whole.shape[0];
  g.run = e[2] / width;
@layout@  int64_t split = @split@;
  if (split > parts(length, least)) split = parts(length, least);
  g.share = parts(length, split);
  g.split = (int)parts(length, g.share);
  if (blocks * g.split >= (int64_t{1} << 31)) return FIEL_UNSUPPORTED;
  float* partial = nullptr;
  unsigned* arrived = nullptr;
@memory@@launches@}
)";

constexpr std::string_view kColumnsLayout = R"(  g.tiles = parts(g.run, kLanes);
  const int64_t blocks = g.tiles * g.e0, length = g.e1, least = kDepth, results = g.e0 * g.e2;
  (void)results;
)";
constexpr std::string_view kWholeLayout = R"(  g.tiles = @behind@;
  if (g.tiles < (int64_t{1} << 31)) {
    while ((int64_t{1} << g.shift) < g.run) ++g.shift;
    g.factor = (unsigned)(((1ull << 32) * ((1ull << g.shift) - (uint64_t)g.run)) /
                              (uint64_t)g.run + 1);
  }
  const int64_t results = @results@, blocks = results, length = g.tiles, least = kBlock;
)";

}  // namespace

/// One launch where one block makes a result; else a launch for each pass, and the end.
std::string Passes::launches(int items) const {
  const std::string arguments = forge::arguments(p_) + ", g, partial, arrived";
  const auto launch = [&](const std::string& name, const char* blocks, const std::string& wide,
                          const std::string& narrow) {
    return fmt::format(
        "    if (vectors)\n      {0}<{2}><<<(unsigned)({1}), kBlock, 0, stream>>>({4});\n"
        "    else\n      {0}<{3}><<<(unsigned)({1}), kBlock, 0, stream>>>({4});\n",
        name, blocks, wide, narrow, arguments);
  };
  std::string text;
  if (items > 0)
    text += "  if (g.split == 1 && g.e1 <= int64_t{kDepth} * kItems) {\n" +
            launch("kept", "blocks", "kVector, kItems", "1, kItems") +
            "    return cudaGetLastError();\n  }\n";
  if (p_.passes > 0)
    text += "  if (g.split == 1) {\n" + launch("together", "blocks", "kVector", "1") +
            "    return cudaGetLastError();\n  }\n";
  for (uint32_t pass = 0; pass < p_.passes; ++pass)
    text += "  {\n" + launch("pass" + std::to_string(pass), "blocks * g.split", "kVector", "1") +
            "  }\n";
  if (!finished_by_last())
    text += "  {\n" +
            launch("finish", has_full_output() ? "blocks * g.split" : "blocks", "kVector", "1") +
            "  }\n";
  return text + "  return cudaGetLastError();\n";
}

std::string Passes::source(const std::string& sizes, int vector, int items,
                           const std::string& split) const {
  std::string text =
      fill(kSpace, {{"sizes", sizes}, {"of_run", std::string(divides() ? kOfRun : "")}});
  text += states() + kernels();
  std::string dimensions, memory;
  for (uint32_t n : p_.group_dimensions)
    dimensions += (dimensions.empty() ? "" : ", ") + std::to_string(n);
  if (p_.passes > 0) {
    memory = fmt::format(
        "    partial = workspace<float>({} * results * g.split, stream);\n"
        "    if (partial == nullptr) return 1;\n",
        partial_parts());
    if (finished_by_last())
      memory +=
          "    arrived = workspace<unsigned>(blocks, stream);\n"
          "    if (arrived == nullptr) return 1;\n";
    memory = "  if (g.split > 1) {\n" + memory + "  }\n";
  }
  const bool two_kept = p_.reduced == 4;
  const std::string layout =
      of_columns() ? std::string(kColumnsLayout)
                   : fill(kWholeLayout, {{"behind", two_kept ? "g.run" : "g.e0 * g.run"},
                                         {"results", two_kept ? "g.e0 * g.e1" : "g.e1"}});
  return text + std::string(kWorkspace) +
         fill(kHost,
              {{"checks", checks(p_)},
               {"whole", std::to_string(p_.shape_input)},
               {"dimensions", dimensions},
               {"extents", extent_checks(p_)},
               {"vector", std::to_string(vector)},
               {"items", items > 0 ? fmt::format("  constexpr int kItems = {};\n", items) : ""},
               {"alignment", alignment(p_)},
               {"layout", layout},
               {"split", split},
               {"memory", memory},
               {"launches", launches(items)}});
}

}  // namespace fiel::forge
