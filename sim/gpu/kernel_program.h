// What the CTAs of one kernel touch, in order: the GPU walks this, and never sees an operand.
//
// Each CTA has one or more agents: warps that touch the same pages at the same time are one agent with
// their number as weight. An agent goes through steps; the touches of a step are issued together (loads),
// the next step (dependent stores, the next loop iteration) starts when all that it loads is there. It waits for its
// stores at its end.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/page_range.h"
#include "base/units.h"
#include "gpu/page_table.h"
#include "gpu/remote_access.h"
#include "memory/program.h"

namespace uvmsim {

// `weight` warps touch each of `pages` pages: `page`, page + stride, ... Every warp x page is one request to the fault
// hardware.
struct Touch {
  PageNumber page{};
  std::uint16_t weight = 1;
  bool write = false;
  std::uint32_t pages = 1, stride = 1;

  PageNumber at(std::uint32_t i) const { return page + i * stride; }
  PageNumber outer() const { return at(pages - 1) + 1; }
  // Touch i is of `p`; `pages`: none is.
  std::uint32_t find(PageNumber p) const {
    return p < page || p >= outer() || (p - page) % stride != 0 ? pages : (p - page) / stride;
  }
};

// A run of CTAs: none in [from, first) misses a page, all in [first, outer) do.
struct StallRun {
  std::int64_t first = 0, outer = 0;
};

// All touches of a step, however many.
inline constexpr std::uint64_t kMissesAll = ~std::uint64_t{0};

// CTAs up to `outer` that miss the same touches of a step: bits of `missing` that KernelProgram::missed
// understands, or kMissesAll.
struct MissRun {
  std::int64_t outer = 0;
  std::uint64_t missing = 0;
};

class KernelProgram {
 public:
  virtual ~KernelProgram() = default;

  // The pages of each managed operand: it touches no others.
  const std::vector<PageRange>& ranges() const { return ranges_; }
  // Programs of equal likeness touch the same pages of their ranges in the same order, wherever these are. 0: not
  // known.
  std::uint64_t likeness() const { return likeness_; }
  void set_likeness(std::vector<PageRange> ranges, std::uint64_t likeness) {
    ranges_ = std::move(ranges);
    likeness_ = likeness;
  }

  // What goes to the GPU's memory at least: each byte of an operand once, or twice where it is read and written.
  Bytes traffic() const { return traffic_; }
  void set_traffic(Bytes bytes) { traffic_ = bytes; }

  std::int64_t ctas() const { return ctas_; }
  int threads() const { return threads_; }          // per CTA
  int agents() const { return agents_; }            // per CTA
  int ctas_per_sm() const { return ctas_per_sm_; }  // at most; 0: as many as its threads and registers allow
  // Of a thread, where the trace has the launch that is walked; 0: not known.
  int registers() const { return registers_; }
  void set_registers(int registers) { registers_ = registers; }
  std::int64_t max_steps() const { return max_steps_; }  // of any agent

  // At least 1. Agents of the last CTAs may have fewer steps than `max_steps`.
  virtual std::int64_t steps(std::int64_t cta, int agent) const = 0;
  // Replaces `touches` by those of a step, each page once, in issue order.
  virtual void step(std::int64_t cta, int agent, std::int64_t step, std::vector<Touch>& touches) const = 0;
  // The first step of an agent from `step` on that may miss a page now: those before it touch pages that are all there.
  virtual std::int64_t next_miss([[maybe_unused]] std::int64_t cta, [[maybe_unused]] int agent, std::int64_t step,
                                 [[maybe_unused]] const PageTable& pages) const {
    return step;
  }
  // Whether no CTA would fault now.
  virtual bool all_granted(const PageTable& pages) const = 0;
  // The next run of CTAs at or after `from` with a page that faults now: {ctas(), ctas()} when there is none.
  // `outer` may be early (at least first + 1), never late. Asked only if `looks_once`.
  virtual StallRun next_stall(std::int64_t from, const PageTable& pages) const;

  // Whether the CTAs may be walked in runs (`miss_run`): they have one agent each and max_steps() steps, store in the
  // last one only, look once, and touch fewer than 64 pages in a step, in touches of one page each.
  virtual bool in_runs() const { return false; }
  // What the CTAs from `from` on, before `limit`, miss now in a step. `outer` may be early (at least from + 1), never
  // late: by itself it walks the step of one CTA. Asked only if `in_runs`.
  virtual MissRun miss_run(std::int64_t from, std::int64_t limit, std::int64_t step, const PageTable& pages) const;

  // As `step`, but only the touches that `missing` says. By itself bit i is touch i.
  virtual void missed(std::int64_t cta, std::int64_t step, std::uint64_t missing, std::vector<Touch>& touches) const;

  // What goes to the pages that are remote now. By itself it walks all steps: a touch is a line per warp.
  virtual RemoteAccess remote_access(const PageTable& pages, int sms) const;

  // Whether a CTA whose pages are all granted when it starts runs to its end without looking again. A long
  // one (it loops over its operand) looks at every step.
  virtual bool looks_once() const { return max_steps_ <= 4; }

  // Whether CTA `cta` misses a page now, by walking all its steps: what `next_stall` must agree with.
  bool stalls(std::int64_t cta, const PageTable& pages) const;

 protected:
  std::int64_t ctas_ = 1;
  int threads_ = 32;
  int agents_ = 1;
  int ctas_per_sm_ = 0;
  std::int64_t max_steps_ = 1;

 private:
  std::vector<PageRange> ranges_;
  std::uint64_t likeness_ = 0;
  Bytes traffic_{};
  int registers_ = 0;
};

// The launch shape as the trace gives it; zeros where it does not.
struct LaunchShape {
  std::int64_t grid = 0;  // CTAs
  int block = 0;          // threads per CTA
  int registers = 0;      // per thread
};

// The program of a kernel over managed operands (others never fault and are left out). nullptr when no
// operand is managed. `options` are Program::options.
std::unique_ptr<KernelProgram> make_kernel_program(LaunchShape shape, std::span<const Operand> operands,
                                                   std::span<const trace::PatternOptions> options);

}  // namespace uvmsim
