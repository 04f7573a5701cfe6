#include "worker/python_sandbox.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "base/text.h"
#include "build/toolchain.h"
#include "sandbox/gpu_nodes.h"
#include "worker/python_launch.h"
#include "worker/python_package.h"

namespace fiel::worker {
namespace fs = std::filesystem;
namespace {

constexpr const char* kInside = "/fiel";
constexpr uint64_t kTasks = 4096;  ///< processes and threads: OpenMP takes one a core

uint64_t machine_memory_bytes() {
  return static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
         static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

bool below(const fs::path& path, const fs::path& root) {
  return std::mismatch(root.begin(), root.end(), path.begin(), path.end()).first == root.end();
}

/// May an ordinary user look into it? Root's candidates become one where that is enough.
bool open_to_all(const fs::path& path) {
  struct stat st {};
  for (fs::path p = path; p != p.root_path(); p = p.parent_path())
    if (::stat(p.c_str(), &st) != 0 || !(st.st_mode & (S_ISDIR(st.st_mode) ? S_IXOTH : S_IROTH)))
      return false;
  return true;
}

std::vector<fs::path> library_folders() {
  std::vector<fs::path> out;
  std::error_code ec;
  const char* variable = std::getenv("LD_LIBRARY_PATH");
  for (std::string_view word : split(variable ? variable : "", ':'))
    if (fs::path p(word); p.is_absolute() && fs::is_directory(p, ec)) out.push_back(p);
  return out;
}

/// What it reads beside the system: the Python environment, the CUDA toolkit, driver libraries.
std::vector<fs::path> read_only_folders(const ConfinedRequest& q,
                                        const std::optional<build::Toolchain>& cuda) {
  std::vector<fs::path> all = q.python.roots;
  if (!q.python.executable.empty()) all.push_back(q.python.executable.parent_path());
  if (cuda) all.push_back(cuda->root);
  for (const fs::path& p : library_folders()) all.push_back(p);
  all.insert(all.end(), q.tools.begin(), q.tools.end());
  std::sort(all.begin(), all.end());
  std::vector<fs::path> kept;
  for (const fs::path& p : all)
    if (!below(p, "/usr") && !below(p, "/lib") && (kept.empty() || !below(p, kept.back())))
      kept.push_back(p);
  std::error_code ec;
  // How many processors there are, and for a GPU where it sits; nothing that can be written.
  kept.push_back(q.device == "cpu" ? "/sys/devices/system" : "/sys");
  std::erase_if(kept, [&](const fs::path& p) { return !fs::exists(p, ec); });
  return kept;
}

std::string search_path(const ConfinedRequest& q, const std::optional<build::Toolchain>& cuda) {
  std::string path;
  if (!q.python.executable.empty()) path = q.python.executable.parent_path().string() + ":";
  if (cuda) path += (cuda->root / "bin").string() + ":";
  return path + "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
}

std::vector<std::pair<std::string, std::string>> environment(
    const ConfinedRequest& q, const std::optional<build::Toolchain>& cuda) {
  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::pair<std::string, std::string>> e = {
      {"PATH", search_path(q, cuda)},
      {"LANG", "C.UTF-8"},
      {"USER", "fiel"},  // there is no /etc/passwd to ask
      {"LOGNAME", "fiel"},
      {"HOME", "/tmp"},
      {"TMPDIR", "/tmp"},
      // nvcc needs a gigabyte a process
      {"MAX_JOBS", std::to_string(std::min(cores, 8u))},
      {"TORCHINDUCTOR_COMPILE_THREADS", std::to_string(std::min(cores, 8u))}};
  if (cuda) e.emplace_back("CUDA_HOME", cuda->root.string());
  if (!q.device_uuid.empty()) e.emplace_back("CUDA_VISIBLE_DEVICES", q.device_uuid);
  for (const char* name : {"LD_LIBRARY_PATH", "PYTHONPATH"})
    if (const char* value = std::getenv(name)) e.emplace_back(name, value);
  return e;
}

}  // namespace

sandbox::Limits python_limits() {
  sandbox::Limits limits;
  limits.memory_bytes = std::min<uint64_t>(32ull << 30, machine_memory_bytes() / 2);
  limits.file_bytes = 4ull << 30;
  limits.processes = 256;
  limits.descriptors = 4096;
  limits.cpu_seconds = 6 * 3600;  // over all its threads
  return limits;
}

uint64_t python_tmp_bytes() { return std::min<uint64_t>(8ull << 30, machine_memory_bytes() / 8); }

Result<ConfinedPlace> confined_place(const ConfinedRequest& q,
                                     const sandbox::IsolationPolicy& asked) {
  FIEL_TRY(PythonPackage package, python_package());
  FIEL_TRY(TempDir stage, TempDir::create("fiel-candidate"));
  FIEL_TRY(CandidateFiles files, stage_candidate(stage.path(), q.candidate, q.task, package.path));
  std::optional<build::Toolchain> cuda;
  if (auto found = build::find_toolchain()) cuda = std::move(*found);
  ConfinedPlace place{{}, asked, std::move(stage), {}, std::move(files), q.device, {}};
  sandbox::SpawnRequest& request = place.request;
  request.programs = true;
  request.read_only = read_only_folders(q, cuda);
  request.folders = {{place.stage.path(), kInside}};
  request.tmp_bytes = q.tmp_bytes;
  request.drop_root = std::all_of(request.read_only.begin(), request.read_only.end(), open_to_all);
  if (q.device != "cpu") {
    FIEL_TRY(sandbox::GpuNodes nodes, sandbox::gpu_nodes(q.device_uuid));
    request.devices = nodes.paths;
    place.unconfined_gpu = nodes.missing;
    place.policy.limits.address_space = false;
    if (!q.device_uuid.empty()) place.device = "cuda:0";
  }
  const bool moved = sandbox::uses_namespaces(request, place.policy);
  place.base = moved ? fs::path(kInside) : place.stage.path();
  request.environment = environment(q, cuda);
  return place;
}

Result<ConfinedRunner> start_confined_runner(const ConfinedRequest& q,
                                             const sandbox::IsolationPolicy& asked) {
  FIEL_TRY(ConfinedPlace place, confined_place(q, asked));
  const WorkerSpec spec{Role::runner, q.python, place.device};
  PythonLaunch launch = python_launch(spec, (place.base / place.files.package).string(), kTasks);
  place.request.arguments = std::move(launch.arguments);
  for (auto& variable : launch.variables) place.request.environment.push_back(std::move(variable));
  FIEL_TRY(ChannelEnds ends, make_channel());
  place.request.descriptors = {{ends.theirs.get(), 3}};
  FIEL_TRY(auto child, sandbox::spawn(place.request, place.policy));
  const CandidateFiles& files = place.files;
  ConfinedRunner runner{nullptr, (place.base / files.candidate).string(),
                        files.task.empty() ? "" : (place.base / files.task).string(), place.device,
                        std::move(place.stage)};
  runner.worker = std::make_unique<TorchWorker>(std::move(child), std::move(ends.ours), false);
  if (!place.unconfined_gpu.empty()) runner.worker->add_missing(place.unconfined_gpu);
  return runner;
}

}  // namespace fiel::worker
