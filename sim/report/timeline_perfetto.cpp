#include <algorithm>
#include <map>
#include <protozero/pbf_writer.hpp>

#include "report/timeline.h"
#include "report/timeline_layout.h"

namespace uvmsim {
namespace {

// Field numbers of perfetto/protos: trace_packet.proto, track_descriptor.proto,
// counter_descriptor.proto, track_event.proto, debug_annotation.proto, interned_data.proto.
namespace trace {
constexpr protozero::pbf_tag_type kPacket = 1;
}
namespace packet {
constexpr protozero::pbf_tag_type kTimestamp = 8, kSequence = 10, kTrackEvent = 11, kInterned = 12, kFlags = 13,
                                  kDescriptor = 60;
constexpr std::uint64_t kStateCleared = 1, kNeedsState = 2;
}  // namespace packet
namespace descriptor {
constexpr protozero::pbf_tag_type kUuid = 1, kName = 2, kParent = 5, kCounter = 8, kChildOrdering = 11, kRank = 12;
constexpr protozero::pbf_tag_type kUnit = 3, kUnitName = 6;  // CounterDescriptor
constexpr std::uint64_t kBytes = 3;                          // CounterDescriptor.Unit UNIT_SIZE_BYTES
constexpr std::uint64_t kExplicitOrder = 3;                  // ChildTracksOrdering EXPLICIT
}  // namespace descriptor
namespace event {
constexpr protozero::pbf_tag_type kAnnotation = 4, kType = 9, kNameId = 10, kTrack = 11, kCounterValue = 44, kFlow = 47,
                                  kFlowEnds = 48;
constexpr std::uint64_t kBegin = 1, kEnd = 2, kInstant = 3, kCounter = 4;
constexpr protozero::pbf_tag_type kAnnotationInt = 4, kAnnotationName = 10;
}  // namespace event
namespace interned {
constexpr protozero::pbf_tag_type kEventName = 2, kId = 1, kText = 2;
}

using Message = protozero::pbf_writer;

constexpr std::size_t kPiece = 1 << 16;
constexpr std::size_t kCounterValues = 4096;
constexpr std::uint64_t kSequenceId = 1;

class PerfettoWriter {
 public:
  PerfettoWriter(const Timeline& timeline, const TextSink& sink) : timeline_(timeline), sink_(sink) {}

  void write() {
    put([](Message& p) { p.add_uint64(packet::kFlags, packet::kStateCleared); });
    std::uint64_t rank = 0;
    for (const TimelineGroup& group : timeline_groups(timeline_)) {
      const std::uint64_t parent = write_group(++rank, group.name);
      std::uint64_t row_rank = 0;
      for (const TimelineCounter* counter : group.counters) write_counter(parent, ++row_rank, *counter);
      if (!group.marks.empty()) write_marks(parent, ++row_rank, group.marks);
      for (const TimelineRow* row : group.rows) write_row(parent, ++row_rank, *row);
    }
    sink_(out_);
  }

 private:
  // A packet; `fill` writes what is particular to it.
  template <class Fill>
  void put(const Fill& fill) {
    {
      Message p(trace_, trace::kPacket);
      p.add_uint64(packet::kSequence, kSequenceId);
      fill(p);
    }
    if (out_.size() < kPiece) return;
    sink_(out_);
    out_.clear();
  }

  // Returns the uuid of the track.
  template <class Fill>
  std::uint64_t put_track(std::uint64_t rank, const std::string& name, const Fill& fill) {
    put([&](Message& p) {
      Message d(p, packet::kDescriptor);
      d.add_uint64(descriptor::kUuid, ++uuid_);
      d.add_string(descriptor::kName, name);
      d.add_uint64(descriptor::kRank, rank);
      fill(d);
    });
    return uuid_;
  }

  // A plain track, not that of a process: a viewer would order the rows of a process by name.
  std::uint64_t write_group(std::uint64_t rank, const std::string& name) {
    return put_track(rank, name,
                     [](Message& d) { d.add_uint64(descriptor::kChildOrdering, descriptor::kExplicitOrder); });
  }

  std::uint64_t put_row(std::uint64_t parent, std::uint64_t rank, const std::string& name) {
    return put_track(rank, name, [&](Message& d) { d.add_uint64(descriptor::kParent, parent); });
  }

  template <class Fill>
  void put_event(Time at, std::uint64_t type, std::uint64_t track, const Fill& fill) {
    put([&](Message& p) {
      p.add_uint64(packet::kTimestamp, static_cast<std::uint64_t>(at.count() / 1000));
      p.add_uint64(packet::kFlags, packet::kNeedsState);
      Message e(p, packet::kTrackEvent);
      e.add_uint64(event::kType, type);
      e.add_uint64(event::kTrack, track);
      fill(e);
    });
  }

  // What an event's name is referred to by; written when it is used first.
  std::uint64_t name_id(const std::string& name) {
    const auto [it, is_new] = names_.emplace(name, names_.size() + 1);
    const std::uint64_t id = it->second;
    if (is_new)
      put([&](Message& p) {
        p.add_uint64(packet::kFlags, packet::kNeedsState);
        Message data(p, packet::kInterned);
        Message entry(data, interned::kEventName);
        entry.add_uint64(interned::kId, id);
        entry.add_string(interned::kText, name);
      });
    return id;
  }

  void write_row(std::uint64_t parent, std::uint64_t rank, const TimelineRow& row) {
    const std::uint64_t track = put_row(parent, rank, row.name);
    for (const TimelineSlice& slice : row.slices) {
      const std::uint64_t name = name_id(slice_name(timeline_, slice));
      put_event(slice.begin, event::kBegin, track, [&](Message& e) {
        e.add_uint64(event::kNameId, name);
        annotate(e, "bytes", slice.bytes, slice.bytes > 0);
        annotate(e, "batch", slice.batch, slice.batch > 0);
        annotate(e, "merged", slice.count, slice.count > 1);
        annotate(e, "busy_ns", slice.busy.count() / 1000, slice.count > 1);
        flow(e, slice);
      });
      put_event(slice.end, event::kEnd, track, [](Message&) {});
    }
  }

  static void annotate(Message& e, const char* name, std::int64_t value, bool is_there) {
    if (!is_there) return;
    Message annotation(e, event::kAnnotation);
    annotation.add_int64(event::kAnnotationInt, value);
    annotation.add_string(event::kAnnotationName, name);
  }

  static void flow(Message& e, const TimelineSlice& slice) {
    using Part = TimelineSlice::Part;
    if (slice.batch == 0 || slice.part == Part::Copies || slice.part == Part::Eviction) return;
    e.add_fixed64(slice.part == Part::Replay ? event::kFlowEnds : event::kFlow,
                  static_cast<std::uint64_t>(slice.batch));
  }

  void write_marks(std::uint64_t parent, std::uint64_t rank, const std::vector<const TimelineMark*>& marks) {
    const std::uint64_t track = put_row(parent, rank, "iterations");
    for (const TimelineMark* mark : marks) {
      const std::uint64_t name = name_id(mark->text);
      put_event(mark->at, event::kInstant, track, [&](Message& e) { e.add_uint64(event::kNameId, name); });
    }
  }

  void write_counter(std::uint64_t parent, std::uint64_t rank, const TimelineCounter& counter) {
    const std::uint64_t track = put_track(rank, counter.name, [&](Message& d) {
      d.add_uint64(descriptor::kParent, parent);
      Message unit(d, descriptor::kCounter);
      if (counter.unit == "B")
        unit.add_uint64(descriptor::kUnit, descriptor::kBytes);
      else
        unit.add_string(descriptor::kUnitName, counter.unit);
    });
    for (const CounterValue& value : counter_values(counter, timeline_.end(), kCounterValues))
      put_event(value.at, event::kCounter, track, [&](Message& e) { e.add_double(event::kCounterValue, value.value); });
  }

  const Timeline& timeline_;
  const TextSink& sink_;
  std::string out_;
  Message trace_{out_};
  std::uint64_t uuid_ = 0;
  std::map<std::string, std::uint64_t> names_;
};

}  // namespace

void write_perfetto(const Timeline& timeline, const TextSink& sink) { PerfettoWriter(timeline, sink).write(); }

}  // namespace uvmsim
