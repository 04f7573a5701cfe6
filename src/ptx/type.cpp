#include "ptx/type.h"

#include <array>

#include "ptx/opcode.h"

namespace fiel::ptx {
namespace {

template <size_t N, typename E>
std::string_view pick(const std::array<std::string_view, N>& names, E value) {
  const auto i = static_cast<size_t>(value);
  return i < N ? names[i] : std::string_view("?");
}

}  // namespace

std::string_view name_of(Type t) {
  static constexpr std::array<std::string_view, 33> kNames = {
      "none", "pred", "b8",     "b16",    "b32",   "b64",   "b128", "u8",     "u16",  "u32", "u64",
      "s8",   "s16",  "s32",    "s64",    "f16",   "f16x2", "bf16", "bf16x2", "tf32", "f32", "f64",
      "e4m3", "e5m2", "e4m3x2", "e5m2x2", "u16x2", "s16x2", "u8x4", "s8x4",   "u4",   "s4",  "b1"};
  return pick(kNames, t);
}

std::string_view name_of(Space s) {
  static constexpr std::array<std::string_view, 8> kNames = {"none",   "generic", "reg",   "param",
                                                             "global", "shared",  "local", "const"};
  return pick(kNames, s);
}

std::string_view name_of(Scope s) {
  static constexpr std::array<std::string_view, 5> kNames = {"none", "cta", "cluster", "gpu",
                                                             "sys"};
  return pick(kNames, s);
}

std::string_view name_of(AtomicOp op) {
  static constexpr std::array<std::string_view, 11> kNames = {
      "none", "add", "min", "max", "inc", "dec", "exch", "cas", "and", "or", "xor"};
  return pick(kNames, op);
}

std::string_view name_of(Compare c) {
  static constexpr std::array<std::string_view, 19> kNames = {
      "none", "eq",  "ne",  "lt",  "le",  "gt",  "ge",  "lo",  "ls", "hi",
      "hs",   "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};
  return pick(kNames, c);
}

std::string_view name_of(SpecialReg r) {
  static constexpr std::array<std::string_view, 50> kNames = {
      "none",
      "%tid.x",
      "%tid.y",
      "%tid.z",
      "%ntid.x",
      "%ntid.y",
      "%ntid.z",
      "%ctaid.x",
      "%ctaid.y",
      "%ctaid.z",
      "%nctaid.x",
      "%nctaid.y",
      "%nctaid.z",
      "%laneid",
      "%warpid",
      "%nwarpid",
      "%smid",
      "%nsmid",
      "%gridid",
      "%lanemask_eq",
      "%lanemask_le",
      "%lanemask_lt",
      "%lanemask_ge",
      "%lanemask_gt",
      "%clock",
      "%clock_hi",
      "%clock64",
      "%globaltimer",
      "%globaltimer_lo",
      "%globaltimer_hi",
      "%total_smem_size",
      "%dynamic_smem_size",
      "%aggr_smem_size",
      "%envreg",
      "%cluster_ctarank",
      "%cluster_nctarank",
      "%cluster_ctaid.x",
      "%cluster_ctaid.y",
      "%cluster_ctaid.z",
      "%cluster_nctaid.x",
      "%cluster_nctaid.y",
      "%cluster_nctaid.z",
      "%clusterid.x",
      "%clusterid.y",
      "%clusterid.z",
      "%nclusterid.x",
      "%nclusterid.y",
      "%nclusterid.z",
      "%is_explicit_cluster",
      "%current_graph_exec",
  };
  return pick(kNames, r);
}

std::string_view name_of(Opcode op) {
  static constexpr std::string_view kNames[] = {"none",
#define FIEL_X(id, text) text,
                                                FIEL_PTX_OPCODES(FIEL_X)
#undef FIEL_X
  };
  const auto i = static_cast<size_t>(op);
  return i < std::size(kNames) ? kNames[i] : std::string_view("?");
}

}  // namespace fiel::ptx
