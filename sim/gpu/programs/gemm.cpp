#include <algorithm>

#include "gpu/programs/programs.h"
#include "gpu/programs/sweep.h"

namespace uvmsim {
namespace {

constexpr std::int64_t kTile = 128;   // rows and columns of C per CTA
constexpr std::int64_t kDepth = 256;  // of K per step
constexpr int kThreads = 256;

struct Matrix {
  VirtualAddress address = 0;
  std::int64_t rows = 0, columns = 0, pitch = 0, element = 4;

  // Adds the pages of rows [row, row_end), columns [column, column_end).
  void touch(std::int64_t row, std::int64_t row_end, std::int64_t column, std::int64_t column_end, bool write,
             std::vector<Touch>& touches) const {
    column_end = std::min(column_end, columns);
    if (column >= column_end) return;
    PageNumber last_added = 0;
    bool any = false;
    for (std::int64_t r = row; r < std::min(row_end, rows); ++r) {
      const PageNumber first = page(r, column), last = page(r, column_end - 1);
      for (PageNumber p = first; p <= last; ++p) {
        if (any && p <= last_added) continue;  // rows ascend, so do their pages
        touches.push_back({p, 1, write});
        last_added = p;
        any = true;
      }
    }
  }
  bool granted(std::int64_t row, std::int64_t row_end, std::int64_t column, std::int64_t column_end, bool write,
               const PageTable& pages) const {
    row_end = std::min(row_end, rows);
    column_end = std::min(column_end, columns);
    if (row >= row_end || column >= column_end) return true;
    const PageNumber outer = page(row_end - 1, column_end - 1) + 1;
    if (pages.next_fault(page(row, column), outer, write) == outer) return true;
    for (std::int64_t r = row; r < row_end; ++r) {
      const PageNumber end = page(r, column_end - 1) + 1;
      if (pages.next_fault(page(r, column), end, write) != end) return false;
    }
    return true;
  }
  PageNumber page(std::int64_t row, std::int64_t column) const {
    return page_of(address + static_cast<VirtualAddress>(row * pitch + column * element));
  }
};

// C = A B, row-major, one CTA per 128 x 128 tile of C, column tiles fastest. A CTA walks K in pieces of A's
// rows and B's rows and stores its tile at its end. Source: spec "the four language-model rows", section 5.
class GemmProgram final : public KernelProgram {
 public:
  GemmProgram(Matrix a, Matrix b, Matrix c, SweepSet others) : a_(a), b_(b), c_(c), others_(std::move(others)) {
    tiles_n_ = std::max<std::int64_t>(1, (c_.columns + kTile - 1) / kTile);
    ctas_ = tiles_n_ * std::max<std::int64_t>(1, (c_.rows + kTile - 1) / kTile);
    pieces_ = std::max<std::int64_t>(1, (a_.columns + kDepth - 1) / kDepth);
    threads_ = kThreads;
    max_steps_ = pieces_ + 1;
  }

  std::int64_t steps(std::int64_t, int) const override { return max_steps_; }
  // A panel that is all there stays for the CTA's few microseconds: one look at the start.
  bool looks_once() const override { return true; }

  void step(std::int64_t cta, int, std::int64_t step, std::vector<Touch>& touches) const override {
    touches.clear();
    const std::int64_t m = cta / tiles_n_ * kTile, n = cta % tiles_n_ * kTile, k = step * kDepth;
    if (step < pieces_) {
      a_.touch(m, m + kTile, k, k + kDepth, false, touches);
      b_.touch(k, k + kDepth, n, n + kTile, false, touches);
      if (step == 0) others_.loads(cta, 0, touches);
    } else {
      c_.touch(m, m + kTile, n, n + kTile, true, touches);
      others_.stores(cta, 0, touches);
    }
  }

  bool all_granted(const PageTable& pages) const override {
    return a_.granted(0, a_.rows, 0, a_.columns, false, pages) && b_.granted(0, b_.rows, 0, b_.columns, false, pages) &&
           c_.granted(0, c_.rows, 0, c_.columns, true, pages) && others_.all_granted(pages);
  }

  StallRun next_stall(std::int64_t from, const PageTable& pages) const override {
    const bool b_whole = b_.granted(0, b_.rows, 0, b_.columns, false, pages);
    const std::int64_t others = others_.empty() ? ctas_ : others_.next_stall(from, ctas_, 0, pages).first;
    for (std::int64_t cta = from; cta < ctas_; ++cta) {
      const std::int64_t m = cta / tiles_n_ * kTile, n = cta % tiles_n_ * kTile;
      if (cta == others || !a_.granted(m, m + kTile, 0, a_.columns, false, pages) ||
          !(b_whole || b_.granted(0, b_.rows, n, n + kTile, false, pages)) ||
          !c_.granted(m, m + kTile, n, n + kTile, true, pages))
        return {cta, cta + 1};
    }
    return {ctas_, ctas_};
  }

 private:
  Matrix a_, b_, c_;
  SweepSet others_;
  std::int64_t tiles_n_ = 1, pieces_ = 1;
};

}  // namespace

std::unique_ptr<KernelProgram> make_gemm_program(LaunchShape shape, Operands operands, Options options) {
  Matrix a, b, c;
  std::vector<Operand> others;
  int reads = 0;
  for (const Operand& o : operands) {
    if (!o.managed()) continue;
    if (o.pattern != trace::Pattern::Tile || o.options < 0 || (o.mode != trace::Mode::Read && c.rows != 0) ||
        (o.mode == trace::Mode::Read && reads == 2)) {
      others.push_back(o);
      continue;
    }
    const trace::PatternOptions& p = options[static_cast<std::size_t>(o.options)];
    const Matrix matrix{o.address, p.rows, p.columns,
                        p.leading_dimension > 0 ? p.leading_dimension : p.columns * p.element_bytes, p.element_bytes};
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
  const std::int64_t tiles = ((c.columns + kTile - 1) / kTile) * ((c.rows + kTile - 1) / kTile);
  return std::make_unique<GemmProgram>(a, b, c, SweepSet(others, tiles, kThreads / 32));
}

}  // namespace uvmsim
