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

// Who reads in WAL mode needs the log and its index beside the database, or must be able to make them. Where neither
// holds, nobody writes either: without a log the database is all there is, and does not change ("immutable").
std::string uri_to_read(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::is_regular_file(path, error)) throw UserError(path, "no such file");
  const bool as_it_is = faccessat(AT_FDCWD, fs::absolute(path).parent_path().c_str(), W_OK, AT_EACCESS) != 0 &&
                        !fs::exists(path + "-wal", error);
  std::string uri = "file:";
  for (const char c : path) uri += c == '?' ? "%3f" : c == '#' ? "%23" : c == '%' ? "%25" : std::string(1, c);
  return uri + (as_it_is ? "?immutable=1" : "");
}

Sqlite opened(const std::string& path, Database::Use use) {
  const auto thrower = [path](int code, const std::string& message) {
    if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT || code == SQLITE_CANTOPEN || code == SQLITE_READONLY)
      throw UserError(path, message);
    throw std::system_error(code == SQLITE_FULL ? ENOSPC : EIO, std::generic_category(), path + ": " + message);
  };
  if (use == Database::Use::Read) return {uri_to_read(path), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, thrower};
  return {path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, thrower};
}

}  // namespace

Database::Database(const std::string& path, Use use) : database_(opened(path, use)) {
  sqlite3* const database = database_.handle();
  sqlite3_busy_timeout(database, kPatienceMs);
  if (use == Use::Read) return;
  // A killed process loses nothing in WAL mode; NORMAL may lose the last points when the machine loses power.
  // Changing the mode does not wait for others that do the same.
  for (int waited = 0; sqlite3_exec(database, "PRAGMA journal_mode = WAL", nullptr, nullptr, nullptr) == SQLITE_BUSY &&
                       waited < kPatienceMs;
       waited += kPauseMs)
    sqlite3_sleep(kPauseMs);
  run("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON");
}

std::int64_t Database::integer(std::string_view sql) const {
  SqliteStatement select = prepare(sql);
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
