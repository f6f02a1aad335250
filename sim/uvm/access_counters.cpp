#include "uvm/access_counters.h"

#include <algorithm>

#include "uvm/driver_state.h"
#include "uvm/service.h"

namespace uvmsim {
namespace {

PageMask whole_big_pages(const PageMask& pages) {
  PageMask out;
  for (std::uint32_t first = 0; first < kPagesPerBlock; first += kPagesPerBigPage)
    if (const PageRegion big{first, first + kPagesPerBigPage}; pages.count(big) > 0) out.set(big);
  return out;
}

// Whether the memory behind `page` at `where` is one piece of 2 MiB.
bool in_whole_chunk(const VaBlock& block, ProcessorId where) {
  if (where.is_cpu()) return block.cpu.whole_chunk;
  const GpuBlockState* state = block.find_gpu(where.gpu_index());
  return state != nullptr && state->root != kNoRootChunk;
}

// The pages to migrate of those a notification names: all that are where its first remote page is when that memory is
// one piece of 2 MiB, else that page alone. Driver: expand_notification_block; before it service_phys_notification,
// which migrates all of them.
PageMask pages_to_migrate(const DriverState& driver, const VaBlock& block, ProcessorId gpu, const PageMask& named) {
  const PageMask remote = (named & block.resident_anywhere()) - block.resident(gpu);
  if (remote.none() || !driver.traits.expands_notifications) return remote;
  const std::uint32_t first = remote.next_set(0);
  const ProcessorId holder = driver.topology.closest(gpu, block.holders(first));
  return in_whole_chunk(block, holder) ? remote & block.resident(holder)
                                       : PageMask::of(driver.host_pages.around(first));
}

}  // namespace

AccessCounters::AccessCounters(const Machine& machine, const GpuSpec& gpu)
    : threshold_(machine.driver.uvm_perf_access_counter_threshold),
      batch_count_(static_cast<std::size_t>(machine.driver.uvm_perf_access_counter_batch_count)),
      watched_pages_(
          static_cast<std::uint32_t>(machine.driver.uvm_perf_access_counter_granularity.value / kPageBytes)) {
  const int enable = machine.driver.uvm_perf_access_counter_migration_enable;
  enabled_ = gpu.architecture != "pascal" && (enable > 0 || (enable < 0 && has_ats(gpu)));
  served_ = enable > 0 || machine.host.page_size.value > kPageBytes ||
            !driver_traits(machine.driver.version).drops_notifications;
}

void AccessCounters::count(int va_space, FrameIndex frame, const PageMask& pages, std::int64_t accesses) {
  for (std::uint32_t first = 0; first < kPagesPerBlock; first += watched_pages_) {
    const PageMask watched = pages & PageMask::of({first, first + watched_pages_});
    if (watched.none()) continue;
    const Key key{va_space, first_page_of(frame) + first};
    Counter& counter = counters_[key];
    const bool quiet = counter.accesses < threshold_;
    counter.accesses += accesses * watched.count();
    counter.touched |= whole_big_pages(watched);
    if (quiet && counter.accesses >= threshold_) notified_.push_back(key);
  }
}

std::vector<AccessNotification> AccessCounters::fetch() {
  const auto end = notified_.begin() + static_cast<std::ptrdiff_t>(std::min(notified_.size(), batch_count_));
  std::sort(notified_.begin(), end);
  std::vector<AccessNotification> batch;
  for (auto key = notified_.begin(); key != end; ++key) {
    const auto counter = counters_.find(*key);
    batch.push_back({key->first, frame_of(key->second), counter->second.touched});
    counters_.erase(counter);
  }
  notified_.erase(notified_.begin(), end);
  return batch;
}

bool UvmDriver::counts_accesses(GpuIndex gpu) const { return state_->counters_of(gpu).served(); }

void UvmDriver::count_accesses(GpuIndex gpu, int va_space, FrameIndex frame, const PageMask& pages,
                               std::int64_t accesses) {
  if (counts_accesses(gpu)) state_->counters_of(gpu).count(va_space, frame, pages, accesses);
}

bool UvmDriver::notified(GpuIndex gpu) const { return state_->counters_of(gpu).notified(); }

std::vector<AccessNotification> UvmDriver::fetch_notifications(GpuIndex gpu) {
  state_->memory(gpu).begin_batch();
  return state_->counters_of(gpu).fetch();
}

BlockWork& UvmDriver::service(GpuIndex gpu, const AccessNotification& notification, Time now) {
  BlockWork& work = state_->counter_work[gpu];
  work.clear();
  const PageNumber base = first_page_of(notification.frame);
  std::vector<FaultBatch::Representative> pages;
  VaSpace& space = state_->space(notification.va_space);
  space.for_each_block(base, base + kPagesPerBlock, [&](const VaBlock& block, BlockHandle handle) {
    pages.clear();
    const PageMask wanted = pages_to_migrate(*state_, block, ProcessorId::gpu(gpu), notification.pages);
    for_each_page(state_->host_pages.firsts(wanted), [&](std::uint32_t page) {
      pages.push_back({base + page, AccessType::Prefetch, 1});
    });
    if (pages.empty()) return;
    ServiceRequest request;
    request.block = handle;
    request.faulter = ProcessorId::gpu(gpu);
    request.cause = MakeResidentCause::AccessCounter;
    request.faults = pages;
    request.now = now;
    const int before = work.faults_serviced;
    service_block(*state_, request, work);
    state_->end_operation();
    work.cpu += work.faults_serviced > before ? state_->costs(gpu).block : state_->costs(gpu).stale_block;
  });
  work.out_of_memory = false;  // nobody needs the pages there
  return work;
}

}  // namespace uvmsim
