// The fundamental types, state spaces and modifier vocabularies of PTX, as enums with their
// spelling.
#pragma once

#include <cstdint>
#include <string_view>

namespace fiel::ptx {

enum class Type : uint8_t {
  none,
  pred,
  b8,
  b16,
  b32,
  b64,
  b128,
  u8,
  u16,
  u32,
  u64,
  s8,
  s16,
  s32,
  s64,
  f16,
  f16x2,
  bf16,
  bf16x2,
  tf32,
  f32,
  f64,
  e4m3,
  e5m2,
  e4m3x2,
  e5m2x2,
  u16x2,
  s16x2,
  u8x4,
  s8x4,
  u4,
  s4,
  b1,
};
/// Size of a value in bits; pred is 1.
constexpr uint32_t bits_of(Type t) {
  switch (t) {
    case Type::none:
      return 0;
    case Type::pred:
    case Type::b1:
      return 1;
    case Type::u4:
    case Type::s4:
      return 4;
    case Type::b8:
    case Type::u8:
    case Type::s8:
    case Type::e4m3:
    case Type::e5m2:
      return 8;
    case Type::b16:
    case Type::u16:
    case Type::s16:
    case Type::f16:
    case Type::bf16:
    case Type::e4m3x2:
    case Type::e5m2x2:
      return 16;
    case Type::b32:
    case Type::u32:
    case Type::s32:
    case Type::f32:
    case Type::tf32:
    case Type::f16x2:
    case Type::bf16x2:
    case Type::u16x2:
    case Type::s16x2:
    case Type::u8x4:
    case Type::s8x4:
      return 32;
    case Type::b64:
    case Type::u64:
    case Type::s64:
    case Type::f64:
      return 64;
    case Type::b128:
      return 128;
  }
  return 0;
}
constexpr bool is_signed(Type t) {
  return t == Type::s8 || t == Type::s16 || t == Type::s32 || t == Type::s64 || t == Type::s4 ||
         t == Type::s16x2 || t == Type::s8x4;
}
constexpr bool is_float(Type t) {
  return (t >= Type::f16 && t <= Type::f64) || (t >= Type::e4m3 && t <= Type::e5m2x2);
}

enum class Space : uint8_t { none, generic, reg, param, global, shared, local, constant };
enum class Semantics : uint8_t {
  none,
  weak,
  volatile_,
  relaxed,
  acquire,
  release,
  acq_rel,
  sc,
  mmio
};
enum class Scope : uint8_t { none, cta, cluster, gpu, sys };
enum class Rounding : uint8_t { none, rn, rna, rz, rm, rp, rni, rzi, rmi, rpi };
enum class Compare : uint8_t {
  none,
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
  lo,
  ls,
  hi,
  hs,
  equ,
  neu,
  ltu,
  leu,
  gtu,
  geu,
  num,
  nan
};
enum class BoolOp : uint8_t { none, and_, or_, xor_, popc };
enum class AtomicOp : uint8_t { none, add, min, max, inc, dec, exch, cas, and_, or_, xor_ };
enum class ShuffleMode : uint8_t { none, up, down, bfly, idx };
enum class VoteMode : uint8_t { none, all, any, uni, ballot };
enum class CacheOp : uint8_t { none, ca, cg, cs, lu, cv, wb, wt };
enum class PrmtMode : uint8_t { none, f4e, b4e, rc8, ecl, ecr, rc16 };
enum class TestpMode : uint8_t { none, finite, infinite, number, notanumber, normal, subnormal };
enum class Layout : uint8_t { none, row, col };
struct MmaShape {
  uint16_t m = 0, n = 0, k = 0;
  bool operator==(const MmaShape&) const = default;
};

enum class SpecialReg : uint8_t {
  none,
  tid_x,
  tid_y,
  tid_z,
  ntid_x,
  ntid_y,
  ntid_z,
  ctaid_x,
  ctaid_y,
  ctaid_z,
  nctaid_x,
  nctaid_y,
  nctaid_z,
  laneid,
  warpid,
  nwarpid,
  smid,
  nsmid,
  gridid,
  lanemask_eq,
  lanemask_le,
  lanemask_lt,
  lanemask_ge,
  lanemask_gt,
  clock,
  clock_hi,
  clock64,
  globaltimer,
  globaltimer_lo,
  globaltimer_hi,
  total_smem_size,
  dynamic_smem_size,
  aggr_smem_size,
  envreg,  ///< %envreg0..31: Operand::offset holds the number
  cluster_ctarank,
  cluster_nctarank,
  cluster_ctaid_x,
  cluster_ctaid_y,
  cluster_ctaid_z,
  cluster_nctaid_x,
  cluster_nctaid_y,
  cluster_nctaid_z,
  clusterid_x,
  clusterid_y,
  clusterid_z,
  nclusterid_x,
  nclusterid_y,
  nclusterid_z,
  is_explicit_cluster,
  current_graph_exec,
};

std::string_view name_of(Type t);
std::string_view name_of(Space s);
std::string_view name_of(Scope s);
std::string_view name_of(AtomicOp op);
std::string_view name_of(Compare c);
std::string_view name_of(SpecialReg r);

}  // namespace fiel::ptx
