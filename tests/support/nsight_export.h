// Small databases of the form that Nsight Systems exports.
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <string>

namespace uvmsim {

// The bytes of a database in which `sql` was run.
inline std::string database_of(const std::string& sql) {
  sqlite3* database = nullptr;
  sqlite3_open(":memory:", &database);
  char* error = nullptr;
  if (sqlite3_exec(database, sql.c_str(), nullptr, nullptr, &error) != SQLITE_OK) ADD_FAILURE() << error;
  sqlite3_int64 size = 0;
  unsigned char* bytes = sqlite3_serialize(database, "main", &size, 0);
  std::string copy(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  sqlite3_free(bytes);
  sqlite3_close(database);
  return copy;
}

}  // namespace uvmsim
