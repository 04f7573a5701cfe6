// Every instruction that the parser accepts in the families of vgpu/isa, written out: made from the
// parser's own table of forms, so that a new form is a new test.
#pragma once

#include <string>
#include <vector>

#include "ptx/module.h"

namespace fiel::vgpu::alu {

struct Sample {
  std::string text;  ///< "add.sat.s32 %r0, %r1, %r2;" — registers are named by Class and number
  std::string sources;  ///< a Class for each source operand; 'i' for an immediate
};

/// All combinations of modifiers of one opcode, with the operands that they take.
std::vector<Sample> samples_of(ptx::Opcode op);

/// The one instruction of `text`, parsed in a kernel that declares registers of each class.
struct Parsed {
  ptx::Module module;
  const ptx::Instruction* instruction = nullptr;
  uint32_t register_bits(const ptx::Operand& operand) const;
};
Result<Parsed> parse_one(const std::string& text);
/// The module around it, for assemblers too: `%s` stands where the instruction goes.
std::string module_around(const std::string& text);

}  // namespace fiel::vgpu::alu
