#include "base/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <cstring>
#include <system_error>

namespace fiel {
namespace {

/// Local locks fail only when interrupted: anything else would be a descriptor that is none.
bool take(int fd, int how) {
  while (::flock(fd, how) != 0)
    if (errno != EINTR) return false;
  return true;
}

}  // namespace

Result<FileLock> FileLock::open(const std::filesystem::path& path) {
  std::error_code ignored;
  std::filesystem::create_directories(path.parent_path(), ignored);
  Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!fd)
    return fail(ErrorCode::io,
                "cannot open the lock " + path.string() + ": " + std::strerror(errno),
                "FIEL_CACHE moves the folder that it lies in");
  return FileLock(std::move(fd));
}

FileLock::Held FileLock::shared() {
  take(fd_.get(), LOCK_SH);
  return Held(fd_.get());
}

FileLock::Held FileLock::exclusive() {
  take(fd_.get(), LOCK_EX);
  return Held(fd_.get());
}

bool FileLock::try_shared() { return take(fd_.get(), LOCK_SH | LOCK_NB); }

bool FileLock::try_exclusive() { return take(fd_.get(), LOCK_EX | LOCK_NB); }

void FileLock::release() { take(fd_.get(), LOCK_UN); }

FileLock::Held::~Held() {
  if (fd_ >= 0) take(fd_, LOCK_UN);
}

}  // namespace fiel
