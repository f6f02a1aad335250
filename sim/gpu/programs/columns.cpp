#include <algorithm>

#include "gpu/programs/programs.h"
#include "gpu/programs/sweep.h"

namespace uvmsim {
namespace {

// PyTorch reduces over the outer dimension with CTAs of 32 columns x 16 rows.
constexpr std::int64_t kRowsPerStep = 16;
constexpr int kStripeThreads = 512;

// Sums over the rows of a matrix: each CTA takes a stripe of columns and walks all rows.
class ColumnsProgram final : public KernelProgram {
 public:
  struct Part {
    VirtualAddress address = 0;
    std::int64_t bytes = 0, row = 0, stripe = 0;
    std::int64_t rows() const { return (bytes + row - 1) / row; }
  };

  ColumnsProgram(std::vector<Part> parts, SweepSet others, std::int64_t stripes)
      : parts_(std::move(parts)), others_(std::move(others)) {
    ctas_ = stripes;
    threads_ = kStripeThreads;
    for (const Part& p : parts_) turns_ = std::max(turns_, (p.rows() + kRowsPerStep - 1) / kRowsPerStep);
    max_steps_ = turns_ + (others_.any_write() ? 1 : 0);
  }

  std::int64_t steps(std::int64_t, int) const override { return max_steps_; }

  void step(std::int64_t cta, int, std::int64_t step, std::vector<Touch>& touches) const override {
    touches.clear();
    if (step == turns_) return others_.stores(cta, 0, touches);
    for (const Part& p : parts_) {
      const std::int64_t begin = cta * p.stripe, end = std::min(begin + p.stripe, p.row);
      for (std::int64_t row = step * kRowsPerStep; row < std::min((step + 1) * kRowsPerStep, p.rows()); ++row) {
        const std::int64_t from = row * p.row + begin, to = std::min(row * p.row + end, p.bytes);
        if (from >= to) continue;
        const PageNumber last = page_of(p.address + static_cast<VirtualAddress>(to) - 1);
        for (PageNumber page = page_of(p.address + static_cast<VirtualAddress>(from)); page <= last; ++page)
          add_touch(touches, {page, 1, false});
      }
    }
    if (step == 0) others_.loads(cta, 0, touches);
  }

  // A page of its rows that misses may be another stripe's.
  std::int64_t next_miss(std::int64_t, int, std::int64_t step, const PageTable& pages) const override {
    if (step == 0 && !others_.empty()) return 0;
    std::int64_t next = max_steps_ - 1;
    for (const Part& p : parts_) {
      const std::int64_t rows = kRowsPerStep * p.row;  // of a step
      const std::int64_t missing = next_missing_byte(p.address, step * rows, p.bytes, false, pages);
      if (missing != p.bytes) next = std::min(next, missing / rows);
    }
    return next;
  }

  bool all_granted(const PageTable& pages) const override {
    for (const Part& p : parts_)
      if (next_missing_byte(p.address, 0, p.bytes, false, pages) != p.bytes) return false;
    return others_.all_granted(pages);
  }

  RemoteAccess remote_access(const PageTable& pages, int sms) const override {
    RemoteAccess access;
    for (const Part& p : parts_) {
      const LinkRequests requests = piece_requests_of(p.address, p.row, p.stripe, p.row, p.rows());
      add_remote({p.address, p.bytes, requests, requests.requests, true, false}, pages, access);
    }
    others_.add_remote_access(pages, sms, access);
    return access;
  }

 private:
  std::vector<Part> parts_;
  SweepSet others_;
  std::int64_t turns_ = 1;
};

bool is_column_stripes(const Operand& o, Options options) {
  if (!o.managed() || o.pattern != trace::Pattern::Tile || o.mode != trace::Mode::Read || o.options < 0) return false;
  const trace::PatternOptions& p = options[static_cast<std::size_t>(o.options)];
  return p.width > 0 && p.leading_dimension > 0;
}

std::unique_ptr<KernelProgram> make_columns_program(LaunchShape, Operands operands, Options options) {
  std::vector<ColumnsProgram::Part> parts;
  std::vector<Operand> others;
  std::int64_t stripes = 1;
  for (const Operand& o : operands) {
    if (!o.managed()) continue;
    if (!is_column_stripes(o, options)) {
      others.push_back(o);
      continue;
    }
    const trace::PatternOptions& p = options[static_cast<std::size_t>(o.options)];
    parts.push_back({o.address, o.bytes, p.leading_dimension, p.width});
    stripes = std::max(stripes, (p.leading_dimension + p.width - 1) / p.width);
  }
  return std::make_unique<ColumnsProgram>(std::move(parts), SweepSet(others, stripes, kStripeThreads / 32), stripes);
}

// Tiles with a width: one CTA per stripe of columns.
const bool kRegistered =
    add_program_family({.precedence = 40, .takes = is_column_stripes, .make = make_columns_program});

}  // namespace
}  // namespace uvmsim
