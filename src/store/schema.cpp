#include "store/schema.h"

#include <fmt/core.h>

#include <string>

namespace fiel::store {
namespace {

// "Fiel" as a number, so that file(1) and we know our own.
constexpr const char* kApplicationId = "1181312364";

// kSteps[i] leads from version i to i + 1.
constexpr const char* kSteps[] = {
    R"sql(
CREATE TABLE runs (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  campaign TEXT NOT NULL,
  folder TEXT NOT NULL,
  words TEXT NOT NULL,
  begun_ms INTEGER NOT NULL,
  ended_ms INTEGER,
  state TEXT NOT NULL CHECK (state IN ('open', 'stopped', 'done'))
) STRICT;
CREATE TABLE entries (
  run INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
  place INTEGER NOT NULL,
  task TEXT NOT NULL,
  kernel TEXT NOT NULL,
  problem TEXT NOT NULL,
  sample INTEGER,
  PRIMARY KEY (run, place)
) STRICT, WITHOUT ROWID;
CREATE TABLE contents (
  digest TEXT PRIMARY KEY,
  bytes INTEGER NOT NULL,
  zstd BLOB NOT NULL
) STRICT;
CREATE TABLE verdicts (
  id INTEGER PRIMARY KEY,
  run INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
  place INTEGER NOT NULL,
  judged_ms INTEGER NOT NULL,
  took_ms INTEGER NOT NULL,
  task TEXT NOT NULL,
  kernel TEXT NOT NULL,
  status TEXT NOT NULL,
  accepted INTEGER NOT NULL,
  speed TEXT NOT NULL,
  task_source TEXT REFERENCES contents(digest),
  kernel_source TEXT REFERENCES contents(digest),
  environment TEXT NOT NULL REFERENCES contents(digest),
  parent INTEGER REFERENCES verdicts(id),
  document BLOB NOT NULL,
  samples BLOB,
  UNIQUE (run, place)
) STRICT;
CREATE INDEX verdicts_by_kernel ON verdicts(kernel_source, task_source);
)sql",
    // Searches: a run whose entries are added as they are judged, each with where it came from.
    R"sql(
CREATE TABLE searches (
  run INTEGER PRIMARY KEY REFERENCES runs(id) ON DELETE CASCADE,
  strategy TEXT NOT NULL,
  proposer TEXT NOT NULL,
  budget INTEGER NOT NULL,
  options TEXT NOT NULL
) STRICT;
CREATE TABLE lineage (
  run INTEGER NOT NULL,
  place INTEGER NOT NULL,
  operation TEXT NOT NULL,
  step INTEGER NOT NULL,
  island INTEGER NOT NULL,
  parent INTEGER,
  second_parent INTEGER,
  note TEXT NOT NULL,
  state TEXT NOT NULL,
  reason TEXT NOT NULL,
  feedback TEXT NOT NULL,
  measure TEXT NOT NULL,
  score REAL NOT NULL,
  score_low REAL NOT NULL,
  proposals INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  cost REAL NOT NULL,
  PRIMARY KEY (run, place),
  FOREIGN KEY (run, place) REFERENCES entries(run, place) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
)sql",
    // When the latest judgement of an entry began: without a verdict after it, it was killed.
    R"sql(
ALTER TABLE entries ADD COLUMN begun_ms INTEGER;
)sql"};
static_assert(std::size(kSteps) == kSchemaVersion);

/// Both numbers are written at once and last: whoever sees both sees all of it.
Result<bool> is_current(Database& db) {
  FIEL_TRY(const std::string id, db.ask("PRAGMA application_id"));
  FIEL_TRY(const std::string version, db.ask("PRAGMA user_version"));
  return id == kApplicationId && version == std::to_string(kSchemaVersion);
}

/// Under the lock of a transaction, so that both answers are about the same moment.
Status check_owner(Database& db) {
  FIEL_TRY(const std::string id, db.ask("PRAGMA application_id"));
  FIEL_TRY(const std::string tables, db.ask("SELECT count(*) FROM sqlite_schema"));
  if (id == kApplicationId || (id == "0" && tables == "0")) return {};
  return fail(ErrorCode::environment, "the store's file is a database of another program",
              "choose another folder with FIEL_STORE");
}

}  // namespace

Status bring_up_to_date(Database& db) {
  FIEL_TRY(const bool current, is_current(db));
  if (current) return {};
  // From here on under the lock: another process may be making the tables between two questions.
  FIEL_TRY(Transaction transaction, Transaction::begin(db));
  FIEL_TRY_STATUS(check_owner(db));
  FIEL_TRY(const std::string version, db.ask("PRAGMA user_version"));
  const int from = std::atoi(version.c_str());
  if (from > kSchemaVersion)
    return fail(
        ErrorCode::environment,
        fmt::format("the store has form {}, and this fiel knows up to {}", from, kSchemaVersion),
        "use the newer fiel that wrote it, or another folder with FIEL_STORE");
  for (int step = from; step < kSchemaVersion; ++step) FIEL_TRY_STATUS(db.execute(kSteps[step]));
  const std::string mark = fmt::format("PRAGMA user_version = {}; PRAGMA application_id = {}",
                                       kSchemaVersion, kApplicationId);
  FIEL_TRY_STATUS(db.execute(mark.c_str()));
  return transaction.commit();
}

}  // namespace fiel::store
