// Read access to a SQLite database: from a file, which stays on disk, or from bytes in memory.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "base/sqlite.h"
#include "importers/import_file.h"

namespace uvmsim {

// What a query asks of a table: columns by name, and whether the table has them.
struct SqliteColumns {
  std::string table;
  std::vector<std::string> names;
  std::vector<bool> there;
};

// The row that a query stands on. Columns that the table does not have, and NULL, read as the standard.
class SqliteRow {
 public:
  SqliteRow(const SqliteStatement& statement, const SqliteColumns& columns, std::int64_t number)
      : statement_(statement), columns_(columns), number_(number) {}
  bool has(int column) const;
  // Throws trace::ParseError with the place when the value is no whole number.
  std::int64_t integer(int column, std::int64_t standard = 0) const;
  // As `integer` of a value that must be there: throws for NULL and for a column that is not, too.
  std::int64_t required(int column) const;
  std::string text(int column) const;  // bytes as they are; ""

 private:
  std::string place(int column) const;

  const SqliteStatement& statement_;
  const SqliteColumns& columns_;
  std::int64_t number_;  // of the row, from 1 on, in the order of the query
};

class SqliteDatabase {
 public:
  // Throws trace::ParseError when it is no database, or one that SQLite's quick_check finds damaged.
  explicit SqliteDatabase(const ImportFile& file);

  bool has_table(const std::string& table) const { return tables_.contains(table); }

  // Calls `on_row` for each row of `table` with the values of `columns`, which are read by name: columns come and go
  // from version to version. `order`: a column of it to sort by, "" for as it stands. Nothing for a table that is not
  // there. Throws trace::ParseError when the database is broken.
  void each_row(const std::string& table, const std::vector<std::string>& columns, const std::string& order,
                const std::function<void(const SqliteRow&)>& on_row) const;

 private:
  std::set<std::string> columns_of(const std::string& table) const;
  void query(const std::string& sql, const SqliteColumns& columns,
             const std::function<void(const SqliteRow&)>& on_row) const;
  void load(const std::string& bytes);
  void defend();

  Sqlite database_;
  std::set<std::string> tables_;
};

}  // namespace uvmsim
