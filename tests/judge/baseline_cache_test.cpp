// What a cache says is believed as far as it can be checked, and no further.
#include "judge/torch/baseline_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <fstream>
#include <limits>

#include "base/files.h"
#include "base/hash.h"

namespace fiel::judge::torch {
namespace {

constexpr int64_t kNow = 1'800'000'000'000;

BaselineKey key() {
  BaselineKey k;
  k.task_digest = "d1";
  k.baselines = {"eager", "compile"};
  return k;
}

CachedBaseline row(const char* name, double ns) {
  CachedBaseline r{name, "fp32", ns, ns * 0.99, ns * 1.01, ns, ns / 2, ns * 2};
  r.numerics = NumericsClass::fp32;
  r.relative_rms = 1.0 / 3e7;
  r.componentwise = 0.7;
  r.errors = {{"task-inputs", 1.0 / 3e7, 0.7}};
  return r;
}

CachedTiming timing(bool held = true, uint32_t calls = 64, int64_t measured_ms = kNow - 1000) {
  return {held, calls, measured_ms, {row("eager", 2e5 / 3), row("compile", 1e5 / 7)}};
}

CachedBaselines entry() { return {true, CachedMemory{1, 2, 3}, {timing()}}; }

class BaselineFile : public ::testing::Test {
 protected:
  void SetUp() override {
    auto folder = TempDir::create("baselines");
    ASSERT_TRUE(folder);
    folder_ = std::make_unique<TempDir>(std::move(*folder));
    cache_ = std::make_unique<BaselineCache>(folder_->path(), key(), kNow);
  }
  void write(const std::string& text) { std::ofstream(cache_->file()) << text; }

  std::unique_ptr<TempDir> folder_;
  std::unique_ptr<BaselineCache> cache_;
};

TEST_F(BaselineFile, WhatIsKeptComesBackToTheLastBit) {
  EXPECT_EQ(cache_->load().why, "none are cached yet");
  EXPECT_FALSE(cache_->load().distrust);
  ASSERT_TRUE(cache_->keep(timing(), false, CachedMemory{1, 2, 3}));
  const LoadedBaselines found = cache_->load();
  ASSERT_TRUE(found.entry) << found.why;
  EXPECT_EQ(to_text(key(), *found.entry),
            to_text(key(), {false, CachedMemory{1, 2, 3}, {timing()}}));
  EXPECT_EQ(found.entry->timings[0].rows[1].median_ns, 1e5 / 7);
}

TEST_F(BaselineFile, AModeReplacesItselfAndLeavesOthersBeAFew) {
  ASSERT_TRUE(cache_->keep(timing(true, 64, kNow - 9), true, std::nullopt));
  ASSERT_TRUE(cache_->keep(timing(true, 32, kNow - 8), true, std::nullopt));
  ASSERT_TRUE(cache_->keep(timing(true, 64, kNow - 7), true, std::nullopt));
  auto found = cache_->load();
  ASSERT_TRUE(found.entry);
  ASSERT_EQ(found.entry->timings.size(), 2u);
  EXPECT_EQ(found.entry->timings[0].measured_ms, kNow - 7);
  EXPECT_EQ(found.entry->timings[1].calls, 32u);
  for (uint32_t calls = 1; calls < 9; ++calls)
    ASSERT_TRUE(cache_->keep(timing(true, calls), true, std::nullopt));
  EXPECT_EQ(cache_->load().entry->timings.size(), 4u);
}

TEST_F(BaselineFile, OldTimesAreNotUsed) {
  ASSERT_TRUE(cache_->keep(timing(true, 64, kNow - kMostAgeMs - 1), true, std::nullopt));
  EXPECT_FALSE(cache_->load().entry);
  EXPECT_FALSE(cache_->load().distrust);
  ASSERT_TRUE(cache_->keep(timing(true, 64, kNow - kMostAgeMs), true, std::nullopt));
  EXPECT_TRUE(cache_->load().entry);
}

TEST_F(BaselineFile, ADiscardedOneIsGone) {
  ASSERT_TRUE(cache_->keep(timing(), true, std::nullopt));
  cache_->discard();
  EXPECT_FALSE(cache_->load().entry);
  EXPECT_FALSE(std::filesystem::exists(cache_->file()));
}

TEST_F(BaselineFile, OfAnotherKeyIsNotBelieved) {
  ASSERT_TRUE(cache_->keep(timing(), true, std::nullopt));
  BaselineKey other = key();
  other.driver = "another";
  const BaselineCache there(folder_->path(), other, kNow);
  EXPECT_NE(there.file(), cache_->file());
  std::filesystem::copy_file(cache_->file(), there.file());
  EXPECT_TRUE(there.load().distrust);
  EXPECT_FALSE(there.load().entry);
}

TEST_F(BaselineFile, WhatOthersMayWriteIsNotBelieved) {
  ASSERT_TRUE(cache_->keep(timing(), true, std::nullopt));
  ASSERT_EQ(chmod(cache_->file().c_str(), 0666), 0);
  EXPECT_TRUE(cache_->load().distrust);
  const auto real = folder_->path() / "elsewhere.json";
  std::filesystem::rename(cache_->file(), real);
  ASSERT_EQ(chmod(real.c_str(), 0644), 0);
  std::filesystem::create_symlink(real, cache_->file());
  EXPECT_TRUE(cache_->load().distrust);
  EXPECT_FALSE(cache_->load().entry);
}

TEST_F(BaselineFile, EveryDamagedByteIsSeen) {
  const std::string sound = to_text(key(), entry());
  for (size_t i = 0; i < sound.size(); ++i) {
    std::string text = sound;
    text[i] = text[i] == '7' ? '8' : '7';
    const auto read = parse_baselines(text, key(), kNow);
    // A byte between the values may change and nothing with it.
    if (!read) continue;
    EXPECT_EQ(to_text(key(), *read), sound) << i << ": " << text.substr(i, 20);
  }
  for (size_t length = 0; length + 2 < sound.size(); length += 37)
    EXPECT_FALSE(parse_baselines(sound.substr(0, length), key(), kNow)) << length;
}

TEST_F(BaselineFile, AFileWithoutEndIsNotRead) {
  std::filesystem::create_directories(cache_->file().parent_path());
  write(std::string(1 << 20, ' '));
  EXPECT_TRUE(cache_->load().distrust);
  write(std::string(100'000, '['));
  EXPECT_TRUE(cache_->load().distrust);
}

/// Somebody who can compute a digest.
std::string signed_text(const Json& entry) {
  const Json k = to_json(key());
  Json j = Json::object({{"key", k}, {"entry", entry}});
  Digest digest;
  j["sha256"] = digest.add(k.dump()).add(entry.dump()).hex();
  return j.dump();
}

struct Lie {
  const char* what;
  void (*tell)(CachedBaselines&);
};
constexpr double kInfinity = std::numeric_limits<double>::infinity();

const Lie kLies[] = {
    {"no time", [](CachedBaselines& e) { e.timings[0].rows[0].median_ns = 0; }},
    {"a negative time", [](CachedBaselines& e) { e.timings[0].rows[0].low_ns = -1; }},
    {"an endless time", [](CachedBaselines& e) { e.timings[0].rows[0].high_ns = kInfinity; }},
    {"an hour", [](CachedBaselines& e) { e.timings[0].rows[0].high_ns = 3.6e12; }},
    {"a median below", [](CachedBaselines& e) { e.timings[0].rows[0].median_ns = 1; }},
    {"a median above", [](CachedBaselines& e) { e.timings[0].rows[0].median_ns = 1e9; }},
    {"not a number", [](CachedBaselines& e) { e.timings[0].rows[0].relative_rms = NAN; }},
    {"a negative error", [](CachedBaselines& e) { e.timings[0].rows[0].componentwise = -1; }},
    {"another baseline", [](CachedBaselines& e) { e.timings[0].rows[0].name = "kernel"; }},
    {"another policy", [](CachedBaselines& e) { e.timings[0].rows[0].policy = "fp8"; }},
    {"one twice", [](CachedBaselines& e) { e.timings[0].rows[1] = e.timings[0].rows[0]; }},
    {"no rows", [](CachedBaselines& e) { e.timings[0].rows.clear(); }},
    {"many rows", [](CachedBaselines& e) { e.timings[0].rows.resize(21, row("eager", 1e5)); }},
    {"many modes", [](CachedBaselines& e) { e.timings.resize(5, timing()); }},
    {"no calls", [](CachedBaselines& e) { e.timings[0].calls = 0; }},
    {"of tomorrow", [](CachedBaselines& e) { e.timings[0].measured_ms = kNow + 86'400'000; }},
    {"before 1970", [](CachedBaselines& e) { e.timings[0].measured_ms = -5; }},
    {"an unknown probe", [](CachedBaselines& e) { e.timings[0].rows[0].errors[0].probe = "x"; }},
    {"a petabyte", [](CachedBaselines& e) { e.memory->transient_bytes = 1ull << 60; }},
};

TEST_F(BaselineFile, ALieBeyondItsBoundsIsNotBelievedWhateverItsDigest) {
  ASSERT_TRUE(parse_baselines(to_text(key(), entry()), key(), kNow));
  for (const Lie& lie : kLies) {
    CachedBaselines e = entry();
    lie.tell(e);
    EXPECT_FALSE(parse_baselines(to_text(key(), e), key(), kNow)) << lie.what;
  }
  EXPECT_FALSE(parse_baselines(signed_text(Json(3)), key(), kNow)->timings.size() > 0);
  EXPECT_FALSE(cache_->keep({true, 1, kNow, {}}, true, std::nullopt)) << "nothing can be kept";
}

}  // namespace
}  // namespace fiel::judge::torch
