// MLCommons Chakra execution traces: the protobuf stream (et_def.proto: a GlobalMetadata, then Nodes, each after its
// length), decoded by hand, and the JSON that Chakra's jsonizer makes of it.
#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
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
  std::int64_t id = 0, type = 0, start_us = 0, duration_us = 0;
  std::string name;
  std::vector<StorageAccess> accesses;
  std::int64_t stream = 0, bytes = 0, collective = -1;
  std::string group;  // of processes
  bool on_cpu = false;

  // Whether it runs on a GPU.
  bool is_work() const { return !on_cpu && type >= kMemoryLoad && type <= kCollective; }
};

// The fields of one protobuf message.
class Message {
 public:
  explicit Message(std::string_view bytes) : rest_(bytes) {}

  // False at the end. Then number() has the field, value() a varint or fixed one, bytes() a delimited one.
  bool next() {
    if (rest_.empty()) return false;
    const std::uint64_t key = varint();
    number_ = key >> 3;
    value_ = 0;
    bytes_ = {};
    switch (key & 7) {
      case 0:
        value_ = varint();
        return true;
      case 1:
        bytes_ = cut(8);
        std::memcpy(&value_, bytes_.data(), 8);
        return true;
      case 2:
        bytes_ = cut(varint());
        return true;
      case 5:
        bytes_ = cut(4);
        std::memcpy(&value_, bytes_.data(), 4);
        return true;
      default:
        throw trace::ParseError{"a node: expected a protobuf field, found wire type " + std::to_string(key & 7)};
    }
  }
  std::uint64_t number() const { return number_; }
  std::int64_t value() const { return static_cast<std::int64_t>(value_); }
  std::string_view bytes() const { return bytes_; }

 private:
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) break;
      const auto byte = static_cast<unsigned char>(rest_[0]);
      rest_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw trace::ParseError{"a node: a number is cut short"};
  }
  std::string_view cut(std::uint64_t count) {
    if (count > rest_.size()) throw trace::ParseError{"a node: a field is longer than its message"};
    const std::string_view part = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return part;
  }

  std::string_view rest_, bytes_;
  std::uint64_t number_ = 0, value_ = 0;
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

void add_attribute(std::string_view bytes, Node& node) {
  Message message(bytes);
  std::string name;
  while (message.next()) {
    if (message.number() == 1) name = message.bytes();
    if (message.number() == 29) set_text(name, message.bytes(), node);
    // 7 to 27: the whole numbers and the bool of the oneof; the signed ones are not used by Chakra's tools.
    if (message.number() >= 7 && message.number() <= 27) set_attribute(name, message.value(), node);
  }
}

Node node_of(std::string_view bytes) {
  Node node;
  Message message(bytes);
  const auto tensors = [&](trace::Mode mode) {
    Message info(message.bytes());
    while (info.next())
      if (info.number() == 1) add_tensors(std::string(info.bytes()), mode, node);
  };
  while (message.next()) {
    switch (message.number()) {
      case 1:
        node.id = message.value();
        break;
      case 2:
        node.name = message.bytes();
        break;
      case 3:
        node.type = message.value();
        break;
      case 6:
        node.start_us = message.value();
        break;
      case 7:
        node.duration_us = message.value();
        break;
      case 8:
        tensors(trace::Mode::Read);
        break;
      case 9:
        tensors(trace::Mode::Write);
        break;
      case 10:
        add_attribute(message.bytes(), node);
        break;
      default:
        break;
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
  node.id = whole_member(object, "id").value_or(0);
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
  node.id = whole_member(object, "Id").value_or(0);
  node.name = text_member(object, "Name");
  node.type = whole_member(object, "NodeType").value_or(0);
  node.duration_us = whole_member(object, "runtime").value_or(0);
  node.bytes = whole_member(object, "comm_size").value_or(0);
  node.collective = whole_member(object, "comm_type").value_or(-1);
  const JsonValue* cpu = object.find("is_cpu_op");
  node.on_cpu = cpu != nullptr && cpu->boolean;
  return node;
}

// Reads the stream of delimited messages.
std::vector<Node> read_stream(const ImportFile& file) {
  const auto source = file.open();
  std::vector<Node> nodes;
  std::int64_t offset = 0;
  const auto byte = [&](unsigned char& into) {
    char one = 0;
    if (source->read(&one, 1) == 0) return false;
    into = static_cast<unsigned char>(one);
    ++offset;
    return true;
  };
  for (bool metadata = true;; metadata = false) {
    const std::int64_t start = offset;
    const auto fail = [&](const std::string& what) -> void {
      throw trace::ParseError{"byte " + std::to_string(start) + ": " + what};
    };
    std::uint64_t length = 0;
    unsigned char one = 0x80;
    for (int shift = 0; one >= 0x80 && shift < 64; shift += 7) {
      if (!byte(one)) {
        if (offset == start) return nodes;
        fail("a message's length is cut short");
      }
      length |= static_cast<std::uint64_t>(one & 0x7f) << shift;
    }
    if (length > kLongestMessage) fail("expected a message of at most 16 MiB");
    std::string message(length, '\0');
    for (std::size_t got = 0; got < length;) {
      const std::size_t count = source->read(message.data() + got, length - got);
      if (count == 0) fail("a message is cut short");
      got += count;
      offset += static_cast<std::int64_t>(count);
    }
    if (metadata) continue;
    try {
      nodes.push_back(node_of(message));
    } catch (const trace::ParseError& error) {
      fail(error.message);
    }
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
  static bool is_stream(std::string_view head) {
    std::uint64_t length = 0;
    std::size_t at = 0;
    for (int shift = 0; at < head.size() && shift < 28; shift += 7) {
      const auto byte = static_cast<unsigned char>(head[at++]);
      length |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    if (length == 0 || at + length > head.size()) return false;
    Message metadata(head.substr(at, length));
    try {
      while (metadata.next()) {
        if (metadata.number() != 1 && metadata.number() != 2) return false;
        const std::string_view field = metadata.bytes();
        if (field.empty()) return false;
        if (metadata.number() == 2 && field[0] != '\x0a') return false;
        if (metadata.number() == 1 && field.find_first_not_of("0123456789.-chakra") != field.npos) return false;
      }
    } catch (const trace::ParseError&) {
      return false;
    }
    return true;
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

const bool registered =
    add_plug_in<Importer, ChakraImporter>({.name = "chakra",
                                           .summary = "MLCommons Chakra execution traces, protobuf or JSON",
                                           .source = "mlcommons/chakra schema/protobuf/et_def.proto"});

}  // namespace
}  // namespace uvmsim
