#include "build/toolchain.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "base/files.h"
#include "base/process.h"

namespace fiel::build {
namespace fs = std::filesystem;
namespace {

struct Place {
  fs::path nvcc;
  std::string origin;
};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

/// nvcc of the wheels: any python's site-packages below `folder`.
void add_wheels(std::vector<Place>& places, const fs::path& folder) {
  std::error_code ec;
  std::vector<fs::path> candidates = {folder, folder / "site-packages"};
  for (const char* lib : {"lib", "lib64"})
    for (const auto& entry : fs::directory_iterator(folder / lib, ec))
      candidates.push_back(entry.path() / "site-packages");
  for (const fs::path& base : candidates)
    for (const char* release : {"cu13", "cuda_nvcc"})
      places.push_back(
          {base / "nvidia" / release / "bin" / "nvcc", "PyPI wheels in " + folder.string()});
}

/// "cuda-13.0" as {13, 0}: compared as text, cuda-9.2 would be newer than cuda-13.0.
std::pair<int, int> release_of(const fs::path& toolkit) {
  std::pair<int, int> release;
  std::sscanf(toolkit.filename().c_str(), "cuda-%d.%d", &release.first, &release.second);
  return release;
}

/// Toolkits of packages: the one that is called just cuda, then the newest.
void add_installed(std::vector<Place>& places, const fs::path& folder) {
  std::error_code ec;
  std::vector<fs::path> toolkits;
  for (const auto& entry : fs::directory_iterator(folder, ec))
    if (entry.path().filename().string().starts_with("cuda-")) toolkits.push_back(entry.path());
  std::sort(toolkits.begin(), toolkits.end(), [](const fs::path& a, const fs::path& b) {
    return std::pair(release_of(a), a) > std::pair(release_of(b), b);
  });
  toolkits.insert(toolkits.begin(), folder / "cuda");
  for (const fs::path& t : toolkits) places.push_back({t / "bin" / "nvcc", t.string()});
}

std::vector<Place> places_to_look(const fs::path& installed) {
  std::vector<Place> places;
  bool hidden = variable("FIEL_HIDE_CUDA") == "1";
  if (auto v = variable("FIEL_NVCC"); !v.empty() && !hidden) places.push_back({v, "FIEL_NVCC"});
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"})
    if (auto v = variable(name); !v.empty() && !hidden)
      places.push_back({fs::path(v) / "bin" / "nvcc", name});
  if (!hidden) {
    if (auto found = find_program("nvcc")) places.push_back({*found, "PATH"});
    add_installed(places, installed);
  }
  if (auto v = variable("FIEL_CUDA_WHEELS"); !v.empty()) add_wheels(places, v);
  add_wheels(places, cache_dir() / "cuda");
  return places;
}

/// "Cuda compilation tools, release 13.0, V13.0.88"
bool parse_version(const std::string& text, Toolchain& t) {
  size_t at = text.find(", V");
  if (at == std::string::npos) return false;
  t.version = text.substr(at + 3, text.find_first_not_of("0123456789.", at + 3) - at - 3);
  return std::sscanf(t.version.c_str(), "%d.%d", &t.major, &t.minor) == 2;
}

Result<Toolchain> inspect(const Place& place) {
  Toolchain t;
  std::error_code ec;
  t.nvcc = fs::canonical(place.nvcc, ec);
  if (ec) return fail(ErrorCode::not_found, place.nvcc.string() + " does not exist");
  t.root = t.nvcc.parent_path().parent_path();
  t.origin = place.origin;
  ProcessRequest q;
  q.arguments = {t.nvcc.string(), "--version"};
  q.timeout_ms = 20'000;
  FIEL_TRY(ProcessResult r, run_process(q));
  if (!r.ok() || !parse_version(r.out, t))
    return fail(ErrorCode::environment,
                t.nvcc.string() + " --version does not answer as nvcc does");
  return t;
}

}  // namespace

Result<Toolchain> find_toolchain(const fs::path& installed) {
  // Asking nvcc costs 30 ms; the places are looked up anew: the environment may change.
  static std::mutex mutex;
  static std::map<std::string, Toolchain> known;
  std::optional<Error> broken;
  for (const Place& place : places_to_look(installed)) {
    std::error_code ec;
    if (!fs::exists(place.nvcc, ec)) {
      if (place.origin == "FIEL_NVCC")
        return fail(ErrorCode::not_found,
                    fmt::format("FIEL_NVCC names {}, which does not exist", place.nvcc.string()));
      continue;
    }
    std::lock_guard lock(mutex);
    auto& slot = known[place.nvcc.string()];
    if (slot.version.empty()) {
      auto t = inspect(place);
      if (!t) {
        if (!broken) broken = std::move(t).error();
        continue;
      }
      slot = std::move(*t);
    }
    Toolchain found = slot;
    found.origin = place.origin;  // one nvcc may be found in several ways
    return found;
  }
  if (broken) return fail(std::move(*broken));
  return fail(ErrorCode::environment, "no CUDA compiler (nvcc) on this machine",
              "set CUDA_HOME to a toolkit, or bring one from PyPI: python3 -m venv " +
                  (cache_dir() / "cuda").string() + " && " +
                  (cache_dir() / "cuda" / "bin" / "pip").string() +
                  " install nvidia-cuda-nvcc nvidia-nvvm nvidia-cuda-crt nvidia-cuda-runtime "
                  "nvidia-cuda-cccl");
}

}  // namespace fiel::build
