#include "judge/torch/baseline_cache.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/files.h"
#include "base/hash.h"
#include "base/text.h"
#include "judge/torch/answers.h"

namespace fiel::judge::torch {
namespace {

// Four names under five policies, a few hundred bytes each, in a few modes.
constexpr uint64_t kMostBytes = 256u << 10;
constexpr size_t kMostTimings = 4, kMostRows = 20, kMostProbes = 16;
constexpr double kMostNs = 1e12;
constexpr int64_t kClockSkewMs = 60'000;

tl::unexpected<Error> damaged(const std::string& what) {
  return fail(ErrorCode::parse, "cached baselines: " + what);
}

Json error_json(const ProbeError& e) {
  return Json::object(
      {{"probe", e.probe}, {"relative_rms", e.relative_rms}, {"componentwise", e.componentwise}});
}

Json row_json(const CachedBaseline& r) {
  Json j = Json::object({{"name", r.name},
                         {"policy", r.policy},
                         {"median_ns", r.median_ns},
                         {"low_ns", r.low_ns},
                         {"high_ns", r.high_ns},
                         {"device_median_ns", r.device_median_ns},
                         {"host_median_ns", r.host_median_ns},
                         {"wall_median_ns", r.wall_median_ns},
                         {"numerics", r.numerics ? Json(fiel::name_of(*r.numerics)) : Json()},
                         {"relative_rms", r.relative_rms},
                         {"componentwise", r.componentwise}});
  j["errors"] = Json::array();
  for (const ProbeError& e : r.errors) j["errors"].push_back(error_json(e));
  return j;
}

Json timing_json(const CachedTiming& t) {
  Json j = Json::object({{"held", t.held}, {"calls", t.calls}, {"measured_ms", t.measured_ms}});
  j["rows"] = Json::array();
  for (const CachedBaseline& r : t.rows) j["rows"].push_back(row_json(r));
  return j;
}

Json entry_json(const CachedBaselines& entry) {
  Json j = Json::object({{"holds", entry.holds}, {"memory", Json()}});
  if (entry.memory)
    j["memory"] = Json::object({{"persistent_bytes", entry.memory->persistent_bytes},
                                {"transient_bytes", entry.memory->transient_bytes},
                                {"allocator_peak_bytes", entry.memory->allocator_peak_bytes}});
  j["timings"] = Json::array();
  for (const CachedTiming& t : entry.timings) j["timings"].push_back(timing_json(t));
  return j;
}

std::string digest_of_text(const std::string& key, const std::string& entry) {
  Digest digest;
  return digest.add(key).add(entry).hex();
}

/// A number that is there, finite and within [least, most].
bool read_figure(const Json& j, double least, double most, double& figure) {
  figure = j.as_double(-1);
  return j.is_number() && std::isfinite(figure) && figure >= least && figure <= most;
}

bool is_known(const std::string& word, std::initializer_list<const char*> words) {
  return std::any_of(words.begin(), words.end(), [&](const char* w) { return word == w; });
}

Result<CachedBaseline> read_row(const Json& j) {
  CachedBaseline r;
  r.name = j["name"].as_string();
  r.policy = j["policy"].as_string();
  if (!is_known(r.name, {"eager", "compile", "reduce-overhead", "max-autotune"}) ||
      !is_known(r.policy, {"fp32", "default", "tf32", "bf16", "fp16"}))
    return damaged("a baseline that nobody knows");
  bool sound = read_figure(j["median_ns"], 1e-3, kMostNs, r.median_ns) &&
               read_figure(j["low_ns"], 1e-3, r.median_ns, r.low_ns) &&
               read_figure(j["high_ns"], r.median_ns, kMostNs, r.high_ns) &&
               read_figure(j["device_median_ns"], 0, kMostNs, r.device_median_ns) &&
               read_figure(j["host_median_ns"], 0, kMostNs, r.host_median_ns) &&
               read_figure(j["wall_median_ns"], 0, kMostNs, r.wall_median_ns) &&
               read_figure(j["relative_rms"], 0, 1e300, r.relative_rms) &&
               read_figure(j["componentwise"], 0, 1e300, r.componentwise);
  if (j["numerics"].is_string()) {
    r.numerics = parse_numerics(j["numerics"].as_string());
    sound &= r.numerics.has_value();
  }
  const Json::Array& errors = j["errors"].items();
  sound &= errors.size() <= kMostProbes;
  for (size_t i = 0; sound && i < errors.size(); ++i) {
    ProbeError e{errors[i]["probe"].as_string()};
    sound = parse_probe(e.probe).has_value() &&
            read_figure(errors[i]["relative_rms"], 0, 1e300, e.relative_rms) &&
            read_figure(errors[i]["componentwise"], 0, 1e300, e.componentwise);
    r.errors.push_back(std::move(e));
  }
  if (!sound) return damaged(fmt::format("impossible figures of {}, {}", r.name, r.policy));
  return r;
}

Result<CachedTiming> read_timing(const Json& j, int64_t now_ms) {
  CachedTiming t;
  t.held = j["held"].as_bool();
  const int64_t calls = j["calls"].as_int();
  t.measured_ms = j["measured_ms"].as_int(-1);
  if (!j["held"].is_boolean() || calls < 1 || calls > 4096 || t.measured_ms < 0 ||
      t.measured_ms > now_ms + kClockSkewMs)
    return damaged("an impossible mode or date");
  t.calls = static_cast<uint32_t>(calls);
  const Json::Array& rows = j["rows"].items();
  if (rows.empty() || rows.size() > kMostRows) return damaged("too many or no rows");
  std::set<std::pair<std::string, std::string>> seen;
  for (const Json& row : rows) {
    FIEL_TRY(CachedBaseline r, read_row(row));
    if (!seen.insert({r.name, r.policy}).second) return damaged("a baseline that is there twice");
    t.rows.push_back(std::move(r));
  }
  return t;
}

Result<std::optional<CachedMemory>> read_memory(const Json& j) {
  if (j.is_null()) return std::nullopt;
  CachedMemory m;
  for (const auto& [name, bytes] : {std::pair{"persistent_bytes", &m.persistent_bytes},
                                    std::pair{"transient_bytes", &m.transient_bytes},
                                    std::pair{"allocator_peak_bytes", &m.allocator_peak_bytes}}) {
    const int64_t value = j[name].as_int(-1);
    if (value < 0 || value > (int64_t{1} << 50)) return damaged("an impossible size of memory");
    *bytes = static_cast<uint64_t>(value);
  }
  return m;
}

/// Written by us and by nobody else: times are evidence. Nothing where that is so.
std::string distrust_of(const struct stat& file) {
  if (!S_ISREG(file.st_mode)) return "what is cached is not a file";
  if (file.st_uid != ::geteuid() || (file.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return "others may write to what is cached";
  return {};
}

LoadedBaselines distrusted(const std::string& why) {
  LoadedBaselines found;
  found.why = printable(why, 300);
  found.distrust = true;
  return found;
}

}  // namespace

BaselineCache::BaselineCache(const std::filesystem::path& folder, BaselineKey key, int64_t now_ms)
    : key_(std::move(key)),
      digest_(digest_of(key_)),
      file_(folder / "baselines" / (digest_ + ".json")),
      now_ms_(now_ms) {}

std::string to_text(const BaselineKey& key, const CachedBaselines& entry) {
  Json j = Json::object({{"key", to_json(key)}, {"entry", entry_json(entry)}});
  j["sha256"] = digest_of_text(j["key"].dump(), j["entry"].dump());
  return j.dump(2) + "\n";
}

Result<CachedBaselines> parse_baselines(std::string_view text, const BaselineKey& key,
                                        int64_t now_ms) {
  FIEL_TRY(const Json j, Json::parse(text, {kMostBytes, 16, 8192}));
  const std::string entry_text = j["entry"].dump();
  if (j["sha256"].as_string() != digest_of_text(j["key"].dump(), entry_text))
    return damaged("the digest is not that of the text");
  if (j["key"] != to_json(key)) return damaged("they are those of something else");
  const Json& entry = j["entry"];
  CachedBaselines known;
  known.holds = entry["holds"].as_bool(true);
  FIEL_TRY(known.memory, read_memory(entry["memory"]));
  const Json::Array& timings = entry["timings"].items();
  if (timings.size() > kMostTimings) return damaged("too many modes");
  for (const Json& timing : timings) {
    FIEL_TRY(CachedTiming t, read_timing(timing, now_ms));
    known.timings.push_back(std::move(t));
  }
  return known;
}

LoadedBaselines BaselineCache::load() const {
  LoadedBaselines found;
  struct stat st {};
  if (::lstat(file_.c_str(), &st) != 0) {
    found.why = "none are cached yet";
    return found;
  }
  if (const std::string why = distrust_of(st); !why.empty()) return distrusted(why);
  const auto text = read_file(file_, kMostBytes);
  if (!text) return distrusted(text.error().what);
  auto entry = parse_baselines(*text, key_, now_ms_);
  if (!entry) return distrusted(entry.error().what);
  std::erase_if(entry->timings,
                [&](const CachedTiming& t) { return t.measured_ms < now_ms_ - kMostAgeMs; });
  if (entry->timings.empty())
    found.why = "those that are cached are too old";
  else
    found.entry = std::move(*entry);
  return found;
}

Status BaselineCache::keep(const CachedTiming& timing, bool holds,
                           const std::optional<CachedMemory>& memory) const {
  CachedBaselines entry = load().entry.value_or(CachedBaselines{});
  entry.holds = holds;
  entry.memory = memory;
  std::erase_if(entry.timings, [&](const CachedTiming& t) {
    return t.held == timing.held && t.calls == timing.calls;
  });
  entry.timings.insert(entry.timings.begin(), timing);
  if (entry.timings.size() > kMostTimings) entry.timings.resize(kMostTimings);
  std::error_code error;
  std::filesystem::create_directories(file_.parent_path(), error);
  const std::string text = to_text(key_, entry);
  // What could not be read back would only be discarded.
  FIEL_TRY_STATUS(parse_baselines(text, key_, now_ms_).map([](const auto&) {}));
  return write_file_atomic(file_, text);
}

void BaselineCache::discard() const {
  std::error_code ignored;
  std::filesystem::remove(file_, ignored);
}

}  // namespace fiel::judge::torch
