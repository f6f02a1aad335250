#include <algorithm>
#include <array>
#include <optional>

#include "gpu/programs/programs.h"
#include "gpu/programs/sweep.h"

namespace uvmsim {
namespace {

constexpr int kTile = 16;        // a CTA computes 16 x 16 elements
constexpr int kRowsPerWarp = 2;  // 32 threads: two rows of 16
constexpr int kWarps = kTile / kRowsPerWarp;

// A 2-D grid of elements, row-major.
struct Grid {
  VirtualAddress address = 0;
  std::int64_t columns = 0, rows = 0, pitch = 0, element = 0;
  std::int64_t reach = 0;  // elements around the tile that are read too
  bool read = false, write = false;

  VirtualAddress at(std::int64_t row, std::int64_t column) const {
    return address + static_cast<VirtualAddress>(row * pitch + column * element);
  }
  PageNumber page(std::int64_t row, std::int64_t column) const { return page_of(at(row, column)); }
  std::int64_t bytes() const { return (rows - 1) * pitch + columns * element; }
};

// Stencils: CTA (x, y) of a row-major grid of CTAs reads its tile and what is around it, then writes its
// tile. Every warp has rows of its own, hence pages of its own: it is an agent.
//
// Without a border each thread has an element of a 16 x 16 tile and reads that one's neighbours. With a
// border (pyramid stencils) the 16 x 16 threads load one element each, border included, into shared memory,
// and those inside the border write. The barrier between is not modelled: a warp stores once its own loads
// are there.
class Grid2dProgram final : public KernelProgram {
 public:
  Grid2dProgram(std::vector<Grid> grids, std::int64_t border, SweepSet others)
      : grids_(std::move(grids)), others_(std::move(others)), border_(border), tile_(kTile - 2 * border) {
    for (const Grid& g : grids_) {
      tiles_x_ = std::max(tiles_x_, (g.columns + tile_ - 1) / tile_);
      tiles_y_ = std::max(tiles_y_, (g.rows + tile_ - 1) / tile_);
    }
    ctas_ = tiles_x_ * tiles_y_;
    threads_ = kTile * kTile;
    agents_ = kWarps;
    max_steps_ = 2;
  }

  std::int64_t steps(std::int64_t, int) const override { return 2; }

  void step(std::int64_t cta, int agent, std::int64_t step, std::vector<Touch>& touches) const override {
    touches.clear();
    const std::int64_t x = cta % tiles_x_ * tile_, top = cta / tiles_x_ * tile_;
    const std::int64_t y = top - border_ + agent * kRowsPerWarp;
    for (const Grid& g : grids_) {
      if (!(step == 0 ? g.read : g.write)) continue;
      const std::int64_t reach = step == 0 ? g.reach : 0, halo = border_ > 0 ? 0 : reach;
      const std::int64_t left = std::max<std::int64_t>(x - reach, 0),
                         right = std::min(x + tile_ - 1 + reach, g.columns - 1);
      const std::int64_t first = std::max({y - halo, top - reach, std::int64_t{0}});
      const std::int64_t last = std::min({y + kRowsPerWarp + halo, top + tile_ + reach, g.rows});
      for (std::int64_t row = first; row < last; ++row) {
        add_touch(touches, {g.page(row, left), 1, step == 1});
        add_touch(touches, {g.page(row, right), 1, step == 1});
      }
    }
    if (agent == 0) step == 0 ? others_.loads(cta, 0, touches) : others_.stores(cta, 0, touches);
  }

  bool all_granted(const PageTable& pages) const override {
    for (const Grid& g : grids_) {
      const PageNumber outer = g.page(g.rows - 1, g.columns - 1) + 1;
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
        const std::int64_t reach = g.read ? g.reach : 0, top = tile_y * tile_;
        const std::int64_t last = std::min(top + tile_ + reach, g.rows);
        for (std::int64_t row = std::max<std::int64_t>(top - reach, 0); row < last && stall > from_x; ++row) {
          // A row around the tile is read only.
          const bool write = g.write && row >= top && row < top + tile_;
          if (!g.read && !write) continue;
          stall = std::min(stall, first_stalling_column(g, row, from_x, stall, write, reach, pages));
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
  // All tiles of a grid with `reach` elements around each.
  AccessedRange accessed(const Grid& g, std::int64_t reach, bool read) const {
    AccessedRange range{g.address, g.bytes(), {}, 0, read, !read};
    std::array<std::optional<LinkRequests>, kLineBytes> of_row;  // by the row's place in its line
    std::int64_t rows = 0;                                       // of tiles
    for (std::int64_t top = 0; top < g.rows; top += tile_) {
      const std::int64_t last = std::min(top + tile_ + reach, g.rows);
      for (std::int64_t row = std::max<std::int64_t>(top - reach, 0); row < last; ++row, ++rows) {
        std::optional<LinkRequests>& requests = of_row[g.at(row, 0) % kLineBytes];
        if (!requests) requests = row_requests(g, row, reach);
        range.requests += *requests;
      }
    }
    range.loads = (rows + kRowsPerWarp - 1) / kRowsPerWarp * ((g.columns + tile_ - 1) / tile_);
    return range;
  }

  // One row of each tile of a row of tiles. Those at the grid's edges are shorter.
  LinkRequests row_requests(const Grid& g, std::int64_t row, std::int64_t reach) const {
    const std::int64_t tiles = (g.columns + tile_ - 1) / tile_;
    const std::int64_t whole = std::min(tiles, (reach + tile_ - 1) / tile_);
    const std::int64_t outer = std::max(whole, (g.columns - reach) / tile_);
    LinkRequests all = requests_of(g.at(row, whole * tile_ - reach), (tile_ + 2 * reach) * g.element, tile_ * g.element,
                                   outer - whole);
    for (std::int64_t tile = 0; tile < tiles; ++tile) {
      if (tile == whole) tile = outer;
      if (tile == tiles) break;
      const std::int64_t left = std::max<std::int64_t>(tile * tile_ - reach, 0);
      const std::int64_t right = std::min((tile + 1) * tile_ + reach, g.columns);
      all += requests_of(g.at(row, left), (right - left) * g.element);
    }
    return all;
  }

  // The first CTA column in [from, limit) that touches a faulting page of `row`; `limit` when none does.
  std::int64_t first_stalling_column(const Grid& g, std::int64_t row, std::int64_t from, std::int64_t limit, bool write,
                                     std::int64_t reach, const PageTable& pages) const {
    const std::int64_t left = std::max<std::int64_t>(from * tile_ - reach, 0);
    const std::int64_t right = std::min(limit * tile_ - 1 + reach, g.columns - 1);
    if (left > right) return limit;
    const PageNumber outer = g.page(row, right) + 1;
    for (PageNumber missing = pages.next_fault(g.page(row, left), outer, write); missing != outer;
         missing = pages.next_fault(missing + 1, outer, write)) {
      const auto byte =
          static_cast<std::int64_t>(address_of(missing)) - static_cast<std::int64_t>(g.address) - row * g.pitch;
      const std::int64_t column = std::max<std::int64_t>(byte, 0) / g.element - reach;
      std::int64_t x = std::max(from, std::max<std::int64_t>(column, 0) / tile_);
      for (; x < limit; ++x) {  // a tile touches only the pages of its two ends: look at the next one or two
        const std::int64_t l = std::max<std::int64_t>(x * tile_ - reach, 0),
                           r = std::min(x * tile_ + tile_ - 1 + reach, g.columns - 1);
        if (l >= g.columns) break;
        if (g.page(row, l) == missing || g.page(row, r) == missing) return x;
        if (g.page(row, l) > missing) break;
      }
    }
    return limit;
  }

  std::vector<Grid> grids_;
  SweepSet others_;
  std::int64_t border_, tile_;  // elements: around a tile in shared memory, and of its edge
  std::int64_t tiles_x_ = 0, tiles_y_ = 0;
};

std::unique_ptr<KernelProgram> make_grid2d_program(LaunchShape, Operands operands, Options options) {
  std::vector<Grid> grids;
  std::vector<Operand> others;
  std::int64_t border = 0;
  for (const Operand& o : operands) {
    if (!o.managed()) continue;
    if ((o.pattern != trace::Pattern::Stencil && o.pattern != trace::Pattern::Grid2d) || o.options < 0) {
      others.push_back(o);
      continue;
    }
    const trace::PatternOptions& p = options[static_cast<std::size_t>(o.options)];
    Grid g{o.address, p.columns, p.rows, p.leading_dimension, p.element_bytes, 0, false, false};
    if (g.pitch == 0) g.pitch = g.columns * g.element;
    border = std::max(border, std::min<std::int64_t>(p.count, kTile / 2 - 1));
    g.reach = o.pattern == trace::Pattern::Stencil ? 1 : 0;
    g.read = o.mode != trace::Mode::Write;
    g.write = o.mode != trace::Mode::Read;
    grids.push_back(g);
  }
  const std::int64_t tile = kTile - 2 * border;
  std::int64_t tiles = 1;
  for (Grid& g : grids) {
    g.reach *= std::max<std::int64_t>(border, 1);
    tiles = std::max(tiles, (g.columns + tile - 1) / tile * ((g.rows + tile - 1) / tile));
  }
  return std::make_unique<Grid2dProgram>(std::move(grids), border, SweepSet(others, tiles, kWarps));
}

// 2-D tiles of rows, each warp its own rows.
const bool kRegistered = add_program_family({.precedence = 80,
                                             .takes = has_pattern<trace::Pattern::Stencil, trace::Pattern::Grid2d>,
                                             .make = make_grid2d_program});

}  // namespace
}  // namespace uvmsim
