// Operands that a kernel sweeps from start to end, all in lock-step.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "gpu/kernel_program.h"

namespace uvmsim {

// Threads of a CTA where the trace does not say, an element each: those of PyTorch 1.0's pointwise launch,
// elementwise_kernel<512, 1> (aten/src/ATen/native/cuda/Loops.cuh at 478eb70c0).
inline constexpr int kPointwiseThreads = 512;

// The operands that a kernel sweeps, and in which of its loads each is read.
struct SweptOperands {
  std::vector<Operand> operands;
  std::vector<int> loads;

  void add(const Operand& operand, int load) {
    operands.push_back(operand);
    loads.push_back(load);
  }
};

// The sweeping operands of a kernel, cut into `units` equal slices: unit u touches slice u of each.
// Reads are issued first; writes depend on them.
class SweepSet {
 public:
  // Pages [first, outer).
  struct PageSpan {
    PageNumber first{}, outer{};
  };
  struct Part {
    VirtualAddress address = 0;
    std::int64_t bytes = 0;
    std::int64_t slice = 1;            // bytes per unit
    std::int64_t broadcast_pages = 0;  // > 0: unit u touches page u mod this instead
    std::int64_t units = 0;            // units of one pass
    std::int64_t whole = 0;            // units whose slices are not cut short
    bool in_step = false;              // every whole slice is a part of a page, or starts as far into one
    int passes = 1;
    int load = 0;  // in which of the loads it is read
    bool read = false, write = false;
    bool loads = false, stores = false;  // read, written; and no operand before makes all those touches anyway

    VirtualAddress end() const { return address + static_cast<VirtualAddress>(bytes); }
    // In load `phase`, or in the stores.
    bool touched(std::int64_t unit, int pass, int phase, bool store) const {
      return (store ? stores : loads && load == phase) && pass < passes &&
             (broadcast_pages > 0 || unit * slice < bytes);
    }
    // Whether every unit that touches pages of `other` touches the same ones here, with as many warps.
    bool covers(const Part& other) const;
    PageSpan pages_of(std::int64_t unit) const;
    // The end of a run of units that touch as many pages as `unit` does, each the same as the one before or later ones.
    std::int64_t similar_until(std::int64_t unit) const;
    // The end of the units that touch no page from `page` on.
    std::int64_t units_before(PageNumber page) const {
      return static_cast<std::int64_t>(address_of(page) - address) / slice;
    }
    // Of units from `unit` on that are similar: the end of those that touch no page from `page` on, a later one.
    std::int64_t similar_before(std::int64_t unit, PageNumber page) const {
      return broadcast_pages > 0 ? unit + (page - pages_of(unit).first) : std::max(unit + 1, units_before(page));
    }
    // Whether all pages fault, or none does.
    bool all_are(bool fault, bool store, const PageTable& pages) const;
    // The end of the units from `unit` on, before `limit`, of whose pages each faults, or none does; `unit` where its
    // own do both or the other.
    std::int64_t alike_until(std::int64_t unit, std::int64_t limit, bool fault, bool store,
                             const PageTable& pages) const;
    // Which of the pages of `unit` are missing now, bit i the i-th; lowers `outer` to the end of the units of which
    // that is true as well.
    std::uint64_t missing(std::int64_t unit, bool store, const PageTable& pages, std::int64_t& outer) const;
  };

  SweepSet() = default;
  // `warps`: of the CTA that touches a unit.
  SweepSet(std::span<const Operand> operands, std::int64_t units, int warps);
  SweepSet(const SweptOperands& operands, std::int64_t units, int warps);

  bool empty() const { return parts_.empty(); }
  int load_count() const { return load_count_; }  // 0: nothing is read
  bool any_write() const { return any_write_; }

  // Appends the touches of unit `unit` in pass `pass`: all loads, one of them, or the dependent stores.
  void loads(std::int64_t unit, int pass, std::vector<Touch>& touches) const {
    append(
        unit, pass, touches, [](const Part& part) { return part.loads; }, false);
  }
  void load(int load, std::int64_t unit, int pass, std::vector<Touch>& touches) const {
    append(
        unit, pass, touches, [load](const Part& part) { return part.loads && part.load == load; }, false);
  }
  void stores(std::int64_t unit, int pass, std::vector<Touch>& touches) const {
    append(
        unit, pass, touches, [](const Part& part) { return part.stores; }, true);
  }

  bool all_granted(const PageTable& pages) const;
  // Adds what goes to remote pages. A warp accesses its part of a slice, a line at most; what all CTAs read stays in
  // the L1 of each SM.
  void add_remote_access(const PageTable& pages, int sms, RemoteAccess& access) const;
  // As KernelProgram::next_stall, over units [from, units) of pass `pass`.
  StallRun next_stall(std::int64_t from, std::int64_t units, int pass, const PageTable& pages) const;
  // The first unit of [from, units) that may miss a page; `units`: none does.
  std::int64_t next_missing(std::int64_t from, std::int64_t units, const PageTable& pages) const;
  // At least as many as a unit ever touches in one step.
  std::int64_t max_touches() const;
  // As KernelProgram::miss_run and missed, over units [from, limit) of pass `pass`, in one of the loads or, after
  // them, in the stores. Bit i of `missing` is the i-th page of all operands: one of two operands counts twice.
  MissRun miss_run(std::int64_t from, std::int64_t limit, int pass, int phase, const PageTable& pages) const;
  void missed(std::int64_t unit, int pass, int phase, std::uint64_t missing, std::vector<Touch>& touches) const;

 private:
  void add(const Operand& operand, std::int64_t units, int load);
  template <class Taken>
  void append(std::int64_t unit, int pass, std::vector<Touch>& touches, Taken taken, bool write) const;
  void append(const Part& part, std::int64_t unit, bool write, std::vector<Touch>& touches) const;
  // The end of the units from `from` on that miss all of their pages or none (`missing`); `from` when it misses some.
  std::int64_t alike_until(std::int64_t from, std::int64_t limit, int pass, int phase, const PageTable& pages,
                           bool& missing) const;

  std::vector<Part> parts_;
  int warps_ = 1;
  int load_count_ = 0;
  bool any_write_ = false;
};

// Adds a touch of one page unless the step already has one of it; then the stronger of both stays.
void add_touch(std::vector<Touch>& touches, Touch touch);

template <class Taken>
void SweepSet::append(std::int64_t unit, int pass, std::vector<Touch>& touches, Taken taken, bool write) const {
  for (const Part& part : parts_)
    if (taken(part) && pass < part.passes) append(part, unit, write, touches);
}

}  // namespace uvmsim
