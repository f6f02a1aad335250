#include <algorithm>
#include <charconv>

#include "base/json_document.h"

namespace uvmsim {
namespace {

constexpr std::size_t kMaxExtends = 16;  // files that extend one another in a chain
constexpr int kMaxFiles = 4096;          // files of one configuration, counted each time they are named

// Merges `over` onto `base`.
void merge(JsonValue& base, JsonValue over) {
  if (base.type != JsonValue::Type::Object || over.type != JsonValue::Type::Object || over.replaces ||
      is_annotated(over) || is_annotated(base)) {
    base = std::move(over);
    return;
  }
  base.origin = over.origin;
  for (JsonMember& member : over.members) {
    JsonValue* inherited = base.find(member.key);
    if (inherited == nullptr)
      base.members.push_back(std::move(member));
    else if (member.value.type == JsonValue::Type::Null)
      std::erase_if(base.members, [&](const JsonMember& m) { return m.key == member.key; });
    else
      merge(*inherited, std::move(member.value));
  }
}

// Reads files and replaces every `extends` in them by what it names.
class ExtendsResolver {
 public:
  ExtendsResolver(const FileLoader& load, std::vector<InputError>& errors) : load_(load), errors_(errors) {}

  // nullopt: an error was appended.
  std::optional<JsonValue> file(const std::string& path, const std::string& place) {
    if (std::ranges::find(stack_, path) != stack_.end() || stack_.size() == kMaxExtends) {
      std::string chain;
      for (const std::string& from : stack_) chain += from + " -> ";
      errors_.push_back({place, "extends itself: " + chain + path});
      return std::nullopt;
    }
    const std::optional<std::string> text = ++files_ <= kMaxFiles ? load_(path) : std::nullopt;
    if (!text) {
      errors_.push_back({place, "cannot read " + path});
      return std::nullopt;
    }
    const std::size_t before = errors_.size();
    JsonValue value = parse_json(*text, path, errors_);
    if (errors_.size() != before) return std::nullopt;
    stack_.push_back(path);
    resolve(value, "", path);
    stack_.pop_back();
    return value;
  }

 private:
  void resolve(JsonValue& value, const std::string& pointer, const std::string& file_name) {
    for (std::size_t i = 0; i < value.items.size(); ++i)
      resolve(value.items[i], pointer_to(pointer, std::to_string(i)), file_name);
    if (value.type != JsonValue::Type::Object) return;

    std::optional<JsonValue> base = inherited(value, pointer, file_name);
    for (JsonMember& member : value.members) resolve(member.value, pointer_to(pointer, member.key), file_name);
    if (!base) return;
    merge(*base, std::move(value));
    value = std::move(*base);
    value.replaces = true;
  }

  // What the `extends` of `object` names, merged; removes the key. nullopt: it has none.
  std::optional<JsonValue> inherited(JsonValue& object, const std::string& pointer, const std::string& file_name) {
    const JsonValue* extends = object.find("extends");
    if (extends == nullptr) return std::nullopt;
    const std::string place = place_of(pointer_to(pointer, "extends"), extends->origin);
    const bool list = extends->type == JsonValue::Type::Array;
    const std::vector<JsonValue> names = list ? extends->items : std::vector<JsonValue>{*extends};
    std::erase_if(object.members, [](const JsonMember& m) { return m.key == "extends"; });

    JsonValue merged;
    merged.type = JsonValue::Type::Object;
    for (const JsonValue& name : names) {
      if (name.type != JsonValue::Type::String || name.text.empty()) {
        errors_.push_back({place, "expected a file name or a list of file names"});
        continue;
      }
      std::optional<JsonValue> base = file(path_beside(file_name, name.text), place);
      if (!base) continue;
      base->replaces = false;
      if (base->type == JsonValue::Type::Object)
        merge(merged, std::move(*base));
      else
        errors_.push_back({place, name.text + " does not hold an object"});
    }
    return merged;
  }

  const FileLoader& load_;
  std::vector<InputError>& errors_;
  std::vector<std::string> stack_;
  int files_ = 0;
};

void set_origin(JsonValue& value, const std::string& origin) {
  value.origin = origin;
  for (JsonValue& item : value.items) set_origin(item, origin);
  for (JsonMember& member : value.members) set_origin(member.value, origin);
}

JsonValue setting_value(std::string_view text) {
  std::vector<InputError> not_json;
  JsonValue value = parse_json(text, "--set", not_json);
  if (!not_json.empty()) {
    value = {};
    value.type = JsonValue::Type::String;
  }
  // As typed, so that a text such as a version "418.40" keeps its digits.
  if (value.items.empty() && value.members.empty() && value.type != JsonValue::Type::String) value.text = text;
  if (!not_json.empty()) value.text = text;
  set_origin(value, "--set");
  return value;
}

}  // namespace

JsonValue load_json(const std::string& path, const FileLoader& load, std::vector<InputError>& errors) {
  return ExtendsResolver(load, errors).file(path, path).value_or(JsonValue{});
}

void apply_setting(JsonValue& document, std::string_view setting, std::vector<InputError>& errors) {
  const std::size_t equals = setting.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    errors.push_back({"--set " + std::string(setting), "expected KEY=VALUE, such as machine.gpus=1"});
    return;
  }
  apply_setting(document, setting.substr(0, equals), setting_value(setting.substr(equals + 1)), "--set", errors);
}

void apply_setting(JsonValue& document, std::string_view key, JsonValue value, const std::string& origin,
                   std::vector<InputError>& errors) {
  JsonValue* at = &document;
  std::string pointer;
  while (true) {
    const std::size_t dot = key.find('.');
    const std::string part(key.substr(0, dot));
    pointer = pointer_to(pointer, part);
    if (at->type == JsonValue::Type::Array) {
      std::size_t index = at->items.size();
      std::from_chars(part.data(), part.data() + part.size(), index);
      if (index >= at->items.size()) {
        errors.push_back({place_of(pointer, origin),
                          "the list has " + std::to_string(at->items.size()) + " elements, counted from 0"});
        return;
      }
      at = &at->items[index];
    } else {
      if (at->type == JsonValue::Type::Null) at->type = JsonValue::Type::Object;
      if (at->type != JsonValue::Type::Object || part.empty()) {
        errors.push_back({place_of(pointer, origin), "there is no such key"});
        return;
      }
      JsonValue* member = at->find(part);
      if (member == nullptr) member = &at->members.emplace_back(JsonMember{part, {}}).value;
      if (member->origin.empty()) member->origin = origin;
      at = member;
    }
    if (dot == std::string_view::npos) break;
    key.remove_prefix(dot + 1);
  }
  *at = std::move(value);
}

std::string path_beside(const std::string& from, const std::string& file) {
  const bool absolute = file.starts_with('/');
  const std::size_t slash = from.rfind('/');
  std::string rest = absolute || slash == std::string::npos ? file : from.substr(0, slash + 1) + file;
  const bool rooted = rest.starts_with('/');
  std::vector<std::string> parts;
  for (std::size_t start = 0; start <= rest.size();) {
    const std::size_t end = std::min(rest.find('/', start), rest.size());
    const std::string part = rest.substr(start, end - start);
    start = end + 1;
    if (part.empty() || part == ".") continue;
    if (part == ".." && !parts.empty() && parts.back() != "..")
      parts.pop_back();
    else
      parts.push_back(part);
  }
  std::string path;
  for (const std::string& part : parts) path += (path.empty() && !rooted ? "" : "/") + part;
  return path;
}

}  // namespace uvmsim
