// SQLite: a database and its prepared statements, closed when they go, and an exception instead of codes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace uvmsim {

class SqliteStatement;

class Sqlite {
 public:
  // Throws what an error means to who opened the database. `code` is SQLite's primary one.
  using Thrower = std::function<void(int code, const std::string& message)>;

  // Opens `path`, an URI where the flags of sqlite3_open_v2 say so.
  Sqlite(const std::string& path, int flags, Thrower thrower);
  Sqlite(const Sqlite&) = delete;
  Sqlite& operator=(const Sqlite&) = delete;

  SqliteStatement prepare(std::string_view sql) const;
  void run(const std::string& statements);
  // For what has no word of its own here.
  sqlite3* handle() const { return database_.get(); }
  // Throws for a code that is not SQLITE_OK.
  void check(int code) const;

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  std::unique_ptr<sqlite3, Close> database_;
  Thrower thrower_;
};

// One statement. Parameters are bound in order by add(), columns read by number. Must not outlive its database.
class SqliteStatement {
 public:
  SqliteStatement(const Sqlite& database, std::string_view sql);

  SqliteStatement& add(std::string_view text);
  SqliteStatement& add(std::int64_t number);
  SqliteStatement& add(double number);
  SqliteStatement& add_null();

  // The next row; false: there is none, and the statement may be given new parameters.
  bool step();
  // For statements without rows.
  void run();

  std::string text(int column) const;  // its bytes as they are; "" for NULL
  std::int64_t integer(int column) const;
  double number(int column) const;
  bool is_null(int column) const;
  bool is_integer(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  const Sqlite& database_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int bound_ = 0;
};

}  // namespace uvmsim
