// Inputs of every probe are legal for their domain, reproducible, and never the same twice.
#include "judge/probe_inputs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "base/hash.h"
#include "instances.h"

namespace fiel::judge {
namespace {

std::shared_ptr<const task::Instance> mixed_instance(DType dtype) {
  auto at = std::make_shared<task::Instance>();
  auto add = [&](const char* name, DType t, Shape shape, task::Domain domain, int64_t bound) {
    task::InputSpec spec;
    spec.name = name;
    spec.dtype = t;
    spec.domain = domain;
    at->input_specs.push_back(spec);
    at->inputs.push_back({t, shape});
    at->index_bounds.push_back(bound);
  };
  add("x", dtype, {9, 33}, task::Domain::real, 0);
  add("variance", dtype, {33}, task::Domain::positive, 0);
  add("p", DType::f32, {9, 7}, task::Domain::probability, 0);
  add("index", DType::i64, {9}, task::Domain::index, 11);
  add("mask", DType::boolean, {9, 33}, task::Domain::mask, 0);
  return at;
}

void expect_legal(const std::vector<Tensor>& inputs, Probe probe) {
  for (double v : inputs[1].to_f64()) EXPECT_TRUE(v > 0 && std::isfinite(v)) << v;
  const std::vector<double> p = inputs[2].to_f64();
  for (size_t row = 0; row < 9; ++row) {
    double sum = 0;
    for (size_t i = 0; i < 7; ++i) sum += p[row * 7 + i];
    EXPECT_NEAR(sum, 1, 1e-5);
  }
  for (double v : inputs[3].to_f64()) EXPECT_TRUE(v >= 0 && v < 11 && v == std::floor(v)) << v;
  for (double v : inputs[4].to_f64()) EXPECT_TRUE(v == 0 || v == 1) << v;
  if (probe == Probe::special_values) return;
  for (double v : inputs[0].to_f64()) EXPECT_TRUE(std::isfinite(v)) << name_of(probe);
}

TEST(ProbeInputs, AreLegalReproducibleAndNeverRepeated) {
  for (DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    const auto at = mixed_instance(dtype);
    std::set<uint64_t> seen;
    for (int p = 0; p < kProbeCount; ++p)
      for (uint32_t v = 0; v < variants_of(static_cast<Probe>(p)); ++v) {
        const ProbeRecipe recipe{static_cast<Probe>(p), v, 99, 1};
        const auto made = make_inputs(*at, recipe), again = make_inputs(*at, recipe);
        ASSERT_TRUE(made.has_value()) << to_string(made.error());
        ASSERT_TRUE(made->has_value()) << name_of(recipe.probe);
        const std::vector<Tensor>& inputs = **made;
        expect_legal(inputs, recipe.probe);
        for (size_t i = 0; i < inputs.size(); ++i)
          EXPECT_EQ(xxh3(inputs[i].bytes()), xxh3((**again)[i].bytes()));
        EXPECT_TRUE(seen.insert(xxh3(inputs[0].bytes())).second) << name_of(recipe.probe);
      }
  }
}

TEST(ProbeInputs, SpecialValuesAreFewAndOfBothKinds) {
  const auto at = mixed_instance(DType::f32);
  for (uint32_t variant : {0u, 1u}) {
    const auto made = make_inputs(*at, {Probe::special_values, variant, 5, 1});
    ASSERT_TRUE(made && *made);
    int special = 0;
    for (double v : (**made)[0].to_f64()) special += std::isnan(v) || std::isinf(v);
    EXPECT_GE(special, 1);
    EXPECT_LE(special, 3);
  }
}

TEST(ProbeInputs, OffsetsAreFarFromZeroComparedWithTheirSpread) {
  const auto at = mixed_instance(DType::f32);
  for (uint32_t variant : {0u, 1u}) {
    const auto made = make_inputs(*at, {Probe::offset_mean, variant, 5, 1});
    ASSERT_TRUE(made && *made);
    for (double v : (**made)[0].to_f64()) {
      EXPECT_GT(std::fabs(v), 300);
      EXPECT_EQ(v > 0, variant == 0);
    }
  }
}

TEST(ProbeInputs, AChangedElementStaysLegalAndDiffers) {
  for (uint64_t seed = 1; seed < 200; ++seed) {
    const double index = changed_value(task::Domain::index, DType::i64, 3, 11, seed);
    EXPECT_TRUE(index >= 0 && index < 11 && index != 3) << index;
    EXPECT_EQ(changed_value(task::Domain::mask, DType::boolean, 1, 0, seed), 0);
    EXPECT_GT(changed_value(task::Domain::positive, DType::f32, 0.01, 0, seed), 0.01);
    EXPECT_GT(std::fabs(changed_value(task::Domain::real, DType::f32, 0.5, 0, seed) - 0.5), 1);
  }
}

}  // namespace
}  // namespace fiel::judge
