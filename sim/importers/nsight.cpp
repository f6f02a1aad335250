// Nsight Systems' SQLite export (`nsys export --type sqlite`). Tables are made only when they have rows, and columns
// come and go with EXPORT_SCHEMA_VERSION: everything is read by name and may be absent.
#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "importers/importer.h"
#include "importers/nsight_touches.h"
#include "importers/sqlite_database.h"

namespace uvmsim {
namespace {

constexpr std::string_view kMagic{"SQLite format 3\0", 16};

// ENUM_CUDA_MEM_KIND of the export, which is one less than CUPTI's own. Mapped to a trace's spaces.
int space_of(std::int64_t kind) {
  switch (kind) {
    case 0:
      return static_cast<int>(trace::Space::PageableHost);
    case 1:
      return static_cast<int>(trace::Space::PinnedHost);
    case 4:
    case 6:
      return static_cast<int>(trace::Space::Managed);
    case 2:
    case 3:
    case 5:
      return static_cast<int>(trace::Space::Device);
    default:
      return -1;
  }
}

// ENUM_CUDA_MEMCPY_OPER; 11 to 13 are migrations of unified memory, which the simulator makes itself.
std::optional<trace::CopyDirection> direction_of(std::int64_t kind) {
  switch (kind) {
    case 1:
    case 3:
      return trace::CopyDirection::HostToDevice;
    case 2:
    case 4:
      return trace::CopyDirection::DeviceToHost;
    case 5:
    case 6:
    case 7:
    case 8:
      return trace::CopyDirection::DeviceToDevice;
    case 10:
      return trace::CopyDirection::PeerToPeer;
    default:
      return std::nullopt;
  }
}
bool is_migration(std::int64_t kind) { return kind >= 11 && kind <= 13; }

struct Call {
  std::int64_t start = 0, end = 0;
};
using Issue = std::pair<std::int64_t, std::int64_t>;  // correlation, the call's start

struct Moment {
  enum class Kind : std::uint8_t { Call, Free, Allocate, Kernel, Copy, Synchronize };
  std::int64_t time = 0;
  Kind kind = Kind::Call;
  std::size_t index = 0;
};

struct Kernel {
  std::int64_t name = 0;
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
    read_calls();
    read_memory();
    read_kernels();
    read_copies();
    read_synchronizations();
    read_errors();
    if (kernels_.empty()) return false;
    describe();
    // What is still to come, the trace, is as large as all of this.
    by_correlation_ = {};
    ran_ = {};
    std::ranges::stable_sort(moments_, {}, [](const Moment& m) { return std::pair(m.time, m.kind); });
    tensors_.assign(memory_.size(), -1);
    for (const Moment& moment : moments_) put(moment);
    return true;
  }

 private:
  void read_strings() {
    database_.each_row("StringIds", {"id", "value"}, "",
                       [&](const SqliteRow& row) { strings_[row.integer(0)] = row.text(1); });
  }

  void read_calls() {
    database_.each_row("CUPTI_ACTIVITY_KIND_RUNTIME", {"start", "end", "correlationId", "nameId"}, "start",
                       [&](const SqliteRow& row) {
                         const Call call{row.integer(0), std::max(row.integer(0), row.integer(1))};
                         by_correlation_.emplace_back(row.integer(2), call.start);
                         moments_.push_back({call.start, Moment::Kind::Call, calls_.size()});
                         calls_.push_back(call);
                       });
    std::ranges::stable_sort(by_correlation_, {}, &Issue::first);
  }

  // The host's time of what has this correlation; its own start when the call was not recorded.
  std::int64_t issued(std::int64_t correlation, std::int64_t start) {
    const auto found = std::ranges::lower_bound(by_correlation_, correlation, {}, &Issue::first);
    if (found != by_correlation_.end() && found->first == correlation) return found->second;
    into_.unknown("kernels and copies: no call is recorded; they stand where they began");
    return start;
  }

  void read_memory() {
    database_.each_row(
        "CUDA_GPU_MEMORY_USAGE_EVENTS", {"start", "address", "bytes", "deviceId", "memKind", "memoryOperationType"},
        "start", [&](const SqliteRow& row) {
          const bool allocates = row.integer(5) == 0;
          moments_.push_back({row.integer(0), allocates ? Moment::Kind::Allocate : Moment::Kind::Free, memory_.size()});
          memory_.push_back({row.integer(0), static_cast<std::uint64_t>(row.integer(1)), row.integer(2), row.integer(3),
                             space_of(row.integer(4, -1)), allocates});
        });
  }

  void read_kernels() {
    database_.each_row(
        "CUPTI_ACTIVITY_KIND_KERNEL",
        {"start", "end", "deviceId", "streamId", "correlationId", "demangledName", "shortName", "gridX", "gridY",
         "gridZ", "blockX", "blockY", "blockZ", "registersPerThread", "staticSharedMemory", "dynamicSharedMemory"},
        "start", [&](const SqliteRow& row) {
          const auto extent = [&](int first) {
            double all = 1;
            for (int i = first; i < first + 3; ++i)
              all *= static_cast<double>(std::max<std::int64_t>(0, row.integer(i)));
            return all < 9e18 ? static_cast<std::int64_t>(all) : 0;
          };
          const NsightTouches::Span ran{row.integer(0), row.integer(1), row.integer(2)};
          Kernel kernel{.name = row.integer(row.has(5) ? 5 : 6, -1), .facts = {}};
          kernel.facts.device = ran.device;
          kernel.facts.stream = row.integer(3);
          kernel.facts.duration_ns = ran.end - ran.start;
          kernel.facts.grid = extent(7);
          kernel.facts.block = extent(10);
          kernel.facts.registers = row.integer(13);
          kernel.facts.shared_memory = row.integer(14) + row.integer(15);
          moments_.push_back({issued(row.integer(4, -1), ran.start), Moment::Kind::Kernel, kernels_.size()});
          kernels_.push_back(kernel);
          ran_.push_back(ran);
        });
  }

  void read_copies() {
    database_.each_row("CUPTI_ACTIVITY_KIND_MEMCPY",
                       {"start", "deviceId", "streamId", "correlationId", "bytes", "copyKind", "srcKind", "dstKind",
                        "dstDeviceId", "virtualAddress", "end"},
                       "start", [&](const SqliteRow& row) {
                         const std::int64_t kind = row.integer(5);
                         if (is_migration(kind)) {
                           into_.unknown("migrations of unified memory: left out, the simulator makes its own");
                           if (kind == 11)
                             touches_.add({row.integer(0), static_cast<std::uint64_t>(row.integer(9)), row.integer(4),
                                           row.integer(1), trace::Mode::Read});
                           return;
                         }
                         const auto direction = direction_of(kind);
                         if (!direction) return into_.unknown("copies within the host or of unknown kind: left out");
                         ImportBuilder::CopyFacts copy{
                             .direction = *direction, .device = row.integer(1), .bytes = row.integer(4)};
                         copy.stream = row.integer(2);
                         copy.peer = row.integer(8, -1);
                         copy.pinned = row.integer(6, 1) != 0 && row.integer(7, 1) != 0;
                         add_copy(copy, issued(row.integer(3, -1), row.integer(0)));
                       });
    touches_.end_series();
    database_.each_row("CUPTI_ACTIVITY_KIND_MEMSET", {"start", "deviceId", "streamId", "correlationId", "bytes"},
                       "start", [&](const SqliteRow& row) {
                         add_copy({.direction = trace::CopyDirection::Memset,
                                   .device = row.integer(1),
                                   .stream = row.integer(2),
                                   .bytes = row.integer(4)},
                                  issued(row.integer(3, -1), row.integer(0)));
                       });
  }
  void add_copy(const ImportBuilder::CopyFacts& copy, std::int64_t time) {
    moments_.push_back({time, Moment::Kind::Copy, copies_.size()});
    copies_.push_back(copy);
  }

  void read_synchronizations() {
    database_.each_row("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", {"start", "deviceId", "streamId", "syncType"}, "start",
                       [&](const SqliteRow& row) {
                         moments_.push_back({row.integer(0), Moment::Kind::Synchronize, synchronizations_.size()});
                         synchronizations_.push_back({row.integer(3), row.integer(1), row.integer(2)});
                       });
  }

  void read_errors() {
    database_.each_row("CUDA_UM_GPU_PAGE_FAULT_EVENTS", {"start", "address", "deviceId", "faultAccessType"}, "start",
                       [&](const SqliteRow& row) {
                         const std::int64_t type = row.integer(3, 1);
                         const bool writes = type == 2 || type == 3;  // write, atomic
                         touches_.add({row.integer(0), static_cast<std::uint64_t>(row.integer(1)), 4096, row.integer(2),
                                       writes ? trace::Mode::ReadWrite : trace::Mode::Read});
                       });
    touches_.end_series();
  }

  void describe() {
    trace::Header& header = into_.header();
    std::string version;
    database_.each_row("META_DATA_EXPORT", {"name", "value"}, "", [&](const SqliteRow& row) {
      if (row.text(0) == "EXPORT_SCHEMA_VERSION") version = row.text(1);
    });
    header.provenance = "Nsight Systems' SQLite export, schema " + (version.empty() ? "not stated" : version);
    header.durations = "measured by CUPTI in the profiled run";
    header.durations_status = "measured";
    if (!touches_.empty()) header.durations += "; kernels that faulted took the faults' time, too";
    header.operands_status = touches_.empty() ? "none" : "lower_bound";
    std::vector<std::int64_t> times;
    for (const Call& call : calls_) times.push_back(call.end - call.start);
    header.host_op_ns = checked(median(times), trace::kTimes, "the time of a call in ns");
    database_.each_row("TARGET_INFO_GPU", {"id", "name", "totalMemory", "memoryBandwidth"}, "",
                       [&](const SqliteRow& row) {
                         const std::int64_t id = row.integer(0);
                         if (id < 0 || id > 127) return;
                         into_.device(id, {row.text(1), std::clamp<std::int64_t>(row.integer(2), 0, trace::kMostBytes),
                                           0, static_cast<double>(std::max<std::int64_t>(0, row.integer(3)))});
                       });
  }

  void put(const Moment& moment) {
    switch (moment.kind) {
      case Moment::Kind::Call: {
        const Call& call = calls_[moment.index];
        gap_ += clock_.call(call.start, call.end);
        return;
      }
      case Moment::Kind::Allocate: {
        const NsightMemory& memory = memory_[moment.index];
        tensors_[moment.index] =
            into_.allocate_at(memory.address, memory.bytes, {.device = memory.device, .space = memory.space});
        return;
      }
      case Moment::Kind::Free:
        if (!into_.free_at(memory_[moment.index].address))
          into_.unknown("frees of what was allocated before the recording: left out");
        return;
      case Moment::Kind::Kernel:
        return kernel(moment.index);
      case Moment::Kind::Copy:
        return into_.copy(copies_[moment.index]);
      case Moment::Kind::Synchronize:
        return synchronize(synchronizations_[moment.index]);
    }
  }

  void kernel(std::size_t index) {
    const auto name = strings_.find(kernels_[index].name);
    ImportBuilder::KernelFacts facts = kernels_[index].facts;
    facts.name = name == strings_.end() ? std::string_view("unknown") : std::string_view(name->second);
    facts.gap_ns = std::exchange(gap_, 0);
    std::vector<trace::Access> operands;
    for (const NsightTouches::Range& range : touches_.of(index))
      if (const auto access =
              into_.access(tensors_[range.allocation], range.mode, range.first, range.end - range.first))
        operands.push_back(*access);
    if (operands.empty()) into_.unknown("kernels: their operands are not known; they touch nothing");
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
  std::vector<Issue> by_correlation_;  // of the calls
  std::vector<Call> calls_;
  std::vector<NsightMemory> memory_;
  std::vector<trace::TensorId> tensors_;  // of what memory_ allocates, once it is; else -1
  std::vector<Kernel> kernels_;
  std::vector<NsightTouches::Span> ran_;  // when kernels_ did
  std::vector<ImportBuilder::CopyFacts> copies_;
  std::vector<Synchronization> synchronizations_;
  NsightTouches touches_{ran_, memory_};
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

const bool registered =
    add_plug_in<Importer, NsightImporter>({.name = "nsight",
                                           .summary = "the SQLite export of Nsight Systems",
                                           .source = "nsys export --type sqlite, schemas up to 3.16.1 (2024.6)"});

}  // namespace
}  // namespace uvmsim
