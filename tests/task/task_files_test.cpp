// Every file under tasks/: it loads, and its reference is finite, varies and depends on the inputs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "base/files.h"
#include "places.h"
#include "task/task.h"
#include "tensor/random.h"

namespace fiel::task {
namespace {

std::vector<std::string> task_files() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(in_source("tasks")))
    if (entry.path().extension() == ".toml") names.push_back(entry.path().stem());
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<Tensor> draw_inputs(const Instance& at, uint64_t seed) {
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < at.inputs.size(); ++i) {
    Result<Distribution> d = parse_distribution(at.input_specs[i].distribution);
    EXPECT_TRUE(d) << at.input_specs[i].name;
    Result<Tensor> t = generate(*d, at.inputs[i].dtype, at.inputs[i].shape, {seed, i});
    EXPECT_TRUE(t) << (t ? "" : to_string(t.error()));
    inputs.push_back(*t);
  }
  return inputs;
}

/// Sizes one below a multiple of 256, of which every task has one at least in its irregular set.
const std::set<int64_t> kIrregularSizes = {255, 511, 767};

std::set<int64_t> irregular_sizes_in(const ShapeSet& set) {
  std::set<int64_t> found;
  for (const auto& [symbol, size] : set.symbols)
    if (kIrregularSizes.count(size) != 0) found.insert(size);
  return found;
}

class TaskFile : public testing::TestWithParam<std::string> {};

TEST_P(TaskFile, LoadsAndItsReferenceIsFiniteAndVaries) {
  Result<Task> task = load_task(in_source("tasks/") + GetParam() + ".toml");
  ASSERT_TRUE(task) << to_string(task.error());
  EXPECT_EQ(task->name, GetParam());
  EXPECT_FALSE(task->description.empty());
  bool benchmark = false, irregular = false;
  for (const ShapeSet& set : task->shape_sets) {
    Result<Instance> at = task->instantiate(set);
    ASSERT_TRUE(at) << to_string(at.error());
    benchmark |= set.benchmark;
    if (set.benchmark) continue;
    if (set.name == "irregular") {
      irregular = true;
      EXPECT_FALSE(irregular_sizes_in(set).empty()) << "needs 255, 511 or 767";
    }
    std::vector<Tensor> inputs = draw_inputs(*at, 1);
    Result<std::vector<Tensor>> y = at->reference(inputs);
    ASSERT_TRUE(y) << to_string(y.error());
    std::vector<Tensor> other = *at->reference(draw_inputs(*at, 2));
    ASSERT_EQ(y->size(), at->outputs.size());
    for (size_t o = 0; o < y->size(); ++o) {
      EXPECT_EQ((*y)[o].shape(), at->outputs[o].shape);
      std::vector<double> v = (*y)[o].to_f64(), w = other[o].to_f64();
      EXPECT_TRUE(std::all_of(v.begin(), v.end(), [](double x) { return std::isfinite(x); }));
      EXPECT_NE(v, w) << "does not depend on the inputs";
      auto [low, high] = std::minmax_element(v.begin(), v.end());
      EXPECT_TRUE(v.size() == 1 || *low < *high) << "constant output at " << set.name;
    }
  }
  EXPECT_TRUE(benchmark && irregular) << "needs a benchmark and an irregular shape set";
  EXPECT_GE(task->shape_sets.size(), 3u);
}

INSTANTIATE_TEST_SUITE_P(All, TaskFile, testing::ValuesIn(task_files()),
                         [](const auto& test) { return test.param; });

TEST(TaskFiles, HoldTheFourOfTheArticle) {
  std::vector<std::string> names = task_files();
  for (const char* name : {"softmax", "layernorm", "gelu_bias_residual", "matmul_bias_relu"}) {
    ASSERT_TRUE(std::count(names.begin(), names.end(), name)) << name;
    Result<Task> task = load_task(in_source("tasks/") + std::string(name) + ".toml");
    ASSERT_TRUE(task) << to_string(task.error());
    std::set<int64_t> sizes;
    for (const ShapeSet& set : task->shape_sets)
      if (!set.benchmark) sizes.merge(irregular_sizes_in(set));
    EXPECT_EQ(sizes, kIrregularSizes) << name;
  }
}

TEST(TaskFiles, TheExampleOfTheDocumentationLoads) {
  const std::string page = *read_file(in_source("docs/tasks.md"));
  const size_t begin = page.find("```toml\n") + 8, end = page.find("```", begin);
  ASSERT_NE(end, std::string::npos);
  Result<Task> task = parse_task(page.substr(begin, end - begin), "docs/tasks.md");
  ASSERT_TRUE(task) << to_string(task.error());
  for (const std::string& name : distribution_names())
    EXPECT_NE(page.find("| `" + name), std::string::npos) << name << " is not documented";
}

}  // namespace
}  // namespace fiel::task
