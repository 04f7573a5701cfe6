// mma.sync, wmma.mma and movmatrix: from operand lists to fragments.
#include <immintrin.h>

#include <cstring>

#include "ptx/module.h"
#include "vgpu/findings.h"
#include "vgpu/isa/memory_access.h"
#include "vgpu/isa/mma.h"
#include "vgpu/isa/select.h"

namespace fiel::vgpu::FIEL_ISA {
namespace {

using ptx::Type;

/// Selection::imm of both instructions: the function in the low 48 bits, fields above them.
constexpr int kFieldBits = 48;
static_assert(sizeof(MmaFunction) == 8);
uint64_t pack(MmaFunction function, uint64_t fields) {
  return reinterpret_cast<uint64_t>(function) | fields << kFieldBits;
}
MmaFunction function_of(uint64_t imm) {
  return reinterpret_cast<MmaFunction>(imm & ((uint64_t{1} << kFieldBits) - 1));
}

/// Results of an op on a part of its warp: the lanes outside `mask` get their registers back.
class SavedLanes {
 public:
  SavedLanes(Warp& warp, const uint32_t* slots, int count, uint32_t lane_bytes)
      : warp_(warp), slots_(slots), count_(count), lane_bytes_(lane_bytes) {
    for (int i = 0; i < count; ++i) {
      std::memcpy(saved_[i], warp.regs + slots[i], kLanes * lane_bytes);
    }
  }
  void restore(uint32_t lanes) {
    for (int i = 0; i < count_; ++i) {
      for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        const uint32_t at = static_cast<uint32_t>(__builtin_ctz(rest)) * lane_bytes_;
        std::memcpy(warp_.regs + slots_[i] + at, saved_[i] + at, lane_bytes_);
      }
    }
  }

 private:
  Warp& warp_;
  const uint32_t* slots_;
  int count_;
  uint32_t lane_bytes_;
  uint8_t saved_[8][kLanes * 8];
};

/// Tensor instructions need the whole warp: a missing lane's fragments would be read as they are.
void report_missing_lanes(Warp& warp, const Op& op, uint32_t mask) {
  report_with_detail(warp, op, static_cast<uint8_t>(FindingKind::inactive_lane_read), ~mask,
                     "an instruction of the whole warp (.sync.aligned) is executed by only a part "
                     "of it: the fragments of the other lanes are undefined");
}

void run_mma(Warp& warp, const Op& op, uint32_t mask) {
  const uint64_t fields = op.imm >> kFieldBits;
  const int na = static_cast<int>(fields & 15), nb = static_cast<int>(fields >> 4 & 15);
  const int nc = static_cast<int>(fields >> 8 & 15);
  const uint32_t* list = operand_list(warp, op);
  MmaFragments f;
  for (int i = 0; i < nc; ++i) f.d[i] = warp.regs + list[i];
  for (int i = 0; i < na; ++i) f.a[i] = warp.regs + list[nc + i];
  for (int i = 0; i < nb; ++i) f.b[i] = warp.regs + list[nc + na + i];
  for (int i = 0; i < nc; ++i) f.c[i] = warp.regs + list[nc + na + nb + i];
  if (mask == kFullMask) [[likely]] {
    function_of(op.imm)(f);
    return;
  }
  report_missing_lanes(warp, op, mask);
  SavedLanes saved(warp, list, nc, (fields >> 12 & 1) != 0 ? 8 : 4);
  function_of(op.imm)(f);
  saved.restore(~mask);
}

/// Shape of a wmma in blocks: rows of A and columns of B by eight, steps of k by one register.
struct WmmaFields {
  int rows8, columns8, steps;
  bool half_factors;  ///< A and B take eight registers whatever they need
  bool c_half, d_half, f64;
  bool by_steps;  ///< a product of its own for each step, onto the one before
  uint64_t packed() const {
    return static_cast<uint64_t>((rows8 - 1) | (columns8 - 1) << 2 | (steps - 1) << 4 |
                                 half_factors << 6 | c_half << 7 | d_half << 8 | f64 << 9 |
                                 by_steps << 10);
  }
  static WmmaFields unpacked(uint64_t x) {
    const auto bits = [x](int at, uint64_t mask) { return static_cast<int>(x >> at & mask); };
    return {bits(0, 3) + 1,  bits(2, 3) + 1,  bits(4, 3) + 1,  bits(6, 1) != 0,
            bits(7, 1) != 0, bits(8, 1) != 0, bits(9, 1) != 0, bits(10, 1) != 0};
  }
  int a_listed() const { return half_factors ? 8 : rows8 * steps; }
  int b_listed() const { return half_factors ? 8 : columns8 * steps; }
  int c_listed() const { return rows8 * columns8 * (c_half ? 1 : 2); }
  int d_listed() const { return rows8 * columns8 * (d_half ? 1 : 2); }
};

/// f16 accumulators of a block as two registers of f32, and back: what ptxas does when c and d
/// differ (HADD2.F32 before HMMA, F2FP after it).
void widen_block(const uint8_t* half, uint8_t* even, uint8_t* odd) {
  for (int i = 0; i < 8; ++i) {
    const __m256 row = _mm256_permutevar8x32_ps(
        _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(half + 16 * i))),
        _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7));
    _mm_storeu_ps(reinterpret_cast<float*>(even + 16 * i), _mm256_castps256_ps128(row));
    _mm_storeu_ps(reinterpret_cast<float*>(odd + 16 * i), _mm256_extractf128_ps(row, 1));
  }
}
void narrow_block(const uint8_t* even, const uint8_t* odd, uint8_t* half) {
  for (int i = 0; i < 8; ++i) {
    const __m128 x = _mm_loadu_ps(reinterpret_cast<const float*>(even + 16 * i));
    const __m128 y = _mm_loadu_ps(reinterpret_cast<const float*>(odd + 16 * i));
    const __m256 row = _mm256_set_m128(_mm_unpackhi_ps(x, y), _mm_unpacklo_ps(x, y));
    __m128i bits = _mm256_cvtps_ph(row, _MM_FROUND_TO_NEAREST_INT);
    const __m128i magnitude = _mm_and_si128(bits, _mm_set1_epi16(0x7fff));
    const __m128i nan = _mm_cmpgt_epi16(magnitude, _mm_set1_epi16(0x7c00));
    bits = _mm_blendv_epi8(bits, _mm_set1_epi16(0x7fff), nan);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(half + 16 * i), bits);
  }
}

/// One product of a wmma: rows [8·first_row8, +16 or 8), one block of eight columns.
struct WmmaOperands {
  const uint8_t* a[8];
  const uint8_t* b[8];
  const uint8_t* c[8];
  uint8_t* d[8];
};
/// The factors of `count` steps of k from `first` on.
void set_factors(MmaFragments& f, const WmmaFields& w, const WmmaOperands& x, int row8, int rows,
                 int column8, int first, int count) {
  for (int s = 0; s < count; ++s) {
    for (int r = 0; r < rows; ++r) f.a[s * rows + r] = x.a[(first + s) * w.rows8 + row8 + r];
    f.b[s] = x.b[column8 * w.steps + first + s];
  }
}
void multiply_part(const WmmaFields& w, const WmmaOperands& x, MmaFunction mma, int row8, int rows,
                   int column8) {
  MmaFragments f;
  alignas(32) uint8_t wide[4][128];
  set_factors(f, w, x, row8, rows, column8, 0, w.by_steps ? 1 : w.steps);
  for (int r = 0; r < rows; ++r) {
    const int block = column8 * w.rows8 + row8 + r;
    if (w.c_half && w.d_half) {
      f.c[r] = x.c[block];
      f.d[r] = x.d[block];
      continue;
    }
    if (w.c_half) widen_block(x.c[block], wide[2 * r], wide[2 * r + 1]);
    for (int i = 0; i < 2; ++i) {
      f.c[2 * r + i] = w.c_half ? wide[2 * r + i] : x.c[2 * block + i];
      f.d[2 * r + i] = w.d_half ? wide[2 * r + i] : x.d[2 * block + i];
    }
  }
  mma(f);
  for (int s = 1; w.by_steps && s < w.steps; ++s) {
    set_factors(f, w, x, row8, rows, column8, s, 1);
    for (int i = 0; i < 2 * rows; ++i) f.c[i] = f.d[i];
    mma(f);
  }
  if (!w.d_half || w.c_half) return;
  for (int r = 0; r < rows; ++r) {
    narrow_block(wide[2 * r], wide[2 * r + 1], x.d[column8 * w.rows8 + row8 + r]);
  }
}

void run_wmma(Warp& warp, const Op& op, uint32_t mask) {
  const WmmaFields w = WmmaFields::unpacked(op.imm >> kFieldBits);
  const uint32_t* list = operand_list(warp, op);
  const uint32_t* d = list;
  const uint32_t* a = d + w.d_listed();
  const uint32_t* b = a + w.a_listed();
  const uint32_t* c = b + w.b_listed();
  const uint32_t lane_bytes = w.f64 ? 8 : 4;
  // Several products write d one after the other: where d's registers are also a factor's (or c's
  // in another order), they are written to a buffer first.
  bool overlaps = w.c_half != w.d_half;
  for (int i = 0; i < w.d_listed(); ++i) {
    for (const uint32_t* s = a; s < c; ++s) overlaps |= *s == d[i];
    for (int j = 0; j < w.c_listed(); ++j) overlaps |= j != i && c[j] == d[i];
  }
  if (mask != kFullMask) report_missing_lanes(warp, op, mask);
  alignas(32) uint8_t buffer[8][kLanes * 8];
  const bool direct = !overlaps && mask == kFullMask;
  WmmaOperands x = {};
  for (int i = 0; i < w.rows8 * w.steps; ++i) x.a[i] = warp.regs + a[i];
  for (int i = 0; i < w.columns8 * w.steps; ++i) x.b[i] = warp.regs + b[i];
  for (int i = 0; i < w.c_listed(); ++i) x.c[i] = warp.regs + c[i];
  for (int i = 0; i < w.d_listed(); ++i) x.d[i] = direct ? warp.regs + d[i] : buffer[i];
  const int rows = w.rows8 == 1 ? 1 : 2;
  for (int row8 = 0; row8 < w.rows8; row8 += rows) {
    for (int column8 = 0; column8 < w.columns8; ++column8) {
      multiply_part(w, x, function_of(op.imm), row8, rows, column8);
    }
  }
  if (direct) return;
  for (int i = 0; i < w.d_listed(); ++i) {
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
      const uint32_t at = static_cast<uint32_t>(__builtin_ctz(rest)) * lane_bytes;
      std::memcpy(warp.regs + d[i] + at, buffer[i] + at, lane_bytes);
    }
  }
}

void run_movmatrix(Warp& warp, const Op& op, uint32_t mask) {
  const uint32_t* list = operand_list(warp, op);
  uint16_t from[8][8], to[8][8];
  std::memcpy(from, warp.regs + list[1], sizeof from);
  if (mask != kFullMask) report_missing_lanes(warp, op, mask);
  for (int i = 0; i < 8; ++i) {
    for (int j = 0; j < 8; ++j) to[i][j] = from[j][i];
  }
  const uint8_t* bytes = reinterpret_cast<const uint8_t*>(to);
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = __builtin_ctz(rest);
    std::memcpy(warp.regs + list[0] + 4 * lane, bytes + 4 * lane, 4);
  }
}

size_t registers(const ptx::Operand& operand) {
  return operand.kind == ptx::Operand::Kind::vector ? operand.elements.size() : 1;
}

Selection unsupported(const char* why) {
  Selection s;
  s.unsupported = why;
  return s;
}

/// Counts and widths of the four operands d, a, b, c.
bool operands_fit(const ptx::Instruction& x, const OperandWidths& widths, const int (&counts)[4],
                  int bits) {
  if (x.operands.size() != 4) return false;
  for (size_t i = 0; i < 4; ++i) {
    if (registers(x.operands[i]) != static_cast<size_t>(counts[i]) || widths.bits[i] != bits) {
      return false;
    }
  }
  return true;
}

bool b1_operation(const ptx::Modifiers& m, bool& and_popc) {
  and_popc = m.bool_op == ptx::BoolOp::and_;
  return and_popc || m.bool_op == ptx::BoolOp::xor_;
}

Selection select_mma(const ptx::Instruction& x, const OperandWidths& widths) {
  const ptx::Modifiers& m = x.mods;
  if (m.n_types < 4) return unsupported("mma without its four types");
  MmaForm form{.m = static_cast<uint8_t>(m.shape.m),
               .k = m.shape.k,
               .a = m.types[1],
               .b = m.types[2],
               .c = m.types[3],
               .d = m.types[0],
               .satfinite = m.satfinite};
  if (m.shape.m == 8 && m.shape.k == 4 && form.a == Type::f16) {
    return unsupported("mma.m8n8k4 of f16 (Volta's quad-pair form)");
  }
  if (m.a_layout != ptx::Layout::row || m.b_layout != ptx::Layout::col) {
    return unsupported("mma with layouts other than .row.col");
  }
  if (m.shape.n != 8 || (m.shape.m != 8 && m.shape.m != 16)) {
    return unsupported("this shape of mma");
  }
  if (form.a == Type::b1 && !b1_operation(m, form.and_popc)) {
    return unsupported("mma of b1 without .xor.popc or .and.popc");
  }
  // wmma's m8 products of 16-bit types exist in the tables, but not as mma.
  const bool wmma_only = form.m == 8 && (form.a == Type::f16 || form.a == Type::bf16);
  const MmaFunction function = wmma_only ? nullptr : find_mma(form);
  if (function == nullptr) return unsupported("this combination of mma's shape and types");
  const int element_bits = static_cast<int>(ptx::bits_of(form.a));
  const int register_bits = form.a == Type::f64 ? 64 : 32;
  const int steps = form.k * element_bits / (4 * register_bits);
  const int blocks = form.m / 8;
  const int na = steps * blocks, nb = steps, nc = blocks * (form.d == Type::f16 ? 1 : 2);
  const int counts[4] = {nc, na, nb, nc};
  if (!operands_fit(x, widths, counts, register_bits)) {
    return unsupported("mma with another number or size of registers than its fragments have");
  }
  Selection s;
  s.handler = run_mma;
  s.imm = pack(function,
               static_cast<uint64_t>(na | nb << 4 | nc << 8 | (register_bits == 64 ? 1 : 0) << 12));
  return s;
}

Selection select_wmma(const ptx::Instruction& x, const OperandWidths& widths) {
  const ptx::Modifiers& m = x.mods;
  MmaForm form{.satfinite = m.satfinite};
  if (m.n_types == 2) {  // .dtype.ctype: the factors are f16
    form.d = m.types[0], form.c = m.types[1], form.a = form.b = Type::f16;
  } else if (m.n_types == 4) {
    form.d = m.types[0], form.a = m.types[1], form.b = m.types[2], form.c = m.types[3];
  } else {
    return unsupported("wmma.mma without its types");
  }
  if (form.a == Type::b1 && !b1_operation(m, form.and_popc)) {
    return unsupported("wmma.mma of b1 without .xor.popc or .and.popc");
  }
  const int element_bits = static_cast<int>(ptx::bits_of(form.a));
  const int register_bits = form.a == Type::f64 ? 64 : 32;
  WmmaFields w{};
  w.rows8 = m.shape.m / 8;
  w.columns8 = m.shape.n / 8;
  w.steps = m.shape.k * element_bits / (4 * register_bits);
  w.half_factors = form.a == Type::f16;
  w.c_half = form.c == Type::f16;
  w.d_half = form.d == Type::f16;
  w.f64 = form.a == Type::f64;
  const bool square = m.shape.m == 16 && m.shape.n == 16;
  const bool long_ = (m.shape.m == 32 && m.shape.n == 8) || (m.shape.m == 8 && m.shape.n == 32);
  const bool small = m.shape.m == 8 && m.shape.n == 8;
  const bool bytes_or_halves = element_bits == 8 || element_bits == 16;
  const bool exists = bytes_or_halves        ? (square || long_) && m.shape.k == 16
                      : form.a == Type::tf32 ? square && m.shape.k == 8
                                             : small && m.shape.k * element_bits <= 256;
  form.m = m.shape.m == 8 ? 8 : 16;
  // ptxas makes two HMMA.1684 of it, where mma.sync of the same k is one HMMA.1688: the sum is
  // truncated twice.
  w.by_steps = form.a == Type::tf32;
  form.k = w.by_steps ? 4 : m.shape.k;
  if (w.c_half != w.d_half) form.c = form.d = Type::f32;
  const MmaFunction function =
      exists && w.steps >= 1 && w.steps <= 2 && element_bits > 0 ? find_mma(form) : nullptr;
  if (function == nullptr || (element_bits == 8 && ptx::is_float(form.a))) {
    return unsupported("this combination of wmma's shape and types");
  }
  const int counts[4] = {w.d_listed(), w.a_listed(), w.b_listed(), w.c_listed()};
  if (!operands_fit(x, widths, counts, register_bits)) {
    return unsupported("wmma.mma with another number or size of registers than its fragments have");
  }
  Selection s;
  s.handler = run_wmma;
  s.imm = pack(function, w.packed());
  return s;
}

}  // namespace

Selection select_tensor(const ptx::Instruction& x, const OperandWidths& widths) {
  switch (x.op) {
    case ptx::Opcode::mma:
      return select_mma(x, widths);
    case ptx::Opcode::wmma:
      return x.mods.mma ? select_wmma(x, widths) : Selection{};
    case ptx::Opcode::movmatrix: {
      if (!x.mods.trans || x.operands.size() != 2 || widths.bits[0] != 32 || widths.bits[1] != 32) {
        return unsupported("movmatrix other than .m8n8.trans.b16 of 32-bit registers");
      }
      Selection s;
      s.handler = run_movmatrix;
      return s;
    }
    default:
      return {};
  }
}

}  // namespace fiel::vgpu::FIEL_ISA
