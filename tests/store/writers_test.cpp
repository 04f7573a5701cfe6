// Several processes write at once, one of them killed again and again: what was acknowledged stays.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <string>

#include "base/files.h"
#include "store/store.h"

namespace fiel::store {
namespace {

namespace fs = std::filesystem;

// FIEL_STORE_TEST_VERDICTS=1000 is the full size.
size_t verdicts_a_writer() {
  const char* text = std::getenv("FIEL_STORE_TEST_VERDICTS");
  return text != nullptr ? static_cast<size_t>(std::atoi(text)) : 80;
}

Evidence evidence(size_t place, const std::string& kernel) {
  Evidence e;
  e.place = place;
  e.verdict["status"] = "correct";
  e.verdict["kernel"] = kernel;
  e.verdict["environment"]["host"] = "here";
  e.kernel_source = "// " + kernel + std::to_string(place) + "\n" + std::string(2000, 'k');
  return e;
}

std::set<size_t> places_in(const fs::path& file) {
  std::set<size_t> places;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);)
    if (line.ends_with('.')) places.insert(static_cast<size_t>(std::stoul(line)));
  return places;
}

// Writes what its log does not list yet; a line of the log is an acknowledged verdict.
void write_all(const StoreOptions& options, const std::string& run, const fs::path& log) {
  auto store = Store::open(options);
  if (!store) _exit(10);
  auto header = store->find(run);
  if (!header) _exit(11);
  const std::set<size_t> done = places_in(log);
  std::FILE* out = std::fopen(log.c_str(), "a");
  for (size_t place = 0; place < verdicts_a_writer(); ++place) {
    if (done.contains(place)) continue;
    if (!store->keep(header->id, evidence(place, run))) _exit(12);
    std::fprintf(out, "%zu.\n", place);
    std::fflush(out);
  }
  _exit(0);
}

pid_t start_writer(const StoreOptions& options, const std::string& run, const fs::path& log) {
  const pid_t pid = fork();
  if (pid == 0) write_all(options, run, log);
  return pid;
}

// The delays are spread over the phases of a write; none of them has to hit any.
void kill_until_done(const StoreOptions& options, const std::string& run, const fs::path& log,
                     int& kills) {
  for (int attempt = 0;; ++attempt) {
    const pid_t pid = start_writer(options, run, log);
    if (attempt < 25) {
      usleep(static_cast<useconds_t>(15'000 + (attempt * 7919) % 60'000));
      kills += kill(pid, SIGKILL) == 0 ? 1 : 0;
    }
    int status = 0;
    waitpid(pid, &status, 0);
    if (WIFEXITED(status)) {
      EXPECT_EQ(WEXITSTATUS(status), 0);
      return;
    }
  }
}

class Writers : public testing::TestWithParam<Journal> {};

TEST_P(Writers, FourOfThemOneKilledInALoopLoseNothingThatWasAcknowledged) {
  auto folder = TempDir::create("writers");
  ASSERT_TRUE(folder);
  StoreOptions options{
      .folder = folder->path() / "store", .busy_timeout_ms = 60'000, .journal = GetParam()};
  const std::string names[] = {"w0", "w1", "w2", "w3"};
  {
    auto store = Store::open(options);
    ASSERT_TRUE(store) << to_string(store.error());
    for (const std::string& name : names) {
      NewRun run{.name = name};
      run.entries.resize(verdicts_a_writer());
      ASSERT_TRUE(store->begin_run(run));
    }
  }
  pid_t others[3];
  for (int i = 0; i < 3; ++i)
    others[i] = start_writer(options, names[i], folder->path() / names[i]);
  int kills = 0;
  kill_until_done(options, names[3], folder->path() / names[3], kills);
  for (pid_t pid : others) {
    int status = 0;
    waitpid(pid, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  EXPECT_GT(kills, 0);

  auto store = Store::open(options);
  ASSERT_TRUE(store) << to_string(store.error());
  EXPECT_TRUE(store->check());
  for (const std::string& name : names) {
    auto record = store->load(*store->find(name), Detail::all);
    ASSERT_TRUE(record) << to_string(record.error());
    std::set<size_t> kept;
    for (const Evidence& e : record->verdicts) {
      EXPECT_EQ(e.kernel_source, evidence(e.place, name).kernel_source);
      kept.insert(e.place);
    }
    const std::set<size_t> acknowledged = places_in(folder->path() / name);
    EXPECT_EQ(acknowledged.size(), verdicts_a_writer());
    for (size_t place : acknowledged) EXPECT_TRUE(kept.contains(place)) << name << " " << place;
  }
}

// Opens the store when the gate's other end closes; the exit code says whether it could.
pid_t start_opener(const StoreOptions& options, int gate, int other_end) {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  close(other_end);
  char none = 0;
  if (read(gate, &none, 1) != 0) _exit(11);
  auto store = Store::open(options);
  if (!store) std::fprintf(stderr, "%s\n", to_string(store.error()).c_str());
  _exit(store && store->begin_run({.name = std::to_string(getpid())}) ? 0 : 10);
}

// Which step of the first opening the others meet is left to chance, so there are many.
TEST_P(Writers, EightThatOpenAFreshStoreAtOnceAllGetIt) {
  auto folder = TempDir::create("openers");
  ASSERT_TRUE(folder);
  constexpr int kRounds = 25, kOpeners = 8;
  for (int round = 0; round < kRounds; ++round) {
    StoreOptions options{.folder = folder->path() / std::to_string(round),
                         .busy_timeout_ms = 60'000,
                         .journal = GetParam()};
    int gate[2];
    ASSERT_EQ(pipe(gate), 0);
    pid_t openers[kOpeners];
    for (pid_t& pid : openers) pid = start_opener(options, gate[0], gate[1]);
    close(gate[0]);
    close(gate[1]);
    for (pid_t pid : openers) {
      int status = 0;
      waitpid(pid, &status, 0);
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "round " << round;
    }
    auto store = Store::open_existing(options);
    ASSERT_TRUE(store) << to_string(store.error());
    EXPECT_EQ(store->runs(100)->size(), size_t{kOpeners});
  }
}

INSTANTIATE_TEST_SUITE_P(Journals, Writers,
                         testing::Values(Journal::write_ahead_log, Journal::rollback),
                         [](const auto& test) {
                           return test.param == Journal::rollback ? "rollback" : "write_ahead_log";
                         });

}  // namespace
}  // namespace fiel::store
