#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/number_text.h"
#include "report/view.h"

namespace uvmsim {
namespace {

// Why one task does not start before another has ended.
enum class Edge : std::uint8_t { None, Launch, StreamOrder, ThreadOrder, Synchronization, Communication, Gap };
constexpr std::array kEdgeNames = {"(first)",         "launch to kernel", "stream order", "thread order",
                                   "synchronization", "communication",    "CPU gap"};

struct Task {
  Time start{}, end{};
  std::int32_t after = -1;  // that it starts right after; -1: none
  Edge edge = Edge::None;   // to that one
  bool on_host = false;
};

// One iteration as tasks of host threads and streams, with the edges of Daydream's graph. Each task starts when the
// last of those that it depends on has ended.
class TaskGraph {
 public:
  TaskGraph(const ViewInput& input, const ObservedIteration& of)
      : trace_(input.trace),
        setting_(input.setting),
        call_(std::max(nanoseconds(trace_.header.host_op_ns), setting_.launch)) {
    for (std::size_t i = of.records.begin; i < of.records.outer; ++i)
      std::visit([this](const auto& record) { take(record); }, trace_.records[i]);
  }

  std::int64_t edges(Edge edge) const { return edges_[static_cast<std::size_t>(edge)]; }
  const std::vector<Task>& tasks() const { return tasks_; }
  // From the task that ends last back to the first one.
  std::vector<std::int32_t> critical_path() const {
    std::vector<std::int32_t> path;
    if (tasks_.empty()) return path;
    const auto last = std::ranges::max_element(tasks_, {}, &Task::end);
    for (auto t = static_cast<std::int32_t>(last - tasks_.begin()); t >= 0; t = task(t).after) path.push_back(t);
    return path;
  }

 private:
  struct After {
    std::int32_t task = -1;
    Edge edge = Edge::None;
  };
  using Stream = std::pair<int, std::int32_t>;  // device and stream

  const Task& task(std::int32_t t) const { return tasks_[static_cast<std::size_t>(t)]; }

  std::int32_t add(std::vector<After> after, Duration duration, bool on_host) {
    Task task{.on_host = on_host};
    for (const After& a : after) {
      if (a.task < 0) continue;
      ++edges_[static_cast<std::size_t>(a.edge)];
      if (task.after >= 0 && this->task(a.task).end <= task.start) continue;
      task.start = this->task(a.task).end;
      task.after = a.task;
      task.edge = a.edge;
    }
    task.end = task.start + duration;
    tasks_.push_back(task);
    return static_cast<std::int32_t>(tasks_.size()) - 1;
  }

  // The host's call that issues something: what it waited for, its gap, itself.
  std::int32_t issue(std::int64_t gap_ns = 0) {
    std::vector<After> after = std::exchange(awaited_, {});
    after.push_back({threads_[0], Edge::ThreadOrder});
    if (gap_ns > 0) after = {{add(std::move(after), nanoseconds(gap_ns), true), Edge::Gap}};
    return threads_[0] = add(std::move(after), call_, true);
  }
  std::int32_t run(Stream stream, std::int32_t call, Duration duration) {
    std::vector<After> after = std::exchange(waits_[stream], {});
    after.push_back({call, Edge::Launch});
    after.push_back({last(stream), Edge::StreamOrder});
    return streams_[stream] = add(std::move(after), duration, false);
  }
  std::int32_t last(Stream stream) const {
    const auto found = streams_.find(stream);
    return found == streams_.end() ? -1 : found->second;
  }

  void take(const trace::Kernel& k) {
    run({k.device, k.stream}, issue(k.gap_ns), nanoseconds(k.duration_ns));
    device_ = k.device;
  }
  void take(const trace::Copy& c) {
    const LinkModel& links = setting_.links;
    const Duration time = c.direction == trace::CopyDirection::HostToDevice   ? links.in_time(c.bytes)
                          : c.direction == trace::CopyDirection::DeviceToHost ? links.out_time(c.bytes)
                                                                              : Duration{};
    const std::int32_t copy = run({c.device, c.stream}, issue(), time);
    if (!c.asynchronous) awaited_.push_back({copy, Edge::Synchronization});
  }
  void take(const trace::CollectiveOp& x) {
    collectives_[run({x.device, x.stream}, issue(), nanoseconds(x.duration_ns))] = true;
  }
  void take(const trace::EventRecord& e) { events_[e.event] = last({device_, e.stream}); }
  void take(const trace::EventWait& w) {
    const auto found = events_.find(w.event);
    if (found == events_.end() || found->second < 0) return;
    const bool communicates = collectives_.contains(found->second);
    waits_[{device_, w.stream}].push_back({found->second, communicates ? Edge::Communication : Edge::Synchronization});
  }
  void take(const trace::Synchronize& s) {
    for (const auto& [stream, t] : streams_)
      if (s.stream < 0 || stream.second == s.stream) awaited_.push_back({t, Edge::Synchronization});
  }
  void take(const trace::HostStep& step) {
    std::vector<After> after = {{threads_.contains(step.thread) ? threads_[step.thread] : -1, Edge::ThreadOrder}};
    if (step.thread == 0)
      for (const After& a : std::exchange(awaited_, {})) after.push_back(a);
    if (step.join != 0 && threads_.contains(step.join)) after.push_back({threads_[step.join], Edge::Synchronization});
    threads_[step.thread] = add(std::move(after), nanoseconds(step.duration_ns), true);
  }
  template <class Other>
  void take(const Other&) {}

  const trace::Trace& trace_;
  const ViewSetting& setting_;
  const Duration call_;
  std::vector<Task> tasks_;
  std::array<std::int64_t, kEdgeNames.size()> edges_{};
  std::map<std::int32_t, std::int32_t> threads_ = {{0, -1}};  // the last task of each
  std::map<Stream, std::int32_t> streams_;                    // likewise
  std::map<std::int32_t, std::int32_t> events_;               // the task that each was recorded after
  std::map<std::int32_t, bool> collectives_;                  // tasks
  std::map<Stream, std::vector<After>> waits_;                // for events, of the next task there
  std::vector<After> awaited_;                                // by the host, before its next task
  int device_ = 0;                                            // of the last kernel
};

class Dependencies final : public View {
 public:
  ViewTable table(const ViewInput& input) const override {
    ViewTable table{.title =
                        "what keeps tasks from starting earlier; binding: on the critical path, with the time of the "
                        "tasks that wait there",
                    .columns = {"dependency", "edges", "binding", "critical_s", "critical_share"},
                    .rows = {}};
    if (input.iterations.empty()) return table;
    const TaskGraph graph(input, input.iterations.front());
    std::array<std::int64_t, kEdgeNames.size()> binding{};
    std::array<Duration, kEdgeNames.size()> time{};
    Duration all{}, host{};
    for (const std::int32_t t : graph.critical_path()) {
      const Task& task = graph.tasks()[static_cast<std::size_t>(t)];
      const auto edge = static_cast<std::size_t>(task.edge);
      ++binding[edge];
      time[edge] += task.end - task.start;
      all += task.end - task.start;
      if (task.on_host) host += task.end - task.start;
    }
    const auto share = [&](Duration part) { return all > Duration{} ? seconds(part) / seconds(all) : 0; };
    for (std::size_t e = 0; e < kEdgeNames.size(); ++e)
      if (graph.edges(static_cast<Edge>(e)) > 0 || binding[e] > 0)
        table.rows.push_back(
            {kEdgeNames[e], graph.edges(static_cast<Edge>(e)), binding[e], seconds(time[e]), share(time[e])});
    table.finding =
        "the critical path takes " + seconds_text(all) + ", " + percent_text(share(host)) + " of it on the host";
    return table;
  }
};

const bool kRegistered = add_plug_in<View, Dependencies>(
    {.name = "dependencies",
     .summary = "which of launches, streams, threads, synchronization and communication the time is spent waiting for",
     .source = "Zhu et al., Daydream, ATC 2020, section 4.2: the dependency graph"});

}  // namespace
}  // namespace uvmsim
