// Nsight Systems' SQLite export (`nsys export --type sqlite`). Tables are made only when they have rows, and columns
// come and go with EXPORT_SCHEMA_VERSION: everything is read by name and may be absent.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "importers/importer.h"
#include "importers/issue_order.h"
#include "importers/nccl.h"
#include "importers/nsight_enums.h"
#include "importers/nsight_marks.h"
#include "importers/nsight_moves.h"
#include "importers/nsight_tables.h"
#include "importers/nsight_touches.h"
#include "importers/sqlite_database.h"
#include "importers/unified_traffic.h"
#include "trace/faulty_durations.h"

namespace uvmsim {
namespace {

constexpr std::string_view kMagic{"SQLite format 3\0", 16};

struct Call {
  std::int64_t start = 0, end = 0;
};
// A call by its process and correlation: processes count correlations each for itself.
struct Issue {
  std::pair<std::int64_t, std::int64_t> by;
  std::int64_t start = 0, thread = 0;
};
// The process in a globalTid or globalPid: above the 24 bits of the thread.
std::int64_t process_of(std::int64_t global) { return global >> 24; }

struct Moment {
  enum class Kind : std::uint8_t { Iteration, Call, Free, Allocate, HostRead, Prefetch, Kernel, Copy, Synchronize };
  std::int64_t time = 0;
  Kind kind = Kind::Call;
  std::size_t index = 0;
};

struct Kernel {
  std::int64_t name = 0;
  bool graph = false;       // of a CUDA graph
  std::int32_t place = -1;  // into places_
  ImportBuilder::KernelFacts facts;
};

struct Synchronization {
  std::int64_t type = 0, device = 0, stream = 0;
};

class Export {
 public:
  Export(const SqliteDatabase& database, ImportBuilder& into) : database_(database), into_(into) {}

  // False when there are no kernels.
  bool run() {
    read_strings();
    marks_.read(database_, strings_);
    for (const std::int64_t start : marks_.ranges().iterations())
      moments_.push_back({start, Moment::Kind::Iteration, 0});
    read_calls();
    read_memory();
    read_kernels();
    written_ = moved_to_gpus(database_);  // the host wrote it before
    if (memory_.empty()) find_memory();
    read_copies();
    read_synchronizations();
    read_errors();
    if (kernels_.empty()) return false;
    issue();
    describe();
    // What is still to come, the trace, is as large as all of this.
    by_correlation_ = {};
    ran_ = {};
    work_ = {};
    std::ranges::stable_sort(moments_, {}, [](const Moment& m) { return std::pair(m.time, m.kind); });
    tensors_.assign(memory_.size(), -1);
    for (const Moment& moment : moments_) put(moment);
    return true;
  }

 private:
  void read_strings() {
    database_.each_row("StringIds", {"id", "value"}, "",
                       [&](const SqliteRow& row) { strings_[row.integer(0)] = row.text(1); });
    strings_[kWholeGraph] = "CUDA graph, recorded as a whole";
  }

  void read_calls() {
    database_.each_row(
        "CUPTI_ACTIVITY_KIND_RUNTIME", {"start", "end", "correlationId", "nameId", "globalTid"}, "start",
        [&](const SqliteRow& row) {
          const Call call{row.required(0), std::max(row.required(0), row.integer(1))};
          by_correlation_.push_back({{process_of(row.integer(4)), row.integer(2)}, call.start, row.integer(4)});
          moments_.push_back({call.start, Moment::Kind::Call, calls_.size()});
          calls_.push_back(call);
          name_call(row.integer(3, -1), call.start);
        });
    std::ranges::stable_sort(by_correlation_, {}, &Issue::by);
  }
  void name_call(std::int64_t name, std::int64_t start) {
    const auto found = strings_.find(name);
    if (found == strings_.end()) return;
    if (found->second.starts_with("cudaMemPrefetchAsync")) prefetch_calls_.push_back(start);
    if (found->second.starts_with("cudaMallocManaged")) ++managed_calls_;
    // Waits for the device. Not cudaFreeHost, cudaFreeAsync.
    if (found->second == "cudaFree" || found->second.starts_with("cudaFree_")) {
      moments_.push_back({start, Moment::Kind::Synchronize, synchronizations_.size()});
      synchronizations_.push_back({4, 0, 0});
    }
  }

  // The call that has this correlation, at -1 when it was not recorded.
  NsightLaunch launch(std::int64_t process, std::int64_t correlation) {
    const auto found = std::ranges::lower_bound(by_correlation_, std::pair(process, correlation), {}, &Issue::by);
    if (found != by_correlation_.end() && found->by == std::pair(process, correlation))
      return {found->thread, found->start};
    into_.unknown("kernels and copies: no call is recorded; they stand behind what ran before them on their stream");
    return {-1, -1};
  }

  // What the ranges around a call say, into places_; -1: nothing.
  std::int32_t place(const NsightLaunch& call) {
    const HostRanges::Place now = marks_.ranges().at(call.thread, call.time);
    if (now.layer.empty() && now.phase.empty()) return -1;
    const auto next = static_cast<std::int32_t>(places_.size());
    const auto [found, added] = place_of_.try_emplace({now.layer, now.phase}, next);
    if (added) places_.push_back(now);
    return found->second;
  }

  // Where kernels and copies stand: work_ is in the order of their moments.
  void issue() {
    order_streams(work_);
    std::size_t next = 0;
    for (Moment& moment : moments_)
      if (moment.kind == Moment::Kind::Kernel || moment.kind == Moment::Kind::Copy) moment.time = work_[next++].issued;
  }
  void add_work(Moment::Kind kind, std::size_t index, const StreamWork& work) {
    moments_.push_back({0, kind, index});
    work_.push_back(work);
  }

  void read_memory() {
    database_.each_row("CUDA_GPU_MEMORY_USAGE_EVENTS",
                       {"start", "address", "bytes", "deviceId", "memKind", "memoryOperationType"}, "start",
                       [&](const SqliteRow& row) {
                         const bool allocates = row.integer(5) == 0;
                         moments_.push_back({row.required(0), allocates ? Moment::Kind::Allocate : Moment::Kind::Free,
                                             memory_.size()});
                         memory_.push_back({row.integer(0), static_cast<std::uint64_t>(row.integer(1)), row.integer(2),
                                            row.integer(3), space_of(row.integer(4, -1)), allocates});
                       });
  }

  // Without the table of allocations: what moved or faulted was allocated at the start and stays.
  void find_memory() {
    const std::vector<ManagedBlocks::Range> ranges = moved_or_faulted(database_);
    for (const ManagedBlocks::Range& range : ranges) {
      moments_.push_back({INT64_MIN, Moment::Kind::Allocate, memory_.size()});
      memory_.push_back({INT64_MIN, range.address, range.bytes, 0, static_cast<int>(trace::Space::Managed), true});
      into_.unknown(
          "ranges of managed memory: found where pages moved or faulted, so they may be larger or more; "
          "`nsys profile --cuda-memory-usage=true` records allocations");
    }
    if (ranges.empty() && managed_calls_ > 0)
      into_.unknown(
          "cudaMallocManaged: neither sizes nor migrations are recorded; `nsys profile "
          "--cuda-memory-usage=true --cuda-um-gpu-page-faults=true` records both",
          managed_calls_);
  }

  void read_kernels() {
    each_nsight_kernel(database_, [&](const NsightKernelRow& row) {
      const NsightLaunch call = launch(process_of(row.process), row.correlation);
      const std::int32_t where = place(marks_.creation(row.graph_node).value_or(call));
      if (row.name == kWholeGraph)
        into_.unknown(
            "CUDA graphs: recorded as a whole, each is one kernel; `nsys profile --cuda-graph-trace=node` records "
            "their "
            "kernels");
      add_kernel({.name = row.name, .graph = row.graph, .place = where, .facts = row.facts}, row.ran, call);
    });
  }
  void add_kernel(Kernel kernel, const NsightTouches::Span& ran, const NsightLaunch& call) {
    kernel.facts.device = ran.device;
    kernel.facts.duration_ns = ran.end - ran.start;
    const auto name = strings_.find(kernel.name);
    if (name != strings_.end() && is_nccl_kernel(name->second)) nccl_[kernels_.size()] = call;
    add_work(Moment::Kind::Kernel, kernels_.size(), {ran.device, kernel.facts.stream, ran.start, call.time});
    kernels_.push_back(kernel);
    ran_.push_back(ran);
  }

  void read_copies() {
    database_.each_row("CUPTI_ACTIVITY_KIND_MEMCPY",
                       {"start", "deviceId", "streamId", "correlationId", "bytes", "copyKind", "srcKind", "dstKind",
                        "dstDeviceId", "virtualAddress", "end", "migrationCause", "globalPid"},
                       "start", [&](const SqliteRow& row) {
                         const std::int64_t kind = row.integer(5);
                         if (is_migration(kind)) return migration(row);
                         const auto direction = direction_of(kind);
                         if (!direction) return into_.unknown("copies within the host or of unknown kind: left out");
                         ImportBuilder::CopyFacts copy{
                             .direction = *direction, .device = row.integer(1), .bytes = row.integer(4)};
                         copy.stream = row.integer(2);
                         copy.peer = row.integer(8, -1);
                         copy.pinned = row.integer(6, 1) != 0 && row.integer(7, 1) != 0;
                         add_copy(copy, row, 12);
                       });
    touches_.end_series();
    database_.each_row("CUPTI_ACTIVITY_KIND_MEMSET",
                       {"start", "deviceId", "streamId", "correlationId", "bytes", "globalPid"}, "start",
                       [&](const SqliteRow& row) {
                         add_copy({.direction = trace::CopyDirection::Memset,
                                   .device = row.integer(1),
                                   .stream = row.integer(2),
                                   .bytes = row.integer(4)},
                                  row, 5);
                       });
  }
  // Both tables begin with the start, and have the correlation as column 3.
  void add_copy(const ImportBuilder::CopyFacts& copy, const SqliteRow& row, int process) {
    add_work(
        Moment::Kind::Copy, copies_.size(),
        {copy.device, copy.stream, row.required(0), launch(process_of(row.integer(process)), row.integer(3, -1)).time});
    copies_.push_back(copy);
  }

  void migration(const SqliteRow& row) {
    into_.unknown("migrations of unified memory: left out, the simulator makes its own");
    const std::int64_t kind = row.integer(5), cause = row.integer(11);
    const auto address = static_cast<std::uint64_t>(row.integer(9));
    const auto bytes = static_cast<std::uint64_t>(row.integer(4));
    (kind == kMigrationIn ? moved_.in : moved_.out) += bytes;
    if (cause == kEviction) moved_.evicted += bytes;
    if (cause == kAskedFor) prefetch(row.required(0), row.integer(1), kind == kMigrationOut, address, row.integer(4));
    if (cause == kEviction) return;  // says nothing of the kernel that runs
    using Whose = NsightTouch::Whose;
    const auto whose = kind == kMigrationOut ? Whose::RunningOrLast
                       : cause == kAskedFor  ? Whose::RunningOrNext
                                             : Whose::Running;
    touches_.add({whose, row.required(0), address, row.integer(4), row.integer(1), trace::Mode::Read});
    if (kind == kMigrationOut && cause != kAskedFor) host_read(row.required(0), address, row.integer(4));
  }

  void host_read(std::int64_t time, std::uint64_t address, std::int64_t bytes) {
    if (bytes < 1 || bytes > trace::kMostBytes) return;
    const auto kernels =
        static_cast<std::size_t>(std::ranges::upper_bound(ran_, time, {}, &NsightTouches::Span::start) - ran_.begin());
    if (add_host_read(host_reads_, {time, address, address + static_cast<std::uint64_t>(bytes), kernels}))
      moments_.push_back({time, Moment::Kind::HostRead, host_reads_.size() - 1});
  }

  // Of the last call before the migration, on the stream of the next kernel there, which most programs take for it to
  // find its data.
  void prefetch(std::int64_t start, std::int64_t device, bool out, std::uint64_t address, std::int64_t bytes) {
    if (bytes < 1 || bytes > trace::kMostBytes) return;
    const auto after = std::ranges::upper_bound(prefetch_calls_, start);
    const std::int64_t time = after == prefetch_calls_.begin() ? start : *std::prev(after);
    const auto next = std::ranges::find_if(std::ranges::upper_bound(ran_, start, {}, &NsightTouches::Span::start),
                                           ran_.end(), [&](const auto& span) { return span.device == device; });
    const std::int64_t stream =
        next == ran_.end() ? 0 : kernels_[static_cast<std::size_t>(next - ran_.begin())].facts.stream;
    if (add_prefetch(prefetches_, {time, device, stream, out, address, bytes}))
      moments_.push_back({time, Moment::Kind::Prefetch, prefetches_.size() - 1});
  }

  void read_synchronizations() {
    database_.each_row("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", {"start", "deviceId", "streamId", "syncType"}, "start",
                       [&](const SqliteRow& row) {
                         moments_.push_back({row.required(0), Moment::Kind::Synchronize, synchronizations_.size()});
                         synchronizations_.push_back({row.integer(3), row.integer(1), row.integer(2)});
                       });
  }

  void read_errors() {
    database_.each_row(
        "CUDA_UM_GPU_PAGE_FAULT_EVENTS", {"start", "address", "deviceId", "faultAccessType"}, "start",
        [&](const SqliteRow& row) {
          const std::int64_t type = row.integer(3, 1);
          const bool writes = type == 2 || type == 3;  // write, atomic
          touches_.add({NsightTouch::Whose::Running, row.required(0), static_cast<std::uint64_t>(row.integer(1)), 4096,
                        row.integer(2), writes ? trace::Mode::ReadWrite : trace::Mode::Read});
        });
    touches_.end_series();
  }

  void describe() {
    if (moved_.in + moved_.out > 0) into_.unknown(moved_.verdict(), static_cast<std::int64_t>(moved_.in));
    trace::Header& header = into_.header();
    const std::string version = nsight_schema(database_);
    header.provenance = "Nsight Systems' SQLite export, schema " + (version.empty() ? "not stated" : version);
    header.durations = "measured by CUPTI in the profiled run";
    header.durations_status = "measured";
    if (touches_.while_running()) header.durations += "; " + std::string(trace::kFaultyDurations);
    header.operands_status = touches_.empty() ? "none" : "lower_bound";
    std::vector<std::int64_t> times;
    for (const Call& call : calls_) times.push_back(call.end - call.start);
    header.host_op_ns = checked(median(times), trace::kTimes, "the time of a call in ns");
    describe_nsight_gpus(database_, into_);
  }

  void put(const Moment& moment) {
    switch (moment.kind) {
      case Moment::Kind::Iteration:
        into_.iteration();
        place_.layer = "";
        return;
      case Moment::Kind::Call: {
        const Call& call = calls_[moment.index];
        gap_ += clock_.call(call.start, call.end);
        return;
      }
      case Moment::Kind::Allocate: {
        const NsightMemory& memory = memory_[moment.index];
        tensors_[moment.index] =
            into_.allocate_at(memory.address, memory.bytes, {.device = memory.device, .space = memory.space});
        return host_writes(memory);
      }
      case Moment::Kind::Free:
        if (!into_.free_at(memory_[moment.index].address))
          into_.unknown("frees of what was allocated before the recording: left out");
        return;
      case Moment::Kind::HostRead:
        return put(host_reads_[moment.index]);
      case Moment::Kind::Prefetch:
        return put(prefetches_[moment.index]);
      case Moment::Kind::Kernel:
        return kernel(moment.index);
      case Moment::Kind::Copy:
        return into_.copy(copies_[moment.index]);
      case Moment::Kind::Synchronize:
        return synchronize(synchronizations_[moment.index]);
    }
  }

  // What of an allocation later moved to a GPU.
  void host_writes(const NsightMemory& memory) {
    std::vector<trace::Access> written;
    const std::uint64_t end = memory.address + static_cast<std::uint64_t>(memory.bytes);
    for (const ManagedBlocks::Range& range : written_) {
      const std::uint64_t first = std::max(range.address, memory.address);
      const std::uint64_t last = std::min(range.address + static_cast<std::uint64_t>(range.bytes), end);
      const auto place = first < last ? into_.find(first) : std::nullopt;
      if (!place) continue;
      if (const auto access =
              into_.access(place->tensor, trace::Mode::Write, place->offset, static_cast<std::int64_t>(last - first)))
        written.push_back(*access);
    }
    if (written.empty()) return;
    into_.unknown("allocations: the host is taken to have written what later moved to a GPU");
    into_.host_step(0, std::move(written));
  }

  void put(const NsightHostRead& read) {
    const auto place = into_.find(read.address);
    if (!place) return;
    if (const auto access = into_.access(place->tensor, trace::Mode::Read, place->offset,
                                         static_cast<std::int64_t>(read.end - read.address)))
      into_.host_step(0, {*access});
  }

  void put(const NsightPrefetch& prefetch) {
    const auto place = into_.find(prefetch.address);
    if (!place) return into_.unknown("prefetches of what was not seen to be allocated: left out");
    if (const auto range = into_.access(place->tensor, trace::Mode::Read, place->offset, prefetch.bytes))
      into_.prefetch(*range, prefetch.out ? -1 : prefetch.device, prefetch.device, prefetch.stream);
  }

  std::vector<trace::Access> operands(std::size_t index) {
    std::vector<trace::Access> operands;
    for (const NsightTouches::Range& range : touches_.of(index))
      if (const auto access =
              into_.access(tensors_[range.allocation], range.mode, range.first, range.end - range.first))
        operands.push_back(*access);
    return operands;
  }

  void mark(const HostRanges::Place& now) {
    if (now.phase != place_.phase) into_.phase(now.phase.empty() ? "other" : now.phase);
    if (now.layer != place_.layer) into_.layer(now.layer);
    place_ = now;
  }

  // False: not of how many bytes it has.
  bool collective(std::size_t index, const NsightLaunch& call) {
    const auto facts = marks_.collective(call);
    if (!facts) {
      into_.unknown(std::string(kNcclStaysKernel));
      return false;
    }
    std::vector<trace::Access> touched = operands(index);
    if (touched.empty()) into_.unknown(std::string(kNcclTouchesNothing));
    if (const std::int64_t idle = std::exchange(gap_, 0); idle > 0) into_.host_step(idle);
    const ImportBuilder::KernelFacts& kernel = kernels_[index].facts;
    into_.collective({.kind = facts->kind,
                      .communicator = facts->communicator,
                      .device = kernel.device,
                      .stream = kernel.stream,
                      .bytes = facts->bytes,
                      .ranks = facts->ranks,
                      .duration_ns = kernel.duration_ns},
                     std::move(touched));
    return true;
  }

  void kernel(std::size_t index) {
    const std::int32_t place = kernels_[index].place;
    mark(place < 0 ? HostRanges::Place{} : places_[static_cast<std::size_t>(place)]);
    const auto nccl = nccl_.find(index);
    if (nccl != nccl_.end() && collective(index, nccl->second)) return;
    const auto name = strings_.find(kernels_[index].name);
    ImportBuilder::KernelFacts facts = kernels_[index].facts;
    facts.name = name == strings_.end() ? std::string_view("unknown") : std::string_view(name->second);
    facts.gap_ns = std::exchange(gap_, 0);
    std::vector<trace::Access> operands = this->operands(index);
    if (operands.empty())
      into_.unknown(kernels_[index].graph ? "kernels of CUDA graphs: their operands are not known; they touch nothing"
                                          : "kernels: their operands are not known; they touch nothing");
    into_.kernel(facts, std::move(operands));
  }

  void synchronize(const Synchronization& wait) {
    // 1 event, 2 stream waits for event, 3 stream, 4 context.
    if (wait.type == 2) return into_.unknown("waits of a stream for an event: of which is not said; left out");
    if (const std::int64_t idle = std::exchange(gap_, 0); idle > 0) into_.host_step(idle);
    if (wait.type == 3) return into_.synchronize(wait.device, wait.stream);
    if (wait.type != 4)
      into_.unknown("waits of the host for an event: of which is not said, so it waits for the device");
    into_.synchronize_device();
  }

  const SqliteDatabase& database_;
  ImportBuilder& into_;
  std::unordered_map<std::int64_t, std::string> strings_;
  std::vector<Issue> by_correlation_;         // of the calls
  std::vector<std::int64_t> prefetch_calls_;  // when cudaMemPrefetchAsync was called
  std::int64_t managed_calls_ = 0;            // of cudaMallocManaged
  std::vector<StreamWork> work_;              // of kernels and copies
  std::vector<NsightPrefetch> prefetches_;
  std::vector<NsightHostRead> host_reads_;
  UnifiedTraffic moved_;
  std::vector<ManagedBlocks::Range> written_;  // by the host, before it moved
  std::vector<Call> calls_;
  std::vector<NsightMemory> memory_;
  std::vector<trace::TensorId> tensors_;  // of what memory_ allocates, once it is; else -1
  std::vector<Kernel> kernels_;
  std::vector<NsightTouches::Span> ran_;  // when kernels_ did
  std::vector<ImportBuilder::CopyFacts> copies_;
  std::vector<Synchronization> synchronizations_;
  NsightTouches touches_{ran_, memory_};
  NsightMarks marks_;
  std::vector<HostRanges::Place> places_;  // of kernels
  std::map<std::pair<std::string_view, std::string_view>, std::int32_t> place_of_;
  std::map<std::size_t, NsightLaunch> nccl_;  // by kernel
  HostRanges::Place place_;                   // of what came last
  std::vector<Moment> moments_;
  HostClock clock_;
  std::int64_t gap_ = 0;  // host time since the last kernel's launch, calls excluded
};

class NsightImporter final : public Importer {
 public:
  std::string role(std::string_view head) const override { return head.starts_with(kMagic) ? "export" : ""; }

  void import(const std::vector<ImportPart>& parts, ImportBuilder& into, trace::ErrorList& errors) const override {
    const std::string& name = parts[0].file->name();
    if (parts.size() != 1) return errors.add(name, "expected one export; each is a run of its own");
    try {
      const SqliteDatabase database(*parts[0].file);
      if (!Export(database, into).run())
        errors.add(name, "expected the table CUPTI_ACTIVITY_KIND_KERNEL with kernels: record with --trace=cuda");
    } catch (const trace::ParseError& error) {
      errors.add(name, error.message);
    }
  }
};

const bool kRegistered =
    add_plug_in<Importer, NsightImporter>({.name = "nsight",
                                           .summary = "the SQLite export of Nsight Systems",
                                           .source = "nsys export --type sqlite, schemas up to 3.16.1 (2024.6)"});

}  // namespace
}  // namespace uvmsim
