// SQLite with owners: a connection, statements, transactions that roll back when left.
//
//   FIEL_TRY(Database db, Database::open(path, {}));
//   FIEL_TRY(Statement s, db.prepare("SELECT name FROM runs WHERE id = ?"));
//   s.bind(1, id);  FIEL_TRY(const bool row, s.step());  if (row) s.text(0);
//
// Errors: ErrorCode::limit where another process held the lock longer than the limit,
// ErrorCode::environment where the file is no sound database, ErrorCode::io for all else.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace fiel::store {

enum class OpenMode : uint8_t { read_only, read_write, create };

class Statement {
 public:
  Statement(sqlite3* db, sqlite3_stmt* statement) : db_(db), statement_(statement) {}

  /// Parameters count from 1; what is bound is copied.
  Statement& bind(int place, int64_t value);
  Statement& bind(int place, std::string_view text);
  Statement& bind_bytes(int place, std::string_view bytes);
  Statement& bind_null(int place);
  Statement& bind_real(int place, double value);

  Result<bool> step();  ///< true: a row is there
  Status run();         ///< for statements without rows
  void reset();

  /// Columns count from 0.
  int64_t integer(int column) const;
  double real(int column) const;
  std::string text(int column) const;
  std::string_view bytes(int column) const;  ///< until the next step
  bool is_null(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* s) const;
  };
  sqlite3* db_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

class Database {
 public:
  static Result<Database> open(const std::filesystem::path& path, OpenMode mode,
                               int64_t busy_timeout_ms);
  Result<Statement> prepare(std::string_view sql);
  Status execute(const char* sql);           ///< several statements; never with values inside
  Result<std::string> ask(const char* sql);  ///< first column of the first row; "" without rows
  int64_t last_row() const;

 private:
  struct Close {
    void operator()(sqlite3* db) const;
  };
  explicit Database(sqlite3* db) : db_(db) {}
  std::unique_ptr<sqlite3, Close> db_;
};

/// BEGIN IMMEDIATE … COMMIT; rolled back unless commit() was reached.
class Transaction {
 public:
  static Result<Transaction> begin(Database& db);
  Transaction(Transaction&& other) noexcept : db_(std::exchange(other.db_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  Status commit();

 private:
  explicit Transaction(Database* db) : db_(db) {}
  Database* db_;
};

}  // namespace fiel::store
