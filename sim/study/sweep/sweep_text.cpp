#include "study/sweep/sweep_text.h"

#include <algorithm>
#include <map>

#include "base/number_text.h"
#include "base/printable.h"
#include "base/quantity.h"
#include "report/json_fields.h"
#include "report/report_fields.h"
#include "report/table.h"

namespace uvmsim {
namespace {

// The numbers and texts of `json` under their names ("totals.h2d_bytes"), lists left out.
void flatten(const OrderedJson& json, const std::string& name, std::vector<std::string>& names) {
  if (!json.is_object()) {
    if (!json.is_array()) names.push_back(name);
    return;
  }
  for (const auto& [key, value] : json.items()) flatten(value, name.empty() ? key : name + "." + key, names);
}

// Every name that the summary of a report can have.
std::vector<std::string> summary_names() {
  Summary summary;
  summary.throughput = summary.cuda_malloc_throughput = Throughput{};
  std::vector<std::string> names;
  flatten(json_of(summary), "", names);
  return names;
}

// The value of that name; null when there is none.
const OrderedJson& value_at(const OrderedJson& json, std::string_view name) {
  static const OrderedJson none;
  const OrderedJson* at = &json;
  while (!name.empty()) {
    const std::size_t dot = std::min(name.find('.'), name.size());
    const auto found = at->is_object() ? at->find(std::string(name.substr(0, dot))) : at->end();
    if (!at->is_object() || found == at->end()) return none;
    at = &*found;
    name.remove_prefix(std::min(dot + 1, name.size()));
  }
  return *at;
}

std::string plain_text(const OrderedJson& value) {
  if (value.is_null()) return "";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

// RFC 4180. A cell that a spreadsheet would run as a formula begins with an apostrophe, which it takes for "this is
// text": OWASP, CSV injection. Numbers are no formulas.
std::string quoted(std::string cell) {
  const bool runs = !cell.empty() && std::string_view("=+-@\t\r").find(cell.front()) != std::string_view::npos;
  if (runs && !parse_number(cell)) cell.insert(cell.begin(), '\'');
  if (cell.find_first_of(",\"\r\n") == std::string::npos) return cell;
  std::string text = "\"";
  for (const char c : cell) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + "\"";
}

void write_row(std::ostream& out, const std::vector<std::string>& cells) {
  for (std::size_t i = 0; i < cells.size(); ++i) out << (i == 0 ? "" : ",") << quoted(cells[i]);
  out << "\r\n";  // RFC 4180
}

std::vector<std::string> keys_of(const StoredSweep& sweep) {
  std::vector<std::string> keys;
  for (const OrderedJson& axis : OrderedJson::parse(sweep.axes))
    for (const OrderedJson& key : axis.at("keys")) keys.push_back(key.get<std::string>());
  return keys;
}

OrderedJson summary_of(const StoredPoint& point) {
  return point.report.empty() ? OrderedJson() : OrderedJson::parse(point.report).at("summary");
}

// "batch" of "workload.batch", unless another key ends like it.
std::string short_name(const std::string& key, const std::vector<std::string>& keys) {
  const std::string last = key.substr(key.rfind('.') + 1);
  const auto same = [&](const std::string& other) { return other.substr(other.rfind('.') + 1) == last; };
  return std::ranges::count_if(keys, same) == 1 ? last : key;
}

std::vector<std::string> table_row(const StoredPoint& point, const std::vector<std::string>& keys) {
  std::vector<std::string> row;
  const OrderedJson settings = OrderedJson::parse(point.settings);
  for (const std::string& key : keys) row.push_back(plain_text(settings.at(key)));
  if (point.outcome != "completed") {
    row.push_back(point.outcome.empty() ? "not done" : point.outcome);
    return row;
  }
  const OrderedJson summary = summary_of(point);
  row.push_back(seconds_text(summary.at("duration_s").get<double>()));
  const OrderedJson& slowdown = value_at(summary, "slowdown");
  row.push_back(slowdown.is_null() ? "" : number_text(slowdown.get<double>()) + "x");
  const OrderedJson& rate = value_at(summary, "throughput.value");
  row.push_back(rate.is_null() ? ""
                               : number_text(rate.get<double>()) + " " + plain_text(summary["throughput"]["unit"]));
  return row;
}

}  // namespace

void write_csv(const SweepStore& store, std::ostream& out) {
  const std::vector<StoredSweep> sweeps = store.sweeps();
  const std::vector<std::string> names = summary_names();
  std::vector<std::string> keys;
  for (const StoredSweep& sweep : sweeps)
    for (const std::string& key : keys_of(sweep))
      if (std::ranges::find(keys, key) == keys.end()) keys.push_back(key);

  std::vector<std::string> header = {"sweep", "place", "hash"};
  header.insert(header.end(), keys.begin(), keys.end());
  header.insert(header.end(), {"outcome", "error"});
  header.insert(header.end(), names.begin(), names.end());
  header.insert(header.end(), {"wall_s", "cpu_s", "peak_rss_bytes"});
  write_row(out, header);

  for (const StoredSweep& sweep : sweeps)
    store.for_each_point(sweep.id, [&](const StoredPoint& point) {
      std::vector<std::string> row = {std::to_string(sweep.id), std::to_string(point.place), point.hash};
      const OrderedJson settings = OrderedJson::parse(point.settings);
      for (const std::string& key : keys) row.push_back(settings.contains(key) ? plain_text(settings[key]) : "");
      row.insert(row.end(), {point.outcome, point.error});
      const OrderedJson summary = summary_of(point);
      for (const std::string& name : names) row.push_back(plain_text(value_at(summary, name)));
      const bool done = !point.outcome.empty();
      row.push_back(done ? OrderedJson(point.wall_s).dump() : "");
      row.push_back(done ? OrderedJson(point.cpu_s).dump() : "");
      row.push_back(done ? std::to_string(point.peak_rss_bytes) : "");
      write_row(out, row);
    });
}

void write_table(const SweepStore& store, std::ostream& out) {
  for (const StoredSweep& sweep : store.sweeps()) {
    const std::vector<std::string> keys = keys_of(sweep);
    std::vector<std::vector<std::string>> rows(1);
    for (const std::string& key : keys) rows[0].push_back(short_name(key, keys));
    rows[0].insert(rows[0].end(), {"iteration", "slowdown", "throughput"});
    std::map<std::string, std::size_t> reasons;  // points without a time, by why
    store.for_each_point(sweep.id, [&](const StoredPoint& point) {
      rows.push_back(table_row(point, keys));
      if (!point.error.empty()) ++reasons[point.outcome + ": " + point.error];
    });
    out << printable(sweep.experiment) << (sweep.settings == "[]" ? "" : " with " + printable(sweep.settings)) << "\n"
        << aligned(rows);
    for (const auto& [reason, count] : reasons)
      out << count << (count == 1 ? " point " : " points ") << printable(reason) << "\n";
  }
}

void write_json(const SweepStore& store, std::ostream& out) {
  OrderedJson sweeps = OrderedJson::array();
  for (const StoredSweep& sweep : store.sweeps()) {
    OrderedJson points = OrderedJson::array();
    store.for_each_point(sweep.id, [&](const StoredPoint& point) {
      points.push_back({{"place", point.place},
                        {"hash", point.hash},
                        {"settings", OrderedJson::parse(point.settings)},
                        {"outcome", point.outcome.empty() ? OrderedJson() : OrderedJson(point.outcome)},
                        {"error", point.error},
                        {"summary", summary_of(point)},
                        {"wall_s", point.wall_s},
                        {"cpu_s", point.cpu_s},
                        {"peak_rss_bytes", point.peak_rss_bytes}});
    });
    sweeps.push_back({{"experiment", sweep.experiment},
                      {"description", sweep.description},
                      {"axes", OrderedJson::parse(sweep.axes)},
                      {"settings", OrderedJson::parse(sweep.settings)},
                      {"points", std::move(points)}});
  }
  out << OrderedJson{{"sweeps", std::move(sweeps)}}.dump(2) << "\n";
}

}  // namespace uvmsim
