// A judgement of a PyTorch task against fake_torch/worker.py: an oracle and runners that compute
// nothing, and behave as they are told.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/process.h"
#include "base/text.h"
#include "fake_session.h"
#include "judge/torch/judge_torch.h"
#include "places.h"
#include "worker/python_launch.h"
#include "worker/trusted_child.h"

namespace fiel::judge::torch {

inline const std::string kScript = in_source("tests/judge/fake_torch/worker.py");

/// A session on a GPU that is not there: windows are numbers, and on its control page stands what a
/// call takes, as the fake runners write it there: the fake oracle waits for that.
class FakeGpuSession final : public FakeSession {
 public:
  using FakeSession::FakeSession;
  bool counts_writes() const override { return false; }
  Result<uint64_t> import_window(int, uint64_t bytes) override {
    const uint64_t at = next_;
    next_ += bytes + 4096;
    return at;
  }
  Status drop_window(uint64_t) override { return {}; }
  Status begin_clock(const worker::ClockRequest& request) override {
    const double call_ns = 1e5;
    EXPECT_EQ(::pwrite(request.page, &call_ns, sizeof(call_ns), 8), ssize_t{sizeof(call_ns)});
    return {};
  }
  bool pump_clock(int) override { return true; }
  Result<worker::ClockOutcome> end_clock(int64_t) override { return worker::ClockOutcome{}; }

 private:
  uint64_t next_ = 1ull << 40;
};

inline Compiled fake_compiled(FakeKernel kernel = [](FakeCall&) {}) {
  Compiled c;
  c.digest = "digest";
  c.built = build::CompileOutcome{};
  c.start = [kernel](const SessionWish&) -> Result<std::unique_ptr<worker::BareSession>> {
    return std::make_unique<FakeGpuSession>(kernel);
  };
  return c;
}

class TorchJudgement : public ::testing::Test {
 protected:
  void SetUp() override {
    auto folder = TempDir::create("course");
    ASSERT_TRUE(folder);
    folder_ = std::make_unique<TempDir>(std::move(*folder));
    kernel_ = (folder_->path() / "kernel.py").string();
    std::ofstream(kernel_) << "class ModelNew: pass\n";
    request_.task_path = request_.kernel_path = kernel_;
    request_.options.seed = 7;
    behave(candidate_);
    request_.time_budget_ms = 0;
    request_.locks = folder_->path();
  }

  Result<std::unique_ptr<worker::TorchWorker>> start(const std::string& role,
                                                     const std::string& behaviour, bool trusted) {
    FIEL_TRY(auto ends, worker::make_channel());
    const auto python = find_program("python3");
    if (!python) return fail(ErrorCode::not_found, "no python3");
    const std::string log = (folder_->path() / "log").string();
    worker::TrustedRequest q{
        {python->string(), kScript, role, behaviour, log}, {}, ends.theirs.get()};
    FIEL_TRY(auto child, worker::start_trusted(q));
    return std::make_unique<worker::TorchWorker>(std::move(child), std::move(ends.ours), trusted);
  }

  Workers workers() {
    Workers w;
    w.oracle = [this] { return start("oracle", oracle_, true); };
    w.compile = compile_;
    w.gauge = gauge_;
    w.baseline = [this](const std::string&) { return start("runner", baseline_, true); };
    w.candidate = [this](const std::string&) -> Result<worker::ConfinedRunner> {
      FIEL_TRY(auto process, start("runner", candidate_, false));
      FIEL_TRY(TempDir stage, TempDir::create("stage"));
      return worker::ConfinedRunner{std::move(process), kernel_, kernel_, "cpu", std::move(stage)};
    };
    return w;
  }

  Verdict judged() {
    auto v = judge(request_, workers());
    EXPECT_TRUE(v) << (v ? "" : to_string(v.error()));
    return v ? *v : Verdict{};
  }
  /// A call that never ends is cut short soon, and no other one by a busy machine.
  void behave(const std::string& candidate) {
    candidate_ = candidate;
    request_.options.call_timeout_ms = candidate == "hang" ? 1'500 : 60'000;
  }
  VerdictStatus status_of(const std::string& candidate) {
    behave(candidate);
    return judged().status;
  }

  /// A bare kernel instead of a module, on a GPU that is not there.
  void bare(FakeKernel kernel = [](FakeCall&) {}) {
    on_a_gpu();
    request_.kernel_path = (folder_->path() / "kernel.cu").string();
    std::ofstream(request_.kernel_path) << "// a kernel\n";
    compile_ = [kernel] { return fake_compiled(kernel); };
    gauge_ = [] { return fake_compiled(); };
  }

  void on_a_gpu() {
    request_.device = "cuda:0";
    oracle_ += ",gpu";
    request_.time_budget_ms = 5'000;
    request_.baselines = {"eager"};
  }

  std::vector<Json> log() const {
    std::vector<Json> lines;
    const std::string text = read_file(folder_->path() / "log").value_or("");
    for (const std::string_view line : split(text, '\n'))
      if (auto json = Json::parse(line); json && !json->is_null()) lines.push_back(*json);
    return lines;
  }
  size_t asked(const std::string& op, const std::string& shape) const {
    size_t n = 0;
    for (const Json& line : log())
      n += line["op"].as_string() == op && line["shape"].as_string() == shape ? 1 : 0;
    return n;
  }

  std::unique_ptr<TempDir> folder_;
  std::string kernel_, oracle_ = "right", baseline_ = "right", candidate_ = "right";
  std::function<Result<Compiled>()> compile_, gauge_;
  TorchRequest request_;
};

inline const FindingRecord* found(const Verdict& v, const std::string& code) {
  for (const FindingRecord& f : v.findings)
    if (f.code == code) return &f;
  return nullptr;
}

}  // namespace fiel::judge::torch
