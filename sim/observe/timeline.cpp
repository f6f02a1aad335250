#include "observe/timeline.h"

#include <algorithm>

namespace uvmsim {
namespace {

// The first grain of merging; it doubles.
constexpr Duration kFirstGrain{1'000'000};  // 1 us

std::string gpu_name(GpuIndex gpu) { return "gpu" + std::to_string(gpu.value); }
std::string process_name(int process) { return "process " + std::to_string(process); }

}  // namespace

std::int32_t Timeline::name_id(std::string_view text) {
  const auto found = name_of_.find(text);
  if (found != name_of_.end()) return found->second;
  names_.emplace_back(text);
  return name_of_.emplace(std::string(text), static_cast<std::int32_t>(names_.size() - 1)).first->second;
}

std::size_t Timeline::row(RowKind kind, std::int64_t index, const std::string& group, const std::string& name) {
  const auto [it, is_new] = row_of_.emplace(std::pair(kind, index), rows_.size());
  if (is_new) rows_.push_back({group, name, {}});
  return it->second;
}

TimelineCounter& Timeline::counter(const std::string& group, const std::string& name, const std::string& unit,
                                   bool is_flow, double scale) {
  const auto [it, is_new] = counter_of_.emplace(std::pair(group, name), counters_.size());
  if (is_new)
    counters_.push_back({group, name, unit, scale, is_flow, FlowSeries(options_.begin), LevelSeries(options_.begin)});
  return counters_[it->second];
}

// --- slices, and fewer of them

bool Timeline::merge(TimelineSlice& into, const TimelineSlice& next) const {
  if (grain_ == Duration{0} || next.end - into.begin > grain_) return false;
  into.end = std::max(into.end, next.end);
  into.busy += next.busy;
  into.bytes += next.bytes;
  into.count += next.count;
  into.batch = 0;
  return true;
}

void Timeline::coarsen() {
  grain_ = grain_ == Duration{0} ? kFirstGrain : grain_ * 2;
  slices_ = 0;
  for (TimelineRow& r : rows_) {
    std::size_t kept = 0;
    for (std::size_t i = 1; i < r.slices.size(); ++i)
      if (!merge(r.slices[kept], r.slices[i])) r.slices[++kept] = r.slices[i];
    if (!r.slices.empty()) r.slices.resize(kept + 1);
    slices_ += r.slices.size();
  }
}

void Timeline::add(std::size_t row, TimelineSlice slice) {
  if (outside(slice.begin, slice.end)) return;
  end_ = std::max(end_, slice.end);
  std::vector<TimelineSlice>& slices = rows_[row].slices;
  if (!slices.empty() && merge(slices.back(), slice)) return;
  slices.push_back(slice);
  ++slices_;
  while (slices_ > options_.most_slices) coarsen();
}

// --- what the engine tells

void Timeline::stream_opened(const ObservedStream& s) {
  row(RowKind::Stream, s.stream, gpu_name(s.gpu), std::string(s.name));
}

void Timeline::link_opened(const ObservedLink& link) {
  link_names_.emplace_back(link.name);
  const double capacity = static_cast<double>(link.bandwidth.value);
  counter("link shares", link_names_.back(), "%", true, capacity > 0 ? 100 / capacity : 0);
  link_counters_.push_back(counters_.size() - 1);
}

void Timeline::iteration(GpuIndex gpu, std::int64_t index, Time at) {
  if (outside(at, at)) return;
  marks_.push_back({gpu_name(gpu), at, index < 0 ? "end" : "iteration " + std::to_string(index)});
  end_ = std::max(end_, at);
}

void Timeline::kernel(const KernelSpan& k) {
  add(row(RowKind::Stream, k.stream, gpu_name(k.gpu), ""),
      {.begin = k.begin, .end = k.end, .busy = k.end - k.begin, .name = name_id(k.name)});
}

void Timeline::stream_operation(const StreamSpan& s) {
  add(row(RowKind::Stream, s.stream, gpu_name(s.gpu), ""),
      {.begin = s.begin, .end = s.end, .busy = s.end - s.begin, .bytes = s.bytes.value, .name = name_id(s.name)});
}

void Timeline::host_call(const HostSpan& h) {
  const std::string name = h.thread == 0 ? "host thread" : "host thread " + std::to_string(h.thread);
  add(row(RowKind::Host, (std::int64_t{h.process} << 32) + h.thread, process_name(h.process), name),
      {.begin = h.begin, .end = h.end, .busy = h.end - h.begin, .name = name_id(h.name)});
}

void Timeline::fault_batch(const FaultBatchSpan& b) {
  if (options_.level < TimelineLevel::Batches) return;
  const std::size_t servicer = row(RowKind::Servicer, b.gpu.value, gpu_name(b.gpu), "fault servicer");
  using Part = TimelineSlice::Part;
  const auto part = [&](Time begin, Time end, const char* name, Part kind) {
    if (end > begin)
      add(servicer,
          {.begin = begin, .end = end, .busy = end - begin, .batch = b.batch, .name = name_id(name), .part = kind});
  };
  part(b.begin, b.serviced, "fault batch", Part::Service);
  part(b.serviced, b.copied, "waits for copies", Part::Copies);
  part(b.copied, b.replayed, "replay", Part::Replay);
}

void Timeline::copy(const CopySpan& c) {
  if (options_.level < TimelineLevel::Copies) return;
  const std::size_t engine = c.to_device
                                 ? row(RowKind::CopyIn, c.gpu.value, gpu_name(c.gpu), "copy engine, host to device")
                                 : row(RowKind::CopyOut, c.gpu.value, gpu_name(c.gpu), "copy engine, device to host");
  add(engine, {.begin = c.begin,
               .end = c.end,
               .busy = c.end - c.begin,
               .bytes = c.bytes.value,
               .batch = c.batch,
               .name = name_id(c.peer        ? "copy to a peer"
                               : c.eviction  ? "eviction"
                               : c.to_device ? "copy in"
                                             : "copy out")});
}

void Timeline::eviction(const EvictionEvent& e) {
  if (options_.level < TimelineLevel::Copies) return;
  add(row(RowKind::Evictions, e.gpu.value, gpu_name(e.gpu), "evictions"), {.begin = e.at,
                                                                           .end = e.at,
                                                                           .bytes = e.bytes.value,
                                                                           .batch = e.batch,
                                                                           .name = name_id("eviction"),
                                                                           .part = TimelineSlice::Part::Eviction});
}

void Timeline::transfer(const LinkTransfer& t) {
  if (outside(t.begin, t.end)) return;
  const Time end = std::min(t.end, options_.end);
  const double inside = t.end > t.begin ? seconds(end - t.begin) / seconds(t.end - t.begin) : 1;
  counters_[link_counters_[static_cast<std::size_t>(t.link)]].flow.add(t.begin, end,
                                                                       inside * static_cast<double>(t.bytes.value));
}

void Timeline::link_busy(int link, Time begin, Time end) {
  if (options_.level < TimelineLevel::Batches) return;
  add(row(RowKind::Link, link, "links", link_names_[static_cast<std::size_t>(link)]),
      {.begin = begin, .end = end, .busy = end - begin, .name = name_id("busy")});
}

void Timeline::resident(GpuIndex gpu, Time at, Bytes bytes) {
  if (at <= options_.end)
    counter(gpu_name(gpu), "resident", "B", false).level.set(at, static_cast<double>(bytes.value));
}

void Timeline::reserved(int process, Time at, Bytes bytes) {
  if (at <= options_.end)
    counter(process_name(process), "reserved", "B", false).level.set(at, static_cast<double>(bytes.value));
}

}  // namespace uvmsim
