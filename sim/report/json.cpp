#include "report/json.h"

#include "report/json_fields.h"
#include "report/report_fields.h"

namespace uvmsim {
namespace {

template <class T>
std::string type_name(const T&) {
  if constexpr (std::is_integral_v<T>)
    return "integer";
  else if constexpr (std::is_floating_point_v<T>)
    return "number";
  else if constexpr (HasFields<T>)
    return "object";
  else
    return "text";
}
template <class T>
std::string type_name(const std::optional<T>&) {
  return type_name(T{}) + " or null";
}
template <class T>
std::string type_name(const std::vector<T>&) {
  return "list of " + type_name(T{}) + "s";
}

// One row for each key of an object of type S, and under it those of the objects inside.
template <class S>
void document(const std::string& prefix, std::string& rows);

template <class T>
void document_inside(const T&, const std::string& key, std::string& rows) {
  if constexpr (HasFields<T>) document<T>(key + ".", rows);
}
template <class T>
void document_inside(const std::optional<T>&, const std::string& key, std::string& rows) {
  document_inside(T{}, key, rows);
}
template <class T>
void document_inside(const std::vector<T>&, const std::string& key, std::string& rows) {
  document_inside(T{}, key + "[]", rows);
}

template <class S>
void document(const std::string& prefix, std::string& rows) {
  S object{};
  for_each_member(object, [&](const auto& field, const auto& member) {
    const std::string key = prefix + std::string(field.name);
    rows += "| `" + key + "` | " + type_name(member) + " | " + std::string(field.unit) + " | " +
            std::string(field.doc) + " |\n";
    document_inside(member, key, rows);
  });
}

}  // namespace

std::string to_json(const Report& report) { return json_of(report).dump(2) + "\n"; }

std::string to_json(const Result& result) { return json_of(result).dump(); }

std::optional<Result> result_from_json(std::string_view text) {
  try {
    Result result;
    read_json(OrderedJson::parse(text), result);
    return result;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

std::string report_documentation() {
  std::string page =
      "# What `uvmsim run --json` prints\n\n"
      "One object. Counts of a GPU are means per measured iteration, rounded; two runs with the same input print the\n"
      "same bytes outside `run.host`. Written by `report_documentation()` from the lists that also write the JSON.\n\n"
      "| key | type | unit | meaning |\n| --- | --- | --- | --- |\n";
  document<Report>("", page);
  return page;
}

}  // namespace uvmsim
