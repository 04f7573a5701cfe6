#include "agent/workspace/folder.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/text.h"

namespace fiel::agent {
namespace fs = std::filesystem;
namespace {

constexpr size_t kMaxPathBytes = 1024;

Error refused(std::string_view name, const char* why, std::string hint = {}) {
  return {ErrorCode::usage, fmt::format("{}: {}", printable(name, 200), why), std::move(hint), {}};
}

}  // namespace

Result<std::string> plain_relative(std::string_view name) {
  if (name.empty() || name.size() > kMaxPathBytes) return fail(refused(name, "is no file name"));
  if (name.front() == '/')
    return fail(refused(name, "is outside the workspace", "name it relative to the workspace"));
  std::string out;
  for (const std::string_view part : split(name, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == "..") return fail(refused(name, "leads out of the workspace"));
    for (const char c : part)
      if (static_cast<unsigned char>(c) < 0x20) return fail(refused(name, "is no file name"));
    out += (out.empty() ? "" : "/") + std::string(part);
  }
  if (out.empty()) return fail(refused(name, "is no file"));
  return out;
}

Result<Folder> Folder::open(const fs::path& path) {
  Folder f;
  std::error_code error;
  f.path_ = fs::absolute(path, error);
  f.fd_ = Fd(::open(f.path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!f.fd_)
    return fail(ErrorCode::not_found,
                fmt::format("{}: {}", printable(path.string(), 300), std::strerror(errno)));
  return f;
}

Result<Folder::Place> Folder::place(std::string_view name, bool make_folders) const {
  FIEL_TRY(const std::string plain, plain_relative(name));
  std::vector<std::string_view> parts = split(plain, '/');
  Place at{Fd(::fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0)), std::string(parts.back())};
  parts.pop_back();
  for (const std::string_view part : parts) {
    const std::string folder(part);
    if (make_folders) ::mkdirat(at.folder.get(), folder.c_str(), 0755);
    at.folder = Fd(
        ::openat(at.folder.get(), folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!at.folder) return fail(refused(name, std::strerror(errno)));
  }
  return at;
}

Result<std::string> Folder::read(std::string_view name, uint64_t max_bytes) const {
  FIEL_TRY(const Place at, place(name, false));
  // O_NONBLOCK: opening a pipe that the other side left there must not wait.
  Fd fd(::openat(at.folder.get(), at.name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat about = {};
  if (!fd || ::fstat(fd.get(), &about) != 0) return fail(refused(name, std::strerror(errno)));
  if (!S_ISREG(about.st_mode)) return fail(refused(name, "is no regular file"));
  std::string text;
  char buffer[1 << 16];
  for (ssize_t n = 1; n > 0;) {
    n = ::read(fd.get(), buffer, sizeof buffer);
    if (n < 0) return fail(refused(name, std::strerror(errno)));
    text.append(buffer, static_cast<size_t>(n));
    if (text.size() > max_bytes)
      return fail(ErrorCode::limit,
                  fmt::format("{}: longer than {}", printable(name, 200), format_bytes(max_bytes)));
  }
  return text;
}

Status Folder::write(std::string_view name, std::string_view bytes, mode_t mode) const {
  FIEL_TRY(const Place at, place(name, true));
  const std::string beside = fmt::format(".{}.{}", at.name.substr(0, 200), ::getpid());
  Fd fd(::openat(at.folder.get(), beside.c_str(),
                 O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, mode));
  bool good = fd && ::fchmod(fd.get(), mode) == 0;
  if (const int why = good ? write_all(fd.get(), bytes) : 0; why != 0) {
    good = false;
    errno = why;
  }
  if (good && ::renameat(at.folder.get(), beside.c_str(), at.folder.get(), at.name.c_str()) == 0)
    return {};
  const int why = errno;
  ::unlinkat(at.folder.get(), beside.c_str(), 0);
  return fail(refused(name, std::strerror(why)));
}

bool Folder::exists(std::string_view name) const {
  const auto at = place(name, false);
  struct stat about = {};
  return at && ::fstatat(at->folder.get(), at->name.c_str(), &about, AT_SYMLINK_NOFOLLOW) == 0;
}

std::vector<std::string> Folder::files(size_t max_files) const {
  std::vector<std::string> out;
  std::error_code error;
  fs::recursive_directory_iterator it(path_, fs::directory_options::skip_permission_denied, error);
  // Entries of every kind are counted: a million folders must end, too.
  for (size_t seen = 0; !error && it != fs::end(it) && out.size() < max_files && seen < 100'000;
       it.increment(error), ++seen) {
    const std::string name = it->path().filename().string();
    if (it->is_symlink(error)) continue;
    if (it->is_directory(error)) {
      if (name.starts_with('.') || it.depth() > 16) it.disable_recursion_pending();
      continue;
    }
    if (it->is_regular_file(error)) out.push_back(fs::path(it->path()).lexically_relative(path_));
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace fiel::agent
