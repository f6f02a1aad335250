// Random valid traces with every kind of record and every optional field.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "trace/format.h"
#include "trace/record.h"

namespace uvmsim::trace {

class RandomTrace {
 public:
  explicit RandomTrace(std::uint64_t seed) : random_(seed) {}

  Trace make(int records) {
    trace_.header = header();
    trace_.strings = {"forward", "quote \" and \\", "\xc3\xa9t\xc3\xa9", ""};
    trace_.records.push_back(SegmentAlloc{1, kMostLiveBytes / 2});
    for (int i = 0; i < 3; ++i) allocate();
    trace_.records.push_back(EventRecord{0, 0});
    while (static_cast<int>(trace_.records.size()) < records) append();
    return trace_;
  }

 private:
  static constexpr int kDevices = 3;
  static constexpr std::int64_t kMostDuration = kMostNanoseconds / 1000;  // a trace has fewer records with one

  std::int64_t up_to(std::int64_t most) {
    return static_cast<std::int64_t>(random_() % (static_cast<std::uint64_t>(most) + 1));
  }
  bool coin() { return random_() % 2 == 0; }
  // `standard` or a value up to `most`, as often.
  std::int64_t either(std::int64_t standard, std::int64_t most) { return coin() ? standard : up_to(most); }
  template <class T>
  void set(T& value, std::int64_t most) {
    value = static_cast<T>(either(static_cast<std::int64_t>(value), most));
  }

  Header header() {
    Header h;
    h.generator = "random";
    h.name = "n";
    h.devices = {{"a", 1, 2, 0.5}, {"b", 3, 4, 5e300}, {}};
    if (coin())
      h.provenance = "tests", h.durations = "random", h.durations_status = "assumed", h.operands_status = "superset",
      h.unknowns = {"a", "\"b\""}, h.sample_unit = "tokens", h.samples = 0.1;
    h.kinds = {"param", "act"};
    h.host_op_ns = either(0, kMostNanoseconds);
    return h;
  }

  void allocate() {
    Alloc a{.tensor = next_id_++, .bytes = up_to(1 << 20) + 1, .kind = static_cast<std::uint8_t>(up_to(1))};
    set(a.device, kDevices - 1);
    set(a.stream, kMostInt32);
    set(a.space, 3);
    if (coin()) a.segment = 1, a.offset = up_to(1 << 30);
    live_.push_back({a.tensor, a.bytes});
    trace_.records.push_back(a);
  }

  struct Range {
    TensorId tensor;
    std::int64_t offset, length;
    std::int64_t bytes;  // of the range, whatever `length` says
  };
  Range range() {
    const Live& t = live_[static_cast<std::size_t>(up_to(static_cast<std::int64_t>(live_.size()) - 1))];
    const std::int64_t offset = either(0, t.bytes - 1);
    const std::int64_t bytes = coin() ? t.bytes - offset : up_to(t.bytes - offset - 1) + 1;
    return {t.tensor, offset, bytes == t.bytes - offset && coin() ? -1 : bytes, bytes};
  }

  AccessSpan accesses() {
    const auto first = static_cast<std::uint32_t>(trace_.accesses.size());
    const auto count = static_cast<std::uint32_t>(up_to(4));
    for (std::uint32_t i = 0; i < count; ++i) {
      const Range r = range();
      Access a{.tensor = r.tensor, .offset = r.offset, .length = r.length};
      a.mode = static_cast<Mode>(up_to(2) + 1);
      a.pattern = static_cast<Pattern>(up_to(static_cast<std::int64_t>(Pattern::Chase)));
      if (coin()) a.passes = static_cast<std::int32_t>(up_to(15) + 1);
      if (coin() || a.pattern >= Pattern::Rows) a.options = options(r.bytes);
      trace_.accesses.push_back(a);
    }
    return {first, count};
  }

  // What any pattern needs over a range of `bytes`, and more.
  std::int32_t options(std::int64_t bytes) {
    PatternOptions o;
    o.element_bytes = std::min(coin() ? 4 : up_to(15) + 1, bytes);
    o.columns = up_to(std::min<std::int64_t>(10, bytes / o.element_bytes) - 1) + 1;
    o.leading_dimension = o.columns * o.element_bytes + up_to(999);
    o.rows = up_to(std::min<std::int64_t>(9, (bytes - o.columns * o.element_bytes) / o.leading_dimension)) + 1;
    o.width = either(0, 128);
    o.stride = up_to(1 << 20) + 1;
    o.count = up_to((1 << 20) - 1) + 1;
    for (std::int64_t n = up_to(3) + 1; n > 0; --n) o.order.push_back(up_to(bytes - 1));
    o.chunk = either(0, 1 << 20);
    o.dependent = coin();
    if (coin())
      o.block_x = static_cast<std::int32_t>(up_to(31) + 1), o.block_y = static_cast<std::int32_t>(up_to(31) + 1);
    trace_.options.push_back(o);
    return static_cast<std::int32_t>(trace_.options.size()) - 1;
  }

  void append() {
    switch (up_to(15)) {
      case 0:
        return allocate();
      case 1:
        return free_one();
      case 2:
        return append(SegmentAlloc{next_id_++, up_to(999) + 1, static_cast<Space>(up_to(3)), device()});
      case 3:
        return append(kernel());
      case 4:
        return append(copy());
      case 5:
        return append(collective());
      case 6:
        return append(EventRecord{static_cast<std::int32_t>(up_to(kMostInt32)), stream()});
      case 7:
        return append(EventWait{0, stream()});
      case 8:
        return append(Synchronize{coin() ? -1 : stream()});
      case 9:
        return append(host_step());
      case 10:
        return append(Iteration{iteration_ += up_to(2) + 1});
      case 11:
        return append(Phase{static_cast<StringIndex>(up_to(3))});
      case 12:
        return append(Layer{static_cast<StringIndex>(up_to(3))});
      default:
        return append_hint();
    }
  }
  void append(const Record& record) { trace_.records.push_back(record); }

  void append_hint() {
    const Range r = range();
    const std::int8_t where = static_cast<std::int8_t>(up_to(kDevices) - 1);
    switch (up_to(2)) {
      case 0:
        return append(Prefetch{r.tensor, r.offset, r.length, where, stream()});
      case 1:
        return append(Discard{r.tensor, r.offset, r.length, stream(), coin()});
      default: {
        const std::int64_t advice = up_to(2) + 1;
        return append(Advise{r.tensor, r.offset, r.length, static_cast<std::int8_t>(coin() ? advice : -advice), where});
      }
    }
  }

  void free_one() {
    if (live_.size() < 2) return;
    append(Free{live_.back().tensor});
    live_.pop_back();
  }

  Kernel kernel() {
    Kernel k{.name = static_cast<StringIndex>(up_to(3)), .stream = stream(), .duration_ns = up_to(kMostDuration)};
    k.accesses = accesses();
    k.device = device();
    k.flops = static_cast<double>(either(0, std::int64_t{1} << 53));
    set(k.grid, kMostCtas);
    set(k.block, 1024);
    set(k.registers, 255);
    set(k.shared_memory, kMostInt32);
    set(k.gap_ns, kMostDuration);
    return k;
  }

  Copy copy() {
    Copy c{.direction = static_cast<CopyDirection>(up_to(4)), .stream = stream(), .bytes = up_to(kMostBytes)};
    c.accesses = accesses();
    c.device = device();
    c.peer = coin() || c.direction == CopyDirection::PeerToPeer ? device() : std::int8_t{-1};
    c.pinned = coin();
    c.asynchronous = coin();
    return c;
  }

  CollectiveOp collective() {
    CollectiveOp x{.kind = static_cast<Collective>(up_to(6)), .communicator = stream(), .stream = stream()};
    x.bytes = up_to(kMostBytes);
    x.accesses = accesses();
    set(x.ranks, kMostInt32);
    set(x.duration_ns, kMostNanoseconds);
    x.device = device();
    const auto other = static_cast<std::int8_t>((x.device + 1 + up_to(kDevices - 2)) % kDevices);
    if (x.kind >= Collective::Send && coin()) x.peer = other;
    x.stride = static_cast<std::int32_t>(1 + up_to(7));
    set(x.priority, kMostInt32);
    x.droppable = up_to(x.bytes);
    return x;
  }

  // A thread joins those before it.
  HostStep host_step() {
    HostStep h{up_to(kMostDuration), coin() ? 0 : threads_ + 1, accesses()};
    if (threads_ > 0 && coin()) h.join = static_cast<std::int32_t>(up_to(threads_ - 1)) + 1;
    if (h.join > 0) set(h.left, kMostInt32);
    threads_ = std::max(threads_, h.thread);
    return h;
  }

  std::int8_t device() { return static_cast<std::int8_t>(either(0, kDevices - 1)); }
  std::int32_t stream() { return static_cast<std::int32_t>(either(0, kMostInt32)); }

  struct Live {
    TensorId tensor;
    std::int64_t bytes;
  };
  std::mt19937_64 random_;
  Trace trace_;
  std::vector<Live> live_;
  std::int64_t next_id_ = 2, iteration_ = -1;
  std::int32_t threads_ = 0;  // 1 to this have steps
};

}  // namespace uvmsim::trace
