#include <algorithm>
#include <bit>

#include "gpu/programs/programs.h"
#include "gpu/programs/sweep.h"

namespace uvmsim {
namespace {

constexpr std::int64_t kTile = 128;   // rows and columns of C per CTA, where the trace does not say
constexpr std::int64_t kDepth = 8;    // of K per step
constexpr std::int64_t kPanel = 256;  // of K that a CTA asks for at once where its pages hold that much
constexpr int kTileThreads = 256;
constexpr int kCtasPerSm = 2;  // 128 x 128 accumulators leave registers for two

// A matrix as the product sees it; transposed ones have their columns a pitch apart.
struct Matrix {
  VirtualAddress address = 0;
  std::int64_t rows = 0, columns = 0, row_pitch = 0, column_pitch = 0;  // elements, bytes
  PageNumber outer{};  // after the last page; 0: not managed, it never faults

  bool managed() const { return outer != PageNumber{}; }
  // A rectangle of the matrix as it lies in memory: pieces of lines, `pitch` apart.
  struct Pieces {
    std::int64_t line = 0, line_end = 0, first_byte = 0, last_byte = 0, pitch = 0;
    bool empty() const { return line >= line_end || first_byte > last_byte; }
  };
  Pieces pieces(std::int64_t row, std::int64_t row_end, std::int64_t column, std::int64_t column_end) const {
    row_end = std::min(row_end, rows);
    column_end = std::min(column_end, columns);
    if (row_pitch >= column_pitch)
      return {row, row_end, column * column_pitch, column_end * column_pitch - 1, row_pitch};
    return {column, column_end, row * row_pitch, row_end * row_pitch - 1, column_pitch};
  }
  PageNumber page(const Pieces& p, std::int64_t line, std::int64_t byte) const {
    return std::min(outer - 1, page_of(address + static_cast<VirtualAddress>(line * p.pitch + byte)));
  }

  void touch(const Pieces& p, bool write, std::vector<Touch>& touches) const {
    if (p.empty() || !managed()) return;
    PageNumber next{};
    for (std::int64_t line = p.line; line < p.line_end; ++line) {
      const PageNumber last = page(p, line, p.last_byte);
      // Lines ascend, so do their pages.
      for (next = std::max(next, page(p, line, p.first_byte)); next <= last; ++next)
        touches.push_back({next, 1, write});
    }
  }
  bool granted(const Pieces& p, bool write, const PageTable& pages) const {
    if (p.empty() || !managed()) return true;
    const PageNumber end = page(p, p.line_end - 1, p.last_byte) + 1;
    if (pages.next_fault(page(p, p.line, p.first_byte), end, write) == end) return true;
    for (std::int64_t line = p.line; line < p.line_end; ++line) {
      const PageNumber line_end = page(p, line, p.last_byte) + 1;
      if (pages.next_fault(page(p, line, p.first_byte), line_end, write) != line_end) return false;
    }
    return true;
  }

  // All of it `times` times, in rectangles: each line of one is an access.
  AccessedRange accessed(std::int64_t row_tile, std::int64_t column_tile, std::int64_t times, bool read) const {
    if (!managed()) return {};
    const Pieces all = pieces(0, rows, 0, columns), tile = pieces(0, row_tile, 0, column_tile);
    AccessedRange range{address, (all.line_end - 1) * all.pitch + all.last_byte + 1, {}, 0, read, !read};
    range.requests = piece_requests_of(address, all.last_byte + 1, tile.last_byte + 1, all.pitch, all.line_end) * times;
    range.loads = range.requests.bytes / kLineBytes;
    return range;
  }

  // How much of K (the columns of A, the rows of B) a CTA asks for at once: what lies in a few pages of each line, or
  // as many lines as one step needs.
  static std::int64_t depth(std::int64_t k_pitch) { return k_pitch < kPageBytes ? kPanel : kDepth; }
};

// Panels of a matrix that were found to be there, by tile and place along K, until pages go.
class KnownPanels {
 public:
  KnownPanels(std::int64_t tiles, std::int64_t panels) : tiles_(static_cast<std::size_t>(tiles)), panels_(panels) {}

  std::int64_t panels() const { return panels_; }

  // The first panel of the tile from `from` on that is not `there(panel)`; their number when there is none.
  template <class There>
  std::int64_t next_missing(std::int64_t tile, std::int64_t from, const PageTable& pages, There there) {
    Tile& known = tiles_[static_cast<std::size_t>(tile)];
    if (known.pages != &pages || known.removals != pages.removals())
      known = {&pages, pages.removals(), std::vector<std::uint64_t>(static_cast<std::size_t>(panels_ / 64 + 1))};
    while (from < panels_) {
      std::uint64_t& word = known.there[static_cast<std::size_t>(from / 64)];
      const std::int64_t next_word = (from / 64 + 1) * 64;
      from += std::countr_one(word >> from % 64);
      if (from == next_word) continue;
      if (from >= panels_ || !there(from)) break;
      word |= std::uint64_t{1} << from % 64;
    }
    return std::min(from, panels_);
  }

 private:
  struct Tile {
    const PageTable* pages = nullptr;
    std::uint64_t removals = 0;
    std::vector<std::uint64_t> there;  // a bit per panel
  };
  std::vector<Tile> tiles_;
  std::int64_t panels_;
};

// Which tile of C a CTA makes. `group` columns of tiles go together, row of tiles by row, before the next ones:
// CUTLASS's threadblock swizzle (GemmIdentityThreadblockSwizzle; its rows are C's columns where C is written by
// columns).
class TileOrder {
 public:
  TileOrder(const Matrix& c, std::int64_t tile_rows, std::int64_t tile_columns, std::int64_t group)
      : tile_rows_(tile_rows),
        tile_columns_(tile_columns),
        rows_(std::max<std::int64_t>(1, ceil_div(c.rows, tile_rows))),
        columns_(std::max<std::int64_t>(1, ceil_div(c.columns, tile_columns))),
        group_(group == 0 ? columns_ : std::min(group, columns_)) {}

  std::int64_t tile_rows() const { return tile_rows_; }
  std::int64_t tile_columns() const { return tile_columns_; }
  std::int64_t rows() const { return rows_; }  // of tiles
  std::int64_t columns() const { return columns_; }
  std::int64_t ctas() const { return rows_ * columns_; }
  std::int64_t row(std::int64_t cta) const { return cta % (group_ * rows_) / width(cta); }
  std::int64_t column(std::int64_t cta) const { return first(cta) + cta % (group_ * rows_) % width(cta); }

 private:
  // The first column of a CTA's group, and how many the group has: the last one may have fewer.
  std::int64_t first(std::int64_t cta) const { return cta / (group_ * rows_) * group_; }
  std::int64_t width(std::int64_t cta) const { return std::min(group_, columns_ - first(cta)); }

  std::int64_t tile_rows_, tile_columns_, rows_, columns_, group_;
};

// C = A B, one CTA per tile of C. A CTA walks K, reads panels of A's rows and B's columns, and stores its tile at its
// end. Source: spec "the four language-model rows", section 5.
class GemmProgram final : public KernelProgram {
 public:
  GemmProgram(Matrix a, Matrix b, Matrix c, TileOrder order, SweepSet others)
      : a_(a), b_(b), c_(c), order_(order), others_(std::move(others)) {
    ctas_ = order_.ctas();
    depth_a_ = Matrix::depth(a_.column_pitch);
    depth_b_ = Matrix::depth(b_.row_pitch);
    depth_ = std::min(depth_a_, depth_b_);
    pieces_ = std::max<std::int64_t>(1, (a_.columns + depth_ - 1) / depth_);
    threads_ = kTileThreads;
    ctas_per_sm_ = kCtasPerSm;
    max_steps_ = pieces_ + 1;
    known_a_ = KnownPanels(order_.rows(), (a_.columns + depth_a_ - 1) / depth_a_);
    known_b_ = KnownPanels(order_.columns(), (a_.columns + depth_b_ - 1) / depth_b_);
  }

  std::int64_t steps(std::int64_t, int) const override { return max_steps_; }
  // A panel that is all there stays for the CTA's few microseconds: one look at the start.
  bool looks_once() const override { return true; }

  void step(std::int64_t cta, int, std::int64_t step, std::vector<Touch>& touches) const override {
    touches.clear();
    const std::int64_t m = order_.row(cta), n = order_.column(cta), k = step * depth_;
    if (step < pieces_) {
      if (k % depth_a_ == 0) a_.touch(panel_a(m, k / depth_a_), false, touches);
      if (k % depth_b_ == 0) b_.touch(panel_b(n, k / depth_b_), false, touches);
      if (step == 0) others_.loads(cta, 0, touches);
    } else {
      c_.touch(tile(m, n), true, touches);
      others_.stores(cta, 0, touches);
    }
  }

  std::int64_t next_miss(std::int64_t cta, int, std::int64_t step, const PageTable& pages) const override {
    if (step == 0 || step >= pieces_) return step;  // also touches what others_ says
    const std::int64_t steps_a = depth_a_ / depth_,
                       steps_b = depth_b_ / depth_;  // a panel is looked at where it begins
    return std::min({missing_a(order_.row(cta), (step + steps_a - 1) / steps_a, pages) * steps_a,
                     missing_b(order_.column(cta), (step + steps_b - 1) / steps_b, pages) * steps_b, pieces_});
  }

  bool all_granted(const PageTable& pages) const override {
    return a_.granted(a_.pieces(0, a_.rows, 0, a_.columns), false, pages) &&
           b_.granted(b_.pieces(0, b_.rows, 0, b_.columns), false, pages) &&
           c_.granted(c_.pieces(0, c_.rows, 0, c_.columns), true, pages) && others_.all_granted(pages);
  }

  // Each row of tiles of C reads all of B, each column of them all of A, a step's depth at a time.
  RemoteAccess remote_access(const PageTable& pages, int sms) const override {
    RemoteAccess access;
    add_remote(a_.accessed(order_.tile_rows(), kDepth, order_.columns(), true), pages, access);
    add_remote(b_.accessed(kDepth, order_.tile_columns(), order_.rows(), true), pages, access);
    add_remote(c_.accessed(order_.tile_rows(), order_.tile_columns(), 1, false), pages, access);
    others_.add_remote_access(pages, sms, access);
    return access;
  }

  StallRun next_stall(std::int64_t from, const PageTable& pages) const override {
    const std::int64_t others = others_.empty() ? ctas_ : others_.next_stall(from, ctas_, 0, pages).first;
    for (std::int64_t cta = from; cta < ctas_; ++cta) {
      const std::int64_t m = order_.row(cta), n = order_.column(cta);
      if (cta == others || missing_a(m, 0, pages) < known_a_.panels() || missing_b(n, 0, pages) < known_b_.panels() ||
          !c_.granted(tile(m, n), true, pages))
        return {cta, cta + 1};
    }
    return {ctas_, ctas_};
  }

 private:
  // What row of tiles `m` reads of A, and column `n` of B, in one look; what they make of C.
  Matrix::Pieces panel_a(std::int64_t m, std::int64_t panel) const {
    const std::int64_t row = m * order_.tile_rows(), k = panel * depth_a_;
    return a_.pieces(row, row + order_.tile_rows(), k, k + depth_a_);
  }
  Matrix::Pieces panel_b(std::int64_t n, std::int64_t panel) const {
    const std::int64_t column = n * order_.tile_columns(), k = panel * depth_b_;
    return b_.pieces(k, k + depth_b_, column, column + order_.tile_columns());
  }
  Matrix::Pieces tile(std::int64_t m, std::int64_t n) const {
    const std::int64_t row = m * order_.tile_rows(), column = n * order_.tile_columns();
    return c_.pieces(row, row + order_.tile_rows(), column, column + order_.tile_columns());
  }

  // The first panel of A's tile `m`, of B's tile `n`, from `from` on that is not all there; else their number.
  std::int64_t missing_a(std::int64_t m, std::int64_t from, const PageTable& pages) const {
    return known_a_.next_missing(m, from, pages,
                                 [&](std::int64_t panel) { return a_.granted(panel_a(m, panel), false, pages); });
  }
  std::int64_t missing_b(std::int64_t n, std::int64_t from, const PageTable& pages) const {
    return known_b_.next_missing(n, from, pages,
                                 [&](std::int64_t panel) { return b_.granted(panel_b(n, panel), false, pages); });
  }

  Matrix a_, b_, c_;
  TileOrder order_;
  SweepSet others_;
  std::int64_t depth_a_ = kPanel, depth_b_ = kPanel, depth_ = kPanel;  // of K, per look at A, at B, per step
  std::int64_t pieces_ = 1;                                            // steps along K
  mutable KnownPanels known_a_{0, 0}, known_b_{0, 0};
};

std::unique_ptr<KernelProgram> make_gemm_program(LaunchShape shape, Operands operands, Options options) {
  Matrix a, b, c;
  const trace::PatternOptions* of_c = nullptr;
  std::vector<Operand> others;
  int reads = 0;
  for (const Operand& o : operands) {
    if (o.pattern != trace::Pattern::Tile || o.options < 0 || (o.mode != trace::Mode::Read && c.rows != 0) ||
        (o.mode == trace::Mode::Read && reads == 2)) {
      others.push_back(o);
      continue;
    }
    const trace::PatternOptions& p = options[static_cast<std::size_t>(o.options)];
    const std::int64_t column_pitch = p.stride > 0 ? p.stride : p.element_bytes;
    const Matrix matrix{o.address,    p.rows,
                        p.columns,    p.leading_dimension > 0 ? p.leading_dimension : p.columns * p.element_bytes,
                        column_pitch, o.managed() ? o.pages().outer : PageNumber{}};
    if (o.mode != trace::Mode::Read) of_c = &p;
    (o.mode != trace::Mode::Read ? c : reads++ == 0 ? a : b) = matrix;
  }
  // Without a whole GEMM among the operands, they are swept.
  if (reads < 2 || c.rows == 0) {
    std::vector<Operand> swept(operands.begin(), operands.end());
    for (Operand& o : swept) {
      o.pattern = trace::Pattern::Sequential;
      o.options = -1;
    }
    return make_sweep_program(shape, swept, options);
  }
  const bool says_tile = of_c->cta_rows > 0;
  const TileOrder order(c, says_tile ? of_c->cta_rows : kTile, says_tile ? of_c->cta_columns : kTile, of_c->count);
  return std::make_unique<GemmProgram>(a, b, c, order, SweepSet(others, order.ctas(), kTileThreads / 32));
}

// Tiles without a width: matrix products.
const bool kRegistered =
    add_program_family({.precedence = 30, .takes = has_pattern<trace::Pattern::Tile>, .make = make_gemm_program});

}  // namespace
}  // namespace uvmsim
