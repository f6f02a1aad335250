#include <cstdio>
#include <nlohmann/json.hpp>

#include "report/timeline.h"
#include "report/timeline_layout.h"

namespace uvmsim {
namespace {

constexpr std::size_t kPiece = 1 << 16;
constexpr std::size_t kCounterValues = 4096;

std::string microseconds_text(Time t) {
  char text[32];
  std::snprintf(text, sizeof text, "%lld.%06lld", static_cast<long long>(t.count() / 1'000'000),
                static_cast<long long>(t.count() % 1'000'000));
  return text;
}

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

class ChromeWriter {
 public:
  ChromeWriter(const Timeline& timeline, const TextSink& sink) : timeline_(timeline), sink_(sink) {}

  void write() {
    text_ = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
    int pid = 0;
    for (const TimelineGroup& group : timeline_groups(timeline_)) {
      ++pid;
      metadata("process_name", pid, 0, "\"name\":" + quoted(group.name));
      metadata("process_sort_index", pid, 0, "\"sort_index\":" + std::to_string(pid));
      int tid = 0;
      for (const TimelineRow* row : group.rows) {
        ++tid;
        metadata("thread_name", pid, tid, "\"name\":" + quoted(row->name));
        metadata("thread_sort_index", pid, tid, "\"sort_index\":" + std::to_string(tid));
        for (const TimelineSlice& slice : row->slices) write_slice(pid, tid, slice);
      }
      for (const TimelineMark* mark : group.marks)
        event("\"ph\":\"i\",\"s\":\"p\",\"name\":" + quoted(mark->text), pid, 0, mark->at, "");
      for (const TimelineCounter* counter : group.counters) write_counter(pid, *counter);
    }
    text_ += "\n]}\n";
    sink_(text_);
  }

 private:
  void metadata(const char* name, int pid, int tid, const std::string& args) {
    next();
    text_ += std::string("{\"ph\":\"M\",\"name\":\"") + name + "\",\"pid\":" + std::to_string(pid) +
             ",\"tid\":" + std::to_string(tid) + ",\"args\":{" + args + "}}";
  }

  void event(const std::string& head, int pid, int tid, Time at, const std::string& rest) {
    next();
    text_ += "{" + head + ",\"pid\":" + std::to_string(pid) + ",\"tid\":" + std::to_string(tid) +
             ",\"ts\":" + microseconds_text(at) + rest + "}";
  }

  void write_slice(int pid, int tid, const TimelineSlice& slice) {
    std::string args;
    const auto arg = [&](const char* name, const std::string& value) {
      args += std::string(args.empty() ? "" : ",") + "\"" + name + "\":" + value;
    };
    if (slice.bytes > 0) arg("bytes", std::to_string(slice.bytes));
    if (slice.batch > 0) arg("batch", std::to_string(slice.batch));
    if (slice.count > 1) arg("merged", std::to_string(slice.count));
    if (slice.count > 1) arg("busy_us", microseconds_text(slice.busy));
    event("\"ph\":\"X\",\"name\":" + quoted(slice_name(timeline_, slice)), pid, tid, slice.begin,
          ",\"dur\":" + microseconds_text(slice.end - slice.begin) + (args.empty() ? "" : ",\"args\":{" + args + "}"));
    if (slice.batch > 0) write_flow(pid, tid, slice);
  }

  void write_flow(int pid, int tid, const TimelineSlice& slice) {
    using Part = TimelineSlice::Part;
    if (slice.part == Part::Copies || slice.part == Part::Eviction) return;
    const char* phase = slice.part == Part::Service ? "s" : slice.part == Part::Replay ? "f" : "t";
    event(std::string("\"ph\":\"") + phase +
              "\",\"bp\":\"e\",\"cat\":\"fault\",\"name\":\"fault batch\",\"id\":" + std::to_string(slice.batch),
          pid, tid, slice.begin, "");
  }

  void write_counter(int pid, const TimelineCounter& counter) {
    const std::string name = counter.name + " (" + counter.unit + ")";
    for (const CounterValue& value : counter_values(counter, timeline_.end(), kCounterValues))
      event("\"ph\":\"C\",\"name\":" + quoted(name), pid, 0, value.at,
            ",\"args\":{\"value\":" + nlohmann::json(value.value).dump() + "}");
  }

  void next() {
    if (text_.size() > kPiece) {
      sink_(text_);
      text_.clear();
    }
    text_ += first_ ? "\n" : ",\n";
    first_ = false;
  }

  const Timeline& timeline_;
  const TextSink& sink_;
  std::string text_;
  bool first_ = true;
};

}  // namespace

void write_chrome_json(const Timeline& timeline, const TextSink& sink) { ChromeWriter(timeline, sink).write(); }

}  // namespace uvmsim
