#include "base/registry.h"

#include <algorithm>

namespace uvmsim {
namespace {

std::vector<const PlugInKind*>& all_kinds() {
  static std::vector<const PlugInKind*> all;
  return all;
}

}  // namespace

PlugInKind::PlugInKind(const KindText& text) : text_(text) { all_kinds().push_back(this); }

std::vector<std::string> PlugInKind::names() const {
  std::vector<std::string> names;
  for (const PlugInText* plug_in : plug_ins()) names.push_back(plug_in->name);
  return names;
}

bool PlugInKind::has(const std::string& name) const {
  return std::ranges::any_of(plug_ins(), [&](const PlugInText* plug_in) { return plug_in->name == name; });
}

InputError PlugInKind::unknown(const std::string& place, const std::string& name) const {
  const std::string list = "`uvmsim list " + std::string(text_.name) + "`";
  if (name.empty()) return {place, "missing; expected a name from " + list};
  return {place, "no " + std::string(text_.noun) + " is named \"" + name + "\"" +
                     did_you_mean(name, names(), "; see " + list)};
}

std::vector<const PlugInKind*> kinds() {
  std::vector<const PlugInKind*> all = all_kinds();
  std::ranges::sort(all, {}, [](const PlugInKind* kind) { return kind->text().name; });
  return all;
}

const PlugInKind* find_kind(std::string_view name) {
  const auto found = std::ranges::find(all_kinds(), name, [](const PlugInKind* kind) { return kind->text().name; });
  return found == all_kinds().end() ? nullptr : *found;
}

}  // namespace uvmsim
