// One call of a candidate under Nsight Compute, inside the sandbox in which candidates are judged.
//
//   if (const auto ncu = find_ncu(ncu_places())) …
//   FIEL_TRY(CountedOutput out, counted_run({.place = place, .ncu = *ncu, .metrics = metrics}));
//   report::read_counted(out.text);                     // hostile text, like all that it prints
//
// ncu, the compiler and the candidate run in there together: what comes out may be made up, serves
// the candidate's own author and is no evidence. Without namespaces nothing is run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "worker/python_sandbox.h"

namespace fiel::worker {

/// Where ncu may be, in the order of looking.
struct NcuPlaces {
  std::string named;                                            ///< FIEL_NCU: this one or none
  std::filesystem::path nsight = "/opt/nvidia/nsight-compute";  ///< a folder a version
  std::string path;                                             ///< PATH
  std::vector<std::filesystem::path> toolkits;  ///< CUDA_HOME, CUDA_PATH, the toolkit that is used
};
NcuPlaces ncu_places();
std::optional<std::filesystem::path> find_ncu(const NcuPlaces& places);

struct CountedRun {
  ConfinedRequest place;  ///< a .cu without Python and task, or a .py with both
  std::filesystem::path ncu;
  std::filesystem::path call;   ///< of a .cu: the folder of its tensors (call.txt)
  std::string arch = "native";  ///< of a .cu, as nvcc's -arch
  std::vector<std::string> metrics;
  uint32_t max_launches = 24;
  int64_t timeout_ms = 180'000;  ///< the compiler included
};

/// The exit code where a .cu does not compile.
inline constexpr int kNotCompiled = 97;

struct CountedOutput {
  std::string text;  ///< of everything that ran, up to a bound
  int exit_code = 0;
  std::string stopped;  ///< "out of time", a limit; empty: it came to its own end
};
Result<CountedOutput> counted_run(const CountedRun& run);

}  // namespace fiel::worker
