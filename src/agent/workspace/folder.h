// Files inside one folder whose contents are hostile: no path leads out of it, by dots or by links.
//
//   FIEL_TRY(Folder w, Folder::open("workspace"));
//   FIEL_TRY(std::string text, w.read("kernels/softmax.cu", 1 << 20));
//
// Every component is opened with O_NOFOLLOW, so that a link that appears between a check and its
// use leads nowhere either. Only regular files are read.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/result.h"

namespace fiel::agent {

class Folder {
 public:
  static Result<Folder> open(const std::filesystem::path& path);
  const std::filesystem::path& path() const { return path_; }

  Result<std::string> read(std::string_view name, uint64_t max_bytes) const;
  /// Makes the folders above it; replaces the file as a whole.
  Status write(std::string_view name, std::string_view bytes, mode_t mode = 0644) const;
  bool exists(std::string_view name) const;
  /// Regular files in depth, sorted, without hidden folders; at most max_files.
  std::vector<std::string> files(size_t max_files) const;

 private:
  struct Place {
    Fd folder;
    std::string name;
  };
  Result<Place> place(std::string_view name, bool make_folders) const;

  std::filesystem::path path_;
  Fd fd_;
};

/// "a/./b" as "a/b"; an error for absolute paths, "..", empty ones and control characters.
Result<std::string> plain_relative(std::string_view name);

}  // namespace fiel::agent
