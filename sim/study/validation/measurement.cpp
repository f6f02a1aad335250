#include "study/validation/measurement.h"

#include <set>

#include "study/validation/object_reader.h"
#include "study/validation/unit.h"

namespace uvmsim {
namespace {

Measurement read_one(const JsonValue& value, const std::string& pointer, ObjectReader& sources,
                     std::vector<InputError>& errors) {
  ObjectReader in(value, pointer, errors);
  Measurement m;
  m.id = in.required_text("id");
  const std::string source = in.required_text("source");
  m.source = sources.text(source).value_or("");
  if (!source.empty() && m.source.empty()) in.error("source", "sources has no \"" + source + "\"");
  m.gpu = in.text("gpu").value_or("");
  m.metric = in.text("metric").value_or("");
  m.unit = in.required_text("unit");
  if (!m.unit.empty() && !unit_factor(m.unit)) in.error("unit", "unknown unit \"" + m.unit + "\"");
  if (!in.has("value")) in.error("value", "missing; expected a number");
  m.value = in.number("value").value_or(0);
  m.uncertainty = in.text("uncertainty").value_or("");
  const JsonValue* share = in.find("relative_uncertainty");
  if (share != nullptr && share->type != JsonValue::Type::Null) m.uncertainty_share = in.number("relative_uncertainty");
  m.trust = in.choice("trust", kTrusts);
  m.note = in.text("note").value_or("");
  for (const char* described : {"interconnect", "workload", "group"}) in.find(described);
  in.refuse_the_rest();
  return m;
}

}  // namespace

std::vector<Measurement> read_measurements(const std::string& path, const FileLoader& load) {
  std::vector<InputError> errors;
  const JsonValue document = load_json(path, load, errors);
  if (!errors.empty()) throw UserError(path, std::move(errors));

  ObjectReader in(document, "", errors);
  const JsonValue none;
  const JsonValue* sources = in.find("sources");
  ObjectReader source_reader(sources == nullptr ? none : *sources, "/sources", errors);
  std::vector<Measurement> measurements;
  std::set<std::string> ids;
  for (const JsonValue* value : in.list("measurements")) {
    const std::string pointer = pointer_to("/measurements", std::to_string(measurements.size()));
    measurements.push_back(read_one(*value, pointer, source_reader, errors));
    if (!ids.insert(measurements.back().id).second)
      errors.push_back({place_of(pointer, value->origin), "there are two \"" + measurements.back().id + "\""});
  }
  in.refuse_the_rest();
  if (!errors.empty()) throw UserError(path, std::move(errors));
  return measurements;
}

}  // namespace uvmsim
