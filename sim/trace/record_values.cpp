// The values of each kind of record and of accesses.
#include <algorithm>
#include <functional>

#include "trace/line_parser.h"
#include "trace/pattern.h"

namespace uvmsim::trace {
namespace {

// A longer text of options or launch variants is parsed each time.
constexpr std::size_t kLongestSharedText = 256;

Space read_space(Scanner& in) {
  Scanner before = in;
  const std::string_view name = in.raw_text("\"m\", \"d\", \"h\" or \"p\"");
  const auto found = std::ranges::find(kSpaceNames, name);
  if (found == kSpaceNames.end()) before.fail("\"m\", \"d\", \"h\" or \"p\"");
  return static_cast<Space>(found - kSpaceNames.begin());
}

PatternOptions parse_options(Scanner& in, const std::function<void(std::string_view)>& ignore) {
  PatternOptions o;
  in.object([&](std::string_view key) {
    if (key == "tile") {
      const std::vector<std::int64_t> tile = in.integers(kSizes, "a tile's rows, columns or leading dimension");
      if (tile.size() != 3) in.fail("three numbers in \"tile\" before this: [rows,columns,leading dimension]");
      o.rows = tile[0], o.columns = tile[1], o.leading_dimension = tile[2];
    } else if (key == "e") {
      in.read(o.element_bytes, {1, kMostBytes}, "the bytes of an element");
    } else if (key == "w" || key == "g") {
      in.read(o.width, kSizes, "the bytes of a touch");
    } else if (key == "s") {
      in.read(o.stride, kSizes, "a stride in bytes");
    } else if (key == "n" || key == "count") {
      in.read(o.count, kIds, "a count of touches");
    } else if (key == "order") {
      o.order = in.integers(kSizes, "a byte offset");
    } else if (key == "chunk") {
      in.read(o.chunk, kSizes, "the bytes of a chunk");
    } else if (key == "dep") {
      in.read_flag(o.dependent, "a flag");
    } else if (key == "unroll") {
      in.read(o.unroll, {1, kMostUnrolled}, "the rounds of an unrolled loop");
    } else if (key == "blk") {
      const std::vector<std::int64_t> block = in.integers({1, kMostThreads}, "the threads of a CTA in a dimension");
      if (block.size() != 2) in.fail("two numbers in \"blk\" before this: [x,y]");
      o.block_x = static_cast<std::int32_t>(block[0]), o.block_y = static_cast<std::int32_t>(block[1]);
    } else if (key == "cta") {
      const std::vector<std::int64_t> made = in.integers(kTileExtents, "the rows or columns of a CTA's tile");
      if (made.size() != 2) in.fail("two numbers in \"cta\" before this: [rows,columns]");
      o.cta_rows = static_cast<std::int32_t>(made[0]), o.cta_columns = static_cast<std::int32_t>(made[1]);
    } else {
      ignore(key);
      return false;
    }
    return true;
  });
  return o;
}

}  // namespace

template <class OnKey>
void LineParser::finish(Scanner& in, OnKey&& on_key) {
  if (in.accept(',')) {
    if (in.peek() != '{') in.fail("an object of options after the last value");
    in.object([&](std::string_view key) {
      if (on_key(key)) return true;
      ignore_key({&tag_, 1}, key);
      return false;
    });
  }
  in.expect(']');
}

void LineParser::finish(Scanner& in) {
  finish(in, [](std::string_view) { return false; });
}

void LineParser::fill(Scanner& in, Alloc& alloc) {
  in.required(alloc.tensor, kIds, "a tensor's id");
  in.required(alloc.bytes, kSizes, "the tensor's bytes");
  in.optional(alloc.kind, {0, 255}, "a kind");
  finish(in, [&](std::string_view key) {
    if (key == "dev")
      in.read(alloc.device, kDevices, "a device");
    else if (key == "stream")
      in.read(alloc.stream, kNumbers, "a stream");
    else if (key == "space")
      alloc.space = static_cast<std::int8_t>(read_space(in));
    else if (key == "seg")
      in.read(alloc.segment, kIds, "a segment's id");
    else if (key == "off")
      in.read(alloc.offset, kSizes, "an offset in the segment");
    else if (key == "zeros")
      in.read(alloc.zeros, kPercent, "a share of zeros in percent");
    else
      return false;
    return true;
  });
}

void LineParser::fill(Scanner& in, Free& free) {
  in.required(free.tensor, kIds, "a tensor's id");
  finish(in);
}

void LineParser::fill(Scanner& in, SegmentAlloc& segment) {
  in.required(segment.segment, kIds, "a segment's id");
  in.required(segment.bytes, kSizes, "the segment's bytes");
  finish(in, [&](std::string_view key) {
    if (key == "dev")
      in.read(segment.device, kDevices, "a device");
    else if (key == "space")
      segment.space = read_space(in);
    else
      return false;
    return true;
  });
}

void LineParser::fill(Scanner& in, SegmentFree& segment) {
  in.required(segment.segment, kIds, "a segment's id");
  finish(in);
}

void LineParser::fill(Scanner& in, Kernel& kernel) {
  in.required(kernel.name, kNumbers, "the index of the kernel's name");
  in.required(kernel.stream, kNumbers, "a stream");
  in.required(kernel.duration_ns, kTimes, "a duration in ns");
  kernel.accesses = read_accesses(in);
  finish(in, [&](std::string_view key) {
    if (key == "fl")
      in.read(kernel.flops, kOperations, "a count of operations");
    else if (key == "dev")
      in.read(kernel.device, kDevices, "a device");
    else if (key == "grid")
      in.read(kernel.grid, kIds, "a count of CTAs");
    else if (key == "blk")
      in.read(kernel.block, kNumbers, "the threads of a CTA");
    else if (key == "regs")
      in.read(kernel.registers, kNumbers, "the registers of a thread");
    else if (key == "smem")
      in.read(kernel.shared_memory, kNumbers, "the shared memory of a CTA in bytes");
    else if (key == "gap")
      in.read(kernel.gap_ns, kTimes, "a host time in ns");
    else if (key == "var")
      kernel.variants = read_variants(in);
    else
      return false;
    return true;
  });
}

void LineParser::fill(Scanner& in, Copy& copy) {
  in.required(copy.direction, {0, 4}, "a copy's direction");
  in.required(copy.stream, kNumbers, "a stream");
  in.required(copy.bytes, kSizes, "the copy's bytes");
  copy.accesses = read_accesses(in);
  finish(in, [&](std::string_view key) {
    if (key == "pinned")
      in.read_flag(copy.pinned, "a flag");
    else if (key == "async")
      in.read_flag(copy.asynchronous, "a flag");
    else if (key == "dev")
      in.read(copy.device, kDevices, "a device");
    else if (key == "peer")
      in.read(copy.peer, kDevicesOrHost, "a device");
    else
      return false;
    return true;
  });
}

void LineParser::fill(Scanner& in, Prefetch& prefetch) {
  in.required(prefetch.tensor, kIds, "a tensor's id");
  in.optional(prefetch.offset, kSizes, "an offset in bytes");
  in.optional(prefetch.length, kLengths, "a length in bytes");
  in.optional(prefetch.destination, kDevicesOrHost, "a device or -1, the host");
  in.optional(prefetch.stream, kNumbers, "a stream");
  finish(in);
}

void LineParser::fill(Scanner& in, Discard& discard) {
  in.required(discard.tensor, kIds, "a tensor's id");
  in.optional(discard.offset, kSizes, "an offset in bytes");
  in.optional(discard.length, kLengths, "a length in bytes");
  in.optional(discard.stream, kNumbers, "a stream");
  finish(in, [&](std::string_view key) {
    if (key != "lazy") return false;
    in.read_flag(discard.lazy, "a flag");
    return true;
  });
}

void LineParser::fill(Scanner& in, Advise& advise) {
  in.required(advise.tensor, kIds, "a tensor's id");
  in.required(advise.offset, kSizes, "an offset in bytes");
  in.required(advise.length, kLengths, "a length in bytes");
  in.required(advise.advice, {-3, 3}, "an advice");
  if (advise.advice == 0) in.fail("an advice other than 0 before this");
  in.optional(advise.device, kDevicesOrHost, "a device or -1, the host");
  finish(in);
}

void LineParser::fill(Scanner& in, CollectiveOp& collective) {
  in.required(collective.kind, {0, 6}, "a collective");
  in.required(collective.communicator, kNumbers, "a communicator");
  in.required(collective.stream, kNumbers, "a stream");
  in.required(collective.bytes, kSizes, "the collective's bytes");
  collective.accesses = read_accesses(in);
  finish(in, [&](std::string_view key) {
    if (key == "ranks")
      in.read(collective.ranks, kNumbers, "a count of ranks");
    else if (key == "dur")
      in.read(collective.duration_ns, kTimes, "a duration in ns");
    else if (key == "dev")
      in.read(collective.device, kDevices, "a device");
    else if (key == "peer")
      in.read(collective.peer, kDevicesOrHost, "a device");
    else if (key == "stride")
      in.read(collective.stride, {1, kNumbers.high}, "a stride of ranks");
    else if (key == "prio")
      in.read(collective.priority, {-1, kNumbers.high}, "a priority or -1, none");
    else if (key == "drop")
      in.read(collective.droppable, kSizes, "the bytes that need not arrive");
    else
      return false;
    return true;
  });
}

void LineParser::fill(Scanner& in, EventRecord& event) {
  in.required(event.event, kNumbers, "an event");
  in.required(event.stream, kNumbers, "a stream");
  finish(in);
}

void LineParser::fill(Scanner& in, EventWait& event) {
  in.required(event.event, kNumbers, "an event");
  in.required(event.stream, kNumbers, "a stream");
  finish(in);
}

void LineParser::fill(Scanner& in, Synchronize& synchronize) {
  in.optional(synchronize.stream, {-1, kMostInt32}, "a stream or -1, the device");
  finish(in);
}

void LineParser::fill(Scanner& in, HostStep& step) {
  in.required(step.duration_ns, kTimes, "a duration in ns");
  in.optional(step.thread, kNumbers, "a thread");
  step.accesses = read_accesses(in);
  finish(in, [&](std::string_view key) {
    if (key == "join")
      in.read(step.join, kNumbers, "a thread");
    else if (key == "left")
      in.read(step.left, kNumbers, "a count of steps");
    else
      return false;
    return true;
  });
}

void LineParser::fill(Scanner& in, Iteration& iteration) {
  in.required(iteration.index, kIds, "an iteration's index");
  finish(in);
}

void LineParser::fill(Scanner& in, Phase& phase) {
  in.required(phase.name, kNumbers, "the index of the phase's name");
  finish(in);
}

void LineParser::fill(Scanner& in, Layer& layer) {
  in.required(layer.name, kNumbers, "the index of the layer's name");
  finish(in);
}

AccessSpan LineParser::read_accesses(Scanner& in) {
  if (in.more()) {
    in.expect('[');
    if (!in.accept(']')) {
      do read_access(in);
      while (in.accept(','));
      in.expect(']');
    }
  }
  return {0, static_cast<std::uint32_t>(accesses_.size())};
}

void LineParser::read_access(Scanner& in) {
  Access& access = accesses_.emplace_back();
  in.expect('[');
  in.read(access.tensor, kIds, "a tensor's id");
  in.required(access.mode, {1, 3}, "a mode");
  in.optional(access.pattern, {0, static_cast<std::int64_t>(last_pattern())}, "a pattern");
  in.optional(access.offset, kSizes, "an offset in bytes");
  in.optional(access.length, kLengths, "a length in bytes");
  in.optional(access.passes, {1, kMostInt32}, "a count of passes");
  if (in.accept(',')) access.options = read_options(in);
  in.expect(']');
}

std::int32_t LineParser::read_options(Scanner& in) {
  Scanner ahead = in;
  const std::string_view text = in.skip_value();
  const auto known = option_texts_.find(text);
  if (known != option_texts_.end()) return known->second;

  bool all_known = true;
  const PatternOptions parsed = parse_options(ahead, [&](std::string_view key) {
    ignore_key("access", key);
    all_known = false;
  });
  std::int32_t index = -1;
  if (parsed != PatternOptions{}) {
    index = static_cast<std::int32_t>(options_.size());
    options_.push_back(parsed);
  }
  if (all_known && text.size() <= kLongestSharedText) option_texts_.emplace(text, index);
  return index;
}

std::int32_t LineParser::read_variants(Scanner& in) {
  Scanner ahead = in;
  const std::string_view text = in.skip_value();
  const auto known = variant_texts_.find(text);
  if (known != variant_texts_.end()) return known->second;

  LaunchVariants variants;
  ahead.expect('[');
  do {
    LaunchVariant& variant = variants.emplace_back();
    ahead.expect('[');
    ahead.read(variant.duration_ns, kTimes, "a duration in ns");
    ahead.required(variant.workspace, kSizes, "the bytes of a workspace");
    ahead.expect(']');
  } while (ahead.accept(','));
  ahead.expect(']');
  const auto index = static_cast<std::int32_t>(variants_.size());
  variants_.push_back(std::move(variants));
  if (text.size() <= kLongestSharedText) variant_texts_.emplace(text, index);
  return index;
}

}  // namespace uvmsim::trace
