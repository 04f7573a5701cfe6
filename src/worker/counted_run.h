// One call of a candidate under Nsight Compute, inside the sandbox in which candidates are judged.
//
//   if (const auto ncu = find_ncu(ncu_places())) …
//   CountedRun run{.place = place, .ncu = *ncu, .call = call, .program = folder, …};
//   FIEL_TRY(CountedOutput built, build_counted(run));   // of a .cu; needs no GPU, so no turn
//   FIEL_TRY(CountedOutput out, counted_run(run));
//   report::read_counted(out.text);                     // hostile text, like all that it prints
//
// ncu and the candidate run in there together, and the compiler before them: what comes out may be
// made up, serves the candidate's own author and is no evidence. Without namespaces nothing is run.
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
  std::filesystem::path call;     ///< of a .cu: the folder of its tensors (call.txt)
  std::filesystem::path program;  ///< of a .cu: the folder that build_counted fills
  std::string arch = "sm_90";     ///< of a .cu, as nvcc's -arch
  std::vector<std::string> metrics;
  uint32_t max_launches = 24;
  int64_t timeout_ms = 180'000;  ///< of the compiler, and of ncu
};

struct CountedOutput {
  std::string text;  ///< of everything that ran, up to a bound
  int exit_code = 0;
  std::string stopped;  ///< "out of time", a limit; empty: it came to its own end
};
/// Good where the exit code is 0 and nothing stopped it.
Result<CountedOutput> build_counted(const CountedRun& run);
Result<CountedOutput> counted_run(const CountedRun& run);

}  // namespace fiel::worker
