#include "encode.h"

#include <array>

#include "line.h"

namespace uvmcap {

namespace {

// Names by CUPTI's and the driver's numbers; unknown numbers get the list's first name, which is that of 0.
template <std::size_t kCount>
std::string_view name_of(const std::array<std::string_view, kCount>& names, unsigned number) {
  return names[number < kCount ? number : 0];
}

constexpr std::array<std::string_view, 11> kCopyKinds = {"unknown", "h2d", "d2h", "h2a", "a2h", "a2a",
                                                         "a2d",     "d2a", "d2d", "h2h", "p2p"};
constexpr std::array<std::string_view, 8> kMemoryKinds = {"unknown", "pageable", "pinned",        "device",
                                                          "array",   "managed",  "device_static", "managed_static"};
constexpr std::array<std::string_view, 9> kCounters = {
    "unknown", "h2d", "d2h", "cpu_fault", "gpu_fault", "thrashing", "throttling", "remote_map", "d2d"};
constexpr std::array<std::string_view, 5> kAccesses = {"unknown", "read", "write", "atomic", "prefetch"};
constexpr std::array<std::string_view, 6> kMigrationCauses = {"unknown",  "user",     "coherence",
                                                              "prefetch", "eviction", "access_counters"};
constexpr std::array<std::string_view, 6> kRemoteCauses = {"unknown", "coherence",     "thrashing",
                                                           "policy",  "out_of_memory", "eviction"};
constexpr std::array<std::string_view, 7> kAdvices = {
    "unknown",         "set_read_mostly",  "unset_read_mostly", "set_preferred_location", "unset_preferred_location",
    "set_accessed_by", "unset_accessed_by"};
constexpr std::array<std::string_view, 6> kMemories = {"device", "managed", "pinned", "registered", "pool", "mapped"};

void put_call(Line& line, const Call& call) {
  line.number("t", call.time).number("th", call.thread).number("c", call.correlation);
  if (call.device != 0) line.number("dev", call.device);
  if (call.result != 0) line.number("rc", call.result);
}

void put_external(Line& line, const Call& call) {
  if (call.external != 0) line.number("op", call.external);
}

// CUPTI names the CPU by the largest id.
std::int64_t processor(std::uint32_t id) { return id == 0xFFFFFFFFU ? -1 : std::int64_t{id}; }

void put_triple(Line& line, std::string_view key, const std::int32_t (&values)[3]) {
  std::vector<std::uint64_t> list;
  for (const std::int32_t value : values) list.push_back(static_cast<std::uint64_t>(value));
  line.numbers(key, list);
}

}  // namespace

std::uint64_t Encoder::string_index(const std::string& text, std::string& out) {
  const auto [place, is_new] = strings_.try_emplace(text, strings_.size());
  if (is_new) Line(out, "str").number("i", place->second).text("s", text);
  return place->second;
}

void Encoder::encode(const Header& header, std::string& out) {
  Line(out, "header")
      .number("uvmcap", 1)
      .text("lib", header.library_version)
      .number("pid", header.pid)
      .text("exe", header.executable)
      .texts("args", header.arguments)
      .number("clock_ns", header.clock)
      .number("wall_ns", header.wall)
      .number("cupti", header.cupti)
      .number("cupti_built", header.cupti_built)
      .text("layouts", header.layouts_verified ? "verified" : "unverified")
      .texts("kinds", header.kinds);
}

void Encoder::encode(const DeviceInfo& device, std::string& out) {
  Line(out, "device")
      .number("dev", device.device)
      .text("name", device.name)
      .number("mem", device.memory_bytes)
      .number("bw", device.bytes_per_second)
      .number("sms", device.multiprocessors)
      .number("clock_hz", device.clock_hz)
      .number("l2", device.l2_bytes)
      .numbers("cc", {device.capability_major, device.capability_minor});
}

void Encoder::encode(const StreamInfo& stream, std::string& out) {
  Line line(out, "stream");
  line.number("st", stream.stream).number("ctx", stream.context).number("dev", stream.device);
  if (stream.is_default) line.number("default", 1);
}

void Encoder::encode(const Note& note, std::string& out) { Line(out, "note").text("text", note.text); }

void Encoder::encode(const Failure& failure, std::string& out) {
  Line(out, "error").text("text", failure.text).number("code", failure.code).text("holder", failure.holder);
}

void Encoder::encode(const Dropped& dropped, std::string& out) { Line(out, "dropped").number("n", dropped.records); }

void Encoder::encode(const Limit&, std::string& out) { Line(out, "limit"); }

void Encoder::encode(const End& end, std::string& out) {
  Line(out, "end").number("t", end.time).number("host", end.host).number("gpu", end.gpu).number("dropped", end.dropped);
}

void Encoder::encode(const Allocation& allocation, std::string& out) {
  Line line(out, "alloc");
  put_call(line, allocation.call);
  line.number("a", allocation.address).number("bytes", allocation.bytes);
  line.text("mem", kMemories[static_cast<std::size_t>(allocation.memory)]);
  if (allocation.stream) line.number("st", *allocation.stream);
}

void Encoder::encode(const Release& release, std::string& out) {
  Line line(out, "free");
  put_call(line, release.call);
  line.number("a", release.address);
  if (release.bytes != 0) line.number("bytes", release.bytes);
  if (release.stream) line.number("st", *release.stream);
}

void Encoder::encode(const Launch& launch, std::string& out) {
  Line line(out, "launch");
  put_call(line, launch.call);
  line.number("st", launch.stream);
  if (launch.pointers) line.numbers("ptr", *launch.pointers);
  put_external(line, launch.call);
}

void Encoder::encode(const Copy& copy, std::string& out) {
  Line line(out, "copy");
  put_call(line, copy.call);
  line.number("st", copy.stream).number("dst", copy.destination).number("src", copy.source).number("bytes", copy.bytes);
  put_external(line, copy.call);
}

void Encoder::encode(const Set& set, std::string& out) {
  Line line(out, "set");
  put_call(line, set.call);
  line.number("st", set.stream).number("dst", set.destination).number("bytes", set.bytes);
  put_external(line, set.call);
}

void Encoder::encode(const Prefetch& prefetch, std::string& out) {
  Line line(out, "prefetch");
  put_call(line, prefetch.call);
  line.number("st", prefetch.stream)
      .number("a", prefetch.address)
      .number("bytes", prefetch.bytes)
      .number("to", prefetch.device);
}

void Encoder::encode(const Discard& discard, std::string& out) {
  Line line(out, "discard");
  put_call(line, discard.call);
  line.number("st", discard.stream).number("a", discard.address).number("bytes", discard.bytes);
  if (discard.prefetch_to) line.number("to", *discard.prefetch_to);
}

void Encoder::encode(const Advise& advise, std::string& out) {
  Line line(out, "advise");
  put_call(line, advise.call);
  line.number("a", advise.address).number("bytes", advise.bytes);
  line.text("advice", name_of(kAdvices, static_cast<unsigned>(advise.advice))).number("to", advise.device);
}

void Encoder::encode(const Synchronize& synchronize, std::string& out) {
  Line line(out, "sync");
  put_call(line, synchronize.call);
  line.number("e", synchronize.end);
  switch (synchronize.of) {
    case Synchronize::Of::kStream:
      line.text("of", "stream").number("st", synchronize.what);
      break;
    case Synchronize::Of::kEvent:
      line.text("of", "event").number("ev", synchronize.what);
      break;
    case Synchronize::Of::kDevice:
      line.text("of", "device");
      break;
  }
}

void Encoder::encode(const EventRecord& record, std::string& out) {
  Line line(out, "record");
  put_call(line, record.call);
  line.number("ev", record.event).number("st", record.stream);
}

void Encoder::encode(const EventWait& wait, std::string& out) {
  Line line(out, "wait");
  put_call(line, wait.call);
  line.number("ev", wait.event).number("st", wait.stream);
}

void Encoder::encode(const GraphLaunch& launch, std::string& out) {
  Line line(out, "graph");
  put_call(line, launch.call);
  line.number("st", launch.stream);
  put_external(line, launch.call);
}

void Encoder::encode(const Mark& mark, std::string& out) {
  Line(out, "mark").number("t", mark.time).number("th", mark.thread).text("text", mark.text);
}

void Encoder::encode(const KernelRun& run, std::string& out) {
  const std::uint64_t name = string_index(run.name, out);
  Line line(out, "kernel");
  line.number("c", run.correlation).number("n", name).number("dev", run.device).number("st", run.stream);
  line.number("s", run.start).number("e", run.end);
  put_triple(line, "grid", run.grid);
  put_triple(line, "blk", run.block);
  line.number("regs", run.registers).number("smem", run.shared_bytes);
  if (run.graph_node != 0) line.number("graph", run.graph_node);
}

void Encoder::encode(const CopyRun& run, std::string& out) {
  Line line(out, "memcpy");
  line.number("c", run.correlation)
      .number("dev", run.device)
      .number("st", run.stream)
      .number("s", run.start)
      .number("e", run.end);
  line.number("bytes", run.bytes).text("kind", name_of(kCopyKinds, run.kind));
  line.text("src", name_of(kMemoryKinds, run.source)).text("dst", name_of(kMemoryKinds, run.destination));
  if (run.async) line.number("async", 1);
  if (run.peer) line.number("peer", *run.peer);
}

void Encoder::encode(const SetRun& run, std::string& out) {
  Line(out, "memset")
      .number("c", run.correlation)
      .number("dev", run.device)
      .number("st", run.stream)
      .number("s", run.start)
      .number("e", run.end)
      .number("bytes", run.bytes)
      .text("mem", name_of(kMemoryKinds, run.memory));
}

void Encoder::encode(const UnifiedMemoryEvent& event, std::string& out) {
  const std::string_view kind = name_of(kCounters, event.kind);
  const bool moves = kind == "h2d" || kind == "d2h" || kind == "d2d";
  Line line(out, "um");
  line.text("kind", kind).number("a", event.address);
  if (kind != "throttling") line.number("v", event.value);
  // The end of these is undefined in CUPTI's records.
  const bool instant = kind == "cpu_fault" || kind == "thrashing" || kind == "remote_map";
  line.number("s", event.start).number("e", instant ? event.start : event.end);
  if (kind == "thrashing") {
    line.number("devs", event.source);
  } else if (kind != "cpu_fault") {
    line.number("src", processor(event.source));
  }
  if (moves || kind == "remote_map") line.number("dst", processor(event.destination));
  if (moves) line.text("cause", name_of(kMigrationCauses, event.flags));
  if (kind == "remote_map") line.text("cause", name_of(kRemoteCauses, event.flags));
  if (kind == "cpu_fault" || kind == "gpu_fault") line.text("access", name_of(kAccesses, event.flags));
}

}  // namespace uvmcap
