#include "study/plug_in_page.h"

#include "base/field_text.h"
#include "base/registry.h"

namespace uvmsim {
namespace {

constexpr const char* kIntroduction =
    R"(# Plug-ins

Generated from the registries; `uvmsim list KIND` prints the same.

A plug-in is one file in the folder of its kind, and needs no edit elsewhere: it implements the interface of its kind and
registers itself,

```cpp
const bool kRegistered = add_plug_in<EvictionPolicy, MostRecent>(
    {.name = "most_recent", .summary = "...", .source = "...", .on_hardware = "..."});
```

Its parameters are a struct `Options` with defaults and a static `description()`; from these follow the keys of
configurations, their checks, `uvmsim explain` and the schema. A kind is a header: an interface with a
`static constexpr KindText kKind`. `base/plug_in.h` and `base/registry.h` have the details, `tests/plug_ins` has an example
of each kind. "Another nvidia-uvm" means the kernel module's source changed and rebuilt; it is open
(open-gpu-kernel-modules).
)";

std::string cell(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.insert(at, "\\");
  return text;
}

std::string code(const std::string& text) { return "`" + text + "`"; }

// "`share` (10), `seed` (1)".
std::string parameters_of(PlugIn& plug_in) {
  const DescribedObject parameters = plug_in.parameters();
  std::string text;
  for (const FieldInfo& field : parameters.description->fields)
    text += (text.empty() ? "" : ", ") + code(field.name) + " (" + value_json(field, parameters.object) + ")";
  return text;
}

std::string section_of(const PlugInKind& kind) {
  const KindText& is = kind.text();
  std::string text = "\n## " + std::string(is.name) + "\n\nNamed by " + code(std::string(is.use));
  if (!is.options.empty())
    text += "; parameters are keys of " + code(std::string(is.options) + (is.section_each ? ".NAME" : ""));
  text += ".\n\n| " + std::string(is.noun) + " | what it does | parameters (defaults) | source | on hardware |\n" +
          "| --- | --- | --- | --- | --- |\n";
  for (const PlugInText* plug_in : kind.plug_ins())
    text += "| " + code(plug_in->name) + " | " + cell(plug_in->summary) + " | " +
            cell(parameters_of(*kind.make_plug_in(plug_in->name))) + " | " + cell(plug_in->source) + " | " +
            cell(plug_in->on_hardware) + " |\n";
  return text;
}

}  // namespace

std::string plug_in_page() {
  std::string page = kIntroduction;
  for (const PlugInKind* kind : kinds()) page += section_of(*kind);
  return page;
}

}  // namespace uvmsim
