// What a kernel's author is told of its compilation: errors first, else registers and memory.
#pragma once

#include <filesystem>

#include "agent/workspace/feedback.h"

namespace fiel::agent {

/// Of a bare `.cu`.
Feedback compile_feedback(const std::filesystem::path& kernel, int64_t timeout_ms = 120'000);

}  // namespace fiel::agent
