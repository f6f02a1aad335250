#include <algorithm>

#include "gpu/programs/places.h"
#include "gpu/programs/programs.h"
#include "gpu/programs/sweep.h"
#include "trace/format.h"

namespace uvmsim {
namespace {

// Places of which each thread takes contiguous ones, a chunk at a time.
struct Chunks {
  Places places;
  std::int64_t length = 1;  // of a chunk, in places

  std::int64_t count() const { return (places.count() + length - 1) / length; }
  // Places that a thread is ahead after a step: a page, or a place where those are further apart.
  std::int64_t per_step() const { return std::max<std::int64_t>(1, kPageBytes / places.stride); }
  // Of a chunk: its first place, one a page after the other, its last place. No page between them is left out.
  std::int64_t steps() const { return (length - 2 + per_step()) / per_step() + 1; }
  // Where thread `thread` is in step `step` of its chunk; count() of the places when it has nothing there.
  std::int64_t place(std::int64_t chunk, std::int64_t step) const {
    const std::int64_t first = chunk * length, all = places.count();
    const std::int64_t last = std::min(first + length, all) - 1;
    if (first >= all || step >= steps()) return all;
    return std::min(first + step * per_step(), last);
  }
};

// Thread t of T takes chunks t, t + T, ... of each operand, each from its start to its end, all threads at the same
// pace: the places of a warp are a chunk apart.
class ChunkProgram final : public KernelProgram {
 public:
  ChunkProgram(std::vector<Chunks> parts, SweepSet others, std::int64_t grid, int threads, std::int64_t rounds)
      : parts_(std::move(parts)), others_(std::move(others)), rounds_(rounds) {
    ctas_ = grid;
    threads_ = threads;
    agents_ = (threads + kWarpThreads - 1) / kWarpThreads;
    loads_ = others_.load_count();
    bool any_write = others_.any_write();
    for (const Chunks& c : parts_) {
      if (c.places.read) loads_ = std::max(loads_, c.places.load + 1);
      any_write |= c.places.write;
      chunk_steps_ = std::max(chunk_steps_, c.steps());
    }
    phases_ = loads_ + (any_write ? 1 : 0);
    max_steps_ = phases_ * chunk_steps_ * rounds_;
  }

  std::int64_t steps(std::int64_t, int) const override { return max_steps_; }

  void step(std::int64_t cta, int agent, std::int64_t step, std::vector<Touch>& touches) const override {
    touches.clear();
    const std::int64_t turn = step / phases_, phase = step - turn * phases_;
    const std::int64_t round = turn / chunk_steps_, in_chunk = turn - round * chunk_steps_;
    const bool store = phase == loads_;
    const std::int64_t unit = round * ctas_ + cta;
    const std::int64_t first = unit * threads_ + std::int64_t{agent} * kWarpThreads;
    const std::int64_t outer = std::min(first + kWarpThreads, (unit + 1) * threads_);
    for (const Chunks& c : parts_) {
      if (!(store ? c.places.write : c.places.read && c.places.load == phase)) continue;
      for (std::int64_t chunk = first; chunk < outer; ++chunk) {
        const std::int64_t place = c.place(chunk, in_chunk);
        if (place < c.places.count()) add_touch(touches, {c.places.page(place), 1, store});
      }
    }
    if (agent != 0 || in_chunk != 0) return;
    store ? others_.stores(unit, 0, touches) : others_.load(static_cast<int>(phase), unit, 0, touches);
  }

  bool all_granted(const PageTable& pages) const override {
    return others_.all_granted(pages) && std::ranges::all_of(parts_, [&](const Chunks& c) {
             return c.places.next_fault(0, pages) == c.places.count();
           });
  }

  // The threads of a warp each access a place, a chunk apart.
  RemoteAccess remote_access(const PageTable& pages, int sms) const override {
    RemoteAccess access;
    for (const Chunks& c : parts_) {
      const Places& p = c.places;
      add_remote({p.address, p.bytes, chunk_requests_of(p.address, p.width, p.stride, p.count(), c.length),
                  (c.count() + kWarpThreads - 1) / kWarpThreads * c.length, p.read, p.write},
                 pages, access);
    }
    others_.add_remote_access(pages, sms, access);
    return access;
  }

  StallRun next_stall(std::int64_t from, const PageTable& pages) const override {
    std::int64_t stall = ctas_;
    for (std::int64_t round = 0; round < rounds_; ++round) {
      const std::int64_t base = round * ctas_, unit = base + from;
      for (const Chunks& c : parts_) {
        const std::int64_t per_cta = threads_ * c.length;
        if (unit * per_cta >= c.places.count()) continue;
        const std::int64_t place = c.places.next_fault(unit * per_cta, pages);
        if (place < c.places.count()) stall = std::min(stall, place / per_cta - base);
      }
      stall = std::min(stall, others_.next_stall(unit, rounds_ * ctas_, 0, pages).first - base);
    }
    return {stall, std::min(stall + 1, ctas_)};
  }

 private:
  std::vector<Chunks> parts_;
  SweepSet others_;
  std::int64_t rounds_ = 1;       // over the chunks
  std::int64_t chunk_steps_ = 1;  // of the longest chunk
  int loads_ = 0;
  std::int64_t phases_ = 1;
};

bool is_chunked(const Operand& o, Options options) {
  return (o.pattern == trace::Pattern::Sequential || o.pattern == trace::Pattern::Strided) && o.options >= 0 &&
         options[static_cast<std::size_t>(o.options)].chunk > 0;
}

Places places_of(const Operand& o, const trace::PatternOptions& p, int load) {
  const bool dense = o.pattern == trace::Pattern::Sequential;
  const std::int64_t stride = dense ? p.element_bytes : std::max<std::int64_t>(1, p.stride);
  return {o.address,
          o.bytes,
          stride,
          dense ? p.element_bytes : bytes_of_touch(p),
          load,
          o.mode != trace::Mode::Write,
          o.mode != trace::Mode::Read};
}

std::unique_ptr<KernelProgram> make_chunk_program(LaunchShape shape, Operands operands, Options options) {
  std::vector<Chunks> parts;
  SweptOperands others;
  const LoadOrder order(operands, options);
  std::int64_t chunks = 1;
  for (const Operand& o : operands) {
    if (!o.managed() || o.bytes <= 0) continue;
    if (!is_chunked(o, options)) {
      others.add(o, order.of(o));
      continue;
    }
    const trace::PatternOptions& p = options[static_cast<std::size_t>(o.options)];
    const Places places = places_of(o, p, order.of(o));
    const std::int64_t length = std::clamp<std::int64_t>(p.chunk / places.stride, 1, places.count());
    parts.push_back({places, length});
    chunks = std::max(chunks, parts.back().count());
  }
  const int threads =
      static_cast<int>(std::min<std::int64_t>(shape.block > 0 ? shape.block : kPointwiseThreads, trace::kMostThreads));
  const std::int64_t enough = (chunks + threads - 1) / threads;
  const std::int64_t grid = shape.grid > 0 ? std::min(shape.grid, enough) : enough;
  // Threads that together move on by less than a page per round take a page: what is between hits.
  std::int64_t rounds = 1;
  for (Chunks& c : parts) {
    c.length = std::max(c.length, std::min(c.places.count(), kPageBytes / c.places.stride / (grid * threads)));
    rounds = std::max(rounds, (c.count() + grid * threads - 1) / (grid * threads));
  }
  return std::make_unique<ChunkProgram>(std::move(parts),
                                        SweepSet(others, grid * rounds, (threads + kWarpThreads - 1) / kWarpThreads),
                                        grid, threads, rounds);
}

// Each thread has contiguous places of its own.
const bool kRegistered = add_program_family({.precedence = 55, .takes = is_chunked, .make = make_chunk_program});

}  // namespace
}  // namespace uvmsim
