#include "worker/candidate_files.h"

#include "base/files.h"

namespace fiel::worker {
namespace fs = std::filesystem;
namespace {

constexpr uint64_t kMaxBytes = 64u << 20;
constexpr int kMaxFiles = 4096;
constexpr auto kReadable = static_cast<fs::perms>(0644), kOpen = static_cast<fs::perms>(0755);

Status make_folder(const fs::path& folder) {
  std::error_code ec;
  fs::create_directories(folder, ec);
  fs::permissions(folder, kOpen, ec);
  if (ec) return fail(ErrorCode::io, "cannot make " + folder.string() + ": " + ec.message());
  return {};
}

Status stage_file(const fs::path& from, const fs::path& to) {
  FIEL_TRY(std::string bytes, read_file(from, kMaxBytes));
  FIEL_TRY_STATUS(write_file_atomic(to, bytes));
  std::error_code ec;
  fs::permissions(to, kReadable, ec);
  return {};
}

Status copy_folder(const fs::path& from, const fs::path& to) {
  uint64_t bytes = 0;
  int files = 0;
  std::error_code ec;
  FIEL_TRY_STATUS(make_folder(to));
  for (auto it = fs::recursive_directory_iterator(from, ec); !ec && it != fs::end(it);
       it.increment(ec)) {
    const fs::path target = to / it->path().lexically_relative(from);
    const bool link = it->is_symlink(ec);
    if (!link && it->is_directory(ec)) FIEL_TRY_STATUS(make_folder(target));
    if (link || !it->is_regular_file(ec)) continue;
    bytes += it->file_size(ec);
    if (++files > kMaxFiles || bytes > kMaxBytes)
      return fail(ErrorCode::limit, from.string() + " holds over 64 MiB or 4,096 files");
    FIEL_TRY_STATUS(stage_file(it->path(), target));
  }
  if (ec) return fail(ErrorCode::io, "cannot read " + from.string() + ": " + ec.message());
  return {};
}

Status copy_any(const fs::path& from, const fs::path& to) {
  std::error_code ec;
  FIEL_TRY_STATUS(make_folder(to.parent_path()));
  return fs::is_directory(from, ec) ? copy_folder(from, to) : stage_file(from, to);
}

}  // namespace

Result<CandidateFiles> stage_candidate(const fs::path& stage, const fs::path& candidate,
                                       const fs::path& task, const fs::path& package) {
  FIEL_TRY_STATUS(make_folder(stage));
  CandidateFiles files;
  std::error_code ec;
  files.package = fs::is_directory(package, ec) ? "python" : "python.zip";
  FIEL_TRY_STATUS(copy_any(package, stage / files.package));
  // "." and "folder/" have no name of their own.
  const fs::path whole = fs::weakly_canonical(candidate, ec);
  files.candidate = fs::path("candidate") / whole.filename();
  FIEL_TRY_STATUS(copy_any(candidate, stage / files.candidate));
  if (task.empty()) return files;
  files.task = fs::path("task") / task.filename();
  FIEL_TRY_STATUS(copy_any(task, stage / files.task));
  return files;
}

}  // namespace fiel::worker
