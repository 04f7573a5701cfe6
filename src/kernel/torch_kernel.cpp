#include "kernel/torch_kernel.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "base/files.h"
#include "base/hash.h"
#include "base/python_outline.h"

namespace fiel::kernel {
namespace fs = std::filesystem;
namespace {

constexpr uint64_t kMaxSourceBytes = 8u << 20, kMaxFolderBytes = 64u << 20;
constexpr size_t kMaxFiles = 1000;

Status defines_kernel(const fs::path& file, const std::string& text) {
  const PythonOutline outline = python_outline(text);
  if (outline.defines("ModelNew")) return {};
  return fail(
      ErrorCode::parse, fmt::format("{} is no kernel: it defines no ModelNew", file.string()),
      outline.defines("Model") ? "it defines Model, so it is a task: name it first, then the "
                                 "kernel"
                               : "a kernel defines class ModelNew (KernelBench's format)");
}

/// The folder's files, links left out, in the order of their names.
Result<std::vector<fs::path>> files_of(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code ec;
  uint64_t bytes = 0;
  for (auto it = fs::recursive_directory_iterator(folder, ec); !ec && it != fs::end(it);
       it.increment(ec)) {
    if (it->is_symlink(ec) || !it->is_regular_file(ec)) continue;
    bytes += it->file_size(ec);
    files.push_back(it->path());
    if (files.size() > kMaxFiles || bytes > kMaxFolderBytes)
      return fail(ErrorCode::limit, folder.string() + " holds over 64 MiB or 1,000 files");
  }
  if (ec) return fail(ErrorCode::io, "cannot read " + folder.string() + ": " + ec.message());
  std::sort(files.begin(), files.end());
  return files;
}

Result<TorchKernel> load_folder(TorchKernel k) {
  k.kind = TorchKernelKind::folder;
  FIEL_TRY(std::string source, read_file(k.path / "model_new.py", kMaxSourceBytes));
  FIEL_TRY_STATUS(defines_kernel(k.path / "model_new.py", source));
  FIEL_TRY(k.digest, work_folder_digest(k.path));
  std::error_code ec;
  if (fs::is_regular_file(k.path / "model.py", ec)) k.task = k.path / "model.py";
  return k;
}

}  // namespace

Result<std::string> work_folder_digest(const fs::path& folder) {
  FIEL_TRY(const auto files, files_of(folder));
  Digest digest;
  for (const fs::path& file : files) {
    FIEL_TRY(const std::string bytes, read_file(file, kMaxFolderBytes));
    digest.add(file.lexically_relative(folder).generic_string()).add(bytes);
  }
  return digest.hex();
}

bool is_torch_kernel(const fs::path& path) {
  std::error_code ec;
  return path.extension() == ".py" || fs::is_regular_file(path / "model_new.py", ec);
}

Result<TorchKernel> load_torch_kernel(const fs::path& path) {
  std::error_code ec;
  if (!fs::exists(path, ec)) return fail(ErrorCode::not_found, "no kernel " + path.string());
  TorchKernel k;
  k.path = path;
  if (fs::is_directory(path, ec)) return load_folder(std::move(k));
  FIEL_TRY(std::string source, read_file(path, kMaxSourceBytes));
  FIEL_TRY_STATUS(defines_kernel(path, source));
  k.digest = Digest().add(path.filename().string()).add(source).hex();
  return k;
}

}  // namespace fiel::kernel
