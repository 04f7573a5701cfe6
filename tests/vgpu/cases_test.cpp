// Every folder of tests/vgpu/cases is a test.
#include <gtest/gtest.h>

#include <algorithm>

#include "case_file.h"
#include "isa_builds.h"

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

/// A folder, with each build of the handlers.
class Cases : public testing::TestWithParam<std::tuple<std::string, IsaChoice>> {
 protected:
  void SetUp() override { FIEL_SKIP_UNLESS_RUNS(std::get<1>(GetParam())); }
};

TEST_P(Cases, BehavesAsItsFileSays) {
  const auto& [folder, isa] = GetParam();
  auto test = read_case(std::filesystem::path(FIEL_SOURCE_DIR) / "tests/vgpu/cases" / folder);
  ASSERT_TRUE(test) << to_string(test.error());
  test->options.isa = isa;
  for (const std::string& problem : run_case(*test)) ADD_FAILURE() << problem;
}

INSTANTIATE_TEST_SUITE_P(Folder, Cases,
                         testing::Combine(testing::ValuesIn(case_names()),
                                          testing::ValuesIn(kBuilds)),
                         [](const auto& param) {
                           std::string name = std::get<0>(param.param);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name + "_" + name_of(std::get<1>(param.param));
                         });

}  // namespace
}  // namespace fiel::vgpu::test
