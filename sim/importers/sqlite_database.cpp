#include "importers/sqlite_database.h"

#include <cstring>
#include <sqlite3.h>

#include "base/check.h"
#include "trace/error_list.h"

namespace uvmsim {

bool SqliteRow::has(int column) const {
  return columns_.there[static_cast<std::size_t>(column)] && sqlite3_column_type(statement_, column) != SQLITE_NULL;
}

std::string SqliteRow::place(int column) const {
  return columns_.table + ", row " + std::to_string(number_) + ", \"" +
         columns_.names[static_cast<std::size_t>(column)] + "\": ";
}

std::int64_t SqliteRow::integer(int column, std::int64_t standard) const {
  if (!has(column)) return standard;
  if (sqlite3_column_type(statement_, column) != SQLITE_INTEGER)
    throw trace::ParseError{place(column) + "expected a whole number, found \"" + text(column).substr(0, 40) + "\""};
  return sqlite3_column_int64(statement_, column);
}

std::int64_t SqliteRow::required(int column) const {
  if (!has(column)) throw trace::ParseError{place(column) + "expected a whole number, found none"};
  return integer(column);
}

std::string SqliteRow::text(int column) const {
  if (!has(column)) return "";
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  return bytes == nullptr ? "" : std::string(bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)));
}

SqliteDatabase::SqliteDatabase(const ImportFile& file) : database_(nullptr, sqlite3_close) {
  sqlite3* opened = nullptr;
  const int flags = SQLITE_OPEN_NOMUTEX | (file.in_memory() ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY);
  const int status = sqlite3_open_v2(file.in_memory() ? ":memory:" : file.name().c_str(), &opened, flags, nullptr);
  database_.reset(opened);
  if (status != SQLITE_OK) fail();
  if (file.in_memory()) {
    const std::string& bytes = file.bytes();
    auto* copy = static_cast<unsigned char*>(sqlite3_malloc64(bytes.size() + 1));
    UVMSIM_CHECK(copy != nullptr, "out of memory for SQLite");
    std::memcpy(copy, bytes.data(), bytes.size());
    const auto size = static_cast<sqlite3_int64>(bytes.size());
    if (sqlite3_deserialize(opened, "main", copy, size, size,
                            SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_READONLY) != SQLITE_OK)
      fail();
  }
  // A hostile file may hold views, triggers and functions: none of them may run, and no value may be huge.
  sqlite3_db_config(opened, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(opened, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(opened, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_limit(opened, SQLITE_LIMIT_LENGTH, 1 << 20);
  check();
  query("SELECT name FROM sqlite_master WHERE type = 'table'", {"sqlite_master", {"name"}, {true}},
        [&](const SqliteRow& row) { tables_.insert(row.text(0)); });
}

void SqliteDatabase::check() const {
  query("PRAGMA quick_check(1)", {"quick_check", {"quick_check"}, {true}}, [&](const SqliteRow& row) {
    const std::string said = row.text(0);
    if (said != "ok") throw trace::ParseError{"the database is damaged: " + said.substr(0, 200)};
  });
}

SqliteDatabase::~SqliteDatabase() = default;

void SqliteDatabase::fail() const {
  throw trace::ParseError{std::string("the database cannot be read: ") + sqlite3_errmsg(database_.get())};
}

void SqliteDatabase::query(const std::string& sql, const SqliteColumns& columns,
                           const std::function<void(const SqliteRow&)>& on_row) const {
  sqlite3_stmt* prepared = nullptr;
  if (sqlite3_prepare_v2(database_.get(), sql.c_str(), -1, &prepared, nullptr) != SQLITE_OK) fail();
  const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> statement(prepared, sqlite3_finalize);
  int status = SQLITE_ROW;
  for (std::int64_t number = 1; (status = sqlite3_step(prepared)) == SQLITE_ROW; ++number)
    on_row(SqliteRow(prepared, columns, number));
  if (status != SQLITE_DONE) fail();
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
