// Liveness and slot colouring: PTX registers are nearly SSA, tens of kilobytes a warp if each had
// its own place; shared places keep a warp in the first-level cache.
//
// Slots are shared only among registers of one width: lanes of different splits may hold different
// registers at the same time, and stay apart only because lane i is at the same bytes in both. A
// guarded write does not end a register's life, and liveness is that of one thread, which is what
// each lane follows.
#include <algorithm>
#include <array>
#include <functional>
#include <tuple>

#include "vgpu/lower.h"

namespace fiel::vgpu {
namespace {

using ptx::Operand;
constexpr uint32_t kNone = 0xffffffffu;
/// Bits of liveness sets beyond which every register gets a place of its own (1 GiB of sets).
constexpr uint64_t kMaxSetBits = 1ull << 33;

void registers_in(const Operand& operand, std::vector<uint32_t>& out) {
  if (operand.kind == Operand::Kind::reg) out.push_back(operand.reg);
  for (const Operand& element : operand.elements) registers_in(element, out);
}

struct Interval {
  uint32_t begin = kNone, end = 0;
  void cover(uint32_t at) {
    begin = std::min(begin, at);
    end = std::max(end, at);
  }
};

using Bits = std::vector<uint64_t>;

/// Positions: statement k of the laid-out order reads at 2k and writes at 2k + 1.
class Liveness {
 public:
  Liveness(const ptx::Function& function, const Flow& flow) : function_(function), flow_(flow) {
    intervals.resize(function.registers.size());
    find_global();
    if (n_global_ != 0) solve();
    walk();
  }
  std::vector<Interval> intervals;
  std::vector<uint32_t> read_first;

 private:
  static bool kills(const ptx::Instruction& instruction) { return instruction.guard < 0; }

  /// Registers that live across blocks; all others need no sets.
  void find_global() {
    std::vector<uint32_t> home(function_.registers.size(), kNone);
    std::vector<uint8_t> state(function_.registers.size(), 0);  // 1: written in its home block
    global_.assign(function_.registers.size(), kNone);
    const auto make_global = [&](uint32_t reg) {
      if (global_[reg] == kNone) global_[reg] = n_global_++;
    };
    for (uint32_t b = 0; b < flow_.blocks.size(); ++b)
      for (uint32_t i = flow_.blocks[b].first; i < flow_.blocks[b].end; ++i) {
        const ptx::Instruction& instruction = function_.body[i];
        collect_accesses(instruction, accesses_);
        for (const uint32_t reg : accesses_.reads)
          if (home[reg] != b || state[reg] == 0) make_global(reg);
        for (const uint32_t reg : accesses_.writes) {
          if (home[reg] != kNone && home[reg] != b) make_global(reg);
          if (home[reg] != b) state[reg] = 0;
          home[reg] = b;
          if (kills(instruction)) state[reg] = 1;
        }
      }
  }

  void solve() {
    const size_t words = (n_global_ + 63) / 64;
    const size_t n = flow_.blocks.size();
    uses_.assign(n, Bits(words));
    kills_.assign(n, Bits(words));
    in_.assign(n, Bits(words));
    for (uint32_t b = 0; b < n; ++b)
      for (uint32_t i = flow_.blocks[b].first; i < flow_.blocks[b].end; ++i) {
        const ptx::Instruction& instruction = function_.body[i];
        collect_accesses(instruction, accesses_);
        for (const uint32_t reg : accesses_.reads) {
          const uint32_t g = global_[reg];
          if (g != kNone && (kills_[b][g / 64] >> (g % 64) & 1) == 0)
            uses_[b][g / 64] |= 1ull << (g % 64);
        }
        if (!kills(instruction)) continue;
        for (const uint32_t reg : accesses_.writes)
          if (global_[reg] != kNone) kills_[b][global_[reg] / 64] |= 1ull << (global_[reg] % 64);
      }
    bool changed = true;
    while (changed) {
      changed = false;
      for (size_t b = n; b-- > 0;)
        for (size_t w = 0; w < words; ++w) {
          uint64_t out = 0;
          for (const uint32_t to : flow_.blocks[b].successors) out |= in_[to][w];
          const uint64_t in = uses_[b][w] | (out & ~kills_[b][w]);
          if (in != in_[b][w]) {
            in_[b][w] = in;
            changed = true;
          }
        }
    }
    std::vector<uint32_t> name(n_global_);
    for (uint32_t reg = 0; reg < global_.size(); ++reg)
      if (global_[reg] != kNone) name[global_[reg]] = reg;
    for (uint32_t g = 0; g < n_global_; ++g)
      if ((in_[0][g / 64] >> (g % 64) & 1) != 0) read_first.push_back(name[g]);
    uint32_t at = 0;
    for (uint32_t b = 0; b < n; ++b) {
      const uint32_t begin = 2 * at;
      at += flow_.blocks[b].end - flow_.blocks[b].first;
      for (size_t w = 0; w < words; ++w) {
        for (uint64_t bits = in_[b][w]; bits != 0; bits &= bits - 1)
          intervals[name[w * 64 + static_cast<size_t>(__builtin_ctzll(bits))]].cover(begin);
        uint64_t out = 0;
        for (const uint32_t to : flow_.blocks[b].successors) out |= in_[to][w];
        for (; out != 0; out &= out - 1)
          intervals[name[w * 64 + static_cast<size_t>(__builtin_ctzll(out))]].cover(2 * at - 1);
      }
    }
  }

  /// An instruction whose handler may write one result before it has read every source.
  static bool writes_early(const ptx::Instruction& instruction) {
    using O = ptx::Opcode;
    switch (instruction.op) {
      case O::ld:
      case O::ldu:
      case O::atom:
      case O::mma:
      case O::wmma:
      case O::ldmatrix:
      case O::movmatrix:
      case O::mbarrier:
      case O::cp:
        return true;
      default:
        return instruction.pair_destination ||
               (!instruction.operands.empty() &&
                instruction.operands[0].kind == Operand::Kind::vector);
    }
  }

  void walk() {
    uint32_t at = 0;
    for (const FlowBlock& block : flow_.blocks)
      for (uint32_t i = block.first; i < block.end; ++i, ++at) {
        const ptx::Instruction& instruction = function_.body[i];
        collect_accesses(instruction, accesses_);
        const bool early = writes_early(instruction);
        for (const uint32_t reg : accesses_.reads)
          intervals[reg].cover(early ? 2 * at + 1 : 2 * at);
        for (const uint32_t reg : accesses_.writes) intervals[reg].cover(2 * at + 1);
      }
  }

  const ptx::Function& function_;
  const Flow& flow_;
  Accesses accesses_;
  std::vector<uint32_t> global_;
  uint32_t n_global_ = 0;
  std::vector<Bits> uses_, kills_, in_;
};

}  // namespace

uint32_t slot_bytes_of(ptx::Type type) {
  const uint32_t bits = ptx::bits_of(type);
  if (bits == 1) return 4;
  if (bits <= 32) return 128;
  return bits <= 64 ? 256 : 512;
}

uint32_t destination_operands(const ptx::Instruction& instruction) {
  using O = ptx::Opcode;
  if (instruction.operands.empty()) return 0;
  switch (instruction.op) {
    case O::bar:
    case O::barrier:
      return instruction.mods.red ? 1 : 0;
    case O::st:
    case O::red:
    case O::bra:
    case O::brx:
    case O::call:
    case O::cp:
    case O::nanosleep:
    case O::stmatrix:
    case O::prefetch:
    case O::prefetchu:
    case O::discard:
    case O::applypriority:
    case O::pmevent:
    case O::setmaxnreg:
      return 0;
    default:
      break;
  }
  const Operand::Kind first = instruction.operands[0].kind;
  if (first == Operand::Kind::memory || first == Operand::Kind::immediate) return 0;
  return instruction.pair_destination ? 2 : 1;
}

void collect_accesses(const ptx::Instruction& instruction, Accesses& out) {
  out.reads.clear();
  out.writes.clear();
  const uint32_t destinations = destination_operands(instruction);
  for (uint32_t i = 0; i < instruction.operands.size(); ++i)
    registers_in(instruction.operands[i], i < destinations ? out.writes : out.reads);
  if (instruction.op == ptx::Opcode::call && !instruction.operands.empty()) {
    // Results in registers are written by the call.
    out.reads.clear();
    registers_in(instruction.operands[0], out.writes);
    for (uint32_t i = 1; i < instruction.operands.size(); ++i)
      registers_in(instruction.operands[i], out.reads);
  }
  if (instruction.op == ptx::Opcode::bra) out.reads.clear();
  if (instruction.guard >= 0) out.reads.push_back(static_cast<uint32_t>(instruction.guard));
}

SlotPlan plan_slots(const ptx::Function& function, const Flow& flow, const std::vector<bool>& skip,
                    uint32_t first_byte) {
  SlotPlan plan;
  plan.slot.assign(function.registers.size(), 0);
  uint32_t next = first_byte;
  const auto fresh = [&](uint32_t bytes) {
    const uint32_t at = bytes >= 64 ? (next + 63u) & ~63u : next;
    next = at + bytes;
    return at;
  };
  const uint64_t set_bits = uint64_t{function.registers.size()} * flow.blocks.size();
  const bool share = set_bits < kMaxSetBits;
  std::vector<Interval> intervals(function.registers.size());
  if (share) {
    Liveness liveness(function, flow);
    intervals = std::move(liveness.intervals);
    plan.read_first = std::move(liveness.read_first);
  } else {
    for (uint32_t reg = 0; reg < intervals.size(); ++reg) {
      intervals[reg] = {0, kNone};
      plan.read_first.push_back(reg);
    }
  }
  std::vector<uint32_t> order;
  for (uint32_t reg = 0; reg < intervals.size(); ++reg) {
    if (intervals[reg].begin == kNone) continue;
    if (!skip[reg]) order.push_back(reg);
  }
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return std::tie(intervals[a].begin, a) < std::tie(intervals[b].begin, b);
  });
  // One pool a width. Busy slots are kept as (end, slot); the lowest free slot is reused first, so
  // that the working set stays small.
  struct Pool {
    std::vector<std::pair<uint32_t, uint32_t>> busy;
    std::vector<uint32_t> free;
  };
  std::array<Pool, 4> pools;
  const auto later = std::greater<>();
  for (const uint32_t reg : order) {
    const uint32_t bytes = slot_bytes_of(function.registers[reg].type);
    Pool& pool = pools[bytes == 4 ? 0 : bytes == 128 ? 1 : bytes == 256 ? 2 : 3];
    while (!pool.busy.empty() && pool.busy.front().first < intervals[reg].begin) {
      std::pop_heap(pool.busy.begin(), pool.busy.end(), later);
      pool.free.push_back(pool.busy.back().second);
      std::push_heap(pool.free.begin(), pool.free.end(), later);
      pool.busy.pop_back();
    }
    uint32_t slot = 0;
    if (!pool.free.empty()) {
      std::pop_heap(pool.free.begin(), pool.free.end(), later);
      slot = pool.free.back();
      pool.free.pop_back();
    } else {
      slot = fresh(bytes);
    }
    plan.slot[reg] = slot;
    pool.busy.emplace_back(intervals[reg].end, slot);
    std::push_heap(pool.busy.begin(), pool.busy.end(), later);
  }
  plan.bytes = (next + 63u) & ~63u;
  return plan;
}

}  // namespace fiel::vgpu
