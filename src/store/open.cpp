// Opening: where the store is, how it is journalled, which form it has.
#include <fmt/core.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "store/file_system.h"
#include "store/schema.h"
#include "store/store.h"

namespace fiel::store {
namespace {

namespace fs = std::filesystem;

// Byte 18 of a SQLite file is 2 while it is in write-ahead mode (sqlite.org/fileformat.html).
bool is_in_wal_mode(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  char head[20] = {};
  return in.read(head, sizeof head) && head[18] == 2;
}

// Switching the journal needs the only connection, and SQLite's own wait does not cover that.
Status set_journal(Database& db, Journal journal, int64_t timeout_ms) {
  const bool wal = journal == Journal::write_ahead_log;
  const char* sql = wal ? "PRAGMA journal_mode = WAL" : "PRAGMA journal_mode = DELETE";
  const std::string wanted = wal ? "wal" : "delete";
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  for (;;) {
    auto mode = db.ask(sql);
    if (mode && *mode == wanted) return {};
    if (!mode && mode.error().code != ErrorCode::limit) return fail(mode.error());
    if (std::chrono::steady_clock::now() >= end) {
      if (!mode) return fail(mode.error());
      return fail(ErrorCode::io,
                  fmt::format("the store stays in journal mode {}, not {}", *mode, wanted));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

Status prepare(Database& db, const fs::path& file, const StoreOptions& options, Journal journal) {
  // A write-ahead log that was carried to a network file system is folded in without shared memory.
  if (journal == Journal::rollback && is_in_wal_mode(file))
    FIEL_TRY_STATUS(db.execute("PRAGMA locking_mode = EXCLUSIVE"));
  FIEL_TRY_STATUS(set_journal(db, journal, options.busy_timeout_ms));
  FIEL_TRY_STATUS(db.execute("PRAGMA locking_mode = NORMAL"));
  // FULL: an acknowledged verdict survives a power cut too. A verdict takes seconds, a sync
  // milliseconds.
  FIEL_TRY_STATUS(db.execute("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON"));
  if (options.max_bytes != 0) {
    const std::string sql =
        fmt::format("PRAGMA max_page_count = {}", std::max<uint64_t>(options.max_bytes / 4096, 1));
    FIEL_TRY_STATUS(db.execute(sql.c_str()));
  }
  return bring_up_to_date(db);
}

}  // namespace

fs::path default_folder() {
  if (const char* own = std::getenv("FIEL_STORE"); own && *own) return own;
  if (const char* xdg = std::getenv("XDG_DATA_HOME"); xdg && *xdg) return fs::path(xdg) / "fiel";
  const char* home = std::getenv("HOME");
  return fs::path(home && *home ? home : "/tmp") / ".local" / "share" / "fiel";
}

Result<Store> Store::open(const StoreOptions& options) {
  const fs::path folder = options.folder.empty() ? default_folder() : options.folder;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    return fail(
        ErrorCode::io,
        fmt::format("the store's folder {} cannot be made: {}", folder.string(), error.message()),
        "choose another with FIEL_STORE, or --no-store");
  const FileSystem system = file_system_of(folder);
  const Journal journal =
      options.journal.value_or(system.network ? Journal::rollback : Journal::write_ahead_log);
  const fs::path file = folder / "fiel.db";
  FIEL_TRY(Database db, Database::open(file, OpenMode::create, options.busy_timeout_ms));
  // Kernels and verdicts may be confidential.
  chmod(file.c_str(), S_IRUSR | S_IWUSR);
  FIEL_TRY_STATUS(prepare(db, file, options, journal));
  Store store(std::move(db), file);
  store.journal_ = journal;
  if (system.network)
    store.note_ = fmt::format(
        "the store is on {}: a rollback journal instead of a write-ahead log, so writers wait for "
        "each other longer",
        system.name);
  return store;
}

Result<Store> Store::open_existing(const StoreOptions& options) {
  const fs::path folder = options.folder.empty() ? default_folder() : options.folder;
  std::error_code error;
  if (!fs::exists(folder / "fiel.db", error))
    return fail(ErrorCode::not_found,
                fmt::format("nothing has been kept in {} yet", folder.string()),
                "'fiel judge' keeps what it judges; FIEL_STORE names another folder");
  auto store = open(options);
  if (store || store.error().code != ErrorCode::io) return store;
  // A store that may not be written to can still be read.
  FIEL_TRY(Database db,
           Database::open(folder / "fiel.db", OpenMode::read_only, options.busy_timeout_ms));
  FIEL_TRY(const std::string version, db.ask("PRAGMA user_version"));
  if (version != std::to_string(kSchemaVersion)) return store;
  return Store(std::move(db), folder / "fiel.db");
}

Status Store::check() {
  FIEL_TRY(const std::string answer, db_.ask("PRAGMA integrity_check"));
  if (answer == "ok") return {};
  return fail(ErrorCode::environment, "the store is damaged: " + answer,
              "move its folder away; a new one is made");
}

}  // namespace fiel::store
