// Which functions may run under which kernel, and where their shared variables lie.
#include <algorithm>

#include "vgpu/lower.h"

namespace fiel::vgpu {
namespace {

using ptx::Operand;
using ptx::Symbol;

void symbols_in(const Operand& operand, std::vector<uint32_t>& out) {
  if (operand.kind == Operand::Kind::symbol) out.push_back(operand.symbol);
  for (const Operand& element : operand.elements) symbols_in(element, out);
}

std::vector<uint32_t> symbols_of(const ptx::Function& function) {
  std::vector<uint32_t> out;
  for (const ptx::Instruction& instruction : function.body)
    for (const Operand& operand : instruction.operands) symbols_in(operand, out);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

bool calls_indirectly(const ptx::Function& function) {
  return std::any_of(function.body.begin(), function.body.end(), [](const ptx::Instruction& i) {
    return i.op == ptx::Opcode::call && i.operands.size() == 3 &&
           i.operands[1].kind != Operand::Kind::symbol;
  });
}

/// Functions whose address some variable's initialiser holds.
std::vector<uint32_t> functions_in_tables(const ptx::Module& module) {
  std::vector<uint32_t> out;
  for (const ptx::Variable& variable : module.variables)
    for (const ptx::Relocation& relocation : variable.relocations)
      if (module.symbols[relocation.symbol].kind == Symbol::Kind::function)
        out.push_back(module.symbols[relocation.symbol].function);
  return out;
}

uint32_t round_up(uint64_t value, uint64_t to) {
  return static_cast<uint32_t>((value + to - 1) / to * to);
}

}  // namespace

std::vector<std::vector<uint32_t>> reachable_functions(const ptx::Module& module) {
  const size_t n = module.functions.size();
  const std::vector<uint32_t> tables = functions_in_tables(module);
  std::vector<std::vector<uint32_t>> direct(n);
  for (size_t f = 0; f < n; ++f) {
    for (const uint32_t symbol : symbols_of(module.functions[f]))
      if (module.symbols[symbol].kind == Symbol::Kind::function)
        direct[f].push_back(module.symbols[symbol].function);
    if (calls_indirectly(module.functions[f]))
      direct[f].insert(direct[f].end(), tables.begin(), tables.end());
  }
  std::vector<std::vector<uint32_t>> out(n);
  for (size_t f = 0; f < n; ++f) {
    std::vector<bool> seen(n, false);
    std::vector<uint32_t> work{static_cast<uint32_t>(f)};
    seen[f] = true;
    while (!work.empty()) {
      const uint32_t at = work.back();
      work.pop_back();
      out[f].push_back(at);
      for (const uint32_t to : direct[at])
        if (!seen[to]) {
          seen[to] = true;
          work.push_back(to);
        }
    }
    std::sort(out[f].begin(), out[f].end());
  }
  return out;
}

/// Variables are placed one after the other, each behind everything that any kernel using it has
/// placed so far: the same offset in all of them, and no kernel pays for a variable it never names.
SharedLayout layout_shared(const ptx::Module& module,
                           const std::vector<std::vector<uint32_t>>& reachable) {
  SharedLayout layout;
  const size_t n = module.functions.size();
  layout.module_offsets.assign(module.variables.size(), 0);
  layout.function_offsets.resize(n);
  layout.entry_bytes.assign(n, 0);
  std::vector<std::vector<uint32_t>> users(module.variables.size());
  for (size_t f = 0; f < n; ++f)
    for (const uint32_t symbol : symbols_of(module.functions[f]))
      if (module.symbols[symbol].kind == Symbol::Kind::global_variable)
        users[module.symbols[symbol].index].push_back(static_cast<uint32_t>(f));
  const auto entries_of = [&](const std::vector<uint32_t>& functions) {
    std::vector<uint32_t> entries;
    for (size_t e = 0; e < n; ++e)
      if (module.functions[e].is_entry &&
          std::any_of(functions.begin(), functions.end(), [&](uint32_t f) {
            return std::binary_search(reachable[e].begin(), reachable[e].end(), f);
          }))
        entries.push_back(static_cast<uint32_t>(e));
    return entries;
  };
  const auto place = [&](const ptx::Variable& variable, const std::vector<uint32_t>& entries) {
    uint32_t at = 0;
    for (const uint32_t entry : entries) at = std::max(at, layout.entry_bytes[entry]);
    at = round_up(at, std::max<uint64_t>(variable.align, 1));
    for (const uint32_t entry : entries)
      layout.entry_bytes[entry] = round_up(uint64_t{at} + variable.bytes, 1);
    return at;
  };
  for (size_t v = 0; v < module.variables.size(); ++v) {
    const ptx::Variable& variable = module.variables[v];
    if (variable.space != ptx::Space::shared || variable.bytes == 0) continue;
    layout.module_offsets[v] = place(variable, entries_of(users[v]));
  }
  for (size_t f = 0; f < n; ++f) {
    const ptx::Function& function = module.functions[f];
    layout.function_offsets[f].assign(function.locals.size(), 0);
    for (size_t i = 0; i < function.locals.size(); ++i) {
      const ptx::Variable& variable = function.locals[i];
      if (variable.space != ptx::Space::shared || variable.bytes == 0) continue;
      layout.function_offsets[f][i] = place(variable, entries_of({static_cast<uint32_t>(f)}));
    }
  }
  return layout;
}

}  // namespace fiel::vgpu
