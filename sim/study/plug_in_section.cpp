#include "study/plug_in_section.h"

#include <algorithm>

namespace uvmsim {

std::string text_at(const JsonValue* section, const std::string& key, const std::string& otherwise) {
  const JsonValue* member = section == nullptr ? nullptr : section->find(key);
  if (member != nullptr && is_annotated(*member)) member = member->find("value");
  return member != nullptr && member->type == JsonValue::Type::String ? member->text : otherwise;
}

std::string place_of_key(const JsonValue* section, const std::string& pointer, const std::string& key) {
  const JsonValue* member = section == nullptr ? nullptr : section->find(key);
  if (member == nullptr) return place_of(pointer, section == nullptr ? "" : section->origin);
  return place_of(pointer_to(pointer, key), member->origin);
}

void OptionsSections::add(const std::string& key, PlugIn* plug_in) {
  if (plug_in == nullptr) {
    unknown_.push_back(key);
    return;
  }
  const DescribedObject parameters = plug_in->parameters();
  FieldInfo section;
  section.name = key;
  section.kind = FieldInfo::Kind::Section;
  section.doc = parameters.description->doc;
  section.section = parameters.description;
  section.locate = [object = parameters.object](void*) { return object; };
  description_.fields.push_back(std::move(section));
}

void OptionsSections::add(const std::string& key, const OptionsSections& of) {
  FieldInfo section;
  section.name = key;
  section.kind = FieldInfo::Kind::Section;
  section.section = &of.description_;
  section.locate = [](void* object) { return object; };
  description_.fields.push_back(std::move(section));
}

const JsonValue* OptionsSections::known(const JsonValue* section) {
  if (section == nullptr || unknown_.empty()) return section;
  known_ = *section;
  std::erase_if(known_.members,
                [&](const JsonMember& m) { return std::ranges::find(unknown_, m.key) != unknown_.end(); });
  return &known_;
}

}  // namespace uvmsim
