#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "base/number_text.h"
#include "report/view.h"
#include "workload/iterations.h"

namespace uvmsim {
namespace {

// What happens to memory on one device: allocations, frees and uses, each with its size. Two events are the same when
// their kinds and sizes are; names and addresses do not count. Where the trace has no tensors: kernels, by their names.
class Events {
 public:
  Events(const trace::Trace& trace, DeviceOrdinal device) : trace_(trace), device_(device.value) {
    for (const trace::Record& record : trace.records) {
      if (const auto* alloc = std::get_if<trace::Alloc>(&record)) add(*alloc);
      if (const auto* free = std::get_if<trace::Free>(&record)) add(*free);
      if (const auto* kernel = std::get_if<trace::Kernel>(&record)) add(*kernel);
    }
    if (sequence_.empty()) count_kernels();
  }

  const std::vector<std::int32_t>& sequence() const { return sequence_; }
  // Kernel time of the events up to `event`.
  std::int64_t kernel_ns(std::int64_t event) const { return kernel_ns_[static_cast<std::size_t>(event)]; }

 private:
  enum class What : std::uint8_t { Allocate, Free, Read, Write, ReadWrite, Launch };

  void add(const trace::Alloc& alloc) {
    if (alloc.device != device_) return;
    bytes_[alloc.tensor] = alloc.bytes;
    note(What::Allocate, alloc.bytes);
  }
  void add(const trace::Free& free) {
    const auto found = bytes_.find(free.tensor);
    if (found == bytes_.end()) return;
    note(What::Free, found->second);
    bytes_.erase(found);
  }
  void add(const trace::Kernel& kernel) {
    if (kernel.device != device_) return;
    for (std::uint32_t i = kernel.accesses.first; i < kernel.accesses.first + kernel.accesses.count; ++i) {
      const trace::Access& access = trace_.accesses[i];
      const auto found = bytes_.find(access.tensor);
      if (found == bytes_.end()) continue;
      note(access.mode == trace::Mode::Read    ? What::Read
           : access.mode == trace::Mode::Write ? What::Write
                                               : What::ReadWrite,
           found->second);
    }
    ns_ += kernel.duration_ns;
  }
  void count_kernels() {
    ns_ = 0;
    for (const trace::Record& record : trace_.records)
      if (const auto* kernel = std::get_if<trace::Kernel>(&record); kernel != nullptr && kernel->device == device_) {
        note(What::Launch, kernel->name);
        ns_ += kernel->duration_ns;
      }
  }
  void note(What what, std::int64_t bytes) {
    const auto [at, fresh] = symbols_.try_emplace({what, bytes}, static_cast<std::int32_t>(symbols_.size()));
    sequence_.push_back(at->second);
    kernel_ns_.push_back(ns_);
  }

  const trace::Trace& trace_;
  const int device_;
  std::unordered_map<trace::TensorId, std::int64_t> bytes_;  // of live tensors; looked up, never walked
  std::map<std::pair<What, std::int64_t>, std::int32_t> symbols_;
  std::vector<std::int32_t> sequence_;
  std::vector<std::int64_t> kernel_ns_;
  std::int64_t ns_ = 0;
};

// Of the events: what covers less is no period of the program. Assumed.
constexpr double kLeastCovered = 0.5;

class Periods final : public View {
 public:
  ViewTable table(const ViewInput& input) const override {
    ViewTable table{
        .title = "what repeats in allocations, frees and uses by their sizes, without the trace's own marks",
        .columns = {"device", "events", "first", "period", "repeats", "covered_share", "kernels_s"},
        .rows = {}};
    for (const ObservedIteration& of : input.iterations) {
      const Events events(input.trace, of.device);
      if (!table.finding.empty()) table.finding += "; ";
      table.finding += "device " + std::to_string(of.device.value) + ": " + add(of.device, events, table);
    }
    const auto marked = std::ranges::count_if(input.trace.records, is_iteration);
    if (table.rows.empty() && marked > 0 && marked < 3)
      table.finding += "; the trace marks " + std::to_string(marked) + (marked == 1 ? " iteration" : " iterations") +
                       "; a first one and two alike are needed to confirm a period";
    return table;
  }

 private:
  static bool is_iteration(const trace::Record& record) { return std::holds_alternative<trace::Iteration>(record); }

  // Two whole periods, one after the other and event by event the same, confirm it. Returns what was found, in words.
  static std::string add(DeviceOrdinal device, const Events& events, ViewTable& table) {
    const std::int64_t count = std::ssize(events.sequence());
    const Repetition found = find_repetition(events.sequence());
    const double covered = count > 0 ? static_cast<double>(found.period * found.count) / static_cast<double>(count) : 0;
    if (found.count < 2 || covered < kLeastCovered) return "no period of most of its " + count_text(count) + " events";
    const std::int64_t last = found.first + found.period * (found.count - 1);
    const std::int64_t ns = events.kernel_ns(last) - events.kernel_ns(last - found.period);
    table.rows.push_back({std::int64_t{device.value}, count, found.first, found.period, found.count, covered,
                          1e-9 * static_cast<double>(ns)});
    return "iterative, " + count_text(found.count) + " times the same " + count_text(found.period) + " of " +
           count_text(count) + " events";
  }
};

const bool kRegistered = add_plug_in<View, Periods>(
    {.name = "periods",
     .summary = "the period of a program's memory behaviour, confirmed by two repeats",
     .source = "Pinpointing the Memory Behaviors of DNN Training, ISPASS 2021, section III: iterative patterns; the "
               "repetition test of apache/singa's swap pool"});

}  // namespace
}  // namespace uvmsim
