// The judge as a search sees it: a kernel's text in, what may be said of it out.
//
//   FielJudge judge({.task = "tasks/softmax.toml", .device = "virtual"});
//   FIEL_TRY(Outcome o, judge.judge(source));
//
// Each kernel is judged in a fresh `fiel` process by its own file. On a GPU the score is the
// measured ratio; on the virtual GPU, which has no time, it is a stand-in from the profile: the
// bytes that a call must move over what it was counted to do (sectors, instructions), the mean of
// the task's small shapes. A stand-in is never called a speed-up. Kernels of a PyTorch task are
// modules (ModelNew) or bare .cu, told apart by what they hold; without a GPU they have no score.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "agent/workspace/layout.h"
#include "base/process.h"
#include "base/result.h"
#include "search/candidate.h"

namespace fiel::search {

class KernelJudge {
 public:
  virtual ~KernelJudge() = default;
  /// An error where the judge could not judge: the machine's fault, not the kernel's.
  virtual Result<Outcome> judge(const std::string& source) = 0;
  /// Why this is nothing that it could judge; empty: it is.
  virtual std::string refusal(const std::string&) const { return ""; }
};

struct FielJudgeOptions {
  std::string task;                                ///< a .toml, or a .py in KernelBench's format
  agent::KernelForm form = agent::KernelForm::cu;  ///< of what says neither, for a PyTorch task
  std::string device;                              ///< as --device; empty: the default
  std::string python;
  std::string budget = "quick";
  std::vector<std::string> more;  ///< further words of `fiel judge`
  int64_t timeout_ms = 900'000;   ///< of one judgement
  std::vector<std::string> visible_shapes;
  /// Runs `fiel` with these words; empty: this very program.
  std::function<Result<ProcessResult>(const std::vector<std::string>& words, int64_t timeout_ms)>
      fiel;
};

class FielJudge : public KernelJudge {
 public:
  explicit FielJudge(FielJudgeOptions options);
  Result<Outcome> judge(const std::string& source) override;
  std::string refusal(const std::string& source) const override;

 private:
  bool is_torch() const { return options_.task.ends_with(".py"); }
  agent::KernelForm form_of(const std::string& source) const;
  bool on_a_gpu() const { return options_.device.starts_with("cuda"); }
  void add_stand_in(const std::string& kernel_path, Outcome& o) const;
  FielJudgeOptions options_;
};

/// From the document of `fiel profile --json`: the geometric mean over its shapes, 0 where it holds
/// nothing.
double stand_in_of(const Json& profiles);
/// A warp instruction weighs as many bytes as an H200 moves in the time of one: 4.8e12 B/s over
/// 132 · 4 schedulers at 1.98 GHz.
inline constexpr double kBytesPerWarpInstruction = 4.6;

}  // namespace fiel::search
