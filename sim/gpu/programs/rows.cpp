#include <algorithm>
#include <bit>

#include "gpu/programs/planes.h"
#include "gpu/programs/programs.h"
#include "gpu/programs/sweep.h"

namespace uvmsim {
namespace {

// PyTorch's softmax: a thread per vector of 16 bytes of the row, rounded up to a power of two, a warp to 1024
// (SoftMax_getBlockSize in aten/src/ATen/native/cuda/PersistentSoftmax.cuh and SoftMax.cu). Layer norm is alike.
int threads_of_row(std::int64_t row_bytes) {
  constexpr std::int64_t kVector = 16, kLeast = kWarpThreads, kMost = 1024;
  return static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(std::clamp(row_bytes / kVector, kLeast, kMost))));
}

// Softmax, layer norm: one CTA per row. It walks its row in 64 KiB pieces, first all reads, then once more
// with the writes. Source: spec "the four language-model rows", section 5.
class RowsProgram final : public KernelProgram {
 public:
  struct Part {
    VirtualAddress address = 0;
    std::int64_t bytes = 0, row = 0;
    bool read = false, write = false;
  };

  RowsProgram(std::vector<Part> parts, SweepSet others, std::int64_t rows, int threads)
      : parts_(std::move(parts)), others_(std::move(others)) {
    ctas_ = rows;
    threads_ = threads;
    for (const Part& p : parts_) pieces_ = std::max(pieces_, (p.row + kBigPageBytes - 1) / kBigPageBytes);
    passes_ = std::ranges::any_of(parts_, &Part::write) ? 2 : 1;
    max_steps_ = pieces_ * passes_;
  }

  std::int64_t steps(std::int64_t, int) const override { return max_steps_; }

  void step(std::int64_t cta, int, std::int64_t step, std::vector<Touch>& touches) const override {
    touches.clear();
    PageTouches pages(touches);
    const bool second = step >= pieces_;
    const std::int64_t begin = (second ? step - pieces_ : step) * kBigPageBytes;
    for (const Part& part : parts_) {
      const bool write = second && part.write;
      if (!write && !part.read) continue;
      const std::int64_t from = cta * part.row + begin,
                         to = std::min(cta * part.row + std::min(begin + kBigPageBytes, part.row), part.bytes);
      if (from >= to) continue;
      const PageNumber first = page_of(part.address + static_cast<VirtualAddress>(from));
      const PageNumber last = page_of(part.address + static_cast<VirtualAddress>(to) - 1);
      const auto warps = static_cast<std::uint16_t>(std::max(1, threads_ / 32 / static_cast<int>(last - first + 1)));
      pages.add({first, warps, write, static_cast<std::uint32_t>(last - first) + 1});
    }
    if (step == 0) others_.loads(cta, 0, touches);
    if (step + 1 == max_steps_) others_.stores(cta, 0, touches);
  }

  std::int64_t next_miss(std::int64_t cta, int, std::int64_t step, const PageTable& pages) const override {
    if (step == 0 && !others_.empty()) return 0;
    std::int64_t next = max_steps_ - 1;
    for (const Part& part : parts_)
      for (std::int64_t pass = step / pieces_; pass < passes_; ++pass) {
        const std::int64_t piece =
            next_missing(part, cta, std::max<std::int64_t>(0, step - pass * pieces_), pass, pages);
        next = std::min(next, pass * pieces_ + piece);
        if (piece < pieces_) break;
      }
    return next;
  }

  bool all_granted(const PageTable& pages) const override {
    for (const Part& p : parts_)
      if (next_missing_byte(p.address, 0, p.bytes, p.write, pages) != p.bytes) return false;
    return others_.all_granted(pages);
  }

  // What is only read is read in both passes.
  RemoteAccess remote_access(const PageTable& pages, int sms) const override {
    RemoteAccess access;
    for (const Part& p : parts_) {
      const LinkRequests requests = piece_requests_of(p.address, p.bytes, kLineBytes) * (p.write ? 1 : passes_);
      add_remote({p.address, p.bytes, requests, requests.requests, p.read, p.write}, pages, access);
    }
    others_.add_remote_access(pages, sms, access);
    return access;
  }

  StallRun next_stall(std::int64_t from, const PageTable& pages) const override {
    StallRun best = others_.empty() ? StallRun{ctas_, ctas_} : others_.next_stall(from, ctas_, 0, pages);
    best.outer = std::min(best.outer, best.first + 1);
    for (const Part& p : parts_) {
      const std::int64_t missing = next_missing_byte(p.address, from * p.row, p.bytes, p.write, pages);
      if (missing == p.bytes) continue;
      const std::int64_t row = missing / p.row;
      if (row < best.first) best = {row, row + 1};
    }
    return best;
  }

 private:
  // The first piece from `piece` on of a row that misses a page in a pass; pieces_: none does.
  std::int64_t next_missing(const Part& part, std::int64_t cta, std::int64_t piece, std::int64_t pass,
                            const PageTable& pages) const {
    const bool write = pass == 1 && part.write;
    if (!write && !part.read) return pieces_;
    const std::int64_t row = cta * part.row, end = std::min(row + part.row, part.bytes);
    const std::int64_t missing = next_missing_byte(part.address, row + piece * kBigPageBytes, end, write, pages);
    return missing == end ? pieces_ : (missing - row) / kBigPageBytes;
  }

  std::vector<Part> parts_;
  SweepSet others_;
  std::int64_t pieces_ = 1, passes_ = 1;
};

std::unique_ptr<KernelProgram> make_rows_program(LaunchShape, Operands operands, Options options) {
  std::vector<RowsProgram::Part> parts;
  std::vector<Operand> others;
  std::int64_t rows = 1;
  for (const Operand& o : operands) {
    if (!o.managed()) continue;
    const std::int64_t row = o.pattern == trace::Pattern::Rows && o.options >= 0
                                 ? options[static_cast<std::size_t>(o.options)].leading_dimension
                                 : 0;
    if (row <= 0) {
      others.push_back(o);
      continue;
    }
    parts.push_back({o.address, o.bytes, row, o.mode != trace::Mode::Write, o.mode != trace::Mode::Read});
    rows = std::max(rows, (o.bytes + row - 1) / row);
  }
  std::int64_t longest = 0;
  for (const RowsProgram::Part& part : parts) longest = std::max(longest, part.row);
  const int threads = threads_of_row(longest);
  return std::make_unique<RowsProgram>(std::move(parts), SweepSet(others, rows, threads / 32), rows, threads);
}

// One CTA per row.
const bool kRegistered =
    add_program_family({.precedence = 20, .takes = has_pattern<trace::Pattern::Rows>, .make = make_rows_program});

}  // namespace
}  // namespace uvmsim
