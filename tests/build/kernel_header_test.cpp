// The headers that candidates include stand alone, in C and in C++: no nvcc is between.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "base/files.h"
#include "base/process.h"
#include "build/toolchain.h"
#include "places.h"

namespace fiel::build {
namespace {
namespace fs = std::filesystem;

/// Twice, as a header and its user include it; fiel_run so that the declarations are used.
std::string unit_of(const fs::path& header) {
  const std::string line = "#include <fiel/" + header.filename().string() + ">\n";
  std::string text = line + line;
  if (header.filename() == "kernel.h")
    text +=
        "FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,\n"
        "                         int n_outputs, cudaStream_t stream);\n"
        "FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,\n"
        "                         int n_outputs, cudaStream_t stream) {\n"
        "  const float* x = fiel_data(const float, inputs[0]);\n"
        "  if (outputs[0].dtype != FIEL_F32 || n_inputs != n_outputs) return FIEL_UNSUPPORTED;\n"
        "  return x == 0 || stream == 0 || fiel_numel(&inputs[0]) == 0;\n}\n";
  return text;
}

TEST(PublicHeaders, CompileAloneAsCAndAsCpp) {
  auto toolkit = find_toolchain();
  if (!toolkit) {
    const char* required = std::getenv("FIEL_REQUIRE_NVCC");
    ASSERT_FALSE(required && std::string(required) == "1") << to_string(toolkit.error());
    GTEST_SKIP() << to_string(toolkit.error());
  }
  const fs::path include = in_source("include");
  TempDir folder = *TempDir::create("fiel-test-headers");
  int compiled = 0;
  for (const auto& entry : fs::directory_iterator(include / "fiel"))
    for (const char* standard : {"c99", "c17", "c++11", "c++20"}) {
      const bool cpp = standard[1] == '+';
      const fs::path unit = folder.path() / (cpp ? "unit.cpp" : "unit.c");
      std::ofstream(unit) << unit_of(entry.path());
      // The toolkit's own headers are the system's: only ours must be free of warnings.
      auto r =
          run_process({.arguments = {cpp ? "g++" : "gcc", std::string("-std=") + standard, "-Wall",
                                     "-Wextra", "-Wpedantic", "-Wconversion", "-Werror",
                                     "-fsyntax-only", "-I", include.string(), "-isystem",
                                     (toolkit->root / "include").string(), unit.string()}});
      ASSERT_TRUE(r) << to_string(r.error());
      EXPECT_TRUE(r->ok()) << standard << "\n" << r->err;
      ++compiled;
    }
  EXPECT_GE(compiled, 4);
}

}  // namespace
}  // namespace fiel::build
