// Every committed .ptx is read, and holds as many functions, instructions and opcodes as
// fixtures/golden.txt says. FIEL_UPDATE_GOLDEN=1 writes that file anew.
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <sstream>

#include "base/files.h"
#include "ptx/module.h"
#include "ptx_text.h"

namespace fiel::ptx::test {
namespace {

std::string summary(const std::string& name, const Module& m) {
  size_t entries = 0;
  size_t instructions = 0;
  size_t registers = 0;
  size_t labels = 0;
  size_t with_source = 0;
  std::set<Opcode> opcodes;
  for (const Function& f : m.functions) {
    entries += f.is_entry;
    instructions += f.body.size();
    registers += f.registers.size();
    labels += f.labels.size();
    for (const Instruction& i : f.body) {
      opcodes.insert(i.op);
      with_source += i.source >= 0;
    }
  }
  std::ostringstream out;
  out << name << " functions=" << m.functions.size() << " entries=" << entries
      << " instructions=" << instructions << " with_source=" << with_source
      << " opcodes=" << opcodes.size() << " registers=" << registers << " labels=" << labels
      << " variables=" << m.variables.size() << " source_lines=" << m.source_lines.size() << "\n";
  return out.str();
}

TEST(Fixtures, HoldWhatTheGoldenFileSays) {
  const std::filesystem::path golden = fixture_folder() / "golden.txt";
  std::string now;
  for (const auto& path : fixtures()) {
    const auto text = read_file(path);
    ASSERT_TRUE(text);
    const auto m = parse(*text);
    ASSERT_TRUE(m) << path << "\n" << to_string(m.error());
    now += summary(path.filename().string(), *m);
  }
  if (std::getenv("FIEL_UPDATE_GOLDEN") != nullptr) {
    ASSERT_TRUE(write_file_atomic(golden, now));
  }
  const auto before = read_file(golden);
  ASSERT_TRUE(before);
  EXPECT_EQ(*before, now);
}

TEST(Fixtures, NameNoPathOfTheMachineThatMadeThem) {
  for (const auto& path : fixtures()) {
    const auto text = read_file(path);
    ASSERT_TRUE(text);
    EXPECT_EQ(text->find("\"/"), std::string::npos) << path;
  }
}

TEST(Fixtures, GiveEveryInstructionOfAKernelASourceLine) {
  const auto text = read_file(fixture_folder() / "softmax.sm_90.ptx");
  ASSERT_TRUE(text);
  const auto m = parse(*text);
  ASSERT_TRUE(m);
  bool inlined = false;
  for (const Function& f : m->functions)
    for (const Instruction& i : f.body) {
      ASSERT_GE(i.source, 0) << i.text;
      const SourceLine& line = m->source_lines[static_cast<size_t>(i.source)];
      inlined =
          inlined || (line.inlined_at >= 0 && line.function.find("warp_max") != std::string::npos);
    }
  EXPECT_TRUE(inlined);
}

}  // namespace
}  // namespace fiel::ptx::test
