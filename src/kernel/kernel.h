// A candidate as its author hands it in: a bare .cu, or a launch plan for device-only code.
//
//   FIEL_TRY(Kernel k, load_kernel("softmax.cu"));
//   FIEL_TRY(build::CompileOutcome built, compile(k, {}));        // a kernel's fault is its status
//   FIEL_TRY(auto session, start_session(k, built, options));     // the same interface for both
//
// It decides by the file's name and looks into nothing that it need not.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "build/compile.h"
#include "kernel/plan.h"
#include "worker/bare_session.h"

namespace fiel::kernel {

enum class KernelKind : uint8_t {
  bare,  ///< .cu with fiel_run (fiel/kernel.h)
  plan,  ///< .plan.toml beside a .cu or .ptx
};
const char* name_of(KernelKind kind);

struct Kernel {
  KernelKind kind = KernelKind::bare;
  std::filesystem::path path;  ///< as given
  std::string digest;          ///< SHA-256 of its files and their names
  std::optional<LaunchPlan> plan;
};

/// A missing file, an unknown ending and a malformed plan are errors of usage.
Result<Kernel> load_kernel(const std::filesystem::path& path);

/// What the virtual device needs of it. A plan on .ptx needs no compiler.
Result<build::CompileOutcome> compile(const Kernel& kernel, const build::CompileOptions& options);

/// `options.shared_object` is filled in from what was built.
Result<std::unique_ptr<worker::BareSession>> start_session(const Kernel& kernel,
                                                           const build::CompileOutcome& built,
                                                           worker::BareSessionOptions options);

}  // namespace fiel::kernel
