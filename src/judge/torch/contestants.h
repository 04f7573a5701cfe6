// The sides of a measurement: the kernel, and each baseline in a trusted process of its own, under
// one numerics policy.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "judge/speed.h"
#include "judge/torch/baseline_choice.h"
#include "judge/torch/course.h"

namespace fiel::judge::torch {

/// Whose windows the timed calls of all trusted sides have.
inline constexpr const char* kSharedSlots = "timed baselines";

struct Contestant {
  TimedSide side;
  std::unique_ptr<Side> own;  ///< of a baseline or a gauge
  Side* runner = nullptr;
  bool trusted = false;
  bool out_of_memory = false;  ///< why it was dropped
  bool is_gauge = false;       ///< judge/torch/gauge.h: timed, and no side of the measurement
  std::vector<ProbeError> errors;
  Errors worst;
  std::string windows;  ///< whose windows it has; the kernel's are its alone

  bool present() const { return runner != nullptr && side.unavailable.empty(); }
  void drop(std::string reason);
  void drop(const worker::WorkerFault& fault);
};

struct Policies {
  std::vector<std::string> chosen;
  std::vector<std::string> left_out;  ///< of those asked for, with the reason
};
/// Of those asked for, what makes a difference to this task; where none were, what its dtypes say.
Policies policies_for(const TorchRequest& request, const worker::OpenedTask& task);

/// Processes only: they import PyTorch while the kernel is judged. Those that cannot be started are
/// there with the reason. They end with the calling thread.
std::vector<Contestant> start_baselines(const TorchRequest& request, const OracleSide& oracle,
                                        const Workers& workers);

/// Every baseline that is asked for, under each of these policies.
std::vector<BaselineName> baselines_for(const TorchRequest& request,
                                        const std::vector<std::string>& policies);

Contestant kernel_of(TorchCourse& course);
/// Their modules, side by side.
void load_baselines(const TorchRequest& request, std::vector<Contestant>& baselines);

/// Gives back the memory of some windows of every side, at both ends.
void drop_windows(TorchCourse& course, std::vector<Contestant>& all, std::span<const Use> uses);

/// Errors of every side on the same inputs of some probes: the same in every call, so that sides
/// that come later can be compared with those that were there.
Status compare_accuracy(TorchCourse& course, std::vector<Contestant>& all);

}  // namespace fiel::judge::torch
