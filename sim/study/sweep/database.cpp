#include "study/sweep/database.h"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sqlite3.h>
#include <system_error>
#include <unistd.h>

#include "base/user_error.h"

namespace uvmsim {
namespace {

constexpr int kPatienceMs = 60'000;
constexpr int kPauseMs = 20;

[[noreturn]] void fail(sqlite3* database) {
  const char* file = sqlite3_db_filename(database, "main");
  const std::string subject = file == nullptr ? "database" : file;
  const int code = sqlite3_errcode(database) & 0xff;
  if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT || code == SQLITE_CANTOPEN || code == SQLITE_READONLY)
    throw UserError(subject, sqlite3_errmsg(database));
  throw std::system_error(code == SQLITE_FULL ? ENOSPC : EIO, std::generic_category(),
                          subject + ": " + sqlite3_errmsg(database));
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

Statement::Statement(sqlite3* database, std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(database, sql.data(), static_cast<int>(sql.size()), &statement, nullptr) != SQLITE_OK)
    fail(database);
  statement_.reset(statement);
}

Statement& Statement::add(std::string_view text) {
  sqlite3_bind_text64(statement_.get(), ++bound_, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  return *this;
}

Statement& Statement::add(std::int64_t number) {
  sqlite3_bind_int64(statement_.get(), ++bound_, number);
  return *this;
}

Statement& Statement::add(double number) {
  sqlite3_bind_double(statement_.get(), ++bound_, number);
  return *this;
}

Statement& Statement::add_null() {
  sqlite3_bind_null(statement_.get(), ++bound_);
  return *this;
}

bool Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  sqlite3* database = sqlite3_db_handle(statement_.get());
  if (code != SQLITE_DONE) fail(database);
  sqlite3_reset(statement_.get());
  bound_ = 0;
  return false;
}

void Statement::run() {
  while (step()) {
  }
}

std::string Statement::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  if (bytes == nullptr) return "";
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_.get(), column); }

double Statement::number(int column) const { return sqlite3_column_double(statement_.get(), column); }

bool Statement::is_null(int column) const { return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL; }

void Database::Close::operator()(sqlite3* database) const { sqlite3_close(database); }

Database::Database(const std::string& path, Use use) {
  if (use == Use::Read)
    open_to_read(path);
  else
    open_to_write(path);
}

void Database::open_to_write(const std::string& path) {
  sqlite3* database = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  database_.reset(database);
  if (code != SQLITE_OK) throw UserError(path, sqlite3_errstr(code));
  sqlite3_busy_timeout(database, kPatienceMs);
  // A killed process loses nothing in WAL mode; NORMAL may lose the last points when the machine loses power.
  // Changing the mode does not wait for others that do the same.
  for (int waited = 0; sqlite3_exec(database, "PRAGMA journal_mode = WAL", nullptr, nullptr, nullptr) == SQLITE_BUSY &&
                       waited < kPatienceMs;
       waited += kPauseMs)
    sqlite3_sleep(kPauseMs);
  run("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON");
}

// Who reads in WAL mode needs the log and its index beside the database, or must be able to make them. Where neither
// holds, nobody writes either: without a log the database is all there is, and does not change ("immutable").
void Database::open_to_read(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::is_regular_file(path, error)) throw UserError(path, "no such file");
  const bool as_it_is = faccessat(AT_FDCWD, fs::absolute(path).parent_path().c_str(), W_OK, AT_EACCESS) != 0 &&
                        !fs::exists(path + "-wal", error);
  std::string uri = "file:";
  for (const char c : path) uri += c == '?' ? "%3f" : c == '#' ? "%23" : c == '%' ? "%25" : std::string(1, c);
  if (as_it_is) uri += "?immutable=1";
  sqlite3* database = nullptr;
  const int code = sqlite3_open_v2(uri.c_str(), &database, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nullptr);
  database_.reset(database);
  if (code != SQLITE_OK) throw UserError(path, sqlite3_errstr(code));
  sqlite3_busy_timeout(database, kPatienceMs);
}

void Database::run(const std::string& statements) {
  if (sqlite3_exec(database_.get(), statements.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail(database_.get());
}

std::int64_t Database::integer(std::string_view sql) const {
  Statement select = prepare(sql);
  return select.step() ? select.integer(0) : 0;
}

Transaction::~Transaction() {
  if (kept_) return;
  try {
    database_.run("ROLLBACK");
  } catch (const std::exception&) {
    // SQLite has rolled back by itself.
  }
}

void Transaction::keep() {
  database_.run("COMMIT");
  kept_ = true;
}

}  // namespace uvmsim
