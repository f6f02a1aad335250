#include <algorithm>

#include "gpu/programs/programs.h"
#include "gpu/programs/sweep.h"

namespace uvmsim {
namespace {

constexpr int kWarp = kWarpThreads;

// Place p of an operand is its byte p * stride. Thread t of n takes places t, t + n, ...: loads together, then the
// stores that depend on them.
class StridedProgram final : public KernelProgram {
 public:
  struct Part {
    VirtualAddress address = 0;
    std::int64_t bytes = 0, stride = 0, width = 0;
    bool read = false, write = false;
    std::int64_t places() const { return (bytes + stride - 1) / stride; }
  };

  StridedProgram(std::vector<Part> parts, SweepSet others, std::int64_t grid, int threads, std::int64_t turns)
      : parts_(std::move(parts)), others_(std::move(others)) {
    ctas_ = grid;
    threads_ = threads;
    // The warps of a CTA that loops are taken to stay together.
    agents_ = turns == 1 ? (threads + kWarp - 1) / kWarp : 1;
    any_read_ = others_.any_read() || std::ranges::any_of(parts_, &Part::read);
    phases_ = (any_read_ ? 1 : 0) + (others_.any_write() || std::ranges::any_of(parts_, &Part::write) ? 1 : 0);
    max_steps_ = phases_ * turns;
  }

  std::int64_t steps(std::int64_t, int) const override { return max_steps_; }

  void step(std::int64_t cta, int agent, std::int64_t step, std::vector<Touch>& touches) const override {
    touches.clear();
    const bool store = phases_ == 2 ? step % 2 == 1 : !any_read_;
    const std::int64_t unit = step / phases_ * ctas_ + cta;
    const std::int64_t first = unit * threads_ + agent * kWarp, outer = (unit + 1) * threads_;
    const std::int64_t last = agents_ == 1 ? outer : std::min(first + kWarp, outer);
    for (const Part& part : parts_) {
      if (!(store ? part.write : part.read)) continue;
      for (std::int64_t place = first; place < last && place * part.stride < part.bytes; ++place)
        add_touch(touches, {page_of(part.address + static_cast<VirtualAddress>(place * part.stride)), 1, store});
    }
    if (agent == 0) store ? others_.stores(unit, 0, touches) : others_.loads(unit, 0, touches);
  }

  bool all_granted(const PageTable& pages) const override {
    for (const Part& part : parts_) {
      for (std::int64_t place = 0; place < part.places(); ++place)
        if (!pages.granted(page_of(part.address + static_cast<VirtualAddress>(place * part.stride)), part.write))
          return false;
    }
    return others_.all_granted(pages);
  }

  RemoteAccess remote_access(const PageTable& pages, int sms) const override {
    RemoteAccess access;
    for (const Part& p : parts_)
      add_remote({p.address, p.bytes, gather_requests_of(p.address, p.width, p.stride, p.places()),
                  (p.places() + kWarp - 1) / kWarp, p.read, p.write},
                 pages, access);
    others_.add_remote_access(pages, sms, access);
    return access;
  }

 private:
  std::vector<Part> parts_;
  SweepSet others_;
  bool any_read_ = false;
  std::int64_t phases_ = 1;
};

std::unique_ptr<KernelProgram> make_strided_program(LaunchShape shape, Operands operands, Options options) {
  std::vector<StridedProgram::Part> parts;
  std::vector<Operand> others;
  std::int64_t places = 1;
  for (const Operand& o : operands) {
    if (!o.managed()) continue;
    if (o.pattern != trace::Pattern::Strided || o.options < 0) {
      others.push_back(o);
      continue;
    }
    const trace::PatternOptions& p = options[static_cast<std::size_t>(o.options)];
    parts.push_back({o.address, o.bytes, std::max<std::int64_t>(1, p.stride), bytes_of_touch(p),
                     o.mode != trace::Mode::Write, o.mode != trace::Mode::Read});
    places = std::max(places, parts.back().places());
  }
  // PyTorch's negative log-likelihood is a single warp (cunn_ClassNLLCriterion_updateOutput_kernel<<<1, 32>>>).
  const int threads = shape.block > 0 ? shape.block : kWarp;
  const std::int64_t grid = std::max<std::int64_t>(1, shape.grid);
  const std::int64_t turns = (places + grid * threads - 1) / (grid * threads);
  return std::make_unique<StridedProgram>(
      std::move(parts), SweepSet(others, grid * turns, (threads + kWarp - 1) / kWarp), grid, threads, turns);
}

// Each thread has its own places.
const bool kRegistered =
    add_program_family({.precedence = 50, .takes = has_pattern<trace::Pattern::Strided>, .make = make_strided_program});

}  // namespace
}  // namespace uvmsim
