#include "report/diff.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/number_text.h"
#include "base/quantity.h"
#include "base/user_error.h"
#include "report/json_fields.h"
#include "report/table.h"

namespace uvmsim {
namespace {

struct Leaf {
  std::string name;
  std::string json;
};

// The leaves of `json` in order. An annotated config value is its value.
void flatten(const OrderedJson& json, const std::string& name, std::vector<Leaf>& leaves) {
  if (json.is_object() && json.contains("value") && (json.contains("origin") || json.contains("status"))) {
    flatten(json["value"], name, leaves);
  } else if (json.is_object()) {
    for (const auto& [key, value] : json.items()) flatten(value, name.empty() ? key : name + "." + key, leaves);
  } else if (json.is_array() && !json.empty()) {
    for (std::size_t i = 0; i < json.size(); ++i) flatten(json[i], name + "[" + std::to_string(i) + "]", leaves);
  } else {
    leaves.push_back({name, json.dump()});
  }
}

std::vector<Change> changes(const std::vector<Leaf>& before, const std::vector<Leaf>& after) {
  std::map<std::string, std::string, std::less<>> of_after;
  for (const Leaf& leaf : after) of_after[leaf.name] = leaf.json;
  std::vector<Change> changed;
  for (const Leaf& leaf : before) {
    const auto other = of_after.find(leaf.name);
    const std::string text = other == of_after.end() ? "" : other->second;
    if (text != leaf.json) changed.push_back({leaf.name, leaf.json, text});
    if (other != of_after.end()) of_after.erase(other);
  }
  for (const Leaf& leaf : after)
    if (of_after.contains(leaf.name)) changed.push_back({leaf.name, "", leaf.json});
  return changed;
}

std::vector<Leaf> result_leaves(const std::string& text, const std::string& name) {
  OrderedJson json = OrderedJson::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("outcome") || !json.contains("summary"))
    throw UserError(name, "is no result; expected what `uvmsim run --json` prints, or a folder of `uvmsim run -o`");
  json.erase("run");
  std::vector<Leaf> leaves;
  flatten(json, "", leaves);
  return leaves;
}

std::vector<Leaf> config_leaves(const std::string& text, const std::string& name) {
  const OrderedJson json = OrderedJson::parse(text, nullptr, false);
  if (!json.is_object()) throw UserError(name, "its config.json is no config");
  std::vector<Leaf> leaves;
  flatten(json, "", leaves);
  return leaves;
}

// Without the objects around it that every line would repeat.
std::string shown_name(std::string name) {
  for (const std::string_view outer : {"summary.", "totals."})
    if (name.starts_with(outer)) name.erase(0, outer.size());
  return name;
}

bool is_detail(const Change& change) {
  for (const std::string_view list : {"summary.gpus", "summary.allocators", "links"})
    if (change.name.starts_with(list)) return true;
  return false;
}

OrderedJson json_of_change(const Change& change) {
  const auto value = [](const std::string& text) { return text.empty() ? OrderedJson() : OrderedJson::parse(text); };
  return {{"name", change.name}, {"before", value(change.before)}, {"after", value(change.after)}};
}

}  // namespace

std::optional<double> Change::relative() const {
  const std::optional<double> from = parse_number(before), to = parse_number(after);
  if (!from || !to || *from == 0) return std::nullopt;
  return *to / *from - 1;
}

ResultDiff diff_results(const ResultText& before, const std::string& before_name, const ResultText& after,
                        const std::string& after_name) {
  ResultDiff diff;
  diff.result = changes(result_leaves(before.result, before_name), result_leaves(after.result, after_name));
  if (!before.config.empty() && !after.config.empty())
    diff.config = changes(config_leaves(before.config, before_name), config_leaves(after.config, after_name));
  return diff;
}

std::string value_text(std::string_view name, const std::string& json) {
  const std::optional<double> number = parse_number(json);
  if (!number) return json.empty() ? "-" : json;
  if (name.ends_with("_s") || name.find("_s[") != name.npos || name.find("time_split_s.") != name.npos)
    return seconds_text(*number);
  if (name.ends_with("bytes")) return bytes_text(*number);
  const bool whole = json.find_first_of(".eE") == std::string::npos && std::abs(*number) < 1e15;
  return whole ? count_text(static_cast<std::int64_t>(*number)) : number_text(*number);
}

std::string relative_text(std::optional<double> relative) {
  if (!relative) return "";
  return (*relative < 0 ? "" : "+") + percent_text(*relative);
}

std::string diff_text(const ResultDiff& diff, bool all) {
  std::string text;
  if (!diff.config.empty()) {
    std::vector<std::vector<std::string>> rows = {{"", "before", "after"}};
    for (const Change& change : diff.config)
      rows.push_back(
          {change.name, change.before.empty() ? "-" : change.before, change.after.empty() ? "-" : change.after});
    text += "What was changed\n" + aligned(rows);
  }
  std::vector<std::vector<std::string>> rows = {{"", "before", "after", "change"}};
  std::size_t left_out = 0;
  for (const Change& change : diff.result) {
    if (!all && is_detail(change)) {
      ++left_out;
      continue;
    }
    rows.push_back({all ? change.name : shown_name(change.name), value_text(change.name, change.before),
                    value_text(change.name, change.after), relative_text(change.relative())});
  }
  if (diff.result.empty()) return text + "The results are the same.\n";
  text += (text.empty() ? "" : "\n") + std::string("What that changed\n") + aligned(rows);
  if (left_out > 0)
    text += "\n" + std::to_string(left_out) + " values of single GPUs, allocators and links differ as well (--all)\n";
  return text;
}

std::string diff_json(const ResultDiff& diff) {
  OrderedJson config = OrderedJson::array(), result = OrderedJson::array();
  for (const Change& change : diff.config) config.push_back(json_of_change(change));
  for (const Change& change : diff.result) {
    OrderedJson& json = result.emplace_back(json_of_change(change));
    const std::optional<double> relative = change.relative();
    json["relative"] = relative ? OrderedJson(*relative) : OrderedJson();
  }
  return OrderedJson{{"config", std::move(config)}, {"result", std::move(result)}}.dump(2) + "\n";
}

}  // namespace uvmsim
