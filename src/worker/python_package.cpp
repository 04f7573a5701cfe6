#include "worker/python_package.h"

#include <cstdlib>
#include <string_view>

#include "base/files.h"
#include "base/hash.h"

extern "C" {
extern const char fiel_python_package_begin[], fiel_python_package_end[];
}

namespace fiel::worker {
namespace fs = std::filesystem;

Result<PythonPackage> python_package() {
  std::error_code ec;
  if (const char* source = std::getenv("FIEL_WORKER_PYTHON"); source && *source) {
    const fs::path folder = fs::absolute(source, ec);
    if (!fs::exists(folder / "fiel_worker" / "__main__.py", ec))
      return fail(ErrorCode::not_found,
                  "FIEL_WORKER_PYTHON names " + folder.string() + ", which holds no fiel_worker",
                  "name the folder src/worker/python of Fiel's sources, or unset it");
    return PythonPackage{folder, "source"};
  }
  const std::string_view bytes(
      fiel_python_package_begin,
      static_cast<size_t>(fiel_python_package_end - fiel_python_package_begin));
  PythonPackage package;
  package.digest = sha256_hex(bytes).substr(0, 16);
  package.path = cache_dir() / "python" / (package.digest + ".zip");
  // The bytes decide, not the name: whatever happened to the cache, this is what runs.
  if (auto now = read_file(package.path); now && *now == bytes) return package;
  fs::create_directories(package.path.parent_path(), ec);
  if (auto written = write_file_atomic(package.path, bytes); !written)
    return fail(std::move(written).error().with_context(
        "writing Fiel's Python package (set FIEL_CACHE to a folder that can be written)"));
  return package;
}

}  // namespace fiel::worker
