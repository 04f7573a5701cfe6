#include "sandbox/gpu_confinement.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/text.h"
#include "sandbox/landlock.h"
#include "sandbox/seccomp_filter.h"

namespace fiel::sandbox {
namespace fs = std::filesystem;
namespace {

Status confine_files() {
  std::vector<fs::path> readable = {"/usr", "/lib", "/lib64", "/etc", "/proc", "/sys", "/opt"};
  if (const char* path = std::getenv("LD_LIBRARY_PATH"))
    for (std::string_view folder : split(path, ':'))
      if (!folder.empty()) readable.emplace_back(folder);
  // Threads of the driver write their names below /proc/self.
  std::vector<fs::path> usable = {"/proc/self"};
  std::error_code ec;
  for (const auto& node : fs::directory_iterator("/dev", ec))
    if (node.path().filename().string().rfind("nvidia", 0) == 0) usable.push_back(node.path());
  FIEL_TRY(Fd rules, landlock_rules(readable, usable));
  if (!landlock_confine(rules.get()))
    return fail(ErrorCode::environment, "Landlock refuses its rules");
  return {};
}

Status confine_calls() {
  FIEL_TRY(BpfProgram program, gpu_process_filter(::getpid()));
  if (!load_filter_on_all_threads(program))
    return fail(ErrorCode::environment, "the kernel refuses system-call filters");
  return {};
}

}  // namespace

IsolationReport confine_gpu_process(GpuConfinement wanted) {
  IsolationReport report;
  report.level = Level::limits;
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  auto apply = [&](const char* name, const Status& done) {
    if (done)
      report.in_force.emplace_back(name);
    else
      report.missing.push_back(std::string(name) + ": " + to_string(done.error()));
  };
  if (wanted >= GpuConfinement::files_and_calls)
    apply("device process: system files and /dev/nvidia* only", confine_files());
  if (wanted >= GpuConfinement::calls)
    apply("device process: no programs, network or other processes", confine_calls());
  return report;
}

}  // namespace fiel::sandbox
