#include "cli/kernel_files.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "kernel/torch_kernel.h"

namespace fiel::cli {
namespace {

namespace fs = std::filesystem;

bool is_kernel(const fs::path& path) {
  return path.extension() == ".cu" || path.filename().string().ends_with(".plan.toml");
}

Error missing(const std::string& word) {
  std::error_code link_error;
  if (fs::is_symlink(word, link_error))
    return Error{ErrorCode::not_found,
                 fmt::format("'{}' is a link that leads to no file", printable(word, 300)),
                 "",
                 {}};
  std::vector<std::string> beside;
  std::error_code error;
  const fs::path folder = fs::path(word).has_parent_path() ? fs::path(word).parent_path() : ".";
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (beside.size() > 1000) break;
    beside.push_back(it->path().filename().string());
  }
  const std::string near = did_you_mean(fs::path(word).filename().string(), beside);
  return Error{ErrorCode::not_found,
               fmt::format("there is no kernel '{}'", printable(word, 300)),
               near.empty() ? "" : fmt::format("did you mean '{}'?", (folder / near).string()),
               {}};
}

}  // namespace

Result<KernelFiles> find_kernels(const std::vector<std::string>& words, bool python) {
  KernelFiles files;
  files.several = words.size() > 1;
  for (const std::string& word : words) {
    std::error_code error;
    // A work folder is one kernel of several files.
    const bool one = python && kernel::is_torch_kernel(word);
    if (!one && fs::is_directory(word, error)) {
      files.several = true;
      std::vector<std::string> inside;
      for (fs::directory_iterator it(word, error), end; !error && it != end; it.increment(error))
        if (is_kernel(it->path()) || (python && kernel::is_torch_kernel(it->path())))
          inside.push_back(it->path().string());
      std::sort(inside.begin(), inside.end());
      files.paths.insert(files.paths.end(), inside.begin(), inside.end());
      continue;
    }
    if (!fs::exists(word, error)) return fail(missing(word));
    files.paths.push_back(word);
  }
  return files;
}

}  // namespace fiel::cli
