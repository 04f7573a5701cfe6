// What one thread's arithmetic instruction gives, worked out from the PTX manual with wide integers
// and soft_float.h: the independent side of tests of vgpu/isa.
//
//   Expected e = evaluate(instruction, sources, carry);
//   if (!e.legal) the combination must have been refused, else e.d (and e.d2) is the right answer
#pragma once

#include <cstdint>

#include "ptx/module.h"

namespace fiel::vgpu::model {

struct Expected {
  bool legal = true;
  uint64_t d = 0;   ///< as the destination register holds it; a predicate is 0 or 1
  uint64_t d2 = 0;  ///< second destination (q, p)
  bool carry = false;
  bool any_nan = false;      ///< d is a NaN whose payload the manual leaves open
  bool approximate = false;  ///< `reference` holds, not d
  long double reference = 0;
  double max_ulp = 2;
};

/// `sources` are the instruction's source operands in order, low bits as their registers hold them;
/// predicates are 0 or 1 with `!` not yet applied. `register_bits` is the destination's width.
Expected evaluate(const ptx::Instruction& instruction, const uint64_t* sources, bool carry,
                  uint32_t register_bits);

// Parts, by family (alu_model_*.cpp); each returns false for "not mine".
bool integer_model(const ptx::Instruction&, const uint64_t*, bool carry, Expected&);
bool bits_model(const ptx::Instruction&, const uint64_t*, Expected&);
bool float_model(const ptx::Instruction&, const uint64_t*, Expected&);
bool compare_model(const ptx::Instruction&, const uint64_t*, Expected&);
bool convert_model(const ptx::Instruction&, const uint64_t*, uint32_t register_bits, Expected&);
bool video_model(const ptx::Instruction&, const uint64_t*, Expected&);
bool special_model(const ptx::Instruction&, const uint64_t*, Expected&);

inline uint64_t low(uint64_t x, uint32_t bits) {
  return bits >= 64 ? x : x & ((uint64_t{1} << bits) - 1);
}
/// The value as an integer, signed where the type is.
inline __int128 value_of(uint64_t x, uint32_t bits, bool is_signed) {
  x = low(x, bits);
  if (is_signed && (x >> (bits - 1) & 1u)) return static_cast<__int128>(x) - (__int128{1} << bits);
  return static_cast<__int128>(x);
}
inline bool is_half(ptx::Type t) {
  return t == ptx::Type::f16 || t == ptx::Type::f16x2 || t == ptx::Type::bf16 ||
         t == ptx::Type::bf16x2;
}
inline bool is_packed_half(ptx::Type t) { return t == ptx::Type::f16x2 || t == ptx::Type::bf16x2; }

}  // namespace fiel::vgpu::model
