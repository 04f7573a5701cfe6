#include "base/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>

namespace fiel {
namespace fs = std::filesystem;
namespace {

Error system_error(const std::string& what) {
  ErrorCode code = errno == ENOENT ? ErrorCode::not_found : ErrorCode::io;
  return {code, what + ": " + std::strerror(errno), {}, {}};
}

}  // namespace

int write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n == 0 ? EIO : errno;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return 0;
}

void Fd::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Result<std::string> read_file(const fs::path& path, uint64_t max_bytes) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return fail(system_error("cannot open " + path.string()));
  struct stat st {};
  if (::fstat(fd.get(), &st) != 0) return fail(system_error("cannot stat " + path.string()));
  if (!S_ISREG(st.st_mode)) return fail(ErrorCode::io, path.string() + " is not a regular file");
  std::string out;
  char buffer[1 << 16];
  for (;;) {
    ssize_t n = ::read(fd.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(system_error("cannot read " + path.string()));
    if (n == 0) return out;
    if (out.size() + static_cast<size_t>(n) > max_bytes)
      return fail(ErrorCode::limit, path.string() + " is larger than the " +
                                        std::to_string(max_bytes) + " bytes that are read");
    out.append(buffer, static_cast<size_t>(n));
  }
}

Status write_file_atomic(const fs::path& path, std::string_view bytes) {
  std::string name = path.string() + ".XXXXXX";
  Fd fd(::mkostemp(name.data(), O_CLOEXEC));
  if (!fd) return fail(system_error("cannot create a file beside " + path.string()));
  auto finish = [&]() -> Status {
    if (const int why = write_all(fd.get(), bytes); why != 0) {
      errno = why;
      return fail(system_error("cannot write " + name));
    }
    if (::fchmod(fd.get(), 0644) != 0 || ::fsync(fd.get()) != 0)
      return fail(system_error("cannot sync " + name));
    if (::rename(name.c_str(), path.c_str()) != 0)
      return fail(system_error("cannot rename to " + path.string()));
    return {};
  };
  Status done = finish();
  if (!done) ::unlink(name.c_str());
  return done;
}

Result<TempDir> TempDir::create(std::string_view prefix) {
  std::error_code ec;
  fs::path base = fs::temp_directory_path(ec);
  if (ec) base = "/tmp";
  std::string name = (base / (std::string(prefix) + ".XXXXXX")).string();
  if (::mkdtemp(name.data()) == nullptr)
    return fail(system_error("cannot create a temporary folder " + name));
  return TempDir(fs::path(name));
}
TempDir& TempDir::operator=(TempDir&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}
TempDir::~TempDir() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

fs::path cache_dir() {
  if (const char* own = std::getenv("FIEL_CACHE"); own && *own) return own;
  if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg && *xdg) return fs::path(xdg) / "fiel";
  const char* home = std::getenv("HOME");
  return fs::path(home && *home ? home : "/tmp") / ".cache" / "fiel";
}
namespace {

bool can_write_to(const fs::path& folder) {
  std::error_code ec;
  fs::create_directories(folder, ec);
  // access() believes root, and root too finds file systems mounted read-only.
  std::string probe = (folder / "write-test.XXXXXX").string();
  if (::mkdtemp(probe.data()) == nullptr) return false;
  ::rmdir(probe.c_str());
  return true;
}

/// The stand-in for a cache that cannot be written, made once a process.
struct SpareCache {
  std::mutex mutex;
  fs::path instead_of;
  std::optional<TempDir> folder;
};
SpareCache& spare_cache() {
  static SpareCache spare;
  return spare;
}

}  // namespace

Result<fs::path> writable_cache_dir() {
  const fs::path wanted = cache_dir();
  if (can_write_to(wanted)) return wanted;
  SpareCache& spare = spare_cache();
  const std::lock_guard lock(spare.mutex);
  if (!spare.folder) {
    FIEL_TRY(TempDir made, TempDir::create("fiel-cache"));
    spare.folder.emplace(std::move(made));
  }
  spare.instead_of = wanted;
  return spare.folder->path();
}

std::string cache_complaint() {
  SpareCache& spare = spare_cache();
  const std::lock_guard lock(spare.mutex);
  if (!spare.folder) return {};
  return "cannot write to the cache " + spare.instead_of.string() +
         "; compiled kernels are kept for this run only (FIEL_CACHE chooses another folder)";
}

fs::path executable_path() {
  std::error_code ec;
  return fs::read_symlink("/proc/self/exe", ec);
}

}  // namespace fiel
