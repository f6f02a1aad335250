#include <algorithm>

#include "gpu/programs/places.h"
#include "gpu/programs/programs.h"
#include "gpu/programs/sweep.h"

namespace uvmsim {
namespace {

// Thread t of T takes places t, t + T, ...: the loads, then the stores that depend on them.
class StridedProgram final : public KernelProgram {
 public:
  StridedProgram(std::vector<Places> parts, SweepSet others, std::int64_t grid, int threads, std::int64_t turns)
      : parts_(std::move(parts)), others_(std::move(others)), turns_(turns) {
    ctas_ = grid;
    threads_ = threads;
    // The warps of a CTA that loops are taken to stay together.
    agents_ = turns == 1 ? (threads + kWarpThreads - 1) / kWarpThreads : 1;
    loads_ = others_.load_count();
    for (const Places& p : parts_)
      if (p.read) loads_ = std::max(loads_, p.load + 1);
    phases_ = loads_ + (others_.any_write() || std::ranges::any_of(parts_, &Places::write) ? 1 : 0);
    max_steps_ = phases_ * turns;
  }

  std::int64_t steps(std::int64_t, int) const override { return max_steps_; }

  void step(std::int64_t cta, int agent, std::int64_t step, std::vector<Touch>& touches) const override {
    touches.clear();
    const std::int64_t turn = step / phases_, phase = step - turn * phases_;
    const bool store = phase == loads_;
    const std::int64_t unit = turn * ctas_ + cta;
    const std::int64_t first = unit * threads_ + std::int64_t{agent} * kWarpThreads, outer = (unit + 1) * threads_;
    const std::int64_t last = agents_ == 1 ? outer : std::min(first + kWarpThreads, outer);
    for (const Places& part : parts_) {
      if (!(store ? part.write : part.read && part.load == phase)) continue;
      for (std::int64_t place = first; place < last && place * part.stride < part.bytes; ++place)
        add_touch(touches, {part.page(place), 1, store});
    }
    if (agent == 0) store ? others_.stores(unit, 0, touches) : others_.load(static_cast<int>(phase), unit, 0, touches);
  }

  bool all_granted(const PageTable& pages) const override {
    return others_.all_granted(pages) &&
           std::ranges::all_of(parts_, [&](const Places& p) { return p.next_fault(0, pages) == p.count(); });
  }

  RemoteAccess remote_access(const PageTable& pages, int sms) const override {
    RemoteAccess access;
    for (const Places& p : parts_)
      add_remote({p.address, p.bytes, gather_requests_of(p.address, p.width, p.stride, p.count()),
                  (p.count() + kWarpThreads - 1) / kWarpThreads, p.read, p.write},
                 pages, access);
    others_.add_remote_access(pages, sms, access);
    return access;
  }

  StallRun next_stall(std::int64_t from, const PageTable& pages) const override {
    std::int64_t stall = ctas_;
    for (std::int64_t turn = 0; turn < turns_; ++turn) {
      const std::int64_t base = turn * ctas_, unit = base + from;
      for (const Places& p : parts_) {
        if (unit * threads_ >= p.count()) continue;
        const std::int64_t place = p.next_fault(unit * threads_, pages);
        if (place < p.count()) stall = std::min(stall, place / threads_ - base);
      }
      stall = std::min(stall, others_.next_stall(unit, turns_ * ctas_, 0, pages).first - base);
    }
    return {stall, std::min(stall + 1, ctas_)};
  }

 private:
  std::vector<Places> parts_;
  SweepSet others_;
  std::int64_t turns_ = 1;
  int loads_ = 0;
  std::int64_t phases_ = 1;
};

std::unique_ptr<KernelProgram> make_strided_program(LaunchShape shape, Operands operands, Options options) {
  std::vector<Places> parts;
  SweptOperands others;
  const LoadOrder order(operands, options);
  std::int64_t places = 1;
  for (const Operand& o : operands) {
    if (!o.managed()) continue;
    if (o.pattern != trace::Pattern::Strided || o.options < 0) {
      others.add(o, order.of(o));
      continue;
    }
    const trace::PatternOptions& p = options[static_cast<std::size_t>(o.options)];
    parts.push_back({o.address, o.bytes, std::max<std::int64_t>(1, p.stride), bytes_of_touch(p), order.of(o),
                     o.mode != trace::Mode::Write, o.mode != trace::Mode::Read});
    places = std::max(places, parts.back().count());
  }
  // PyTorch's negative log-likelihood is a single warp (cunn_ClassNLLCriterion_updateOutput_kernel<<<1, 32>>>).
  const int threads = shape.block > 0 ? shape.block : kWarpThreads;
  const std::int64_t grid = std::max<std::int64_t>(1, shape.grid);
  const std::int64_t turns = (places + grid * threads - 1) / (grid * threads);
  return std::make_unique<StridedProgram>(std::move(parts),
                                          SweepSet(others, grid * turns, (threads + kWarpThreads - 1) / kWarpThreads),
                                          grid, threads, turns);
}

// Each thread has its own places.
const bool kRegistered =
    add_program_family({.precedence = 50, .takes = has_pattern<trace::Pattern::Strided>, .make = make_strided_program});

}  // namespace
}  // namespace uvmsim
