#include "study/transform_section.h"

#include "study/plug_in_section.h"

namespace uvmsim {
namespace {

class Optional final : public Transform {
 public:
  explicit Optional(std::shared_ptr<Transform> transform) : transform_(std::move(transform)) {}

  trace::Trace apply(trace::Trace trace) const override {
    try {
      return transform_->apply(trace);
    } catch (const UserError&) {
      return trace;
    }
  }
  trace::Trace apply_on(trace::Trace trace, const GpuSpec& gpu) const override {
    try {
      return transform_->apply_on(trace, gpu);
    } catch (const UserError&) {
      return trace;
    }
  }
  Needs needs() const override { return transform_->needs(); }

 private:
  std::shared_ptr<Transform> transform_;
};

}  // namespace

const Description& describe_transform_name() {
  static const Description d =
      Describe<TransformName>("a change of the trace")
          .plug_in("name", &TransformName::name, "transform", "a name from `uvmsim list transform`")
          .flag("optional", &TransformName::optional,
                "where it selects nothing, the trace stays as it is; otherwise that is an error")
          .build();
  return d;
}

std::vector<std::shared_ptr<Transform>> read_transforms(const JsonValue* workload, const std::string& pointer,
                                                        std::vector<InputError>& errors, ResolvedConfig& resolved) {
  std::vector<std::shared_ptr<Transform>> transforms;
  const JsonValue* list = workload == nullptr ? nullptr : workload->find("transforms");
  if (list == nullptr) return transforms;
  const std::string at = pointer_to(pointer, "transforms");
  if (list->type != JsonValue::Type::Array) {
    errors.push_back({place_of(at, list->origin), "expected a list of objects"});
    return transforms;
  }
  for (std::size_t i = 0; i < list->items.size(); ++i) {
    const JsonValue& item = list->items[i];
    const std::string place = pointer_to(at, std::to_string(i));
    const auto transform = named_plug_in<Transform>(&item, "name");
    if (transform == nullptr) {  // which keys are its parameters is not known
      errors.push_back(registry<Transform>().unknown(place_of_key(&item, place, "name"), text_at(&item, "name")));
      continue;
    }
    TransformName name;
    const DescribedObject parts[] = {{&describe_transform_name(), &name}, transform->parameters()};
    read_described(&item, place, parts, errors, resolved);
    transforms.push_back(name.optional ? std::make_shared<Optional>(transform) : transform);
  }
  return transforms;
}

std::shared_ptr<Transform> parse_transform(const std::string& text, const std::string& place,
                                           std::vector<InputError>& errors) {
  std::vector<InputError> faults;
  JsonValue section;
  section.type = JsonValue::Type::Object;
  const std::size_t colon = text.find(':');
  const std::string name = text.substr(0, colon);
  if (!transforms().has(name)) {
    errors.push_back(transforms().unknown(place, name));
    return nullptr;
  }
  apply_setting(section, R"(transforms=[{"name":")" + name + "\"}]", faults);
  for (std::size_t from = colon; from != std::string::npos;) {
    const std::size_t next = text.find(',', from + 1);
    apply_setting(section, "transforms.0." + text.substr(from + 1, next - from - 1), faults);
    from = next;
  }
  ResolvedConfig resolved;
  std::vector<std::shared_ptr<Transform>> read;
  if (faults.empty()) read = read_transforms(&section, "", faults, resolved);
  for (const InputError& fault : faults) errors.push_back({place + " " + text + fault.place, fault.message});
  return faults.empty() ? read.front() : nullptr;
}

}  // namespace uvmsim
