#include "report/view.h"

#include <nlohmann/json.hpp>

#include "report/number_text.h"
#include "report/table.h"

namespace uvmsim {
namespace {

std::string text_of(const ViewTable::Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return std::to_string(*whole);
  return number_text(std::get<double>(cell));
}

}  // namespace

ViewTable run_view(const std::string& name, const trace::Trace& trace) {
  const auto* entry = views().find(name);
  if (entry == nullptr) throw UserError("view", {views().unknown("", name)});
  return entry->make()->table(trace);
}

std::string to_text(const ViewTable& table) {
  std::vector<std::vector<std::string>> rows = {table.columns};
  for (const auto& row : table.rows) {
    std::vector<std::string>& texts = rows.emplace_back();
    for (const ViewTable::Cell& cell : row) texts.push_back(text_of(cell));
  }
  return table.title + "\n" + aligned(rows);
}

std::string to_json(const ViewTable& table) {
  using Json = nlohmann::ordered_json;
  Json rows = Json::array();
  for (const auto& row : table.rows) {
    Json& object = rows.emplace_back(Json::object());
    for (std::size_t i = 0; i < table.columns.size(); ++i)
      std::visit([&](const auto& cell) { object[table.columns[i]] = cell; }, row[i]);
  }
  return Json{{"title", table.title}, {"columns", table.columns}, {"rows", rows}}.dump(2, ' ', false,
                                                                                       Json::error_handler_t::replace) +
         "\n";
}

}  // namespace uvmsim
