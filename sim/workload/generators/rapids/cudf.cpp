#include "workload/generators/rapids/cudf.h"

#include <algorithm>

#include "base/check.h"

namespace uvmsim::rapids {
namespace {

using Uses = std::vector<Use>;

// One bit per row, in units of 64 bytes.
std::int64_t mask_bytes(std::int64_t rows) { return std::max<std::int64_t>(64, (rows + 511) / 512 * 64); }

void add_reads(Uses& uses, const Frame& frame, const std::vector<std::string>& names) {
  for (const std::string& name : names) uses.push_back(read(frame.at(name).data));
}

void add_write(Uses& uses, const Column& column) {
  uses.push_back(write(column.data));
  if (column.mask) uses.push_back(write(column.mask));
}

auto find(auto& columns, const std::string& name) {
  return std::ranges::find(columns, name, &std::pair<std::string, Column>::first);
}

}  // namespace

std::int64_t size_of(Type type) {
  switch (type) {
    case Type::Bool:
    case Type::Int8:
      return 1;
    case Type::Int16:
      return 2;
    case Type::Int32:
    case Type::Float32:
    case Type::Category:
      return 4;
    case Type::Int64:
    case Type::Float64:
    case Type::Date:
      return 8;
  }
  return 0;
}

// --- frames

Column& Frame::operator[](const std::string& name) {
  const auto found = find(columns_, name);
  if (found != columns_.end()) return found->second;
  return columns_.emplace_back(name, Column{}).second;
}

const Column& Frame::at(const std::string& name) const {
  const auto found = find(columns_, name);
  UVMSIM_CHECK(found != columns_.end(), "the frame has the column");
  return found->second;
}

bool Frame::has(const std::string& name) const { return find(columns_, name) != columns_.end(); }

void Frame::erase(const std::string& name) { columns_.erase(find(columns_, name)); }

Frame Frame::take(const std::vector<std::string>& names) const {
  Frame taken;
  for (const std::string& name : names) taken[name] = at(name);
  return taken;
}

std::vector<std::string> Frame::names() const {
  std::vector<std::string> names;
  for (const auto& [name, column] : columns_) names.push_back(name);
  return names;
}

void release(std::vector<Frame>& frames) {
  while (!frames.empty()) frames.pop_back();
}

// --- columns

Column Cudf::column(std::int64_t rows, Type type, bool mask) {
  Column c;
  c.rows = rows;
  c.type = type;
  c.data = recorder_.allocate(std::max<std::int64_t>(1, rows * size_of(type)), TensorKind::Other);
  if (mask) c.mask = recorder_.allocate(mask_bytes(rows), TensorKind::Other);
  return c;
}

Column Cudf::map(const std::string& kernel, const Column& from, Type type) {
  Column to = column(from.rows, type, false);
  to.mask = from.mask;
  recorder_.kernel(kernel, {read(from.data), write(to.data)});
  return to;
}

Column Cudf::fillna(const Column& from) {
  Column to = column(from.rows, from.type, false);
  Uses uses = {read(from.data), write(to.data)};
  if (from.mask) uses.push_back(read(from.mask));
  recorder_.kernel("fillna", uses);
  return to;
}

// --- files

Frame Cudf::read_csv(const std::vector<Field>& schema, std::int64_t rows, double row_bytes) {
  constexpr std::int64_t kChunk = 256 << 10;  // of the file, per block that counts lines
  const auto bytes = static_cast<std::int64_t>(static_cast<double>(rows) * row_bytes);
  BufferRef raw = recorder_.allocate(bytes, TensorKind::Input);
  recorder_.host(bytes);
  recorder_.upload(raw);
  BufferRef counts = temporary(4 * (bytes / kChunk + 1));
  recorder_.kernel("csv_count_records", {read(raw), write(counts)});
  BufferRef records = temporary(8 * (rows + 1));
  recorder_.kernel("csv_find_records", {read(raw), write(records)});
  BufferRef sorted = temporary(8 * (rows + 1));
  recorder_.kernel("csv_sort_records", {read(records), write(sorted)});
  sorted = nullptr;

  Frame frame;
  for (const auto& [name, type] : schema) frame[name] = column(rows, type);
  constexpr int kColumnTables = 5;  // types, flags and addresses of the columns, on the device
  std::vector<BufferRef> tables;
  for (int i = 0; i < kColumnTables; ++i) tables.push_back(temporary(static_cast<std::int64_t>(schema.size()) * 8));
  Uses uses = {read(raw), read(records)};
  for (const auto& [name, c] : frame) add_write(uses, c);
  recorder_.kernel("csv_convert", uses);
  raw = records = counts = nullptr;
  return frame;
}

// --- groups

BufferRef Cudf::hash_table(std::int64_t bytes) {
  BufferRef table = temporary(bytes);
  recorder_.kernel("fill_hash", {write(table)});
  return table;
}

// One aggregation: the keys, then the result.
Frame Cudf::aggregate(const Frame& frame, const std::vector<std::string>& keys, const Field& aggregated,
                      std::int64_t groups) {
  const std::int64_t rows = frame.rows();
  const auto key_bytes = static_cast<std::int64_t>(8 * keys.size());
  BufferRef table = hash_table(rows * 2 * (key_bytes + 8));
  Uses build;
  add_reads(build, frame, keys);
  build.push_back(read(frame.at(aggregated.name).data));
  build.push_back(update_anywhere(table, rows));
  recorder_.kernel("groupby_build", build);

  Frame full;
  for (const std::string& key : keys) full[key] = column(rows, frame.at(key).type);
  full[aggregated.name] = column(rows, aggregated.type);
  BufferRef counter = temporary(8);
  Uses extract = {read(table)};
  for (const auto& [name, c] : full) extract.push_back(write(c.data, groups * size_of(c.type)));
  recorder_.kernel("groupby_extract", extract);
  table = counter = nullptr;

  Frame shrunk;
  for (const auto& [name, c] : full) shrunk[name] = column(groups, c.type);
  for (const auto& [name, c] : full) {
    Uses copy = {read(c.data, groups * size_of(c.type))};
    add_write(copy, shrunk.at(name));
    recorder_.kernel("resize_copy", copy);
  }
  return shrunk;
}

Frame Cudf::groupby(const Frame& frame, const std::vector<std::string>& keys, const std::vector<Field>& aggregated,
                    std::int64_t groups) {
  std::vector<Column> earlier;
  Frame last;
  for (const Field& field : aggregated) {
    if (last.has(keys.front())) earlier.push_back(last.at(aggregated[earlier.size()].name));
    last = aggregate(frame, keys, field, groups);
  }
  // The keys of the last pass, and the results of all; those of earlier passes are copied in.
  Frame result = last.take(keys);
  for (std::size_t i = 0; i < earlier.size(); ++i) {
    const Column copy = column(groups, earlier[i].type);
    Uses uses = {read(earlier[i].data)};
    add_write(uses, copy);
    recorder_.kernel("copy", uses);
    result[aggregated[i].name] = copy;
  }
  result[aggregated.back().name] = last.at(aggregated.back().name);
  return result;
}

// --- rows

Frame Cudf::query(const Frame& frame, const std::string& by, double share, const std::vector<std::string>& names) {
  const std::int64_t rows = frame.rows();
  const auto left = std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(rows) * share));
  Column keep = column(rows, Type::Bool);
  recorder_.kernel("query_jit", {read(frame.at(by).data), write(keep.data), write(keep.mask)});
  BufferRef indices = temporary(4 * rows);
  recorder_.kernel("stencil", {read(keep.data), write(indices, 4 * left)});
  Frame kept;
  for (const auto& [name, c] : frame) kept[name] = column(left, c.type);
  for (const auto& [name, c] : frame) {  // ascending indices: a sweep
    Uses uses = {read(c.data), read(indices, 4 * left)};
    add_write(uses, kept.at(name));
    recorder_.kernel("gather", uses);
  }
  keep = {};
  indices = nullptr;
  return kept.take(names);
}

Frame Cudf::merge(const Frame& left, const Frame& right, const std::vector<std::string>& keys) {
  const std::int64_t rows = left.rows();
  BufferRef table = hash_table(right.rows() * 2 * 8 + 64);
  Uses build;
  add_reads(build, right, keys);
  build.push_back(update_anywhere(table, right.rows()));
  recorder_.kernel("join_build", build);
  BufferRef size = temporary(8);
  recorder_.kernel("join_estimate", {read(left.at(keys.front()).data), read_anywhere(table, rows), write(size)});
  BufferRef left_rows = temporary(4 * rows), right_rows = temporary(4 * rows);
  Uses probe;
  add_reads(probe, left, keys);
  probe.insert(probe.end(), {read_anywhere(table, rows), write(left_rows), write(right_rows)});
  recorder_.kernel("join_probe", probe);
  table = size = nullptr;

  Frame joined;
  for (const auto& [name, c] : left) {
    const Column& to = joined[name] = column(rows, c.type);
    Uses uses = {read(c.data), read(left_rows)};
    add_write(uses, to);
    recorder_.kernel("gather", uses);
  }
  for (const auto& [name, c] : right) {
    if (std::ranges::find(keys, name) != keys.end()) continue;
    const Column& to = joined[name] = column(rows, c.type);
    Uses uses = {read_anywhere(c.data, rows), read(right_rows)};
    add_write(uses, to);
    recorder_.kernel("gather", uses);
  }
  left_rows = right_rows = nullptr;
  return joined;
}

Frame Cudf::concat(const std::vector<Frame>& frames) {
  std::int64_t rows = 0;
  for (const Frame& frame : frames) rows += frame.rows();
  Frame all;
  for (const auto& [name, c] : frames.front()) {
    const Column& to = all[name] = column(rows, c.type);
    Uses uses;
    for (const Frame& frame : frames) uses.push_back(read(frame.at(name).data));
    add_write(uses, to);
    recorder_.kernel("concat", uses);
  }
  return all;
}

}  // namespace uvmsim::rapids
