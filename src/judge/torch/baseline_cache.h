// Times of baselines that earlier judgements took, a file for each task and machine.
//
//   const BaselineCache cache(folder, key, now_ms);
//   const LoadedBaselines found = cache.load();          // found.entry, or found.why there is none
//   cache.keep(timing, holds, memory);                    // atomically
//
// A file counts only where its owner is ours and nobody else may write to it, its digest is that of
// its text, its key is the one that is asked for, and every figure is within its bounds; else it is
// as if it were not there, and the reason goes into the verdict. What the times are good for is
// judge/torch/baseline_choice.h.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "judge/measurement.h"
#include "judge/speed.h"
#include "judge/torch/baseline_key.h"

namespace fiel::judge::torch {

struct CachedBaseline {
  std::string name, policy;
  double median_ns = 0, low_ns = 0, high_ns = 0;  ///< credited, with its 95 % interval
  double device_median_ns = 0, host_median_ns = 0, wall_median_ns = 0;
  std::optional<NumericsClass> numerics;
  double relative_rms = 0, componentwise = 0;
  std::vector<ProbeError> errors;
};

/// Taken together, interleaved, while no candidate ran.
struct CachedTiming {
  bool held = false;
  uint32_t calls = 1;       ///< a sample
  int64_t measured_ms = 0;  ///< since 1970
  std::vector<CachedBaseline> rows;
};

/// Of the eager baseline.
struct CachedMemory {
  uint64_t persistent_bytes = 0, transient_bytes = 0, allocator_peak_bytes = 0;
};

struct CachedBaselines {
  bool holds = true;  ///< all of the baselines can be held: see docs/timing.md
  std::optional<CachedMemory> memory;
  std::vector<CachedTiming> timings;  ///< newest first, one a mode
};

struct LoadedBaselines {
  std::optional<CachedBaselines> entry;
  std::string why;        ///< where there is none
  bool distrust = false;  ///< something is there that must not be believed
};

/// Older ones are measured anew.
inline constexpr int64_t kMostAgeMs = 7ll * 86'400'000;

class BaselineCache {
 public:
  BaselineCache(const std::filesystem::path& folder, BaselineKey key, int64_t now_ms);

  LoadedBaselines load() const;
  /// Beside what other modes have there; replaces what this mode had.
  Status keep(const CachedTiming& timing, bool holds,
              const std::optional<CachedMemory>& memory) const;
  void discard() const;

  const std::string& key() const { return digest_; }
  const std::filesystem::path& file() const { return file_; }

 private:
  BaselineKey key_;
  std::string digest_;
  std::filesystem::path file_;
  int64_t now_ms_;
};

/// The text of a file and back; `now_ms` bounds what may have been measured.
std::string to_text(const BaselineKey& key, const CachedBaselines& entry);
Result<CachedBaselines> parse_baselines(std::string_view text, const BaselineKey& key,
                                        int64_t now_ms);

}  // namespace fiel::judge::torch
