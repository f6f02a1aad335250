#include <algorithm>
#include <map>

#include "base/check.h"
#include "base/number_text.h"
#include "memory/allocator.h"
#include "report/view.h"

namespace uvmsim {
namespace {

constexpr std::size_t kParts = 24;
constexpr std::int64_t kWidth = 40;  // of a bar

// What the process holds from the driver and what of it lives, as a program goes on: [address, address + bytes).
class Memory {
 public:
  void take(const Op& op) {
    if (const auto* m = std::get_if<op::MallocManaged>(&op)) held_[m->address] = m->bytes;
    if (const auto* m = std::get_if<op::MallocDevice>(&op)) held_[m->address] = m->bytes;
    if (const auto* f = std::get_if<op::FreeManaged>(&op)) held_.erase(f->address);
    if (const auto* f = std::get_if<op::FreeDevice>(&op)) held_.erase(f->address);
  }
  void allocate(VirtualAddress address, std::int64_t bytes) { live_[address] = bytes; }
  void free(VirtualAddress address) { live_.erase(address); }

  // Without the fragmentation that follows from them.
  PoolState state() const {
    PoolState pool;
    for (const auto& [address, bytes] : held_) pool.reserved_bytes += bytes;
    for (const auto& [address, bytes] : live_) pool.live_bytes += bytes;
    pool.active_bytes = pool.live_bytes;
    auto tensor = live_.begin();
    for (const auto& [address, bytes] : held_) {
      VirtualAddress free_from = address;
      const VirtualAddress end = address + static_cast<VirtualAddress>(bytes);
      while (tensor != live_.end() && tensor->first < address) ++tensor;
      for (; tensor != live_.end() && tensor->first < end; ++tensor) {
        note_hole(free_from, tensor->first, pool);
        free_from = tensor->first + static_cast<VirtualAddress>(tensor->second);
      }
      note_hole(free_from, end, pool);
    }
    return with_fragmentation(pool);
  }

 private:
  static void note_hole(VirtualAddress from, VirtualAddress to, PoolState& pool) {
    if (to > from) pool.largest_free_bytes = std::max(pool.largest_free_bytes, static_cast<std::int64_t>(to - from));
  }

  std::map<VirtualAddress, std::int64_t> held_, live_;
};

// Walks trace and program together, up to one record after the other.
class Walk {
 public:
  explicit Walk(const ViewInput& input) : trace_(input.trace) {
    PlacementOptions options = input.setting.placement;
    options.keep_tensors = true;
    program_ = place(trace_, options);
    next_ = program_.tensors.begin();
  }

  // The state before record `record`, which is not before the one asked for last.
  PoolState before(std::size_t record) {
    for (; record_ < record; ++record_) step();
    return memory_.state();
  }

 private:
  void step() {
    const std::size_t end =
        record_ + 1 < program_.record_ops.size() ? program_.record_ops[record_ + 1] : program_.ops.size();
    for (; op_ < end; ++op_) memory_.take(program_.ops[op_]);
    const trace::Record& record = trace_.records[record_];
    if (const auto* alloc = std::get_if<trace::Alloc>(&record);
        alloc != nullptr && counts_in_plans(*alloc, DeviceOrdinal{alloc->device})) {
      addresses_[alloc->tensor] = next_->address;
      memory_.allocate(next_->address, next_->bytes);
      ++next_;
    }
    if (const auto* free = std::get_if<trace::Free>(&record))
      if (const auto found = addresses_.find(free->tensor); found != addresses_.end()) {
        memory_.free(found->second);
        addresses_.erase(found);
      }
  }

  const trace::Trace& trace_;
  Program program_;
  std::vector<TensorPlacement>::const_iterator next_;
  std::map<trace::TensorId, VirtualAddress> addresses_;
  Memory memory_;
  std::size_t record_ = 0, op_ = 0;
};

class Fragmentation final : public View {
 public:
  ViewTable table(const ViewInput& input) const override {
    ViewTable table{
        .title = "memory held and lost over one iteration; fragmented: 1 - the largest hole / all that is free",
        .columns = {"at_s", "kernel", "live_bytes", "held_bytes", "free_bytes", "largest_free_bytes",
                    "fragmented_share"},
        .rows = {}};
    if (input.iterations.empty()) return table;
    const ObservedIteration& of = input.iterations.front();  // memory is that of the process
    const std::vector<std::size_t>& kernels = of.records.kernels;
    Walk walk(input);
    PoolState worst;
    std::int64_t most = 1;
    std::vector<PoolState> states;
    const std::size_t rows = std::min(kParts, kernels.size());
    for (std::size_t row = 0; row < rows; ++row) {
      const std::size_t kernel = row * kernels.size() / rows;
      const PoolState pool = states.emplace_back(walk.before(kernels[kernel]));
      most = std::max(most, pool.reserved_bytes);
      if (pool.external_fragmentation > worst.external_fragmentation) worst = pool;
      table.rows.push_back({seconds(of.profile.start(static_cast<std::int32_t>(kernel))),
                            static_cast<std::int64_t>(kernel), pool.live_bytes, pool.reserved_bytes,
                            pool.reserved_bytes - pool.live_bytes, pool.largest_free_bytes,
                            pool.external_fragmentation});
    }
    for (const PoolState& pool : states) table.pictures.push_back(bar(pool, most));
    table.finding = "with the allocator " + input.setting.placement.allocator + " at most " +
                    percent_text(worst.external_fragmentation) + " fragmented: of " +
                    bytes_text(worst.reserved_bytes - worst.live_bytes) + " free the largest hole is " +
                    bytes_text(worst.largest_free_bytes);
    return table;
  }

 private:
  static std::string bar(const PoolState& pool, std::int64_t most) {
    const auto cells = [&](std::int64_t bytes) {
      return static_cast<std::size_t>(static_cast<double>(bytes) / static_cast<double>(most) * kWidth);
    };
    const std::size_t live = cells(pool.live_bytes), held = std::max(cells(pool.reserved_bytes), live);
    return std::string(live, '#') + std::string(held - live, '.') + std::string(kWidth - held, ' ');
  }
};

const bool kRegistered = add_plug_in<View, Fragmentation>(
    {.name = "fragmentation",
     .summary = "memory in use, held by the allocator and lost to fragmentation, over an iteration",
     .source = "Pinpointing the Memory Behaviors of DNN Training, ISPASS 2021, section III: fragmentation"});

}  // namespace
}  // namespace uvmsim
