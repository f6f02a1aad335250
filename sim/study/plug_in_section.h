// Plug-ins that a configuration names by a key, and the sections that hold their parameters.
#pragma once

#include <memory>
#include <string>

#include "base/json_reader.h"
#include "base/registry.h"

namespace uvmsim {

// The text at `key` of `section`, annotated or not; `otherwise` when there is none.
std::string text_at(const JsonValue* section, const std::string& key, const std::string& otherwise = "");

// Where `key` of `section` stands; where the section does when it has none.
std::string place_of_key(const JsonValue* section, const std::string& pointer, const std::string& key);

// The plug-in, or the factory of it, that `section` names at `key`; nullptr when none has that name.
template <class Interface>
std::shared_ptr<typename Registry<Interface>::Made> named_plug_in(const JsonValue* section, const std::string& key,
                                                                  const std::string& otherwise = "") {
  const auto* entry = registry<Interface>().find(text_at(section, key, otherwise));
  return entry == nullptr ? nullptr : entry->make();
}

// Sections with parameters of plug-ins. The plug-ins outlive them.
class OptionsSections {
 public:
  OptionsSections() = default;
  OptionsSections(const OptionsSections&) = delete;
  OptionsSections& operator=(const OptionsSections&) = delete;

  // The parameters of `plug_in` as section `key`; nullptr: of one that is not known, so anything may stand there.
  void add(const std::string& key, PlugIn* plug_in);
  // All sections of `of`, which lives as long, as sections of a section `key`.
  void add(const std::string& key, const OptionsSections& of);

  bool empty() const { return description_.fields.empty(); }
  DescribedObject described() { return {&description_, this}; }
  // `section` as it is to be read: without what may be anything. Lives as long as this.
  const JsonValue* known(const JsonValue* section);

 private:
  Description description_;
  std::vector<std::string> unknown_;
  JsonValue known_;
};

}  // namespace uvmsim
