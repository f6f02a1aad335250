#include "study/validation/uses.h"

#include <algorithm>

#include "study/validation/object_reader.h"

namespace uvmsim {
namespace {

void read_list(ObjectReader& in, bool excluded, std::vector<InputError>& errors, std::vector<DeclaredUse>& uses) {
  const std::string key = excluded ? "excluded" : "input";
  std::size_t index = 0;
  for (const JsonValue* value : in.list(key)) {
    ObjectReader entry(*value, pointer_to(in.pointer(key), std::to_string(index++)), errors);
    DeclaredUse use{.excluded = excluded};
    for (const JsonValue* id : entry.list("ids")) use.ids.push_back(id->text);
    if (use.ids.empty()) entry.error("ids", "expected a list of ids of measured values");
    use.reason = entry.required_text("reason");
    entry.refuse_the_rest();
    uses.push_back(std::move(use));
  }
}

}  // namespace

bool matches_id(std::string_view pattern, std::string_view id) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == id;
  if (!id.starts_with(pattern.substr(0, star))) return false;
  const std::string_view rest = pattern.substr(star + 1);
  for (std::size_t at = star; at <= id.size(); ++at)
    if (matches_id(rest, id.substr(at))) return true;
  return false;
}

std::vector<DeclaredUse> read_uses(const std::string& path, const FileLoader& load) {
  std::vector<InputError> errors;
  const JsonValue document = load_json(path, load, errors);
  if (!errors.empty()) throw UserError(path, std::move(errors));
  std::vector<DeclaredUse> uses;
  ObjectReader in(document, "", errors);
  read_list(in, false, errors, uses);
  read_list(in, true, errors, uses);
  in.refuse_the_rest();
  if (!errors.empty()) throw UserError(path, std::move(errors));
  return uses;
}

bool MeasurementUse::once() const {
  const auto other_role = [&](const CaseFamily* family) { return family->role != families.front()->role; };
  return declared.size() + (families.empty() ? 0 : 1) == 1 && std::ranges::none_of(families, other_role);
}

std::vector<MeasurementUse> uses_of(const std::vector<Measurement>& measurements,
                                    const std::vector<CaseFamily>& families, const std::vector<DeclaredUse>& declared) {
  std::vector<MeasurementUse> uses;
  for (const Measurement& measurement : measurements) {
    MeasurementUse use{.of = &measurement};
    for (const CaseFamily& family : families) {
      const auto compares = [&](const MeasuredValue& value) { return value.id == measurement.id; };
      if (std::ranges::any_of(family.cases,
                              [&](const ValidationCase& one) { return std::ranges::any_of(one.measured, compares); }))
        use.families.push_back(&family);
    }
    for (const DeclaredUse& entry : declared)
      if (std::ranges::any_of(entry.ids, [&](const std::string& id) { return matches_id(id, measurement.id); }))
        use.declared.push_back(&entry);
    uses.push_back(std::move(use));
  }
  return uses;
}

}  // namespace uvmsim
