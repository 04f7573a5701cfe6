#include "ptx/forms.h"

#include <gtest/gtest.h>

#include <set>

using fiel::ptx::all_forms;
using fiel::ptx::Form;
using fiel::ptx::Opcode;

TEST(Forms, EveryOpcodeHasOneAtLeast) {
  std::set<Opcode> seen;
  for (const Form& form : all_forms()) seen.insert(form.op);
#define FIEL_X(id, text) EXPECT_TRUE(seen.contains(Opcode::id)) << text;
  FIEL_PTX_OPCODES(FIEL_X)
#undef FIEL_X
}
