#include "worker/counted_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "base/text.h"
#include "build/runtime_files.h"
#include "build/toolchain.h"
#include "sandbox/process_tree.h"

namespace fiel::worker {
namespace fs = std::filesystem;
namespace {

constexpr const char* kCallInside = "/fiel-call";
constexpr const char* kProgramInside = "/fiel-counted";
constexpr const char* kProgram = "counted";
constexpr uint64_t kOutputBytes = 2u << 20;
constexpr size_t kMaxVersions = 100;

bool is_program(const fs::path& file) {
  std::error_code error;
  return fs::is_regular_file(file, error) && ::access(file.c_str(), X_OK) == 0;
}

/// "2025.3.1" by its numbers: 2025.10 comes after 2025.9.
std::vector<uint64_t> version_of(const fs::path& folder) {
  std::vector<uint64_t> numbers;
  const std::string name = folder.filename().string();
  for (const std::string_view part : split(name, '.')) {
    uint64_t n = 0;
    std::from_chars(part.data(), part.data() + part.size(), n);
    numbers.push_back(n);
  }
  return numbers;
}

std::vector<fs::path> newest_first(const fs::path& folder) {
  std::vector<fs::path> versions;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (versions.size() < kMaxVersions) versions.push_back(it->path());
  std::sort(versions.begin(), versions.end(),
            [](const fs::path& a, const fs::path& b) { return version_of(a) > version_of(b); });
  return versions;
}

std::vector<std::string> under_ncu(const CountedRun& run) {
  // Clocks are left alone: others may be using the GPU, and locking them needs rights.
  return {run.ncu.string(),
          "--csv",
          "--page",
          "raw",
          "--print-units",
          "base",
          "--clock-control",
          "none",
          "--target-processes",
          "application-only",
          "--launch-count",
          std::to_string(run.max_launches),
          "--metrics",
          fmt::format("{}", fmt::join(run.metrics, ","))};
}

/// Into the one folder that it may write to.
Result<std::vector<std::string>> compiler_words(const CountedRun& run, const ConfinedPlace& place) {
  static constexpr const char* kScript =
      "nvcc -std=c++17 -O3 -lineinfo -arch=\"$3\" -I\"$1\" \"$1/call.cu\" \"$2\" -o \"$4\" && "
      "exec chmod 0755 \"$4\"\n";
  const fs::path own = place.stage.path() / "counted";
  std::error_code error;
  fs::create_directories(own / "fiel", error);
  FIEL_TRY_STATUS(write_file_atomic(own / "call.cu", build::embedded_counted_call()));
  FIEL_TRY_STATUS(write_file_atomic(own / "fiel/kernel.h", build::embedded_kernel_header()));
  for (const fs::path& p : {own, own / "fiel"})
    fs::permissions(p, static_cast<fs::perms>(0755), error);
  for (const fs::path& p : {own / "call.cu", own / "fiel/kernel.h"})
    fs::permissions(p, static_cast<fs::perms>(0644), error);
  return std::vector<std::string>{"/bin/sh",
                                  "-c",
                                  kScript,
                                  "sh",
                                  (place.base / "counted").string(),
                                  (place.base / place.files.candidate).string(),
                                  run.arch,
                                  kProgram};
}

std::vector<std::string> bare_words(const CountedRun& run) {
  std::vector<std::string> words = under_ncu(run);
  words.insert(words.end(), {(fs::path(kProgramInside) / kProgram).string(), kCallInside});
  return words;
}

std::vector<std::string> module_words(const CountedRun& run, const ConfinedPlace& place) {
  static constexpr const char* kStart =
      "import sys\n"
      "sys.path[0] = sys.argv.pop(1)\n"
      "from fiel_worker import counted\n"
      "sys.exit(counted.main(sys.argv[1:]))\n";
  std::vector<std::string> words = under_ncu(run);
  if (place.device != "cpu") words.insert(words.end(), {"--profile-from-start", "off"});
  words.insert(words.end(), {run.place.python.executable.string(), "-c", kStart,
                             (place.base / place.files.package).string(),
                             (place.base / place.files.task).string(),
                             (place.base / place.files.candidate).string(), place.device});
  return words;
}

/// ncu is often a script of the toolkit that starts the one of a version's folder.
ConfinedRequest with_ncu(const CountedRun& run) {
  ConfinedRequest q = run.place;
  std::error_code error;
  const fs::path real = fs::canonical(run.ncu, error);
  for (const fs::path& p :
       {run.ncu.parent_path(), real.parent_path(), fs::path("/opt/nvidia/nsight-compute")})
    if (fs::is_directory(p, error) && p != "/bin") q.tools.push_back(p);
  return q;
}

Result<ConfinedPlace> place_of(const ConfinedRequest& request) {
  sandbox::IsolationPolicy policy;
  policy.required = sandbox::Level::namespaces;
  policy.limits = python_limits();
  policy.limits.output_bytes = kOutputBytes;
  FIEL_TRY(ConfinedPlace place, confined_place(request, policy));
  if (place.base == place.stage.path())
    return fail(ErrorCode::environment, "there is no sandbox to run it in",
                "fiel doctor says what bubblewrap lacks");
  return place;
}

Result<CountedOutput> to_its_end(const ConfinedPlace& place, int64_t timeout_ms) {
  FIEL_TRY(const auto child, sandbox::spawn(place.request, place.policy));
  const int64_t deadline = sandbox::now_ms() + timeout_ms;
  while (child->running() && sandbox::now_ms() < deadline) child->pump(100);
  const bool late = child->running();
  if (late) child->kill();
  child->wait(5'000);
  CountedOutput out{child->output, child->exit_code, late ? "out of time" : child->limit};
  if (out.stopped.empty() && child->signal != 0)
    out.stopped = fmt::format("ended by signal {}", child->signal);
  return out;
}

}  // namespace

NcuPlaces ncu_places() {
  NcuPlaces places;
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value ? value : "");
  };
  places.named = variable("FIEL_NCU");
  places.path = variable("PATH");
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"})
    if (const std::string value = variable(name); !value.empty()) places.toolkits.push_back(value);
  if (const auto used = build::find_toolchain()) places.toolkits.push_back(used->root);
  return places;
}

std::optional<fs::path> find_ncu(const NcuPlaces& places) {
  if (!places.named.empty())
    return is_program(places.named) ? std::optional<fs::path>(places.named) : std::nullopt;
  std::vector<fs::path> all;
  // A toolkit's is a script that looks for one of these in places that the sandbox lacks.
  for (const fs::path& version : newest_first(places.nsight)) all.push_back(version / "ncu");
  for (const std::string_view folder : split(places.path, ':'))
    if (fs::path(folder).is_absolute()) all.push_back(fs::path(folder) / "ncu");
  for (const fs::path& root : places.toolkits) all.push_back(root / "bin/ncu");
  const auto found = std::find_if(all.begin(), all.end(), is_program);
  return found == all.end() ? std::nullopt : std::optional<fs::path>(*found);
}

Result<CountedOutput> build_counted(const CountedRun& run) {
  ConfinedRequest without_gpu = run.place;
  without_gpu.device = "cpu";
  without_gpu.device_uuid.clear();
  FIEL_TRY(ConfinedPlace place, place_of(without_gpu));
  place.request.writable = run.program;
  place.request.drop_root = false;  // the folder is ours
  FIEL_TRY(place.request.arguments, compiler_words(run, place));
  return to_its_end(place, run.timeout_ms);
}

Result<CountedOutput> counted_run(const CountedRun& run) {
  FIEL_TRY(ConfinedPlace place, place_of(with_ncu(run)));
  if (run.place.candidate.extension() == ".py") {
    place.request.arguments = module_words(run, place);
  } else {
    place.request.folders.emplace_back(run.call, kCallInside);
    place.request.folders.emplace_back(run.program, kProgramInside);
    place.request.arguments = bare_words(run);
  }
  place.request.loopback = true;  // ncu listens to its program at 127.0.0.1
  return to_its_end(place, run.timeout_ms);
}

}  // namespace fiel::worker
