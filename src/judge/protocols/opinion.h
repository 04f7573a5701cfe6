// What another protocol says about a kernel, trial by trial: that protocol's opinion, not ours.
//
//   verdict.opinion = Opinion{…};  to_json(*verdict.opinion);
//
// Of a PyTorch task all of it comes from the process in which the candidate ran, as in the
// original: a candidate may have written it itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"

namespace fiel::judge {

struct OpinionTrial {
  std::string inputs;                    ///< "seed 42", "unseeded", "times 3"
  bool passed = false, dropped = false;  ///< dropped: the protocol leaves it out
  double max_difference = 0;
  std::string why;  ///< of one that failed or was dropped
};

struct Opinion {
  std::string protocol, source;
  bool accepted = false;
  std::vector<OpinionTrial> trials;
  std::string clock;  ///< how it timed; empty where it did not
  std::optional<double> kernel_ns, reference_ns, compiled_ns, speedup;
  std::optional<uint64_t> kernel_peak_bytes, reference_peak_bytes;
  std::vector<std::string> notes;  ///< where this machine could not do what the original does
};

Json to_json(const Opinion& opinion);
/// "kernelbench would accept it: 5 of 5 trials passed"
std::string summary(const Opinion& opinion);

}  // namespace fiel::judge
