#include "trace/checker.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "trace/format.h"
#include "trace/header.h"
#include "trace/pattern.h"

namespace uvmsim::trace {
namespace {

std::string text(const char* part) { return part; }
std::string text(std::string_view part) { return std::string(part); }
std::string text(std::int64_t part) { return std::to_string(part); }

}  // namespace

template <class... Parts>
void Checker::error(const Parts&... parts) {
  if (!errors_.shows_next()) return errors_.count_one();
  errors_.add(place_(number_), (text(parts) + ...));
}

void Checker::on_header(const Header& header) {
  devices_ = static_cast<std::int64_t>(device_count(header));
  kinds_ = static_cast<std::int64_t>(header.kinds.size());
}

void Checker::on_record(const Record& record, const RecordContext& context) {
  number_ = context.number;
  std::visit([this](const auto& r) { check(r); }, record);
  for (const Access& access : context.accesses) check_access(access, context);
  if (const auto* kernel = std::get_if<Kernel>(&record)) check_variants(*kernel, context);
}

void Checker::check(const Alloc& alloc) {
  check_limits(alloc.bytes, 1, kMostBytes, "the bytes of an allocation");
  check_limits(alloc.space, -1, static_cast<std::int64_t>(kSpaceNames.size()) - 1, "a space");
  check_limits(alloc.stream, 0, kMostInt32, "a stream");
  check_limits(alloc.zeros, -1, kPercent.high, "a share of zeros in percent");
  check_device(alloc.device, 0);
  if (kinds_ > 0 && alloc.kind >= kinds_) error("kind ", alloc.kind, " is not among the header's ", kinds_, " kinds");
  if (!tensors_.try_emplace(alloc.tensor, Tensor{alloc.bytes, alloc.segment, true}).second)
    return error("tensor ", alloc.tensor, " is allocated a second time: ids are never used again");
  if (alloc.segment != -1 || alloc.offset != -1) return check_placement(alloc);
  add_live(alloc.bytes);
}

void Checker::check_placement(const Alloc& alloc) {
  const auto found = segments_.find(alloc.segment);
  if (found == segments_.end() || !found->second.live)
    return error("tensor ", alloc.tensor, " lies in segment ", alloc.segment, ", which is not allocated");
  Segment& segment = found->second;
  ++segment.tensors;
  if (alloc.offset < 0 || alloc.offset > segment.bytes || alloc.bytes > segment.bytes - alloc.offset)
    error("tensor ", alloc.tensor, " of ", alloc.bytes, " bytes at offset ", alloc.offset, " does not fit segment ",
          alloc.segment, " of ", segment.bytes, " bytes");
}

void Checker::check(const Free& free) {
  const auto found = tensors_.find(free.tensor);
  if (found == tensors_.end()) return error("tensor ", free.tensor, " is freed but was never allocated");
  if (!found->second.live) return error("tensor ", free.tensor, " is freed a second time");
  found->second.live = false;
  const auto segment = segments_.find(found->second.segment);
  if (segment != segments_.end())
    --segment->second.tensors;
  else
    add_live(-found->second.bytes);
}

void Checker::check(const SegmentAlloc& segment) {
  check_limits(segment.bytes, 1, kMostBytes, "the bytes of a segment");
  check_limits(static_cast<std::int64_t>(segment.space), 0, static_cast<std::int64_t>(kSpaceNames.size()) - 1,
               "a space");
  check_device(segment.device, 0);
  if (!segments_.try_emplace(segment.segment, Segment{segment.bytes, 0, true}).second)
    return error("segment ", segment.segment, " is allocated a second time: ids are never used again");
  add_live(segment.bytes);
}

void Checker::check(const SegmentFree& segment) {
  const auto found = segments_.find(segment.segment);
  if (found == segments_.end()) return error("segment ", segment.segment, " is freed but was never allocated");
  if (!found->second.live) return error("segment ", segment.segment, " is freed a second time");
  if (found->second.tensors > 0)
    error("segment ", segment.segment, " is freed while ", found->second.tensors, " tensors live in it");
  found->second.live = false;
  add_live(-found->second.bytes);
}

void Checker::check(const Kernel& kernel) {
  check_string(kernel.name);
  check_device(kernel.device, 0);
  check_limits(kernel.stream, 0, kMostInt32, "a stream");
  check_limits(kernel.duration_ns, 0, kMostNanoseconds, "a duration in ns");
  check_limits(kernel.gap_ns, 0, kMostNanoseconds, "a gap in ns");
  add_time(kernel.duration_ns);
  add_time(kernel.gap_ns);
  check_limits(kernel.grid, 0, kMostCtas, "a grid");
  check_limits(kernel.block, 0, kMostInt32, "a block");
  check_limits(kernel.registers, 0, kMostInt32, "a count of registers");
  if (!(kernel.flops >= 0 && kernel.flops <= static_cast<double>(kOperations.high)))
    error("expected operations in 0..", kOperations.high);
  check_limits(kernel.shared_memory, 0, kMostInt32, "the bytes of shared memory");
}

void Checker::check_variants(const Kernel& kernel, const RecordContext& context) {
  const auto lists = static_cast<std::int64_t>(context.variants.size());
  check_limits(kernel.variants, -1, lists - 1, "an index of launch variants");
  if (kernel.variants < 0 || kernel.variants >= lists) return;
  for (const LaunchVariant& variant : context.variants[static_cast<std::size_t>(kernel.variants)]) {
    check_limits(variant.duration_ns, 0, kMostNanoseconds, "a duration in ns");
    check_limits(variant.workspace, 0, kMostBytes, "the bytes of a workspace");
  }
}

void Checker::check(const Copy& copy) {
  check_limits(static_cast<std::int64_t>(copy.direction), 0, 4, "a direction");
  check_limits(copy.stream, 0, kMostInt32, "a stream");
  check_limits(copy.bytes, 0, kMostBytes, "the bytes of a copy");
  check_device(copy.device, 0);
  check_device(copy.peer, copy.direction == CopyDirection::PeerToPeer ? 0 : -1);
}

void Checker::check(const Prefetch& prefetch) {
  check_limits(prefetch.stream, 0, kMostInt32, "a stream");
  check_device(prefetch.destination, -1);
  check_range(prefetch.tensor, prefetch.offset, prefetch.length);
}

void Checker::check(const Discard& discard) {
  check_limits(discard.stream, 0, kMostInt32, "a stream");
  check_range(discard.tensor, discard.offset, discard.length);
}

void Checker::check(const Advise& advise) {
  if (advise.advice == 0 || advise.advice < -3 || advise.advice > 3)
    error("expected an advice 1..3 or its negative, found ", advise.advice);
  check_device(advise.device, -1);
  check_range(advise.tensor, advise.offset, advise.length);
}

void Checker::check(const CollectiveOp& collective) {
  check_limits(static_cast<std::int64_t>(collective.kind), 0, 6, "a collective");
  check_limits(collective.communicator, 0, kMostInt32, "a communicator");
  check_limits(collective.stream, 0, kMostInt32, "a stream");
  check_limits(collective.bytes, 0, kMostBytes, "the bytes of a collective");
  check_limits(collective.ranks, 0, kMostInt32, "a count of ranks");
  check_limits(collective.duration_ns, 0, kMostNanoseconds, "a duration in ns");
  check_device(collective.device, 0);
  check_limits(collective.stride, 1, kMostInt32, "a stride of ranks");
  check_limits(collective.priority, -1, kMostInt32, "a priority");
  check_limits(collective.droppable, 0, collective.bytes, "the bytes that need not arrive");
  if (collective.peer == -1) return;
  check_device(collective.peer, 0);
  if (collective.kind != Collective::Send && collective.kind != Collective::Receive)
    error("only a send or a receive has a peer");
  if (collective.peer == collective.device) error("device ", collective.device, " is its own peer");
}

void Checker::check(const EventRecord& event) {
  check_limits(event.stream, 0, kMostInt32, "a stream");
  events_.insert(event.event);
}

void Checker::check(const EventWait& event) {
  check_limits(event.stream, 0, kMostInt32, "a stream");
  if (!events_.contains(event.event)) error("event ", event.event, " is waited for before it is recorded");
}

void Checker::check(const Synchronize& synchronize) { check_limits(synchronize.stream, -1, kMostInt32, "a stream"); }

void Checker::check(const HostStep& step) {
  check_limits(step.duration_ns, 0, kMostNanoseconds, "a duration in ns");
  add_time(step.duration_ns);
  check_limits(step.thread, 0, kMostInt32, "a thread");
  check_limits(step.join, 0, kMostInt32, "a thread");
  check_limits(step.left, 0, kMostInt32, "a count of steps");
  if (step.join != 0 && step.join == step.thread) error("thread ", step.thread, " waits for itself");
  if (step.join != 0 && !threads_.contains(step.join))
    error("thread ", step.join, " is waited for before it has a step");
  if (step.left != 0 && step.join == 0) error("\"left\" needs \"join\"");
  threads_.insert(step.thread);
}

void Checker::check(const Iteration& iteration) {
  if (iteration.index <= iteration_)
    error("iteration ", iteration.index, " follows iteration ", iteration_, ": expected ascending indices");
  iteration_ = std::max(iteration_, iteration.index);
}

void Checker::check(const Phase& phase) { check_string(phase.name); }

void Checker::check(const Layer& layer) { check_string(layer.name); }

void Checker::check_access(const Access& access, const RecordContext& context) {
  check_limits(static_cast<std::int64_t>(access.mode), 1, 3, "a mode");
  if (find_pattern(access.pattern) == nullptr)
    error("expected a pattern in 0..", static_cast<int>(last_pattern()), ", found ", static_cast<int>(access.pattern));
  check_limits(access.passes, 1, kMostInt32, "a count of passes");
  check_limits(access.options, -1, static_cast<std::int64_t>(context.options.size()) - 1, "an index of options");
  check_range(access.tensor, access.offset, access.length);
  check_options(access, context);
}

void Checker::check_options(const Access& access, const RecordContext& context) {
  static const PatternOptions kNone;
  const auto index = static_cast<std::size_t>(access.options);
  const PatternOptions& o = access.options >= 0 && index < context.options.size() ? context.options[index] : kNone;
  if (o.rows < 0 || o.columns < 0 || o.leading_dimension < 0 || o.element_bytes < 1 || o.width < 0 || o.stride < 0 ||
      o.count < 0 || o.chunk < 0)
    error("an option of tensor ", access.tensor, "'s access is negative");
  if (o.unroll < 1 || o.unroll > kMostUnrolled)
    error("a loop over tensor ", access.tensor, " is unrolled ", o.unroll, " times: expected 1..", kMostUnrolled);
  const bool natural = o.block_x == 0 && o.block_y == 0;
  if (!natural && (o.block_x < 1 || o.block_y < 1 || std::int64_t{o.block_x} * o.block_y > kMostThreads))
    error("CTAs of ", o.block_x, " x ", o.block_y, " threads touch tensor ", access.tensor, ": expected 1..",
          kMostThreads, " in all");
  const PatternFacts* facts = find_pattern(access.pattern);
  const auto tensor = tensors_.find(access.tensor);
  if (facts == nullptr || tensor == tensors_.end()) return;
  const std::string missing = facts->missing == nullptr ? "" : facts->missing(o);
  if (!missing.empty())
    return error("pattern ", pattern_name(access.pattern), " of tensor ", access.tensor, " needs ", missing);
  check_reach(access, *facts, o, access.length < 0 ? tensor->second.bytes - access.offset : access.length);
}

void Checker::check_reach(const Access& access, const PatternFacts& facts, const PatternOptions& options,
                          std::int64_t bytes) {
  const std::string& name = pattern_name(access.pattern);
  const std::string outside = facts.outside == nullptr ? "" : facts.outside(options, bytes);
  if (!outside.empty()) error("pattern ", name, " of tensor ", access.tensor, ": ", outside, ", its range has ", bytes);

  const auto passes = static_cast<double>(access.passes);
  if (passes * static_cast<double>(bytes) > static_cast<double>(kMostBytes))
    error(access.passes, " passes over ", bytes, " bytes of tensor ", access.tensor, ": expected at most ", kMostBytes,
          " bytes in all");
  const std::int64_t most = facts.listed ? kMostListedTouches : kMostTouches;
  const std::size_t touches = std::max(static_cast<std::size_t>(options.count), options.order.size());
  if (passes * static_cast<double>(touches) > static_cast<double>(most))
    error("pattern ", name, " of tensor ", access.tensor, ": expected at most ", most, " touches in all passes");

  check_limits(options.rows, 0, kMostInt32, "the rows of a tile");
  check_limits(options.columns, 0, kMostInt32, "the columns of a tile");
  const std::int64_t least = options.cta_rows == 0 && options.cta_columns == 0 ? 0 : kTileExtents.low;
  check_limits(options.cta_rows, least, kTileExtents.high, "the rows of a CTA's tile");
  check_limits(options.cta_columns, least, kTileExtents.high, "the columns of a CTA's tile");
  const double span =
      static_cast<double>(options.rows) * static_cast<double>(options.leading_dimension) +
      static_cast<double>(options.columns) * static_cast<double>(std::max(options.stride, options.element_bytes));
  if (options.rows > 0 && span > static_cast<double>(kMostTileBytes))
    error("the tile of tensor ", access.tensor, " spans more than ", kMostTileBytes, " bytes");
}

void Checker::check_range(TensorId tensor, std::int64_t offset, std::int64_t length) {
  const auto found = tensors_.find(tensor);
  if (found == tensors_.end()) return error("tensor ", tensor, " is used but was never allocated");
  if (!found->second.live) return error("tensor ", tensor, " is used after it was freed");
  const std::int64_t bytes = found->second.bytes;
  if (length == 0 || length < -1 || offset < 0 || offset >= bytes || (length > 0 && length > bytes - offset))
    error("offset ", offset, ", length ", length, " of tensor ", tensor, ": expected at least one byte inside its ",
          bytes, " bytes");
}

void Checker::check_device(std::int64_t device, std::int64_t lowest) {
  if (device < lowest || device >= devices_)
    error("expected a device ", lowest, "..", devices_ - 1, " as in the header, found ", device);
}

void Checker::check_string(StringIndex index) {
  if (index < 0 || index >= strings_) error("string ", index, " is named before its \"S\" record");
}

// An error of a sum is told where the sum goes past its limit.
void Checker::add_time(std::int64_t ns) {
  if (ns < 0 || ns > kMostNanoseconds || total_ns_ > kMostNanoseconds) return;
  total_ns_ += ns;
  if (total_ns_ > kMostNanoseconds)
    error("the durations and gaps up to here add up to more than ", kMostNanoseconds, " ns");
}

void Checker::add_live(std::int64_t bytes) {
  constexpr auto kMost = static_cast<double>(kMostLiveBytes);
  const double before = std::exchange(live_bytes_, live_bytes_ + static_cast<double>(bytes));
  if (before <= kMost && live_bytes_ > kMost)
    error("what is allocated at once is more than ", kMostLiveBytes, " bytes");
}

void Checker::check_limits(std::int64_t value, std::int64_t low, std::int64_t high, const char* what) {
  if (value < low || value > high) error("expected ", what, " in ", low, "..", high, ", found ", value);
}

std::vector<InputError> check_trace(const Trace& trace) {
  ErrorList errors;
  Checker checker(errors, [](std::int64_t number) { return "record " + std::to_string(number); });
  visit_trace(trace, checker);
  return errors.errors("the trace");
}

}  // namespace uvmsim::trace
