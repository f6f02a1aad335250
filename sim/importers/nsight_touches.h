// Which allocations kernels were seen to touch, from page faults and migrations by time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "trace/record.h"

namespace uvmsim {

// A page that was seen to move or to fault, and how it was accessed. Times in ns.
struct NsightTouch {
  // Whose it is: that of the kernels that run then, or, while none does, of the next one (what was prefetched for it)
  // or of the last one (what the host takes back afterwards).
  enum class Whose : std::uint8_t { Running, RunningOrNext, RunningOrLast };
  Whose whose = Whose::Running;
  std::int64_t time = 0;
  std::uint64_t address = 0;
  std::int64_t bytes = 0, device = 0;
  trace::Mode mode = trace::Mode::Read;
};

// An allocation or a free.
struct NsightMemory {
  std::int64_t time = 0;
  std::uint64_t address = 0;
  std::int64_t bytes = 0, device = 0;
  int space = -1;  // a trace::Space; -1: not known
  bool allocates = true;
};

// Keeps one range for each kernel and allocation, however many touches there are.
class NsightTouches {
 public:
  struct Span {
    std::int64_t start = 0, end = 0, device = 0;
  };
  // `kernels` when they ran, and `memory`, both by time; they must outlive this.
  NsightTouches(const std::vector<Span>& kernels, const std::vector<NsightMemory>& memory)
      : kernels_(kernels), memory_(memory) {}

  // The next touch of a series in order of time: it belongs to kernels as `whose` says, and to the allocation that was
  // made last there. A free does not end one: it may be called while the kernels before it still run.
  void add(const NsightTouch& touch);
  // Between two series, and after the last.
  void end_series();

  // From the first byte that was touched of an allocation to the last.
  struct Range {
    std::size_t kernel = 0, allocation = 0;  // into the lists given
    std::int64_t first = 0, end = 0;         // bytes from the allocation's start
    trace::Mode mode = trace::Mode::Read;
  };
  // What `kernel` touched, by allocation.
  std::vector<Range> of(std::size_t kernel) const;
  bool empty() const { return touches_ == 0; }
  // Whether pages moved or faulted while a kernel ran, which so took longer than in core.
  bool while_running() const { return while_running_; }

 private:
  void go_to(std::int64_t time);
  void place(std::size_t allocation);
  void retire(std::size_t active);
  std::optional<std::size_t> beside(const NsightTouch& touch) const;

  struct Active {
    std::size_t kernel = 0;
    std::map<std::size_t, Range> ranges;  // by allocation
  };
  const std::vector<Span>& kernels_;
  const std::vector<NsightMemory>& memory_;
  std::size_t next_kernel_ = 0, next_memory_ = 0;
  std::vector<Active> active_;
  std::map<std::int64_t, std::size_t> last_;                     // kernel that ended on each device
  std::map<std::pair<std::size_t, std::size_t>, Range> beside_;  // by kernel and allocation: of kernels not running
  std::map<std::uint64_t, std::size_t> placed_;                  // allocations by address
  std::vector<Range> seen_;                                      // by kernel and allocation once a series has ended
  std::int64_t touches_ = 0;
  bool while_running_ = false;
};

}  // namespace uvmsim
