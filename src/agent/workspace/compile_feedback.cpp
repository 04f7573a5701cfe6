#include "agent/workspace/compile_feedback.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "build/compile.h"
#include "kernel/kernel.h"

namespace fiel::agent {
namespace {

Feedback refusal(const Error& error) {
  Feedback f;
  f.text = bounded_lines(to_string(error), kFeedbackLines, kFeedbackBytes);
  return f;
}

}  // namespace

Feedback compile_feedback(const std::filesystem::path& kernel, int64_t timeout_ms) {
  const auto loaded = kernel::load_kernel(kernel);
  if (!loaded) return refusal(loaded.error());
  build::CompileOptions options;
  options.resources = true;
  options.timeout_ms = std::min(options.timeout_ms, timeout_ms);
  const auto built = kernel::compile(*loaded, options);
  if (!built) return refusal(built.error());
  Feedback f;
  f.good = built->status == build::CompileStatus::compiled;
  f.text = f.good ? "compiled\n" : built->message + "\n" + built->log;
  for (const build::KernelResources& r : built->kernel.resources)
    f.text += fmt::format("{}: {} registers, {} B shared, {} B spilled\n", demangled(r.kernel),
                          r.registers, r.shared_bytes, r.spill_stores + r.spill_loads);
  f.text = bounded_lines(f.text, kFeedbackLines, kFeedbackBytes);
  return f;
}

}  // namespace fiel::agent
