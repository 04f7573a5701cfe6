// ldmatrix, stmatrix, wmma.load and wmma.store: matrices between memory and fragments.
#include <immintrin.h>

#include <cstring>

#include "ptx/module.h"
#include "vgpu/findings.h"
#include "vgpu/isa/memory_access.h"
#include "vgpu/isa/select.h"

namespace fiel::vgpu::FIEL_ISA {
namespace {

using ptx::Layout;
using ptx::Space;
using ptx::Type;

void report_missing_lanes(Warp& warp, const Op& op, uint32_t mask) {
  report_with_detail(warp, op, static_cast<uint8_t>(FindingKind::inactive_lane_read), ~mask,
                     "an instruction of the whole warp (.sync.aligned) is executed by only a part "
                     "of it: what the other lanes should load or store is undefined");
}

// ---- ldmatrix, stmatrix: 8×8 matrices of 16 bits, a row at each of eight lanes' addresses ----

/// Selection::imm of both.
struct MatrixFields {
  int count;  ///< matrices
  bool transposed, wide_address;
  Space space;
  uint64_t packed() const {
    return static_cast<uint64_t>(count | transposed << 4 | wide_address << 5) |
           static_cast<uint64_t>(space) << 8;
  }
  static MatrixFields unpacked(uint64_t x) {
    return {static_cast<int>(x & 15), (x >> 4 & 1) != 0, (x >> 5 & 1) != 0,
            static_cast<Space>(x >> 8 & 255)};
  }
};

/// Registers of the lanes in `mask` take the words of a matrix; all of them at once, mostly.
void put_register(Warp& warp, uint32_t slot, const __m128i (&rows)[8], uint32_t mask) {
  uint8_t* reg = warp.regs + slot;
  if (mask == kFullMask) [[likely]] {
    for (int i = 0; i < 8; ++i) _mm_storeu_si128(reinterpret_cast<__m128i*>(reg + 16 * i), rows[i]);
    return;
  }
  alignas(16) uint8_t words[128];
  for (int i = 0; i < 8; ++i) _mm_store_si128(reinterpret_cast<__m128i*>(words + 16 * i), rows[i]);
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = __builtin_ctz(rest);
    std::memcpy(reg + 4 * lane, words + 4 * lane, 4);
  }
}

void transpose(__m128i (&x)[8]) {
  __m128i p[8], q[8];
  for (int i = 0; i < 4; ++i) {
    p[i] = _mm_unpacklo_epi16(x[2 * i], x[2 * i + 1]);
    p[i + 4] = _mm_unpackhi_epi16(x[2 * i], x[2 * i + 1]);
  }
  for (int h = 0; h < 8; h += 4) {
    q[h] = _mm_unpacklo_epi32(p[h], p[h + 1]);
    q[h + 1] = _mm_unpackhi_epi32(p[h], p[h + 1]);
    q[h + 2] = _mm_unpacklo_epi32(p[h + 2], p[h + 3]);
    q[h + 3] = _mm_unpackhi_epi32(p[h + 2], p[h + 3]);
    x[h] = _mm_unpacklo_epi64(q[h], q[h + 2]);
    x[h + 1] = _mm_unpackhi_epi64(q[h], q[h + 2]);
    x[h + 2] = _mm_unpacklo_epi64(q[h + 1], q[h + 3]);
    x[h + 3] = _mm_unpackhi_epi64(q[h + 1], q[h + 3]);
  }
}

/// Checked pointers of the rows; false when the launch was stopped.
bool matrix_rows(Warp& warp, const Op& op, const MatrixFields& f, AccessKind kind, uint32_t slot,
                 uint32_t offset, uint32_t mask, LanePointers& to) {
  alignas(64) uint64_t addresses[kLanes];
  lane_addresses(warp, slot, f.wide_address ? 64 : 32, static_cast<int32_t>(offset), addresses);
  const uint32_t lanes = f.count == 4 ? kFullMask : (1u << (8 * f.count)) - 1;
  if (mask != kFullMask) [[unlikely]] {
    report_missing_lanes(warp, op, mask);
    // Rows of missing lanes have no address: nothing sensible can be moved.
    if ((lanes & ~mask) != 0) return false;
  }
  const AccessSpec spec{.space = f.space, .kind = kind, .bytes = 16};
  return access(warp, op, spec, addresses, lanes, to) == lanes;
}

void run_ldmatrix(Warp& warp, const Op& op, uint32_t mask) {
  const MatrixFields f = MatrixFields::unpacked(op.imm);
  const uint32_t* list = operand_list(warp, op);
  LanePointers from;
  if (!matrix_rows(warp, op, f, AccessKind::load, list[f.count], list[f.count + 1], mask, from)) {
    return;
  }
  // All rows are read before a register is written: a destination may hold the addresses.
  __m128i rows[4][8];
  for (int m = 0; m < f.count; ++m) {
    for (int i = 0; i < 8; ++i) {
      rows[m][i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from.at[8 * m + i]));
    }
    if (f.transposed) transpose(rows[m]);
  }
  for (int m = 0; m < f.count; ++m) put_register(warp, list[m], rows[m], mask);
}

void run_stmatrix(Warp& warp, const Op& op, uint32_t mask) {
  const MatrixFields f = MatrixFields::unpacked(op.imm);
  const uint32_t* list = operand_list(warp, op);
  LanePointers to;
  if (!matrix_rows(warp, op, f, AccessKind::store, list[0], list[1], mask, to)) return;
  for (int m = 0; m < f.count; ++m) {
    __m128i rows[8];
    const uint8_t* reg = warp.regs + list[2 + m];
    for (int i = 0; i < 8; ++i) {
      rows[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(reg + 16 * i));
    }
    if (f.transposed) transpose(rows);
    for (int i = 0; i < 8; ++i) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to.at[8 * m + i]), rows[i]);
    }
  }
}

// ---- wmma.load, wmma.store: the layout that mma.sync's fragments have ----

/// A matrix as blocks of eight along `outer` (rows of A and C, columns of B), a lane holding `each`
/// consecutive elements along `inner`.
struct WmmaFields {
  int outer8, steps;  ///< blocks along outer and inner
  int each;           ///< elements of a lane in a block
  int element_bits;
  bool contiguous;   ///< inner elements are neighbours in memory
  bool b_order;      ///< registers: B's order
  bool half_copies;  ///< f16 factors: eight registers, of which the mma needs fewer
  bool has_stride, wide_address;
  Space space;
  uint64_t packed() const {
    const auto log2 = [](int x) { return __builtin_ctz(static_cast<unsigned>(x)); };
    return static_cast<uint64_t>((outer8 - 1) | (steps - 1) << 2 | log2(each) << 4 |
                                 log2(element_bits) << 8 | contiguous << 12 | b_order << 13 |
                                 half_copies << 14 | has_stride << 15 | wide_address << 16) |
           static_cast<uint64_t>(space) << 24;
  }
  static WmmaFields unpacked(uint64_t x) {
    const auto bit = [x](int at) { return (x >> at & 1) != 0; };
    return {static_cast<int>(x & 3) + 1,
            static_cast<int>(x >> 2 & 3) + 1,
            1 << (x >> 4 & 15),
            1 << (x >> 8 & 15),
            bit(12),
            bit(13),
            bit(14),
            bit(15),
            bit(16),
            static_cast<Space>(x >> 24 & 255)};
  }
  int lane_bytes() const { return each * element_bits / 8; }  ///< of a block
  int register_bytes() const { return element_bits == 64 ? 8 : 4; }
  int registers_of_block() const { return lane_bytes() / register_bytes(); }
  int needed() const { return outer8 * steps * registers_of_block(); }
  int listed() const { return half_copies ? 8 : needed(); }
  int block(int outer, int step) const {
    return b_order ? outer * steps + step : step * outer8 + outer;
  }
  /// Elements from one outer to the next, or one inner to the next, where no stride is given.
  int default_stride() const { return contiguous ? 4 * each * steps : 8 * outer8; }
};

struct WmmaBase {
  alignas(64) uint64_t address[kLanes];
  alignas(64) uint32_t stride[kLanes];
  bool uniform = false;  ///< all lanes name the same matrix, as they have to
};
void read_base(Warp& warp, const WmmaFields& f, const uint32_t* address, uint32_t stride_slot,
               WmmaBase& base) {
  lane_addresses(warp, address[0], f.wide_address ? 64 : 32, static_cast<int32_t>(address[1]),
                 base.address);
  for (int i = 0; i < kLanes; ++i) {
    base.stride[i] = f.has_stride ? warp.reg<uint32_t>(stride_slot)[i]
                                  : static_cast<uint32_t>(f.default_stride());
  }
  bool same = true;
  for (int i = 1; i < kLanes; ++i)
    same &= (base.address[i] == base.address[0]) & (base.stride[i] == base.stride[0]);
  base.uniform = same;
}

/// Where the lanes' elements [first, first + 1) or, contiguous, all of a block are.
void block_addresses(const WmmaFields& f, const WmmaBase& base, int outer, int step, int first,
                     uint64_t* out) {
  if (base.uniform && f.element_bits >= 8) {
    // One multiplication a row instead of one a lane.
    const uint64_t size = static_cast<uint64_t>(f.element_bits) / 8;
    const uint64_t row = size * (f.contiguous ? base.stride[0] : 1);
    const uint64_t column = size * (f.contiguous ? 1 : base.stride[0]);
    const uint64_t corner = base.address[0] + static_cast<uint64_t>(8 * outer) * row +
                            static_cast<uint64_t>(4 * step * f.each + first) * column;
    const uint64_t next = column * static_cast<uint64_t>(f.each);
    for (uint64_t o = 0; o < 8; ++o)
      for (uint64_t i = 0; i < 4; ++i) out[4 * o + i] = corner + o * row + i * next;
    return;
  }
  for (int lane = 0; lane < kLanes; ++lane) {
    const uint64_t o = static_cast<uint64_t>(8 * outer + lane / 4);
    const uint64_t i = static_cast<uint64_t>((4 * step + lane % 4) * f.each + first);
    const uint64_t element = f.contiguous ? o * base.stride[lane] + i : i * base.stride[lane] + o;
    out[lane] = base.address[lane] + element * static_cast<uint64_t>(f.element_bits) / 8;
  }
}

/// A T of every lane, at `offset` in the 32-bit register.
template <bool Store, typename T>
void move_full(const LanePointers& at, uint8_t* reg, uint32_t offset) {
  for (int lane = 0; lane < kLanes; ++lane) {
    uint8_t* in = reg + lane * 4 + offset;
    Store ? std::memcpy(at.at[lane], in, sizeof(T)) : std::memcpy(in, at.at[lane], sizeof(T));
  }
}
/// Bytes [before, before + bytes) of every lane's part of a block.
template <bool Store>
void move_lanes(const LanePointers& at, uint8_t* const (&registers)[2], uint32_t mask,
                uint32_t before, uint32_t bytes, uint32_t register_bytes) {
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const uint32_t lane = static_cast<uint32_t>(__builtin_ctz(rest));
    for (uint32_t done = 0; done < bytes;) {
      const uint32_t position = before + done;
      uint8_t* reg =
          registers[position / register_bytes] + lane * register_bytes + position % register_bytes;
      const uint32_t part = bytes < register_bytes ? bytes : register_bytes;
      Store ? std::memcpy(at.at[lane] + done, reg, part)
            : std::memcpy(reg, at.at[lane] + done, part);
      done += part;
    }
  }
}

/// Moves one block; `registers` are its registers' bytes. False when the launch was stopped.
template <bool Store>
bool move_block(Warp& warp, const Op& op, const WmmaFields& f, const WmmaBase& base, uint32_t mask,
                int outer, int step, uint8_t* const (&registers)[2]) {
  alignas(64) uint64_t addresses[kLanes];
  const int pieces = f.contiguous ? 1 : f.each;
  const uint32_t bytes = static_cast<uint32_t>(f.lane_bytes() / pieces);
  const AccessSpec spec{.space = f.space,
                        .kind = Store ? AccessKind::store : AccessKind::load,
                        .bytes = bytes,
                        .alignment = bytes > 8 ? 8 : bytes};
  const uint32_t register_bytes = static_cast<uint32_t>(f.register_bytes());
  for (int piece = 0; piece < pieces; ++piece) {
    block_addresses(f, base, outer, step, piece, addresses);
    LanePointers at;
    if (access(warp, op, spec, addresses, mask, at) != mask) return false;
    const uint32_t before = static_cast<uint32_t>(piece) * bytes;
    if (bytes == 4 && register_bytes == 4 && mask == kFullMask) {
      move_full<Store, uint32_t>(at, registers[before / 4], 0);
    } else if (bytes == 2 && register_bytes == 4 && mask == kFullMask) {
      move_full<Store, uint16_t>(at, registers[0], before);
    } else {
      move_lanes<Store>(at, registers, mask, before, bytes, register_bytes);
    }
  }
  return true;
}

template <bool Store>
void run_wmma_memory(Warp& warp, const Op& op, uint32_t mask) {
  const WmmaFields f = WmmaFields::unpacked(op.imm);
  const uint32_t* list = operand_list(warp, op);
  const uint32_t* slots = Store ? list + 2 : list;
  const uint32_t* address = Store ? list : list + f.listed();
  if (mask != kFullMask) report_missing_lanes(warp, op, mask);
  WmmaBase base;
  read_base(warp, f, address, list[f.listed() + 2], base);
  for (int outer = 0; outer < f.outer8; ++outer) {
    for (int step = 0; step < f.steps; ++step) {
      uint8_t* registers[2] = {};
      for (int i = 0; i < f.registers_of_block(); ++i) {
        registers[i] = warp.regs + slots[f.block(outer, step) * f.registers_of_block() + i];
      }
      if (!move_block<Store>(warp, op, f, base, mask, outer, step, registers)) return;
    }
  }
  if (Store) return;
  // The registers that an f16 factor has beyond its elements get copies, as they must be defined.
  for (int i = f.needed(); i < f.listed(); ++i) {
    const uint32_t* from = warp.reg<uint32_t>(slots[i % f.needed()]);
    for (int lane = 0; lane < kLanes; ++lane) {
      if ((mask >> lane & 1) != 0) warp.reg<uint32_t>(slots[i])[lane] = from[lane];
    }
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

Selection select_matrix(const ptx::Instruction& x, const OperandWidths& widths, bool store) {
  const ptx::Modifiers& m = x.mods;
  if (x.operands.size() != 2) return unsupported("this form of ldmatrix or stmatrix");
  const size_t data = store ? 1 : 0, address = store ? 0 : 1;
  const bool square = m.shape.m == 8 && m.shape.n == 8;
  if (!square || m.n_types != 1 || m.types[0] != Type::b16) {
    return unsupported("ldmatrix and stmatrix of shapes and types other than .m8n8.b16");
  }
  const int count = m.matrices;
  if ((count != 1 && count != 2 && count != 4) ||
      registers(x.operands[data]) != static_cast<size_t>(count) || widths.bits[data] != 32) {
    return unsupported(
        "ldmatrix or stmatrix with another number or size of registers than .x says");
  }
  Selection s;
  s.handler = store ? run_stmatrix : run_ldmatrix;
  s.imm = MatrixFields{count, m.trans, widths.bits[address] == 64, m.space}.packed();
  return s;
}

/// The matrix that a wmma.load or store names, as blocks; element_bits 0 = there is none.
WmmaFields wmma_matrix(const ptx::Modifiers& m) {
  const Type t = m.types[0];
  const int bits = static_cast<int>(ptx::bits_of(t));
  const bool factor = m.load_a || m.load_b;
  WmmaFields f{};
  f.element_bits = bits;
  const ptx::MmaShape shape = m.shape;
  const bool square = shape.m == 16 && shape.n == 16 && shape.k == 16;
  const bool long_ = (shape.m == 32 && shape.n == 8 && shape.k == 16) ||
                     (shape.m == 8 && shape.n == 32 && shape.k == 16);
  const bool tf32 = shape.m == 16 && shape.n == 16 && shape.k == 8;
  const bool small = shape.m == 8 && shape.n == 8;
  bool exists;
  if (factor) {
    exists = t == Type::f16 || t == Type::bf16 || t == Type::s8 || t == Type::u8 ? square || long_
             : t == Type::tf32                                                   ? tf32
             : t == Type::f64                 ? small && shape.k == 4
             : t == Type::s4 || t == Type::u4 ? small && shape.k == 32
             : t == Type::b1                  ? small && shape.k == 128
                                              : false;
    f.each = bits >= 32 ? 1 : 32 / (bits == 0 ? 32 : bits);
    f.outer8 = (m.load_a ? shape.m : shape.n) / 8;
    f.steps = shape.k / (4 * f.each);
  } else {
    exists = t == Type::f16   ? square || long_
             : t == Type::f32 ? square || long_ || tf32
             : t == Type::s32 ? square || long_ || (small && shape.k >= 32)
             : t == Type::f64 ? small && shape.k == 4
                              : false;
    f.each = 2;
    f.outer8 = shape.m / 8;
    f.steps = shape.n / 8;
  }
  if (!exists) f.element_bits = 0;
  return f;
}

Selection select_wmma_memory(const ptx::Instruction& x, const OperandWidths& widths) {
  const ptx::Modifiers& m = x.mods;
  const bool store = m.store_d;
  if (m.n_types != 1 || x.operands.size() < 2 || x.operands.size() > 3) {
    return unsupported("this form of wmma.load or wmma.store");
  }
  WmmaFields f = wmma_matrix(m);
  const Layout layout = m.a_layout != Layout::none ? m.a_layout : m.b_layout;
  if (f.element_bits == 0 || layout == Layout::none) {
    return unsupported("this combination of wmma's shape and type");
  }
  f.contiguous = (layout == Layout::col) == m.load_b;
  if (f.element_bits < 8 && !f.contiguous) {
    return unsupported("wmma.load of 4-bit or 1-bit factors other than .row for a, .col for b");
  }
  const size_t data = store ? 1 : 0, address = store ? 0 : 1;
  f.b_order = m.load_b;
  f.half_copies = (m.load_a || m.load_b) && m.types[0] == Type::f16;
  f.has_stride = x.operands.size() == 3;
  f.wide_address = widths.bits[address] == 64;
  f.space = m.space;
  if (registers(x.operands[data]) != static_cast<size_t>(f.listed()) ||
      widths.bits[data] != 8 * f.register_bytes() || (f.has_stride && widths.bits[2] != 32)) {
    return unsupported("wmma.load or wmma.store with another number or size of registers");
  }
  Selection s;
  s.handler = store ? run_wmma_memory<true> : run_wmma_memory<false>;
  s.imm = f.packed();
  return s;
}

}  // namespace

Selection select_matrix_memory(const ptx::Instruction& x, const OperandWidths& widths) {
  switch (x.op) {
    case ptx::Opcode::ldmatrix:
      return select_matrix(x, widths, false);
    case ptx::Opcode::stmatrix:
      return select_matrix(x, widths, true);
    case ptx::Opcode::wmma:
      return x.mods.mma ? Selection{} : select_wmma_memory(x, widths);
    default:
      return {};
  }
}

}  // namespace fiel::vgpu::FIEL_ISA
