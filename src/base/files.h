// Files: whole reads with a bound, atomic writes, temporary folders, owned descriptors.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace fiel {

/// A file descriptor with one owner.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~Fd() { reset(); }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset();

 private:
  int fd_ = -1;
};

/// Writes all of it, over interruptions and short writes. 0, or the errno that ended it.
int write_all(int fd, std::string_view bytes);

/// Whole file; ErrorCode::limit beyond max_bytes, so that a task of gigabytes is refused unread.
Result<std::string> read_file(const std::filesystem::path& path, uint64_t max_bytes = 64u << 20);

/// Writes beside the target, syncs, renames: a reader sees the old bytes or the new ones.
Status write_file_atomic(const std::filesystem::path& path, std::string_view bytes);

/// A fresh folder that is removed with everything in it when the owner goes.
class TempDir {
 public:
  static Result<TempDir> create(std::string_view prefix);
  TempDir(TempDir&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TempDir& operator=(TempDir&& other) noexcept;
  ~TempDir();
  const std::filesystem::path& path() const { return path_; }

 private:
  explicit TempDir(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

/// $FIEL_CACHE, else $XDG_CACHE_HOME/fiel, else ~/.cache/fiel.
std::filesystem::path cache_dir();
/// cache_dir(), or, where nothing can be written there, a folder that lasts as long as the process.
Result<std::filesystem::path> writable_cache_dir();
/// What to tell the user once writable_cache_dir() had to turn away from cache_dir(); else empty.
std::string cache_complaint();
/// The program itself (/proc/self/exe).
std::filesystem::path executable_path();

}  // namespace fiel
