#include "importers/kineto_events.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>

#include "base/lower_case.h"
#include "importers/json_stream.h"
#include "importers/nccl.h"
#include "importers/text_fields.h"

namespace uvmsim {
namespace {

using Call = KinetoCall::Kind;

// Bytes of an element by the names that Kineto gives types, and c10d ("BFloat16"); 0: no tensor.
std::int64_t element_bytes(std::string_view type) {
  static const std::map<std::string, std::int64_t, std::less<>> sizes = {{"float", 4},
                                                                         {"double", 8},
                                                                         {"long", 8},
                                                                         {"long int", 8},
                                                                         {"int", 4},
                                                                         {"short", 2},
                                                                         {"short int", 2},
                                                                         {"char", 1},
                                                                         {"signed char", 1},
                                                                         {"unsigned char", 1},
                                                                         {"byte", 1},
                                                                         {"bool", 1},
                                                                         {"half", 2},
                                                                         {"bfloat16", 2},
                                                                         {"float8_e4m3fn", 1},
                                                                         {"float8_e5m2", 1},
                                                                         {"complex<float>", 8},
                                                                         {"complex<double>", 16}};
  if (const auto found = sizes.find(type); found != sizes.end()) return found->second;
  if (type.starts_with("c10::")) type.remove_prefix(5);
  const auto found = sizes.find(lower_case(type));
  return found == sizes.end() ? 0 : found->second;
}

// The product of a list of numbers; 0 when it is none, negative or too large.
std::int64_t product(const JsonValue& list, std::int64_t element) {
  auto all = static_cast<double>(element);
  for (const JsonValue& one : list.items) {
    if (one.type != JsonValue::Type::Integer || one.integer < 0) return 0;
    all *= static_cast<double>(one.integer);
  }
  return all <= static_cast<double>(trace::kMostBytes) ? static_cast<std::int64_t>(all) : 0;
}

// All 0 where they are none, negative or too large together.
Extents extents(const JsonValue& list) {
  Extents all = {};
  if (list.items.size() > all.size()) return all;
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i] = i >= list.items.size() ? 1 : std::clamp<std::int64_t>(list.items[i].integer, 0, trace::kMostBytes);
  return product_of(all) <= trace::kMostBytes ? all : Extents{};
}

Call call_kind(const std::string& name) {
  if (name.find("Launch") != std::string::npos) return Call::Launch;
  if (name == "cudaDeviceSynchronize" || name == "cuCtxSynchronize") return Call::Synchronize;
  if (name == "cudaStreamSynchronize" || name == "cuStreamSynchronize") return Call::StreamSynchronize;
  if (name == "cudaEventSynchronize" || name == "cuEventSynchronize") return Call::EventSynchronize;
  if (name == "cudaStreamWaitEvent" || name == "cuStreamWaitEvent") return Call::StreamWait;
  return Call::Other;
}

class Reader {
 public:
  explicit Reader(KinetoEvents& into) : into_(into) {}

  void value(const std::string& key, bool in_list, const JsonValue& value) {
    if (key == "deviceProperties" && in_list) return device(value);
    if (!in_list || (key != "traceEvents" && !key.empty())) return;
    if (value.type != JsonValue::Type::Object) throw trace::ParseError{"expected an event, an object"};
    event(value);
  }

 private:
  void device(const JsonValue& value) {
    const auto id = whole_member(value, "id");
    if (!id) return;
    trace::DeviceInfo info;
    info.name = text_member(value, "name");
    info.memory_bytes =
        std::clamp<std::int64_t>(whole_member(value, "totalGlobalMem").value_or(0), 0, trace::kMostBytes);
    into_.devices[*id] = std::move(info);
  }

  void event(const JsonValue& event) {
    const std::string& category = text_member(event, "cat");
    const std::string& name = text_member(event, "name");
    if (text_member(event, "ph") == "i") {
      if (name == "[memory]") memory(event);
      return;
    }
    if (text_member(event, "ph") != "X") return;
    if (category == "kernel" || category == "gpu_memcpy" || category == "gpu_memset" || category == "Kernel" ||
        category == "Memcpy" || category == "Memset")
      gpu_op(event, category, name);
    else if (category == "cuda_runtime" || category == "cuda_driver" || category == "Runtime")
      call(event, name);
    else if (category == "cpu_op" || category == "Operator")
      op(event, name);
    else if (category == "cuda_sync")
      wait(event);
    else if (category == "user_annotation")
      annotation(event, name);
    else if (category == "python_function" && name.starts_with(kModule))
      into_.ranges.add_module(thread(event), time(event, "ts"), end(event), name.substr(kModule.size()));
  }

  static const JsonValue& arguments(const JsonValue& event) {
    static const JsonValue none;
    const JsonValue* found = event.find("args");
    return found == nullptr ? none : *found;
  }
  static std::int64_t time(const JsonValue& event, const char* key) {
    const auto value = microseconds_member(event, key);
    if (!value)
      throw trace::ParseError{"event \"" + text_member(event, "name").substr(0, 60) + "\": expected \"" + key +
                              "\", microseconds"};
    return *value;
  }
  static std::int64_t end(const JsonValue& event) {
    return time(event, "ts") + std::max<std::int64_t>(0, time(event, "dur"));
  }
  static std::int64_t thread(const JsonValue& event) { return whole_member(event, "tid").value_or(0); }
  // Newer files say "External id", older ones "external id".
  static std::int64_t external(const JsonValue& args) {
    const auto value = whole_member(args, "External id");
    return value ? *value : whole_member(args, "external id").value_or(-1);
  }

  void gpu_op(const JsonValue& event, const std::string& category, const std::string& name) {
    const JsonValue& args = arguments(event);
    KinetoGpuOp op;
    op.start = time(event, "ts");
    op.duration = time(event, "dur");
    op.correlation = whole_member(args, "correlation").value_or(-1);
    op.external = external(args);
    op.device = whole_member(args, "device").value_or(0);
    op.stream = whole_member(args, "stream").value_or(0);
    op.bytes = whole_member(args, "bytes").value_or(0);
    op.registers = whole_member(args, "registers per thread").value_or(0);
    op.shared_memory = whole_member(args, "shared memory").value_or(0);
    if (const JsonValue* grid = args.find("grid")) op.grid = extents(*grid);
    if (const JsonValue* block = args.find("block")) op.block = product(*block, 1);
    op.name = intern(name);
    op.collective = recorded_collective(args);
    if (category.find("emcpy") != std::string::npos) {
      op.kind = KinetoGpuOp::Kind::Copy;
      direction(op, name);
    } else if (category.find("emset") != std::string::npos) {
      op.kind = KinetoGpuOp::Kind::Set;
    }
    into_.gpu_ops.push_back(op);
  }

  // What ParamCommsUtils of PyTorch 2.2 and later writes beside a kernel of NCCL; -1: nothing, or no such collective.
  std::int32_t recorded_collective(const JsonValue& args) {
    const std::string& name = text_member(args, "Collective name");
    const auto kind = name.empty() ? std::nullopt : nccl_collective(name);
    if (!kind) return -1;
    const std::int64_t element = element_bytes(text_member(args, "dtype"));
    KinetoCollective collective{.kind = *kind};
    const auto bytes = [&](const char* key) {
      const std::int64_t elements = whole_member(args, key).value_or(0);
      return element == 0 || elements < 0 || elements > trace::kMostBytes / element ? 0 : elements * element;
    };
    collective.in = bytes("In msg nelems");
    collective.out = bytes("Out msg nelems");
    collective.ranks = whole_member(args, "Group size").value_or(0);
    const std::string& group = text_member(args, "Process Group Name");
    collective.communicator = groups_.try_emplace(group, static_cast<std::int32_t>(groups_.size())).first->second;
    return add(collective);
  }
  std::int32_t add(const KinetoCollective& collective) {
    into_.collectives.push_back(collective);
    return static_cast<std::int32_t>(into_.collectives.size()) - 1;
  }

  void annotation(const JsonValue& event, const std::string& name) {
    if (!name.starts_with("nccl:")) return into_.ranges.add(thread(event), time(event, "ts"), end(event), name);
    const auto kind = nccl_collective(name);
    // What it is given is one rank's part of an all-gather, of how many ranks is not said.
    if (!kind || *kind == trace::Collective::AllGather) return;
    KinetoCollective collective{.kind = *kind};
    each_input(arguments(event),
               [&](std::int64_t bytes) { collective.in = std::min(trace::kMostBytes, collective.in + bytes); });
    into_.nccl_calls.push_back({thread(event), time(event, "ts"), end(event), add(collective)});
  }

  // "Memcpy HtoD (Pageable -> Device)"
  static void direction(KinetoGpuOp& op, const std::string& name) {
    using trace::CopyDirection;
    const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
    op.direction = has("HtoD")   ? CopyDirection::HostToDevice
                   : has("DtoH") ? CopyDirection::DeviceToHost
                                 : CopyDirection::DeviceToDevice;
    op.pinned = !has("Pageable");
  }

  void call(const JsonValue& event, const std::string& name) {
    const JsonValue& args = arguments(event);
    KinetoCall call;
    call.kind = call_kind(name);
    call.start = time(event, "ts");
    call.end = call.start + std::max<std::int64_t>(0, time(event, "dur"));
    call.graph = name.find("GraphLaunch") != std::string::npos;
    call.thread = thread(event);
    call.correlation = whole_member(args, "correlation").value_or(-1);
    into_.calls.push_back(call);
  }

  void wait(const JsonValue& event) {
    const JsonValue& args = arguments(event);
    const auto correlation = whole_member(args, "correlation"), stream = whole_member(args, "stream");
    if (correlation && stream && *stream >= 0) into_.wait_streams[*correlation] = *stream;
  }

  void op(const JsonValue& event, const std::string& name) {
    const JsonValue& args = arguments(event);
    KinetoOp op;
    op.name = intern(name);
    op.external = external(args);
    op.start = time(event, "ts");
    op.end = end(event);
    op.thread = thread(event);
    op.function = whole_member(args, "Record function id").value_or(-1);
    op.first_input = static_cast<std::uint32_t>(into_.input_bytes.size());
    each_input(args, [&](std::int64_t bytes) { into_.input_bytes.push_back(bytes); });
    op.inputs = static_cast<std::uint32_t>(into_.input_bytes.size()) - op.first_input;
    into_.ops.push_back(op);
    into_.ranges.add_operator(op.thread, op.start, op.end, name, whole_member(args, "Sequence number").value_or(-1));
  }

  // The bytes of each tensor that is an input and not empty.
  static void each_input(const JsonValue& args, const std::function<void(std::int64_t)>& on_bytes) {
    const JsonValue *dims = args.find("Input Dims"), *types = args.find("Input type");
    if (types == nullptr) types = args.find("Input Types");
    if (dims == nullptr || types == nullptr) return;
    for (std::size_t i = 0; i < std::min(dims->items.size(), types->items.size()); ++i) {
      const std::int64_t element = element_bytes(types->items[i].text);
      const std::int64_t bytes = element == 0 ? 0 : product(dims->items[i], element);
      if (bytes > 0) on_bytes(bytes);
    }
  }

  void memory(const JsonValue& event) {
    const JsonValue& args = arguments(event);
    if (whole_member(args, "Device Type") != 1) return;  // c10::DeviceType::CUDA
    const auto address = whole_member(args, "Addr"), bytes = whole_member(args, "Bytes");
    if (!address || !bytes) throw trace::ParseError{R"(event "[memory]": expected "Addr" and "Bytes", whole numbers)"};
    into_.memory.push_back({time(event, "ts"), thread(event), *address, *bytes,
                            whole_member(args, "Device Id").value_or(0),
                            whole_member(args, "Total Allocated").value_or(-1)});
  }

  std::int32_t intern(const std::string& name) {
    const auto [found, added] = names_.try_emplace(name, static_cast<std::int32_t>(into_.names.size()));
    if (added) into_.names.push_back(name);
    return found->second;
  }

  KinetoEvents& into_;
  static constexpr std::string_view kModule = "nn.Module: ";

  std::unordered_map<std::string, std::int32_t> names_;
  std::unordered_map<std::string, std::int32_t> groups_;  // of processes
};

// Gives every call the innermost operator that encloses it on its thread.
void find_operators(KinetoEvents& events) {
  std::ranges::sort(events.ops, {},
                    [](const KinetoOp& op) { return std::tuple(op.thread, op.start, -op.end, op.external); });
  std::vector<std::size_t> by_start(events.calls.size());
  std::iota(by_start.begin(), by_start.end(), std::size_t{0});
  std::ranges::sort(by_start, {},
                    [&](std::size_t i) { return std::tuple(events.calls[i].thread, events.calls[i].start, i); });
  std::vector<std::size_t> open;  // the operators that have begun, the innermost last
  std::size_t next = 0;
  for (const std::size_t i : by_start) {
    KinetoCall& call = events.calls[i];
    const auto begun = std::pair(call.thread, call.start);
    for (; next < events.ops.size() && std::pair(events.ops[next].thread, events.ops[next].start) <= begun; ++next)
      open.push_back(next);
    std::erase_if(
        open, [&](std::size_t op) { return events.ops[op].thread != call.thread || events.ops[op].end < call.start; });
    if (!open.empty()) call.op = static_cast<std::int32_t>(open.back());
  }
}

}  // namespace

KinetoEvents read_kineto(const ImportFile& file, trace::ErrorList& errors) {
  KinetoEvents events;
  Reader reader(events);
  read_json(file, errors,
            [&](const std::string& key, bool in_list, JsonValue& value) { reader.value(key, in_list, value); });
  find_operators(events);
  std::ranges::sort(events.nccl_calls, {}, [](const KinetoNcclCall& c) { return std::pair(c.thread, c.start); });
  events.ranges.sort();
  return events;
}

}  // namespace uvmsim
