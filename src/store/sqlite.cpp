#include "store/sqlite.h"

#include <fmt/core.h>
#include <sqlite3.h>

namespace fiel::store {
namespace {

Error error_of(sqlite3* db, int code) {
  const int primary = code & 0xFF;
  const std::string what = db != nullptr ? sqlite3_errmsg(db) : sqlite3_errstr(code);
  switch (primary) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Error{ErrorCode::limit,
                   "the store is locked by another process",
                   "wait for it to end, or choose another store with FIEL_STORE",
                   {}};
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_SCHEMA:
      return Error{ErrorCode::environment,
                   "the store is damaged: " + what,
                   "move its folder away; a new one is made",
                   {}};
    case SQLITE_FULL:
      return Error{ErrorCode::io, "the store's disk is full", "", {}};
    case SQLITE_READONLY:
      return Error{ErrorCode::io, "the store is read-only", "choose another with FIEL_STORE", {}};
    default:
      return Error{ErrorCode::io, "the store: " + what, "", {}};
  }
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* s) const { sqlite3_finalize(s); }
void Database::Close::operator()(sqlite3* db) const { sqlite3_close_v2(db); }

Statement& Statement::bind(int place, int64_t value) {
  sqlite3_bind_int64(statement_.get(), place, value);
  return *this;
}
Statement& Statement::bind(int place, std::string_view text) {
  sqlite3_bind_text64(statement_.get(), place, text.data() != nullptr ? text.data() : "",
                      text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  return *this;
}
Statement& Statement::bind_bytes(int place, std::string_view bytes) {
  sqlite3_bind_blob64(statement_.get(), place, bytes.data() != nullptr ? bytes.data() : "",
                      bytes.size(), SQLITE_TRANSIENT);
  return *this;
}
Statement& Statement::bind_real(int place, double value) {
  sqlite3_bind_double(statement_.get(), place, value);
  return *this;
}
Statement& Statement::bind_null(int place) {
  sqlite3_bind_null(statement_.get(), place);
  return *this;
}

Result<bool> Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return fail(error_of(db_, code));
}
Status Statement::run() {
  FIEL_TRY(const bool row, step());
  static_cast<void>(row);
  return {};
}
void Statement::reset() {
  sqlite3_reset(statement_.get());
  sqlite3_clear_bindings(statement_.get());
}

double Statement::real(int column) const { return sqlite3_column_double(statement_.get(), column); }
int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}
std::string Statement::text(int column) const { return std::string(bytes(column)); }
std::string_view Statement::bytes(int column) const {
  const void* data = sqlite3_column_blob(statement_.get(), column);
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return data == nullptr ? std::string_view()
                         : std::string_view(static_cast<const char*>(data), size);
}
bool Statement::is_null(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

Result<Database> Database::open(const std::filesystem::path& path, OpenMode mode,
                                int64_t busy_timeout_ms) {
  const int flags = mode == OpenMode::read_only    ? SQLITE_OPEN_READONLY
                    : mode == OpenMode::read_write ? SQLITE_OPEN_READWRITE
                                                   : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &raw, flags, nullptr);
  Database db(raw);
  if (code != SQLITE_OK) return fail(error_of(raw, code).with_context(path.string()));
  sqlite3_busy_timeout(raw, static_cast<int>(busy_timeout_ms));
  // The file may have come from anywhere: no code of its own, no trust in its schema.
  sqlite3_db_config(raw, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(raw, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_extended_result_codes(raw, 1);
  return db;
}

Result<Statement> Database::prepare(std::string_view sql) {
  sqlite3_stmt* raw = nullptr;
  const int code =
      sqlite3_prepare_v2(db_.get(), sql.data(), static_cast<int>(sql.size()), &raw, nullptr);
  if (code != SQLITE_OK) return fail(error_of(db_.get(), code));
  return Statement(db_.get(), raw);
}

Status Database::execute(const char* sql) {
  const int code = sqlite3_exec(db_.get(), sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return fail(error_of(db_.get(), code));
  return {};
}

Result<std::string> Database::ask(const char* sql) {
  FIEL_TRY(Statement s, prepare(sql));
  FIEL_TRY(const bool row, s.step());
  return row ? s.text(0) : std::string();
}

int64_t Database::last_row() const { return sqlite3_last_insert_rowid(db_.get()); }

Result<Transaction> Transaction::begin(Database& db) {
  FIEL_TRY_STATUS(db.execute("BEGIN IMMEDIATE"));
  return Transaction(&db);
}
Status Transaction::commit() {
  FIEL_TRY_STATUS(db_->execute("COMMIT"));
  db_ = nullptr;
  return {};
}
Transaction::~Transaction() {
  if (db_ != nullptr) static_cast<void>(db_->execute("ROLLBACK"));
}

}  // namespace fiel::store
