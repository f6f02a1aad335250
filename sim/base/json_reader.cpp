#include "base/json_reader.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/field_text.h"
#include "base/quantity.h"
#include "base/registry.h"

namespace uvmsim {
namespace {

using Kind = FieldInfo::Kind;
using Type = JsonValue::Type;
using Json = nlohmann::ordered_json;

std::string quoted(const std::string& text) {
  return Json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string written(const JsonValue& value) {
  switch (value.type) {
    case Type::Null:
      return "null";
    case Type::Boolean:
      return value.boolean ? "true" : "false";
    case Type::Integer:
    case Type::Number:
      return value.text;
    case Type::String:
      return quoted(value.text);
    case Type::Array:
      return "a list";
    case Type::Object:
      return "an object";
  }
  return "";
}

template <class T>
T& member(const FieldInfo& field, void* object) {
  return *static_cast<T*>(field.locate(object));
}

// Reads one object; holds what all its leaves share.
class Reader {
 public:
  Reader(std::vector<InputError>& errors, ResolvedConfig& resolved) : errors_(errors), resolved_(resolved) {}

  void object(const JsonValue* value, const std::string& pointer, std::span<const DescribedObject> parts) {
    if (value != nullptr && value->type != Type::Object) {
      error(pointer, *value, "expected an object, got " + written(*value));
      return;
    }
    if (value != nullptr) refuse_unknown_keys(*value, pointer, parts);
    for (const DescribedObject& part : parts)
      for (const FieldInfo& field : part.description->fields) {
        const JsonValue* member_value = value == nullptr ? nullptr : value->find(field.name);
        const std::string& origin = value == nullptr ? std::string() : value->origin;
        this->field(field, part.object, member_value, pointer_to(pointer, field.name), origin);
      }
  }

 private:
  void error(const std::string& pointer, const JsonValue& at, std::string message) {
    errors_.push_back({place_of(pointer, at.origin), std::move(message)});
  }

  void refuse_unknown_keys(const JsonValue& value, const std::string& pointer, std::span<const DescribedObject> parts) {
    std::vector<std::string> known;
    for (const DescribedObject& part : parts)
      for (const FieldInfo& field : part.description->fields) known.push_back(field.name);
    for (const JsonMember& m : value.members) {
      if (std::ranges::find(known, m.key) != known.end()) continue;
      error(pointer_to(pointer, m.key), m.value, "unknown key" + did_you_mean(m.key, known));
    }
  }

  void field(const FieldInfo& field, void* object, const JsonValue* value, const std::string& pointer,
             const std::string& object_origin) {
    if (field.kind == Kind::Section) {
      const DescribedObject part{field.section, field.locate(object)};
      this->object(value, pointer, {&part, 1});
    } else if (field.kind == Kind::SectionList) {
      if (value != nullptr) section_list(field, object, *value, pointer);
    } else {
      leaf(field, object, value, pointer, object_origin);
    }
  }

  void section_list(const FieldInfo& field, void* object, const JsonValue& value, const std::string& pointer) {
    if (value.type != Type::Array) {
      error(pointer, value, "expected a list of objects, got " + written(value));
      return;
    }
    field.clear(object);
    for (std::size_t i = 0; i < value.items.size(); ++i) {
      const std::string at = pointer_to(pointer, std::to_string(i));
      if (!field.alternatives.empty()) {
        alternative(field, object, value.items[i], at);
        continue;
      }
      const DescribedObject part{field.section, field.append(object)};
      this->object(&value.items[i], at, {&part, 1});
    }
  }

  // An element of a list of several kinds: its tag says of which it is.
  void alternative(const FieldInfo& list, void* object, const JsonValue& value, const std::string& pointer) {
    FieldInfo kind;
    kind.name = list.tag;
    for (const Alternative& a : list.alternatives) kind.choices.push_back(a.name);
    std::string name;
    kind.locate = [&name](void*) -> void* { return &name; };
    const JsonValue* tag = value.type == Type::Object ? value.find(list.tag) : nullptr;
    if (tag != nullptr || value.type == Type::Object)
      leaf(kind, nullptr, tag, pointer_to(pointer, list.tag), value.origin);
    else
      error(pointer, value, "expected an object, got " + written(value));
    const auto chosen = std::ranges::find(list.alternatives, name, &Alternative::name);
    if (chosen == list.alternatives.end()) return;  // which keys it has is not known
    const Description of_tag{.doc = "", .fields = {kind}};
    const std::vector<DescribedObject> parts = {{&of_tag, nullptr}, {chosen->section, chosen->append(object)}};
    this->object(&value, pointer, parts);
  }

  void leaf(const FieldInfo& field, void* object, const JsonValue* value, const std::string& pointer,
            const std::string& object_origin) {
    ResolvedValue leaf{pointer, "", "", "", "default"};
    if (value == nullptr) {
      if (!has_valid_default(field, object))
        errors_.push_back({place_of(pointer, object_origin), "missing; expected " + expected_form(field)});
    } else {
      leaf.origin = value->origin;
      const JsonValue* bare = is_annotated(*value) ? annotation(*value, pointer, leaf) : value;
      if (bare->type == Type::Null)
        error(pointer, *bare, "null deletes an inherited key, and none is inherited; expected " + expected_form(field));
      else
        assign(field, object, *bare, pointer);
    }
    leaf.json = value_json(field, object);
    resolved_.push_back(std::move(leaf));
  }

  // Reads status and source into `leaf`; returns the value that is annotated.
  const JsonValue* annotation(const JsonValue& value, const std::string& pointer, ResolvedValue& leaf) {
    for (const JsonMember& m : value.members) {
      const std::string at = pointer_to(pointer, m.key);
      if (m.key == "value") continue;
      if (m.key != "status" && m.key != "source" && m.key != "origin")
        error(at, m.value, "unknown key; an annotated value has value, status and source");
      else if (m.value.type != Type::String)
        error(at, m.value, "expected a text, got " + written(m.value));
      else if (m.key == "source")
        leaf.source = m.value.text;
      else if (m.key == "origin")
        leaf.origin = m.value.text;
      else if (std::ranges::find(kStatuses, m.value.text) == kStatuses.end())
        error(at, m.value, written(m.value) + " is not one of datasheet, measured, fitted, scaled, assumed");
      else
        leaf.status = m.value.text;
    }
    return value.find("value");
  }

  void mistyped(const FieldInfo& field, const JsonValue& value, const std::string& pointer) {
    const bool quantity =
        field.kind == Kind::ByteCount || field.kind == Kind::Bandwidth || field.kind == Kind::TimeSpan;
    const bool bare = value.type == Type::Integer || value.type == Type::Number;
    if (quantity && bare)
      error(pointer, value, written(value) + " has no unit; expected " + expected_form(field));
    else
      error(pointer, value, "expected " + expected_form(field) + ", got " + written(value));
  }

  // Checks the range and tells whether the value may be assigned.
  bool accepts(const FieldInfo& field, double checked, const JsonValue& value, const std::string& pointer) {
    if (is_in_range(field, checked)) return true;
    const std::string range = range_text(field);
    error(pointer, value,
          range.starts_with("at ") ? "expected " + range + ", got " + written(value)
                                   : written(value) + " is outside " + range);
    return false;
  }

  void assign(const FieldInfo& field, void* object, const JsonValue& value, const std::string& pointer) {
    switch (field.kind) {
      case Kind::Integer32:
      case Kind::Integer64:
        return assign_integer(field, object, value, pointer);
      case Kind::Number:
        if (value.type != Type::Integer && value.type != Type::Number) return mistyped(field, value, pointer);
        if (accepts(field, value.number, value, pointer)) member<double>(field, object) = value.number;
        return;
      case Kind::Flag:
        if (value.type != Type::Boolean) return mistyped(field, value, pointer);
        member<bool>(field, object) = value.boolean;
        return;
      case Kind::Text:
        return assign_text(field, object, value, pointer);
      case Kind::ByteCount:
        return assign_quantity<Bytes>(field, object, value, pointer, parse_bytes,
                                      [](Bytes b) { return static_cast<double>(b.value); });
      case Kind::Bandwidth:
        return assign_quantity<BytesPerSecond>(field, object, value, pointer, parse_bandwidth,
                                               [](BytesPerSecond b) { return static_cast<double>(b.value); });
      case Kind::TimeSpan:
        return assign_quantity<Duration>(field, object, value, pointer, parse_duration, seconds);
      case Kind::NumberList:
        return assign_list<double>(field, object, value, pointer);
      case Kind::IntegerList:
        return assign_list<std::int64_t>(field, object, value, pointer);
      case Kind::Section:
      case Kind::SectionList:
        UVMSIM_CHECK(false, "a section is not a leaf");
    }
  }

  void assign_integer(const FieldInfo& field, void* object, const JsonValue& value, const std::string& pointer) {
    if (value.type != Type::Integer) return mistyped(field, value, pointer);
    const bool fits = field.kind == Kind::Integer64 || value.integer == static_cast<int>(value.integer);
    if (!fits)
      return error(pointer, value,
                   written(value) + " is outside " + (range_text(field).empty() ? "32 bits" : range_text(field)));
    if (!accepts(field, value.number, value, pointer)) return;
    if (field.kind == Kind::Integer64)
      member<std::int64_t>(field, object) = value.integer;
    else
      member<int>(field, object) = static_cast<int>(value.integer);
  }

  void assign_text(const FieldInfo& field, void* object, const JsonValue& value, const std::string& pointer) {
    // What was typed on the command line may look like a number and still be meant as a text.
    const bool typed = value.origin.starts_with("--") && !value.text.empty();
    if (value.type != Type::String && !typed) return mistyped(field, value, pointer);
    if (!field.plug_in.empty()) return assign_plug_in(field, object, value, pointer);
    if (!field.choices.empty() && std::ranges::find(field.choices, value.text) == field.choices.end()) {
      return error(
          pointer, value,
          "expected " + expected_form(field) + ", got " + quoted(value.text) + did_you_mean(value.text, field.choices));
    }
    if (field.set_text)
      field.set_text(object, value.text);
    else
      member<std::string>(field, object) = value.text;
  }

  // A kind of which the program has no plug-ins is not judged.
  void assign_plug_in(const FieldInfo& field, void* object, const JsonValue& value, const std::string& pointer) {
    const PlugInKind* kind = find_kind(field.plug_in);
    const bool other = std::ranges::find(field.choices, value.text) != field.choices.end();
    if (kind == nullptr || other || kind->has(value.text))
      member<std::string>(field, object) = value.text;
    else
      errors_.push_back(kind->unknown(place_of(pointer, value.origin), value.text));
  }

  template <class Q, class Parse, class Plain>
  void assign_quantity(const FieldInfo& field, void* object, const JsonValue& value, const std::string& pointer,
                       Parse parse, Plain plain) {
    if (value.type != Type::String) return mistyped(field, value, pointer);
    const std::optional<Q> quantity = parse(value.text);
    if (!quantity) return mistyped(field, value, pointer);
    if (accepts(field, plain(*quantity), value, pointer)) member<Q>(field, object) = *quantity;
  }

  template <class N>
  void assign_list(const FieldInfo& field, void* object, const JsonValue& value, const std::string& pointer) {
    if (value.type != Type::Array) return mistyped(field, value, pointer);
    std::vector<N> list;
    for (std::size_t i = 0; i < value.items.size(); ++i) {
      const JsonValue& item = value.items[i];
      const std::string at = pointer_to(pointer, std::to_string(i));
      const bool integer = item.type == Type::Integer;
      if (!integer && (std::is_integral_v<N> || item.type != Type::Number))
        error(at, item,
              std::string("expected a ") + (std::is_integral_v<N> ? "whole " : "") + "number, got " + written(item));
      else if (accepts(field, item.number, item, at))
        list.push_back(std::is_integral_v<N> ? static_cast<N>(item.integer) : static_cast<N>(item.number));
    }
    if constexpr (std::is_integral_v<N>) {
      if (field.set_integers) return field.set_integers(object, list);
    }
    member<std::vector<N>>(field, object) = std::move(list);
  }

  std::vector<InputError>& errors_;
  ResolvedConfig& resolved_;
};

}  // namespace

void read_described(const JsonValue* value, const std::string& pointer, std::span<const DescribedObject> parts,
                    std::vector<InputError>& errors, ResolvedConfig& resolved) {
  Reader(errors, resolved).object(value, pointer, parts);
}

std::string to_json(const ResolvedConfig& values, bool provenance) {
  Json root = Json::object();
  for (const ResolvedValue& v : values) {
    Json leaf = Json::parse(v.json);
    if (provenance && v.origin != "default") {
      Json annotated = {{"value", std::move(leaf)}};
      if (!v.status.empty()) annotated["status"] = v.status;
      if (!v.source.empty()) annotated["source"] = v.source;
      annotated["origin"] = v.origin;
      leaf = std::move(annotated);
    }
    root[Json::json_pointer(v.pointer)] = std::move(leaf);
  }
  return root.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace uvmsim
