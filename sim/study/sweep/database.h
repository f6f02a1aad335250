// The database of a sweep folder: opened to be shared by processes that write, or to be read where nothing may be
// written.
#pragma once

#include <string>

#include "base/sqlite.h"

namespace uvmsim {

class Database {
 public:
  enum class Use { Create, Read };
  // Opens `path` in WAL mode; several processes may. To read it, nothing is written, so that the folder may be
  // read-only. Throws UserError when it is no database or cannot be opened, or is not there to be read. Everything here
  // throws std::system_error when it cannot be done: the disk is full, or another process held its lock for a minute.
  Database(const std::string& path, Use use);

  SqliteStatement prepare(std::string_view sql) const { return database_.prepare(sql); }
  void run(const std::string& statements) { database_.run(statements); }
  // The first column of the first row of what `sql` selects; 0 without rows.
  std::int64_t integer(std::string_view sql) const;

 private:
  Sqlite database_;
};

// Everything until keep() happens, or nothing. One at a time for a database; other processes wait.
class Transaction {
 public:
  explicit Transaction(Database& database) : database_(database) { database_.run("BEGIN IMMEDIATE"); }
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  void keep();

 private:
  Database& database_;
  bool kept_ = false;
};

}  // namespace uvmsim
