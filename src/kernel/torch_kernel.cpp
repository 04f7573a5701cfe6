#include "kernel/torch_kernel.h"

#include <fmt/core.h>

#include "base/files.h"
#include "base/hash.h"
#include "base/python_outline.h"
#include "kernel/work_folder.h"

namespace fiel::kernel {
namespace fs = std::filesystem;
namespace {

constexpr uint64_t kMaxSourceBytes = 8u << 20;

Status defines_kernel(const fs::path& file, const std::string& text) {
  const PythonOutline outline = python_outline(text);
  if (outline.defines("ModelNew")) return {};
  return fail(
      ErrorCode::parse, fmt::format("{} is no kernel: it defines no ModelNew", file.string()),
      outline.defines("Model") ? "it defines Model, so it is a task: name it first, then the "
                                 "kernel"
                               : "a kernel defines class ModelNew (KernelBench's format)");
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

bool is_work_folder(const fs::path& path) {
  std::error_code ec;
  return fs::is_regular_file(path / "model_new.py", ec);
}

bool is_torch_kernel(const fs::path& path) {
  return path.extension() == ".py" || is_work_folder(path);
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
