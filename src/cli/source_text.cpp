#include "cli/source_text.h"

#include <filesystem>

#include "base/files.h"
#include "base/hash.h"
#include "kernel/work_folder.h"

namespace fiel::cli {
namespace {

constexpr uint64_t kMaxSource = 16u << 20;

}  // namespace

Result<std::string> source_text(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return kernel::work_folder_text(path);
  return read_file(path, kMaxSource);
}

bool is_unchanged(const std::string& path, const std::string& digest) {
  const auto text = source_text(path);
  if (digest.empty()) return !text || text->empty();
  return text && sha256_hex(*text) == digest;
}

}  // namespace fiel::cli
