#include "trace/writer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/check.h"
#include "trace/format.h"
#include "trace/header.h"

namespace uvmsim::trace {
namespace {

constexpr std::size_t kFlushAt = std::size_t{128} << 10;

// The string a record names; -1: none.
std::int64_t named_string(const Record& record) {
  return std::visit(
      [](const auto& r) -> std::int64_t {
        if constexpr (requires { r.name; })
          return r.name;
        else
          return -1;
      },
      record);
}

}  // namespace

void RecordWriter::on_header(const Header& header) {
  put("[\"M\",");
  put(format_header(header));
  put("]\n");
}

void RecordWriter::write_strings(std::size_t upto) {
  for (; strings_written_ < std::min(upto, strings_.size()); ++strings_written_) {
    begin("S");
    field(static_cast<std::int64_t>(strings_written_));
    put(",");
    put(format_text(strings_[strings_written_]));
    put("]\n");
  }
}

void RecordWriter::on_record(const Record& record, const RecordContext& context) {
  write_strings(static_cast<std::size_t>(named_string(record) + 1));
  context_ = &context;
  begin(kRecordTags[record.index()]);
  std::visit([this](const auto& r) { fields(r); }, record);
  end_options();
  put("]\n");
  if (buffer_.size() >= kFlushAt) flush();
}

void RecordWriter::finish() {
  write_strings(strings_.size());
  flush();
  sink_.finish();
}

void RecordWriter::flush() {
  sink_.write(buffer_);
  buffer_.clear();
}

void RecordWriter::put(std::int64_t value) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  buffer_.append(digits, end);
}

void RecordWriter::begin(std::string_view tag) {
  put("[\"");
  put(tag);
  put("\"");
}

void RecordWriter::field(std::int64_t value) {
  put(",");
  put(value);
}

void RecordWriter::option_key(std::string_view key) {
  put(in_options_ ? ",\"" : ",{\"");
  put(key);
  put("\":");
  in_options_ = true;
}

void RecordWriter::option(std::string_view key, std::int64_t value, std::int64_t standard) {
  if (value == standard) return;
  option_key(key);
  put(value);
}

void RecordWriter::end_options() {
  if (in_options_) put("}");
  in_options_ = false;
}

void RecordWriter::fields(const Alloc& alloc) {
  field(alloc.tensor);
  field(alloc.bytes);
  field(alloc.kind);
  option("dev", alloc.device, 0);
  option("stream", alloc.stream, 0);
  if (alloc.space >= 0) {
    option_key("space");
    put(format_text(std::string(kSpaceNames[static_cast<unsigned char>(alloc.space)])));
  }
  option("seg", alloc.segment, -1);
  option("off", alloc.offset, -1);
  option("zeros", alloc.zeros, -1);
}

void RecordWriter::fields(const Free& free) { field(free.tensor); }

void RecordWriter::fields(const SegmentAlloc& segment) {
  field(segment.segment);
  field(segment.bytes);
  option("dev", segment.device, 0);
  if (segment.space == Space::Managed) return;
  option_key("space");
  put(format_text(std::string(kSpaceNames[static_cast<std::size_t>(segment.space)])));
}

void RecordWriter::fields(const SegmentFree& segment) { field(segment.segment); }

void RecordWriter::fields(const Kernel& kernel) {
  field(kernel.name);
  field(kernel.stream);
  field(kernel.duration_ns);
  put_accesses();
  option("fl", static_cast<std::int64_t>(std::round(kernel.flops)), 0);
  option("dev", kernel.device, 0);
  option("grid", kernel.grid, 0);
  option("blk", kernel.block, 0);
  option("regs", kernel.registers, 0);
  option("smem", kernel.shared_memory, 0);
  option("gap", kernel.gap_ns, 0);
  if (kernel.variants >= 0) put_variants(context_->variants[static_cast<std::size_t>(kernel.variants)]);
}

void RecordWriter::fields(const Copy& copy) {
  field(static_cast<std::int64_t>(copy.direction));
  field(copy.stream);
  field(copy.bytes);
  put_accesses();
  option("pinned", copy.pinned ? 1 : 0, 1);
  option("async", copy.asynchronous ? 1 : 0, 1);
  option("dev", copy.device, 0);
  option("peer", copy.peer, -1);
}

void RecordWriter::fields(const Prefetch& prefetch) {
  field(prefetch.tensor);
  field(prefetch.offset);
  field(prefetch.length);
  field(prefetch.destination);
  field(prefetch.stream);
}

void RecordWriter::fields(const Discard& discard) {
  field(discard.tensor);
  field(discard.offset);
  field(discard.length);
  field(discard.stream);
  option("lazy", discard.lazy ? 1 : 0, 0);
}

void RecordWriter::fields(const Advise& advise) {
  field(advise.tensor);
  field(advise.offset);
  field(advise.length);
  field(advise.advice);
  field(advise.device);
}

void RecordWriter::fields(const CollectiveOp& collective) {
  field(static_cast<std::int64_t>(collective.kind));
  field(collective.communicator);
  field(collective.stream);
  field(collective.bytes);
  put_accesses();
  option("ranks", collective.ranks, 0);
  option("dur", collective.duration_ns, 0);
  option("dev", collective.device, 0);
  option("peer", collective.peer, -1);
  option("stride", collective.stride, 1);
  option("prio", collective.priority, -1);
  option("drop", collective.droppable, 0);
}

void RecordWriter::fields(const EventRecord& event) {
  field(event.event);
  field(event.stream);
}

void RecordWriter::fields(const EventWait& event) {
  field(event.event);
  field(event.stream);
}

void RecordWriter::fields(const Synchronize& synchronize) { field(synchronize.stream); }

void RecordWriter::fields(const HostStep& step) {
  field(step.duration_ns);
  field(step.thread);
  put_accesses();
  option("join", step.join, 0);
  option("left", step.left, 0);
}

void RecordWriter::fields(const Iteration& iteration) { field(iteration.index); }

void RecordWriter::fields(const Phase& phase) { field(phase.name); }

void RecordWriter::fields(const Layer& layer) { field(layer.name); }

void RecordWriter::put_variants(const LaunchVariants& variants) {
  option_key("var");
  bool first = true;
  put("[");
  for (const LaunchVariant& variant : variants) {
    put(first ? "[" : ",[");
    first = false;
    put(variant.duration_ns);
    field(variant.workspace);
    put("]");
  }
  put("]");
}

void RecordWriter::put_accesses() {
  put(",[");
  bool first = true;
  for (const Access& access : context_->accesses) {
    if (!first) put(",");
    first = false;
    put_access(access);
  }
  put("]");
}

void RecordWriter::put_access(const Access& access) {
  const bool with_passes = access.passes != 1;
  const bool with_length = with_passes || access.length != -1;
  const bool with_offset = with_length || access.offset != 0;
  put("[");
  put(access.tensor);
  field(static_cast<std::int64_t>(access.mode));
  field(static_cast<std::int64_t>(access.pattern));
  if (with_offset) field(access.offset);
  if (with_length) field(access.length);
  if (with_passes) field(access.passes);
  if (access.options >= 0) {
    put_options(access.pattern, context_->options[static_cast<std::size_t>(access.options)]);
    end_options();
  }
  put("]");
}

void RecordWriter::put_options(Pattern pattern, const PatternOptions& options) {
  if (options.rows != 0 || options.columns != 0 || options.leading_dimension != 0) {
    option_key("tile");
    put("[");
    put(options.rows);
    field(options.columns);
    field(options.leading_dimension);
    put("]");
  }
  option("e", options.element_bytes, PatternOptions{}.element_bytes);
  option(pattern == Pattern::Random ? "g" : "w", options.width, 0);
  option("s", options.stride, 0);
  option("n", options.count, 0);
  if (!options.order.empty()) put_list("order", options.order);
  option("chunk", options.chunk, 0);
  option("dep", options.dependent ? 1 : 0, 0);
  option("unroll", options.unroll, 1);
  if (options.block_x != 0 || options.block_y != 0)
    put_list("blk", std::array<std::int64_t, 2>{options.block_x, options.block_y});
  if (options.cta_rows != 0 || options.cta_columns != 0)
    put_list("cta", std::array<std::int64_t, 2>{options.cta_rows, options.cta_columns});
}

void RecordWriter::put_list(std::string_view key, std::span<const std::int64_t> numbers) {
  option_key(key);
  put("[");
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0) put(",");
    put(numbers[i]);
  }
  put("]");
}

void write_trace(const Trace& trace, std::ostream& out, const WriteOptions& options) {
  const std::unique_ptr<ByteSink> sink = options.zstd_level > 0 ? zstd_sink(out, options.zstd_level) : plain_sink(out);
  RecordWriter writer(*sink);
  visit_trace(trace, writer);
  writer.finish();
}

}  // namespace uvmsim::trace
