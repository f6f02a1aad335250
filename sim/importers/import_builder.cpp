#include "importers/import_builder.h"

#include <algorithm>
#include <array>

#include "base/check.h"

namespace uvmsim {

using trace::Access;
using trace::Mode;
using trace::ParseError;

std::int64_t checked(std::int64_t value, trace::Limits limits, std::string_view what) {
  if (value >= limits.low && value <= limits.high) return value;
  throw ParseError{"expected " + std::string(what) + " of " + std::to_string(limits.low) + ".." +
                   std::to_string(limits.high) + ", found " + std::to_string(value)};
}

std::int64_t HostClock::call(std::int64_t start, std::int64_t end) {
  const std::int64_t gap = busy_until_ ? std::max<std::int64_t>(0, start - *busy_until_) : 0;
  busy_until_ = busy_until_ ? std::max(*busy_until_, end) : end;
  return gap;
}

std::int64_t median(std::vector<std::int64_t>& values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::int64_t product_of(const Extents& extents) {
  std::int64_t product = 1;
  for (const std::int64_t extent : extents)
    if (extent < 0 || __builtin_mul_overflow(product, extent, &product)) return 0;
  return product;
}

ImportBuilder::ImportBuilder() : records_(trace::Header{}) {}

std::int8_t ImportBuilder::device_number(std::int64_t device) {
  used_devices_[checked(device, trace::kDevices, "a device")] = true;
  return static_cast<std::int8_t>(device);
}

std::int32_t ImportBuilder::stream_index(std::int64_t device, std::int64_t stream) {
  const auto next = static_cast<std::int32_t>(streams_.size());
  return streams_.try_emplace({device, stream}, next).first->second;
}

trace::TensorId ImportBuilder::allocate(std::int64_t bytes, const AllocationFacts& facts) {
  checked(bytes, {1, trace::kMostBytes}, "an allocation's bytes");
  const std::int8_t device = device_number(facts.device);
  const trace::TensorId tensor = static_cast<trace::TensorId>(tensors_.size()) + 1;
  records_.append(trace::Alloc{.tensor = tensor,
                               .bytes = bytes,
                               .kind = static_cast<std::uint8_t>(facts.kind),
                               .device = device,
                               .stream = stream_index(facts.device, facts.stream),
                               .space = static_cast<std::int8_t>(facts.space)});
  tensors_[tensor] = {bytes, true, std::nullopt};
  return tensor;
}

void ImportBuilder::free(trace::TensorId tensor) {
  Tensor& freed = tensors_.at(tensor);
  UVMSIM_CHECK(freed.live, "only live tensors are freed");
  freed.live = false;
  if (freed.address) by_address_.erase(*freed.address);
  records_.free(tensor);
}

bool ImportBuilder::is_live(trace::TensorId tensor) const {
  const auto found = tensors_.find(tensor);
  return found != tensors_.end() && found->second.live;
}

std::int64_t ImportBuilder::size_of(trace::TensorId tensor) const { return tensors_.at(tensor).bytes; }

trace::TensorId ImportBuilder::allocate_at(std::uint64_t address, std::int64_t bytes, const AllocationFacts& facts) {
  checked(bytes, {1, trace::kMostBytes}, "an allocation's bytes");
  if (address > UINT64_MAX - static_cast<std::uint64_t>(bytes)) throw ParseError{"the allocation wraps around"};
  auto over = by_address_.upper_bound(address);
  if (over != by_address_.begin()) {
    const auto before = std::prev(over);
    if (before->first + static_cast<std::uint64_t>(size_of(before->second)) > address) over = before;
  }
  std::vector<trace::TensorId> stale;
  for (; over != by_address_.end() && over->first < address + static_cast<std::uint64_t>(bytes); ++over)
    stale.push_back(over->second);
  for (const trace::TensorId tensor : stale) {
    free(tensor);
    unknown("frees that were not recorded: the allocation was freed when another one took its address");
  }
  const trace::TensorId tensor = allocate(bytes, facts);
  tensors_[tensor].address = address;
  by_address_[address] = tensor;
  return tensor;
}

bool ImportBuilder::free_at(std::uint64_t address) {
  const auto found = by_address_.find(address);
  if (found == by_address_.end()) return false;
  free(found->second);
  return true;
}

std::optional<ImportBuilder::Place> ImportBuilder::find(std::uint64_t address) const {
  auto after = by_address_.upper_bound(address);
  if (after == by_address_.begin()) return std::nullopt;
  --after;
  const std::uint64_t offset = address - after->first;
  if (offset >= static_cast<std::uint64_t>(size_of(after->second))) return std::nullopt;
  return Place{after->second, static_cast<std::int64_t>(offset)};
}

std::optional<Access> ImportBuilder::access(trace::TensorId tensor, Mode mode, std::int64_t offset,
                                            std::int64_t length) const {
  if (!is_live(tensor)) return std::nullopt;
  const std::int64_t size = size_of(tensor);
  if (offset < 0 || offset >= size || length == 0 || length < -1) return std::nullopt;
  if (length == -1 || length > size - offset) length = size - offset;
  const bool to_the_end = offset + length == size;
  return Access{.tensor = tensor, .mode = mode, .offset = offset, .length = to_the_end ? -1 : length};
}

trace::AccessSpan ImportBuilder::operands(std::vector<Access>& accesses) {
  std::vector<Access> merged;
  for (const Access& one : accesses) {
    const auto same = std::ranges::find_if(merged, [&](const Access& other) {
      return other.tensor == one.tensor && other.offset == one.offset && other.length == one.length &&
             other.pattern == one.pattern && other.options == one.options;
    });
    if (same == merged.end())
      merged.push_back(one);
    else if (same->mode != one.mode)
      same->mode = Mode::ReadWrite;
  }
  return records_.span_of(merged);
}

void ImportBuilder::kernel(const KernelFacts& facts, std::vector<Access> accesses) {
  using trace::kMostInt32;
  trace::Kernel kernel;
  kernel.device = device_number(facts.device);
  kernel.stream = stream_index(facts.device, facts.stream);
  kernel.duration_ns = checked(facts.duration_ns, trace::kTimes, "a kernel's time in ns");
  kernel.gap_ns = checked(facts.gap_ns, trace::kTimes, "the host's time in ns");
  kernel.grid = checked(facts.grid, trace::kIds, "a grid");
  kernel.block = static_cast<std::int32_t>(checked(facts.block, trace::kNumbers, "a block's threads"));
  kernel.registers = static_cast<std::int32_t>(checked(facts.registers, trace::kNumbers, "registers"));
  kernel.shared_memory = static_cast<std::int32_t>(checked(facts.shared_memory, trace::kNumbers, "shared memory"));
  kernel.name = records_.string(facts.name);
  kernel.accesses = operands(accesses);
  records_.append(kernel);
  ++kernels_;
}

void ImportBuilder::copy(const CopyFacts& facts, std::vector<Access> accesses) {
  trace::Copy copy;
  copy.direction = facts.direction;
  copy.bytes = checked(facts.bytes, trace::kSizes, "a copy's bytes");
  copy.device = device_number(facts.device);
  copy.stream = stream_index(facts.device, facts.stream);
  copy.pinned = facts.pinned;
  copy.asynchronous = facts.asynchronous;
  if (facts.direction == trace::CopyDirection::PeerToPeer) copy.peer = device_number(facts.peer);
  copy.accesses = operands(accesses);
  records_.append(copy);
}

void ImportBuilder::collective(const CollectiveFacts& facts, std::vector<Access> accesses) {
  trace::CollectiveOp op;
  op.kind = facts.kind;
  op.communicator = static_cast<std::int32_t>(checked(facts.communicator, trace::kNumbers, "a communicator"));
  op.device = device_number(facts.device);
  op.stream = stream_index(facts.device, facts.stream);
  op.bytes = checked(facts.bytes, trace::kSizes, "a collective's bytes");
  op.ranks = static_cast<std::int32_t>(checked(facts.ranks, trace::kNumbers, "ranks"));
  op.duration_ns = checked(facts.duration_ns, trace::kTimes, "a collective's time in ns");
  op.accesses = operands(accesses);
  records_.append(op);
}

void ImportBuilder::prefetch(const Access& range, std::int64_t to, std::int64_t device, std::int64_t stream) {
  const std::int8_t destination = to == -1 ? std::int8_t{-1} : device_number(to);
  records_.append(trace::Prefetch{range.tensor, range.offset, range.length, destination, stream_index(device, stream)});
}

void ImportBuilder::discard(const Access& range, std::int64_t device, std::int64_t stream) {
  records_.append(trace::Discard{range.tensor, range.offset, range.length, stream_index(device, stream)});
}

void ImportBuilder::advise(const Access& range, std::int8_t advice, std::int64_t device) {
  const std::int8_t where = device == -1 ? std::int8_t{-1} : device_number(device);
  records_.append(trace::Advise{range.tensor, range.offset, range.length, advice, where});
}

void ImportBuilder::record_event(std::uint64_t event, std::int64_t device, std::int64_t stream) {
  const std::int32_t index = events_.try_emplace(event, static_cast<std::int32_t>(events_.size())).first->second;
  records_.append(trace::EventRecord{index, stream_index(device, stream)});
}

bool ImportBuilder::wait_event(std::uint64_t event, std::int64_t device, std::int64_t stream) {
  const auto found = events_.find(event);
  if (found == events_.end()) return false;
  records_.append(trace::EventWait{found->second, stream_index(device, stream)});
  return true;
}

void ImportBuilder::synchronize(std::int64_t device, std::int64_t stream) {
  records_.append(trace::Synchronize{stream_index(device, stream)});
}

void ImportBuilder::host_step(std::int64_t duration_ns, std::vector<Access> accesses) {
  trace::HostStep step;
  step.duration_ns = checked(duration_ns, trace::kTimes, "the host's time in ns");
  step.accesses = operands(accesses);
  records_.append(step);
}

void ImportBuilder::device(std::int64_t device, trace::DeviceInfo info) {
  devices_[checked(device, trace::kDevices, "a device")] = std::move(info);
}

trace::Trace ImportBuilder::take() {
  std::array<std::int8_t, 128> number{};
  trace::Header& header = records_.header();
  for (const auto& [device, used] : used_devices_) {
    number[static_cast<std::size_t>(device)] = static_cast<std::int8_t>(header.devices.size());
    const auto described = devices_.find(device);
    header.devices.push_back(described == devices_.end() ? trace::DeviceInfo{} : described->second);
  }
  for (const auto& [what, count] : unknowns_) header.unknowns.push_back(std::to_string(count) + " " + what);
  trace::Trace trace = records_.take();
  const auto renumber = [&](std::int8_t& device) {
    if (device >= 0) device = number[static_cast<std::uint8_t>(device)];
  };
  for (trace::Record& record : trace.records)
    std::visit(
        [&](auto& r) {
          if constexpr (requires { r.device; }) renumber(r.device);
          if constexpr (requires { r.peer; }) renumber(r.peer);
          if constexpr (requires { r.destination; }) renumber(r.destination);
        },
        record);
  return trace;
}

}  // namespace uvmsim
