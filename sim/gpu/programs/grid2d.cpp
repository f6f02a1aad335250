#include <algorithm>
#include <array>
#include <optional>

#include "gpu/programs/programs.h"
#include "gpu/programs/sweep.h"

namespace uvmsim {
namespace {

// Threads of a CTA in x and y.
struct Block {
  std::int64_t x = 16, y = 16;
  int threads() const { return static_cast<int>(x * y); }
  int warps() const { return (threads() + kWarpThreads - 1) / kWarpThreads; }
  std::int64_t rows_per_warp() const { return std::max<std::int64_t>(1, kWarpThreads / x); }
};

// Threads of a warp: those of one row of the block, or several rows of it.
struct Lanes {
  std::int64_t first_row = 0, last_row = 0;        // of the block, both included
  std::int64_t first_column = 0, last_column = 0;  // of the first lane in its row, of the last one in its

  Lanes(const Block& block, int warp) {
    const std::int64_t first = std::int64_t{warp} * kWarpThreads;
    const std::int64_t last = std::min<std::int64_t>(first + kWarpThreads, block.threads()) - 1;
    first_row = first / block.x, last_row = last / block.x;
    first_column = first - first_row * block.x, last_column = last - last_row * block.x;
  }
};

// Another warp touches a page.
void add_warp(std::vector<Touch>& touches, const Touch& touch) {
  const auto same = std::ranges::find(touches, touch.page, &Touch::page);
  if (same == touches.end()) {
    touches.push_back(touch);
  } else {
    same->weight = static_cast<std::uint16_t>(same->weight + touch.weight);
    same->write |= touch.write;
  }
}

// A 2-D grid of elements, row-major.
struct Grid {
  VirtualAddress address = 0;
  std::int64_t columns = 0, rows = 0, pitch = 0, element = 0;
  std::int64_t reach = 0;  // elements around the tile that are read too
  int load = 0;            // in which of the loads it is read
  bool read = false, write = false;

  VirtualAddress at(std::int64_t row, std::int64_t column) const {
    return address + static_cast<VirtualAddress>(row * pitch + column * element);
  }
  // Of the first byte of an element, and of its last.
  PageNumber page(std::int64_t row, std::int64_t column) const { return page_of(at(row, column)); }
  PageNumber last_page(std::int64_t row, std::int64_t column) const {
    return page_of(at(row, column) + static_cast<VirtualAddress>(element) - 1);
  }
  std::int64_t bytes() const { return (rows - 1) * pitch + columns * element; }
};

// Stencils: CTA (x, y) of a row-major grid of CTAs reads its tile and what is around it, then writes its
// tile. Every warp has rows, or parts of a row, of its own, hence pages of its own.
//
// Without a border each thread has an element of the tile and reads that one's neighbours: a warp is an agent. With a
// border (pyramid stencils) each thread loads one element, border included, into shared memory, and those inside the
// border write. Between is a barrier, where the warps wait for each other's loads: the CTA is an agent.
class Grid2dProgram final : public KernelProgram {
 public:
  Grid2dProgram(std::vector<Grid> grids, Block block, std::int64_t border, SweepSet others)
      : grids_(std::move(grids)),
        others_(std::move(others)),
        block_(block),
        border_(border),
        tile_x_(block.x - 2 * border),
        tile_y_(block.y - 2 * border) {
    loads_ = std::max(1, others_.load_count());
    for (const Grid& g : grids_) {
      tiles_x_ = std::max(tiles_x_, (g.columns + tile_x_ - 1) / tile_x_);
      tiles_y_ = std::max(tiles_y_, (g.rows + tile_y_ - 1) / tile_y_);
      if (g.read) loads_ = std::max(loads_, g.load + 1);
    }
    ctas_ = tiles_x_ * tiles_y_;
    threads_ = block.threads();
    agents_ = border > 0 ? 1 : block.warps();
    for (int warp = 0; warp < block.warps(); ++warp) lanes_.emplace_back(block, warp);
    max_steps_ = loads_ + 1;
  }

  std::int64_t steps(std::int64_t, int) const override { return max_steps_; }

  void step(std::int64_t cta, int agent, std::int64_t step, std::vector<Touch>& touches) const override {
    touches.clear();
    const std::int64_t x = cta % tiles_x_ * tile_x_, y = cta / tiles_x_ * tile_y_;
    if (agents_ > 1) {
      touch(lanes_[static_cast<std::size_t>(agent)], x, y, step, touches);
    } else {
      std::vector<Touch> of_warp;
      for (const Lanes& lanes : lanes_) {
        of_warp.clear();
        touch(lanes, x, y, step, of_warp);
        for (const Touch& one : of_warp) add_warp(touches, one);
      }
    }
    const bool store = step == loads_;
    if (agent == 0) store ? others_.stores(cta, 0, touches) : others_.load(static_cast<int>(step), cta, 0, touches);
  }

  bool all_granted(const PageTable& pages) const override {
    for (const Grid& g : grids_) {
      const PageNumber outer = g.last_page(g.rows - 1, g.columns - 1) + 1;
      if (pages.next_fault(g.page(0, 0), outer, g.write) != outer) return false;
    }
    return others_.all_granted(pages);
  }

  // A row of a tile is one access, with what is around it where it is read: all of it stays in the CTA's L1 or shared
  // memory, nothing of it is there for the next CTA.
  RemoteAccess remote_access(const PageTable& pages, int sms) const override {
    RemoteAccess access;
    for (const Grid& g : grids_) {
      if (g.read) add_remote(accessed(g, g.reach, true), pages, access);
      if (g.write) add_remote(accessed(g, 0, false), pages, access);
    }
    others_.add_remote_access(pages, sms, access);
    return access;
  }

  // One row of CTAs at a time: the leftmost CTA whose rows have a page that faults.
  StallRun next_stall(std::int64_t from, const PageTable& pages) const override {
    for (std::int64_t tile_y = from / tiles_x_; tile_y < tiles_y_; ++tile_y) {
      const std::int64_t from_x = std::max<std::int64_t>(from - tile_y * tiles_x_, 0);
      std::int64_t stall = tiles_x_;
      for (const Grid& g : grids_) {
        const std::int64_t reach = g.read ? g.reach : 0, top = tile_y * tile_y_;
        const std::int64_t last = std::min(top + tile_y_ + reach, g.rows);
        for (std::int64_t row = std::max<std::int64_t>(top - reach, 0); row < last && stall > from_x; ++row) {
          if (g.read) stall = std::min(stall, first_stalling_column(g, row, from_x, stall, false, reach, pages));
          if (g.write && row >= top && row < top + tile_y_)
            stall = std::min(stall, first_stalling_column(g, row, from_x, stall, true, 0, pages));
        }
      }
      if (!others_.empty()) {
        const StallRun run = others_.next_stall(tile_y * tiles_x_ + from_x, ctas_, 0, pages);
        stall = std::min(stall, run.first - tile_y * tiles_x_);
      }
      if (stall < tiles_x_) return {tile_y * tiles_x_ + stall, tile_y * tiles_x_ + stall + 1};
    }
    return {ctas_, ctas_};
  }

 private:
  // What a warp touches in a step of the CTA whose tile is at (x, y).
  void touch(const Lanes& lanes, std::int64_t x, std::int64_t y, std::int64_t step, std::vector<Touch>& touches) const {
    const bool store = step == loads_;
    for (const Grid& g : grids_)
      if (store ? g.write : g.read && g.load == step) touch(g, lanes, x, y, store, touches);
  }

  // What of a grid: for each row that its lanes read or write, the pages between the leftmost and the rightmost of
  // them.
  void touch(const Grid& g, const Lanes& lanes, std::int64_t x, std::int64_t y, bool store,
             std::vector<Touch>& touches) const {
    const std::int64_t reach = store ? 0 : g.reach, halo = border_ > 0 ? 0 : reach;
    const std::int64_t top = y - border_, left = x - border_;
    const std::int64_t first = std::max({top + lanes.first_row - halo, y - reach, std::int64_t{0}});
    const std::int64_t last = std::min({top + lanes.last_row + halo, y + tile_y_ - 1 + reach, g.rows - 1});
    for (std::int64_t row = first; row <= last; ++row) {
      // The rows of lanes that this one is a neighbour of.
      const bool all_left = row + halo > top + lanes.first_row, all_right = row - halo < top + lanes.last_row;
      const std::int64_t leftmost = left + (all_left && lanes.last_row > lanes.first_row ? 0 : lanes.first_column);
      const std::int64_t rightmost =
          left + (all_right && lanes.last_row > lanes.first_row ? block_.x - 1 : lanes.last_column);
      const std::int64_t from = std::max({leftmost - halo, x - reach, std::int64_t{0}});
      const std::int64_t to = std::min({rightmost + halo, x + tile_x_ - 1 + reach, g.columns - 1});
      if (from > to) continue;
      for (PageNumber page = g.page(row, from), end = g.last_page(row, to); page <= end; ++page)
        add_touch(touches, {page, 1, store});
    }
  }

  // All tiles of a grid with `reach` elements around each.
  AccessedRange accessed(const Grid& g, std::int64_t reach, bool read) const {
    AccessedRange range{g.address, g.bytes(), {}, 0, read, !read};
    std::array<std::optional<LinkRequests>, kLineBytes> of_row;  // by the row's place in its line
    std::int64_t rows = 0;                                       // of tiles
    for (std::int64_t top = 0; top < g.rows; top += tile_y_) {
      const std::int64_t last = std::min(top + tile_y_ + reach, g.rows);
      for (std::int64_t row = std::max<std::int64_t>(top - reach, 0); row < last; ++row, ++rows) {
        std::optional<LinkRequests>& requests = of_row[g.at(row, 0) % kLineBytes];
        if (!requests) requests = row_requests(g, row, reach);
        range.requests += *requests;
      }
    }
    const std::int64_t rows_per_warp = block_.rows_per_warp(),
                       warps_per_row = (block_.x + kWarpThreads - 1) / kWarpThreads;
    range.loads = (rows + rows_per_warp - 1) / rows_per_warp * warps_per_row * ((g.columns + tile_x_ - 1) / tile_x_);
    return range;
  }

  // One row of each tile of a row of tiles. Those at the grid's edges are shorter.
  LinkRequests row_requests(const Grid& g, std::int64_t row, std::int64_t reach) const {
    const std::int64_t tiles = (g.columns + tile_x_ - 1) / tile_x_;
    const std::int64_t whole = std::min(tiles, (reach + tile_x_ - 1) / tile_x_);
    const std::int64_t outer = std::max(whole, (g.columns - reach) / tile_x_);
    LinkRequests all = requests_of(g.at(row, whole * tile_x_ - reach), (tile_x_ + 2 * reach) * g.element,
                                   tile_x_ * g.element, outer - whole);
    for (std::int64_t tile = 0; tile < tiles; ++tile) {
      if (tile == whole) tile = outer;
      if (tile == tiles) break;
      const std::int64_t left = std::max<std::int64_t>(tile * tile_x_ - reach, 0);
      const std::int64_t right = std::min((tile + 1) * tile_x_ + reach, g.columns);
      all += requests_of(g.at(row, left), (right - left) * g.element);
    }
    return all;
  }

  // The first CTA column in [from, limit) that touches a faulting page of `row`; `limit` when none does.
  std::int64_t first_stalling_column(const Grid& g, std::int64_t row, std::int64_t from, std::int64_t limit, bool write,
                                     std::int64_t reach, const PageTable& pages) const {
    const std::int64_t left = std::max<std::int64_t>(from * tile_x_ - reach, 0);
    const std::int64_t right = std::min(limit * tile_x_ - 1 + reach, g.columns - 1);
    if (left > right) return limit;
    const PageNumber outer = g.last_page(row, right) + 1;
    const PageNumber missing = pages.next_fault(g.page(row, left), outer, write);
    if (missing == outer) return limit;
    const auto byte =
        static_cast<std::int64_t>(address_of(missing)) - static_cast<std::int64_t>(g.address) - row * g.pitch;
    // The element that the page begins in is the last one of a tile with what is around it.
    const std::int64_t column = std::max<std::int64_t>(byte, 0) / g.element;
    return std::max(from, std::max<std::int64_t>(column - reach, 0) / tile_x_);
  }

  std::vector<Grid> grids_;
  SweepSet others_;
  Block block_;
  std::vector<Lanes> lanes_;               // by warp
  std::int64_t border_, tile_x_, tile_y_;  // elements: around a tile in shared memory, and of its edges
  std::int64_t tiles_x_ = 0, tiles_y_ = 0;
  int loads_ = 1;
};

bool is_grid(const Operand& o) {
  return (o.pattern == trace::Pattern::Stencil || o.pattern == trace::Pattern::Grid2d) && o.options >= 0;
}

// As the first grid that says it has it.
Block block_of(Operands operands, Options options) {
  for (const Operand& o : operands) {
    if (!o.managed() || !is_grid(o)) continue;
    const trace::PatternOptions& p = options[static_cast<std::size_t>(o.options)];
    if (p.block_x > 0 && p.block_y > 0) return {p.block_x, p.block_y};
  }
  return {};
}

std::unique_ptr<KernelProgram> make_grid2d_program(LaunchShape, Operands operands, Options options) {
  std::vector<Grid> grids;
  SweptOperands others;
  const LoadOrder order(operands, options);
  const Block block = block_of(operands, options);
  std::int64_t border = 0;
  for (const Operand& o : operands) {
    if (!o.managed()) continue;
    if (!is_grid(o)) {
      others.add(o, order.of(o));
      continue;
    }
    const trace::PatternOptions& p = options[static_cast<std::size_t>(o.options)];
    Grid g{o.address, p.columns, p.rows, p.leading_dimension, p.element_bytes, 0, order.of(o), false, false};
    if (g.pitch == 0) g.pitch = g.columns * g.element;
    border = std::max(border, std::min(p.count, (std::min(block.x, block.y) - 1) / 2));
    g.reach = o.pattern == trace::Pattern::Stencil ? 1 : 0;
    g.read = o.mode != trace::Mode::Write;
    g.write = o.mode != trace::Mode::Read;
    grids.push_back(g);
  }
  const std::int64_t tile_x = block.x - 2 * border, tile_y = block.y - 2 * border;
  std::int64_t tiles = 1;
  for (Grid& g : grids) {
    g.reach *= std::max<std::int64_t>(border, 1);
    tiles = std::max(tiles, (g.columns + tile_x - 1) / tile_x * ((g.rows + tile_y - 1) / tile_y));
  }
  return std::make_unique<Grid2dProgram>(std::move(grids), block, border, SweepSet(others, tiles, block.warps()));
}

// 2-D tiles of rows, each warp its own rows.
const bool kRegistered = add_program_family({.precedence = 80,
                                             .takes = has_pattern<trace::Pattern::Stencil, trace::Pattern::Grid2d>,
                                             .make = make_grid2d_program});

}  // namespace
}  // namespace uvmsim
