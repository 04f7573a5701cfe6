// The two builds of the handlers must not share a symbol with each other or with anything else: a
// function compiled for AVX-512 that the linker prefers would kill an AVX2 machine.
#include <gtest/gtest.h>

#include <sstream>

#include "base/process.h"
#include "places.h"

namespace fiel::vgpu::test {
namespace {

std::vector<std::string> defined_symbols(const std::string& object) {
  ProcessRequest request;
  request.arguments = {"nm", "--defined-only", "--extern-only", object};
  auto result = run_process(request);
  std::vector<std::string> names;
  if (!result || !result->ok()) {
    ADD_FAILURE() << "nm " << object;
    return names;
  }
  std::istringstream lines(result->out);
  std::string address, kind, name;
  while (lines >> address >> kind >> name) names.push_back(name);
  return names;
}

TEST(IsaObjects, DefineNothingOutsideTheirNamespace) {
  if (!find_program("nm")) GTEST_SKIP() << "nm is not installed";
  const std::pair<const char*, const char*> sets[] = {{"avx2", "_ZN4fiel4vgpu4avx2"},
                                                      {"avx512", "_ZN4fiel4vgpu6avx512"}};
  for (const auto& [name, prefix] : sets) {
    const auto symbols = defined_symbols(in_build("vgpu_isa/") + name + ".o");
    EXPECT_GT(symbols.size(), 10u) << name;
    for (const std::string& symbol : symbols)
      EXPECT_EQ(symbol.rfind(prefix, 0), 0u) << name << " defines " << symbol;
  }
}

}  // namespace
}  // namespace fiel::vgpu::test
