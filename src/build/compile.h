// Compiles a bare kernel for the virtual GPU: .cu -> shared object + PTX, in a sandbox, cached.
//
//   FIEL_TRY(CompileOutcome built, compile_kernel("softmax.cu", {}));
//   if (built.status != CompileStatus::compiled) show(built.message, built.log);
//   BareSessionOptions o{.shared_object = built.kernel.shared_object};
//
// The source is hostile: the compiler sees the source's own files, the toolkit and a read-only
// system, has no network, and is bounded in time, memory and output. An Error means that this
// machine cannot compile (no nvcc, no cache); a kernel's own fault is a CompileStatus.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "sandbox/isolation.h"

namespace fiel::build {

struct CompileOptions {
  sandbox::IsolationPolicy isolation;
  int64_t timeout_ms = 120'000;
  bool use_cache = true;
  bool resources = false;  ///< ask ptxas for registers and spills (0.1–1 s)
  std::string arch = "90";
  bool machine_code = false;  ///< also for a GPU of that architecture: "90a"
};

enum class CompileStatus : uint8_t {
  compiled,
  compile_error,  ///< the compiler says no, or there is no fiel_run
  unsupported,    ///< it needs a library or call that the virtual device does not have; named
  timeout,
  limit,  ///< memory or output of the compiler
};

/// What ptxas makes of one entry point.
struct KernelResources {
  std::string kernel;
  uint32_t registers = 0, shared_bytes = 0, spill_stores = 0, spill_loads = 0, stack_bytes = 0;
};

struct CompiledKernel {
  std::string key;  ///< content address
  std::filesystem::path shared_object, ptx;
  std::string compiler;  ///< "nvcc 13.0.88"
  bool cached = false;
  std::vector<KernelResources> resources;
};

struct CompileOutcome {
  CompileStatus status = CompileStatus::compiled;
  std::string message;  ///< one line
  std::string log;      ///< the compiler's words, errors first, at most 32 KiB
  CompiledKernel kernel;
  sandbox::IsolationReport isolation;
};

Result<CompileOutcome> compile_kernel(const std::filesystem::path& source,
                                      const CompileOptions& options);

/// compiles to PTX only: for device-only kernels with a launch plan.
Result<CompileOutcome> compile_ptx(const std::filesystem::path& source,
                                   const CompileOptions& options);

/// Names the library that an undefined symbol or a missing header belongs to: "cuBLAS", or "".
std::string library_of(std::string_view name);

}  // namespace fiel::build
