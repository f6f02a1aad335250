// MLCommons Chakra execution traces: the protobuf stream (et_def.proto: a GlobalMetadata, then Nodes, each after its
// length), and the JSON that Chakra's jsonizer makes of it.
#include <algorithm>
#include <map>
#include <optional>
#include <protozero/pbf_reader.hpp>
#include <string>

#include "importers/execution_trace.h"
#include "importers/importer.h"
#include "importers/json_stream.h"
#include "importers/text_fields.h"

namespace uvmsim {
namespace {

constexpr std::uint64_t kLongestMessage = std::uint64_t{1} << 24;

// NodeType of et_def.proto.
enum : std::int64_t { kMemoryLoad = 2, kMemoryStore = 3, kCompute = 4, kSend = 5, kReceive = 6, kCollective = 7 };

struct Node {
  std::int64_t type = 0, start_us = 0, duration_us = 0;
  std::string name;
  std::vector<StorageAccess> accesses;
  std::int64_t stream = 0, bytes = 0, collective = -1;
  std::string group;  // of processes
  bool on_cpu = false;

  // Whether it runs on a GPU.
  bool is_work() const { return !on_cpu && type >= kMemoryLoad && type <= kCollective; }
};

// The tensors in an IOInfo's values, a list as Python or JSON prints it.
void add_tensors(std::string values, trace::Mode mode, Node& node) {
  std::ranges::replace(values, '\'', '"');
  std::vector<InputError> errors;
  const JsonValue list = parse_json(values, "values", errors);
  if (!errors.empty()) return;  // other values: None, objects; they hold no tensors
  collect_tensors(list, node.accesses, mode);
}

void set_attribute(const std::string& name, std::int64_t value, Node& node) {
  if (name == "is_cpu_op") node.on_cpu = value != 0;
  if (name == "stream") node.stream = value;
  if (name == "comm_size" || name == "tensor_size") node.bytes = value;
  if (name == "comm_type") node.collective = value;
}

void set_text(const std::string& name, std::string_view value, Node& node) {
  if (name == "pg_name") node.group = value;
}

// A field's tag and wire type as one value to switch over. protozero takes the types for granted, files do not warrant
// them: a field of another type than its message has is skipped as an unknown one is.
constexpr std::uint32_t text_field(protozero::pbf_tag_type tag) {
  return protozero::tag_and_type(tag, protozero::pbf_wire_type::length_delimited);
}
constexpr std::uint32_t varint_field(protozero::pbf_tag_type tag) {
  return protozero::tag_and_type(tag, protozero::pbf_wire_type::varint);
}

void add_attribute(protozero::pbf_reader attribute, Node& node) {
  std::string name;
  while (attribute.next()) {
    switch (attribute.tag_and_type()) {
      case text_field(1):
        name = attribute.get_string();
        break;
      case text_field(29):
        set_text(name, attribute.get_string(), node);
        break;
      case varint_field(7):   // int32
      case varint_field(9):   // int64
      case varint_field(11):  // uint32
      case varint_field(13):  // uint64
      case varint_field(27):  // bool; Chakra's tools use none of the other whole numbers
        set_attribute(name, attribute.get_int64(), node);
        break;
      default:
        attribute.skip();
    }
  }
}

void add_values(protozero::pbf_reader info, trace::Mode mode, Node& node) {
  while (info.next(1, protozero::pbf_wire_type::length_delimited)) add_tensors(info.get_string(), mode, node);
}

Node node_of(protozero::pbf_reader message) {
  Node node;
  while (message.next()) {
    switch (message.tag_and_type()) {
      case text_field(2):
        node.name = message.get_string();
        break;
      case varint_field(3):
        node.type = message.get_int64();
        break;
      case varint_field(6):
        node.start_us = message.get_int64();
        break;
      case varint_field(7):
        node.duration_us = message.get_int64();
        break;
      case text_field(8):
        add_values(message.get_message(), trace::Mode::Read, node);
        break;
      case text_field(9):
        add_values(message.get_message(), trace::Mode::Write, node);
        break;
      case text_field(10):
        add_attribute(message.get_message(), node);
        break;
      default:
        message.skip();
    }
  }
  return node;
}

// A member under its protobuf name or the camelCase that protobuf's JSON has.
std::int64_t member(const JsonValue& object, const char* name, const char* camel) {
  const auto value = whole_member(object, name);
  return value ? *value : whole_member(object, camel).value_or(0);
}

Node node_of(const JsonValue& object) {
  static const std::map<std::string, std::int64_t, std::less<>> types = {
      {"MEM_LOAD_NODE", kMemoryLoad}, {"MEM_STORE_NODE", kMemoryStore}, {"COMP_NODE", kCompute},
      {"COMM_SEND_NODE", kSend},      {"COMM_RECV_NODE", kReceive},     {"COMM_COLL_NODE", kCollective}};
  Node node;
  node.name = text_member(object, "name");
  const auto type = types.find(text_member(object, "type"));
  node.type = type == types.end() ? 0 : type->second;
  node.start_us = member(object, "start_time_micros", "startTimeMicros");
  node.duration_us = member(object, "duration_micros", "durationMicros");
  if (const JsonValue* inputs = object.find("inputs"))
    add_tensors(text_member(*inputs, "values"), trace::Mode::Read, node);
  if (const JsonValue* outputs = object.find("outputs"))
    add_tensors(text_member(*outputs, "values"), trace::Mode::Write, node);
  if (const JsonValue* attributes = object.find("attr"))
    for (const JsonValue& one : attributes->items)
      for (const JsonMember& value : one.members)
        if (value.key != "name" && value.key != "docString") {
          if (value.value.type == JsonValue::Type::String) set_text(text_member(one, "name"), value.value.text, node);
          const bool is_true = value.value.type == JsonValue::Type::Boolean && value.value.boolean;
          set_attribute(text_member(one, "name"), is_true ? 1 : whole_member(one, value.key).value_or(0), node);
        }
  return node;
}

// A node of {"workload_graph": [...]}, which Chakra's feeder reads: types as numbers, times in us, no tensors.
Node graph_node_of(const JsonValue& object) {
  Node node;
  node.name = text_member(object, "Name");
  node.type = whole_member(object, "NodeType").value_or(0);
  node.duration_us = whole_member(object, "runtime").value_or(0);
  node.bytes = whole_member(object, "comm_size").value_or(0);
  node.collective = whole_member(object, "comm_type").value_or(-1);
  const JsonValue* cpu = object.find("is_cpu_op");
  node.on_cpu = cpu != nullptr && cpu->boolean;
  return node;
}

// The varint that says a message's length; "" at the end of the file.
std::string length_bytes(trace::ByteSource& source) {
  std::string bytes;
  for (char byte = 0; bytes.size() < protozero::max_varint_length && source.read(&byte, 1) == 1;) {
    bytes += byte;
    if ((byte & 0x80) == 0) break;
  }
  return bytes;
}

// Reads the stream of delimited messages.
std::vector<Node> read_stream(const ImportFile& file) {
  const auto source = file.open();
  std::vector<Node> nodes;
  std::uint64_t start = 0;
  try {
    for (bool metadata = true;; metadata = false) {
      const std::string head = length_bytes(*source);
      if (head.empty()) return nodes;
      const char* at = head.data();
      const std::uint64_t length = protozero::decode_varint(&at, at + head.size());
      if (length > kLongestMessage) throw trace::ParseError{"expected a message of at most 16 MiB"};
      std::string message(length, '\0');
      for (std::size_t got = 0, count = 0; got < length; got += count)
        if (count = source->read(message.data() + got, length - got); count == 0)
          throw trace::ParseError{"a message is cut short"};
      if (!metadata) nodes.push_back(node_of(protozero::pbf_reader(message)));
      start += head.size() + length;
    }
  } catch (const trace::ParseError& error) {
    throw trace::ParseError{"byte " + std::to_string(start) + ": " + error.message};
  } catch (const protozero::exception& error) {
    throw trace::ParseError{"byte " + std::to_string(start) + ": no protobuf message: " + error.what()};
  }
}

std::optional<trace::Collective> collective_of(std::int64_t type) {
  switch (type) {
    case 0:
      return trace::Collective::AllReduce;
    case 2:
      return trace::Collective::AllGather;
    case 5:
      return trace::Collective::Broadcast;
    case 6:
      return trace::Collective::AllToAll;
    case 7:
    case 8:
      return trace::Collective::ReduceScatter;
    default:
      return std::nullopt;
  }
}

class Conversion {
 public:
  Conversion(std::vector<Node> nodes, ImportBuilder& into) : nodes_(std::move(nodes)), into_(into) {}

  void run() {
    std::ranges::stable_sort(nodes_, {}, &Node::start_us);
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      for (const StorageAccess& access : nodes_[i].accesses) {
        if (!nodes_[i].is_work() || !access.on_gpu) continue;
        Life& life = lives_[access.storage];
        life.bytes = std::max(life.bytes, access.offset + access.bytes);
        life.last = i;
      }
    for (std::size_t i = 0; i < nodes_.size(); ++i) put(i);
    if (!lives_.empty()) into_.unknown("traces without frees: a storage is freed after the last node that names it");
  }

 private:
  struct Life {
    std::int64_t bytes = 0;
    std::size_t last = 0;
    trace::TensorId tensor = -1;
  };

  void put(std::size_t index) {
    const Node& node = nodes_[index];
    if (node.on_cpu) return into_.unknown("operators of the CPU: left out");
    if (!node.is_work()) return;
    std::vector<trace::Access> operands;
    for (const StorageAccess& access : node.accesses) {
      if (!access.on_gpu) continue;
      Life& life = lives_.at(access.storage);
      if (life.bytes == 0) continue;
      if (life.tensor < 0) life.tensor = into_.allocate(life.bytes);
      if (const auto made = into_.access(life.tensor, access.mode, access.offset, access.bytes))
        operands.push_back(*made);
    }
    work(node, std::move(operands));
    for (const StorageAccess& access : node.accesses) {
      if (!access.on_gpu) continue;
      const Life& life = lives_.at(access.storage);
      if (life.last == index && into_.is_live(life.tensor)) into_.free(life.tensor);
    }
  }

  void work(const Node& node, std::vector<trace::Access> operands) {
    const std::int64_t duration = checked(node.duration_us, {0, trace::kMostNanoseconds / 1000}, "microseconds") * 1000;
    if (node.type == kCompute) {
      if (operands.empty()) into_.unknown("kernels: the node names no tensors; they touch nothing");
      return into_.kernel({.name = node.name, .stream = node.stream, .duration_ns = duration}, std::move(operands));
    }
    if (node.type == kMemoryLoad || node.type == kMemoryStore) {
      using trace::CopyDirection;
      return into_.copy(
          {.direction = node.type == kMemoryLoad ? CopyDirection::HostToDevice : CopyDirection::DeviceToHost,
           .stream = node.stream,
           .bytes = node.bytes},
          std::move(operands));
    }
    const auto kind = node.type == kSend      ? trace::Collective::Send
                      : node.type == kReceive ? trace::Collective::Receive
                                              : collective_of(node.collective);
    if (!kind) return into_.unknown("collectives of a kind that a trace does not have: left out");
    if (node.type != kCollective)
      into_.unknown("sends and receives: the peer's trace is another file; they pass bytes round all replicas");
    into_.collective({.kind = *kind,
                      .communicator = communicator(node.group),
                      .stream = node.stream,
                      .bytes = node.bytes,
                      .duration_ns = duration},
                     std::move(operands));
  }

  // Process groups are counted in the order of their first use.
  std::int64_t communicator(const std::string& group) {
    const auto [found, is_new] = groups_.try_emplace(group, static_cast<std::int64_t>(groups_.size()));
    if (is_new && found->second > 0)
      into_.unknown("process groups after the first: their members are not said; every replica takes part");
    return found->second;
  }

  std::vector<Node> nodes_;
  ImportBuilder& into_;
  std::map<std::int64_t, Life> lives_;  // by storage
  std::map<std::string, std::int64_t> groups_;
};

class ChakraImporter final : public Importer {
 public:
  std::string role(std::string_view head) const override {
    const std::size_t first = head.find_first_not_of(" \t\r\n");
    if (first != head.npos && head[first] == '{')
      return (head.find("_NODE\"") != head.npos || head.find("\"workload_graph\"") != head.npos) &&
                     head.find("\"traceEvents\"") == head.npos
                 ? "json"
                 : "";
    return is_stream(head) ? "protobuf" : "";
  }

  void import(const std::vector<ImportPart>& parts, ImportBuilder& into, trace::ErrorList& errors) const override {
    const std::string& name = parts[0].file->name();
    if (parts.size() != 1) return errors.add(name, "expected the trace of one process");
    trace::Header& header = into.header();
    header.provenance = "Chakra execution trace";
    header.durations = "as recorded, in whole microseconds; of what is not said";
    header.operands_status = "exact";
    try {
      std::vector<Node> nodes;
      if (parts[0].role == "protobuf")
        nodes = read_stream(*parts[0].file);
      else
        nodes = read_objects(*parts[0].file, errors);
      if (std::ranges::all_of(nodes, [](const Node& node) { return node.accesses.empty(); }))
        header.operands_status = "none";
      if (errors.empty()) Conversion(std::move(nodes), into).run();
    } catch (const trace::ParseError& error) {
      errors.add(name, error.message);
    }
  }

 private:
  // Whether the first message is a GlobalMetadata: a version, digits and points, or attributes, whose first field is a
  // name, and nothing else.
  static bool is_stream(std::string_view head) try {
    const char* at = head.data();
    const std::uint64_t length = protozero::decode_varint(&at, head.data() + head.size());
    if (length == 0 || length > static_cast<std::uint64_t>(head.data() + head.size() - at)) return false;
    protozero::pbf_reader metadata(at, length);
    while (metadata.next()) {
      if (metadata.wire_type() != protozero::pbf_wire_type::length_delimited) return false;
      const auto tag = metadata.tag();
      const std::string field = metadata.get_string();
      if (field.empty() || (tag != 1 && tag != 2)) return false;
      if (tag == 2 && field[0] != '\x0a') return false;
      if (tag == 1 && field.find_first_not_of("0123456789.-chakra") != field.npos) return false;
    }
    return true;
  } catch (const protozero::exception&) {
    return false;
  }

  // One object after another, or a list of nodes; what has no type is metadata.
  static std::vector<Node> read_objects(const ImportFile& file, trace::ErrorList& errors) {
    std::vector<Node> nodes;
    JsonValue object;
    object.type = JsonValue::Type::Object;
    const auto finish = [&] {
      if (object.find("type") != nullptr) nodes.push_back(node_of(object));
      object.members.clear();
    };
    read_json(
        file, errors,
        [&](const std::string& key, bool in_list, JsonValue& value) {
          if (in_list && key == "workload_graph") {
            nodes.push_back(graph_node_of(value));
            return;
          }
          if (in_list && value.type == JsonValue::Type::Object && value.find("type") != nullptr) {
            nodes.push_back(node_of(value));
            return;
          }
          if (in_list) {
            if (object.members.empty() || object.members.back().key != key) object.members.push_back({key, {}});
            object.members.back().value.type = JsonValue::Type::Array;
            object.members.back().value.items.push_back(std::move(value));
            return;
          }
          if (object.find(key) != nullptr) finish();  // the next object
          object.members.push_back({key, std::move(value)});
        },
        true);
    finish();
    return nodes;
  }
};

const bool kRegistered =
    add_plug_in<Importer, ChakraImporter>({.name = "chakra",
                                           .summary = "MLCommons Chakra execution traces, protobuf or JSON",
                                           .source = "mlcommons/chakra schema/protobuf/et_def.proto"});

}  // namespace
}  // namespace uvmsim
