#include <algorithm>
#include <bit>
#include <map>

#include "report/timeline.h"
#include "report/timeline_layout.h"

namespace uvmsim {
namespace {

// Field numbers of perfetto/protos: trace_packet.proto, track_descriptor.proto,
// counter_descriptor.proto, track_event.proto, debug_annotation.proto, interned_data.proto.
namespace trace {
constexpr int kPacket = 1;
}
namespace packet {
constexpr int kTimestamp = 8, kSequence = 10, kTrackEvent = 11, kInterned = 12, kFlags = 13, kDescriptor = 60;
constexpr std::uint64_t kStateCleared = 1, kNeedsState = 2;
}  // namespace packet
namespace descriptor {
constexpr int kUuid = 1, kName = 2, kParent = 5, kCounter = 8, kChildOrdering = 11, kRank = 12;
constexpr int kUnit = 3, kUnitName = 6;      // CounterDescriptor
constexpr std::uint64_t kBytes = 3;          // CounterDescriptor.Unit UNIT_SIZE_BYTES
constexpr std::uint64_t kExplicitOrder = 3;  // ChildTracksOrdering EXPLICIT
}  // namespace descriptor
namespace event {
constexpr int kAnnotation = 4, kType = 9, kNameId = 10, kTrack = 11, kCounterValue = 44, kFlow = 47, kFlowEnds = 48;
constexpr std::uint64_t kBegin = 1, kEnd = 2, kInstant = 3, kCounter = 4;
constexpr int kAnnotationInt = 4, kAnnotationName = 10;
}  // namespace event
namespace interned {
constexpr int kEventName = 2, kId = 1, kText = 2;
}

// One protobuf message being written.
class Message {
 public:
  Message& varint(int field, std::uint64_t value) {
    key(field, 0);
    raw(value);
    return *this;
  }
  Message& fixed64(int field, std::uint64_t value) {
    key(field, 1);
    for (int i = 0; i < 8; ++i) bytes_ += static_cast<char>(value >> (8 * i) & 0xff);
    return *this;
  }
  Message& number(int field, double value) { return fixed64(field, std::bit_cast<std::uint64_t>(value)); }
  Message& text(int field, std::string_view value) {
    key(field, 2);
    raw(value.size());
    bytes_ += value;
    return *this;
  }
  Message& message(int field, const Message& value) { return text(field, value.bytes_); }
  const std::string& bytes() const { return bytes_; }
  void clear() { bytes_.clear(); }

 private:
  void key(int field, int type) { raw(static_cast<std::uint64_t>(field) << 3 | static_cast<std::uint64_t>(type)); }
  void raw(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

constexpr std::size_t kPiece = 1 << 16;
constexpr std::size_t kCounterValues = 4096;
constexpr std::uint64_t kSequenceId = 1;

class PerfettoWriter {
 public:
  PerfettoWriter(const Timeline& timeline, const TextSink& sink) : timeline_(timeline), sink_(sink) {}

  void write() {
    first_packet();
    std::uint64_t rank = 0;
    for (const TimelineGroup& group : timeline_groups(timeline_)) {
      const std::uint64_t parent = ++uuid_;
      write_group(parent, ++rank, group.name);
      std::uint64_t row_rank = 0;
      for (const TimelineCounter* counter : group.counters) write_counter(parent, ++row_rank, *counter);
      if (!group.marks.empty()) write_marks(parent, ++row_rank, group.marks);
      for (const TimelineRow* row : group.rows) write_row(parent, ++row_rank, *row);
    }
    sink_(out_.bytes());
  }

 private:
  void first_packet() {
    Message p;
    p.varint(packet::kSequence, kSequenceId).varint(packet::kFlags, packet::kStateCleared);
    put(p);
  }

  void put(const Message& p) {
    out_.message(trace::kPacket, p);
    if (out_.bytes().size() < kPiece) return;
    sink_(out_.bytes());
    out_.clear();
  }

  void put_descriptor(const Message& d) {
    Message p;
    p.varint(packet::kSequence, kSequenceId).message(packet::kDescriptor, d);
    put(p);
  }

  // A plain track, not that of a process: a viewer would order the rows of a process by name.
  void write_group(std::uint64_t uuid, std::uint64_t rank, const std::string& name) {
    Message d;
    d.varint(descriptor::kUuid, uuid)
        .text(descriptor::kName, name)
        .varint(descriptor::kChildOrdering, descriptor::kExplicitOrder)
        .varint(descriptor::kRank, rank);
    put_descriptor(d);
  }

  std::uint64_t begin_track(std::uint64_t parent, std::uint64_t rank, const std::string& name, const Message* counter) {
    Message d;
    d.varint(descriptor::kUuid, ++uuid_)
        .text(descriptor::kName, name)
        .varint(descriptor::kParent, parent)
        .varint(descriptor::kRank, rank);
    if (counter != nullptr) d.message(descriptor::kCounter, *counter);
    put_descriptor(d);
    return uuid_;
  }

  // One event; an instant's or slice's name is written once and referred to.
  void put_event(Time at, Message& e, const std::string* name) {
    Message p;
    p.varint(packet::kTimestamp, static_cast<std::uint64_t>(at.count() / 1000)).varint(packet::kSequence, kSequenceId);
    if (name != nullptr) {
      const auto [it, is_new] = names_.emplace(*name, names_.size() + 1);
      if (is_new) {
        Message entry, data;
        entry.varint(interned::kId, it->second).text(interned::kText, *name);
        data.message(interned::kEventName, entry);
        p.message(packet::kInterned, data);
      }
      e.varint(event::kNameId, it->second);
    }
    p.varint(packet::kFlags, packet::kNeedsState).message(packet::kTrackEvent, e);
    put(p);
  }

  void write_row(std::uint64_t parent, std::uint64_t rank, const TimelineRow& row) {
    const std::uint64_t track = begin_track(parent, rank, row.name, nullptr);
    for (const TimelineSlice& slice : row.slices) {
      Message begin, end;
      begin.varint(event::kType, event::kBegin).varint(event::kTrack, track);
      annotate(begin, "bytes", slice.bytes, slice.bytes > 0);
      annotate(begin, "batch", slice.batch, slice.batch > 0);
      annotate(begin, "merged", slice.count, slice.count > 1);
      annotate(begin, "busy_ns", slice.busy.count() / 1000, slice.count > 1);
      flow(begin, slice);
      const std::string name = slice_name(timeline_, slice);
      put_event(slice.begin, begin, &name);
      end.varint(event::kType, event::kEnd).varint(event::kTrack, track);
      put_event(slice.end, end, nullptr);
    }
  }

  static void annotate(Message& e, const char* name, std::int64_t value, bool is_there) {
    if (!is_there) return;
    Message annotation;
    annotation.varint(event::kAnnotationInt, static_cast<std::uint64_t>(value)).text(event::kAnnotationName, name);
    e.message(event::kAnnotation, annotation);
  }

  static void flow(Message& e, const TimelineSlice& slice) {
    using Part = TimelineSlice::Part;
    if (slice.batch == 0 || slice.part == Part::Copies || slice.part == Part::Eviction) return;
    e.fixed64(slice.part == Part::Replay ? event::kFlowEnds : event::kFlow, static_cast<std::uint64_t>(slice.batch));
  }

  void write_marks(std::uint64_t parent, std::uint64_t rank, const std::vector<const TimelineMark*>& marks) {
    const std::uint64_t track = begin_track(parent, rank, "iterations", nullptr);
    for (const TimelineMark* mark : marks) {
      Message e;
      e.varint(event::kType, event::kInstant).varint(event::kTrack, track);
      put_event(mark->at, e, &mark->text);
    }
  }

  void write_counter(std::uint64_t parent, std::uint64_t rank, const TimelineCounter& counter) {
    Message unit;
    if (counter.unit == "B")
      unit.varint(descriptor::kUnit, descriptor::kBytes);
    else
      unit.text(descriptor::kUnitName, counter.unit);
    const std::uint64_t track = begin_track(parent, rank, counter.name, &unit);
    for (const CounterValue& value : counter_values(counter, timeline_.end(), kCounterValues)) {
      Message e;
      e.varint(event::kType, event::kCounter).varint(event::kTrack, track).number(event::kCounterValue, value.value);
      put_event(value.at, e, nullptr);
    }
  }

  const Timeline& timeline_;
  const TextSink& sink_;
  Message out_;
  std::uint64_t uuid_ = 0;
  std::map<std::string, std::uint64_t> names_;
};

}  // namespace

void write_perfetto(const Timeline& timeline, const TextSink& sink) { PerfettoWriter(timeline, sink).write(); }

}  // namespace uvmsim
