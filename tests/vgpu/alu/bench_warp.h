// A warp's registers and one instruction, without an executor: runs a handler as the executor
// would.
//
//   Bench bench; auto parsed = parse_one("add.s32 %r0, %r1, %r2;");
//   Selection s = bench.prepare(*parsed);          // chooses the handler, lays out registers
//   bench.source(0)[lane] = 7; bench.run(mask); bench.destination(lane);
#pragma once

#include <cstdint>
#include <vector>

#include "samples.h"
#include "vgpu/findings.h"
#include "vgpu/isa/select.h"
#include "vgpu/warp.h"

namespace fiel::vgpu::alu {

struct Reported {
  FindingKind kind{};
  uint32_t lanes = 0;
};
/// What handlers reported since the last clear().
std::vector<Reported>& reports();

Selection select_any(const ptx::Instruction& instruction, const OperandWidths& widths);

class Bench {
 public:
  Bench();
  Selection prepare(const Parsed& parsed);
  /// Makes the destination the same register as source `index` (of the same width).
  bool alias_destination(size_t index);
  void run(uint32_t mask) { selection_.handler(warp_, op_, mask); }

  size_t sources() const { return source_slots_.size(); }
  uint32_t source_bits(size_t index) const { return source_bits_[index]; }
  void set_source(size_t index, int lane, uint64_t value);
  uint64_t source(size_t index, int lane) const;
  void set_destination(int lane, uint64_t value);
  uint64_t destination(int lane) const { return read(op_.dst, destination_bits_, lane); }
  uint64_t destination2(int lane) const { return read(op_.dst2, destination2_bits_, lane); }
  void set_destination2(int lane, uint64_t value) {
    write(op_.dst2, destination2_bits_, lane, value);
  }
  uint32_t destination_bits() const { return destination_bits_; }
  bool has_destination2() const { return op_.dst2 != 0; }
  uint32_t& carry() { return warp_.carry; }
  Op& op() { return op_; }
  Warp& warp() { return warp_; }

 private:
  uint64_t read(uint32_t slot, uint32_t bits, int lane) const;
  void write(uint32_t slot, uint32_t bits, int lane, uint64_t value);

  std::vector<uint8_t> storage_;
  Warp warp_;
  Op op_;
  Selection selection_;
  std::vector<uint32_t> source_slots_, source_bits_;
  uint32_t destination_bits_ = 32, destination2_bits_ = 1;
};

}  // namespace fiel::vgpu::alu
