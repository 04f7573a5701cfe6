#include "store/store.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/files.h"
#include "base/hash.h"
#include "store/compressed.h"
#include "store/file_system.h"

namespace fiel::store {
namespace {

namespace fs = std::filesystem;

Evidence evidence(size_t place, const std::string& status) {
  Evidence e;
  e.place = place;
  e.verdict["status"] = status;
  e.verdict["accepted"] = status == "correct";
  e.verdict["task"] = "softmax";
  e.verdict["kernel"] = "k.cu";
  e.verdict["speed"] = "not_measured";
  e.verdict["environment"]["host"] = "here";
  e.task_source = "name = \"softmax\"\n";
  e.kernel_source = "__global__ void k() {}\n";
  return e;
}

NewRun new_run(const std::string& name, size_t entries) {
  NewRun run;
  run.name = name;
  run.words = {"--seed", "7"};
  run.begun_ms = 1;
  for (size_t i = 0; i < entries; ++i)
    run.entries.push_back({"tasks/softmax.toml", "k.cu", "softmax", std::nullopt});
  return run;
}

class StoreTest : public testing::Test {
 protected:
  void SetUp() override {
    auto folder = TempDir::create("store");
    ASSERT_TRUE(folder);
    folder_.emplace(std::move(*folder));
    options_.folder = folder_->path();
  }
  Store open() {
    auto store = Store::open(options_);
    EXPECT_TRUE(store) << to_string(store.error());
    return std::move(*store);
  }
  std::optional<TempDir> folder_;
  StoreOptions options_;
};

TEST_F(StoreTest, WhatIsKeptComesBackWithSamplesSourcesAndEnvironment) {
  {
    Store store = open();
    auto run = store.begin_run(new_run("nightly", 2));
    ASSERT_TRUE(run) << to_string(run.error());
    Evidence e = evidence(1, "correct");
    e.samples["sides"].push_back("kernel");
    e.took_ms = 12;
    ASSERT_TRUE(store.keep(*run, e));
    ASSERT_TRUE(store.set_state(*run, "stopped", 99));
  }
  Store store = open();
  auto header = store.find("nightly");
  ASSERT_TRUE(header) << to_string(header.error());
  EXPECT_EQ(header->state, "stopped");
  EXPECT_EQ(header->entries, 2u);
  EXPECT_EQ(header->accepted, 1u);
  EXPECT_EQ(header->words, (std::vector<std::string>{"--seed", "7"}));
  auto record = store.load(*header, Detail::all);
  ASSERT_TRUE(record) << to_string(record.error());
  ASSERT_EQ(record->verdicts.size(), 1u);
  const Evidence& back = record->verdicts[0];
  EXPECT_EQ(back.place, 1u);
  EXPECT_EQ(back.took_ms, 12);
  EXPECT_EQ(back.verdict, evidence(1, "correct").verdict);
  EXPECT_EQ(back.samples["sides"].items()[0].as_string(), "kernel");
  EXPECT_EQ(back.kernel_source, "__global__ void k() {}\n");
  EXPECT_EQ(*store.content(sha256_hex(back.task_source)), back.task_source);
}

TEST_F(StoreTest, AVerdictOfTheSamePlaceIsReplacedAndKeepsItsChildren) {
  Store store = open();
  const int64_t run = *store.begin_run(new_run("a", 2));
  ASSERT_TRUE(store.keep(run, evidence(0, "harness_fault")));
  Evidence child = evidence(1, "correct");
  child.parent = 1;
  ASSERT_TRUE(store.keep(run, child));
  ASSERT_TRUE(store.keep(run, evidence(0, "correct")));
  auto record = store.load(*store.find("a"), Detail::verdicts);
  ASSERT_TRUE(record);
  ASSERT_EQ(record->verdicts.size(), 2u);
  EXPECT_EQ(record->verdicts[0].verdict["status"].as_string(), "correct");
  EXPECT_EQ(record->verdicts[1].parent, 1);
}

TEST_F(StoreTest, RunsAreFoundByNameByBeginAndByLast) {
  Store store = open();
  for (const char* name : {"alpha-1", "alpha-2", "beta"})
    ASSERT_TRUE(store.begin_run(new_run(name, 0)));
  EXPECT_EQ(store.find("last")->name, "beta");
  EXPECT_EQ(store.find("be")->name, "beta");
  EXPECT_EQ(store.find("alpha-1")->name, "alpha-1");
  EXPECT_EQ(store.find("alpha").error().code, ErrorCode::usage);
  EXPECT_EQ(store.find("betta").error().hint, "did you mean 'beta'?");
  EXPECT_EQ(store.begin_run(new_run("beta", 0)).error().code, ErrorCode::usage);
}

TEST_F(StoreTest, AFullDiskAReadOnlyPlaceAndAForeignFileAreErrorsThatSaySo) {
  options_.max_bytes = 64 * 4096;
  Store store = open();
  const int64_t run = *store.begin_run(new_run("big", 1000));
  Status status;
  for (size_t i = 0; i < 1000 && status; ++i) {
    Evidence e = evidence(i, "correct");
    // Digests do not compress.
    for (int k = 0; k < 64; ++k) e.kernel_source += sha256_hex(std::to_string(64 * i + k));
    status = store.keep(run, e);
  }
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::io);
  EXPECT_NE(status.error().what.find("full"), std::string::npos);
  EXPECT_TRUE(store.check());

  StoreOptions nowhere{.folder = "/proc/fiel-store"};
  EXPECT_EQ(Store::open(nowhere).error().code, ErrorCode::io);

  StoreOptions foreign{.folder = folder_->path() / "foreign"};
  fs::create_directories(foreign.folder);
  std::ofstream(foreign.folder / "fiel.db") << std::string(5000, 'x');
  EXPECT_EQ(Store::open(foreign).error().code, ErrorCode::environment);
}

TEST_F(StoreTest, ANewerFormIsRefusedAndLeftAlone) {
  { Store store = open(); }
  {
    auto db = Database::open(options_.folder / "fiel.db", OpenMode::read_write, 1000);
    ASSERT_TRUE(db->execute("PRAGMA user_version = 999"));
  }
  auto store = Store::open(options_);
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, ErrorCode::environment);
  auto db = Database::open(options_.folder / "fiel.db", OpenMode::read_only, 1000);
  EXPECT_EQ(*db->ask("PRAGMA user_version"), "999");
}

// A file as the first form left it: its runs stay, and searches can be kept beside them.
TEST_F(StoreTest, AFileOfTheFirstFormIsMigrated) {
  {
    Store store = open();
    ASSERT_TRUE(store.keep(*store.begin_run(new_run("old", 1)), evidence(0, "correct")));
  }
  {
    auto db = Database::open(options_.folder / "fiel.db", OpenMode::read_write, 1000);
    ASSERT_TRUE(
        db->execute("DROP TABLE lineage; DROP TABLE searches; "
                    "ALTER TABLE entries DROP COLUMN begun_ms; PRAGMA user_version = 1"));
  }
  Store store = open();
  EXPECT_EQ(store.find("old")->verdicts, 1u);
  const int64_t run = *store.begin_run(new_run("search", 0));
  ASSERT_TRUE(store.begin_search(run, {"climb", "scripted", 3, Json::object()}));
  for (size_t i = 0; i < 2; ++i) {
    Lineage l{.operation = "climb", .measure = "stand_in", .score = 0.5};
    if (i == 1) l.parents = {0};
    const auto kept =
        store.keep_step(run, {"t", "k", "p", std::nullopt}, evidence(i, "correct"), l);
    ASSERT_TRUE(kept) << to_string(kept.error());
  }
  const auto record = store.load_search(run);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->steps[1].parents, std::vector<size_t>{0});
  const auto verdicts = store.load(*store.find("search"), Detail::verdicts);
  EXPECT_EQ(verdicts->verdicts.size(), 2u);
  EXPECT_TRUE(verdicts->verdicts[1].parent.has_value());
  // A place is taken once: a step that was half kept would be a second parent of nothing.
  EXPECT_FALSE(store.keep_step(run, {"t", "k", "p", std::nullopt}, evidence(1, "correct"), {}));
  EXPECT_EQ(*Database::open(store.file(), OpenMode::read_only, 1000)->ask("PRAGMA user_version"),
            "3");
}

TEST_F(StoreTest, AJudgementThatWasBegunIsKnownWithoutAVerdict) {
  Store store = open();
  const int64_t run = *store.begin_run(new_run("killed", 2));
  ASSERT_TRUE(store.begin_entry(run, 1, 123));
  const auto record = store.load(*store.find("killed"), Detail::verdicts);
  ASSERT_TRUE(record) << to_string(record.error());
  EXPECT_EQ(record->entries[0].begun_ms, 0);
  EXPECT_EQ(record->entries[1].begun_ms, 123);
  EXPECT_TRUE(record->verdicts.empty());
}

TEST_F(StoreTest, ALockThatIsHeldIsWaitedForWithALimit) {
  Store store = open();
  auto db = Database::open(options_.folder / "fiel.db", OpenMode::read_write, 1000);
  auto held = Transaction::begin(*db);
  ASSERT_TRUE(held);
  StoreOptions impatient = options_;
  impatient.busy_timeout_ms = 50;
  auto second = Store::open(impatient);
  ASSERT_TRUE(second) << to_string(second.error());
  auto run = second->begin_run(new_run("late", 0));
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().code, ErrorCode::limit);
}

TEST_F(StoreTest, AWriteAheadLogThatCameToANetworkFileSystemIsFoldedIn) {
  options_.journal = Journal::write_ahead_log;
  {
    Store store = open();
    ASSERT_TRUE(store.keep(*store.begin_run(new_run("a", 1)), evidence(0, "correct")));
  }
  options_.journal = Journal::rollback;
  Store store = open();
  EXPECT_EQ(store.find("a")->verdicts, 1u);
  EXPECT_FALSE(fs::exists(options_.folder / "fiel.db-wal"));
  Store beside = open();  // the exclusive lock of the change is gone
  EXPECT_TRUE(beside.keep(beside.find("a")->id, evidence(0, "incorrect")));
}

TEST(FileSystemTest, NamesThoseThatSeveralHostsMount) {
  for (unsigned long magic : {0x6969ul, 0x0BD00BD0ul, 0x65735546ul})
    EXPECT_TRUE(file_system_named(magic).network) << magic;
  for (unsigned long magic : {0xEF53ul, 0x9123683Eul, 0x58465342ul, 0x01021994ul, 0x794C7630ul})
    EXPECT_FALSE(file_system_named(magic).network) << magic;
  EXPECT_FALSE(file_system_of("/proc/self/nothing/here").network);
}

TEST(CompressedTest, RoundTripsAndRefusesWhatIsNoFrame) {
  const std::string text(10'000, 'a');
  EXPECT_EQ(*decompressed(compressed(text), 10'000), text);
  EXPECT_EQ(*decompressed(compressed(""), 0), "");
  EXPECT_EQ(decompressed(compressed(text), 9'999).error().code, ErrorCode::limit);
  EXPECT_FALSE(decompressed("not a frame", 100));
  EXPECT_FALSE(decompressed(compressed(text).substr(0, 12), 10'000));
}

}  // namespace
}  // namespace fiel::store
