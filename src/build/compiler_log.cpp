#include "build/compiler_log.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "base/text.h"

namespace fiel::build {
namespace {

constexpr size_t kMaxLog = 32u << 10;
constexpr uintmax_t kMaxWritten = 64u << 20;  ///< of a compilation, with room to spare

bool has(std::string_view line, std::string_view what) {
  return line.find(what) != std::string_view::npos;
}

/// "…undefined reference to `cublasCreate_v2'" -> cublasCreate_v2
std::set<std::string> undefined_symbols(std::string_view log) {
  std::set<std::string> names;
  for (std::string_view line : split(log, '\n')) {
    for (std::string_view marker : {"undefined reference to `", "undefined symbol: "}) {
      size_t at = line.find(marker);
      if (at == std::string_view::npos || names.size() >= 64) continue;
      std::string_view name = line.substr(at + marker.size());
      names.emplace(name.substr(0, name.find_first_of("'@ ")));
    }
  }
  return names;
}

/// "fatal error: cudnn.h: No such file or directory" -> cudnn.h
std::string missing_header(std::string_view log) {
  for (std::string_view line : split(log, '\n')) {
    size_t end = line.find(": No such file or directory");
    size_t at = line.find("error: ");
    if (end == std::string_view::npos || at == std::string_view::npos || at + 7 > end) continue;
    return std::string(line.substr(at + 7, end - at - 7));
  }
  return {};
}

uint32_t number_before(std::string_view line, std::string_view what) {
  size_t at = line.find(what);
  if (at == std::string_view::npos) return 0;
  size_t begin = at;
  while (begin > 0 && line[begin - 1] == ' ') --begin;
  size_t end = begin;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  return static_cast<uint32_t>(
      std::strtoul(std::string(line.substr(begin, end - begin)).c_str(), nullptr, 10));
}

}  // namespace

std::string library_of(std::string_view name) {
  struct Known {
    std::string_view prefix, library;
  };
  constexpr Known kKnown[] = {{"cublas", "cuBLAS"},
                              {"cudnn", "cuDNN"},
                              {"cufft", "cuFFT"},
                              {"cusparse", "cuSPARSE"},
                              {"cusolver", "cuSOLVER"},
                              {"curandCreate", "cuRAND"},
                              {"curandGenerate", "cuRAND"},
                              {"curandSet", "cuRAND"},
                              {"curandDestroy", "cuRAND"},
                              {"nccl", "NCCL"},
                              {"nvrtc", "NVRTC"},
                              {"nvml", "NVML"},
                              {"cutensor", "cuTENSOR"},
                              {"cutlass/", "CUTLASS"},
                              {"cute/", "CuTe (CUTLASS)"},
                              {"torch/", "PyTorch"},
                              {"ATen/", "PyTorch"},
                              {"c10/", "PyTorch"},
                              {"nvshmem", "NVSHMEM"},
                              {"nvJitLink", "nvJitLink"},
                              {"npp", "NPP"}};
  for (const Known& k : kKnown)
    if (name.substr(0, k.prefix.size()) == k.prefix) return std::string(k.library);
  // cuLaunchKernel, cuMemAlloc_v2 …: the driver's own interface.
  if (name.size() > 2 && name.substr(0, 2) == "cu" && name[2] >= 'A' && name[2] <= 'Z')
    return "the CUDA driver API";
  return {};
}

std::string errors_first(std::string_view log) {
  std::string errors, rest;
  bool in_error = false;
  for (std::string_view line : split(log, '\n')) {
    bool starts = has(line, "error") || has(line, "undefined reference") || has(line, "fatal");
    bool continues = in_error && !line.empty() && (line[0] == ' ' || line[0] == '\t');
    in_error = starts || continues;
    std::string& sink = in_error ? errors : rest;
    if (sink.size() < kMaxLog) sink.append(line).push_back('\n');
  }
  return printable(std::string(trim(errors + rest)), kMaxLog);
}

bool disk_was_full(std::string_view log, uintmax_t available_bytes) {
  return has(log, "No space left on device") && available_bytes < kMaxWritten;
}

void classify_failure(std::string_view log, CompileOutcome& out) {
  out.status = CompileStatus::compile_error;
  std::string header = missing_header(log);
  if (std::string library = library_of(header); !library.empty()) {
    out.status = CompileStatus::unsupported;
    out.message = fmt::format("{} ({}) is not available on the virtual device", library, header);
    return;
  }
  for (const std::string& symbol : undefined_symbols(log)) {
    if (std::string library = library_of(symbol); !library.empty()) {
      out.status = CompileStatus::unsupported;
      out.message = fmt::format("{} ({}) is not available on the virtual device", library, symbol);
      return;
    }
    if (symbol.rfind("cuda", 0) == 0 || symbol.rfind("__cuda", 0) == 0) {
      out.status = CompileStatus::unsupported;
      out.message =
          fmt::format("the CUDA runtime function {} is not provided by the virtual device", symbol);
      return;
    }
    out.message = fmt::format("undefined symbol {}", printable(symbol, 200));
  }
  if (!out.message.empty()) return;
  for (std::string_view line : split(log, '\n'))
    if (has(line, "error")) {
      out.message = printable(trim(line), 300);
      return;
    }
  out.message = "the compiler failed without a message";
}

std::vector<KernelResources> parse_ptxas(std::string_view log) {
  std::vector<KernelResources> all;
  for (std::string_view line : split(log, '\n')) {
    if (size_t at = line.find("Compiling entry function '"); at != std::string_view::npos) {
      std::string_view name = line.substr(at + 26);
      all.push_back({std::string(name.substr(0, name.find('\''))), 0, 0, 0, 0, 0});
      continue;
    }
    if (all.empty()) continue;
    KernelResources& k = all.back();
    if (has(line, "bytes stack frame")) {
      k.stack_bytes = number_before(line, "bytes stack frame");
      k.spill_stores = number_before(line, "bytes spill stores");
      k.spill_loads = number_before(line, "bytes spill loads");
    }
    if (has(line, "Used ")) {
      k.registers = number_before(line, "registers");
      k.shared_bytes = number_before(line, "bytes smem");
    }
  }
  return all;
}

}  // namespace fiel::build
