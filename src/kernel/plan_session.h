// Runs a launch plan behind the same interface as a bare kernel: a device process, no candidate.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "kernel/plan.h"
#include "worker/bare_session.h"

namespace fiel::kernel {

Result<std::unique_ptr<worker::BareSession>> start_plan_session(
    const LaunchPlan& plan, const std::filesystem::path& ptx,
    const worker::BareSessionOptions& options);

}  // namespace fiel::kernel
