#include <algorithm>

#include "base/scramble.h"
#include "gpu/programs/programs.h"
#include "gpu/programs/sweep.h"

namespace uvmsim {
namespace {

constexpr int kRandomThreads = 256;

// Hash tables and gathers: every thread touches places anywhere in some operands (the loads, then the stores that
// depend on them), while the CTA walks its slice of the others.
class RandomProgram final : public KernelProgram {
 public:
  struct Part {
    VirtualAddress address = 0;
    std::int64_t bytes = 0, count = 0;  // places touched by the whole grid
    std::int64_t width = 0;             // of each
    int load = 0;                       // in which of the loads it is read
    bool read = false, write = false;

    PageNumber page(std::int64_t place) const {
      return page_of(address + scramble(static_cast<std::uint64_t>(place)) % static_cast<std::uint64_t>(bytes));
    }
  };

  RandomProgram(std::vector<Part> parts, SweepSet others, std::int64_t grid, int threads)
      : parts_(std::move(parts)), others_(std::move(others)) {
    ctas_ = grid;
    threads_ = threads;
    agents_ = (threads + kWarpThreads - 1) / kWarpThreads;
    loads_ = others_.load_count();
    for (const Part& part : parts_)
      if (part.read) loads_ = std::max(loads_, part.load + 1);
    max_steps_ = loads_ + (others_.any_write() || std::ranges::any_of(parts_, &Part::write) ? 1 : 0);
  }

  std::int64_t steps(std::int64_t, int) const override { return max_steps_; }

  void step(std::int64_t cta, int agent, std::int64_t step, std::vector<Touch>& touches) const override {
    touches.clear();
    const bool store = step == loads_;
    const std::int64_t all = ctas_ * agents_, warp = cta * agents_ + agent;
    for (const Part& part : parts_) {
      if (!(store ? part.write : part.read && part.load == step)) continue;
      const std::int64_t each = (part.count + all - 1) / all;
      const std::int64_t outer = std::min(part.count, (warp + 1) * each);
      for (std::int64_t place = warp * each; place < outer; ++place) add_touch(touches, {part.page(place), 1, store});
    }
    if (agent == 0) store ? others_.stores(cta, 0, touches) : others_.load(static_cast<int>(step), cta, 0, touches);
  }

  bool all_granted(const PageTable& pages) const override {
    return others_.all_granted(pages) && std::ranges::all_of(parts_, [&](const Part& part) {
             const PageNumber outer = page_of(part.address + static_cast<VirtualAddress>(part.bytes) - 1) + 1;
             if (pages.next_fault(page_of(part.address), outer, part.write) == outer) return true;
             for (std::int64_t place = 0; place < part.count; ++place)
               if (!pages.granted(part.page(place), part.write)) return false;
             return true;
           });
  }

  // Places begin at a sector and are nowhere near each other.
  RemoteAccess remote_access(const PageTable& pages, int sms) const override {
    RemoteAccess access;
    for (const Part& p : parts_)
      add_remote({p.address, p.bytes, requests_of(0, p.width) * p.count, (p.count + kWarpThreads - 1) / kWarpThreads,
                  p.read, p.write},
                 pages, access);
    others_.add_remote_access(pages, sms, access);
    return access;
  }

  StallRun next_stall(std::int64_t from, const PageTable& pages) const override {
    if (all_granted(pages)) return {ctas_, ctas_};
    return KernelProgram::next_stall(from, pages);
  }

 private:
  std::vector<Part> parts_;
  SweepSet others_;
  int loads_ = 0;
};

std::unique_ptr<KernelProgram> make_random_program(LaunchShape shape, Operands operands, Options options) {
  std::vector<RandomProgram::Part> parts;
  SweptOperands others;
  const LoadOrder order(operands, options);
  std::int64_t threads_needed = 1;
  for (const Operand& o : operands) {
    if (!o.managed() || o.bytes <= 0) continue;
    const std::int64_t count = o.options < 0 ? 0 : options[static_cast<std::size_t>(o.options)].count;
    const std::int64_t width = o.options < 0 ? 0 : bytes_of_touch(options[static_cast<std::size_t>(o.options)]);
    if (o.pattern != trace::Pattern::Random || count == 0) {
      others.add(o, order.of(o));
      continue;
    }
    parts.push_back({o.address, o.bytes, count * o.passes, width, order.of(o), o.mode != trace::Mode::Write,
                     o.mode != trace::Mode::Read});
    threads_needed = std::max(threads_needed, count);
  }
  const int threads = shape.block > 0 ? shape.block : kRandomThreads;
  const std::int64_t grid = shape.grid > 0 ? shape.grid : (threads_needed + threads - 1) / threads;
  return std::make_unique<RandomProgram>(
      std::move(parts), SweepSet(others, grid, (threads + kWarpThreads - 1) / kWarpThreads), grid, threads);
}

// Threads touch places anywhere.
const bool kRegistered =
    add_program_family({.precedence = 60, .takes = has_pattern<trace::Pattern::Random>, .make = make_random_program});

}  // namespace
}  // namespace uvmsim
