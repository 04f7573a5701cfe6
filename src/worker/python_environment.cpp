#include "worker/python_environment.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>

#include "base/files.h"
#include "base/json.h"
#include "base/process.h"
#include "base/text.h"

namespace fiel::worker {
namespace fs = std::filesystem;
namespace {

// sys.path[0] is the working folder under -c: nothing may be found there.
constexpr const char* kQuestion = R"(import json, os, sys, sysconfig
sys.path = [p for p in sys.path if p]
import importlib.util as util, importlib.metadata as metadata
spec = util.find_spec("torch")
paths = [sys.prefix, sys.base_prefix, os.path.dirname(os.path.realpath(sys.executable))]
paths += [sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")] + sys.path
print(json.dumps({"version": sys.version.split()[0], "paths": paths,
    "torch": metadata.version("torch") if spec else ""}))
)";

struct Place {
  fs::path executable;
  std::string origin;
};

std::vector<Place> places_to_look(const std::string& named) {
  auto resolved = [](const std::string& word) -> fs::path {
    if (word.find('/') != std::string::npos) return fs::absolute(word);
    return find_program(word).value_or(word);
  };
  if (!named.empty()) return {{resolved(named), "--python"}};
  if (const char* v = std::getenv("FIEL_PYTHON"); v && *v) return {{resolved(v), "FIEL_PYTHON"}};
  std::vector<Place> places;
  if (auto found = find_program("python3")) places.push_back({*found, "PATH"});
  if (const char* v = std::getenv("FIEL_VENV"); v && *v)
    places.push_back({fs::absolute(v) / "bin" / "python", "FIEL_VENV"});
  places.push_back({cache_dir() / "venv" / "bin" / "python", "cache"});
  return places;
}

/// Existing folders, sorted, without those that lie below another of them.
std::vector<fs::path> folders_of(const Json::Array& paths) {
  std::vector<fs::path> all;
  std::error_code ec;
  for (const Json& p : paths)
    if (fs::path path = fs::path(p.as_string()).lexically_normal();
        path.is_absolute() && path != "/" && fs::exists(path, ec))
      all.push_back(path);
  std::sort(all.begin(), all.end());
  std::vector<fs::path> kept;
  for (const fs::path& path : all)
    if (kept.empty() ||
        std::mismatch(kept.back().begin(), kept.back().end(), path.begin(), path.end()).first !=
            kept.back().end())
      kept.push_back(path);
  return kept;
}

Result<PythonEnvironment> inspect(const Place& place) {
  ProcessRequest q;
  q.arguments = {place.executable.string(), "-c", kQuestion};
  q.timeout_ms = 120'000;  // a first import, from a cold disk
  FIEL_TRY(ProcessResult r, run_process(q));
  auto answer = r.ok() ? Json::parse(r.out) : fail(ErrorCode::environment, "");
  if (!answer || (*answer)["version"].as_string().empty())
    return fail(ErrorCode::environment,
                fmt::format("{} does not answer as Python 3 does: {}", place.executable.string(),
                            printable(trim(r.err), 200)));
  PythonEnvironment e;
  e.executable = place.executable;
  e.origin = place.origin;
  e.version = (*answer)["version"].as_string();
  e.torch = (*answer)["torch"].as_string();
  e.roots = folders_of((*answer)["paths"].items());
  if (e.torch.empty())
    return fail(ErrorCode::environment,
                fmt::format("{} (Python {}) has no torch", place.executable.string(), e.version),
                python_remedy());
  return e;
}

}  // namespace

std::string python_remedy() {
  const std::string venv = (cache_dir() / "venv").string();
  return fmt::format(
      "python3 -m venv {0} && {0}/bin/python -m pip install torch numpy (5 GB), or "
      "name one that has torch: --python or FIEL_PYTHON",
      venv);
}

Result<PythonEnvironment> find_python(const std::string& named) {
  static std::mutex mutex;
  static std::map<std::string, PythonEnvironment> known;
  std::optional<Error> first;
  const std::vector<Place> places = places_to_look(named);
  std::lock_guard lock(mutex);
  for (const Place& place : places) {
    const std::string key = place.executable.string();
    if (auto it = known.find(key); it != known.end()) return it->second;
    std::error_code ec;
    if (!fs::exists(place.executable, ec)) {
      if (places.size() == 1)
        return fail(ErrorCode::not_found,
                    fmt::format("{} names {}, which does not exist", place.origin, key),
                    python_remedy());
      continue;
    }
    auto e = inspect(place);
    if (e) return known[key] = std::move(*e);
    if (!first) first = std::move(e).error();
  }
  if (first) return fail(std::move(*first));
  return fail(ErrorCode::environment, "no Python with PyTorch on this machine", python_remedy());
}

}  // namespace fiel::worker
