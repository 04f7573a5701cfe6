// The measured error model on every task of the folder: a plain f32 program must pass on all
// distributions, one in half precision, zeros and the answer to other inputs must not.
#include "task/error_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "places.h"
#include "task/node_evaluation.h"
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

/// Inputs of the real domain take `probe`; the others keep their own distribution.
std::vector<Tensor> draw_inputs(const Instance& at, const std::string& probe, uint64_t seed) {
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < at.inputs.size(); ++i) {
    const InputSpec& spec = at.input_specs[i];
    const bool replace = !probe.empty() && spec.domain == Domain::real && !spec.parameter;
    inputs.push_back(*generate(*parse_distribution(replace ? probe : spec.distribution),
                               at.inputs[i].dtype, at.inputs[i].shape, {seed, i}));
  }
  return inputs;
}

struct Judged {
  bool accepted = true;
  double worst = 0, rms = 0;
  NumericsClass numerics = NumericsClass::integer;
  std::string reason;
};

Judged judge(const std::vector<Tensor>& reference, const std::vector<Tensor>& actual,
             const std::vector<ErrorModel>& models) {
  Judged j;
  for (size_t o = 0; o < reference.size(); ++o) {
    Comparison c = *compare(reference[o], actual[o], models[o]);
    j.accepted &= c.accepted();
    j.worst = std::max(j.worst, c.worst_ratio);
    if (c.rms_limit > 0) j.rms = std::max(j.rms, c.rms_error / c.rms_limit);
    j.numerics = worse(j.numerics, c.numerics);
    j.reason += c.reason(reference[o].shape());
  }
  return j;
}

class TaskErrorModel : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    Result<Task> loaded = load_task(in_source("tasks/") + GetParam() + ".toml");
    ASSERT_TRUE(loaded);
    task = *loaded;
    at = *task.instantiate(task.shape_sets[0]);
  }
  std::vector<ErrorModel> models(const std::vector<Tensor>& inputs,
                                 const std::vector<Tensor>& reference, bool systematic = false) {
    return *error_models(at, task, inputs, reference, {.seed = 5, .systematic = systematic});
  }
  static void show(const char* what, const Judged& j) {
    if (std::getenv("FIEL_SHOW"))
      std::printf("  %-24s %-3s element %-9.3g rms %-9.3g %s\n", what, j.accepted ? "ok" : "BAD",
                  j.worst, j.rms, name_of(j.numerics).data());
  }
  Task task;
  Instance at;
};

TEST_P(TaskErrorModel, AcceptsAPlainF32ProgramOnEveryDistribution) {
  for (const char* probe :
       {"", "normal", "mixed_sign(2)", "offset(300, 1)", "normal(0, 50)", "normal(0, 0.001)",
        "outliers(0.01, 300)", "ties(4)", "constant(0.7)"}) {
    std::vector<Tensor> inputs = draw_inputs(at, probe, 3);
    std::vector<Tensor> reference = *at.reference(inputs);
    const std::string p = probe;
    std::vector<ErrorModel> m =
        models(inputs, reference, p.starts_with("ties") || p.starts_with("constant"));
    Judged j = judge(reference, *evaluate_rounded(at, inputs, DType::f32), m);
    show(probe, j);
    EXPECT_TRUE(j.accepted) << probe << ": " << j.reason;
  }
}

TEST_P(TaskErrorModel, AcceptsAPlainF32ProgramAtTheSmallestShapes) {
  for (int64_t size : {1, 2, 3}) {
    ShapeSet tiny = task.shape_sets[0];
    for (auto& [symbol, value] : tiny.symbols) value = std::min(value, size);
    Result<Instance> bound = task.instantiate(tiny);
    if (!bound) continue;  // a kernel that reaches beyond so small an image, four groups of one
    at = *bound;
    for (const char* probe : {"normal", "offset(300, 1)", "offset(2000, 1)"}) {
      std::vector<Tensor> inputs = draw_inputs(at, probe, 3);
      std::vector<Tensor> reference = *at.reference(inputs);
      Judged j =
          judge(reference, *evaluate_rounded(at, inputs, DType::f32), models(inputs, reference));
      show(probe, j);
      EXPECT_TRUE(j.accepted) << probe << " at " << size << ": " << j.reason;
    }
  }
}

TEST_P(TaskErrorModel, RejectsZerosOtherInputsAndHalfPrecision) {
  std::vector<Tensor> inputs = draw_inputs(at, "", 3);
  std::vector<Tensor> reference = *at.reference(inputs);
  std::vector<ErrorModel> m = models(inputs, reference);
  std::vector<Tensor> zeros, other = *at.reference(draw_inputs(at, "", 4));
  for (size_t o = 0; o < at.outputs.size(); ++o) {
    zeros.push_back(Tensor::empty(at.outputs[o].dtype, at.outputs[o].shape));
    other[o] = other[o].to(at.outputs[o].dtype);
  }
  Judged j = judge(reference, zeros, m);
  show("zeros", j);
  EXPECT_FALSE(j.accepted) << "zeros";
  j = judge(reference, other, m);
  show("other inputs", j);
  EXPECT_FALSE(j.accepted) << "other inputs";
  const bool rounds = std::any_of(at.graph.nodes.begin(), at.graph.nodes.end(), [](const auto& n) {
    return n.op != "input" && n.op != "constant" && !is_exact(n.op);
  });
  if (at.outputs[0].dtype != DType::f32 || !rounds) return;
  j = judge(reference, *evaluate_rounded(at, inputs, DType::bf16), m);
  show("bf16 program", j);
  EXPECT_FALSE(j.accepted) << "bf16";
  EXPECT_NE(j.numerics, NumericsClass::fp32);
  j = judge(reference, *evaluate_rounded(at, inputs, DType::f16), m);
  show("f16 program", j);
  EXPECT_TRUE(!j.accepted || m[0].lowest == NumericsClass::tf32) << "f16";
  EXPECT_NE(j.numerics, NumericsClass::fp32);
}

/// sqrt(2 Σ a² b² + y²), from the operands.
std::vector<double> exact_sensitivity(const std::vector<Tensor>& inputs, const Tensor& product) {
  const std::vector<double> a = inputs[0].to_f64(), b = inputs[1].to_f64(), y = product.to_f64();
  const size_t rows = static_cast<size_t>(inputs[0].shape()[0]), columns = y.size() / rows;
  const size_t length = a.size() / rows;
  std::vector<double> s(y.size());
  for (size_t i = 0; i < rows; ++i)
    for (size_t j = 0; j < columns; ++j) {
      double sum = 0;
      for (size_t k = 0; k < length; ++k) {
        const double term = a[i * length + k] * b[k * columns + j];
        sum += term * term;
      }
      s[i * columns + j] = std::sqrt(2 * sum + y[i * columns + j] * y[i * columns + j]);
    }
  return s;
}

std::string task_text(const std::string& expression) {
  return "name = \"product\"\ndescription = \"A product.\"\nexpression = \"" + expression +
         "\"\n[inputs]\na = { dtype = \"f32\", shape = [\"M\", \"K\"] }\n"
         "b = { dtype = \"f32\", shape = [\"K\", \"N\"] }\n[outputs]\ny = \"f32\"\n"
         "[shapes]\nsmall = { M = 700, K = 40, N = 900 }\n";
}

/// The product of operands that were rounded to a type, then the rest of the expression exactly.
std::vector<Tensor> with_operands_in(const Instance& at, const std::vector<Tensor>& inputs,
                                     DType type) {
  std::vector<Tensor> rounded;
  for (const Tensor& t : inputs) rounded.push_back(t.to(type).to(DType::f32));
  std::vector<Tensor> outputs = *at.reference(rounded);
  for (Tensor& t : outputs) t = t.to(DType::f32);
  return outputs;
}

/// An element beside a clamp's border, or in the shadow of a maximum, moves by errors of TF32,
/// though not by those of float32.
TEST(ProductSensitivity, WhatAClampHidesMovesByTheErrorsOfItsClass) {
  for (const char* expression :
       {"y = relu(matmul(a, b) - 0.5)", "y = clamp(matmul(a, b) * 2, 0, 1)",
        "y = hardtanh(matmul(a, b)) * 3", "y = hardswish(relu(matmul(a, b)))"}) {
    Result<Task> task = parse_task(task_text(expression), "clamped");
    ASSERT_TRUE(task) << expression << ": " << to_string(task.error());
    task->shape_sets[0].symbols = {{"M", 64}, {"K", 96}, {"N", 80}};
    const Instance at = *task->instantiate(task->shape_sets[0]);
    for (uint64_t seed = 1; seed < 9; ++seed) {
      const std::vector<Tensor> inputs = draw_inputs(at, "normal", seed);
      const std::vector<Tensor> reference = *at.reference(inputs);
      ErrorModelOptions options;
      options.seed = seed;
      const auto m = error_models(at, *task, inputs, reference, options);
      ASSERT_TRUE(m);
      Judged j = judge(reference, with_operands_in(at, inputs, DType::tf32), *m);
      EXPECT_TRUE(j.accepted) << expression << " " << seed << ": " << j.reason;
      EXPECT_EQ(j.numerics, NumericsClass::tf32) << expression;
      j = judge(reference, with_operands_in(at, inputs, DType::bf16), *m);
      EXPECT_FALSE(j.accepted) << expression << " " << seed;
    }
  }
}

/// In a row that one outlier fills, a norm's result hardly depends on it: what is left is the
/// rounding of the result, which the weight's own change once cancelled in a fourteenth of all
/// elements.
TEST(NormSensitivity, NoElementIsBelowItsOwnRounding) {
  Result<Task> task = load_task(in_source("tasks/rms_norm.toml"));
  ASSERT_TRUE(task);
  const Instance at = *task->instantiate(task->shape_sets[0]);
  for (uint64_t seed = 1; seed < 5; ++seed) {
    const std::vector<Tensor> inputs = draw_inputs(at, "outliers(0.01, 300)", seed);
    const std::vector<Tensor> reference = *at.reference(inputs);
    const std::vector<ErrorModel> m = *error_models(at, *task, inputs, reference, {.seed = seed});
    const double *y = reference[0].data_as<double>(), *s = m[0].sensitivity.data_as<double>();
    for (int64_t i = 0; i < reference[0].numel(); ++i)
      ASSERT_GE(s[i], 0.999 * std::abs(y[i])) << "seed " << seed << " at " << i;
  }
}

/// What a softmax makes of the two largest elements of a row is their difference: no pair of them
/// may move as one, wherever they stand.
TEST(SoftmaxSensitivity, TheLargestElementsNeverMoveAsOne) {
  const char* text = R"toml(
name = "products"
expression = "y = softmax(x * w, dim=-1)"
[inputs]
x = { dtype = "f32", shape = ["N", "C"], distribution = "normal(4096, 8)" }
w = { dtype = "f32", shape = ["N", 1], distribution = "uniform(0.5, 1.5)" }
[shapes]
rows = { N = 3000, C = 29 }
)toml";
  Result<Task> task = parse_task(text, "products");
  ASSERT_TRUE(task) << to_string(task.error());
  const Instance at = *task->instantiate(task->shape_sets[0]);
  const std::vector<Tensor> inputs = draw_inputs(at, "", 7);
  const std::vector<Tensor> reference = *at.reference(inputs);
  const std::vector<ErrorModel> m = *error_models(at, *task, inputs, reference, {.seed = 3});
  const double *p = reference[0].data_as<double>(), *s = m[0].sensitivity.data_as<double>();
  const std::vector<double> x = inputs[0].to_f64(), w = inputs[1].to_f64();
  int64_t close = 0;
  for (int64_t row = 0; row < 3000; ++row)
    for (int64_t i = 29 * row; i < 29 * (row + 1); ++i) {
      double squares = 0;  // of what each product's rounding moves this element by
      for (int64_t k = 29 * row; k < 29 * (row + 1); ++k) {
        const double by = ((i == k ? 1 : 0) - p[k]) * x[static_cast<size_t>(k)];
        squares += by * by;
      }
      const double exact = p[i] * std::abs(w[static_cast<size_t>(row)]) * std::sqrt(squares);
      if (p[i] < 1e-30 || exact < 10 * p[i]) continue;
      ++close;
      ASSERT_GT(s[i], 0.08 * exact) << "row " << row << " at " << i;
    }
  EXPECT_GT(close, 1000);
}

/// Few trials once left one element in millions with a tenth of its sensitivity.
TEST(ProductSensitivity, NoElementIsFarBelowTheExactOne) {
  for (const char* expression : {"y = matmul(a, b)", "y = matmul(a, b) * 1.0 + 0.0"}) {
    const bool alone = std::string(expression).ends_with("b)");
    Result<Task> changed = parse_task(task_text(expression), "product");
    ASSERT_TRUE(changed) << expression;
    const Instance at = *changed->instantiate(changed->shape_sets[0]);
    const std::vector<Tensor> inputs = draw_inputs(at, "outliers(0.01, 300)", 11);
    const std::vector<Tensor> reference = *at.reference(inputs);
    const std::vector<ErrorModel> m = *error_models(at, *changed, inputs, reference, {.seed = 4});
    const std::vector<double> exact = exact_sensitivity(inputs, reference[0]);
    const double* found = m[0].sensitivity.data_as<double>();
    for (size_t i = 0; i < exact.size(); ++i)
      ASSERT_GT(found[i], (alone ? 0.999 : 0.7) * exact[i]) << expression << " at " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(All, TaskErrorModel, testing::ValuesIn(task_files()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace fiel::task
