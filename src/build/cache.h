// The content-addressed store of compiled kernels: cache_dir()/build/<key>/.
//
//   BuildCache cache = BuildCache::open(cache_dir());
//   if (auto hit = cache.find(key)) …
//   FIEL_TRY(Slot slot, cache.begin());  …write into slot.folder()…
//   FIEL_TRY(auto folder, cache.publish(std::move(slot), key));
//
// No locks: a builder works in a folder of its own and renames it into place, so that one that is
// killed blocks nobody, and of two at once one wins and both are right. Old entries go when the
// store is larger than its bound.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/result.h"

namespace fiel::build {

struct CacheUsage {
  uint64_t entries = 0, bytes = 0;
  uint64_t abandoned = 0;  ///< folders of builders that were killed
};

/// What lies below a folder; links are not followed and do not count.
struct FolderUsage {
  uint64_t files = 0, bytes = 0;
};
FolderUsage usage_below(const std::filesystem::path& folder);

class BuildCache {
 public:
  static constexpr uint64_t kDefaultMaxBytes = 2ull << 30;

  /// Below a cache folder; max_bytes from $FIEL_CACHE_BYTES where set.
  static BuildCache open(const std::filesystem::path& root);
  BuildCache(std::filesystem::path folder, uint64_t max_bytes)
      : folder_(std::move(folder)), max_bytes_(max_bytes) {}

  /// A folder that is removed unless it is published.
  class Slot {
   public:
    explicit Slot(std::filesystem::path folder) : folder_(std::move(folder)) {}
    Slot(Slot&& other) noexcept;
    Slot& operator=(Slot&&) = delete;
    ~Slot();
    const std::filesystem::path& folder() const { return folder_; }
    std::filesystem::path release();

   private:
    std::filesystem::path folder_;
  };

  std::optional<std::filesystem::path> find(const std::string& key) const;  ///< and marks it used
  Result<Slot> begin() const;
  Result<std::filesystem::path> publish(Slot slot, const std::string& key) const;
  CacheUsage usage() const;
  /// Removes what is oldest until the bound holds, and what killed builders left an hour ago.
  void evict() const;
  Status clear() const;
  const std::filesystem::path& folder() const { return folder_; }
  uint64_t max_bytes() const { return max_bytes_; }

 private:
  std::filesystem::path folder_;
  uint64_t max_bytes_;
};

}  // namespace fiel::build
