#include <algorithm>

#include "gpu/programs/programs.h"
#include "gpu/programs/sweep.h"

namespace uvmsim {
namespace {

// One thread that touches given places one after the other; each touch waits for the one before it.
class ListProgram final : public KernelProgram {
 public:
  struct Place {
    PageNumber page{};
    bool read = false, write = false;
    std::int64_t width = 0;
  };

  ListProgram(std::vector<Place> places, SweepSet others) : places_(std::move(places)), others_(std::move(others)) {
    threads_ = 1;
    for (const Place& p : places_) {
      if (p.read) stores_.push_back(false), places_of_step_.push_back(p.page);
      if (p.write) stores_.push_back(true), places_of_step_.push_back(p.page);
    }
    max_steps_ = std::max<std::int64_t>(1, static_cast<std::int64_t>(places_of_step_.size()));
  }

  std::int64_t steps(std::int64_t, int) const override { return max_steps_; }

  void step(std::int64_t, int, std::int64_t step, std::vector<Touch>& touches) const override {
    touches.clear();
    const auto i = static_cast<std::size_t>(step);
    if (i < places_of_step_.size()) touches.push_back({places_of_step_[i], 1, stores_[i]});
    if (step == 0) {
      others_.loads(0, 0, touches);
      others_.stores(0, 0, touches);
    }
  }

  bool all_granted(const PageTable& pages) const override {
    for (const Place& p : places_)
      if (!pages.granted(p.page, p.write)) return false;
    return others_.all_granted(pages);
  }

  // Each place begins at a sector.
  RemoteAccess remote_access(const PageTable& pages, int sms) const override {
    RemoteAccess access;
    others_.add_remote_access(pages, sms, access);
    for (const Place& p : places_) {
      if (pages.remote_pages(p.page, p.page + 1) == 0) continue;
      if (p.read) access.read += requests_of(0, p.width);
      if (p.write) access.written += requests_of(0, p.width);
      access.loads += p.read ? 1 : 0;
    }
    return access;
  }

 private:
  std::vector<Place> places_;
  std::vector<PageNumber> places_of_step_;
  std::vector<bool> stores_;
  SweepSet others_;
};

std::int64_t offset_of(const Operand& o, const trace::PatternOptions& p, std::int64_t i) {
  if (o.pattern == trace::Pattern::Order) return p.order[static_cast<std::size_t>(i)];
  return i * (p.stride % o.bytes) % o.bytes;
}

std::unique_ptr<KernelProgram> make_list_program(LaunchShape, Operands operands, Options options) {
  std::vector<ListProgram::Place> places;
  std::vector<Operand> others;
  for (const Operand& o : operands) {
    if (!o.managed()) continue;
    const bool listed = o.pattern == trace::Pattern::Order || o.pattern == trace::Pattern::Chase;
    if (!listed || o.options < 0) {
      others.push_back(o);
      continue;
    }
    const trace::PatternOptions& p = options[static_cast<std::size_t>(o.options)];
    const std::int64_t count = o.pattern == trace::Pattern::Order ? static_cast<std::int64_t>(p.order.size()) : p.count;
    for (int pass = 0; pass < o.passes; ++pass) {
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t offset = std::clamp<std::int64_t>(offset_of(o, p, i), 0, o.bytes - 1);
        places.push_back({page_of(o.address + static_cast<VirtualAddress>(offset)), o.mode != trace::Mode::Write,
                          o.mode != trace::Mode::Read, bytes_of_touch(p)});
      }
    }
  }
  return std::make_unique<ListProgram>(std::move(places), SweepSet(others, 1, 1));
}

// Lists of single touches.
const bool kRegistered = add_program_family(
    {.precedence = 70, .takes = has_pattern<trace::Pattern::Order, trace::Pattern::Chase>, .make = make_list_program});

}  // namespace
}  // namespace uvmsim
