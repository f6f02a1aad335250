#include "report/timeline.h"

#include <bit>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>
#include <protozero/pbf_reader.hpp>
#include <set>
#include <string>
#include <vector>

namespace uvmsim {
namespace {

constexpr Time us(std::int64_t t) { return nanoseconds(1000 * t); }

// One kernel of 100 us with one fault batch: the CPU 10..20 us, two copies 20..30 and 30..45 us, replay 45..50 us.
void record(Timeline& timeline) {
  timeline.stream_opened({.stream = 0, .gpu = GpuIndex{0}, .process = 0, .name = "stream 0"});
  timeline.link_opened({.link = 0, .name = "pcie0 down", .bandwidth = BytesPerSecond{1'000'000'000}});
  timeline.iteration(GpuIndex{0}, 0, us(0));
  const PageNumber pages[] = {PageNumber{1}, PageNumber{2}, PageNumber{3}};
  timeline.copy({.to_device = true, .begin = us(20), .end = us(30), .bytes = Bytes{8192}, .batch = 7});
  timeline.copy({.to_device = true, .begin = us(30), .end = us(45), .bytes = Bytes{4096}, .batch = 7});
  timeline.transfer({.link = 0, .begin = us(20), .end = us(30), .bytes = Bytes{8192}});
  timeline.link_busy(0, us(20), us(30));
  timeline.fault_batch(
      {.batch = 7, .begin = us(10), .serviced = us(20), .copied = us(45), .replayed = us(50), .pages = pages});
  timeline.resident(GpuIndex{0}, us(45), Bytes{12288});
  timeline.kernel({.begin = us(0), .end = us(100), .name = "k<\"float\">", .time = {}});
}

std::string written(void (*write)(const Timeline&, const TextSink&)) {
  Timeline timeline({});
  record(timeline);
  std::string text;
  write(timeline, [&](std::string_view piece) { text += piece; });
  return text;
}

// --- Trace Event Format

TEST(ChromeTimeline, SlicesOfOneRowDoNotOverlapAndAddUp) {
  const auto json = nlohmann::json::parse(written(write_chrome_json));
  std::map<std::pair<int, int>, double> end;
  double bytes = 0, copied = 0;
  int slices = 0;
  for (const auto& event : json["traceEvents"]) {
    if (event["ph"] != "X") continue;
    ++slices;
    double& row_end = end[{event["pid"], event["tid"]}];
    EXPECT_GE(event["ts"].get<double>(), row_end - 1e-9);
    row_end = event["ts"].get<double>() + event["dur"].get<double>();
    if (event["name"] != "copy in") continue;
    bytes += event["args"]["bytes"].get<double>();
    copied += event["dur"].get<double>();
  }
  EXPECT_EQ(slices, 7);  // kernel, batch in three parts, two copies, a busy link
  EXPECT_EQ(bytes, 8192 + 4096);
  EXPECT_DOUBLE_EQ(copied, 25);
}

// From the batch at 10 us over the copies at 20 and 30 us to the replay at 45 us, each inside a slice of its row.
TEST(ChromeTimeline, AFlowLeadsFromABatchOverItsCopiesToItsReplay) {
  const auto json = nlohmann::json::parse(written(write_chrome_json));
  std::map<double, std::string> flow;
  for (const auto& event : json["traceEvents"])
    if (event.value("id", 0) == 7) flow[event["ts"].get<double>()] = event["ph"];
  EXPECT_EQ(flow, (std::map<double, std::string>{{10, "s"}, {20, "t"}, {30, "t"}, {45, "f"}}));
}

// 8192 B in [20, 30) us over 1 GB/s are 81.92 %; a window of the counter is 10 us.
TEST(ChromeTimeline, CountersShowLinkSharesAndResidentBytes) {
  const auto json = nlohmann::json::parse(written(write_chrome_json));
  double share = 0, resident = 0;
  for (const auto& event : json["traceEvents"]) {
    if (event["ph"] != "C") continue;
    const double value = event["args"]["value"];
    if (event["name"] == "pcie0 down (%)") share = std::max(share, value);
    if (event["name"] == "resident (B)") resident = std::max(resident, value);
  }
  EXPECT_NEAR(share, 81.92, 1e-9);
  EXPECT_EQ(resident, 12288);
}

// --- protobuf, decoded as far as it is written: field -> values, submessages still in bytes

struct Field {
  std::uint64_t number = 0;
  std::string bytes;
};
using Fields = std::multimap<int, Field>;

Fields decoded(const std::string& in) {
  Fields fields;
  for (protozero::pbf_reader message(in); message.next();) {
    Field& field = fields.emplace(static_cast<int>(message.tag()), Field{})->second;
    if (message.wire_type() == protozero::pbf_wire_type::varint)
      field.number = message.get_uint64();
    else if (message.wire_type() == protozero::pbf_wire_type::fixed64)
      field.number = message.get_fixed64();
    else
      field.bytes = message.get_string();
  }
  return fields;
}

const Field& one(const Fields& fields, int field) {
  EXPECT_EQ(fields.count(field), 1U) << field;
  return fields.find(field)->second;
}

// Field numbers: perfetto/protos (trace_packet.proto and those it includes).
struct Event {
  std::uint64_t at = 0, type = 0, track = 0;
  std::string name;
  std::set<std::uint64_t> flows, ended;
  double value = 0;
};
struct Decoded {
  std::map<std::uint64_t, std::string> tracks;  // by uuid
  std::vector<Event> events;
};

Decoded decoded_trace(const std::string& text) {
  Decoded trace;
  std::map<std::uint64_t, std::string> names;
  for (const auto& [number, packet] : decoded(text)) {
    EXPECT_EQ(number, 1);
    const Fields p = decoded(packet.bytes);
    if (p.contains(60)) {
      const Fields d = decoded(one(p, 60).bytes);
      trace.tracks[one(d, 1).number] = one(d, 2).bytes;
    }
    if (p.contains(12)) {
      const Fields entry = decoded(one(decoded(one(p, 12).bytes), 2).bytes);
      names[one(entry, 1).number] = one(entry, 2).bytes;
    }
    if (!p.contains(11)) continue;
    const Fields e = decoded(one(p, 11).bytes);
    Event event{.at = one(p, 8).number,
                .type = one(e, 9).number,
                .track = one(e, 11).number,
                .name = {},
                .flows = {},
                .ended = {}};
    if (e.contains(10)) event.name = names.at(one(e, 10).number);
    for (auto [it, end] = e.equal_range(47); it != end; ++it) event.flows.insert(it->second.number);
    for (auto [it, end] = e.equal_range(48); it != end; ++it) event.ended.insert(it->second.number);
    if (e.contains(44)) event.value = std::bit_cast<double>(one(e, 44).number);
    trace.events.push_back(event);
  }
  return trace;
}

// A begin and an end for each of the 7 slices, in order on each track; 25 us of copies; the kernel's name as it was.
TEST(PerfettoTimeline, SlicesBeginAndEndInOrder) {
  const Decoded trace = decoded_trace(written(write_perfetto));
  std::map<std::uint64_t, std::uint64_t> open, last;
  std::uint64_t copied = 0;
  int slices = 0;
  std::set<std::string> names;
  for (const Event& e : trace.events) {
    if (e.type != 1 && e.type != 2) continue;
    EXPECT_GE(e.at, last[e.track]);
    last[e.track] = e.at;
    if (e.type == 1) {
      EXPECT_FALSE(open.contains(e.track));
      open[e.track] = e.at;
      names.insert(e.name);
      continue;
    }
    ++slices;
    if (trace.tracks.at(e.track) == "copy engine, host to device") copied += e.at - open[e.track];
    open.erase(e.track);
  }
  EXPECT_EQ(slices, 7);
  EXPECT_TRUE(open.empty());
  EXPECT_EQ(copied, 25'000U);
  EXPECT_TRUE(names.contains("k<\"float\">"));
}

TEST(PerfettoTimeline, AFlowEndsAtTheReplay) {
  const Decoded trace = decoded_trace(written(write_perfetto));
  std::map<std::string, int> flows;
  for (const Event& e : trace.events) {
    if (e.flows.contains(7)) ++flows[e.name];
    if (e.ended.contains(7)) ++flows["ends: " + e.name];
  }
  EXPECT_EQ(flows, (std::map<std::string, int>{{"copy in", 2}, {"ends: replay", 1}, {"fault batch", 1}}));
}

TEST(PerfettoTimeline, CountersAreOnTracksOfTheirOwn) {
  const Decoded trace = decoded_trace(written(write_perfetto));
  std::map<std::string, double> highest;
  for (const Event& e : trace.events)
    if (e.type == 4) highest[trace.tracks.at(e.track)] = std::max(highest[trace.tracks.at(e.track)], e.value);
  EXPECT_NEAR(highest["pcie0 down"], 81.92, 1e-9);
  EXPECT_EQ(highest["resident"], 12288);
}

}  // namespace
}  // namespace uvmsim
