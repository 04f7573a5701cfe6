// Every folder of tests/vgpu/cases is a test.
#include <gtest/gtest.h>

#include <algorithm>

#include "case_file.h"

namespace fiel::vgpu::test {
namespace {

std::vector<std::string> case_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(FIEL_SOURCE_DIR "/tests/vgpu/cases"))
    if (std::filesystem::exists(entry.path() / "case.toml"))
      names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

class Cases : public testing::TestWithParam<std::string> {};

TEST_P(Cases, BehavesAsItsFileSays) {
  auto test = read_case(std::filesystem::path(FIEL_SOURCE_DIR) / "tests/vgpu/cases" / GetParam());
  ASSERT_TRUE(test) << to_string(test.error());
  for (const std::string& problem : run_case(*test)) ADD_FAILURE() << problem;
}

INSTANTIATE_TEST_SUITE_P(Folder, Cases, testing::ValuesIn(case_names()), [](const auto& folder) {
  std::string name = folder.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace fiel::vgpu::test
