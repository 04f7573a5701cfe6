// fiel cache: what is kept between runs (compiled kernels, a toolkit from PyPI), and how to be rid
// of it.
#include <fmt/core.h>

#include <filesystem>
#include <map>

#include "base/files.h"
#include "base/text.h"
#include "build/cache.h"
#include "cli/command.h"

namespace fiel::cli {
namespace {

namespace fs = std::filesystem;

/// By first folder below the cache; files that lie in the cache itself are ".".
std::map<std::string, build::FolderUsage> usage_of(const fs::path& root) {
  std::map<std::string, build::FolderUsage> by_folder;
  std::error_code error;
  for (fs::directory_iterator it(root, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (it->is_symlink(ignored)) continue;
    if (it->is_directory(ignored)) {
      const build::FolderUsage below = build::usage_below(it->path());
      if (below.files != 0) by_folder[it->path().filename().string()] = below;
    } else if (it->is_regular_file(ignored)) {
      build::FolderUsage& here = by_folder["."];
      ++here.files;
      const auto size = it->file_size(ignored);
      if (!ignored) here.bytes += size;
    }
  }
  return by_folder;
}

Result<int> stats(const Arguments& arguments, const Context& context) {
  const fs::path root = cache_dir();
  const auto by_folder = usage_of(root);
  build::FolderUsage total;
  for (const auto& [name, u] : by_folder) total.files += u.files, total.bytes += u.bytes;
  if (arguments.has("--json")) {
    Json j = Json::object();
    j["schema_version"] = 1;
    j["path"] = root.string();
    j["files"] = total.files;
    j["bytes"] = total.bytes;
    j["folders"] = Json::object();
    for (const auto& [name, u] : by_folder)
      j["folders"][name] = Json::object({{"files", Json(u.files)}, {"bytes", Json(u.bytes)}});
    context.print_json(j);
    return 0;
  }
  context.print(fmt::format("{}\n", root.string()));
  for (const auto& [name, u] : by_folder)
    context.print(fmt::format("  {:<20}{:>8} files  {:>12}\n", printable(name, 60), u.files,
                              format_bytes(u.bytes)));
  context.print(fmt::format("  {:<20}{:>8} files  {:>12}\n", "total", total.files,
                            format_bytes(total.bytes)));
  return 0;
}

Result<int> clear(const Arguments& arguments, const Context& context) {
  const fs::path root = cache_dir();
  build::FolderUsage total;
  for (const auto& [name, u] : usage_of(root)) total.files += u.files, total.bytes += u.bytes;
  std::error_code error;
  // Only what is inside goes: the folder itself may be a mount or somebody's choice.
  for (fs::directory_iterator it(root, error), end; !error && it != end; it.increment(error)) {
    std::error_code failed;
    fs::remove_all(it->path(), failed);
    if (failed)
      return fail(ErrorCode::io,
                  fmt::format("cannot remove '{}': {}", it->path().string(), failed.message()));
  }
  if (arguments.has("--json")) {
    Json j = Json::object();
    j["schema_version"] = 1;
    j["path"] = root.string();
    j["removed_files"] = total.files;
    j["removed_bytes"] = total.bytes;
    context.print_json(j);
  } else {
    context.print(fmt::format("removed {} files, {}\n", total.files, format_bytes(total.bytes)));
  }
  return 0;
}

Result<int> run(const Arguments& arguments, const Context& context) {
  const std::string what = arguments.positional.empty() ? "stats" : arguments.positional[0];
  if (arguments.positional.size() > 1)
    return fail(ErrorCode::usage, "'fiel cache' takes one of: stats, clear, path");
  if (what == "stats") return stats(arguments, context);
  if (what == "clear") return clear(arguments, context);
  if (what == "path") {
    if (arguments.has("--json")) {
      context.print_json(
          Json::object({{"schema_version", Json(1)}, {"path", Json(cache_dir().string())}}));
    } else {
      context.print(cache_dir().string() + "\n");
    }
    return 0;
  }
  const std::vector<std::string> known{"stats", "clear", "path"};
  const std::string near = did_you_mean(what, known);
  return fail(
      ErrorCode::usage, fmt::format("'fiel cache' does not know '{}'", printable(what, 60)),
      near.empty() ? "it knows: stats, clear, path" : fmt::format("did you mean '{}'?", near));
}

}  // namespace

Command cache_command() {
  return {{"cache",
           "stats | clear | path",
           "compiled kernels and other things kept between runs",
           {kJsonFlag},
           "The folder is $FIEL_CACHE, else $XDG_CACHE_HOME/fiel, else ~/.cache/fiel."},
          run};
}

}  // namespace fiel::cli
