#include "kernel/kernel.h"

#include <fmt/core.h>

#include "base/files.h"
#include "base/hash.h"
#include "build/sources.h"
#include "kernel/plan_session.h"

namespace fiel::kernel {
namespace fs = std::filesystem;
namespace {

bool ends_with(const std::string& text, std::string_view end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

Result<Kernel> load_plan(Kernel k) {
  FIEL_TRY(std::string text, read_file(k.path, 4u << 20));
  FIEL_TRY(LaunchPlan plan, parse_plan(text, k.path));
  std::string source = plan.source.string();
  if (!ends_with(source, ".cu") && !ends_with(source, ".ptx"))
    return fail(ErrorCode::usage,
                fmt::format("{}: source has to be a .cu or .ptx file", k.path.string()));
  FIEL_TRY(build::SourceSet sources, build::collect_sources(plan.source));
  k.digest = Digest().add(text).add(sources.digest).hex();
  k.plan = std::move(plan);
  return k;
}

}  // namespace

const char* name_of(KernelKind kind) { return kind == KernelKind::bare ? "bare" : "plan"; }

Result<Kernel> load_kernel(const fs::path& path) {
  std::error_code ec;
  if (!fs::exists(path, ec)) return fail(ErrorCode::not_found, "no kernel file " + path.string());
  if (!fs::is_regular_file(path, ec))
    return fail(ErrorCode::usage, path.string() + " is not a file");
  Kernel k;
  k.path = path;
  std::string name = path.filename().string();
  if (ends_with(name, ".plan.toml")) {
    k.kind = KernelKind::plan;
    return load_plan(std::move(k));
  }
  if (!ends_with(name, ".cu"))
    return fail(ErrorCode::usage, fmt::format("{}: what kind of kernel is this?", path.string()),
                "a kernel is a .cu file with fiel_run, or a .plan.toml");
  FIEL_TRY(build::SourceSet sources, build::collect_sources(path));
  k.digest = sources.digest;
  return k;
}

Result<build::CompileOutcome> compile(const Kernel& kernel, const build::CompileOptions& options) {
  if (!kernel.plan) return build::compile_kernel(kernel.path, options);
  if (ends_with(kernel.plan->source.string(), ".cu"))
    return build::compile_ptx(kernel.plan->source, options);
  build::CompileOutcome out;
  out.kernel.ptx = kernel.plan->source;
  out.kernel.key = kernel.digest;
  out.kernel.compiler = "PTX as given";
  return out;
}

Result<std::unique_ptr<worker::BareSession>> start_session(const Kernel& kernel,
                                                           const build::CompileOutcome& built,
                                                           worker::BareSessionOptions options) {
  if (built.status != build::CompileStatus::compiled)
    return fail(ErrorCode::usage, "the kernel did not compile: " + built.message);
  if (kernel.plan) return start_plan_session(*kernel.plan, built.kernel.ptx, options);
  options.shared_object = built.kernel.shared_object.string();
  return worker::BareSession::start(options);
}

}  // namespace fiel::kernel
