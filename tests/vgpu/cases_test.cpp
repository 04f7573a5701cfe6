// Every folder of tests/vgpu/cases is a test.
#include <gtest/gtest.h>

#include <algorithm>

#include "case_file.h"
#include "isa_builds.h"
#include "places.h"

namespace fiel::vgpu::test {
namespace {

const std::filesystem::path kCases = in_source("tests/vgpu/cases");

/// A folder, with each build of the handlers.
class Cases : public testing::TestWithParam<std::tuple<std::string, IsaChoice>> {
 protected:
  void SetUp() override { FIEL_SKIP_UNLESS_RUNS(std::get<1>(GetParam())); }
};

TEST_P(Cases, BehavesAsItsFileSays) {
  const auto& [folder, isa] = GetParam();
  auto test = read_case(kCases / folder);
  ASSERT_TRUE(test) << to_string(test.error());
  test->options.isa = isa;
  for (const std::string& problem : run_case(*test)) ADD_FAILURE() << problem;
}

INSTANTIATE_TEST_SUITE_P(Folder, Cases,
                         testing::Combine(testing::ValuesIn(case_names(kCases)),
                                          testing::ValuesIn(kBuilds)),
                         [](const auto& param) {
                           std::string name = std::get<0>(param.param);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name + "_" + name_of(std::get<1>(param.param));
                         });

}  // namespace
}  // namespace fiel::vgpu::test
