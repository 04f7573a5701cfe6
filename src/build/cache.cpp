#include "build/cache.h"

#include <fmt/core.h>
#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/files.h"

namespace fiel::build {
namespace fs = std::filesystem;
namespace {

constexpr const char* kSlotPrefix = "tmp.";
constexpr const char* kComplete = "complete";  ///< written last; its time is the last use
constexpr auto kAbandonedAfter = std::chrono::hours(1);

bool is_slot(const fs::path& p) { return p.filename().string().rfind(kSlotPrefix, 0) == 0; }

struct Entry {
  fs::path folder;
  uint64_t bytes = 0;
  fs::file_time_type used;
};

}  // namespace

FolderUsage usage_below(const fs::path& folder) {
  FolderUsage usage;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    std::error_code ignored;
    if (it->is_symlink(ignored) || !it->is_regular_file(ignored)) continue;
    ++usage.files;
    const auto size = it->file_size(ignored);
    if (!ignored) usage.bytes += size;
  }
  return usage;
}

BuildCache::Slot::Slot(Slot&& other) noexcept : folder_(other.release()) {}
fs::path BuildCache::Slot::release() {
  fs::path p = std::move(folder_);
  folder_.clear();
  return p;
}
BuildCache::Slot::~Slot() {
  std::error_code ec;
  if (!folder_.empty()) fs::remove_all(folder_, ec);
}

BuildCache BuildCache::open(const fs::path& root) {
  uint64_t max_bytes = kDefaultMaxBytes;
  if (const char* text = std::getenv("FIEL_CACHE_BYTES"))
    if (uint64_t n = std::strtoull(text, nullptr, 10); n > 0) max_bytes = n;
  return BuildCache(root / "build", max_bytes);
}

std::optional<fs::path> BuildCache::find(const std::string& key) const {
  fs::path entry = folder_ / key;
  std::error_code ec;
  if (!fs::exists(entry / kComplete, ec)) return std::nullopt;
  fs::last_write_time(entry / kComplete, fs::file_time_type::clock::now(), ec);
  return entry;
}

Result<BuildCache::Slot> BuildCache::begin() const {
  std::error_code ec;
  fs::create_directories(folder_, ec);
  std::string name = (folder_ / (std::string(kSlotPrefix) + "XXXXXX")).string();
  if (ec || ::mkdtemp(name.data()) == nullptr)
    return fail(ErrorCode::io,
                fmt::format("cannot write to the build cache {}: {}", folder_.string(),
                            std::strerror(errno)),
                "set FIEL_CACHE to a folder that can be written");
  return Slot(name);
}

Result<fs::path> BuildCache::publish(Slot slot, const std::string& key) const {
  FIEL_TRY_STATUS(write_file_atomic(slot.folder() / kComplete, key + "\n"));
  fs::path target = folder_ / key;
  std::error_code ec;
  fs::rename(slot.folder(), target, ec);
  if (!ec) {
    slot.release();
    evict();
    return target;
  }
  // Another builder was first, and what it made is as good.
  if (auto theirs = find(key)) return *theirs;
  // A damaged entry stands in the way.
  fs::remove_all(target, ec);
  fs::rename(slot.folder(), target, ec);
  if (ec)
    return fail(ErrorCode::io,
                fmt::format("cannot store {} in the build cache: {}", key, ec.message()));
  slot.release();
  return target;
}

CacheUsage BuildCache::usage() const {
  CacheUsage u;
  std::error_code ec;
  for (const auto& e : fs::directory_iterator(folder_, ec)) {
    if (is_slot(e.path()))
      ++u.abandoned;
    else
      ++u.entries;
    u.bytes += usage_below(e.path()).bytes;
  }
  return u;
}

void BuildCache::evict() const {
  std::error_code ec;
  std::vector<Entry> entries;
  uint64_t total = 0;
  auto now = fs::file_time_type::clock::now();
  for (const auto& e : fs::directory_iterator(folder_, ec)) {
    if (is_slot(e.path())) {
      if (now - fs::last_write_time(e.path(), ec) > kAbandonedAfter) fs::remove_all(e.path(), ec);
      continue;
    }
    Entry entry{e.path(), usage_below(e.path()).bytes,
                fs::last_write_time(e.path() / kComplete, ec)};
    if (ec) entry.used = {};
    total += entry.bytes;
    entries.push_back(std::move(entry));
  }
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.used < b.used; });
  for (size_t i = 0; total > max_bytes_ && i + 1 < entries.size(); ++i) {  // the newest stays
    fs::remove_all(entries[i].folder, ec);
    total -= entries[i].bytes;
  }
}

Status BuildCache::clear() const {
  std::error_code ec;
  fs::remove_all(folder_, ec);
  if (ec) return fail(ErrorCode::io, "cannot empty the build cache: " + ec.message());
  return {};
}

}  // namespace fiel::build
