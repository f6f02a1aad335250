#include "base/sqlite.h"

#include <sqlite3.h>

#include "base/check.h"

namespace uvmsim {

void Sqlite::Close::operator()(sqlite3* database) const { sqlite3_close(database); }

Sqlite::Sqlite(const std::string& path, int flags, Thrower thrower) : thrower_(std::move(thrower)) {
  sqlite3* opened = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &opened, flags, nullptr);
  database_.reset(opened);
  check(code);
}

SqliteStatement Sqlite::prepare(std::string_view sql) const { return {*this, sql}; }

void Sqlite::run(const std::string& statements) {
  check(sqlite3_exec(database_.get(), statements.c_str(), nullptr, nullptr, nullptr));
}

void Sqlite::check(int code) const {
  if (code == SQLITE_OK) return;
  thrower_(code & 0xff, sqlite3_errmsg(database_.get()));
  UVMSIM_CHECK(false, "an error of SQLite was not thrown");
}

void SqliteStatement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

SqliteStatement::SqliteStatement(const Sqlite& database, std::string_view sql) : database_(database) {
  sqlite3_stmt* statement = nullptr;
  database.check(sqlite3_prepare_v2(database.handle(), sql.data(), static_cast<int>(sql.size()), &statement, nullptr));
  statement_.reset(statement);
}

SqliteStatement& SqliteStatement::add(std::string_view text) {
  sqlite3_bind_text64(statement_.get(), ++bound_, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  return *this;
}

SqliteStatement& SqliteStatement::add(std::int64_t number) {
  sqlite3_bind_int64(statement_.get(), ++bound_, number);
  return *this;
}

SqliteStatement& SqliteStatement::add(double number) {
  sqlite3_bind_double(statement_.get(), ++bound_, number);
  return *this;
}

SqliteStatement& SqliteStatement::add_null() {
  sqlite3_bind_null(statement_.get(), ++bound_);
  return *this;
}

bool SqliteStatement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) database_.check(code);
  sqlite3_reset(statement_.get());
  bound_ = 0;
  return false;
}

void SqliteStatement::run() {
  while (step()) {
  }
}

std::string SqliteStatement::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  if (bytes == nullptr) return "";
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

std::int64_t SqliteStatement::integer(int column) const { return sqlite3_column_int64(statement_.get(), column); }

double SqliteStatement::number(int column) const { return sqlite3_column_double(statement_.get(), column); }

bool SqliteStatement::is_null(int column) const { return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL; }

bool SqliteStatement::is_integer(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_INTEGER;
}

}  // namespace uvmsim
