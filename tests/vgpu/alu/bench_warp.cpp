#include "bench_warp.h"

#include <cstring>

namespace fiel::vgpu {

void report_lanes(Warp&, const Op&, uint8_t kind, uint32_t lanes) {
  alu::reports().push_back({static_cast<FindingKind>(kind), lanes});
}

namespace alu {

constexpr uint32_t kSlot = 512;  // room for a .b128 register

std::vector<Reported>& reports() {
  static std::vector<Reported> all;
  return all;
}

Selection select_any(const ptx::Instruction& in, const OperandWidths& widths) {
  using Selector = Selection (*)(const ptx::Instruction&, const OperandWidths&);
  constexpr Selector kSelectors[] = {FIEL_ISA::select_integer, FIEL_ISA::select_extended,
                                     FIEL_ISA::select_float,   FIEL_ISA::select_special,
                                     FIEL_ISA::select_compare, FIEL_ISA::select_half,
                                     FIEL_ISA::select_convert, FIEL_ISA::select_warp};
  for (const Selector select : kSelectors) {
    const Selection s = select(in, widths);
    if (s.handler || s.unsupported) return s;
  }
  return {};
}

Bench::Bench() : storage_(kSlot * 12 + 64) {
  auto at = reinterpret_cast<uintptr_t>(storage_.data());
  warp_.regs = storage_.data() + (64 - at % 64) % 64;
}

Selection Bench::prepare(const Parsed& parsed) {
  const ptx::Instruction& in = *parsed.instruction;
  source_slots_.clear();
  source_bits_.clear();
  op_ = Op{};
  OperandWidths widths;
  uint32_t next = kSlot;  // slot 0 means "none"
  uint32_t* places[] = {&op_.a, &op_.b, &op_.c, &op_.d, &op_.extra};
  const size_t destinations = in.pair_destination ? 2 : 1;
  for (size_t i = 0; i < in.operands.size(); ++i, next += kSlot) {
    const ptx::Operand& operand = in.operands[i];
    const uint32_t bits = parsed.register_bits(operand);
    if (i < 8) widths.bits[i] = static_cast<uint8_t>(bits);
    if (i == 0) {
      op_.dst = next;
      destination_bits_ = bits;
    } else if (i < destinations) {
      op_.dst2 = next;
      destination2_bits_ = bits;
    } else if (i - destinations < 5) {
      *places[i - destinations] = next;
      source_slots_.push_back(next);
      source_bits_.push_back(bits);
      if (operand.kind == ptx::Operand::Kind::immediate)
        for (int lane = 0; lane < kLanes; ++lane) write(next, 32, lane, operand.bits);
    }
  }
  selection_ = select_any(in, widths);
  op_.handler = selection_.handler;
  op_.imm = selection_.imm;
  op_.flags = selection_.flags;
  return selection_;
}

bool Bench::alias_destination(size_t index) {
  if (index >= source_bits_.size() || source_bits_[index] != destination_bits_) return false;
  op_.dst = source_slots_[index];
  return true;
}

uint64_t Bench::read(uint32_t slot, uint32_t bits, int lane) const {
  const uint8_t* at = warp_.regs + slot;
  if (bits == 1) {
    uint32_t mask;
    std::memcpy(&mask, at, 4);
    return mask >> lane & 1u;
  }
  uint64_t value = 0;
  std::memcpy(&value, at + (bits > 32 ? 8 : 4) * lane, bits > 32 ? 8 : 4);
  return value;
}
void Bench::write(uint32_t slot, uint32_t bits, int lane, uint64_t value) {
  uint8_t* at = warp_.regs + slot;
  if (bits == 1) {
    uint32_t mask;
    std::memcpy(&mask, at, 4);
    mask = (mask & ~(1u << lane)) | static_cast<uint32_t>(value & 1u) << lane;
    std::memcpy(at, &mask, 4);
    return;
  }
  std::memcpy(at + (bits > 32 ? 8 : 4) * lane, &value, bits > 32 ? 8 : 4);
}
void Bench::set_source(size_t index, int lane, uint64_t value) {
  write(source_slots_[index], source_bits_[index], lane, value);
}
uint64_t Bench::source(size_t index, int lane) const {
  return read(source_slots_[index], source_bits_[index], lane);
}
void Bench::set_destination(int lane, uint64_t value) {
  write(op_.dst, destination_bits_, lane, value);
}

}  // namespace alu
}  // namespace fiel::vgpu
