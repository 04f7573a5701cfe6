// Reads what nvcc, the linker and ptxas print.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "build/compile.h"

namespace fiel::build {

/// The log with error lines (and what explains them) before warnings, printable, at most 32 KiB.
std::string errors_first(std::string_view log);
/// compile_error, or unsupported when what is missing is a library the virtual device has not.
void classify_failure(std::string_view log, CompileOutcome& out);
/// Whether a compilation failed by the machine's disk: what a source prints (#error) says it only
/// while it is true.
bool disk_was_full(std::string_view log, uintmax_t available_bytes);
/// "ptxas info : Used 32 registers, 1024 bytes smem …" by kernel.
std::vector<KernelResources> parse_ptxas(std::string_view log);

}  // namespace fiel::build
