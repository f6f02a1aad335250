#include "report/view.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/number_text.h"
#include "report/table.h"

namespace uvmsim {
namespace {

using Json = nlohmann::ordered_json;

// What the end of a column's name says of its numbers.
enum class Unit { Plain, Bytes, BytesPerSecond, Seconds, Share };

Unit unit_of(const std::string& column) {
  if (column == "bytes" || column.ends_with("_bytes")) return Unit::Bytes;
  if (column.ends_with("_bytes_per_s")) return Unit::BytesPerSecond;
  if (column.ends_with("_s")) return Unit::Seconds;
  if (column == "share" || column.ends_with("_share")) return Unit::Share;
  return Unit::Plain;
}

// "idle_s" is "idle": the cells say the unit.
std::string heading(std::string column) {
  for (const std::string_view unit : {"_bytes_per_s", "_bytes", "_s", "_share"})
    if (column.ends_with(unit)) {
      column.resize(column.size() - unit.size());
      break;
    }
  std::ranges::replace(column, '_', ' ');
  return column;
}

std::string number_in(Unit unit, double value) {
  switch (unit) {
    case Unit::Bytes:
      return bytes_text(value);
    case Unit::BytesPerSecond:
      return bytes_text(value) + "/s";
    case Unit::Seconds:
      return seconds_text(value);
    case Unit::Share:
      return percent_text(value);
    case Unit::Plain:
      break;
  }
  return number_text(value);
}

std::string text_of(const ViewTable::Cell& cell, Unit unit) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* number = std::get_if<double>(&cell)) return number_in(unit, *number);
  const std::int64_t whole = std::get<std::int64_t>(cell);
  return unit == Unit::Plain ? count_text(whole) : number_in(unit, static_cast<double>(whole));
}

Json json_of(const ViewTable& table) {
  Json rows = Json::array();
  for (const auto& row : table.rows) {
    Json& object = rows.emplace_back(Json::object());
    for (std::size_t i = 0; i < table.columns.size(); ++i)
      std::visit([&](const auto& cell) { object[table.columns[i]] = cell; }, row[i]);
  }
  return {{"title", table.title}, {"finding", table.finding}, {"columns", table.columns}, {"rows", rows}};
}

std::string dump(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

}  // namespace

ViewTable run_view(const std::string& name, const ViewInput& input) {
  const auto* entry = views().find(name);
  if (entry == nullptr) throw UserError("view", {views().unknown("", name)});
  return entry->make()->table(input);
}

std::string to_text(const ViewTable& table, std::size_t rows) {
  const std::size_t shown = std::min(rows, table.rows.size());
  std::vector<std::vector<std::string>> lines(1);
  for (const std::string& column : table.columns) lines[0].push_back(heading(column));
  for (std::size_t r = 0; r < shown; ++r) {
    std::vector<std::string>& texts = lines.emplace_back();
    for (std::size_t c = 0; c < table.columns.size(); ++c)
      texts.push_back(text_of(table.rows[r][c], unit_of(table.columns[c])));
    if (!table.pictures.empty()) texts.push_back(table.pictures[r]);
  }
  std::string text = table.title + "\n";
  if (!table.finding.empty()) text += "  " + table.finding + "\n";
  if (shown > 0) text += aligned(lines);
  if (shown < table.rows.size())
    text += "  ... " + count_text(static_cast<std::int64_t>(table.rows.size() - shown)) + " more\n";
  return text;
}

std::string to_json(const ViewTable& table) { return dump(json_of(table)); }

std::string to_json(const std::string& workload, const std::vector<std::string>& unknowns,
                    std::span<const std::string> names, std::span<const ViewTable> tables) {
  Json all = Json::array();
  for (std::size_t i = 0; i < tables.size(); ++i) {
    Json& view = all.emplace_back(Json{{"view", names[i]}});
    view.update(json_of(tables[i]));
  }
  return dump({{"workload", workload}, {"unknowns", unknowns}, {"views", all}});
}

}  // namespace uvmsim
