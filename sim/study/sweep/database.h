// SQLite as this project uses it: prepared statements, and exceptions instead of codes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace uvmsim {

// One statement. Parameters are bound in order by add(), columns read by number. Must not outlive its database.
class Statement {
 public:
  Statement(sqlite3* database, std::string_view sql);

  Statement& add(std::string_view text);
  Statement& add(std::int64_t number);
  Statement& add(double number);
  Statement& add_null();

  // The next row; false: there is none, and the statement may be given new parameters.
  bool step();
  // For statements without rows.
  void run();

  std::string text(int column) const;  // "" for NULL
  std::int64_t integer(int column) const;
  double number(int column) const;
  bool is_null(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int bound_ = 0;
};

class Database {
 public:
  enum class Use { Create, Read };
  // Opens `path` in WAL mode; several processes may. To read it, nothing is written, so that the folder may be
  // read-only. Throws UserError when it is no database or cannot be opened, or is not there to be read. Everything here
  // throws std::system_error when it cannot be done: the disk is full, or another process held its lock for a minute.
  Database(const std::string& path, Use use);

  Statement prepare(std::string_view sql) const { return {database_.get(), sql}; }
  void run(const std::string& statements);
  // The first column of the first row of what `sql` selects; 0 without rows.
  std::int64_t integer(std::string_view sql) const;

 private:
  void open_to_write(const std::string& path);
  void open_to_read(const std::string& path);

  struct Close {
    void operator()(sqlite3* database) const;
  };
  std::unique_ptr<sqlite3, Close> database_;
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
