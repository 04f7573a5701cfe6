#include "agent/append_line.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/files.h"
#include "base/text.h"

namespace fiel::agent {
namespace fs = std::filesystem;

Status append_line(const fs::path& file, const std::string& line, bool sync) {
  const std::string bytes = line + "\n";
  Fd fd(::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!fd || ::write(fd.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
    return fail(ErrorCode::io,
                fmt::format("cannot write {}: {}", file.string(), std::strerror(errno)));
  if (sync) ::fdatasync(fd.get());
  return {};
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
