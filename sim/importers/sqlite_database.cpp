#include "importers/sqlite_database.h"

#include <algorithm>
#include <sqlite3.h>

#include "base/check.h"
#include "trace/error_list.h"

namespace uvmsim {

bool SqliteRow::has(int column) const {
  return columns_.there[static_cast<std::size_t>(column)] && !statement_.is_null(column);
}

std::string SqliteRow::place(int column) const {
  return columns_.table + ", row " + std::to_string(number_) + ", \"" +
         columns_.names[static_cast<std::size_t>(column)] + "\": ";
}

std::int64_t SqliteRow::integer(int column, std::int64_t standard) const {
  if (!has(column)) return standard;
  if (!statement_.is_integer(column))
    throw trace::ParseError{place(column) + "expected a whole number, found \"" + text(column).substr(0, 40) + "\""};
  return statement_.integer(column);
}

std::int64_t SqliteRow::required(int column) const {
  if (!has(column)) throw trace::ParseError{place(column) + "expected a whole number, found none"};
  return integer(column);
}

std::string SqliteRow::text(int column) const { return has(column) ? statement_.text(column) : ""; }

SqliteDatabase::SqliteDatabase(const ImportFile& file)
    : database_(
          file.in_memory() ? ":memory:" : file.name(),
          SQLITE_OPEN_NOMUTEX | (file.in_memory() ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY),
          [](int, const std::string& message) { throw trace::ParseError{"the database cannot be read: " + message}; }) {
  if (file.in_memory()) load(file.bytes());
  defend();
  query("PRAGMA quick_check(1)", {"quick_check", {"quick_check"}, {true}}, [&](const SqliteRow& row) {
    const std::string said = row.text(0);
    if (said != "ok") throw trace::ParseError{"the database is damaged: " + said.substr(0, 200)};
  });
  query("SELECT name FROM sqlite_master WHERE type = 'table'", {"sqlite_master", {"name"}, {true}},
        [&](const SqliteRow& row) { tables_.insert(row.text(0)); });
}

void SqliteDatabase::load(const std::string& bytes) {
  auto* copy = static_cast<unsigned char*>(sqlite3_malloc64(bytes.size() + 1));
  UVMSIM_CHECK(copy != nullptr, "out of memory for SQLite");
  std::ranges::copy(bytes, copy);
  const auto size = static_cast<sqlite3_int64>(bytes.size());
  database_.check(sqlite3_deserialize(database_.handle(), "main", copy, size, size,
                                      SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_READONLY));
}

// A hostile file may hold views, triggers and functions: none of them may run, and no value may be huge.
void SqliteDatabase::defend() {
  sqlite3* const database = database_.handle();
  sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_limit(database, SQLITE_LIMIT_LENGTH, 1 << 20);
}

void SqliteDatabase::query(const std::string& sql, const SqliteColumns& columns,
                           const std::function<void(const SqliteRow&)>& on_row) const {
  SqliteStatement statement = database_.prepare(sql);
  for (std::int64_t number = 1; statement.step(); ++number) on_row(SqliteRow(statement, columns, number));
}

std::set<std::string> SqliteDatabase::columns_of(const std::string& table) const {
  std::set<std::string> names;
  query("SELECT name FROM pragma_table_info('" + table + "')", {table, {"name"}, {true}},
        [&](const SqliteRow& row) { names.insert(row.text(0)); });
  return names;
}

void SqliteDatabase::each_row(const std::string& table, const std::vector<std::string>& columns,
                              const std::string& order, const std::function<void(const SqliteRow&)>& on_row) const {
  if (!has_table(table)) return;
  const std::set<std::string> known = columns_of(table);
  SqliteColumns asked{table, columns, {}};
  std::string sql = "SELECT ";
  for (const std::string& column : columns) {
    asked.there.push_back(known.contains(column));
    sql += (asked.there.size() == 1 ? "" : ", ") + (asked.there.back() ? "\"" + column + "\"" : std::string("NULL"));
  }
  sql += " FROM \"" + table + "\"";
  if (known.contains(order)) sql += " ORDER BY \"" + order + "\"";
  query(sql, asked, on_row);
}

}  // namespace uvmsim
