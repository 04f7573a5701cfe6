// Writes the instructions that alu_vectors.cu (tests/vgpu/h200) runs on a GPU, one a line:
// the instruction, a tab, the classes of its sources (operands.h; `c` = a carry comes in).
#include <cstdio>
#include <string>

#include "operands.h"
#include "samples.h"

namespace fiel::vgpu::alu {
namespace {

using ptx::Opcode;

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

// Comparisons have thousands of forms that differ in one table look-up: all operators on all types,
// but boolean combinations, second destinations and flushing on a few only.
// Video instructions are emulated by all current GPUs: one form in six.
bool wanted(Opcode op, const std::string& text) {
  if (op >= Opcode::vadd && op <= Opcode::vset4) return hash_text(text) % 6 == 0;
  if (op != Opcode::setp && op != Opcode::set) return true;
  const bool combined =
      contains(text, ".and.") || contains(text, ".or.") || contains(text, ".xor.");
  if (op == Opcode::setp && contains(text, "|") && !contains(text, ".lt.") &&
      !contains(text, ".neu."))
    return false;
  if (combined)
    return contains(text, ".ltu.") && (contains(text, "f32") || contains(text, "f16x2"));
  if (op == Opcode::set)
    return contains(text, ".le.") || contains(text, ".neu.") || contains(text, ".nan.");
  return true;
}

}  // namespace
}  // namespace fiel::vgpu::alu

int main() {
  using namespace fiel;
  using ptx::Opcode;
  // Register-only arithmetic; tests/vgpu/alu/random_test.cpp has the same list, and video.
  constexpr Opcode kOpcodes[] = {
      Opcode::add,       Opcode::sub,      Opcode::mul,       Opcode::mad,   Opcode::mul24,
      Opcode::mad24,     Opcode::div,      Opcode::rem,       Opcode::min,   Opcode::max,
      Opcode::abs,       Opcode::neg,      Opcode::and_,      Opcode::or_,   Opcode::xor_,
      Opcode::not_,      Opcode::cnot,     Opcode::shl,       Opcode::shr,   Opcode::szext,
      Opcode::addc,      Opcode::subc,     Opcode::madc,      Opcode::bfe,   Opcode::bfi,
      Opcode::bfind,     Opcode::bmsk,     Opcode::popc,      Opcode::clz,   Opcode::brev,
      Opcode::fns,       Opcode::prmt,     Opcode::lop3,      Opcode::shf,   Opcode::sad,
      Opcode::dp4a,      Opcode::dp2a,     Opcode::fma,       Opcode::rcp,   Opcode::sqrt,
      Opcode::rsqrt,     Opcode::copysign, Opcode::testp,     Opcode::ex2,   Opcode::lg2,
      Opcode::sin,       Opcode::cos,      Opcode::tanh,      Opcode::setp,  Opcode::set,
      Opcode::selp,      Opcode::slct,     Opcode::cvt,       Opcode::shfl,  Opcode::vadd,
      Opcode::vsub,      Opcode::vabsdiff, Opcode::vmin,      Opcode::vmax,  Opcode::vshl,
      Opcode::vshr,      Opcode::vset,     Opcode::vadd2,     Opcode::vsub2, Opcode::vavrg2,
      Opcode::vabsdiff2, Opcode::vmin2,    Opcode::vmax2,     Opcode::vset2, Opcode::vadd4,
      Opcode::vsub4,     Opcode::vavrg4,   Opcode::vabsdiff4, Opcode::vmin4, Opcode::vmax4,
      Opcode::vset4};
  for (const Opcode op : kOpcodes) {
    for (const vgpu::alu::Sample& s : vgpu::alu::samples_of(op)) {
      if (s.sources.empty() || s.text.find('[') != std::string::npos) continue;
      if (!vgpu::alu::wanted(op, s.text) || !vgpu::alu::parse_one(s.text)) continue;
      const bool carry = op == Opcode::addc || op == Opcode::subc || op == Opcode::madc;
      std::printf("%s\t%s%s\n", s.text.c_str(), s.sources.c_str(), carry ? "c" : "");
    }
  }
}
