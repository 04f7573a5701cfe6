// Any bytes as PTX: parsed or refused, and what was parsed holds together.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "ptx/module.h"

namespace {

using namespace fiel::ptx;

void require(bool condition) {
  if (!condition) std::abort();
}

void check(const Module& m, const Function& f, const Operand& o) {
  if (o.kind == Operand::Kind::reg) require(o.reg < f.registers.size());
  if (o.kind == Operand::Kind::label) require(o.reg < f.labels.size());
  if (o.kind == Operand::Kind::symbol) require(o.symbol < m.symbols.size());
  if (o.kind == Operand::Kind::memory) require(o.elements.size() == 1);
  for (const Operand& element : o.elements) check(m, f, element);
}

void check(const Module& m) {
  for (const Symbol& s : m.symbols) {
    require(s.kind == Symbol::Kind::global_variable ? s.index < m.variables.size()
                                                    : s.function < m.functions.size());
  }
  for (size_t i = 0; i < m.source_lines.size(); ++i)
    require(m.source_lines[i].inlined_at < static_cast<int64_t>(i));
  for (const Variable& v : m.variables) require(v.initial.size() <= v.bytes);
  for (const Function& f : m.functions) {
    for (const Label& l : f.labels) require(l.statement <= f.body.size());
    for (const Instruction& i : f.body) {
      require(i.op != Opcode::none && i.source < static_cast<int64_t>(m.source_lines.size()));
      require(i.guard < static_cast<int64_t>(f.registers.size()));
      for (const Operand& o : i.operands) check(m, f, o);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto module = parse({reinterpret_cast<const char*>(data), size});
  if (module) check(*module);
  return 0;
}
