#include "gpu/programs/sweep.h"

#include <algorithm>

#include "gpu/programs/programs.h"

namespace uvmsim {
void add_touch(std::vector<Touch>& touches, Touch touch) {
  for (std::size_t i = 0; i < touches.size(); ++i) {
    const Touch before = touches[i];
    const std::uint32_t n = before.find(touch.page);
    if (n == before.pages) continue;
    const Touch both{touch.page, std::max(before.weight, touch.weight), before.write || touch.write};
    if (both.weight == before.weight && both.write == before.write) return;
    // The pages before it, itself, the pages behind it.
    Touch first = before, last = before;
    first.pages = n;
    last.page = before.at(n + 1);
    last.pages -= n + 1;
    touches[i] = both;
    if (last.pages > 0) touches.insert(touches.begin() + static_cast<std::ptrdiff_t>(i) + 1, last);
    if (first.pages > 0) touches.insert(touches.begin() + static_cast<std::ptrdiff_t>(i), first);
    return;
  }
  touches.push_back(touch);
}

SweepSet::SweepSet(std::span<const Operand> operands, std::int64_t units, int warps) : warps_(warps) {
  for (const Operand& o : operands) add(o, units, 0);
}

SweepSet::SweepSet(const SweptOperands& operands, std::int64_t units, int warps) : warps_(warps) {
  for (std::size_t i = 0; i < operands.operands.size(); ++i) add(operands.operands[i], units, operands.loads[i]);
}

void SweepSet::add(const Operand& o, std::int64_t units, int load) {
  if (!o.managed() || o.bytes <= 0) return;
  Part part;
  part.address = o.address;
  part.bytes = o.bytes;
  part.slice = std::max<std::int64_t>(1, ceil_div(o.bytes, units));
  part.units = units;
  part.passes = o.passes;
  part.load = load;
  part.read = o.mode != trace::Mode::Write;
  part.write = o.mode != trace::Mode::Read;
  const std::int64_t pages = page_of(o.end() - 1) - page_of(o.address) + 1;
  if (o.pattern == trace::Pattern::Broadcast && pages <= units) part.broadcast_pages = pages;
  part.whole = o.bytes / part.slice;
  part.in_step = part.slice % kPageBytes == 0 ||
                 (kPageBytes % part.slice == 0 && o.address % static_cast<VirtualAddress>(part.slice) == 0);
  part.loads = part.read;
  part.stores = part.write;
  for (const Part& other : parts_) {
    if (!other.covers(part)) continue;
    part.loads &= !(other.loads && other.load == load);
    part.stores &= !other.stores;
  }
  if (part.read) load_count_ = std::max(load_count_, load + 1);
  any_write_ |= part.write;
  parts_.push_back(part);
}

void SweepSet::append(const Part& part, std::int64_t unit, bool write, std::vector<Touch>& touches) const {
  if (part.broadcast_pages > 0) {
    const PageNumber page = page_of(part.address) + static_cast<std::uint32_t>(unit % part.broadcast_pages);
    return add_touch(touches, {page, static_cast<std::uint16_t>(warps_), write});
  }
  const std::int64_t begin = unit * part.slice, end = std::min(begin + part.slice, part.bytes);
  if (begin >= end) return;
  const PageNumber first = page_of(part.address + static_cast<VirtualAddress>(begin));
  const PageNumber last = page_of(part.address + static_cast<VirtualAddress>(end) - 1);
  if (first == last) {
    const Touch touch{first, static_cast<std::uint16_t>(warps_), write};
    return parts_.size() == 1 ? touches.push_back(touch) : add_touch(touches, touch);
  }
  // Warps touch consecutive parts of the slice: each page gets its share of them, at least one.
  const auto start = static_cast<std::int64_t>((part.address + static_cast<VirtualAddress>(begin)) % kPageBytes);
  for (PageNumber page = first; page <= last; ++page) {
    const std::int64_t lo = std::max<std::int64_t>(0, static_cast<std::int64_t>(page - first) * kPageBytes - start);
    const std::int64_t hi =
        std::min<std::int64_t>(end - begin, static_cast<std::int64_t>(page - first + 1) * kPageBytes - start);
    const std::int64_t share = ceil_div(warps_ * (hi - lo), part.slice);
    add_touch(touches, {page, static_cast<std::uint16_t>(std::max<std::int64_t>(1, share)), write});
  }
}

bool SweepSet::all_granted(const PageTable& pages) const {
  return std::ranges::all_of(parts_, [&](const Part& part) {
    const PageNumber outer = page_of(part.address + static_cast<VirtualAddress>(part.bytes) - 1) + 1;
    return pages.next_fault(page_of(part.address), outer, part.write) == outer;
  });
}

void SweepSet::add_remote_access(const PageTable& pages, int sms, RemoteAccess& access) const {
  for (const Part& part : parts_) {
    const std::int64_t warp = std::clamp(ceil_div(part.slice, warps_), kSectorBytes, kLineBytes);
    const bool broadcast = part.broadcast_pages > 0;
    const std::int64_t times = broadcast ? std::min<std::int64_t>(sms, ceil_div(part.units, part.broadcast_pages)) : 1;
    const std::int64_t piece = broadcast ? kLineBytes : std::min(warp, part.slice);
    const LinkRequests requests = piece_requests_of(part.address, part.bytes, piece) * (times * part.passes);
    const std::int64_t loads = ceil_div(part.bytes, piece) * times * part.passes;
    add_remote({part.address, part.bytes, requests, loads, part.read, part.write}, pages, access);
  }
}

StallRun SweepSet::next_stall(std::int64_t from, std::int64_t units, int pass, const PageTable& pages) const {
  StallRun best{units, units};
  for (const Part& part : parts_) {
    if (pass >= part.passes) continue;
    const PageNumber start = page_of(part.address);
    if (part.broadcast_pages > 0) {
      const PageNumber end = start + static_cast<std::uint32_t>(part.broadcast_pages);
      const PageNumber now = start + static_cast<std::uint32_t>(from % part.broadcast_pages);
      PageNumber missing = pages.next_fault(now, end, part.write);
      std::int64_t unit = from + (missing - now);
      if (missing == end) {
        missing = pages.next_fault(start, now, part.write);
        if (missing == now) continue;
        unit += missing - start;
      }
      if (unit < best.first) best = {unit, unit + 1};
      continue;
    }
    const std::int64_t begin = from * part.slice;
    if (begin >= part.bytes) continue;
    // Only what could stall a CTA before the best one so far matters.
    const std::int64_t limit = best.first == units ? part.bytes : std::min(part.bytes, (best.first + 1) * part.slice);
    const PageNumber outer = page_of(part.address + static_cast<VirtualAddress>(limit) - 1) + 1;
    const PageNumber missing =
        pages.next_fault(page_of(part.address + static_cast<VirtualAddress>(begin)), outer, part.write);
    if (missing == outer) continue;
    const auto offset = static_cast<std::int64_t>(address_of(missing)) - static_cast<std::int64_t>(part.address);
    const std::int64_t unit = std::max(from, std::max<std::int64_t>(offset, 0) / part.slice);
    if (unit > best.first) continue;
    const PageNumber run = pages.fault_run_end(
        missing, page_of(part.address + static_cast<VirtualAddress>(part.bytes) - 1) + 1, part.write);
    const auto run_end = static_cast<std::int64_t>(address_of(run)) - static_cast<std::int64_t>(part.address);
    const std::int64_t end = std::min(units, (std::min(run_end, part.bytes) - 1) / part.slice + 1);
    if (unit < best.first) {
      best = {unit, std::max(end, unit + 1)};
    } else {
      best.outer = std::max(best.outer, end);
    }
  }
  return best;
}

// --- runs of units

bool SweepSet::Part::covers(const Part& other) const {
  if (passes < other.passes) return false;
  if (address == other.address && bytes == other.bytes && broadcast_pages == other.broadcast_pages) return true;
  const PageNumber page = page_of(address);
  const auto touching = [](const Part& p) { return p.broadcast_pages > 0 ? p.units : ceil_div(p.bytes, p.slice); };
  return page_of(end() - 1) == page && page_of(other.address) == page && page_of(other.end() - 1) == page &&
         touching(*this) >= touching(other);
}

SweepSet::PageSpan SweepSet::Part::pages_of(std::int64_t unit) const {
  if (broadcast_pages > 0) {
    const PageNumber page = page_of(address) + static_cast<std::uint32_t>(unit % broadcast_pages);
    return {page, page + 1};
  }
  const std::int64_t begin = unit * slice, end = std::min(begin + slice, bytes);
  return {page_of(address + static_cast<VirtualAddress>(begin)),
          page_of(address + static_cast<VirtualAddress>(end) - 1) + 1};
}

std::int64_t SweepSet::Part::similar_until(std::int64_t unit) const {
  if (broadcast_pages == 1) return units;
  if (broadcast_pages > 0) return unit + broadcast_pages - unit % broadcast_pages;
  if (unit >= whole) return unit + 1;
  if (in_step) return whole;
  const PageSpan now = pages_of(unit);
  return now.outer - now.first > 1 ? unit + 1 : std::min(whole, units_before(now.outer));
}

bool SweepSet::Part::all_are(bool fault, bool store, const PageTable& pages) const {
  const PageNumber begin = page_of(address), end = page_of(this->end() - 1) + 1;
  return (fault ? pages.fault_run_end(begin, end, store) : pages.next_fault(begin, end, store)) == end;
}

std::int64_t SweepSet::Part::alike_until(std::int64_t unit, std::int64_t limit, bool fault, bool store,
                                         const PageTable& pages) const {
  const PageNumber first = pages_of(unit).first;
  if (pages.granted(first, store) == fault) return unit;
  if (broadcast_pages > 0 && all_are(fault, store, pages)) return limit;
  limit = std::min(limit, broadcast_pages > 0 ? similar_until(unit) : ceil_div(bytes, slice));
  const PageNumber outer = pages_of(limit - 1).outer;
  const PageNumber same = fault ? pages.fault_run_end(first, outer, store) : pages.next_fault(first, outer, store);
  if (same == outer) return limit;
  return broadcast_pages > 0 ? unit + (same - first) : std::max(unit, units_before(same));
}

std::int64_t SweepSet::alike_until(std::int64_t from, std::int64_t limit, int pass, int phase, const PageTable& pages,
                                   bool& missing) const {
  const bool store = phase == load_count_;
  bool any = false;
  for (const Part& part : parts_) {
    if (!part.touched(from, pass, phase, store)) continue;
    if (!any) missing = !pages.granted(part.pages_of(from).first, store);
    any = true;
    limit = part.alike_until(from, limit, missing, store, pages);
    if (limit == from) return from;
  }
  return any ? limit : from;
}

std::uint64_t SweepSet::Part::missing(std::int64_t unit, bool store, const PageTable& pages,
                                      std::int64_t& outer) const {
  const PageSpan now = pages_of(unit);
  const bool faults = !pages.granted(now.first, store);
  if (broadcast_pages > 0 && all_are(faults, store, pages)) return faults ? 1 : 0;
  outer = std::min(outer, similar_until(unit));
  const PageNumber end = pages_of(outer - 1).outer;
  const PageNumber same = faults ? pages.fault_run_end(now.first, end, store) : pages.next_fault(now.first, end, store);
  if (same >= now.outer) {
    if (same < end) outer = similar_before(unit, same);
    return faults ? (std::uint64_t{1} << (now.outer - now.first)) - 1 : 0;
  }
  outer = unit + 1;
  std::uint64_t bits = 0;
  for (PageNumber page = now.first; page < now.outer; ++page)
    if (!pages.granted(page, store)) bits |= std::uint64_t{1} << (page - now.first);
  return bits;
}

std::int64_t SweepSet::next_missing(std::int64_t from, std::int64_t units, const PageTable& pages) const {
  std::int64_t next = units;
  for (const Part& part : parts_) {
    if (part.broadcast_pages > 0) {
      if (!part.all_are(false, part.write, pages)) return from;
      continue;
    }
    const std::int64_t outer_unit = std::min(units, ceil_div(part.bytes, part.slice));
    if (from >= outer_unit) continue;
    const PageNumber outer = part.pages_of(outer_unit - 1).outer;
    const PageNumber missing = pages.next_fault(part.pages_of(from).first, outer, part.write);
    if (missing != outer) next = std::min(next, part.units_before(missing));
  }
  return std::max(from, next);
}

std::int64_t SweepSet::max_touches() const {
  std::int64_t pages = 0;
  for (const Part& part : parts_) pages += part.broadcast_pages > 0 ? 1 : (part.slice - 1) / kPageBytes + 2;
  return pages;
}

MissRun SweepSet::miss_run(std::int64_t from, std::int64_t limit, int pass, int phase, const PageTable& pages) const {
  const bool store = phase == load_count_;
  bool missing = false;
  MissRun run{alike_until(from, limit, pass, phase, pages, missing), missing ? kMissesAll : 0};
  if (run.outer == from) {
    run = {limit, 0};
    std::uint32_t touches = 0;
    for (const Part& part : parts_) {
      if (!part.touched(from, pass, phase, store)) continue;
      run.missing |= part.missing(from, store, pages, run.outer) << touches;
      touches += part.pages_of(from).outer - part.pages_of(from).first;
    }
  }
  return run;
}

void SweepSet::missed(std::int64_t unit, int pass, int phase, std::uint64_t missing,
                      std::vector<Touch>& touches) const {
  const bool store = phase == load_count_;
  touches.clear();
  for (const Part& part : parts_) {
    if (!part.touched(unit, pass, phase, store)) continue;
    const PageSpan span = part.pages_of(unit);
    const std::uint32_t pages = span.outer - span.first;
    const std::uint64_t all = (std::uint64_t{1} << pages) - 1, here = missing & all;
    missing >>= pages;
    if (here == 0) continue;
    append(part, unit, store, touches);
    if (here == all) continue;
    // What another operand has of these pages is missing there, too, or not.
    std::erase_if(touches, [&](const Touch& touch) {
      return span.first <= touch.page && touch.page < span.outer && (here >> (touch.page - span.first) & 1) == 0;
    });
  }
}

namespace {

// Pointwise kernels, copies, fills, reductions: CTA c of `grid` takes units c, c + grid, c + 2 grid, ..., `unroll` at a
// time: it loads them all, then stores.
class SweepProgram final : public KernelProgram {
 public:
  SweepProgram(SweepSet set, std::int64_t units, std::int64_t grid, int threads, int passes, int unroll)
      : set_(std::move(set)), units_(units), grid_(grid), passes_(passes), unroll_(unroll) {
    phases_ = set_.load_count() + (set_.any_write() ? 1 : 0);
    loop_ = ceil_div(units_, grid_);
    threads_ = threads;
    // Each pass of a kernel that does not loop is CTAs of its own; a looping CTA goes round again.
    ctas_ = loop_ == 1 ? units_ * passes_ : grid_;
    max_steps_ = phases_ * (loop_ == 1 ? 1 : ceil_div(loop_ * passes_, unroll_));
  }

  std::int64_t steps(std::int64_t cta, int) const override {
    if (loop_ == 1) return phases_;
    return phases_ * ceil_div(passes_ * turns(cta), unroll_);
  }

  void step(std::int64_t cta, int, std::int64_t step, std::vector<Touch>& touches) const override {
    touches.clear();
    if (loop_ == 1) {
      const std::int64_t pass = cta < units_ ? 0 : cta / units_;
      return touch(cta - pass * units_, pass, step, touches);
    }
    const std::int64_t round = step / phases_, turns = this->turns(cta);
    const std::int64_t first = round * unroll_, outer = std::min(first + unroll_, passes_ * turns);
    for (std::int64_t turn = first; turn < outer; ++turn) {
      const std::int64_t pass = turn / turns;
      touch(cta + (turn - pass * turns) * grid_, pass, step - round * phases_, touches);
    }
  }

  std::int64_t next_miss(std::int64_t cta, int, std::int64_t step, const PageTable& pages) const override {
    constexpr std::int64_t kTurnsAhead = 256;  // a look at all pages to the end would cost more than it saves
    if (loop_ == 1) return step;
    const std::int64_t turn = step / phases_ * unroll_, turns = this->turns(cta), pass = turn / turns;
    const std::int64_t unit = cta + (turn - pass * turns) * grid_;
    const std::int64_t missing = set_.next_missing(unit, std::min(units_, unit + kTurnsAhead * grid_), pages);
    // The first turn of the pass that takes a unit from `missing` on; without one, the first of the next pass.
    const std::int64_t next = pass * turns + std::min(turns, ceil_div(std::max<std::int64_t>(missing - cta, 0), grid_));
    return std::clamp(next / unroll_ * phases_, step, steps(cta, 0) - 1);
  }

  bool all_granted(const PageTable& pages) const override { return set_.all_granted(pages); }

  RemoteAccess remote_access(const PageTable& pages, int sms) const override {
    RemoteAccess access;
    set_.add_remote_access(pages, sms, access);
    return access;
  }

  StallRun next_stall(std::int64_t from, const PageTable& pages) const override {
    if (loop_ != 1) return KernelProgram::next_stall(from, pages);
    for (std::int64_t pass = from / units_; pass < passes_; ++pass) {
      const std::int64_t base = pass * units_;
      const StallRun run =
          set_.next_stall(std::max<std::int64_t>(from - base, 0), units_, static_cast<int>(pass), pages);
      if (run.first < units_) return {base + run.first, base + run.outer};
    }
    return {ctas_, ctas_};
  }

  bool in_runs() const override { return loop_ == 1 && looks_once() && set_.max_touches() < 64; }

  MissRun miss_run(std::int64_t from, std::int64_t limit, std::int64_t step, const PageTable& pages) const override {
    const std::int64_t pass = passes_ == 1 ? 0 : from / units_, base = pass * units_;
    const MissRun run = set_.miss_run(from - base, std::min(limit - base, units_), static_cast<int>(pass),
                                      static_cast<int>(step), pages);
    return {base + run.outer, run.missing};
  }

  void missed(std::int64_t cta, std::int64_t step, std::uint64_t missing, std::vector<Touch>& touches) const override {
    const std::int64_t pass = passes_ == 1 ? 0 : cta / units_;
    set_.missed(cta - pass * units_, static_cast<int>(pass), static_cast<int>(step), missing, touches);
  }

 private:
  // Units that a CTA takes in a pass.
  std::int64_t turns(std::int64_t cta) const { return (units_ - cta - 1) / grid_ + 1; }

  void touch(std::int64_t unit, std::int64_t pass, std::int64_t phase, std::vector<Touch>& touches) const {
    if (phase == set_.load_count()) return set_.stores(unit, static_cast<int>(pass), touches);
    set_.load(static_cast<int>(phase), unit, static_cast<int>(pass), touches);
  }

  SweepSet set_;
  std::int64_t units_, grid_;
  std::int64_t passes_, unroll_;
  std::int64_t loop_ = 1;
  int phases_ = 1;
};

// PyTorch's pointwise launch: kPointwiseThreads, one 4-byte element each; a memset or vectorised copy stores 16 bytes
// per thread.
constexpr std::int64_t kElementBytes = 4, kWideElementBytes = 16;

}  // namespace

std::unique_ptr<KernelProgram> make_sweep_program(LaunchShape shape, Operands operands, Options options) {
  std::int64_t longest = 0, element = kElementBytes;
  int passes = 1, unroll = 1;
  const LoadOrder order(operands, options);
  SweptOperands swept;
  for (const Operand& o : operands) {
    if (!o.managed()) continue;
    swept.add(o, order.of(o));
    longest = std::max(longest, o.bytes);
    passes = std::max(passes, o.passes);
    if (o.pattern == trace::Pattern::Wide) element = kWideElementBytes;
    if (o.options < 0) continue;
    const trace::PatternOptions& p = options[static_cast<std::size_t>(o.options)];
    if (p.element_bytes != kElementBytes || (!p.dependent && p.unroll == 1)) element = p.element_bytes;
    unroll = std::max(unroll, p.unroll);
  }
  const int threads = shape.block > 0 ? shape.block : kPointwiseThreads;
  std::int64_t unit = threads * element;
  std::int64_t grid = std::max<std::int64_t>(1, shape.grid > 0 ? shape.grid : ceil_div(longest, unit));
  // CTAs that together move on by less than a page per turn take a page per turn instead: the loads between
  // hit what the first one brought.
  if (grid * unit < kPageBytes) unit = kPageBytes / grid;
  const std::int64_t units = std::max<std::int64_t>(1, ceil_div(longest, unit));
  const int warps = (threads + kWarpThreads - 1) / kWarpThreads;
  return std::make_unique<SweepProgram>(SweepSet(swept, units, warps), units, std::min(grid, units), threads, passes,
                                        unroll);
}

}  // namespace uvmsim
