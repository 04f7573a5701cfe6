// Contraction: what ptxas may do to multiply and add that carry no rounding modifier.
//
// A product whose only reader is an addition in the same block becomes one fma there. Statements
// keep their numbers: the product turns into something without an effect.
#include "vgpu/lower.h"

namespace fiel::vgpu {
namespace {

using ptx::Opcode;
using ptx::Operand;
constexpr uint32_t kNone = 0xffffffffu;

bool may_fuse(const ptx::Instruction& instruction, Opcode op) {
  const ptx::Modifiers& mods = instruction.mods;
  return instruction.op == op && instruction.guard < 0 && mods.n_types == 1 &&
         (mods.types[0] == ptx::Type::f32 || mods.types[0] == ptx::Type::f64) &&
         mods.rounding == ptx::Rounding::none && instruction.operands.size() == 3 &&
         instruction.operands[0].kind == Operand::Kind::reg;
}

bool reads(const Operand& operand, uint32_t reg) {
  return operand.kind == Operand::Kind::reg && operand.reg == reg;
}

class Contraction {
 public:
  explicit Contraction(ptx::Function& function) : function_(function) {
    const size_t n = function.registers.size();
    writes_.assign(n, 0);
    reads_.assign(n, 0);
    product_.assign(n, kNone);
    written_at_.assign(n, 0);
    for (const ptx::Instruction& instruction : function.body) {
      collect_accesses(instruction, accesses_);
      for (const uint32_t reg : accesses_.writes) ++writes_[reg];
      for (const uint32_t reg : accesses_.reads) ++reads_[reg];
    }
  }

  void run() {
    const Flow flow = build_flow(function_);
    for (const FlowBlock& block : flow.blocks) {
      std::vector<uint32_t> products;
      for (uint32_t i = block.first; i < block.end; ++i) {
        ptx::Instruction& instruction = function_.body[i];
        if (may_fuse(instruction, Opcode::add)) fuse(i);
        collect_accesses(instruction, accesses_);
        for (const uint32_t reg : accesses_.writes) written_at_[reg] = i + 1;
        if (!may_fuse(instruction, Opcode::mul) || instruction.mods.sat) continue;
        const uint32_t reg = instruction.operands[0].reg;
        if (writes_[reg] != 1 || reads_[reg] != 1) continue;
        product_[reg] = i;
        products.push_back(reg);
      }
      for (const uint32_t reg : products) product_[reg] = kNone;
    }
  }

 private:
  /// The sources of the product still hold what it multiplied.
  bool unchanged(const ptx::Instruction& product, uint32_t at) const {
    for (size_t i = 1; i < 3; ++i) {
      const Operand& source = product.operands[i];
      if (source.kind == Operand::Kind::reg && written_at_[source.reg] > at + 1) return false;
    }
    return true;
  }

  void fuse(uint32_t at) {
    ptx::Instruction& sum = function_.body[at];
    for (size_t side = 1; side < 3; ++side) {
      const Operand& operand = sum.operands[side];
      if (operand.kind != Operand::Kind::reg || product_[operand.reg] == kNone) continue;
      const uint32_t where = product_[operand.reg];
      ptx::Instruction& product = function_.body[where];
      if (product.mods.types[0] != sum.mods.types[0] || product.mods.ftz != sum.mods.ftz ||
          reads(sum.operands[3 - side], operand.reg) || !unchanged(product, where))
        continue;
      const Operand addend = sum.operands[3 - side];
      product_[operand.reg] = kNone;
      sum.op = Opcode::fma;
      sum.mods.rounding = ptx::Rounding::rn;
      sum.operands = {sum.operands[0], product.operands[1], product.operands[2], addend};
      product.op = Opcode::pmevent;  // lowered to nothing
      product.operands.clear();
      return;
    }
  }

  ptx::Function& function_;
  Accesses accesses_;
  std::vector<uint32_t> writes_, reads_;
  std::vector<uint32_t> product_;     ///< by register: the statement of a product in this block
  std::vector<uint32_t> written_at_;  ///< by register: last write so far, statement + 1
};

}  // namespace

void contract(ptx::Module& module) {
  for (ptx::Function& function : module.functions)
    if (!function.body.empty()) Contraction(function).run();
}

}  // namespace fiel::vgpu
