#include "base/json_writer.h"

#include <nlohmann/json.hpp>

#include "base/field_text.h"

namespace uvmsim {
namespace {

using Kind = FieldInfo::Kind;
using Json = nlohmann::ordered_json;

const void* locate(const FieldInfo& field, const void* object) {
  return field.locate(const_cast<void*>(object));  // described once, to read and to write
}

Json element(const FieldInfo& field, const void* object, std::size_t i) {
  if (field.alternatives.empty()) {
    const void* const one = field.at(object, i);
    return written_as_described(*field.section, one, field.plain());
  }
  for (const Alternative& a : field.alternatives) {
    const void* const one = a.at(object, i);
    if (one == nullptr) continue;
    Json json = {{field.tag, a.name}};
    json.update(written_as_described(*a.section, one, a.plain()));
    return json;
  }
  return {};
}

Json list(const FieldInfo& field, const void* object) {
  Json json = Json::array();
  for (std::size_t i = 0; i < field.size(object); ++i) json.push_back(element(field, object, i));
  return json;
}

}  // namespace

Json written_as_described(const Description& description, const void* object, const void* plain) {
  Json json = Json::object();
  for (const FieldInfo& field : description.fields) {
    if (field.kind == Kind::Section) {
      Json section = written_as_described(*field.section, locate(field, object), locate(field, plain));
      if (!section.empty()) json[field.name] = std::move(section);
    } else if (field.kind == Kind::SectionList) {
      Json items = list(field, object);
      if (!items.empty()) json[field.name] = std::move(items);
    } else {
      const std::string value = value_json(field, object);
      if (value != value_json(field, plain) || !has_valid_default(field, plain)) json[field.name] = Json::parse(value);
    }
  }
  return json;
}

}  // namespace uvmsim
