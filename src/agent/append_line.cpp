#include "agent/append_line.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/files.h"
#include "base/text.h"

namespace fiel::agent {
namespace fs = std::filesystem;
namespace {

/// All of it, and with `sync` on the disk; else what went wrong. A disk that fills takes a part
/// first and refuses the rest.
int store(int fd, std::string_view bytes, bool sync) {
  if (const int why = write_all(fd, bytes); why != 0) return why;
  // Not every file can be synced (EINVAL: a pipe); where it can, what could not be stored is lost.
  if (sync && ::fdatasync(fd) != 0 && errno != EINVAL) return errno;
  return 0;
}

}  // namespace

Status append_line(const fs::path& file, const std::string& line, bool sync) {
  const auto failure = [&](int why) {
    return fail(ErrorCode::io,
                fmt::format("cannot write {}: {}", file.string(), std::strerror(why)));
  };
  const Fd fd(::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  struct stat before = {};
  if (!fd || ::fstat(fd.get(), &before) != 0) return failure(errno);
  const int why = store(fd.get(), line + "\n", sync);
  if (why == 0) return {};
  // Nothing stays of it: the next line would grow onto the piece, and no reader take either.
  if (S_ISREG(before.st_mode) && ::ftruncate(fd.get(), before.st_size) != 0) return failure(errno);
  return failure(why);
}

Result<std::vector<std::string>> whole_lines(const fs::path& file, uint64_t max_bytes) {
  std::vector<std::string> lines;
  std::error_code error;
  if (!fs::exists(file, error)) return lines;
  FIEL_TRY(std::string text, read_file(file, max_bytes));
  const size_t end = text.rfind('\n');
  const size_t whole = end == std::string::npos ? 0 : end + 1;
  if (whole < text.size()) fs::resize_file(file, whole, error);
  text.resize(whole);
  for (const std::string_view line : split(text, '\n'))
    if (!trim(line).empty()) lines.emplace_back(line);
  return lines;
}

}  // namespace fiel::agent
