// What happened, row by row, for a trace viewer: bounded in size whatever the length of the run.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "observe/observer.h"
#include "observe/series.h"

namespace uvmsim {

// How much of a run a timeline shows; each level shows what the ones before it do.
enum class TimelineLevel {
  Kernels,  // streams, host threads, counters
  Batches,  // fault servicers and links
  Copies,   // copy engines, evictions, and the flows from fault batches to copies to replays
};

struct TimelineOptions {
  TimelineLevel level = TimelineLevel::Copies;
  Time begin{}, end = kNever;         // only what overlaps this window
  std::size_t most_slices = 400'000;  // then neighbours of a row that are short are merged
};

// One box of a row. A merged one stands for `count` neighbours, `busy` of its time.
struct TimelineSlice {
  enum class Part : std::uint8_t { Whole, Service, Copies, Replay, Eviction };
  Time begin{}, end{};
  Duration busy{};
  std::int64_t bytes = 0;
  std::int64_t count = 1;
  std::int64_t batch = 0;  // the fault batch it is part of or belongs to; 0: none, or merged
  std::int32_t name = 0;   // into Timeline::names()
  Part part = Part::Whole;
};

struct TimelineRow {
  std::string group;  // "gpu0", "process 0", "links"
  std::string name;
  std::vector<TimelineSlice> slices;  // in time; they do not overlap
};

struct TimelineMark {
  std::string group;
  Time at{};
  std::string text;
};

struct TimelineCounter {
  std::string group, name;
  std::string unit;
  double scale = 1;  // of the series' values
  bool is_flow = false;
  FlowSeries flow;
  LevelSeries level;
};

// Records what it is told. When there are more slices than allowed, it merges neighbours of a row that together last
// less than a grain, which doubles until it is enough: what is longer than the grain stays as it was, and sums of
// busy time, bytes and counts stay exact.
class Timeline final : public Observer {
 public:
  explicit Timeline(const TimelineOptions& options) : options_(options) {}

  void stream_opened(const ObservedStream&) override;
  void link_opened(const ObservedLink&) override;
  void iteration(GpuIndex gpu, std::int64_t index, Time at) override;
  void kernel(const KernelSpan&) override;
  void stream_operation(const StreamSpan&) override;
  void host_call(const HostSpan&) override;
  void fault_batch(const FaultBatchSpan&) override;
  void copy(const CopySpan&) override;
  void eviction(const EvictionEvent&) override;
  void transfer(const LinkTransfer&) override;
  void link_busy(int link, Time begin, Time end) override;
  void resident(GpuIndex gpu, Time at, Bytes bytes) override;
  void reserved(int process, Time at, Bytes bytes) override;

  const TimelineOptions& options() const { return options_; }
  const std::vector<TimelineRow>& rows() const { return rows_; }
  const std::vector<TimelineCounter>& counters() const { return counters_; }
  const std::vector<TimelineMark>& marks() const { return marks_; }
  const std::string& name(std::int32_t index) const { return names_[static_cast<std::size_t>(index)]; }
  // Neighbours closer than this were merged; 0: nothing was.
  Duration grain() const { return grain_; }
  // The last thing that was recorded ended then.
  Time end() const { return end_; }

 private:
  enum class RowKind { Stream, Host, Servicer, CopyIn, CopyOut, Evictions, Link };
  bool outside(Time begin, Time end) const { return end < options_.begin || begin > options_.end; }
  std::size_t row(RowKind kind, std::int64_t index, const std::string& group, const std::string& name);
  TimelineCounter& counter(const std::string& group, const std::string& name, const std::string& unit, bool is_flow,
                           double scale = 1);
  std::int32_t name_id(std::string_view text);
  void add(std::size_t row, TimelineSlice slice);
  bool merge(TimelineSlice& into, const TimelineSlice& next) const;
  void coarsen();

  TimelineOptions options_;
  std::vector<TimelineRow> rows_;
  std::map<std::pair<RowKind, std::int64_t>, std::size_t> row_of_;
  std::vector<TimelineCounter> counters_;
  std::map<std::pair<std::string, std::string>, std::size_t> counter_of_;
  std::vector<TimelineMark> marks_;
  std::vector<std::string> names_;
  std::map<std::string, std::int32_t, std::less<>> name_of_;
  std::vector<std::string> link_names_;
  std::vector<std::size_t> link_counters_;
  std::size_t slices_ = 0;
  Duration grain_{};
  Time end_{};
};

}  // namespace uvmsim
