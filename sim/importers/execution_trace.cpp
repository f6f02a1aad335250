#include "importers/execution_trace.h"

#include <algorithm>
#include <cmath>

#include "importers/json_stream.h"
#include "importers/text_fields.h"
#include "trace/format.h"

namespace uvmsim {
namespace {

// The parts of `text` between the commas that stand outside of brackets.
std::vector<std::string_view> outer_parts(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(' || text[i] == '[') ++depth;
    if (text[i] == ')' || text[i] == ']') --depth;
    if (text[i] != ',' || depth != 0) continue;
    parts.push_back(trimmed(text.substr(start, i - start)));
    start = i + 1;
  }
  parts.push_back(trimmed(text.substr(start)));
  std::erase(parts, "*");  // what follows is by keyword
  return parts;
}

bool is_number(const JsonValue& value) { return value.type == JsonValue::Type::Integer; }

// A tensor as the observer writes it: [tensor, storage, offset, elements, bytes of an element, device].
bool is_tensor(const JsonValue& value) {
  return value.items.size() == 6 && std::all_of(value.items.begin(), value.items.begin() + 5, is_number) &&
         value.items[5].type == JsonValue::Type::String;
}

// Elements from the first to the last one of a view; 0 when its shape and strides do not say.
double extent(const JsonValue* shape, const JsonValue* strides) {
  if (shape == nullptr || strides == nullptr || shape->items.size() != strides->items.size()) return 0;
  double last = 0;
  for (std::size_t i = 0; i < shape->items.size(); ++i) {
    if (!is_number(shape->items[i]) || !is_number(strides->items[i])) return 0;
    last += std::max(0.0, shape->items[i].number - 1) * std::abs(strides->items[i].number);
  }
  return last + 1;
}

StorageAccess access_to(const JsonValue& tensor, const JsonValue* shape, const JsonValue* strides) {
  const double element = tensor.items[4].number;
  const double elements = std::max(tensor.items[3].number, extent(shape, strides));
  StorageAccess access;
  access.storage = tensor.items[1].integer;
  access.on_gpu = tensor.items[5].text.starts_with("cuda");
  const double offset = tensor.items[2].number * element, bytes = elements * element;
  const auto most = static_cast<double>(trace::kMostBytes);
  if (!(offset >= 0 && bytes >= 0 && offset <= most && bytes <= most && offset + bytes <= most))
    throw trace::ParseError{"a tensor: expected an offset and a size of up to 2^48 bytes"};
  access.offset = static_cast<std::int64_t>(offset);
  access.bytes = static_cast<std::int64_t>(bytes);
  return access;
}

// One side of a node: "inputs" or "outputs". Old files have the values themselves, newer ones an object.
struct Side {
  const JsonValue *values = nullptr, *shapes = nullptr, *strides = nullptr;
};
Side side_of(const JsonValue& node, const char* key) {
  const JsonValue* side = node.find(key);
  if (side == nullptr) return {};
  if (side->type == JsonValue::Type::Array) return {side, nullptr, nullptr};
  return {side->find("values"), side->find("shapes"), side->find("strides")};
}

const JsonValue* item(const JsonValue* list, std::size_t index) {
  return list == nullptr || index >= list->items.size() ? nullptr : &list->items[index];
}

// Appends the tensors in `value`, which may be a list of them.
void collect(const JsonValue& value, const JsonValue* shape, const JsonValue* strides,
             std::vector<StorageAccess>& into) {
  if (is_tensor(value)) {
    into.push_back(access_to(value, shape, strides));
    return;
  }
  for (std::size_t i = 0; i < value.items.size(); ++i) collect(value.items[i], item(shape, i), item(strides, i), into);
}

// An attribute: a member in old files, one of "attrs" in newer ones.
const JsonValue* attribute(const JsonValue& node, std::string_view name) {
  if (const JsonValue* direct = node.find(name)) return direct;
  const JsonValue* attributes = node.find("attrs");
  if (attributes == nullptr) return nullptr;
  for (const JsonValue& one : attributes->items)
    if (text_member(one, "name") == name) return one.find("value");
  return nullptr;
}

std::vector<StorageAccess> accesses_of(const JsonValue& node) {
  const JsonValue* described = attribute(node, "op_schema");
  const std::string schema = described == nullptr ? "" : described->text;
  std::vector<StorageAccess> all;
  const auto add = [&](const Side& side, bool result) {
    if (side.values == nullptr) return;
    for (std::size_t i = 0; i < side.values->items.size(); ++i) {
      const Alias alias = alias_of(schema, i, result);
      if (result && alias != Alias::None) continue;  // an input, under another name
      const std::size_t before = all.size();
      collect(side.values->items[i], item(side.shapes, i), item(side.strides, i), all);
      for (std::size_t j = before; j < all.size(); ++j) {
        all[j].mode = result                    ? trace::Mode::Write
                      : alias == Alias::Written ? trace::Mode::ReadWrite
                                                : trace::Mode::Read;
        const bool input = std::any_of(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(before),
                                       [&](const StorageAccess& a) { return a.storage == all[j].storage; });
        all[j].fresh = result && !input;
      }
    }
  };
  add(side_of(node, "inputs"), false);
  add(side_of(node, "outputs"), true);
  return all;
}

}  // namespace

void collect_tensors(const JsonValue& value, std::vector<StorageAccess>& into, trace::Mode mode) {
  const std::size_t before = into.size();
  collect(value, nullptr, nullptr, into);
  for (std::size_t i = before; i < into.size(); ++i) into[i].mode = mode;
}

Alias alias_of(std::string_view schema, std::size_t index, bool result) {
  const std::size_t open = schema.find('('), arrow = schema.rfind("->");
  if (open == schema.npos || arrow == schema.npos || arrow < open) return Alias::None;
  std::string_view text = trimmed(result ? schema.substr(arrow + 2) : schema.substr(open + 1, arrow - open - 1));
  if (result && text.starts_with("(") && text.ends_with(")")) text = text.substr(1, text.size() - 2);
  if (!result && text.ends_with(")")) text.remove_suffix(1);
  const auto parts = outer_parts(text);
  if (index >= parts.size()) return Alias::None;
  const std::size_t mark = parts[index].find("Tensor(");
  if (mark == parts[index].npos) return Alias::None;
  return parts[index].find('!', mark) < parts[index].find(')', mark) ? Alias::Written : Alias::View;
}

ExecutionTrace read_execution_trace(const ImportFile& file, trace::ErrorList& errors) {
  ExecutionTrace read;
  read_json(file, errors, [&](const std::string& key, bool in_list, JsonValue& node) {
    if (key != "nodes" || !in_list) return;
    const JsonValue* id = attribute(node, "rf_id");
    if (id == nullptr || id->type != JsonValue::Type::Integer || id->integer <= 0) return;
    const JsonValue* thread = attribute(node, "tid");
    read.operators.push_back({id->integer, thread == nullptr ? 0 : thread->integer, text_member(node, "name")});
    read.accesses[id->integer] = accesses_of(node);
  });
  std::ranges::sort(read.operators, {}, &ObservedOperator::function);
  return read;
}

}  // namespace uvmsim
