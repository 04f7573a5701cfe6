// The sides of a measurement: the kernel, and each baseline in a trusted process of its own, under
// one numerics policy.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "judge/speed.h"
#include "judge/torch/course.h"

namespace fiel::judge::torch {

struct Contestant {
  TimedSide side;
  std::unique_ptr<RunnerSide> own;  ///< of a baseline
  RunnerSide* runner = nullptr;
  bool trusted = false;
  std::vector<ProbeError> errors;
  Errors worst;
  std::string windows;  ///< whose windows it has; the kernel's are its alone

  bool present() const { return runner != nullptr && side.unavailable.empty(); }
  void drop(std::string reason);
};

/// The kernel first. Those that cannot be started are there with the reason.
Result<std::vector<Contestant>> assemble(TorchCourse& course, const Workers& workers);

/// Errors of every side on the same inputs of some probes.
Status compare_accuracy(TorchCourse& course, std::vector<Contestant>& all);

}  // namespace fiel::judge::torch
