// PyTorch's memory snapshots (torch.cuda.memory._dump_snapshot): every allocation and free of the caching allocator,
// from the history that _record_memory_history kept.
#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>

#include "importers/importer.h"
#include "importers/pickle.h"

namespace uvmsim {
namespace {

struct Entry {
  enum class Action : std::uint8_t { Allocate, FreeRequested, FreeCompleted, Other };
  Action action = Action::Other;
  std::uint64_t address = 0;
  std::int64_t bytes = 0, stream = 0;
};

struct Block {
  std::uint64_t address = 0;
  std::int64_t bytes = 0, device = 0, stream = 0;
};

std::int64_t integer(const PickleReader& reader, const PickleValue& dict, const char* key) {
  const PickleValue* value = reader.find(dict, key);
  if (value == nullptr || value->type != PickleValue::Type::Integer)
    throw trace::ParseError{std::string("expected \"") + key + "\", an integer"};
  return value->integer;
}

// The dicts of a snapshot, as they are completed: entries of the history, and blocks of segments.
class Snapshot {
 public:
  explicit Snapshot(ImportBuilder& into) : into_(into) {}

  bool take(const PickleReader& reader, const PickleValue& dict) {
    if (const PickleValue* action = reader.find(dict, "action"); action != nullptr) {
      entry(reader, dict, *action);
      return true;
    }
    return reader.find(dict, "filename") != nullptr;  // a frame of a call stack
  }

  // `root` is the whole snapshot, its entries taken.
  void finish(const PickleReader& reader, const PickleValue& root) {
    const PickleValue* segments = reader.find(root, "segments");
    const PickleValue* traces = reader.find(root, "device_traces");
    if (segments == nullptr || segments->type != PickleValue::Type::List)
      throw trace::ParseError{"expected a dict with the list \"segments\": a memory snapshot"};
    std::vector<std::size_t> per_device;
    if (traces != nullptr && traces->type == PickleValue::Type::List)
      for (const PickleValue& one : reader.items(*traces))
        per_device.push_back(one.type == PickleValue::Type::List ? reader.items(one).size() : 0);
    std::vector<Block> blocks;
    for (const PickleValue& segment : reader.items(*segments)) add_blocks(reader, segment, blocks);
    put(per_device, blocks);
    into_.unknown("driver allocations of the snapshot: left out, the simulator runs its own allocator",
                  static_cast<std::int64_t>(reader.items(*segments).size()));
  }

 private:
  void entry(const PickleReader& reader, const PickleValue& dict, const PickleValue& action) {
    if (action.type != PickleValue::Type::Text) throw trace::ParseError{"expected \"action\", a string"};
    const std::string& name = reader.text(action);
    Entry made;
    if (name == "alloc")
      made.action = Entry::Action::Allocate;
    else if (name == "free_requested")
      made.action = Entry::Action::FreeRequested;
    else if (name == "free_completed")
      made.action = Entry::Action::FreeCompleted;
    else if (name == "oom")
      into_.unknown("allocations that failed: left out");
    if (made.action != Entry::Action::Other) {
      made.address = static_cast<std::uint64_t>(integer(reader, dict, "addr"));
      made.bytes = checked(integer(reader, dict, "size"), {1, trace::kMostBytes}, "an allocation's bytes");
      made.stream = integer(reader, dict, "stream");
    }
    entries_.push_back(made);
  }

  static void add_blocks(const PickleReader& reader, const PickleValue& segment, std::vector<Block>& blocks) {
    const PickleValue* list = reader.find(segment, "blocks");
    if (list == nullptr || list->type != PickleValue::Type::List)
      throw trace::ParseError{"expected segments with the list \"blocks\""};
    Block block;
    block.address = static_cast<std::uint64_t>(integer(reader, segment, "address"));
    block.device = integer(reader, segment, "device");
    block.stream = integer(reader, segment, "stream");
    for (const PickleValue& one : reader.items(*list)) {
      block.bytes = checked(integer(reader, one, "size"), {0, trace::kMostBytes}, "a block's bytes");
      const PickleValue* address = reader.find(one, "address");  // newer ones
      if (address != nullptr && address->type == PickleValue::Type::Integer)
        block.address = static_cast<std::uint64_t>(address->integer);
      const PickleValue* state = reader.find(one, "state");
      if (state == nullptr || state->type != PickleValue::Type::Text)
        throw trace::ParseError{"expected blocks with \"state\", a string"};
      const std::int64_t rounded = block.bytes;
      // "size" is rounded up by the allocator; the history counts what was asked for.
      const PickleValue* requested = reader.find(one, "requested_size");
      if (requested != nullptr && requested->type == PickleValue::Type::Integer && requested->integer > 0)
        block.bytes = std::min(block.bytes, requested->integer);
      if (reader.text(*state) == "active_allocated") blocks.push_back(block);
      block.address += static_cast<std::uint64_t>(rounded);
    }
  }

  // History is kept in a ring: what is freed or held at the end without having been allocated was there before.
  void put(const std::vector<std::size_t>& per_device, const std::vector<Block>& blocks) {
    std::size_t first = 0;
    for (std::size_t device = 0; device < per_device.size(); ++device) {
      const std::size_t count = std::min(per_device[device], entries_.size() - first);
      put_device(static_cast<std::int64_t>(device), first, count, blocks);
      first += count;
    }
    if (first != entries_.size()) throw trace::ParseError{"expected all entries in \"device_traces\""};
    if (entries_.empty())
      for (const Block& block : blocks) held_before(block);
  }

  void held_before(const Block& block) {
    into_.unknown("tensors: allocated before the history began");
    into_.allocate_at(block.address, block.bytes, {.device = block.device, .stream = block.stream});
  }

  void put_device(std::int64_t device, std::size_t first, std::size_t count, const std::vector<Block>& blocks) {
    std::unordered_map<std::uint64_t, bool> live;  // by address: allocated in the history
    std::map<std::uint64_t, Block> before;
    for (std::size_t i = first; i < first + count; ++i) {
      const Entry& entry = entries_[i];
      if (entry.action == Entry::Action::Allocate) live[entry.address] = true;
      if (entry.action != Entry::Action::FreeRequested && entry.action != Entry::Action::FreeCompleted) continue;
      const auto [found, added] = live.try_emplace(entry.address, false);
      if (added) before[entry.address] = {entry.address, entry.bytes, device, entry.stream};
      found->second = false;
    }
    for (const Block& block : blocks)
      if (block.device == device && block.bytes > 0 && !live.contains(block.address)) before[block.address] = block;
    for (const auto& [address, block] : before) held_before(block);
    for (std::size_t i = first; i < first + count; ++i) {
      const Entry& entry = entries_[i];
      if (entry.action == Entry::Action::Allocate)
        into_.allocate_at(entry.address, entry.bytes, {.device = device, .stream = entry.stream});
      // The program frees when it asks to; completion follows, for the same block.
      if (entry.action == Entry::Action::FreeRequested || entry.action == Entry::Action::FreeCompleted)
        into_.free_at(entry.address);
    }
  }

  ImportBuilder& into_;
  std::vector<Entry> entries_;  // of all devices, one after the other
};

class SnapshotImporter final : public Importer {
 public:
  std::string role(std::string_view head) const override {
    // A dict, pickled with protocol 2 to 5, that names its segments early on.
    return head.size() > 2 && head[0] == '\x80' && head.find("segments") != head.npos ? "snapshot" : "";
  }

  void import(const std::vector<ImportPart>& parts, ImportBuilder& into, trace::ErrorList& errors) const override {
    const std::string& name = parts[0].file->name();
    if (parts.size() != 1) return errors.add(name, "expected one snapshot");
    into.header().provenance = "PyTorch memory snapshot";
    into.header().durations = "none: the snapshot has no kernels";
    const auto source = parts[0].file->open();
    Snapshot snapshot(into);
    PickleReader reader(*source,
                        [&](const PickleReader& r, const PickleValue& dict) { return snapshot.take(r, dict); });
    try {
      snapshot.finish(reader, reader.read());
    } catch (const trace::ParseError& error) {
      errors.add(name, error.message);
    }
  }
};

const bool kRegistered = add_plug_in<Importer, SnapshotImporter>(
    {.name = "torch_snapshot",
     .summary = "allocations and frees of PyTorch, from a memory snapshot",
     .source = "torch.cuda.memory._dump_snapshot, torch/csrc/cuda/memory_snapshot.cpp"});

}  // namespace
}  // namespace uvmsim
