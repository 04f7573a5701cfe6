// A lock between processes on one file: shared by many, or held by one alone.
//
//   FIEL_TRY(FileLock lock, FileLock::open(cache_dir() / "gpu-GPU-1ca6d50e.lock"));
//   auto alone = lock.exclusive();               // waits; given back at the end of the scope
//
// The kernel gives the lock back when its holder dies, however it dies. One holder object at a
// time per FileLock; not for network file systems, where flock may be a promise only.
#pragma once

#include <filesystem>

#include "base/files.h"
#include "base/result.h"

namespace fiel {

class FileLock {
 public:
  /// Makes the file, and the folders above it, where they are missing.
  static Result<FileLock> open(const std::filesystem::path& path);

  /// Gives the lock back when it goes.
  class Held {
   public:
    explicit Held(int fd) : fd_(fd) {}
    Held(Held&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Held& operator=(Held&&) = delete;
    ~Held();

   private:
    int fd_;
  };
  Held shared();
  Held exclusive();
  /// False where another holds it; where it is true, release() ends it.
  bool try_shared();
  bool try_exclusive();
  void release();

 private:
  explicit FileLock(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

}  // namespace fiel
