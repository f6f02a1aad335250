// What a report shows of the course of a run: series over time, and what stalled. Bounded in size.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/indexed_vector.h"
#include "observe/observer.h"
#include "observe/series.h"

namespace uvmsim {

// Series of a GPU.
enum class GpuSeries { Resident, FaultEntries, Batches, BytesIn, BytesOut, Evicted };
inline constexpr std::size_t kGpuSeries = 6;

struct GpuObservations {
  std::array<SeriesPicture, kGpuSeries> series;  // bytes; the others per second
};

struct LinkObservations {
  std::string name;
  double bandwidth = 0;   // bytes per second
  SeriesPicture carried;  // bytes per second
};

// All kernels of one name.
struct KernelObservations {
  std::string name;
  std::int64_t count = 0;
  Duration in_core{};
  KernelTime time;
};

// All tensors of one label. A batch's time is divided among its faults equally, and a fault belongs to the operand of
// the running kernel that its page is in.
struct TensorObservations {
  std::string label;
  std::int64_t faults = 0;
  double batch_s = 0;
};

// One tensor during the watched iteration.
struct ObservedTensor {
  std::string label;
  std::int64_t bytes = 0;
  Time first_use{}, last_use{};  // by kernels
  // At each of Observations::sampled: '0' none of it is on the GPU, '1' .. '9' up to this many ninths are.
  std::string resident;
};

struct IterationMark {
  GpuIndex gpu{};
  std::int64_t index = 0;
  Time at{};
};

struct Observations {
  Time end{};
  std::vector<IterationMark> iterations;
  IndexedVector<GpuIndex, GpuObservations> gpus;
  std::vector<SeriesPicture> reserved;  // per process, bytes
  std::vector<LinkObservations> links;
  std::vector<KernelObservations> kernels;  // most stalled first
  std::vector<TensorObservations> tensors;  // most stalled first
  GpuIndex watched_gpu{};
  Time watched_begin{}, watched_end{};
  std::vector<Time> sampled;
  std::vector<ObservedTensor> lives;  // those used, by first use
};

// Which tensors to watch: computed from the program before the run.
struct ObservationSetup {
  std::vector<std::string> labels;
  std::vector<std::int32_t> label_of;  // of each tensor of the program, into `labels`
  // Their residency is sampled, and their uses noted, while the iteration runs on the GPU.
  std::vector<TensorRange> watched;
  GpuIndex gpu{};
  std::int64_t iteration = kWholeRun;
  static constexpr std::int64_t kWholeRun = -1;
};

class ObservationRecorder final : public Observer {
 public:
  static constexpr std::size_t kPoints = 400;   // of a series, at most
  static constexpr std::size_t kSamples = 240;  // of residency, at most

  explicit ObservationRecorder(ObservationSetup setup);

  void link_opened(const ObservedLink&) override;
  void iteration(GpuIndex gpu, std::int64_t index, Time at) override;
  void kernel_started(const KernelStart&) override;
  void kernel(const KernelSpan&) override;
  void fault_batch(const FaultBatchSpan&) override;
  void copy(const CopySpan&) override;
  void eviction(const EvictionEvent&) override;
  void transfer(const LinkTransfer&) override;
  void resident(GpuIndex gpu, Time at, Bytes bytes) override;
  void reserved(int process, Time at, Bytes bytes) override;
  std::span<const TensorRange> residency_wanted(GpuIndex gpu, Time at) override;
  void residency(GpuIndex gpu, Time at, std::span<const std::int64_t> bytes) override;

  // After the run.
  Observations observations() const;

 private:
  struct Gpu {
    LevelSeries resident;
    FlowSeries entries, batches, bytes_in, bytes_out, evicted;
    std::vector<TensorRange> operands;  // of the kernel that runs
    std::vector<std::int32_t> running;  // watched ones of these, into setup_.watched
  };
  struct Link {
    std::string name;
    double bandwidth = 0;
    FlowSeries carried;
  };
  struct Use {
    Time first = kNever, last{};
  };
  Gpu& gpu(GpuIndex index);
  void see(Time at) { end_ = std::max(end_, at); }
  bool watching(GpuIndex gpu) const { return watching_ && gpu == setup_.gpu; }
  void thin_out();

  ObservationSetup setup_;
  std::vector<std::int32_t> watched_of_;  // of each tensor of the program, into setup_.watched; -1: not watched
  IndexedVector<GpuIndex, Gpu> gpus_;
  std::vector<LevelSeries> reserved_;
  std::vector<Link> links_;
  std::map<std::string, KernelObservations, std::less<>> kernels_;
  std::vector<TensorObservations> tensors_;  // by label
  std::vector<IterationMark> iterations_;
  bool watching_ = false;
  Time watched_begin_{}, watched_end_{}, last_iteration_{};
  Duration interval_{};
  Time next_sample_{};
  std::vector<Time> sampled_;
  std::vector<Use> uses_;
  std::vector<std::string> residency_;  // per watched tensor
  Time end_{};
};

}  // namespace uvmsim
