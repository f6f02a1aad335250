// Data frames on the GPU as RAPIDS cuDF 0.5 has them (January 2019): which buffers an operation allocates, which
// kernels it launches over them, and what it frees. Sizes only.
//
// Assumed, where the library's source was not read: hash tables are half full, join indices are 32-bit, categories
// are 32-bit codes, rows of the left side of a join come out in order (so only the right side is gathered from
// anywhere), and a fillna or a new column of a frame carries no validity mask of its own.
#pragma once

#include <list>
#include <string>
#include <utility>
#include <vector>

#include "workload/generators/rapids/recorder.h"

namespace uvmsim::rapids {

enum class Type : std::uint8_t { Bool, Int8, Int16, Int32, Int64, Float32, Float64, Date, Category };
std::int64_t size_of(Type type);

// Values and their validity mask; copies share both.
struct Column {
  Column() = default;
  Column(const Column&) = default;
  // The old values go before the old mask, as Python clears an object's slots.
  Column& operator=(Column other) {
    data.swap(other.data);
    mask.swap(other.mask);
    std::swap(rows, other.rows);
    std::swap(type, other.type);
    return *this;
  }

  BufferRef mask;  // nullptr: every row is valid
  BufferRef data;
  std::int64_t rows = 0;
  Type type = Type::Int32;
};

struct Field {
  std::string name;
  Type type;
};

// Columns by name, in order. They go first to last, as those of a Python dict.
class Frame {
 public:
  Frame() = default;
  Frame(std::initializer_list<std::pair<std::string, Column>> columns) : columns_(columns) {}

  Column& operator[](const std::string& name);  // added at the end when it is new
  const Column& at(const std::string& name) const;
  bool has(const std::string& name) const;
  void erase(const std::string& name);
  Frame take(const std::vector<std::string>& names) const;  // shares the columns
  std::vector<std::string> names() const;
  std::int64_t rows() const { return columns_.front().second.rows; }

  auto begin() { return columns_.begin(); }
  auto end() { return columns_.end(); }
  auto begin() const { return columns_.begin(); }
  auto end() const { return columns_.end(); }

 private:
  std::list<std::pair<std::string, Column>> columns_;
};

class Cudf {
 public:
  explicit Cudf(Recorder& recorder) : recorder_(recorder) {}

  Column column(std::int64_t rows, Type type, bool mask = true);

  // A new column from an old one, row by row. It shares the old one's mask.
  Column map(const std::string& kernel, const Column& from, Type type);
  // Nulls replaced by a value: a copy without a mask.
  Column fillna(const Column& from);

  // Parses a file of `rows` lines of `row_bytes` bytes.
  Frame read_csv(const std::vector<Field>& schema, std::int64_t rows, double row_bytes);
  // One row per group, `groups` in all; the results are named as the columns aggregated. One pass over a hash
  // table per column; a pass makes columns as long as its input and shrinks them by copying.
  Frame groupby(const Frame& frame, const std::vector<std::string>& keys, const std::vector<Field>& aggregated,
                std::int64_t groups);
  // The rows that satisfy a predicate on `by`, `share` of all; of them the columns `names`.
  Frame query(const Frame& frame, const std::string& by, double share, const std::vector<std::string>& names);
  // A left join: as many rows as the left side has.
  Frame merge(const Frame& left, const Frame& right, const std::vector<std::string>& keys);
  Frame concat(const std::vector<Frame>& frames);

 private:
  BufferRef temporary(std::int64_t bytes) { return recorder_.allocate(bytes, TensorKind::Workspace); }
  BufferRef hash_table(std::int64_t bytes);
  Frame aggregate(const Frame& frame, const std::vector<std::string>& keys, const Field& aggregated,
                  std::int64_t groups);

  Recorder& recorder_;
};

// Frees the frames from the last to the first, as CPython does with a list.
void release(std::vector<Frame>& frames);

}  // namespace uvmsim::rapids
