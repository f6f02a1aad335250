#include <algorithm>

#include "gpu/programs/programs.h"
#include "gpu/programs/sweep.h"

namespace uvmsim {
namespace {

constexpr int kWarp = 32;

// Thread t touches byte t * stride of every operand: loads together, then the stores that depend on them.
class StridedProgram final : public KernelProgram {
 public:
  struct Part {
    VirtualAddress address = 0;
    std::int64_t bytes = 0, stride = 0;
    bool read = false, write = false;
  };

  StridedProgram(std::vector<Part> parts, SweepSet others, std::int64_t grid, int threads)
      : parts_(std::move(parts)), others_(std::move(others)) {
    ctas_ = grid;
    threads_ = threads;
    agents_ = (threads + kWarp - 1) / kWarp;
    any_read_ = others_.any_read() || std::ranges::any_of(parts_, &Part::read);
    max_steps_ = (any_read_ ? 1 : 0) + (others_.any_write() || std::ranges::any_of(parts_, &Part::write) ? 1 : 0);
  }

  std::int64_t steps(std::int64_t, int) const override { return max_steps_; }

  void step(std::int64_t cta, int agent, std::int64_t step, std::vector<Touch>& touches) const override {
    touches.clear();
    const bool store = step == 1 || !any_read_;
    const std::int64_t first = cta * threads_ + agent * kWarp, last = std::min(first + kWarp, (cta + 1) * threads_);
    for (const Part& part : parts_) {
      if (!(store ? part.write : part.read)) continue;
      for (std::int64_t thread = first; thread < last && thread * part.stride < part.bytes; ++thread)
        add_touch(touches, {page_of(part.address + static_cast<VirtualAddress>(thread * part.stride)), 1, store});
    }
    if (agent == 0) store ? others_.stores(cta, 0, touches) : others_.loads(cta, 0, touches);
  }

  bool all_granted(const PageTable& pages) const override {
    for (const Part& part : parts_) {
      const std::int64_t threads = std::min(ctas_ * threads_, (part.bytes + part.stride - 1) / part.stride);
      for (std::int64_t thread = 0; thread < threads; ++thread)
        if (!pages.granted(page_of(part.address + static_cast<VirtualAddress>(thread * part.stride)), part.write))
          return false;
    }
    return others_.all_granted(pages);
  }

 private:
  std::vector<Part> parts_;
  SweepSet others_;
  bool any_read_ = false;
};

}  // namespace

std::unique_ptr<KernelProgram> make_strided_program(LaunchShape shape, Operands operands, Options options) {
  std::vector<StridedProgram::Part> parts;
  std::vector<Operand> others;
  std::int64_t threads_needed = 1;
  for (const Operand& o : operands) {
    if (!o.managed()) continue;
    if (o.pattern != trace::Pattern::Strided || o.options < 0) {
      others.push_back(o);
      continue;
    }
    const std::int64_t stride = std::max<std::int64_t>(1, options[static_cast<std::size_t>(o.options)].stride);
    parts.push_back({o.address, o.bytes, stride, o.mode != trace::Mode::Write, o.mode != trace::Mode::Read});
    threads_needed = std::max(threads_needed, (o.bytes + stride - 1) / stride);
  }
  const int threads = shape.block > 0 ? shape.block : kWarp;
  const std::int64_t grid = shape.grid > 0 ? shape.grid : (threads_needed + threads - 1) / threads;
  return std::make_unique<StridedProgram>(std::move(parts), SweepSet(others, grid, (threads + kWarp - 1) / kWarp), grid,
                                          threads);
}

}  // namespace uvmsim
