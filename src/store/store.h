// The evidence of judgements: verdicts, raw samples, sources, environments, grouped in runs.
//
//   FIEL_TRY(Store store, Store::open({}));                    // $FIEL_STORE, or XDG's data folder
//   FIEL_TRY(const int64_t run, store.begin_run({.name = "nightly", …}));
//   FIEL_TRY_STATUS(store.keep(run, evidence));                // kept once this returns
//   FIEL_TRY(RunRecord record, store.load("nightly"));
//
// One SQLite file. On a local disk with a write-ahead log; where several hosts may have the file
// system mounted (NFS, Lustre, FUSE, …) with a rollback journal, since a write-ahead log needs
// memory that all writers share. Several processes may write; each waits for its turn up to
// busy_timeout_ms (ErrorCode::limit after that). What keep() acknowledged survives a kill.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "store/sqlite.h"

namespace fiel::store {

enum class Journal : uint8_t { write_ahead_log, rollback };

struct StoreOptions {
  std::filesystem::path folder;  ///< empty: default_folder()
  int64_t busy_timeout_ms = 30'000;
  std::optional<Journal> journal;  ///< none: by the file system
  uint64_t max_bytes = 0;          ///< refuse to grow beyond; 0: the disk decides
};

/// $FIEL_STORE, else $XDG_DATA_HOME/fiel, else ~/.local/share/fiel.
std::filesystem::path default_folder();

/// One pair of a task and a kernel that a run has to judge.
struct Entry {
  std::string task, kernel;       ///< paths, as given
  std::string problem;            ///< KernelBench's problem, or the task's name
  std::optional<int64_t> sample;  ///< KernelBench's sample
  int64_t begun_ms = 0;           ///< of its latest judgement, also one that was killed; 0: none
};

struct NewRun {
  std::string name;
  std::string campaign;            ///< groups runs; may be empty
  std::string folder;              ///< where the paths start
  std::vector<std::string> words;  ///< the flags, to go on with
  int64_t begun_ms = 0;            ///< since 1970
  std::vector<Entry> entries;
};

/// What is kept of one judgement.
struct Evidence {
  size_t place = 0;  ///< the entry's, from 0
  Json verdict;      ///< docs/verdict.schema.json
  Json samples;      ///< raw samples a side; null where nothing was timed
  std::string task_source, kernel_source;
  std::string task_digest, kernel_digest;  ///< SHA-256 of the sources; filled by load()
  int64_t judged_ms = 0, took_ms = 0;
  std::optional<int64_t> parent;  ///< the verdict whose kernel this one was made from
};

/// A search is a run whose entries are added one by one, each judged when it is added.
struct SearchHeader {
  std::string strategy, proposer;
  uint32_t budget = 0;
  Json options;
};

/// Where a kernel of a search came from and what came of it. Parents are places of the same run.
struct Lineage {
  std::string operation;
  uint32_t step = 0, island = 0;
  std::vector<size_t> parents;  ///< at most two
  std::string note, state, reason, feedback;
  std::string measure;  ///< "nothing", "speed_up", "stand_in"
  double score = 0, score_low = 0;
  uint32_t proposals = 0;
  int64_t input_tokens = 0, output_tokens = 0;
  double cost = 0;
};

struct SearchRecord {
  SearchHeader header;
  std::vector<Lineage> steps;  ///< by place
};

struct RunHeader {
  int64_t id = 0;
  std::string name, campaign, folder, state;  ///< state: "open", "stopped", "done"
  std::vector<std::string> words;
  int64_t begun_ms = 0, ended_ms = 0;
  uint64_t entries = 0, verdicts = 0, accepted = 0;
};

struct RunRecord {
  RunHeader header;
  std::vector<Entry> entries;
  std::vector<Evidence> verdicts;  ///< by place; sources and samples as asked
};

enum class Detail : uint8_t {
  verdicts,  ///< documents alone
  all,       ///< with samples and sources
};

class Store {
 public:
  /// Opens, makes or migrates.
  static Result<Store> open(const StoreOptions& options);
  /// For readers: ErrorCode::not_found where nothing was ever kept.
  static Result<Store> open_existing(const StoreOptions& options);

  Journal journal() const { return journal_; }
  const std::string& note() const { return note_; }  ///< what a person should know; may be empty
  const std::filesystem::path& file() const { return file_; }

  Result<int64_t> begin_run(const NewRun& run);
  /// Before its judgement: one that is killed is known by it.
  Status begin_entry(int64_t run, size_t place, int64_t now_ms);
  Status keep(int64_t run, const Evidence& evidence);  ///< replaces what the place held
  Status begin_search(int64_t run, const SearchHeader& header);
  /// Entry, verdict and lineage at once: a search that is killed holds whole steps.
  Status keep_step(int64_t run, const Entry& entry, Evidence evidence, const Lineage& lineage);
  /// ErrorCode::not_found where the run is no search.
  Result<SearchRecord> load_search(int64_t run);
  Status set_state(int64_t run, std::string_view state, int64_t now_ms);

  /// Newest first.
  Result<std::vector<RunHeader>> runs(uint64_t at_most);
  /// By name, by the begin of a name that only one run has, or "last".
  Result<RunHeader> find(std::string_view name);
  Result<RunRecord> load(const RunHeader& header, Detail detail);
  Result<std::string> content(std::string_view digest);
  Status check();  ///< SQLite's own integrity check

 private:
  Store(Database db, std::filesystem::path file) : db_(std::move(db)), file_(std::move(file)) {}
  Status put_verdict(int64_t run, const Evidence& evidence);
  Status put_lineage(int64_t run, size_t place, const Lineage& lineage);
  Result<std::string> keep_content(std::string_view bytes);
  Result<std::vector<Entry>> entries_of(int64_t run);

  Database db_;
  std::filesystem::path file_;
  Journal journal_ = Journal::write_ahead_log;
  std::string note_;
};

}  // namespace fiel::store
