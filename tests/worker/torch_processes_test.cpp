// The real package with the real PyTorch on the CPU: an oracle and a runner that share a window.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "worker/python_sandbox.h"
#include "worker/torch_oracle.h"
#include "worker/torch_runner.h"

namespace fiel::worker {
namespace {

/// The environment of tests/python/venv.sh where there is none better.
Result<PythonEnvironment> python() { return find_python(); }

constexpr const char* kTask = R"(import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
def get_inputs():
    return [torch.randn(33, 17)]
def get_init_inputs():
    return []
)";
constexpr const char* kKernel = R"(import torch
class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x.clamp(min=0)
)";

TEST(TorchProcesses, OracleAndConfinedRunnerJudgeOneCall) {
  auto found = python();
  if (!found) GTEST_SKIP() << found.error().what;
  auto folder = TempDir::create("fiel-test-torch");
  std::ofstream(folder->path() / "task.py") << kTask;
  std::ofstream(folder->path() / "kernel.py") << kKernel;
  auto oracle_process = TorchWorker::start({Role::oracle, *found, "cpu"});
  ASSERT_TRUE(oracle_process) << to_string(oracle_process.error());
  TorchOracle oracle(**oracle_process);
  auto facts = oracle.hello("cpu");
  ASSERT_TRUE(facts) << facts.error().what << facts.error().detail << facts.error().output;
  EXPECT_FALSE(facts->torch.empty());
  auto task = oracle.open_task({.path = (folder->path() / "task.py").string()});
  ASSERT_TRUE(task) << task.error().what << task.error().detail;
  ASSERT_EQ(task->inputs.size(), 1u);
  EXPECT_EQ(task->inputs[0].shape, (std::vector<int64_t>{33, 17}));

  sandbox::IsolationPolicy policy;
  policy.limits = python_limits();
  ConfinedRequest request;
  request.python = *found;
  request.candidate = folder->path() / "kernel.py";
  request.task = folder->path() / "task.py";
  request.tmp_bytes = 1u << 30;
  auto confined = start_confined_runner(request, policy);
  ASSERT_TRUE(confined) << to_string(confined.error());
  TorchRunner runner(*confined->worker);
  auto claims = runner.hello("cpu");
  ASSERT_TRUE(claims) << claims.error().what << claims.error().detail << claims.error().output;
  auto module =
      runner.load({.path = confined->candidate, .task_path = confined->task}, TorchOracle::kLong);
  ASSERT_TRUE(module) << module.error().what << module.error().detail;

  auto in = oracle.window(task->windows.inputs), out = oracle.window(task->windows.outputs);
  ASSERT_TRUE(in && out);
  ASSERT_TRUE(runner.map_window(*in) && runner.map_window(*out));
  auto prepared = oracle.prepare({.seed = 7});
  ASSERT_TRUE(prepared) << prepared.error().what << prepared.error().detail;
  auto placed = oracle.place({.case_id = prepared->id, .inputs = in->id, .outputs = out->id});
  ASSERT_TRUE(placed) << placed.error().what << placed.error().detail;
  auto called = runner.call(
      {module->id, in->id, placed->inputs, out->id, {placed->output_offset, placed->output_bytes}},
      300'000);
  ASSERT_TRUE(called) << called.error().what << called.error().detail;
  auto verified = oracle.verify({prepared->id, called->outputs, "fp32", {}});
  ASSERT_TRUE(verified) << verified.error().what << verified.error().detail;
  EXPECT_TRUE(verified->passed()) << verified->raw.dump(2);
  ASSERT_EQ(verified->outputs.size(), 1u);
  EXPECT_EQ(verified->outputs[0].elements, 33u * 17u);
}

}  // namespace
}  // namespace fiel::worker
