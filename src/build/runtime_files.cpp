#include "build/runtime_files.h"

#include <sys/stat.h>

#include "base/files.h"
#include "base/hash.h"

extern "C" {
extern const char fiel_runtime_library_begin[], fiel_runtime_library_end[];
extern const char fiel_runner_begin[], fiel_runner_end[];
extern const char fiel_kernel_header_begin[], fiel_kernel_header_end[];
extern const char fiel_counted_call_begin[], fiel_counted_call_end[];
}

namespace fiel::build {
namespace fs = std::filesystem;
namespace {

std::string_view embedded_runner() {
  return {fiel_runner_begin, static_cast<size_t>(fiel_runner_end - fiel_runner_begin)};
}

Status extract(const fs::path& path, std::string_view bytes, mode_t mode) {
  std::error_code ec;
  if (fs::file_size(path, ec) == bytes.size() && !ec) {
    auto now = read_file(path);
    if (now && *now == bytes) return {};
  }
  fs::create_directories(path.parent_path(), ec);
  FIEL_TRY_STATUS(write_file_atomic(path, bytes));
  ::chmod(path.c_str(), mode);
  return {};
}

Result<RuntimeFiles> extract_all(const fs::path& cache) {
  RuntimeFiles f;
  f.digest = Digest()
                 .add(embedded_library())
                 .add(embedded_runner())
                 .add(embedded_kernel_header())
                 .hex()
                 .substr(0, 16);
  f.folder = cache / "runtime" / f.digest;
  f.library = f.folder / "libcudart.so.13";
  f.runner = f.folder / "fiel-runner";
  f.include_dir = f.folder / "include";
  FIEL_TRY_STATUS(extract(f.library, embedded_library(), 0644));
  FIEL_TRY_STATUS(extract(f.runner, embedded_runner(), 0755));
  FIEL_TRY_STATUS(extract(f.include_dir / "fiel" / "kernel.h", embedded_kernel_header(), 0644));
  return f;
}

}  // namespace

std::string_view embedded_library() {
  return {fiel_runtime_library_begin,
          static_cast<size_t>(fiel_runtime_library_end - fiel_runtime_library_begin)};
}
std::string_view embedded_kernel_header() {
  return {fiel_kernel_header_begin,
          static_cast<size_t>(fiel_kernel_header_end - fiel_kernel_header_begin)};
}
std::string_view embedded_counted_call() {
  return {fiel_counted_call_begin,
          static_cast<size_t>(fiel_counted_call_end - fiel_counted_call_begin)};
}

Result<RuntimeFiles> runtime_files() {
  // A cache that cannot be written may have been filled by somebody who could.
  auto files = extract_all(cache_dir());
  if (files) return files;
  FIEL_TRY(const fs::path spare, writable_cache_dir());
  files = extract_all(spare);
  if (!files)
    return fail(std::move(files).error().with_context(
        "extracting Fiel's runtime library to " + spare.string() +
        " (set FIEL_CACHE to a folder that can be written)"));
  return files;
}

}  // namespace fiel::build
