#include "kernel/work_folder.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/files.h"
#include "base/hash.h"

namespace fiel::kernel {
namespace fs = std::filesystem;
namespace {

constexpr uint64_t kMaxFolderBytes = 64u << 20, kMaxTextBytes = 16u << 20;
constexpr size_t kMaxFiles = 1000;
constexpr std::string_view kFirstLine = "==== files of a work folder\n";
constexpr std::string_view kFile = "==== ", kNotKept = ", not kept, SHA-256 ";

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

/// The text may come from a store that anybody has written.
bool stays_inside(const fs::path& path) {
  if (path.empty() || path.is_absolute()) return false;
  return std::none_of(path.begin(), path.end(),
                      [](const fs::path& part) { return part == ".." || part == "."; });
}

/// "==== kernels/a.cu, 123 bytes" and what belongs to it, taken off the text.
std::optional<WorkFile> next_file(std::string_view& rest) {
  const size_t end = rest.find('\n');
  if (!rest.starts_with(kFile) || end == std::string_view::npos) return std::nullopt;
  std::string_view line = rest.substr(kFile.size(), end - kFile.size());
  rest.remove_prefix(end + 1);
  WorkFile file;
  if (const size_t mark = line.rfind(kNotKept); mark != std::string_view::npos) {
    file.kept = false;
    line = line.substr(0, mark);
  }
  const size_t comma = line.rfind(", ");
  if (comma == std::string_view::npos || !line.ends_with(" bytes")) return std::nullopt;
  file.path = std::string(line.substr(0, comma));
  uint64_t bytes = 0;
  std::from_chars(line.data() + comma + 2, line.data() + line.size(), bytes);
  if (!stays_inside(file.path)) return std::nullopt;
  if (!file.kept) return file;
  if (bytes >= rest.size()) return std::nullopt;  // a line's end follows
  file.text = rest.substr(0, bytes);
  rest.remove_prefix(bytes + 1);
  return file;
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

Result<std::string> work_folder_text(const fs::path& folder) {
  FIEL_TRY(const auto files, files_of(folder));
  std::string text(kFirstLine);
  for (const fs::path& file : files) {
    FIEL_TRY(const std::string bytes, read_file(file, kMaxFolderBytes));
    const std::string name = file.lexically_relative(folder).generic_string();
    if (name.find('\n') != std::string::npos)
      return fail(ErrorCode::unsupported,
                  folder.string() + " has a file with a line's end in its name");
    text += fmt::format("{}{}, {} bytes", kFile, name, bytes.size());
    const bool kept =
        bytes.find('\0') == std::string::npos && text.size() + bytes.size() <= kMaxTextBytes;
    text += kept ? "\n" + bytes + "\n" : fmt::format("{}{}\n", kNotKept, sha256_hex(bytes));
  }
  return text;
}

std::vector<WorkFile> work_files(std::string_view text) {
  std::vector<WorkFile> files;
  if (!text.starts_with(kFirstLine)) return files;
  text.remove_prefix(kFirstLine.size());
  while (!text.empty()) {
    auto file = next_file(text);
    if (!file) return {};
    files.push_back(std::move(*file));
  }
  return files;
}

Status write_work_folder(std::string_view text, const fs::path& folder) {
  for (const WorkFile& file : work_files(text)) {
    if (!file.kept)
      return fail(ErrorCode::not_found,
                  fmt::format("of {} the store holds no more than its digest", file.path));
    std::error_code ec;
    fs::create_directories((folder / file.path).parent_path(), ec);
    FIEL_TRY_STATUS(write_file_atomic(folder / file.path, file.text));
  }
  return {};
}

}  // namespace fiel::kernel
