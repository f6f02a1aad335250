#include "importers/uvmcap_events.h"

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "importers/line_fields.h"
#include "importers/lines.h"
#include "importers/text_fields.h"

namespace uvmsim {
namespace {

using Json = nlohmann::json;
using Kind = CaptureEvent::Kind;

std::uint64_t address(const Json& line, const char* key, std::optional<std::int64_t> standard = std::nullopt) {
  return static_cast<std::uint64_t>(whole(line, key, standard));
}

// The value that `name` has in `names`; an error that says what was expected for others.
template <class T>
T named(const std::string& name, const std::map<std::string, T, std::less<>>& names, const char* what) {
  const auto found = names.find(name);
  if (found == names.end()) expected(what, name);
  return found->second;
}

Extents extents_of(const Json& line, const char* key) {
  Extents extents = {1, 1, 1};
  std::size_t i = 0;
  for (const Json& one : list(line, key)) {
    if (!one.is_number_integer() || i == extents.size())
      throw trace::ParseError{std::string("expected \"") + key + "\", three whole numbers"};
    extents[i++] = one.get<std::int64_t>();
  }
  return extents;
}

class Reader {
 public:
  Reader(Capture& into, bool torch, ImportBuilder& builder, trace::ErrorList& errors, std::string name)
      : into_(into), torch_(torch), builder_(builder), errors_(errors), name_(std::move(name)) {}

  void line(std::string_view bytes, std::int64_t number) {
    if (!cut_.empty()) errors_.add(name_ + ":" + std::to_string(cut_line_), cut_);
    cut_.clear();
    if (trimmed(bytes).empty()) return;
    const Json parsed = Json::parse(bytes.begin(), bytes.end(), nullptr, false);
    if (!parsed.is_object()) {
      cut_ = "expected one JSON object a line";  // an error unless it is the last line
      cut_line_ = number;
      return;
    }
    const std::string kind = text(parsed, "k");
    if (number > 1 && last_seen_) throw trace::ParseError{"expected nothing after the \"end\" line"};
    read(kind, parsed);
  }

  void finish() {
    if (!cut_.empty()) builder_.unknown("last lines: cut off, as of a killed program");
    if (!last_seen_) builder_.unknown("recordings without an end: the program was killed or cut off");
  }

 private:
  void read(const std::string& kind, const Json& l) {
    if (kind == "header") return header(l);
    if (kind == "str") return string(l);
    if (kind == "note") return builder_.unknown("notes: " + text(l, "text"));
    if (kind == "end") {
      last_seen_ = true;
      return;
    }
    if (torch_ ? torch_line(kind, l) : (gpu_line(kind, l) || host_line(kind, l) || file_line(kind, l))) return;
    builder_.unknown("lines of the unknown kind " + in_quotes(kind) + ": left out");
  }

  void header(const Json& l) {
    const char* key = torch_ ? "uvmcap_torch" : "uvmcap";
    if (whole(l, key) != 1) throw trace::ParseError{std::string("expected version 1 of ") + key};
    if (!torch_) {
      into_.wall_offset = whole(l, "wall_ns") - whole(l, "clock_ns");
      into_.program = text(l, "exe", false);
      if (text(l, "layouts", false) == "unverified")
        builder_.unknown("recordings: made with record layouts that nobody has checked on a GPU");
      return;
    }
    into_.program = "PyTorch " + text(l, "torch", false);
    into_.injected = whole(l, "injected", 0) != 0;
  }

  void string(const Json& l) {
    if (whole(l, "i") != static_cast<std::int64_t>(into_.strings.size()))
      throw trace::ParseError{"expected string " + std::to_string(into_.strings.size())};
    into_.strings.push_back(text(l, "s"));
  }
  std::int32_t name(const Json& l) const {
    const std::int64_t index = whole(l, "n");
    if (index < 0 || index >= static_cast<std::int64_t>(into_.strings.size()))
      throw trace::ParseError{"string " + std::to_string(index) + " was not given before"};
    return static_cast<std::int32_t>(index);
  }

  bool file_line(const std::string& kind, const Json& l) {
    if (kind == "device") {
      into_.devices.emplace_back(
          whole(l, "dev"),
          trace::DeviceInfo{text(l, "name", false), std::clamp<std::int64_t>(whole(l, "mem", 0), 0, trace::kMostBytes),
                            0, static_cast<double>(std::max<std::int64_t>(0, whole(l, "bw", 0)))});
    } else if (kind == "error") {
      const std::string holder = text(l, "holder", false);
      throw trace::ParseError{"the recording failed: " + text(l, "text") +
                              (holder.empty() ? "" : "; CUPTI is held by " + holder)};
    } else if (kind == "dropped") {
      builder_.unknown("records: lost while recording", std::max<std::int64_t>(1, whole(l, "n")));
    } else if (kind == "limit") {
      builder_.unknown("recordings: cut short by UVMCAP_MAX_MB");
    } else if (kind == "um") {
      builder_.unknown("lines of what the UVM driver did: left out, the simulator makes its own");
    } else if (kind != "stream") {
      return false;
    }
    return true;
  }

  CaptureEvent& add(Kind kind, const Json& l) {
    CaptureEvent event;
    event.kind = kind;
    event.time = l.contains("t") ? whole(l, "t") + into_.wall_offset : last_time_;
    last_time_ = event.time;
    event.end = event.time;
    return into_.events.emplace_back(event);
  }

  bool host_line(const std::string& kind, const Json& l) {
    static const std::map<std::string, Kind, std::less<>> kinds = {
        {"alloc", Kind::Allocate},   {"free", Kind::Free},         {"launch", Kind::Launch},   {"copy", Kind::Copy},
        {"set", Kind::Set},          {"prefetch", Kind::Prefetch}, {"discard", Kind::Discard}, {"advise", Kind::Advise},
        {"sync", Kind::Synchronize}, {"record", Kind::Record},     {"wait", Kind::Wait},       {"graph", Kind::Graph},
        {"mark", Kind::Mark}};
    const auto found = kinds.find(kind);
    if (found == kinds.end()) return false;
    if (whole(l, "rc", 0) != 0) {
      builder_.unknown("calls that failed: left out");
      return true;
    }
    const std::size_t before = into_.events.size();
    try {
      CaptureEvent& event = add(found->second, l);
      event.call = whole(l, "c", -1);
      event.op = whole(l, "op", -1);
      event.stream = whole(l, "st", 0);
      event.device = whole(l, "dev", 0);
      members(event, l);
    } catch (...) {
      into_.events.resize(before);
      throw;
    }
    return true;
  }

  void members(CaptureEvent& event, const Json& l) {
    static const std::map<std::string, trace::Space, std::less<>> spaces = {
        {"device", trace::Space::Device},     {"managed", trace::Space::Managed},
        {"pinned", trace::Space::PinnedHost}, {"registered", trace::Space::PinnedHost},
        {"pool", trace::Space::Device},       {"mapped", trace::Space::Device}};
    static const std::map<std::string, std::int8_t, std::less<>> advices = {
        {"set_read_mostly", std::int8_t{1}},        {"unset_read_mostly", std::int8_t{-1}},
        {"set_preferred_location", std::int8_t{2}}, {"unset_preferred_location", std::int8_t{-2}},
        {"set_accessed_by", std::int8_t{3}},        {"unset_accessed_by", std::int8_t{-3}}};
    using Of = CaptureEvent::Of;
    static const std::map<std::string, Of, std::less<>> ofs = {
        {"device", Of::Device}, {"stream", Of::Stream}, {"event", Of::Event}};
    switch (event.kind) {
      case Kind::Allocate:
        event.bytes = whole(l, "bytes");
        event.space = static_cast<std::int8_t>(named(text(l, "mem"), spaces, "a kind of memory"));
        [[fallthrough]];
      case Kind::Free:
        event.address = address(l, "a");
        return;
      case Kind::Launch:
        event.first = static_cast<std::uint32_t>(into_.pointers.size());
        event.knows_pointers = l.contains("ptr");
        if (event.knows_pointers)
          for (const Json& pointer : list(l, "ptr")) {
            if (!pointer.is_number_unsigned()) throw trace::ParseError{"expected \"ptr\", a list of addresses"};
            into_.pointers.push_back(pointer.get<std::uint64_t>());
          }
        event.count = static_cast<std::uint32_t>(into_.pointers.size()) - event.first;
        return;
      case Kind::Copy:
        event.address = address(l, "dst");
        event.source = address(l, "src");
        event.bytes = whole(l, "bytes");
        return;
      case Kind::Set:
        event.address = address(l, "dst");
        event.bytes = whole(l, "bytes");
        return;
      case Kind::Advise:
        event.advice = named(text(l, "advice"), advices, "an advice");
        [[fallthrough]];
      case Kind::Prefetch:
      case Kind::Discard:
        event.address = address(l, "a");
        event.bytes = whole(l, "bytes");
        event.to = whole(l, "to", event.kind == Kind::Discard ? -2 : 0);  // -2: it does not prefetch, too
        return;
      case Kind::Synchronize:
        event.of = named(text(l, "of"), ofs, "device, stream or event");
        event.end = whole(l, "e", event.time - into_.wall_offset) + into_.wall_offset;
        event.event = whole(l, "ev", 0);
        return;
      case Kind::Record:
      case Kind::Wait:
        event.event = whole(l, "ev");
        return;
      case Kind::Mark:
        marks_.push_back(text(l, "text"));
        event.name = -static_cast<std::int32_t>(marks_.size()) - 1;
        return;
      default:
        return;
    }
  }

  bool gpu_line(const std::string& kind, const Json& l) {
    CaptureWork work;
    if (kind == "kernel") {
      work.name = name(l);
      work.grid = extents_of(l, "grid");
      work.block = product_of(extents_of(l, "blk"));
      work.registers = whole(l, "regs", 0);
      work.shared_memory = whole(l, "smem", 0);
    } else if (kind == "memcpy") {
      copied(work, l);
    } else if (kind == "memset") {
      work.kind = CaptureWork::Kind::Set;
      work.bytes = whole(l, "bytes");
    } else {
      return false;
    }
    work.device = whole(l, "dev", 0);
    work.stream = whole(l, "st", 0);
    work.start = whole(l, "s") + into_.wall_offset;
    work.duration = whole(l, "e") - whole(l, "s");
    const std::int64_t call = whole(l, "c");
    auto& of_call = into_.work[call];
    if (of_call.empty()) into_.calls_with_work.push_back(call);
    of_call.push_back(work);
    return true;
  }

  static void copied(CaptureWork& work, const Json& l) {
    using trace::CopyDirection;
    static const std::map<std::string, CopyDirection, std::less<>> directions = {
        {"h2d", CopyDirection::HostToDevice},   {"h2a", CopyDirection::HostToDevice},
        {"d2h", CopyDirection::DeviceToHost},   {"a2h", CopyDirection::DeviceToHost},
        {"d2d", CopyDirection::DeviceToDevice}, {"a2a", CopyDirection::DeviceToDevice},
        {"a2d", CopyDirection::DeviceToDevice}, {"d2a", CopyDirection::DeviceToDevice},
        {"p2p", CopyDirection::PeerToPeer},     {"h2h", CopyDirection::Memset},
        {"unknown", CopyDirection::Memset}};
    work.kind = CaptureWork::Kind::Copy;
    work.direction = named(text(l, "kind"), directions, "a kind of copy");
    work.bytes = whole(l, "bytes");
    work.pinned = text(l, "src", false) != "pageable" && text(l, "dst", false) != "pageable";
    work.asynchronous = whole(l, "async", 0) != 0;
    work.peer = whole(l, "peer", -1);
    if (work.direction == CopyDirection::PeerToPeer && work.peer < 0) work.direction = CopyDirection::DeviceToDevice;
  }

  bool torch_line(const std::string& kind, const Json& l) {
    if (kind == "tensor") {
      const std::int64_t id = whole(l, "id"), bytes = whole(l, "bytes");
      const std::int64_t device = l.contains("dev") && l["dev"].is_string() ? -1 : whole(l, "dev");
      const bool old = whole(l, "old", 0) != 0;
      CaptureEvent& event = add(Kind::Tensor, l);
      event.call = id;
      event.bytes = bytes;
      event.device = device;
      event.old = old;
      event.address = address(l, "a", 0);
      tensors_[id] = into_.events.size() - 1;
    } else if (kind == "gone") {
      const std::int64_t id = whole(l, "id");
      add(Kind::Gone, l).call = id;
    } else if (kind == "kind") {
      static const std::map<std::string, TensorKind, std::less<>> kinds = {
          {"parameter", TensorKind::Param},     {"buffer", TensorKind::Param}, {"gradient", TensorKind::WeightGradient},
          {"optimizer", TensorKind::Optimizer}, {"input", TensorKind::Input},  {"activation", TensorKind::Activation},
          {"workspace", TensorKind::Workspace}};
      into_.kinds[whole(l, "id")] = named(text(l, "is"), kinds, "a kind of tensor");
    } else if (kind == "op") {
      op(l);
    } else if (kind == "layer" || kind == "phase") {
      const std::int32_t index = name(l);
      add(kind == "layer" ? Kind::Layer : Kind::Phase, l).name = index;
    } else if (kind == "iteration") {
      add(Kind::Iteration, l);
    } else if (kind == "block") {
      block(l);
    } else if (kind == "shape") {
      return true;  // of no use yet: products and tables are known by their bytes
    } else {
      return false;
    }
    return true;
  }

  void block(const Json& l) {
    const std::string action = text(l, "do");
    if (action != "alloc" && action != "free_requested") return;
    BlockEvent event{whole(l, "t"), whole(l, "dev", 0), address(l, "a"), whole(l, "bytes"), action == "alloc"};
    blocks_.push_back(event);
  }

  void op(const Json& l) {
    const auto first = static_cast<std::uint32_t>(into_.ranges.size());
    const std::int64_t id = whole(l, "id"), end = whole(l, "e");
    const std::int32_t called = name(l);
    ranges(list(l, "r"), trace::Mode::Read);
    ranges(list(l, "w"), trace::Mode::Write);
    CaptureEvent& event = add(Kind::Operator, l);
    made(first, event.time);
    event.call = id;
    event.name = called;
    event.end = end;
    last_time_ = end;  // lines without a time, such as iterations, come after the operator before them
    event.first = first;
    event.count = static_cast<std::uint32_t>(into_.ranges.size()) - first;
  }

  // Results are seen when their operator has returned, but were made before its kernels were launched.
  void made(std::uint32_t first_range, std::int64_t begin) {
    for (std::size_t i = first_range; i < into_.ranges.size(); ++i) {
      const auto found = tensors_.find(into_.ranges[i].tensor);
      if (found == tensors_.end()) continue;
      std::int64_t& time = into_.events[found->second].time;
      time = std::min(time, begin);
    }
  }

  void ranges(const Json& all, trace::Mode mode) {
    for (const Json& one : all) {
      if (!one.is_array() || one.size() != 3 ||
          !std::all_of(one.begin(), one.end(), [](const Json& n) { return n.is_number_integer(); }))
        throw trace::ParseError{"expected ranges [tensor, offset, length]"};
      into_.ranges.push_back(
          {one[0].get<std::int64_t>(), one[1].get<std::int64_t>(), one[2].get<std::int64_t>(), mode});
    }
  }

 public:
  // Marks have no string lines of their own; their texts follow the strings.
  void number_marks() {
    const auto first = static_cast<std::int32_t>(into_.strings.size());
    for (CaptureEvent& event : into_.events)
      if (event.name < -1) event.name = first - event.name - 2;
    into_.strings.insert(into_.strings.end(), marks_.begin(), marks_.end());
  }

  // Blocks of PyTorch's allocator in which no tensor was seen are what operators and libraries needed for themselves.
  void add_workspaces() {
    std::map<Place, std::vector<std::int64_t>> seen;  // when
    for (const CaptureEvent& event : into_.events)
      if (event.kind == Kind::Tensor) seen[{event.device, event.address}].push_back(event.end);
    const auto holds_tensor = [&](const Place& place, std::int64_t since, std::int64_t until) {
      return std::ranges::any_of(seen[place], [&](std::int64_t time) { return time >= since && time <= until; });
    };
    std::map<Place, BlockEvent> taken;
    std::ranges::stable_sort(blocks_, {}, &BlockEvent::time);
    for (const BlockEvent& event : blocks_) {
      const Place place{event.device, event.address};
      if (event.is_allocation) {
        taken[place] = event;
      } else if (const auto block = taken.find(place); block != taken.end()) {
        if (!holds_tensor(place, block->second.time, event.time)) add_workspace(block->second, event.time);
        taken.erase(block);
      }
    }
    for (const auto& [place, block] : taken)
      if (!holds_tensor(place, block.time, std::numeric_limits<std::int64_t>::max()))
        add_workspace(block, std::nullopt);
  }

 private:
  using Place = std::pair<std::int64_t, std::uint64_t>;  // device, address
  struct BlockEvent {
    std::int64_t time = 0, device = 0;
    std::uint64_t address = 0;
    std::int64_t bytes = 0;
    bool is_allocation = false;
  };

  // `end`: when it was given back, if it was.
  void add_workspace(const BlockEvent& block, std::optional<std::int64_t> end) {
    CaptureEvent event;
    event.kind = Kind::Workspace;
    event.time = event.end = block.time;
    event.call = --workspaces_;
    event.device = block.device;
    event.address = block.address;
    event.bytes = block.bytes;
    into_.events.push_back(event);
    if (!end) return;
    event.kind = Kind::Gone;
    event.time = event.end = *end;
    into_.events.push_back(event);
  }

  Capture& into_;
  bool torch_;
  ImportBuilder& builder_;
  trace::ErrorList& errors_;
  std::string name_, cut_;
  std::int64_t cut_line_ = 0, last_time_ = 0;
  bool last_seen_ = false;
  std::vector<std::string> marks_;
  std::vector<BlockEvent> blocks_;
  std::unordered_map<std::int64_t, std::size_t> tensors_;  // by PyTorch's id, into events
  std::int64_t workspaces_ = 0;
};

}  // namespace

Capture read_capture(const ImportFile& file, bool torch, ImportBuilder& into, trace::ErrorList& errors) {
  Capture capture;
  Reader reader(capture, torch, into, errors, file.name());
  each_line(file, errors, [&](std::string_view line, std::int64_t number) { reader.line(line, number); });
  reader.finish();
  reader.number_marks();
  reader.add_workspaces();
  return capture;
}

}  // namespace uvmsim
