#include <algorithm>
#include <list>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/indexed_vector.h"
#include "base/user_error.h"
#include "plan/call_policy.h"
#include "plan/kernel_choice.h"
#include "plan/side_stream.h"
#include "plan/tensor_lives.h"
#include "trace/header.h"

namespace uvmsim {
namespace {

using trace::TensorId;

// When to prefetch, as far as that is decided before the program runs.
const std::vector<std::string> kBeforeItRuns = {"always", "footprint", "shadow"};

struct OperandPrefetchOptions {
  std::string kernels = "all";
  std::string which = "all";
  Bytes min_bytes{};
  std::string when = "always";
  double shadow_capacity = 1;
  int ahead = 0;
  bool guard = true;

  static const Description& description() {
    using O = OperandPrefetchOptions;
    static const Description d =
        Describe<O>("cudaMemPrefetchAsync of each kernel's operands before its launch")
            .text("kernels", &O::kernels,
                  "the kernels before which to prefetch: all, or classes (convolution, pooling, normalization, "
                  "pointwise, gemm, "
                  "embedding, reduction, optimizer, other) and parts of names, separated by commas")
            .text("which", &O::which, "operands: all, those that are read, those that are written",
                  {"all", "inputs", "outputs"})
            .bytes("min_bytes", &O::min_bytes, "smaller operands are left to faults")
            .plug_in("when", &O::when, "gate",
                     "always; footprint: once the framework holds more memory from the driver than the GPU has; "
                     "shadow: operands that the program's own record of recent use does not hold; a gate, which is "
                     "asked when the program runs: oracle: operands that are not wholly resident when their turn "
                     "comes, at no cost for the others (an upper bound)",
                     kBeforeItRuns)
            .number("shadow_capacity", &O::shadow_capacity, "of \"shadow\": share of the GPU's memory it counts on",
                    {0.01, 2})
            .integer("ahead", &O::ahead,
                     "prefetch while the kernel that many launches before runs, on a stream of its own; 0: right "
                     "before the kernel, on its stream",
                     {0, 64}, "kernels")
            .flag("guard", &O::guard,
                  "of \"ahead\": never so early that the operands of the kernels in between would not fit too")
            .build();
    return d;
  }
};

// What a program believes to be on its GPU: the 2 MiB frames it used last, as many as there is room for. It knows
// addresses, its own kernels and its own prefetches; it does not know what the driver evicts, and when.
class Shadow {
 public:
  explicit Shadow(std::size_t frames) : capacity_(frames) {}

  bool holds(VirtualAddress address, std::int64_t bytes) const {
    for (VirtualAddress frame = address / kBlockBytes; frame <= last_frame(address, bytes); ++frame)
      if (!at_.contains(frame)) return false;
    return true;
  }
  void touch(VirtualAddress address, std::int64_t bytes) {
    for (VirtualAddress frame = address / kBlockBytes; frame <= last_frame(address, bytes); ++frame) {
      const auto found = at_.find(frame);
      if (found != at_.end()) {
        order_.splice(order_.end(), order_, found->second);
        continue;
      }
      at_[frame] = order_.insert(order_.end(), frame);
      if (at_.size() <= capacity_) continue;
      at_.erase(order_.front());
      order_.pop_front();
    }
  }

 private:
  static VirtualAddress last_frame(VirtualAddress address, std::int64_t bytes) {
    return (address + static_cast<VirtualAddress>(bytes) - 1) / kBlockBytes;
  }
  std::size_t capacity_;
  std::list<VirtualAddress> order_;                                             // the least recently used first
  std::unordered_map<VirtualAddress, std::list<VirtualAddress>::iterator> at_;  // looked up, never walked
};

// One walk over a trace.
class Insertion {
 public:
  Insertion(const OperandPrefetchOptions& options, const trace::Trace& trace, const CallSetting& setting)
      : options_(options),
        trace_(trace),
        setting_(setting),
        lives_(trace, setting.placement.memory),
        choice_(options.kernels, trace),
        side_(first_free_stream(trace), first_free_event(trace), options.ahead + 1) {
    if (options.when == "footprint") {
      place(trace, setting.placement, &pool_);
    } else if (options.when == "shadow") {
      const auto frames = static_cast<double>(setting.gpu_memory.value) * options.shadow_capacity / kBlockBytes;
      for (std::size_t g = 0; g < trace::device_count(trace.header); ++g)
        shadows_.emplace_back(static_cast<std::size_t>(frames));
      PlacementOptions placement = setting.placement;
      placement.keep_tensors = true;
      for (const auto& tensor : place(trace, placement).tensors) addresses_[tensor.id] = tensor.address;
    }
  }

  std::vector<InsertedCall> run() {
    for (std::size_t i = 0; i < trace_.records.size(); ++i) {
      const trace::Record& record = trace_.records[i];
      if (const auto* alloc = std::get_if<trace::Alloc>(&record))
        note_pool(*alloc);
      else if (const auto* free = std::get_if<trace::Free>(&record))
        note_pool(lives_.of(free->tensor).alloc);
      else if (const auto* kernel = std::get_if<trace::Kernel>(&record))
        visit(i, *kernel);
    }
    std::ranges::stable_sort(calls_, {}, &InsertedCall::at);
    return std::move(calls_);
  }

 private:
  struct Launch {
    std::size_t at;
    std::int32_t stream;
    std::vector<KernelOperand> operands;
  };

  // An allocation or free of the framework: the pool may have grown.
  void note_pool(const trace::Alloc& alloc) {
    const bool on_host = alloc.space == static_cast<std::int8_t>(trace::Space::PinnedHost) ||
                         alloc.space == static_cast<std::int8_t>(trace::Space::PageableHost);
    if (on_host || samples_ == pool_.size()) return;
    most_bytes_ = std::max(most_bytes_, pool_[samples_++].reserved_bytes);
  }

  void visit(std::size_t at, const trace::Kernel& kernel) {
    recent_.push_back({at, kernel.stream, operands_of(trace_, lives_, kernel)});
    if (recent_.size() > static_cast<std::size_t>(options_.ahead) + 1) recent_.erase(recent_.begin());
    const Launch& launch = recent_.back();
    const bool asks =
        choice_.holds(kernel) && (options_.when != "footprint" || most_bytes_ > setting_.gpu_memory.value);
    std::vector<KernelOperand> wanted;
    for (const KernelOperand& operand : launch.operands)
      if (asks && chosen(operand) && absent(operand, DeviceOrdinal{kernel.device})) wanted.push_back(operand);
    for (const KernelOperand& operand : launch.operands) note_use(operand, DeviceOrdinal{kernel.device});
    if (options_.ahead == 0) {
      for (const KernelOperand& operand : wanted) calls_.push_back({at, prefetch(operand, kernel, kernel.stream)});
    } else {
      prefetch_ahead(launch, kernel, wanted);
    }
  }

  bool chosen(const KernelOperand& operand) const {
    if (operand.outer - operand.offset < options_.min_bytes.value) return false;
    return options_.which == "all" || (options_.which == "inputs" ? operand.read : operand.written);
  }

  bool absent(const KernelOperand& operand, DeviceOrdinal device) const {
    return shadows_.empty() || !shadows_[device].holds(address(operand), length(operand));
  }
  void note_use(const KernelOperand& operand, DeviceOrdinal device) {
    if (!shadows_.empty()) shadows_[device].touch(address(operand), length(operand));
  }
  VirtualAddress address(const KernelOperand& operand) const {
    return addresses_.at(operand.tensor) + static_cast<VirtualAddress>(operand.offset);
  }
  static std::int64_t length(const KernelOperand& operand) { return operand.outer - operand.offset; }

  static trace::Record prefetch(const KernelOperand& operand, const trace::Kernel& kernel, std::int32_t stream) {
    return trace::Prefetch{operand.tensor, operand.offset, length(operand), kernel.device, stream};
  }

  // The operands that exist early enough start with the kernel `ahead` launches before, or with a later one where that
  // would evict what is used sooner; the others are prefetched right before their kernel.
  void prefetch_ahead(const Launch& launch, const trace::Kernel& kernel, const std::vector<KernelOperand>& wanted) {
    const std::size_t start = recent_[first_that_fits()].at;
    std::vector<trace::Record> early;
    for (const KernelOperand& operand : wanted) {
      if (start < launch.at && lives_.of(operand.tensor).lives_at(start))
        early.push_back(prefetch(operand, kernel, side_.stream()));
      else
        calls_.push_back({launch.at, prefetch(operand, kernel, kernel.stream)});
    }
    if (early.empty()) return;
    const std::int32_t end = side_.start(start, kernel.stream, early, calls_);
    calls_.push_back({launch.at, trace::EventWait{end, kernel.stream}});
  }

  // The first of the recent launches from which on all operands fit on the GPU together: prefetching for the last of
  // them evicts nothing that the others use.
  std::size_t first_that_fits() const {
    std::size_t first = recent_.size() - 1;
    if (!options_.guard) return 0;
    std::map<TensorId, bool> counted;
    std::int64_t bytes = 0;
    for (std::size_t i = recent_.size(); i-- > 0;) {
      for (const KernelOperand& operand : recent_[i].operands)
        if (counted.emplace(operand.tensor, true).second) bytes += length(operand);
      if (bytes > setting_.gpu_memory.value) break;
      first = i;
    }
    return first;
  }

  const OperandPrefetchOptions& options_;
  const trace::Trace& trace_;
  const CallSetting& setting_;
  TensorLives lives_;
  KernelChoice choice_;
  SideStream side_;
  std::vector<Launch> recent_;                              // the last ahead + 1 launches
  std::vector<PoolSample> pool_;                            // for "footprint"
  std::size_t samples_ = 0;                                 // of it seen so far
  std::int64_t most_bytes_ = 0;                             // held from the driver so far, at most
  IndexedVector<DeviceOrdinal, Shadow> shadows_;            // empty: the policy keeps none
  std::unordered_map<TensorId, VirtualAddress> addresses_;  // looked up, never walked
  std::vector<InsertedCall> calls_;
};

class OperandPrefetch final : public With<CallPolicy, OperandPrefetchOptions> {
 public:
  std::vector<InsertedCall> calls(const trace::Trace& trace, const CallSetting& setting) const override {
    if (options_.ahead > 0 && trace.header.devices.size() > 1)
      throw UserError(trace.header.name, "operand_prefetch looks ahead on one device only");
    return Insertion(options_, trace, setting).run();
  }

  std::string gate() const override {
    return std::ranges::find(kBeforeItRuns, options_.when) == kBeforeItRuns.end() ? options_.when : "";
  }
};

const bool kRegistered = add_plug_in<CallPolicy, OperandPrefetch>(
    {.name = "operand_prefetch",
     .summary = "prefetch the operands of each kernel, always or only when needed, or ahead of it",
     .source = "Sakharnykh et al., GTC 2019: manual API prefetch, prefetch only when needed, lazy and eager prefetch"});

}  // namespace
}  // namespace uvmsim
