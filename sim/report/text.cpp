#include "report/text.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "base/number_text.h"
#include "base/printable.h"
#include "report/report_fields.h"
#include "report/table.h"

namespace uvmsim {
namespace {

using Rows = std::vector<std::vector<std::string>>;

constexpr std::size_t kBarWidth = 40;

class TextReport {
 public:
  TextReport(const Report& report, bool colour) : report_(report), summary_(report.summary), colour_(colour) {}

  std::string text() {
    add_head();
    if (!summary_.gpus.empty() && summary_.totals.gpu_s > 0) {
      add_time_split();
      add_time_per_gpu();
      add_counts();
      add_links();
    }
    add_plan();
    add_assumptions();
    add_trust();
    return std::move(text_);
  }

 private:
  void heading(const std::string& title) { text_ += "\n" + styled("\x1b[1m", title) + "\n"; }
  std::string styled(const char* escape, const std::string& text) const {
    return colour_ ? escape + printable(text) + "\x1b[0m" : printable(text);
  }
  // Lines that `wrapped` made.
  std::string styled_lines(const char* escape, const std::string& lines) const {
    return colour_ ? escape + lines + "\x1b[0m" : lines;
  }

  void add_head();
  void add_oversubscription();
  void add_time_split();
  void add_time_per_gpu();
  void add_counts();
  void add_fault_costs();
  void add_swaps();
  void add_turns();
  void add_links();
  void add_plan();
  void add_assumptions();
  void add_trust();

  const Report& report_;
  const Summary& summary_;
  bool colour_;
  std::string text_;
};

std::string rate_text(const std::optional<Throughput>& throughput) {
  return throughput ? number_text(throughput->value) + " " + throughput->unit : "";
}

// What "cudaMalloc" in the table is, and how long the program takes in core where that differs.
std::string references_line(const Summary& summary) {
  constexpr double kDiffers = 0.01;
  if (!summary.cuda_malloc_duration_s) return "";
  std::string text = "cudaMalloc: the same program without managed memory on GPUs that are large enough";
  if (summary.in_core_slowdown && summary.slowdown &&
      std::abs(*summary.in_core_slowdown / *summary.slowdown - 1) > kDiffers)
    text += "; with managed memory there (in core) an iteration takes " + seconds_text(*summary.in_core_duration_s) +
            ", a slowdown of " + number_text(*summary.in_core_slowdown) + "x";
  return wrapped(text, "  ", 98);
}

// What the allocators of one process did, all its devices together; nothing where they took no memory.
std::string allocator_line(const std::vector<DeviceAllocator>& devices) {
  if (devices.empty()) return "";
  DeviceAllocator sum;
  for (const DeviceAllocator& device : devices) {
    sum.driver_allocs += device.driver_allocs;
    sum.driver_frees += device.driver_frees;
    sum.cache_flushes += device.cache_flushes;
    sum.peak.internal_fragmentation_bytes += device.peak.internal_fragmentation_bytes;
    sum.peak.external_fragmentation = std::max(sum.peak.external_fragmentation, device.peak.external_fragmentation);
  }
  return wrapped("allocator: " + count_text(sum.driver_allocs) + " driver allocations, " +
                     count_text(sum.driver_frees) + " frees, " + count_text(sum.cache_flushes) +
                     " cache flushes; at the peak " + bytes_text(sum.peak.internal_fragmentation_bytes) +
                     " lost to rounding, free memory " + percent_text(sum.peak.external_fragmentation) + " fragmented",
                 "  ", 98);
}

void TextReport::add_head() {
  const RunRecord& run = report_.run;
  if (!run.experiment.empty()) text_ += styled("\x1b[1m", run.experiment) + "\n";
  if (!run.description.empty()) text_ += wrapped(run.description, "  ", 98);
  text_ += setup_text(run.setup);
  if (report_.outcome != Outcome::Completed) {
    text_ += "\n" + styled("\x1b[31m", "did not complete: " + std::string(name_of(report_.outcome))) + "\n";
    text_ += wrapped(report_.detail, "  ", 98);
  }
  text_ += "\n";
  Rows rows;
  const bool compared = summary_.cuda_malloc_duration_s.has_value();
  if (compared) rows.push_back({"", "this run", "cudaMalloc", "slowdown"});
  if (summary_.duration_s > 0) {
    rows.push_back({"iteration", seconds_text(summary_.duration_s)});
    if (compared) rows.back().push_back(seconds_text(*summary_.cuda_malloc_duration_s));
    if (summary_.slowdown) rows.back().push_back(number_text(*summary_.slowdown) + "x");
    rows.push_back({"throughput", rate_text(summary_.throughput), rate_text(summary_.cuda_malloc_throughput)});
  }
  rows.push_back({"memory asked for, per process", bytes_text(summary_.peak_live_bytes)});
  rows.push_back({"memory reserved, per process", bytes_text(summary_.reserved_bytes)});
  if (summary_.oversubscription)
    rows.push_back({"of its GPUs' usable memory", number_text(*summary_.oversubscription) + "x"});
  rows.push_back({"managed memory on the host", bytes_text(summary_.host_peak_bytes)});
  text_ += aligned(rows, 3);
  add_oversubscription();
  text_ += references_line(summary_);
  text_ += allocator_line(summary_.allocators);
  if (run.measured_iterations > 1)
    text_ += "  mean of " + std::to_string(run.measured_iterations) + " iterations after " +
             std::to_string(run.warmup_iterations) + " of warm-up; " +
             (run.period == 0 ? "no steady cycle found" : "steady with period " + std::to_string(run.period)) + "\n";
}

// A program whose managed memory does not fit runs all the same: nothing else would say that it is slow for that.
void TextReport::add_oversubscription() {
  const double times = summary_.oversubscription.value_or(0);
  if (report_.outcome != Outcome::Completed || report_.plan || report_.run.setup.memory != "managed" || times <= 1)
    return;
  std::string text = "oversubscribed: " + number_text(times) + " times the usable memory";
  if (summary_.slowdown)
    text += ", " + number_text(*summary_.slowdown) + " times as long as with cudaMalloc on large enough GPUs";
  text_ += styled_lines("\x1b[33m", wrapped(text + ". `uvmsim advise` finds what to change", "  ", 98));
}

void TextReport::add_time_split() {
  const Totals& totals = summary_.totals;
  heading(summary_.gpus.size() > 1 ? "Where the time went (mean of " + std::to_string(summary_.gpus.size()) + " GPUs)"
                                   : "Where the time went");
  static const std::map<std::string_view, std::string> kLabels = {{"fault_cpu_s", "fault handling on the CPU"},
                                                                  {"eviction_s", "evictions"},
                                                                  {"copy_in_s", "copies in"},
                                                                  {"link_wait_s", "waiting for a shared link"},
                                                                  {"compute_s", "compute"},
                                                                  {"transfer_s", "explicit copies, prefetches"},
                                                                  {"collective_s", "collectives"},
                                                                  {"idle_s", "idle"}};
  Rows rows;
  std::vector<std::string> bars;
  for_each_member(totals.time_split_s, [&](const auto& field, const double& total_s) {
    const double share = total_s / totals.gpu_s;
    rows.push_back({kLabels.at(field.name), seconds_text(total_s / static_cast<double>(summary_.gpus.size())),
                    percent_text(share)});
    bars.emplace_back(static_cast<std::size_t>(std::lround(std::clamp(share, 0.0, 1.0) * double{kBarWidth})), '#');
  });
  std::string table = aligned(rows);
  for (std::size_t at = 0; const std::string& bar : bars) {
    const std::size_t end = table.find('\n', at);
    if (!bar.empty() && end - at + 2 + kBarWidth <= PageWidth::columns()) table.insert(end, "  " + bar);
    at = table.find('\n', end) + 1;
  }
  text_ += table;
}

void TextReport::add_time_per_gpu() {
  if (summary_.gpus.size() < 2) return;
  heading("Time per GPU");
  Rows rows = {
      {"", "iteration", "fault CPU", "evict", "copy in", "link wait", "compute", "explicit", "collect.", "idle"}};
  for (const GpuResult& gpu : summary_.gpus) {
    rows.push_back({gpu.name, seconds_text(gpu.duration_s)});
    for_each_member(gpu.time_split_s, [&](const auto&, const double& part_s) {
      rows.back().push_back(gpu.duration_s > 0 ? percent_text(part_s / gpu.duration_s) : "");
    });
  }
  text_ += aligned(rows, 1);
}

std::vector<std::string> fault_row(const std::string& name, const GpuCounts& c) {
  return {name,
          count_text(c.fault_batches),
          count_text(c.fault_groups),
          count_text(c.fault_entries),
          count_text(c.cpu_faults),
          count_text(c.evicted_chunks),
          bytes_text(c.evicted_bytes)};
}

std::vector<std::string> copy_row(const std::string& name, const GpuCounts& c) {
  return {name,
          bytes_text(c.h2d_bytes),
          count_text(c.h2d_copies),
          bytes_text(c.d2h_bytes),
          count_text(c.d2h_copies),
          bytes_text(c.prefetched_bytes),
          bytes_text(c.dead_h2d_bytes),
          bytes_text(c.remote_bytes)};
}

void TextReport::add_counts() {
  Rows faults = {{"", "batches", "groups", "entries", "CPU faults", "evicted chunks", "evicted"}};
  Rows copies = {{"", "in", "copies in", "out", "copies out", "prefetched", "dead, in", "remote"}};
  for (const GpuResult& gpu : summary_.gpus) {
    faults.push_back(fault_row(gpu.name, gpu.counts));
    copies.push_back(copy_row(gpu.name, gpu.counts));
  }
  if (summary_.gpus.size() > 1) {
    faults.push_back(fault_row("total", summary_.totals.counts));
    copies.push_back(copy_row("total", summary_.totals.counts));
  }
  heading("Faults and evictions, per iteration");
  text_ += aligned(faults);
  add_fault_costs();
  if (summary_.totals.counts.remote_bytes == 0)
    for (std::vector<std::string>& row : copies) row.pop_back();
  heading("Bytes moved by UVM, per iteration");
  text_ += aligned(copies);
  add_swaps();
}

// What a kernel waited for its faults, and how many it took to bring in 2 MiB, by copies or without.
void TextReport::add_fault_costs() {
  const GpuCounts& counts = summary_.totals.counts;
  const TimeSplit& split = summary_.totals.time_split_s;
  const auto faults = static_cast<double>(counts.serviced_faults);
  const auto blocks = static_cast<double>(counts.h2d_bytes + counts.peer_bytes + counts.populated_bytes) /
                      static_cast<double>(kBlockBytes);
  if (faults == 0 || blocks == 0) return;
  const double waited_s = split.fault_cpu_s + split.eviction_s + split.copy_in_s + split.link_wait_s;
  text_ += wrapped(count_text(counts.serviced_faults) +
                       " entries each made a page accessible (serviced faults): " + seconds_text(waited_s / faults) +
                       " a fault, " + number_text(faults / blocks) + " of them per 2 MiB brought in",
                   "  ", 98);
}

// Both directions of a GPU may be under way at once: their times are added.
void TextReport::add_swaps() {
  if (summary_.totals.counts.swap_ns == 0) return;
  Rows rows = {{"", "in", "out", "under way", "during kernels", "lost to sharing", "of that time"}};
  const auto add = [&](const std::string& name, const GpuCounts& c) {
    const auto under_way = static_cast<double>(c.swap_ns);
    rows.push_back({name, bytes_text(c.memcpy_h2d_bytes), bytes_text(c.memcpy_d2h_bytes),
                    seconds_text(under_way * 1e-9),
                    percent_text(static_cast<double>(c.swap_overlapped_ns) / std::max(under_way, 1.0)),
                    seconds_text(static_cast<double>(c.swap_contention_ns) * 1e-9),
                    percent_text(static_cast<double>(c.swap_contention_ns) / std::max(under_way, 1.0))});
  };
  for (const GpuResult& gpu : summary_.gpus) add(gpu.name, gpu.counts);
  if (summary_.gpus.size() > 1) add("total", summary_.totals.counts);
  heading("Copies of tensors and other explicit copies, per iteration");
  text_ += aligned(rows);
  add_turns();
}

// From how many iterations between two sums of gradients on turns may pay, for two GPUs on a link (sim/plan/PLAN.md,
// "Coordinators"). Backward passes have two products for each of a forward pass, so that is taken for a third.
void TextReport::add_turns() {
  std::int64_t lost_ns = 0;
  for (const GpuResult& gpu : summary_.gpus) lost_ns = std::max(lost_ns, gpu.counts.swap_contention_ns);
  if (summary_.gpus.size() < 2 || !summary_.in_core_duration_s) return;
  const double most = std::min(static_cast<double>(lost_ns) * 1e-9, summary_.duration_s - *summary_.in_core_duration_s);
  const double forward_s = *summary_.in_core_duration_s / 3;
  if (most <= 0) return;
  text_ +=
      wrapped("sharing costs at most " + seconds_text(most) +
                  " an iteration; turns with forward passes (plan.coordinator=bidirectional_overlapping) keep one "
                  "of two GPUs on a link waiting for about " +
                  seconds_text(forward_s) + " once between two sums of gradients: they can pay from n* = " +
                  count_text(static_cast<std::int64_t>(std::ceil(forward_s / most))) +
                  " iterations between them on. Without simulating more we would choose them from n* on, and "
                  "plan.coordinator=priority below; `uvmsim compare --planners PLANNER+all` tries every coordinator",
              "  ", 98);
}

// "pcie0 up" is the direction "up" of "pcie0".
std::pair<std::string, std::string> link_and_direction(const std::string& name) {
  const std::size_t space = name.rfind(' ');
  if (space == std::string::npos) return {name, ""};
  return {name.substr(0, space), name.substr(space + 1)};
}

// Of the time that its copies took, what they would not have taken alone.
std::string lost_share(const LinkDirectionResult& link) {
  const double alone_s = link.bandwidth > 0 ? static_cast<double>(link.bytes) / link.bandwidth : 0;
  if (link.contention_s == 0 || alone_s == 0) return "";
  return ", " + percent_text(link.contention_s / (link.contention_s + alone_s));
}

void TextReport::add_links() {
  Rows rows = {{"", "to GPUs", "busy", "of", "lost", "to host", "busy", "of", "lost"}};
  for (const LinkDirectionResult& link : report_.links) {
    const auto [name, direction] = link_and_direction(link.name);
    const auto row = std::ranges::find(rows, name, [](const auto& r) { return r.front(); });
    auto& cells = row != rows.end() ? *row : rows.emplace_back(std::vector<std::string>(9));
    cells[0] = name;
    const std::size_t first = direction == "up" ? 5 : 1;
    cells[first] = bytes_text(link.bytes);
    cells[first + 1] = percent_text(link.busy_fraction);
    cells[first + 2] = bytes_text(link.bandwidth) + "/s";
    cells[first + 3] = seconds_text(link.contention_s) + lost_share(link);
  }
  std::erase_if(rows, [](const auto& row) { return row[1] == "0 B" && row[5] == "0 B"; });
  if (rows.size() == 1) return;
  heading("Links, over the measured iterations");
  text_ += aligned(rows);
}

// "move 28, 5.6 GB; recompute 3, 1.2 GB".
std::string actions_text(const PlanSummary& plan) {
  std::string text;
  for (const PlannedActions& actions : plan.actions)
    text +=
        (text.empty() ? "" : "; ") + actions.what + " " + count_text(actions.count) + ", " + bytes_text(actions.bytes);
  return text.empty() ? "nothing" : text;
}

// Replicas mostly have one plan: each is said once.
void TextReport::add_plan() {
  if (!report_.plan) return;
  heading("Plan");
  std::vector<std::pair<std::string, std::string>> said;  // what, of which GPUs
  for (const PlanSummary& plan : report_.plan->plans) {
    std::string text = plan.planner + " (" + actions_text(plan) + "): " + plan.why;
    if (!plan.feasible) text += ". What does not fit leaves on demand";
    const auto same = std::ranges::find(said, text, &std::pair<std::string, std::string>::first);
    if (same == said.end())
      said.emplace_back(std::move(text), plan.gpu);
    else if (!same->second.ends_with(plan.gpu))
      same->second += ", " + plan.gpu;
  }
  for (const auto& [text, gpus] : said) text_ += wrapped(gpus + ": " + text, "  ", 98);
  std::string held;
  for (const MemoryPeak& memory : report_.plan->memories)
    if (memory.bytes > 0) held += (held.empty() ? "" : ", ") + memory.name + " " + bytes_text(memory.bytes);
  if (!held.empty()) text_ += wrapped("held at most: " + held, "  ", 98);
}

void TextReport::add_assumptions() {
  std::map<std::string, int> by_status;
  for (const Assumption& assumption : report_.run.assumptions) ++by_status[assumption.status];
  if (by_status.empty()) return;
  heading("Assumptions");
  for (const Assumption& assumption : report_.run.assumptions)
    if (assumption.key.starts_with("/driver/") || assumption.key.starts_with("/run/"))
      text_ += wrapped(assumption.source, "  ", 98);
  std::string counts;
  for (const auto& [status, count] : by_status)
    counts += (counts.empty() ? "" : ", ") + std::to_string(count) + " " + status;
  text_ += wrapped("values not measured on this machine: " + counts + " (run.assumptions of --json)", "  ", 98);
}

// "80 % band of 4.2 s: 3.6 to 4.9 s. kernels, as the trace has them 61 % (+- 5 %), ..."
std::string band_text(const Band& band, double duration_s) {
  std::string text = percent_text(band.level) + " band: " + seconds_text(band.low_s) + " to " +
                     seconds_text(band.high_s) + " for " + seconds_text(duration_s) + ". It is";
  for (const BandPart& part : band.parts)
    text += (&part == band.parts.data() ? " " : ", ") + percent_text(part.share) + " " + part.work + " (+- " +
            percent_text(std::expm1(part.spread)) + ")";
  return text + (band.own_costs ? ". The driver's costs were fitted to measurements of this host"
                                : ". Nothing was measured on this host: the driver's costs are those of other hosts");
}

void TextReport::add_trust() {
  if (!report_.trust) return;
  const Trust& trust = *report_.trust;
  heading("How far off it may be");
  text_ += wrapped(band_text(trust.band, report_.summary.duration_s), "  ", 98);
  text_ += wrapped("the measured case most like this run: " + trust.family + " (" + trust.title + "), " +
                       std::to_string(trust.values) + (trust.values == 1 ? " value" : " values") + ": median error " +
                       percent_text(trust.median_error) + ", worst " + percent_text(trust.worst_error) + ", bias " +
                       (trust.bias < 0 ? "-" : "+") + percent_text(std::abs(trust.bias)),
                   "  ", 98);
  for (const std::string& difference : trust.differences)
    text_ += wrapped("that case differs: " + difference, "  ", 98);
  for (const std::string& warning : trust.warnings)
    text_ += styled_lines("\x1b[33m", wrapped("not validated: " + warning, "  ", 98));
}

}  // namespace

std::string to_text(const Report& report, bool colour) { return TextReport(report, colour).text(); }

}  // namespace uvmsim
