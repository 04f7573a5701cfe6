// A kernel file compiled for a device, with what starts its sessions.
//
//   FIEL_TRY(Compiled c, compile_candidate("online.cu", request));     // an Error is ours
//   describe(c, verdict);
//   if (!c.start) return verdict;            // it did not compile: the verdict says why
//   FIEL_TRY(auto session, c.start({}));
//
// Compiling is all that it does: it may run on a thread beside others, starting sessions may not.
#pragma once

#include <optional>
#include <string>

#include "build/compile.h"
#include "judge/judge.h"

namespace fiel::judge {

struct Compiled {
  std::string digest;
  std::string unreadable;  ///< why the file is no kernel; then nothing else is there
  std::optional<build::CompileOutcome> built;
  SessionStarter start;           ///< empty where it did not compile
  Environment gpu;                ///< of cuda:N: device, isa, uuid, cuda, driver
  uint64_t gpu_memory_bytes = 0;  ///< 0 on the virtual device
};

Result<Compiled> compile_candidate(const std::string& path, const JudgeRequest& request);

/// Digest, compiler, resources and GPU; where there is nothing to start also status and reason.
void describe(const Compiled& compiled, Verdict& verdict);

}  // namespace fiel::judge
