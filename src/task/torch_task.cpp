#include "task/torch_task.h"

#include <fmt/core.h>

#include "base/files.h"
#include "base/hash.h"
#include "base/python_outline.h"

namespace fiel::task {
namespace {

constexpr uint64_t kMaxBytes = 8u << 20;  // as the workers have it

std::string missing_names(const PythonOutline& outline) {
  std::string missing;
  auto need = [&](bool there, const char* what) {
    if (!there) missing += (missing.empty() ? "" : ", ") + std::string(what);
  };
  need(outline.defines("Model"), "class Model");
  need(outline.defines("get_inputs"), "def get_inputs");
  return missing;
}

}  // namespace

bool is_torch_task(const std::filesystem::path& path) {
  if (path.extension() != ".py") return false;
  auto text = read_file(path, kMaxBytes);
  return text && missing_names(python_outline(*text)).empty();
}

Result<TorchTask> load_torch_task(const std::filesystem::path& path) {
  FIEL_TRY(std::string text, read_file(path, kMaxBytes));
  const PythonOutline outline = python_outline(text);
  if (std::string missing = missing_names(outline); !missing.empty())
    return fail(ErrorCode::parse,
                fmt::format("{} is no PyTorch task: it lacks {}", path.string(), missing),
                outline.defines("ModelNew")
                    ? "it defines ModelNew, so it is a kernel: name the task before it"
                    : "a task defines class Model, get_inputs and get_init_inputs (KernelBench's "
                      "format)");
  return TorchTask{path, path.stem().string(), sha256_hex(text)};
}

}  // namespace fiel::task
